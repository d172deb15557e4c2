"""ASGI middleware: allowed hosts, CSRF, request limits, encoded slashes and the access log."""
