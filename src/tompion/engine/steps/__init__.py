"""The steps of an engine. Each runs in one transaction and returns its result."""
