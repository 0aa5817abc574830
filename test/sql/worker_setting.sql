-- While a statement may build indexes, max_parallel_maintenance_workers has a value other than 0, but nobody sees it.
SET client_min_messages = warning;
SET gpusort.min_rows = 0;
SET max_parallel_maintenance_workers = 0;
CREATE SCHEMA worker_setting;
SET search_path = worker_setting, public;

-- the value that a statement sees
CREATE MATERIALIZED VIEW shown AS
	SELECT current_setting('max_parallel_maintenance_workers') AS value, (SELECT setting FROM pg_settings WHERE name = 'max_parallel_maintenance_workers');
CREATE UNIQUE INDEX ON shown (value);
REFRESH MATERIALIZED VIEW shown;
TABLE shown;

-- a value that a statement sets for the session
CREATE TABLE t AS SELECT i FROM generate_series(1, 100) i;
CREATE INDEX ON t (i);
CREATE FUNCTION set_workers(value int, workers text, for_transaction bool) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF value = 50 THEN
		PERFORM set_config('max_parallel_maintenance_workers', workers, for_transaction);
	END IF;
	RETURN value;
END $$;
ALTER TABLE t ALTER i TYPE bigint USING set_workers(i, '7', false);
SHOW max_parallel_maintenance_workers;

-- for the transaction, and as a transaction has set it before
SET max_parallel_maintenance_workers = 0;
ALTER TABLE t ALTER i TYPE int;
BEGIN;
ALTER TABLE t ALTER i TYPE bigint USING set_workers(i::int, '7', true);
SHOW max_parallel_maintenance_workers;
COMMIT;
SHOW max_parallel_maintenance_workers;
ALTER TABLE t ALTER i TYPE int;
BEGIN;
SET max_parallel_maintenance_workers = 0;
ALTER TABLE t ALTER i TYPE bigint USING set_workers(i::int, '7', true);
SHOW max_parallel_maintenance_workers;
COMMIT;
SHOW max_parallel_maintenance_workers;

-- for a function, where an error ends the statement
CREATE FUNCTION raise_at(value bigint) RETURNS bigint IMMUTABLE SET max_parallel_maintenance_workers = 5 LANGUAGE plpgsql AS $$
BEGIN
	IF value > 0 THEN
		RAISE 'the setting is %', current_setting('max_parallel_maintenance_workers');
	END IF;
	RETURN value;
END $$;
CREATE INDEX ON t (raise_at(i));
SHOW max_parallel_maintenance_workers;
BEGIN;
SAVEPOINT s;
CREATE INDEX ON t (raise_at(i));
ROLLBACK TO s;
SHOW max_parallel_maintenance_workers;
COMMIT;

-- in parallel workers
CREATE FUNCTION shown() RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT current_setting('max_parallel_maintenance_workers') $$;
CREATE MATERIALIZED VIEW shown_by_workers AS SELECT DISTINCT value FROM (SELECT shown() AS value FROM t OFFSET 0) s;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
REFRESH MATERIALIZED VIEW shown_by_workers;
TABLE shown_by_workers;

-- No value that a user sets is taken for the lent one: in the session, before a transaction sets another value, and meanwhile; and in
-- workers.
CREATE FUNCTION set_locally(value bigint) RETURNS bigint IMMUTABLE SET max_parallel_maintenance_workers = 1023 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', '1', true);
	RETURN value;
END $$;
\pset tuples_only
SELECT format($f$
SET max_parallel_maintenance_workers = %1$s;
REFRESH MATERIALIZED VIEW shown_by_workers;
SELECT %1$s, value FROM shown_by_workers;
BEGIN;
SET LOCAL max_parallel_maintenance_workers = 0;
CREATE INDEX ON t (set_locally(i));
SHOW max_parallel_maintenance_workers;
COMMIT;
SHOW max_parallel_maintenance_workers;
SET max_parallel_maintenance_workers = 0;
BEGIN;
SET max_parallel_maintenance_workers = 0;
ALTER TABLE t ALTER i TYPE bigint USING set_workers(i::int, '%1$s', true);
SHOW max_parallel_maintenance_workers;
COMMIT;
SHOW max_parallel_maintenance_workers;
ALTER TABLE t ALTER i TYPE bigint USING set_workers(i::int, '%1$s', false);
SHOW max_parallel_maintenance_workers;
$f$, workers) FROM unnest('{1, 1023, 1024}'::int[]) workers \gexec
\pset tuples_only

-- nor is a value of a role; the role's workers have it as the value to reset to
CREATE FUNCTION resets_to() RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE AS
	$$ SELECT setting || ' ' || reset_val FROM pg_settings WHERE name = 'max_parallel_maintenance_workers' $$;
CREATE MATERIALIZED VIEW resets_in_workers AS SELECT DISTINCT value FROM (SELECT resets_to() AS value FROM t OFFSET 0) s;
SELECT current_user AS me \gset
ALTER ROLE :me SET max_parallel_maintenance_workers = 0;
\c -
SET search_path = worker_setting, public;
SET client_min_messages = warning;
SET gpusort.min_rows = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
REFRESH MATERIALIZED VIEW resets_in_workers;
TABLE resets_in_workers;
ALTER ROLE :me SET max_parallel_maintenance_workers FROM CURRENT;
SELECT resets_to();
ALTER ROLE :me RESET max_parallel_maintenance_workers;
SET max_parallel_maintenance_workers = 0;

-- and such builds are taken over all the same
SET gpusort.device = host;
SELECT value AS before FROM gpusort_stats WHERE name = 'indexes_host' \gset
CREATE INDEX CONCURRENTLY i1 ON t (i DESC);
REINDEX TABLE t;
SELECT value - :before AS builds FROM gpusort_stats WHERE name = 'indexes_host';

DROP SCHEMA worker_setting CASCADE;
