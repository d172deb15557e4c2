"""The Python API over a store in this process or a service."""
