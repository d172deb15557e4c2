"""A whole engine on a real PostgreSQL: what only that store lets happen at the same time."""
