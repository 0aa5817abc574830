-- Rows in memory that workers gather in their order, while the leader emits them.
SET gpusort.min_rows = 0;
SET gpusort.device = host;
SET gpusort.gather_rows = on;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.get_shared_row_cost = 0;
SET enable_incremental_sort = off;
SET work_mem = '100MB';

CREATE TABLE all_lines WITH (parallel_workers = 2) AS
SELECT i id, hashint4(i) k, i % 3 few, 1 same, nullif(i % 5, 0) gap, md5(i::text) txt, hashint4(i)::numeric / 7 num,
	repeat('x', CASE i % 10000 WHEN 0 THEN 70000 ELSE i % 200 END) wide
FROM generate_series(1, 60000) i;
ALTER TABLE all_lines ALTER wide SET STORAGE EXTERNAL;
ALTER TABLE all_lines ADD later int DEFAULT 7;
ANALYZE all_lines;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/digest.sql'
\i :include
\set include :test '/include/arrive.sql'
\i :include

CREATE VIEW lines AS SELECT * FROM all_lines WHERE CASE WHEN id % 1000 = 0 THEN arrive(id) ELSE true END;

-- Waits until each worker has ended or waits for room in its memory; then it has gathered rows, if it gathers any. Before PostgreSQL 17 all
-- waits of gpusort have one name. But a worker that the leader has just woken does not sleep any more, as the kernel sees it.
CREATE FUNCTION help_has_come() RETURNS bool LANGUAGE plpgsql PARALLEL RESTRICTED AS $$
BEGIN
	WHILE EXISTS (
		SELECT FROM pg_stat_activity
		WHERE leader_pid = pg_backend_pid() AND CASE wait_event
			WHEN 'GpusortChunkRoom' THEN false
			WHEN 'Extension' THEN pg_read_file('/proc/' || pid || '/stat', 0, 1000, true) !~ '\) S '
			ELSE true
		END) LOOP
		PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
	END LOOP;
	RETURN true;
END $$;

