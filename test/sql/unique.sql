-- DISTINCT, DISTINCT ON and UNION by a GpuSortUnique: the sort, and one row of each group.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_incremental_sort = off;

-- exact: equal values have the same bytes.  scaled, name: they may differ.  long: keys are only prefixes
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE goods WITH (parallel_workers = 2) AS
SELECT id, id * 7919 % 10007 k, nullif(id * 31 % 3001, 3) exact, nullif(id % 7, 3) few, id::bigint * 1000003 wide,
	CASE WHEN id % 2 = 0 THEN 1.0 ELSE 1.00 END * (id % 400) scaled, CASE WHEN id % 5 > 0 THEN 'shop ' || id % 50 END shop,
	repeat('long prefix ', 60) || id * 17 % 900 long, (CASE WHEN id % 3 = 0 THEN 'Name ' ELSE 'NAME ' END || id % 400) COLLATE any_case name,
	repeat(md5((id % 20)::text), 200) large
FROM generate_series(1, 10000) id;
INSERT INTO goods (id) SELECT -i FROM generate_series(1, 20) i;
CREATE TABLE few AS SELECT i FROM generate_series(1, 3) i;
VACUUM ANALYZE goods, few;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/plan_of.sql'
\i :include

\set node GpuSortUnique
\set include :test '/include/same.sql'
\i :include

