"""One story, two tellers: the same requests and the same steps of the clock must give the same answers everywhere.

``drawing``    stories, drawn from a seed: what people ask, what engines do, how time passes
``sides``      who tells a story: a store asked directly, or through the REST client and a real server
``reference``  who tells it by heart: the semantics in plain dicts, without a store, a transaction or an engine
``comparing``  tells a story on two sides, finds the first difference, and makes the story shorter

``python -m tests.differential --minutes 10`` goes on for as long as one likes; what it finds goes into ``corpus.json``,
which the suite tells again.
"""
