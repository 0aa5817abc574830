-- UNION, INTERSECT and EXCEPT of rows that are sorted: in one process, and
-- with GpuSortSetOp or GpuSortUnique in all.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
-- so that work of a single process is expensive
SET cpu_operator_cost = 1;
SET gpusort.get_shared_row_cost = 0;
SET max_parallel_workers_per_gather = 8;

-- k: some rows, of which some are in both; n: equal values that look different
CREATE TABLE a WITH (parallel_workers = 2) AS
SELECT nullif(abs(hashint4(i)) % 4000, 7) k, nullif(abs(hashint4(-i)) % 5, 3) few, (i % 700)::numeric n,
	'text ' || i % 3000 txt, i::bigint wide, 'constant' c
FROM generate_series(1, 6000) i;
CREATE TABLE b WITH (parallel_workers = 2) AS
SELECT nullif(abs(hashint4(i)) % 4000, 7) k, nullif(abs(hashint4(-i)) % 5, 2) few, (i % 600)::numeric(8, 2) n,
	'text ' || i % 3500 txt, i wide, 'constant' c
FROM generate_series(3000, 9000) i;
VACUUM ANALYZE a, b;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/plan_of.sql'
\i :include
\set include :test '/include/examine.sql'
\i :include

-- Is the result the same as without gpusort in one process, too?
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	different bigint;
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	PERFORM set_config('gpusort.enable', 'off', true);
	EXECUTE 'CREATE TEMP TABLE stock AS ' || query;
	PERFORM set_config('gpusort.enable', 'on', true);
	EXECUTE 'CREATE TEMP TABLE ours AS ' || query;
	SELECT count(*) INTO different
	FROM ((TABLE ours EXCEPT ALL TABLE stock) UNION ALL (TABLE stock EXCEPT ALL TABLE ours)) d;
	DROP TABLE ours, stock;
	RETURN CASE WHEN different = 0 THEN examine(query, 'Parallel Custom Scan .GpuSort(SetOp|Unique)') ELSE different || ' other rows' END;
END $$;

SELECT plan_of('SELECT count(*) FROM (SELECT k, few FROM a UNION SELECT k, few FROM b) s');
SELECT plan_of('SELECT k, few FROM a EXCEPT SELECT k, few FROM b');
SELECT plan_of('SELECT k, few FROM a INTERSECT ALL SELECT k, few FROM b');
-- what EXPLAIN shows; how much each member had is a matter of chance
SELECT regexp_replace(line, '(Processes Emitting|Most Rows of a Process|Memory|Parts Emitted): \d+', '\1: ...')
FROM plan_of('SELECT k FROM a INTERSECT SELECT k FROM b', true) line WHERE line !~ 'Scan on|SubqueryScan|Append';

SELECT operation, columns, compare(format('SELECT %2$s FROM a %1$s SELECT %2$s FROM b', operation, columns))
FROM unnest('{UNION,INTERSECT,INTERSECT ALL,EXCEPT,EXCEPT ALL}'::text[]) operation,
	unnest('{k,"k, few","txt, k","n, txt","wide, c"}'::text[]) columns;

-- of equal values, those of the first input of an EXCEPT
CREATE TABLE scales AS SELECT i::numeric(10, 1) n FROM generate_series(1, 3000) i, generate_series(1, 3);
CREATE TABLE other_scales AS SELECT i::numeric(10, 3) n FROM generate_series(1, 3000) i;
ALTER TABLE scales SET (parallel_workers = 2);
ALTER TABLE other_scales SET (parallel_workers = 2);
VACUUM ANALYZE scales, other_scales;
SELECT scale(n), count(*) FROM (SELECT n FROM scales EXCEPT ALL SELECT n FROM other_scales) s GROUP BY 1;

