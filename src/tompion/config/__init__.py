"""Settings with their units, the loader that records the origin of each value, and redaction."""
