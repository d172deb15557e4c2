"""PostgreSQL: many instances, one truth."""