-- several operations, and inputs of all kinds
SELECT compare('SELECT k FROM a EXCEPT SELECT k FROM b UNION SELECT few FROM a');
SELECT compare('(SELECT k, n FROM a INTERSECT ALL SELECT k, n FROM b) EXCEPT ALL (SELECT k, n FROM a UNION SELECT few, n FROM b)');
SELECT compare('SELECT k FROM a UNION ALL SELECT k FROM b EXCEPT ALL SELECT k FROM a');
SELECT compare('SELECT k, count(*) FROM a GROUP BY k EXCEPT SELECT k, count(*) FROM b GROUP BY k');
SELECT compare('SELECT DISTINCT k, few FROM a INTERSECT SELECT k, few FROM b');
SELECT compare('SELECT k, txt FROM a WHERE few = 1 UNION SELECT k, upper(txt) FROM b WHERE k > 100 OR few IS NULL');
-- columns of other types, and constants
SELECT compare('SELECT k FROM a UNION SELECT wide FROM a');
SELECT compare('SELECT k, 1 x, c FROM a EXCEPT SELECT k, 1, ''constant'' FROM b');
SELECT compare('SELECT k, NULL x FROM a INTERSECT SELECT k, NULL FROM b');
-- no rows on one side, on both
SELECT operation, compare(format('SELECT k, n FROM a %1$s %2$s', operation, none)),
	compare(format('%2$s %1$s SELECT k, n FROM a', operation, none)),
	compare(format('%2$s %1$s %2$s', operation, none))
FROM (VALUES ('SELECT k, n FROM b WHERE few = 77')) v (none),
	unnest('{UNION,INTERSECT ALL,EXCEPT,EXCEPT ALL}'::text[]) operation;
-- no columns; with workers PostgreSQL 18 crashes by itself
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM (SELECT FROM a UNION SELECT FROM b) s;
SET max_parallel_workers_per_gather = 8;

-- rows that do not fit the memory
CREATE TABLE many WITH (parallel_workers = 2) AS SELECT abs(hashint4(i)) % 40000 k, md5(i::text) txt FROM generate_series(1, 40000) i;
CREATE TABLE more WITH (parallel_workers = 2) AS SELECT abs(hashint4(i)) % 40000 k, md5(i::text) txt FROM generate_series(20000, 60000) i;
VACUUM ANALYZE many, more;
SET work_mem = '1MB';
SET enable_hashagg = off;
SELECT operation, compare(format('SELECT k, txt FROM many %1$s SELECT k, txt FROM more', operation))
FROM unnest('{UNION,INTERSECT ALL,EXCEPT}'::text[]) operation;
SET work_mem = '64MB';
RESET enable_hashagg;

-- nodes above, in all processes too
SELECT compare('SELECT few, count(*), sum(k) FROM (SELECT k, few FROM a EXCEPT SELECT k, few FROM b) s GROUP BY few');
SELECT compare('SELECT s.k, b.txt FROM (SELECT k FROM a INTERSECT SELECT k FROM b) s JOIN b USING (k)');
SELECT compare('SELECT k, row_number() OVER (PARTITION BY k ORDER BY few) FROM (SELECT k, few FROM a EXCEPT ALL SELECT k, few FROM b) s');

-- again for each row, and with parameters
SELECT count(*), sum(s.n) FROM generate_series(1, 5) i,
	LATERAL (SELECT count(*) n FROM (SELECT k FROM a WHERE few = i EXCEPT SELECT k FROM b WHERE few < i) x) s;
PREPARE of_few AS SELECT count(*) FROM (SELECT k FROM a WHERE few < $1 EXCEPT ALL SELECT k FROM b) s;
SET plan_cache_mode = force_generic_plan;
EXECUTE of_few(2);
EXECUTE of_few(0);
-- a cursor, of which not all is read
BEGIN;
DECLARE c CURSOR FOR SELECT k FROM a EXCEPT ALL SELECT k FROM b ORDER BY k;
FETCH 3 FROM c;
FETCH 2 FROM c;
COMMIT;
DEALLOCATE of_few;
DROP TABLE a, b, scales, other_scales, many, more;
DROP FUNCTION compare, examine, in_parts, plan_of;
