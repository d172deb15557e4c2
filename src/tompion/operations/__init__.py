"""The use cases: one function each, called alike by every door."""