-- Are the rows the same, in memory and in runs, in one process, with workers, and with none that starts; are rows in parts, too?
CREATE FUNCTION in_parts() RETURNS bigint LANGUAGE sql AS $$ SELECT value FROM gpusort_stats WHERE name = 'sorts_in_parts' $$;
CREATE FUNCTION same_in_all(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	memory text;
	workers text;
	results text[];
	before bigint := in_parts();
BEGIN
	FOREACH workers IN ARRAY '{0,2,8}'::text[] LOOP
		PERFORM set_config('max_parallel_workers_per_gather', workers, true);
		PERFORM set_config('max_parallel_workers', CASE workers WHEN '8' THEN '0' ELSE '8' END, true);
		FOREACH memory IN ARRAY '{64MB,64kB}'::text[] LOOP
			PERFORM set_config('gpusort.work_mem', memory, true);
			results := results || same(query);
		END LOOP;
	END LOOP;
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	PERFORM set_config('gpusort.work_mem', '-1', true);
	-- how many of the variants have the node is a matter of costs
	RETURN (SELECT string_agg(DISTINCT substr(r, 3), ', ') || CASE WHEN NOT bool_or(r ~ '^1') THEN ', not planned' ELSE '' END FROM unnest(results) r) || CASE WHEN in_parts() > before THEN ', in parts' ELSE '' END;
END $$;

SELECT plan_of('SELECT DISTINCT k, few FROM goods');
SELECT plan_of('SELECT DISTINCT ON (few) few, k, id FROM goods ORDER BY few, k DESC, id');
SELECT plan_of('SELECT few, k FROM goods GROUP BY k, few');
SELECT plan_of('SELECT k FROM goods UNION SELECT id FROM goods');
EXPLAIN (VERBOSE, COSTS OFF) SELECT DISTINCT few, k + 1, 'constant' FROM goods;
SELECT line FROM plan_of('SELECT DISTINCT exact FROM goods', true) line WHERE line !~ 'Memory';
-- not with this setting
SET gpusort.enable_aggregates = off;
SELECT plan_of('SELECT DISTINCT k, few FROM goods');
RESET gpusort.enable_aggregates;

SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT columns, same_in_all(format('SELECT DISTINCT %s FROM goods', columns))
FROM unnest('{k,exact,few,wide,shop,long,"few, shop","long, exact","large, few","k + few","few, 1 AS one, few AS again"}'::text[]) columns;
-- equal values that differ: their number
SELECT columns, same_in_all(format('SELECT count(*) FROM (SELECT DISTINCT %s FROM goods) s', columns))
FROM unnest('{scaled,name,"few, scaled","name, shop","scaled, long"}'::text[]) columns;
SELECT same_in_all('SELECT DISTINCT ON (few) few, k, id, shop FROM goods ORDER BY few, k DESC, id');
SELECT same_in_all('SELECT DISTINCT ON (name, few) lower(name), few, id FROM goods ORDER BY name, few, id');
SELECT same_in_all('SELECT DISTINCT ON (long) long, id FROM goods ORDER BY long DESC, id');
SELECT same_in_all('SELECT k FROM goods UNION SELECT id FROM goods');
SELECT same_in_all('SELECT long, k FROM goods UNION SELECT shop, id FROM goods UNION SELECT large, few FROM goods');
SELECT same_in_all('SELECT DISTINCT k FROM goods WHERE id > 1000000');
SELECT same_in_all('SELECT count(*), sum(k) FROM (SELECT DISTINCT k, shop FROM goods) s');
SELECT same_in_all('SELECT few, k FROM goods GROUP BY k, few');
SELECT same_in_all('SELECT shop FROM goods GROUP BY few, shop');
SELECT same_in_all('SELECT few + 1, k, 7 FROM goods GROUP BY k, few HAVING k > few');
SELECT same_in_all('SELECT DISTINCT random() < 2, few FROM goods');

RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- Rescans: with other rows, and with the same ones, of which a sort in memory keeps all
SELECT same('SELECT i, n FROM few, LATERAL (SELECT count(*) n FROM (SELECT DISTINCT few, k % i FROM goods WHERE id % i = 0) s) l');
SELECT same('SELECT i, s.few FROM few LEFT JOIN (SELECT DISTINCT few FROM goods) s ON s.few <> i');
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT same('SELECT i, s.few FROM few LEFT JOIN (SELECT DISTINCT few FROM goods) s ON s.few <> i');
SELECT same('SELECT i, s.long FROM few LEFT JOIN (SELECT DISTINCT long FROM goods) s ON length(s.long) = 720 + i');
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- A cursor reads some rows, goes back, and reads on after the others are gone
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT DISTINCT shop, few FROM goods ORDER BY shop, few;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 300 FROM c;
COMMIT;
SELECT count(*) FROM (SELECT DISTINCT wide FROM goods LIMIT 10) s;
-- without SCROLL it cannot go back, as with core's nodes
SELECT format('DECLARE c CURSOR FOR %s; FETCH 2 FROM c; FETCH BACKWARD 1 FROM c', query)
FROM unnest('{SELECT DISTINCT few FROM goods,SELECT few FROM goods UNION SELECT 1,SELECT few FROM goods GROUP BY few}'::text[]) query \gexec
-- a merge join goes back to the first of equal rows
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT same('SELECT a.k, b.few FROM (SELECT DISTINCT ON (id) k, id FROM goods ORDER BY id, k) a JOIN (SELECT DISTINCT id, few FROM goods) b ON a.id = b.id');
SELECT same('SELECT a.k, b.few FROM goods a JOIN (SELECT DISTINCT k, few FROM goods) b ON a.k = b.k');
RESET enable_hashjoin;
RESET enable_nestloop;

-- Columns have the names that the query gives them
SELECT * FROM (SELECT few FROM goods UNION SELECT 1) x (name_of_column);
WITH x (another_name) AS (SELECT DISTINCT few + 1 FROM goods) SELECT * FROM x;

-- An error of core's own where the user may not compare values
CREATE ROLE no_comparer;
GRANT SELECT ON goods TO no_comparer;
REVOKE EXECUTE ON FUNCTION numeric_eq(numeric, numeric) FROM PUBLIC;
SET SESSION AUTHORIZATION no_comparer;
SELECT count(*) FROM (SELECT DISTINCT scaled FROM goods) s;
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION numeric_eq(numeric, numeric) TO PUBLIC;
DROP OWNED BY no_comparer;
DROP ROLE no_comparer;
DROP TABLE goods, few;
DROP FUNCTION plan_of, same, same_in_all, in_parts;
DROP COLLATION any_case;
