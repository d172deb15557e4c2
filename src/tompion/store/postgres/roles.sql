-- Three roles. {owner} owns the tables and migrates them. {worker} is the role that processes connect as: it reads and
-- writes rows, and cannot change a table. {tenant} is the role of a transaction on behalf of a request: it sees one
-- namespace. Run this script as an administrator after each `tompion migrate up`. It may run twice, and while processes
-- work: it is one transaction, because between dropping and creating a policy they would see empty tables. If it cannot
-- lock a table within a second, it changes nothing. Run it again.

BEGIN;
SET LOCAL lock_timeout = '1s';

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {worker_text}) THEN
        CREATE ROLE {worker} LOGIN NOINHERIT;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {tenant_text}) THEN
        CREATE ROLE {tenant} NOLOGIN;
    END IF;
END $$;
GRANT {tenant} TO {worker};
ALTER ROLE {worker} IN DATABASE {database} SET tompion.tenant = {tenant_text};
ALTER ROLE {worker} IN DATABASE {database} SET search_path = {schema}, pg_temp;

GRANT USAGE ON SCHEMA {schema} TO {worker}, {tenant};
REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, {worker}, {tenant};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema}
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {worker};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {worker}, {tenant};

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {worker};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {worker}, {tenant};
REVOKE INSERT, UPDATE, DELETE ON {schema}.tompion_schema FROM {worker};
REVOKE UPDATE, DELETE ON {schema}.secrets FROM {worker};
REVOKE UPDATE ON {schema}.audit FROM {worker};
GRANT UPDATE (position, previous, digest) ON {schema}.audit TO {worker};
GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {tenant};
GRANT SELECT, INSERT ON {schema}.audit TO {tenant};
GRANT SELECT ON {schema}.audit_heads TO {tenant};
GRANT SELECT, INSERT ON {schema}.secrets TO {tenant};
