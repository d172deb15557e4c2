"""The models, checked, and stories of the simulation held against them.

* :mod:`~tests.models.recorder`: what each commit of a story has changed, as the models see it.
* :mod:`~tests.models.tla_text`: stories as a module of TLA+.
* :mod:`~tests.models.replay`: TLC, asked whether each commit is a step of the model.

``python -m tests.models --seeds 200`` replays more stories than the suite does.
"""
