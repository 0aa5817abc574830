-- Paths: under any settings the planner finds a plan, and the plan has no disabled node that it could do without.
SET gpusort.device = host;
SET gpusort.min_rows = 0;

CREATE FUNCTION dear(text) RETURNS text LANGUAGE plpgsql COST 1000000 AS 'BEGIN RETURN $1; END';
CREATE TABLE x WITH (parallel_workers = 2) AS SELECT i a, i % 10 b, i % 100 c, 'k' || i % 50 d FROM generate_series(1, 1000) i;
CREATE TABLE y AS SELECT i a, i % 7 b, i % 100 c FROM generate_series(1, 500) i;
CREATE TABLE z AS SELECT i a, i % 7 b, i % 100 c FROM generate_series(1, 200) i;
-- the most rows that can be declared; joins make even more
CREATE FUNCTION many() RETURNS SETOF x LANGUAGE sql VOLATILE ROWS 3e38 AS 'SELECT * FROM x';
CREATE TABLE parts (a int, b int, c int, d text) PARTITION BY RANGE (a);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (500);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (500) TO (MAXVALUE);
INSERT INTO parts SELECT * FROM x;
CREATE INDEX ON x (a);
CREATE INDEX ON x (b, c);
CREATE INDEX ON y (a);
CREATE INDEX ON y (b, a);
CREATE INDEX ON z (a, b);
CREATE INDEX ON parts (a);
ANALYZE x, y, z, parts;

-- Does a line of a query's plan match the pattern?
CREATE FUNCTION plan_has(pattern text, query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		found := found OR line ~ pattern;
	END LOOP;
	RETURN found;
END $$;

-- Plans this many queries, drawn with the planner's settings. No cost may be infinite, since the planner could not compare it. In a server
-- with assertions freed memory is overwritten.
CREATE FUNCTION plan_queries(queries int, seed float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	switches text[] := array(SELECT name FROM pg_settings WHERE name LIKE 'enable\_%' AND name <> 'enable_sort' AND vartype = 'bool' ORDER BY name);
	sources text[] := '{"x", "x JOIN y USING (a)", "x LEFT JOIN y USING (a)", "x JOIN y ON x.b = y.b AND x.a = y.a", "x, y WHERE x.a = y.a AND x.b = 3",
		"x JOIN y USING (a) JOIN z USING (a)", "x FULL JOIN y USING (a)", "x WHERE EXISTS (SELECT FROM y WHERE y.a = x.a)", "parts x", "parts x JOIN y USING (a)",
		"parts x JOIN parts y USING (a)", "(SELECT * FROM x ORDER BY a LIMIT 500) x", "(SELECT a, b, c, d FROM x UNION ALL SELECT a, b, c, d FROM parts) x",
		"(SELECT DISTINCT a, b, c, d FROM x) x", "x, LATERAL (SELECT * FROM y WHERE y.a = x.b ORDER BY c LIMIT 3) y", "many() x", "many() x, many() y, many() z"}';
	outputs text[] := '{"x.*", "x.a", "x.b, x.c", "x.a + 1 AS e, x.d", "x.a, dear(x.d)", "x.b, dear(x.d)", "x.c, row_number() OVER (ORDER BY x.a)",
		"x.b, count(*) OVER (PARTITION BY x.b ORDER BY x.c)", "DISTINCT x.a, x.b, x.c", "DISTINCT ON (x.a) x.a, x.b, x.c", "generate_series(1, 3) g, x.a"}';
	groups text[] := '{"x.a", "x.b", "x.a, x.b", "x.b, x.c"}';
	orders text[] := '{"", "x.a", "x.b", "x.a, x.b", "x.a DESC", "x.b, x.c", "x.a LIMIT 10", "x.b LIMIT 10", "x.a, x.b OFFSET 3 FETCH FIRST 10 ROWS WITH TIES", "1", "1 DESC LIMIT 5"}';
	query text;
	columns text;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. queries LOOP
		PERFORM set_config(switch, CASE WHEN random() < 0.75 THEN 'on' ELSE 'off' END, true) FROM unnest(switches) switch;
		PERFORM set_config(name, value[1 + floor(random() * 2)], true) FROM (VALUES
			('max_parallel_workers_per_gather', '{0, 2}'::text[]), ('parallel_setup_cost', '{0, 1000}'), ('parallel_tuple_cost', '{0, 0.1}'),
			('min_parallel_table_scan_size', '{0, 8MB}'), ('geqo_threshold', '{2, 12}'), ('from_collapse_limit', '{1, 8}'), ('cursor_tuple_fraction', '{0, 1}'),
			('work_mem', '{64kB, 64MB}'), ('gpusort.host_sort_row_cost', '{0.01, 1e6}'), ('gpusort.get_shared_row_cost', '{0, 0.018}'), ('gpusort.hash_row_cost', '{0.025, 1e6}')) s (name, value);
		query := sources[1 + floor(random() * array_length(sources, 1))];
		IF random() < 0.25 THEN
			columns := groups[1 + floor(random() * array_length(groups, 1))];
			query := 'SELECT ' || columns || ', count(*) FROM ' || query || ' GROUP BY ' || columns;
		ELSE
			query := 'SELECT ' || outputs[1 + floor(random() * array_length(outputs, 1))] || ' FROM ' || query;
		END IF;
		columns := orders[1 + floor(random() * array_length(orders, 1))];
		IF columns <> '' THEN
			query := query || ' ORDER BY ' || columns;
		END IF;
		BEGIN
			IF plan_has('Infinity|NaN', query) THEN
				RETURN 'infinite: ' || query;
			END IF;
		EXCEPTION WHEN invalid_column_reference OR grouping_error THEN
			-- not all of these go together
		END;
	END LOOP;
	RETURN 'planned';
