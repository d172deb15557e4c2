"""Arbitrary text into every place that reads text: nothing but ``InvalidSpec`` may come out, and it must come soon.

``texts``    where the text comes from: arbitrary characters, sentences of each grammar, and mutations of real ones
``doors``    every place that reads text, and what must hold for whatever comes through it
``hunt``     numbered cases, each reproducible from (seed, number). Times them and reports the first that misbehaves

``python -m tests.fuzz --seconds 60 [--seed N]`` runs it for as long as one likes.
"""
