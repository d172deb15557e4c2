"""The contract between the server and its clients: routes, roles, methods and JSON."""
