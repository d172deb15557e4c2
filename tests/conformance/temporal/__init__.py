"""The Temporal API, called by Temporal's own SDKs and compared with a real server."""
