"""The whole ring of searches, for as many minutes as one likes: ``make prove``."""
