"""An engine on a real PostgreSQL: concurrent transactions, leases and transactional runs."""