-- How many rows of a query workers have gathered. The leader waits for their help at its first row.
CREATE FUNCTION gathered(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON)
		SELECT q FROM (SELECT q, row_number() OVER () n FROM (%s OFFSET 0) q) s WHERE n > 1 OR help_has_come()', query) INTO plan;
	RETURN coalesce(max((n #>> '{}')::bigint), 0) FROM jsonb_path_query(plan, '$.**."Rows Gathered By Workers"') n;
END $$;

-- Is the query's result the native one, and have workers gathered rows? This many workers are waited for.
CREATE FUNCTION examine(query text, workers int DEFAULT 2) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	native text;
	nrows bigint;
BEGIN
	DISCARD PLANS;
	PERFORM set_config('gpusort.enable', 'off', true);
	native := digest(query);
	DISCARD PLANS;
	PERFORM set_config('gpusort.enable', 'on', true);
	PERFORM expect_workers(workers);
	nrows := gathered(query);
	PERFORM expect_workers(0);
	RETURN CASE WHEN digest(query) IS DISTINCT FROM native THEN 'other rows' ELSE 'same' END || CASE WHEN nrows > 0 THEN ', gathered' ELSE '' END;
END $$;

CREATE TABLE queries (query text);
INSERT INTO queries VALUES
	('SELECT id, k, few, txt FROM lines ORDER BY k, id'),
	('SELECT id, k, txt FROM lines ORDER BY k DESC, id'),
	('SELECT id, k FROM lines ORDER BY k, id'),
	('SELECT id, txt, num FROM lines ORDER BY txt COLLATE "C"'),
	('SELECT id, txt, num FROM lines ORDER BY num DESC, txt COLLATE "C" DESC'),
	('SELECT id, few, txt, num FROM lines ORDER BY few, id'),
	('SELECT id, gap, txt, later FROM lines ORDER BY gap NULLS FIRST, id DESC'),
	('SELECT id, gap, txt, num FROM lines ORDER BY gap DESC NULLS LAST, later, id'),
	('SELECT same, txt, txt COLLATE "C" FROM lines ORDER BY same, txt COLLATE "C"'),
	('SELECT id, txt, num FROM lines ORDER BY txt COLLATE "POSIX"');
SELECT query, examine(query) FROM queries;

-- rows that are too large for a stream
SELECT examine('SELECT id, k, txt, concat(wide) FROM lines ORDER BY k, id');
SELECT examine('SELECT id, k, txt, concat(wide) FROM lines WHERE id % 10000 < 3 ORDER BY k, id', 0) ~ '^same' same;

-- equal rows, in any order
SELECT count(s), count(DISTINCT id), sum(k), sum(num), count(DISTINCT txt) FROM (SELECT * FROM lines ORDER BY same OFFSET 0) s;

-- no rows, and a few
SELECT count(*) FROM (SELECT * FROM lines WHERE id < 0 AND later = 7 ORDER BY k OFFSET 0) s;
SELECT examine('SELECT id, k, txt FROM lines WHERE id % 20000 = 1 AND later = 7 ORDER BY k, id', 0) ~ '^same' same;

-- the first rows
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id LIMIT 30000');
SELECT examine('SELECT s.* FROM (SELECT id, k, txt FROM lines ORDER BY k, id OFFSET 0) s LIMIT 9');

-- There is no worker, or memory has no room for a second order, which depends on how many rows each process has. Without room for all rows
-- they are written.
SET max_parallel_workers = 0;
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id', 0);
SET max_parallel_workers = 1;
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id', 1);
RESET max_parallel_workers;
SET work_mem = '4MB';
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id') ~ '^same' same;
SET work_mem = '1MB';
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id');
SET work_mem = '100MB';

-- workers are not asked to gather, or rows and workers are too few
SET gpusort.gather_rows = off;
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id');
SET gpusort.gather_rows = auto;
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id');
SET gpusort.gather_rows = on;

-- rows are read again, and not all are
SET enable_material = off;
SET enable_hashjoin = off;
SELECT x, (SELECT s FROM (SELECT id, k, few, same, gap, txt, num FROM lines ORDER BY k, id OFFSET 0) s WHERE s.k > x LIMIT 1) FROM (VALUES (-2000000000), (0), (1000000)) v(x);
SELECT count(*), count(s), sum(s.id) FROM (VALUES (1), (2)) v(x) LEFT JOIN (SELECT id, k, txt FROM lines ORDER BY k, id OFFSET 0) s ON true;
-- 19 would rather have a nested loop than materialize rows
SET enable_nestloop = off;
SELECT count(s) FROM (SELECT id, k, txt FROM lines ORDER BY k, id OFFSET 0) s JOIN (SELECT i FROM generate_series(-2147483648, -2147000000) i ORDER BY i OFFSET 0) i ON s.k = i.i;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_nestloop;

-- A leader that waits for most of its time lets workers gather no more rows: here it sleeps.
CREATE TABLE all_many WITH (parallel_workers = 2) AS SELECT i id, hashint4(i) k, repeat('y', 500) wide FROM generate_series(1, 150000) i;
ANALYZE all_many;
CREATE VIEW many AS SELECT * FROM all_many WHERE CASE WHEN id % 1000 = 0 THEN arrive(id) ELSE true END;
SELECT expect_workers(2);
SELECT n > 0 gathered, n < 120000 stopped
FROM gathered('SELECT * FROM (SELECT * FROM many ORDER BY k, id OFFSET 0) s WHERE id % 200 > 0 OR pg_sleep(0.001) IS NOT NULL') n;
SELECT expect_workers(0);
SELECT examine('SELECT id, k, wide FROM (SELECT * FROM many ORDER BY k, id OFFSET 0) s WHERE id % 200 > 0 OR pg_sleep(0.0005) IS NOT NULL') ~ '^same' same;

DROP VIEW lines, many;
DROP TABLE all_lines, all_many, queries;
DROP FUNCTION digest, arrive, expect_workers, help_has_come, gathered, examine;
