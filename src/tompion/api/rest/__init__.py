"""The REST door, ``/api/v1``."""
