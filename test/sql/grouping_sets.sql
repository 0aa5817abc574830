-- Grouping sets of one order, which a GpuSortGroupAggregate evaluates.
SET gpusort.min_rows = 0;
SET gpusort.enable_aggregates = on;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_incremental_sort = off;

CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE sales AS
SELECT id, id * 7919 % 10007 k, nullif(id * 31 % 307, 3) g, nullif(id % 7, 3) h, (id * 31 % 1000)::numeric / 8 num,
	CASE WHEN id % 2 = 0 THEN 1.0 ELSE 1.00 END * (id % 40) scaled, 'shop ' || id % 50 shop, repeat('long prefix ', 20) || id * 17 % 90 long,
	(CASE WHEN id % 3 = 0 THEN 'Name ' ELSE 'NAME ' END || id % 40) COLLATE any_case name, nullif((id % 13)::smallint, 5::smallint) small,
	nullif(id * 1000000007::bigint % 99991, 7) big, date '2026-01-01' + id % 70 sold, (id * 13 % 17) / 3.0::float8 f, id % 3 = 0 b
FROM generate_series(1, 10000) id;
INSERT INTO sales (id, g) SELECT -i, 5000 + i / 2 FROM generate_series(1, 20) i;
CREATE TABLE few AS SELECT i FROM generate_series(1, 3) i;
ANALYZE sales, few;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/plan_of.sql'
\i :include

\set node GpuSortGroupAggregate
\set include :test '/include/same.sql'
\i :include

