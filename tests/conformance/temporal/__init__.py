"""The Temporal door, asked by Temporal's own SDK, beside a real server."""
