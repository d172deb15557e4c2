"""The web UI: its static files and the middleware that serves them."""
