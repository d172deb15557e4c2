"""The TLA+ models, checked, and traces of the simulation compared with them.

* :mod:`~tests.models.recorder`: the changes of each commit of a scenario, as the models see them.
* :mod:`~tests.models.tla_text`: traces as a module of TLA+.
* :mod:`~tests.models.replay`: TLC checks that each commit is a step of the model.

``python -m tests.models --seeds 200`` replays more scenarios than the suite does.
"""
