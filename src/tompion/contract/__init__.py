"""What the server and its clients share: routes, roles, methods and the JSON of answers."""
