"""All searches for violations of the guarantees, for some minutes: ``make prove``."""
