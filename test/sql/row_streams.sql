-- Rows that pass from workers to the leader in chunks: GpuSortReceive above a Gather,
-- and GpuSortSend below it.
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = off;
SET gpusort.enable_aggregates = off;
SET work_mem = '64MB';
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
-- so that work of a single process is expensive
SET cpu_tuple_cost = 1;
SET gpusort.get_shared_row_cost = 0;
SET enable_hashagg = off;
SET enable_gathermerge = off;
SET max_parallel_workers_per_gather = 8;

-- g: 100 groups, s: one of two rows is in one group; wide: 1 of 100 is larger than a chunk
CREATE TABLE t WITH (parallel_workers = 2) AS
SELECT i id, nullif(abs(hashint4(i)) % 100, 7) g, CASE WHEN i % 2 = 0 THEN 0 ELSE i % 500 END s,
	nullif(abs(hashint4(-i)) % 100, 3) x, 'text ' || i % 200 txt, i % 100 = 0 wide
FROM generate_series(1, 20000) i;
CREATE TABLE k WITH (parallel_workers = 0) AS SELECT i k FROM generate_series(1, 3) i;
ANALYZE t, k;

-- The nodes of a plan, from the top, as all versions show them.
CREATE FUNCTION plan_of(query text, options text DEFAULT 'COSTS OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF, TIMING OFF, SUMMARY OFF, %s) %s', options, query) LOOP
		IF line !~ 'Window: |Storage: |Workers Planned|Buffers: |Planning:|Join Filter' THEN
			RETURN NEXT regexp_replace(line, 'OVER (w\d*|\(\?\))', 'OVER ...', 'g');
		END IF;
	END LOOP;
END $$;

-- Is the query's result the same as without gpusort, and do rows pass in chunks?
CREATE FUNCTION examine(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	planned bool := false;
	result text;
BEGIN
	EXECUTE 'CREATE TEMP TABLE ours AS ' || query;
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		planned := planned OR line ~ 'GpuSortReceive';
	END LOOP;
	PERFORM set_config('gpusort.enable', 'off', true);
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	EXECUTE 'CREATE TEMP TABLE stock AS ' || query;
	PERFORM set_config('gpusort.enable', 'on', true);
	PERFORM set_config('max_parallel_workers_per_gather', '8', true);
	EXECUTE 'SELECT CASE count(*) WHEN 0 THEN ''same'' ELSE count(*) || '' other rows'' END
		FROM ((TABLE ours EXCEPT ALL TABLE stock) UNION ALL (TABLE stock EXCEPT ALL TABLE ours)) d' INTO result;
	DROP TABLE ours, stock;
	RETURN CASE WHEN NOT planned THEN 'not planned, ' ELSE '' END || result;
END $$;

SELECT plan_of('SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) FROM t');
SELECT plan_of('SELECT 1 one, id + 1 next, lag(id) OVER w + 1 AS before, NULL::int nothing FROM t WINDOW w AS (PARTITION BY g ORDER BY id)', 'VERBOSE');
-- with few rows a tuple queue takes no longer
SET gpusort.min_rows = 101;
SELECT plan_of('SELECT g, array_agg(id) FROM t GROUP BY g');
SET gpusort.min_rows = 0;
-- all rows count at the nodes that they pass, whichever process has them
SELECT node[1], round(node[2]::numeric * node[3]::int / 100) * 100 nrows
FROM plan_of('SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) FROM t', 'ANALYZE') line,
	regexp_match(line, '(\w+)\)? \(actual rows=([0-9.]+) loops=(\d+)\)') node
WHERE node[1] ~ 'Gather|GpuSort|WindowAgg';

SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) FROM t',
	'SELECT *, sum(x) OVER (PARTITION BY s ORDER BY id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING), ntile(7) OVER (PARTITION BY s ORDER BY id) FROM t',
	'SELECT 1 one, id + 1 next, lag(id) OVER w + 1 AS before, lead(txt, 2, ''none'') OVER w, first_value(x) OVER w, NULL::int nothing FROM t WINDOW w AS (PARTITION BY g ORDER BY id)',
	-- rows that are larger than a chunk, among others
	'SELECT id, repeat(txt, CASE WHEN wide THEN 20000 ELSE 1 END) large, row_number() OVER (PARTITION BY g ORDER BY id) FROM t',
	'SELECT g, repeat(string_agg(txt, '','' ORDER BY id), 10) FROM t GROUP BY g',
	-- by reference, composite, of any kind
	'SELECT id, sum(x::numeric / 7) OVER (PARTITION BY g ORDER BY id), row(id, txt)::text, array_agg(x) OVER (PARTITION BY g ORDER BY id ROWS 3 PRECEDING) FROM t',
	'SELECT DISTINCT ON (g, x) * FROM t ORDER BY g, x, id',
	'SELECT g, x FROM t GROUP BY g, x',
	-- none
	'SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) FROM t WHERE length(txt) > 100',
	-- above it
	'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q WHERE r % 3 = 1',
	'SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t ORDER BY txt, id',
	'SELECT *, generate_series(1, 2), row_number() OVER (PARTITION BY g ORDER BY id) r FROM t',
	'SELECT g, (SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q) FROM t WHERE id < 10',
	'SELECT * FROM (SELECT *, rank() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) a JOIN (SELECT id, rank() OVER (PARTITION BY s ORDER BY id) FROM t OFFSET 0) b USING (id)'
]) query;

-- not all rows are wanted, so that workers end before they have sent all rows
SELECT plan_of('SELECT *, count(*) OVER (PARTITION BY g) FROM t LIMIT 10');
SELECT count(*) FROM (SELECT *, count(*) OVER (PARTITION BY g) FROM t LIMIT 10) q;
SELECT count(*) FROM (SELECT *, count(*) OVER (PARTITION BY g) FROM t LIMIT 19999) q;
SELECT count(*) FROM k WHERE EXISTS (SELECT FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q WHERE r > k);
-- again, and again
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT plan_of('SELECT k, count(*) FROM k LEFT JOIN (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q ON r > k GROUP BY k');
SELECT k, count(*) FROM k LEFT JOIN (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q ON r > k GROUP BY k ORDER BY k;
-- when some rows have come each time
SELECT k, n FROM k, LATERAL (SELECT count(*) n FROM (SELECT r FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q LIMIT k * 1000) l) c ORDER BY k;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- a plan that is run without a leader that takes part, or without workers
PREPARE p AS SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q;
SET plan_cache_mode = force_generic_plan;
EXECUTE p;
SET parallel_leader_participation = off;
EXECUTE p;
RESET parallel_leader_participation;
SET max_parallel_workers = 0;
EXECUTE p;
RESET max_parallel_workers;
-- part by part, which takes no workers
DO $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) FROM t LOOP
		n := n + 1;
		EXIT WHEN n = 60;
	END LOOP;
	RAISE NOTICE '% rows', n;
END $$;
-- an error in the process that has the row, whichever it is, and above
\set SHOW_CONTEXT never
SELECT count(a) FROM (SELECT 1 / (row_number() OVER (PARTITION BY g ORDER BY id) - 50) a FROM t OFFSET 0) q;
SELECT count(1 / (r - 50)) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t OFFSET 0) q;
\set SHOW_CONTEXT errors
EXECUTE p;
-- planned without a leader that takes part
SET parallel_leader_participation = off;
SELECT plan_of('SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) FROM t');
RESET parallel_leader_participation;
DROP TABLE t, k;
DROP FUNCTION plan_of, examine;
