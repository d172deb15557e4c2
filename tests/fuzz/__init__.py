"""Fuzzing: arbitrary text for every parser, which must return or raise ``InvalidSpec`` within its time limit.

``texts``           the texts: arbitrary characters, sentences of each grammar, and mutations of real texts
``parsers``         every parser, and the properties of an accepted text
``search``          numbered and timed cases, each reproducible from (seed, number), up to the first failure
``rest_sequences``  sequences of REST requests, drawn from the OpenAPI document

``python -m tests.fuzz --seconds 60 [--seed N]`` runs it for longer.
"""
