"""The network APIs: they parse requests, authenticate callers and run operations."""
