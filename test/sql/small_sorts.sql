-- Many sorts of few rows, one after the other in a node that was planned for many: PostgreSQL's sort has them.
SET gpusort.min_rows = 100;
SET gpusort.enable_windows = off;
SET gpusort.device = host;
SET max_parallel_workers_per_gather = 0;
SET enable_incremental_sort = off;
SET enable_material = off;
SET enable_memoize = off;
-- any sort of these is worth while
SET cpu_operator_cost = 0.1;

CREATE TABLE numbers AS
SELECT i id, i * 7919 % 20011 k, i % 10 grp, nullif(i % 20, 0) gap, rpad(md5(i::text), 60) COLLATE "C" txt FROM generate_series(1, 20000) i;
VACUUM ANALYZE numbers;

-- how many rows are sorted: few, and now and then many
CREATE TABLE sizes AS SELECT i, CASE WHEN i IN (20, 40, 60) THEN 15000 WHEN i = 50 THEN 300 ELSE i % 7 END n FROM generate_series(1, 80) i;
ANALYZE sizes;

CREATE FUNCTION statistic(name text) RETURNS bigint LANGUAGE sql AS 'SELECT s.value FROM gpusort_stats s WHERE s.name = $1';

-- Whether a query gives the same rows, in the same order, as without gpusort; the number of its sorts by keys, and of those that PostgreSQL
-- did; and whether it was planned with a GpuSort. All queries have a total order.
CREATE FUNCTION compare(query text) RETURNS TABLE (verdict text, by_keys bigint, native bigint, nodes text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	expected text;
	got text;
BEGIN
	PERFORM set_config('gpusort.enable', 'off', true);
	EXECUTE format('SELECT md5(string_agg(r::text, '','')) FROM (%s) r', query) INTO expected;
	PERFORM set_config('gpusort.enable', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		nodes := concat_ws(' ', nodes, substring(line FROM 'GpuSort\w*'));
	END LOOP;
	by_keys := -statistic('sorts_host');
	native := -statistic('sorts_native');
	EXECUTE format('SELECT md5(string_agg(r::text, '','')) FROM (%s) r', query) INTO got;
	verdict := CASE WHEN got = expected THEN 'same' ELSE 'other rows' END;
	by_keys := by_keys + statistic('sorts_host');
	native := native + statistic('sorts_native');
	RETURN NEXT;
END $$;

-- The first sort goes by keys, and so does each sort after one of more than a few rows.
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT k FROM numbers WHERE id <= n ORDER BY k OFFSET 0) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT k, grp, txt FROM numbers WHERE id <= n ORDER BY txt DESC OFFSET 0) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT txt FROM numbers WHERE id <= n ORDER BY txt OFFSET 0) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT gap, k + 1 k FROM numbers WHERE id <= n ORDER BY gap DESC, k OFFSET 0) l');
SET gpusort.min_rows = 1500;
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT k FROM numbers WHERE id <= n ORDER BY k OFFSET 0) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT count(DISTINCT txt) FROM numbers WHERE id <= n) l');
SET gpusort.min_rows = 100;
-- only the first rows are wanted: few of them, many, with others each time
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT k, txt FROM numbers WHERE id <= n ORDER BY k LIMIT 5000 + i * 0) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT k, txt FROM numbers WHERE id <= n ORDER BY k LIMIT CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN i ELSE 3 END) l');
-- the first rows of each group, too
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT DISTINCT ON (grp) grp, k, txt FROM numbers WHERE id <= n ORDER BY grp, k) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT k FROM (SELECT k, grp, rank() OVER (PARTITION BY grp ORDER BY gap) r FROM numbers WHERE id <= n) s WHERE r <= 2 ORDER BY k) l');
-- aggregates
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY txt) m, count(txt) FROM numbers WHERE id <= n) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT percentile_cont(ARRAY[0, 0.3, 1]) WITHIN GROUP (ORDER BY k) m, count(k), count(*) FROM numbers WHERE id <= n) l');
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT count(DISTINCT k) FROM numbers WHERE id <= n) l');
-- a sort that is rescanned as it is, and one that is in a merge join, which goes back
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT a.i j, b.k FROM (VALUES (1), (2), (3)) a (i) LEFT JOIN (SELECT k FROM numbers WHERE id <= n ORDER BY k OFFSET 0) b ON b.k % 3 = a.i) l');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT * FROM compare('SELECT i, (SELECT sum(a.id * b.id) FROM numbers a JOIN numbers b USING (grp) WHERE a.id <= n % 1000 AND b.id <= n % 1000) FROM sizes');
RESET enable_hashjoin;
RESET enable_nestloop;

-- too little memory for a number of rows that counts as few
SET gpusort.min_rows = 4000;
SET work_mem = '64kB';
SELECT * FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT k, txt FROM numbers WHERE id <= CASE WHEN n > 10 THEN 3000 ELSE n END ORDER BY txt OFFSET 0) l');
SELECT verdict, nodes FROM compare('SELECT i, l.* FROM sizes, LATERAL (SELECT txt, id FROM numbers WHERE id <= CASE WHEN n > 10 THEN 3000 ELSE n END ORDER BY txt OFFSET 0) l');
RESET work_mem;
SET gpusort.min_rows = 100;

-- cursors
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i, l.* FROM sizes, LATERAL (SELECT k FROM numbers WHERE id <= n % 10 ORDER BY k OFFSET 0) l WHERE i <= 4;
FETCH 5 FROM c;
FETCH BACKWARD 3 FROM c;
MOVE FORWARD ALL FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;

-- a query that fails
SELECT statistic('sorts_native') before \gset
SELECT count(1 / (19 - s.i)) FROM sizes s, LATERAL (SELECT k FROM numbers WHERE id <= n ORDER BY k OFFSET 0) l;
SELECT statistic('sorts_native') - :before native;

-- switched off when the first 39 have been sorted
CREATE FUNCTION switch_off(i int) RETURNS int LANGUAGE sql AS 'SELECT CASE WHEN i = 39 THEN set_config(''gpusort.enable'', ''off'', true)::text END::bool::int + i';
SELECT statistic('sorts_host') before \gset
BEGIN;
SELECT sum(l.k), count(*) FROM sizes, LATERAL (SELECT k FROM numbers WHERE id <= n ORDER BY k OFFSET 0) l WHERE switch_off(i) IS DISTINCT FROM 0;
ROLLBACK;
SELECT statistic('sorts_host') - :before by_keys;

-- EXPLAIN shows the last one
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'GpuSort| (Sort Method|Device|Rows|Memory):' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '^.*(GpuSort).*', '\1'), '\d+ ?kB', 'N kB');
		END IF;
	END LOOP;
END $$;
SELECT explain('SELECT count(*) FROM sizes, LATERAL (SELECT k FROM numbers WHERE id <= n ORDER BY k OFFSET 0) l');
SELECT explain('SELECT count(*) FROM sizes, LATERAL (SELECT k FROM numbers WHERE id <= n ORDER BY k OFFSET 0) l WHERE i <= 40');

DROP TABLE numbers, sizes;
DROP FUNCTION statistic, compare, switch_off, explain;
