-- The first rows: how many rows a LIMIT lets through is often known only when the query runs. Then few rows are left to PostgreSQL's heap,
-- wherever the GpuSort is below the LIMIT.
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = off;
SET gpusort.enable_aggregates = off;
SET gpusort.device = host;
SET plan_cache_mode = force_generic_plan;
SET max_parallel_workers_per_gather = 0;
SET enable_incremental_sort = off;
SET enable_material = off;
-- far from enough for all rows
SET work_mem = '256kB';

-- k is unique, and not in the order of the rows
CREATE TABLE numbers WITH (parallel_workers = 2) AS
SELECT i id, i * 7919 % 20011 k, i % 10 grp, nullif(i % 20, 0) gap, rpad(md5(i::text), 60) txt FROM generate_series(1, 20000) i;
CREATE TABLE parts (id int, k int, txt text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (9000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (9000) TO (20001);
CREATE INDEX ON parts_1 (k, id);
INSERT INTO parts SELECT id, k, txt FROM numbers;
VACUUM ANALYZE numbers, parts;

CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	result text := '';
BEGIN
	FOR r IN EXECUTE query LOOP
		result := md5(result || r::text);
	END LOOP;
	RETURN result;
END $$;

-- The nodes of a plan that has run, from the top down; nodes that sort have their method. Below a Gather it is not known which process
-- sorts, and below a Gather Merge some processes may get too few rows for a heap. PostgreSQL's Sort does not know the method of its heap of
-- single texts.
CREATE FUNCTION nodes(plan jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN node ->> 'Parallel Aware' = 'true' THEN 'Parallel ' ELSE '' END
			|| coalesce(node ->> 'Custom Plan Provider', node ->> 'Node Type')
			|| CASE WHEN plan::text ~ '"Gather"' THEN ''
				WHEN plan::text ~ '"Gather Merge"' THEN coalesce(' (' || replace(node ->> 'Sort Method', 'quicksort', 'top-N heapsort') || ')', '')
				ELSE coalesce(' (' || replace(node ->> 'Sort Method', 'still in progress', 'top-N heapsort') || ')', '') END,
		' > ' ORDER BY place)
	FROM jsonb_path_query(plan, 'strict $.** ? (exists(@."Node Type"))') WITH ORDINALITY found (node, place)
$$;

-- A prepared query for each of these parameters: how it was sorted, whether with temporary files, and whether its rows differ from the
-- native ones.
CREATE FUNCTION examine(query text, VARIADIC parameters text[]) RETURNS TABLE (parameter text, nodes text, verdict text)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('gpusort.enable', 'off', true);
	EXECUTE 'PREPARE native_query (bigint) AS ' || query;
	PERFORM set_config('gpusort.enable', 'on', true);
	EXECUTE 'PREPARE query (bigint) AS ' || query;
	FOREACH parameter IN ARRAY parameters LOOP
		EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE query (%s)', parameter) INTO plan;
		nodes := nodes(plan);
		verdict := CASE WHEN digest(format('EXECUTE query (%s)', parameter)) = digest(format('EXECUTE native_query (%s)', parameter))
			THEN 'same' ELSE 'OTHER ROWS' END
			|| CASE WHEN (plan #>> '{0,Plan,Temp Written Blocks}')::int > 0 THEN ', files' ELSE '' END;
		RETURN NEXT;
	END LOOP;
	DEALLOCATE native_query;
	DEALLOCATE query;
END $$;

-- a plan
PREPARE first (bigint) AS SELECT k, txt FROM numbers ORDER BY k LIMIT $1;
DO $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) EXECUTE first (10)' LOOP
		RAISE NOTICE '%', regexp_replace(regexp_replace(line, '\d+ ?kB', 'N kB'), 'rows=(\d+)\.00', 'rows=\1');
	END LOOP;
END $$;
DEALLOCATE first;

-- below a Limit of parameters at the top PostgreSQL's Sort has the first rows; from nothing to all
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k LIMIT $1', '0', '1', '10', '500', '1000', '15000', '30000', '9223372036854775807', 'NULL');
SELECT * FROM examine('SELECT k FROM numbers ORDER BY k DESC LIMIT $1', '0', '10', '1000', '15000', 'NULL');
SELECT * FROM examine('SELECT txt FROM numbers ORDER BY txt COLLATE "C" LIMIT $1', '10', '15000');
SELECT * FROM examine('SELECT txt FROM numbers ORDER BY txt COLLATE "en-x-icu", txt COLLATE "C" DESC LIMIT $1', '10');
SELECT * FROM examine('SELECT gap FROM numbers ORDER BY gap NULLS FIRST LIMIT $1', '10', '1010');
SELECT * FROM examine('SELECT gap FROM numbers ORDER BY gap DESC NULLS LAST LIMIT $1 OFFSET 19000', '10', '2000');
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k LIMIT 10 OFFSET $1', '0', '100', '15000', '30000', 'NULL', '9223372036854775807');
-- drivers send an int, and functions have variables of that type: the parser casts it
PREPARE first (int, smallint) AS SELECT k FROM numbers ORDER BY k LIMIT $1 OFFSET $2;
EXPLAIN (COSTS OFF) EXECUTE first (3, 2);
EXECUTE first (3, 2);
EXPLAIN (COSTS OFF) EXECUTE first (15000, 2);
EXPLAIN (COSTS OFF) EXECUTE first (NULL, 2);
EXECUTE first (-1, 2);
EXECUTE first (3, -1);
DEALLOCATE first;
-- elsewhere a GpuSort has the first rows, through nodes that emit all rows that they get
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k LIMIT $1 + 0', '0', '1', '10', '1000', '15000', 'NULL');
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k OFFSET $1', '19990');
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k LIMIT 2 * $1 + 1 OFFSET $1 + 7', '3');
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k LIMIT (SELECT count(*) FROM numbers WHERE id <= $1)', '3', '15000');
SELECT * FROM examine('SELECT id, random() < 2 FROM numbers ORDER BY k LIMIT $1', '10', '15000');
SELECT * FROM examine('SELECT id + 1 FROM (SELECT id, k FROM numbers ORDER BY k OFFSET 0) s LIMIT $1', '10', '15000');
SELECT * FROM examine('(SELECT id, txt FROM numbers ORDER BY k) UNION ALL (SELECT k, txt FROM numbers ORDER BY txt COLLATE "C") LIMIT $1', '10', '10000', '30000');
SELECT * FROM examine('SELECT id, txt FROM parts ORDER BY k LIMIT $1', '10', '15000');
SELECT * FROM examine('SELECT * FROM (SELECT id, k, txt FROM numbers ORDER BY k LIMIT $1) s LIMIT 5', '3', '10', '15000');
SELECT * FROM examine('SELECT * FROM (SELECT id, k, txt FROM numbers ORDER BY k LIMIT 12000) s LIMIT $1', '10');
SELECT * FROM examine('SELECT * FROM (SELECT *, row_number() OVER (ORDER BY id) FROM (SELECT id, k, txt FROM numbers ORDER BY k LIMIT $1) s) s ORDER BY k LIMIT 3', '10');
-- and through nodes that do not
SELECT * FROM examine('SELECT id + 1 FROM (SELECT id, k FROM numbers ORDER BY k OFFSET 0) s WHERE id % 100 = 0 LIMIT $1', '10');
SELECT * FROM examine('SELECT grp FROM numbers ORDER BY grp FETCH FIRST $1 ROWS WITH TIES', '10');
SELECT * FROM examine('SELECT grp, count(*) FROM (SELECT grp FROM numbers ORDER BY grp OFFSET 0) s GROUP BY grp LIMIT $1', '3');
-- a limit that is known, above and below what is few
SELECT * FROM examine('SELECT k, txt FROM numbers WHERE id > $1 ORDER BY k LIMIT 10', '0');
SELECT * FROM examine('SELECT k, txt FROM numbers WHERE id + 0 > $1 ORDER BY k LIMIT 6000', '19000');

-- more rows than the 100 that are expected: when the memory is full core's heap has room for some
SELECT * FROM examine('SELECT k FROM numbers WHERE id % 1 = 0 ORDER BY k LIMIT $1', '10', '60', '900', '15000');
-- core's heap has them even before, if few of the rows are wanted
SET work_mem = '64MB';
SELECT * FROM examine('SELECT k FROM numbers WHERE id % 1 = 0 ORDER BY k LIMIT $1', '1', '60', '500', '900', '15000');
SET work_mem = '256kB';

-- a plan made with gpusort runs without it, too
PREPARE first (bigint) AS SELECT k, txt FROM numbers ORDER BY k LIMIT $1;
SET gpusort.enable = off;
EXECUTE first (2);
RESET gpusort.enable;
DEALLOCATE first;

-- done anew with other limits, and with the same
SELECT * FROM examine('SELECT o, s.* FROM generate_series($1, 4) o, LATERAL (SELECT k, txt FROM numbers ORDER BY k LIMIT abs(3 - o) * 30) s', '0', '4');
SELECT * FROM examine('SELECT o, s.* FROM (VALUES (9), (2), (NULL), (5), (11000), (3)) v (o), LATERAL (SELECT k, txt FROM numbers WHERE id > $1 ORDER BY k LIMIT o OFFSET o) s', '0');
SELECT * FROM examine('SELECT o, (SELECT array_agg(txt) FROM (SELECT txt FROM numbers WHERE id > o ORDER BY k LIMIT $1 + o) s) FROM generate_series(1, 4) o', '0', '5');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM examine('SELECT o, (SELECT array_agg((a, k)) FROM generate_series(1, 2) a LEFT JOIN (SELECT k FROM numbers ORDER BY k LIMIT $1 + o) s ON k > a)
	FROM (VALUES (5), (5), (3), (NULL), (7), (9000), (8)) v (o)', '0', '2');
RESET enable_hashjoin;
RESET enable_mergejoin;

-- a cursor goes back and forth in the first rows
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k, gap FROM numbers ORDER BY k LIMIT (SELECT 5) OFFSET (SELECT 3);
FETCH 2 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 2 FROM c;
MOVE BACKWARD ALL FROM c;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
COMMIT;

-- so it does if PostgreSQL's Sort has them
CREATE FUNCTION open_first(INOUT c refcursor, n bigint) LANGUAGE plpgsql AS $$
BEGIN
	OPEN c SCROLL FOR SELECT k, gap FROM numbers ORDER BY k LIMIT n OFFSET 3;
END $$;
BEGIN;
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT open_first('c', 5);
FETCH 2 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 2 FROM c;
MOVE BACKWARD ALL FROM c;
FETCH ALL FROM c;
COMMIT;
DROP FUNCTION open_first;

-- functions
CREATE FUNCTION first_in_sql(n int) RETURNS SETOF int STABLE LANGUAGE sql AS 'SELECT k FROM numbers ORDER BY k DESC LIMIT n';
CREATE FUNCTION first_in_plpgsql(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
	found int;
BEGIN
	FOR found IN SELECT k FROM numbers ORDER BY k DESC LIMIT n LOOP
		RETURN NEXT found;
	END LOOP;
END $$;
CREATE FUNCTION sorts_native() RETURNS bigint LANGUAGE sql AS $$ SELECT value FROM gpusort_stats WHERE name = 'sorts_native' $$;
SELECT sorts_native() before \gset
SELECT count(*), sum(f) FROM generate_series(1, 3) n, first_in_sql(n * 4) f;
SELECT count(*), sum(f) FROM generate_series(1, 3) n, first_in_plpgsql(n * 4) f;
SELECT sorts_native() - :before native;

-- parallel workers: each has its first rows in a heap, also where they could sort together
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = on;
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k LIMIT $1', '0', '10', '500');
SELECT * FROM examine('SELECT id, random() < 2 FROM numbers ORDER BY k LIMIT $1', '10');
SELECT * FROM examine('SELECT id, txt FROM parts ORDER BY k LIMIT $1', '10');
ALTER TABLE numbers SET (parallel_workers = 0);
SELECT * FROM examine('SELECT count(*) FROM (SELECT * FROM ((SELECT txt, k FROM numbers ORDER BY k) UNION ALL (SELECT txt, k FROM numbers ORDER BY txt COLLATE "C")) s LIMIT $1) s', '10', '30000');
ALTER TABLE numbers SET (parallel_workers = 2);
SET work_mem = '64MB';
SELECT * FROM examine('SELECT k, txt FROM numbers ORDER BY k LIMIT $1', '0', '10', '15000', 'NULL', '20');
SELECT * FROM examine('SELECT o, s.* FROM (VALUES (18000), (9), (2), (11000), (5)) v (o), LATERAL (SELECT k, txt FROM numbers ORDER BY k LIMIT o + $1) s', '0');
-- no workers where PostgreSQL has none: in a rescan they would know only what was wanted at first
SET parallel_tuple_cost = 1;
SELECT * FROM examine('SELECT o, s.* FROM (VALUES (5), (2000), (10000)) v (o), LATERAL (SELECT * FROM (SELECT k, id FROM numbers ORDER BY k, id) n LIMIT o + $1) s', '0');

-- there is no file if PostgreSQL needs none, whatever was expected
SET parallel_tuple_cost = 0;
SET work_mem = '400kB';
SET temp_file_limit = 0;
SELECT parameter, verdict FROM examine('SELECT k, txt FROM numbers WHERE k * 2 = k + k ORDER BY k LIMIT $1', '10', '80', '400', '1000');
SET max_parallel_workers_per_gather = 0;
SELECT * FROM examine('SELECT k, txt FROM numbers WHERE k * 2 = k + k ORDER BY k LIMIT $1', '0', '10', '400', '1000');
RESET temp_file_limit;

-- few rows where many were expected: from the next time on PostgreSQL sorts them, until there are many
SET max_parallel_workers_per_gather = 0;
SET gpusort.min_rows = 2000;
SELECT sorts_native() before \gset
SELECT sum(n) FROM generate_series(1, 20) o, LATERAL (SELECT count(*) n FROM (SELECT k FROM numbers WHERE id <= CASE WHEN o = 10 THEN 15000 ELSE o END ORDER BY k OFFSET 0) s) l;
SELECT sorts_native() - :before native;
SET cpu_operator_cost = 0.1;
SELECT sorts_native() before \gset
SELECT sum(n) FROM generate_series(1, 20) o, LATERAL (SELECT count(DISTINCT k + o) n FROM numbers WHERE id <= CASE WHEN o = 10 THEN 15000 ELSE o END) l;
SELECT sorts_native() - :before native;

DROP TABLE numbers, parts CASCADE;
DROP FUNCTION nodes, examine, digest, first_in_sql, first_in_plpgsql, sorts_native;
