"""The page: static files, and the route that serves them."""