END $$;
SELECT plan_queries(1500, seed / 10.0) FROM generate_series(1, 2) seed;

-- costs have a limit, at which they are still far from infinite
SET gpusort.host_sort_row_cost = 1e7;
SET gpusort.hash_row_cost = 1e308;
SET geqo_threshold = 2;
SET gpusort.host_sort_row_cost = 1e6;
SET gpusort.key_word_cost = 1e6;
SET gpusort.get_shared_row_cost = 1e6;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT plan_has('Infinity|NaN', 'SELECT FROM x l JOIN x m ON l.a = m.b JOIN x r ON m.c = r.b ORDER BY l.d');
RESET ALL;

-- the first rows of an ORDER BY, and an index by which core could sort otherwise, and then once more
SET gpusort.device = host;
SET gpusort.min_rows = 0;
SET work_mem = '1MB';
SET max_parallel_workers_per_gather = 0;
CREATE TABLE first AS SELECT i id, i / 300 clusters, md5(i::text) txt FROM generate_series(1, 100000) i;
CREATE INDEX ON first (clusters);
VACUUM ANALYZE first;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (txt, clusters) * FROM first ORDER BY txt, clusters, id;
DROP TABLE first;
RESET ALL;

-- a scan that is disabled, which would save one of two sorts, beside a hash join;
-- before PostgreSQL 18 such nodes cost 1e10 more
\set disabled 'Disabled|cost=\\d{11}'
SET gpusort.device = host;
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE large AS SELECT i a, hashint4(i) b, md5(i::text) t FROM generate_series(1, 50000) i;
CREATE INDEX ON large (a);
VACUUM ANALYZE large;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET gpusort.hash_row_cost = 1;
SELECT join_type, plan_has(:'disabled', 'SELECT * FROM large l ' || join_type || ' large r ON l.a = r.b')
FROM unnest('{JOIN, LEFT JOIN}'::text[]) join_type;
SET gpusort.host_sort_row_cost = 1;
SELECT plan_has(:'disabled', 'SELECT * FROM large l JOIN large r ON l.a = r.b');
RESET gpusort.host_sort_row_cost;
-- an index that excludes no other path
SELECT plan_has(:'disabled', 'SELECT * FROM large ORDER BY a'), plan_has(:'disabled', 'SELECT a, count(*) FROM large GROUP BY a ORDER BY a');
-- nor is a hash join dropped for a merge join of ours that is disabled
RESET ALL;
SET gpusort.device = host;
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
SET gpusort.hash_row_cost = 1;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan_has(:'disabled', 'SELECT l.a, r.a FROM large l JOIN large r ON l.a = r.a');
RESET ALL;

-- where partitions are grouped each for itself, core has Gathers above partial paths before gpusort adds others: none may be freed
CREATE TABLE apart (a int, b int, c int) PARTITION BY HASH (a);
CREATE TABLE apart_0 PARTITION OF apart FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE apart_1 PARTITION OF apart FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO apart SELECT i % 20000, i % 97, i % 7 FROM generate_series(1, 60000) i;
ANALYZE apart;
SET gpusort.device = host;
SET enable_partitionwise_aggregate = on;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*), bool_or(plan_has('GpuSort', 'SELECT ' || query)) FROM
	unnest('{off, on}'::text[]) hashagg,
	unnest('{0, 0.02, 0.1}'::text[]) tuple_cost,
	unnest('{64kB, 1MB, 64MB}'::text[]) memory,
	unnest('{"a, b, count(*) FROM apart GROUP BY a, b", "a, count(*) FROM apart GROUP BY a", "DISTINCT a, b, c FROM apart",
		"a, b, c, max(b) FROM apart WHERE c < 7 GROUP BY a, b, c", "a, percentile_disc(0.5) WITHIN GROUP (ORDER BY b), count(*) FROM apart GROUP BY a",
		"a, count(DISTINCT b) FROM apart GROUP BY a", "a, string_agg(b::text, '','' ORDER BY b) FROM apart GROUP BY a"}'::text[]) query,
	LATERAL (SELECT set_config('enable_hashagg', hashagg, false), set_config('parallel_tuple_cost', tuple_cost, false), set_config('work_mem', memory, false)
		OFFSET 0) settings
WHERE settings IS NOT NULL;
RESET ALL;

DROP FUNCTION many, plan_queries, plan_has, dear;
DROP TABLE x, y, z, parts, large, apart;