-- One node for the sort and all sets
SELECT plan_of('SELECT g, h, count(*) FROM sales GROUP BY ROLLUP (g, h)');
SELECT plan_of('SELECT g, h, sum(k) FROM sales GROUP BY GROUPING SETS ((h), (g, h, b), (h)) HAVING count(*) > 1');
SELECT plan_of('SELECT g, h, b, grouping(b, g), avg(num) FROM sales GROUP BY g, ROLLUP ((h, b))');
EXPLAIN (VERBOSE, COSTS OFF) SELECT g + 1 next, h, grouping(h, g + 1), sum(k) FROM sales GROUP BY GROUPING SETS ((h, g + 1), (h), ()) HAVING grouping(g + 1) > 0;
CREATE FUNCTION sets_of(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #> '{0,Plan,Grouping Sets}';
END $$;
SELECT sets_of('SELECT g, h, count(*) FROM sales GROUP BY ROLLUP (g, h)');
-- not for sets of several orders, groups by a constant, aggregates that sort, or with this setting
SELECT plan_of('SELECT g, h, count(*) FROM sales GROUP BY CUBE (g, h)');
SELECT plan_of('SELECT g, h, count(*) FROM sales WHERE g = 5 GROUP BY ROLLUP (g, h)');
SELECT plan_of('SELECT g, count(DISTINCT h) FROM sales GROUP BY ROLLUP (g)');
SELECT plan_of('SELECT g, array_agg(k ORDER BY k) FROM sales GROUP BY ROLLUP (g)');
SET gpusort.enable_aggregates = off;
SELECT plan_of('SELECT g, h, count(*) FROM sales GROUP BY ROLLUP (g, h)');
SET gpusort.enable_aggregates = on;

CREATE FUNCTION add_lax(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, 100) + coalesce($2, 1)';
CREATE FUNCTION add_strict(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT CASE WHEN $2 % 5 = 4 THEN NULL ELSE $1 + $2 END';
CREATE FUNCTION times(numeric[], numeric) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE AS $$BEGIN $1[1] := coalesce($1[1], 0) + 1; $1[2] := coalesce($1[2], 0) + $2; RETURN $1; END$$;
CREATE FUNCTION mean(numeric[]) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1[2] / $1[1]';
CREATE FUNCTION later(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN greatest($1, $2); END$$;
CREATE AGGREGATE lax(int) (SFUNC = add_lax, STYPE = int);
CREATE AGGREGATE strict_sum(int) (SFUNC = add_strict, STYPE = int, INITCOND = '7');
CREATE AGGREGATE my_mean(numeric) (SFUNC = times, STYPE = numeric[], INITCOND = '{}', FINALFUNC = mean);
CREATE AGGREGATE latest(text) (SFUNC = later, STYPE = text, INITCOND = 'shop 3 and a text that begins a group');

CREATE TABLE queries (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
-- counts, sums and extremes of integers, which are added up from set to set
('SELECT g, h, count(*), count(k), count(long), sum(k), sum(small), max(k), min(k), max(small), min(big), max(sold) FROM sales GROUP BY ROLLUP (g, h)'),
('SELECT h, b, small, count(*), sum(id), min(sold) FROM sales GROUP BY ROLLUP (h, b, small)'),
('SELECT h, sum(small), max(small), grouping(h) FROM sales GROUP BY ROLLUP (h)'),
('SELECT g, h, small, sum(k), count(*), grouping(h, small, g) FROM sales GROUP BY GROUPING SETS ((g, h, small), (h), (h, g), (), (), (h), (small, g, h))'),
('SELECT g, h, max(k) FROM sales GROUP BY GROUPING SETS ((g, h), (h)) HAVING grouping(g) = 1 OR max(k) % 2 = 0'),
('SELECT g, h FROM sales GROUP BY ROLLUP (g, h) HAVING count(*) > 3'),
('SELECT count(*), min(k) FROM sales GROUP BY g, ROLLUP (h) HAVING min(k) IS NULL'),
('SELECT sum(k), grouping(g) FROM sales GROUP BY ROLLUP (g)'),
('SELECT g, b, count(*) FROM sales GROUP BY DISTINCT ROLLUP (g, b), ROLLUP (g)'),
('SELECT g, b, count(*) FROM sales GROUP BY ROLLUP (g, b), ROLLUP (g)'),
-- others, with filters, which share states
('SELECT h, b, avg(k), sum(big), avg(big), avg(num), sum(num), stddev(k), variance(num) FROM sales GROUP BY ROLLUP (h, b)'),
('SELECT g, h, count(*) FILTER (WHERE b), sum(k) FILTER (WHERE k > 5000), avg(num) FILTER (WHERE h IS NULL) FROM sales GROUP BY ROLLUP (g, h)'),
('SELECT h, b, (SELECT array_agg(x ORDER BY x) FROM unnest(array_agg(k)) x), length(string_agg(shop, '','')), jsonb_array_length(jsonb_agg(id)), bool_and(b), bit_xor(k), range_agg(int4range(id, id + 2)) FROM sales GROUP BY ROLLUP (h, b)'),
('SELECT g, h, min(shop), max(lower(name::text COLLATE "C")), min(num), max(long) FROM sales GROUP BY ROLLUP (g, h) HAVING avg(num) > 20'),
('SELECT h, b, lax(k % 100), strict_sum(h), my_mean(num), latest(shop) FROM sales GROUP BY GROUPING SETS ((h, b), (h), ())'),
('SELECT h, b, lax(k % 100), strict_sum(h), my_mean(num), latest(shop) FROM sales GROUP BY GROUPING SETS ((h, b), (h, b), (b))'),
-- columns of groups of all kinds, whose ties keys do not tell
('SELECT long, h, count(*), sum(k) FROM sales GROUP BY ROLLUP (long, h)'),
('SELECT long, h, count(*), max(shop) FROM sales GROUP BY GROUPING SETS ((long, h), (h))'),
('SELECT lower(name::text COLLATE "C"), h, c, s FROM (SELECT name, h, count(*) c, sum(k) s FROM sales GROUP BY ROLLUP (name, h)) q'),
('SELECT scaled + 0.000, b, count(*), sum(k), avg(k) FROM sales GROUP BY ROLLUP (scaled, b)'),
('SELECT b, f, shop, h, count(*) FROM sales GROUP BY ROLLUP (b, f, shop, h)'),
('SELECT row(g, h), b, count(*) FROM sales GROUP BY ROLLUP (row(g, h), b)'),
('SELECT h + 1 a, k % 5 b, sum(k + 1), max(g + 1), grouping(k % 5) FROM sales GROUP BY ROLLUP (h + 1, k % 5)'),
('SELECT h, sold, coalesce(sum(k), -1), coalesce(h, -1) FROM sales GROUP BY ROLLUP (h, sold) HAVING sum(k) > 5000 OR h IS NULL'),
-- expressions: subqueries, parameters, case, a column that is grouped twice
('SELECT h, b, sum((SELECT max(i) FROM few WHERE i <> sales.h)), count(*) FILTER (WHERE EXISTS (SELECT FROM few WHERE i = sales.h)) FROM sales GROUP BY ROLLUP (h, b)'),
('SELECT h, b, (SELECT string_agg(i::text, '','' ORDER BY i) FROM few WHERE i < count(sales.k) AND grouping(sales.b) < i) FROM sales GROUP BY ROLLUP (h, b)'),
('SELECT h, (SELECT h + i FROM few WHERE i = 2), max(CASE WHEN b THEN k END), coalesce(sum(nullif(h, 1)), -1) FROM sales GROUP BY ROLLUP (h)'),
('SELECT g x, g y, count(*) FROM sales GROUP BY ROLLUP (x, y)'),
('SELECT id, g, max(k) FROM sales GROUP BY ROLLUP (g, id, h)'),
-- above: order, windows, sets, joins, other groups, and a function that returns rows
('SELECT g, h, s, rank() OVER (ORDER BY s, g, h) FROM (SELECT g, h, sum(k) s FROM sales GROUP BY ROLLUP (g, h)) q'),
('SELECT c, count(*), sum(s) FROM (SELECT g, h, count(*) c, sum(k) s FROM sales GROUP BY ROLLUP (g, h)) q GROUP BY ROLLUP (c)'),
('SELECT g, sum(k) FROM sales GROUP BY ROLLUP (g) UNION ALL SELECT h, count(*) FROM sales GROUP BY GROUPING SETS ((h))'),
('SELECT a.g, a.s, b.c FROM (SELECT g, sum(k) s FROM sales GROUP BY ROLLUP (g)) a JOIN (SELECT g, count(*) c FROM sales GROUP BY ROLLUP (g)) b USING (g)'),
('SELECT generate_series(1, 2), h, count(*) FROM sales GROUP BY ROLLUP (h)'),
('SELECT i, q.* FROM few, LATERAL (SELECT h, b, count(*), sum(k + i), avg(num) FROM sales WHERE k > i * 100 GROUP BY ROLLUP (h, b) OFFSET 0) q'),
('SELECT i, q.* FROM few, LATERAL (SELECT h, b, sum(k + i) FROM sales GROUP BY ROLLUP (h, b) HAVING count(*) > i OFFSET 0) q'),
('SELECT i, q.* FROM few LEFT JOIN (SELECT h, b, sum(k) s, avg(k) FROM sales GROUP BY ROLLUP (h, b) OFFSET 0) q ON q.h <= i * 10'),
-- no rows, one, and groups of one row
('SELECT g, h, count(*), sum(k), max(k), avg(k), grouping(g, h) FROM sales WHERE f > id AND f < id GROUP BY ROLLUP (g, h)'),
('SELECT g, count(*), sum(k), grouping(g) FROM sales WHERE f > id AND f < id GROUP BY GROUPING SETS ((g), (), ())'),
('SELECT g, h, count(*), lax(k), my_mean(num) FROM sales WHERE f > id AND f < id GROUP BY GROUPING SETS ((g, h), (g))'),
('SELECT g, count(*) FROM sales WHERE f > id AND f < id GROUP BY ROLLUP (g) HAVING count(*) > 0'),
('SELECT g, h, count(*), avg(k) FROM sales WHERE id + 0 = 77 GROUP BY ROLLUP (g, h)'),
('SELECT id, h, count(*), sum(k), avg(k) FROM sales GROUP BY ROLLUP (id, h)'),
('SELECT i, q.* FROM few, LATERAL (SELECT g, count(*), sum(k + i) FROM sales WHERE f > id AND f + i < id AND id < i GROUP BY ROLLUP (g) OFFSET 0) q');
SELECT n, same(query) FROM queries ORDER BY n;
-- without a device
SET gpusort.device = host;
SELECT n, same(query) FROM queries WHERE n < 25 ORDER BY n;
RESET gpusort.device;
-- with rows that do not fit the memory
SET work_mem = '64kB';
SELECT n, same(query) FROM queries ORDER BY n;
SET work_mem = '64MB';
-- rows that come in order
CREATE TABLE in_order AS SELECT * FROM sales ORDER BY g, h;
ANALYZE in_order;
SELECT n, same(replace(query, 'sales', 'in_order')) FROM queries WHERE n < 18 ORDER BY n;
-- expressions that are compiled, but not those of functions in SQL, anew for each call
SET jit = on;
SET jit_above_cost = 1;
SELECT n, same(query) FROM queries WHERE n BETWEEN 10 AND 16 ORDER BY n;
RESET jit;
RESET jit_above_cost;

-- A row of NULLs is a group of some set
SELECT h, b, sum(k), grouping(h, b) FROM sales WHERE h IS NULL OR h < 2 GROUP BY ROLLUP (h, b) ORDER BY h, b, grouping(h, b);

-- Errors
SELECT g, sum(1 / (k - 5)) FROM sales GROUP BY ROLLUP (g);
SELECT count(*) FROM (SELECT g, count(*) FROM sales GROUP BY ROLLUP (g) HAVING 1 / grouping(g) > 0) q;

-- Prepared statements, with any plan
PREPARE by_h(int, int) AS SELECT h, b, count(*), sum(k + $1) FROM sales WHERE id > $2 GROUP BY ROLLUP (h, b) HAVING count(*) > $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_h(1, 9900);
EXECUTE by_h(9, 9900);
EXECUTE by_h(-1, 9998);
EXECUTE by_h(-1, 10000);
RESET plan_cache_mode;

-- Cursors, which stop and go on, or go back
BEGIN;
DECLARE forth CURSOR FOR SELECT g, h, count(*), sum(k), max(shop) FROM sales GROUP BY ROLLUP (g, h);
FETCH 2 FROM forth;
FETCH 7 FROM forth;
MOVE 2433 IN forth;
FETCH ALL FROM forth;
DECLARE back SCROLL CURSOR FOR SELECT h, b, count(*), sum(k) FROM sales GROUP BY ROLLUP (h, b);
FETCH 4 FROM back;
FETCH BACKWARD 2 FROM back;
FETCH LAST FROM back;
COMMIT;

-- EXPLAIN ANALYZE shows the groups that HAVING has left out
SELECT regexp_replace(line, 'Memory: \d+', 'Memory: ...') FROM plan_of('SELECT h, b FROM sales GROUP BY ROLLUP (h, b) HAVING sum(k) > 7150000', true) line;

-- The planner sorts if the hash tables would be large, and all sets have one order
CREATE TABLE many AS SELECT id, id % 7 h, id % 6007 g, md5(id::text) txt FROM generate_series(1, 60000) id;
ANALYZE many;
SET enable_hashagg = on;
SELECT plan_of('SELECT txt, h, count(*) FROM many GROUP BY ROLLUP (txt, h)');
SELECT plan_of('SELECT h, id, sum(g) FROM many GROUP BY GROUPING SETS ((h), (id, h), (h, id))');
SELECT plan_of('SELECT h, count(*) FROM many GROUP BY ROLLUP (h)');
SELECT plan_of('SELECT txt, h, count(*) FROM many GROUP BY CUBE (txt, h)');
SET gpusort.enable_costs = off;
SELECT plan_of('SELECT txt, h, count(*) FROM many GROUP BY ROLLUP (txt, h)');
RESET gpusort.enable_costs;
SELECT same(query) FROM unnest(ARRAY[
	'SELECT txt, h, count(*), grouping(h, txt) FROM many GROUP BY ROLLUP (txt, h) HAVING grouping(h) = 1',
	'SELECT h, id, sum(g), avg(g) FROM many GROUP BY GROUPING SETS ((h), (id, h), (h, id))',
	'SELECT h + 1, id - 1, sum(g), avg(g) FROM many GROUP BY ROLLUP (h + 1, (id - 1, txt))',
	'SELECT a.h, b.id, count(*) FROM many a JOIN many b ON a.id = b.g GROUP BY ROLLUP (a.h, b.id)',
	'SELECT a.h, a.id, b.id, count(*) FROM many a JOIN many b USING (id) GROUP BY ROLLUP (a.h, a.id, b.id)',
	'SELECT h, id, count(DISTINCT g), count(*) FROM many GROUP BY ROLLUP (h, id)',
	'SELECT id, h, count(*) FROM (SELECT * FROM many UNION ALL SELECT * FROM many) q GROUP BY ROLLUP (id, h)']) query;
-- an order that the query wants, too, by which rows of sets without a column come last
CREATE FUNCTION out_of_order(query text, columns text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT n, row_number() OVER (ORDER BY %1$s, n) m FROM (SELECT row_number() OVER () n, q.* FROM (%2$s ORDER BY %1$s OFFSET 0) q) r) s WHERE n <> m', columns, query) INTO result;
	RETURN result;
END $$;
SELECT columns, out_of_order('SELECT h, id, sum(g) FROM many GROUP BY ROLLUP (h, id)', columns),
	out_of_order('SELECT h, g, sum(id) FROM sales GROUP BY h, ROLLUP (g)', replace(columns, 'id', 'g'))
FROM unnest('{"h, id","id, h","h DESC, id","h DESC NULLS LAST, id NULLS FIRST","h NULLS FIRST, id DESC"}'::text[]) columns;

DROP TABLE sales, in_order, few, queries, many;
DROP AGGREGATE lax(int), strict_sum(int), my_mean(numeric), latest(text);
DROP FUNCTION add_lax, add_strict, times, mean, later, plan_of, sets_of, out_of_order, same;
DROP COLLATION any_case;
