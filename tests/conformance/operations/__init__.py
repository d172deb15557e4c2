"""Requirements on every operation and every step of an engine, on every store."""
