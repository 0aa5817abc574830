-- Plans: where a GpuSort takes the place of a Sort, and where not.
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = off;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE TABLE numbers AS SELECT i id, i % 100 grp, -i k, i::text txt, i::text::tsvector doc FROM generate_series(1, 10000) i;
ANALYZE numbers;

EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY k;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id, 1 AS one, k + id AS total FROM numbers ORDER BY grp DESC, txt COLLATE "C" NULLS FIRST, k + id DESC NULLS LAST;
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY txt COLLATE "en-x-icu" USING ~>~, k USING >;
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY txt COLLATE "en-x-icu" DESC;
CREATE FUNCTION explain_json(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan';
END $$;
SELECT plan ->> 'Node Type' AS node, plan ->> 'Custom Plan Provider' AS provider, plan -> 'Sort Key' AS keys
FROM explain_json('SELECT id FROM numbers ORDER BY k DESC, id') plan;
EXPLAIN (COSTS OFF) SELECT DISTINCT k FROM numbers;
EXPLAIN (COSTS OFF) SELECT k FROM numbers UNION SELECT id FROM numbers;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM numbers GROUP BY k;
EXPLAIN (COSTS OFF) SELECT row_number() OVER (PARTITION BY grp ORDER BY k) FROM numbers;
EXPLAIN (COSTS OFF) SELECT * FROM numbers a JOIN numbers b ON a.id = b.grp;
EXPLAIN (COSTS OFF) WITH c AS MATERIALIZED (SELECT * FROM numbers ORDER BY k) SELECT * FROM c;

-- left to PostgreSQL
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY k LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY k LIMIT 9000;
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY doc;
CREATE FUNCTION reverse_compare(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR <# (FUNCTION = int4gt, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR CLASS reverse_ops FOR TYPE int USING btree AS OPERATOR 1 <#, OPERATOR 3 =, FUNCTION 1 reverse_compare(int, int);
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY k USING <#;
EXPLAIN (COSTS OFF) SELECT grp, k, count(*) FROM numbers GROUP BY GROUPING SETS ((grp), (k));
SET gpusort.device = host;
SET gpusort.host_sort_row_cost = 1;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT * FROM numbers ORDER BY grp OFFSET 0) s ORDER BY grp, k;
RESET gpusort.host_sort_row_cost;
RESET gpusort.device;
SET gpusort.min_rows = 20000;
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY k;
SET gpusort.min_rows = 0;
SET gpusort.enable_sort = off;
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY k;
RESET gpusort.enable_sort;

-- and each is counted by its reason
SELECT name, value > 0 AS counted FROM gpusort_stats WHERE name LIKE 'refused_%' ORDER BY name COLLATE "C";

-- the results of some of them
SELECT count(*), sum(a.id) FROM numbers a JOIN numbers b ON a.id = b.grp;
SELECT sum(n * k) FROM (SELECT k, row_number() OVER (PARTITION BY grp ORDER BY k) n FROM numbers) s;

-- with parallel workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET gpusort.get_shared_row_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT * FROM numbers ORDER BY k;
SELECT count(*), bool_and(previous < k) FROM (SELECT k, lag(k, 1, -1000000) OVER () previous FROM (SELECT k FROM numbers ORDER BY k OFFSET 0) s) s;

-- what EXPLAIN says of a sort that has run
CREATE FUNCTION sort_report(query text) RETURNS TABLE (method text, device text, nrows text, memory boolean) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN QUERY SELECT plan ->> 'Sort Method', plan ->> 'Device', plan ->> 'Rows', (plan ->> 'Memory')::int > 0;
END $$;
SET max_parallel_workers_per_gather = 0;
SET gpusort.device = host;
SELECT * FROM sort_report('SELECT * FROM numbers ORDER BY k');
SET gpusort.device = cuda;
SELECT * FROM sort_report('SELECT * FROM numbers ORDER BY k');
PREPARE sorted AS SELECT * FROM numbers ORDER BY k;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM sort_report('EXECUTE sorted');
SET gpusort.enable = off;
SELECT * FROM sort_report('EXECUTE sorted');
DROP OPERATOR FAMILY reverse_ops USING btree;
DROP OPERATOR <# (int, int);
DROP FUNCTION reverse_compare;
DROP TABLE numbers;
DROP FUNCTION sort_report, explain_json;
