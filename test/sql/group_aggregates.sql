-- Aggregates of groups that a GpuSortGroupAggregate evaluates.
SET gpusort.min_rows = 0;
SET gpusort.enable_aggregates = on;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_incremental_sort = off;
SET timezone = 'UTC';

CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE sales WITH (parallel_workers = 2) AS
SELECT id, id * 7919 % 10007 k, nullif(id * 31 % 3001, 3) g, nullif(id % 7, 3) h, (id * 31 % 1000)::numeric / 8 num,
	CASE WHEN id % 2 = 0 THEN 1.0 ELSE 1.00 END * (id % 400) scaled, 'shop ' || id % 50 shop,
	repeat('long prefix ', 20) || id * 17 % 900 long, (CASE WHEN id % 3 = 0 THEN 'Name ' ELSE 'NAME ' END || id % 400) COLLATE any_case name,
	nullif((id % 13)::smallint, 5::smallint) small, nullif(id * 1000000007::bigint % 99991, 7) big, date '2026-01-01' + id % 700 sold,
	timestamp '2026-01-01' + id % 900 * interval '1 hour' at_time, (id * 13 % 17) / 3.0::float8 f, id % 3 = 0 b
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

-- The same with workers, with none that starts, and without a leader that takes part; are rows in parts, too?
CREATE FUNCTION in_parts() RETURNS bigint LANGUAGE sql AS $$ SELECT value FROM gpusort_stats WHERE name = 'sorts_in_parts' $$;
CREATE FUNCTION same_by_workers(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	variant text;
	results text[];
	before bigint := in_parts();
BEGIN
	FOREACH variant IN ARRAY '{workers,"no workers","no leader"}'::text[] LOOP
		PERFORM set_config('max_parallel_workers', CASE variant WHEN 'no workers' THEN '0' ELSE '8' END, true);
		PERFORM set_config('parallel_leader_participation', CASE variant WHEN 'no leader' THEN 'off' ELSE 'on' END, true);
		results := results || same(query);
	END LOOP;
	RETURN (SELECT string_agg(DISTINCT r, ', ') FROM unnest(results) r) || CASE WHEN in_parts() > before THEN ', in parts' ELSE '' END;
END $$;

-- One node for the sort and the aggregates of its groups
SELECT plan_of('SELECT g, count(*), sum(k) FROM sales GROUP BY g');
SELECT plan_of('SELECT h, g + 1, avg(num) FILTER (WHERE k > 5) FROM sales GROUP BY h, g + 1 HAVING max(k) > 10 AND count(*) > 1');
SELECT plan_of('SELECT count(*) c, name FROM sales GROUP BY name ORDER BY c DESC, name');
SELECT plan_of('SELECT g, sum(k), rank() OVER (ORDER BY sum(k)) FROM sales GROUP BY g');
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, 1 + count(*), sum(k) FROM sales GROUP BY g HAVING sum(k) > 7;
-- not if aggregates sort the rows of each group, or with this setting
SELECT plan_of('SELECT g, mode() WITHIN GROUP (ORDER BY k), count(*) FILTER (WHERE k > 1) FROM sales GROUP BY g');
SELECT line FROM plan_of('SELECT g, count(DISTINCT h), array_agg(k) FROM sales GROUP BY g') line WHERE line !~ 'Sort Key';
SET gpusort.enable_aggregates = off;
SELECT plan_of('SELECT g, count(*), sum(k) FROM sales GROUP BY g');
SET gpusort.enable_aggregates = on;

-- Aggregates of the user: strict and not, with initial states and without, by value and by reference, final functions that see
-- types of arguments, and a state that becomes NULL
CREATE FUNCTION add_lax(int, int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT coalesce($1, 100) + coalesce($2, 1)';
CREATE FUNCTION add_strict(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT CASE WHEN $2 % 5 = 4 THEN NULL ELSE $1 + $2 END';
CREATE FUNCTION join_text(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS 'BEGIN RETURN left($1 || $2, 40); END';
CREATE FUNCTION show_text(text, anyelement) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$BEGIN RETURN $1 || pg_typeof($2); END$$;
CREATE FUNCTION text_of(text, anyelement) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$BEGIN RETURN $1 || $2::text; END$$;
CREATE FUNCTION times(numeric[], numeric) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$BEGIN $1[1] := coalesce($1[1], 0) + 1; $1[2] := coalesce($1[2], 0) + $2; RETURN $1; END$$;
CREATE FUNCTION mean(numeric[]) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT $1[2] / $1[1]';
CREATE AGGREGATE lax(int) (SFUNC = add_lax, STYPE = int, PARALLEL = SAFE);
CREATE AGGREGATE strict_first(int) (SFUNC = add_strict, STYPE = int, PARALLEL = SAFE);
CREATE AGGREGATE strict_begun(int) (SFUNC = add_strict, STYPE = int, INITCOND = '7', PARALLEL = SAFE);
CREATE AGGREGATE joined(text) (SFUNC = join_text, STYPE = text, PARALLEL = SAFE);
CREATE AGGREGATE shown(anyelement) (SFUNC = text_of, STYPE = text, INITCOND = 'of ', FINALFUNC = show_text, FINALFUNC_EXTRA, PARALLEL = SAFE);
-- of core's functions, with another beginning than core's aggregates
CREATE AGGREGATE count_from(*) (SFUNC = int8inc, STYPE = int8, INITCOND = '5', PARALLEL = SAFE);
CREATE AGGREGATE largest_from(int) (SFUNC = int4larger, STYPE = int, INITCOND = '8000', PARALLEL = SAFE);
CREATE AGGREGATE sum_from(int) (SFUNC = int4_sum, STYPE = int8, INITCOND = '0', PARALLEL = SAFE);
CREATE AGGREGATE my_mean(numeric) (SFUNC = times, STYPE = numeric[], INITCOND = '{}', FINALFUNC = mean, PARALLEL = SAFE);

CREATE TABLE queries (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
-- counts, sums and extremes of integers
('SELECT g, count(*), count(k), count(long), sum(k), sum(small), max(k), min(k), max(small), min(big), max(sold), min(at_time) FROM sales GROUP BY g'),
('SELECT g, count(*) FROM sales GROUP BY g'),
('SELECT h, count(*), sum(id) FROM sales GROUP BY h'),
('SELECT g, h, sum(k), sum(k) + count(*) FROM sales GROUP BY g, h HAVING count(*) > 1 AND sum(k) % 2 = 0'),
('SELECT g FROM sales GROUP BY g HAVING count(*) > 3'),
('SELECT count(*) FROM sales GROUP BY g HAVING min(k) IS NULL'),
('SELECT max(at_time), min(sold) FROM sales GROUP BY at_time'),
('SELECT k, sum(id) FROM sales GROUP BY k'),
-- others, with filters, which share states
('SELECT g, avg(k), sum(big), avg(big), stddev(k), avg(num), sum(num), sum(k::float8), avg(k::float8), variance(num) FROM sales GROUP BY g'),
('SELECT g, count(*) FILTER (WHERE b), sum(k) FILTER (WHERE k > 5000), avg(num) FILTER (WHERE h IS NULL) FROM sales GROUP BY g'),
('SELECT g, (SELECT array_agg(x ORDER BY x) FROM unnest(array_agg(k)) x), length(string_agg(shop, '','')), jsonb_array_length(jsonb_agg(id)), length(json_object_agg(id, shop)::text), bool_and(b), bit_xor(k), range_agg(int4range(id, id + 2)) FROM sales GROUP BY g'),
('SELECT g, min(shop), max(name), min(num), max(long) FROM sales GROUP BY g HAVING avg(num) > 20'),
('SELECT g, array_agg(k ORDER BY id), string_agg(shop, '','' ORDER BY id DESC) FROM sales GROUP BY g'),
('SELECT shop, h, lax(k), strict_first(h), strict_begun(h), joined(shop), shown(h), shown(shop), my_mean(num) FROM sales GROUP BY shop, h'),
('SELECT g, covar_pop(k, id)::numeric(20,3), regr_count(k, h) FROM sales GROUP BY g'),
-- columns of groups of all kinds, whose ties keys do not tell
('SELECT long, count(*), sum(k) FROM sales GROUP BY long'),
('SELECT lower(name COLLATE "C"), count(*), sum(k) FROM sales GROUP BY lower(name COLLATE "C")'),
('SELECT lower(name::text COLLATE "C"), c, s FROM (SELECT name, count(*) c, sum(k) s FROM sales GROUP BY name) q'),
('SELECT scaled + 0.000, count(*), sum(k), avg(k) FROM sales GROUP BY scaled'),
('SELECT long, h, count(*), max(shop) FROM sales GROUP BY long, h'),
('SELECT b, f, num, shop, count(*) FROM sales GROUP BY b, f, num, shop'),
('SELECT row(g, h), count(*) FROM sales GROUP BY row(g, h)'),
('SELECT g + 1 a, k % 5 b, sum(k + 1), max(g + 1) FROM sales GROUP BY g + 1, k % 5'),
('SELECT sold, at_time, sum(k) FROM sales GROUP BY sold, at_time HAVING sum(k) > 5000'),
-- expressions: subqueries, parameters, whole rows, case
('SELECT g, sum((SELECT max(i) FROM few WHERE i <> sales.h)), count(*) FILTER (WHERE EXISTS (SELECT FROM few WHERE i = sales.h)) FROM sales GROUP BY g'),
('SELECT g, sum(k) + (SELECT max(i) FROM few) FROM sales GROUP BY g HAVING count(*) > (SELECT min(i) FROM few)'),
('SELECT g, (SELECT string_agg(i::text, '','' ORDER BY i) FROM few WHERE i < count(sales.k)) FROM sales GROUP BY g'),
('SELECT g, count(sales), max(CASE WHEN b THEN k END), coalesce(sum(nullif(h, 1)), -1) FROM sales GROUP BY g'),
-- above: order, windows, sets, joins, other groups
('SELECT g, s, rank() OVER (ORDER BY s, g) FROM (SELECT g, sum(k) s FROM sales GROUP BY g) q'),
('SELECT c, count(*), sum(s) FROM (SELECT g, count(*) c, sum(k) s FROM sales GROUP BY g) q GROUP BY c'),
('SELECT g, sum(k) FROM sales GROUP BY g UNION ALL SELECT h, count(*) FROM sales GROUP BY h'),
('SELECT a.g, a.s, b.c FROM (SELECT g, sum(k) s FROM sales GROUP BY g) a JOIN (SELECT g, count(*) c FROM sales GROUP BY g) b USING (g)'),
('SELECT generate_series(1, 2), g, count(*) FROM sales GROUP BY g'),
('SELECT i, q.* FROM few, LATERAL (SELECT g, count(*), sum(k + i), avg(num) FROM sales WHERE k > i * 100 GROUP BY g OFFSET 0) q'),
('SELECT i, q.* FROM few, LATERAL (SELECT g, sum(k + i), avg(g + i) FROM sales GROUP BY g HAVING count(*) > i OFFSET 0) q'),
('SELECT i, q.* FROM few LEFT JOIN (SELECT g, sum(k) s, avg(k) FROM sales GROUP BY g OFFSET 0) q ON q.g <= i * 10'),
-- no rows, one, and groups of one row
('SELECT g, count(*) FROM sales WHERE f > id AND f < id GROUP BY g'),
('SELECT g, count(*), avg(k) FROM sales WHERE id + 0 = 77 GROUP BY g'),
('SELECT id, count(*), sum(k), avg(k) FROM sales GROUP BY id'),
-- totals that begin with a value
('SELECT g, count_from(*) FROM sales GROUP BY g'),
('SELECT g, largest_from(k) FROM sales GROUP BY g'),
('SELECT g, sum_from(k) FROM sales GROUP BY g');
SELECT n, same(query) FROM queries ORDER BY n;

-- with rows that do not fit the memory
SET work_mem = '64kB';
SELECT n, same(query) FROM queries ORDER BY n;
SET work_mem = '64MB';
-- rows that come in order
CREATE TABLE in_order AS SELECT * FROM sales ORDER BY g, h;
ANALYZE in_order;
SELECT n, same(replace(query, 'sales', 'in_order')) FROM queries WHERE n < 16 ORDER BY n;

-- workers emit whole groups
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET cpu_tuple_cost = 1;
SET gpusort.get_shared_row_cost = 0;
SET enable_gathermerge = off;
SET max_parallel_workers_per_gather = 8;
SELECT plan_of('SELECT count(*), sum(s) FROM (SELECT g, sum(k) s FROM sales GROUP BY g) q');
SELECT n, same_by_workers(query) FROM queries ORDER BY n;
SET work_mem = '300kB';
SELECT n, same_by_workers(query) FROM queries WHERE n < 13 ORDER BY n;
SET work_mem = '64MB';
RESET cpu_tuple_cost;
-- Of the groups only the first ones are wanted: the Sorts of the workers keep as many
SET max_parallel_workers_per_gather = 2;
SET enable_gathermerge = on;
SET parallel_tuple_cost = 10;
SET parallel_leader_participation = off;
SELECT plan_of('SELECT g, sum(k) s FROM sales GROUP BY g ORDER BY s DESC NULLS LAST, g LIMIT 5');
SELECT g, s, pg_sleep(0.1)::text = '' slept FROM (SELECT g, sum(k) s FROM sales GROUP BY g ORDER BY s DESC NULLS LAST, g LIMIT 5) q;
RESET parallel_leader_participation;
RESET parallel_tuple_cost;
SET max_parallel_workers_per_gather = 0;

-- Volatile arguments are evaluated as often as in core, and in the same order
CREATE SEQUENCE calls;
SELECT sum(a), sum(b * g), nextval('calls') FROM (SELECT g, sum(nextval('calls')) a, max(nextval('calls')) b FROM sales GROUP BY g HAVING nextval('calls') % 3 > 0) q;
SELECT setval('calls', 1, false);
SET gpusort.enable_aggregates = off;
SELECT sum(a), sum(b * g), nextval('calls') FROM (SELECT g, sum(nextval('calls')) a, max(nextval('calls')) b FROM sales GROUP BY g HAVING nextval('calls') % 3 > 0) q;
SET gpusort.enable_aggregates = on;

-- Errors
SELECT g, sum(1 / (k - 5)) FROM sales GROUP BY g;
CREATE FUNCTION fail(int, int) RETURNS int LANGUAGE plpgsql AS $$BEGIN IF $2 = 77 THEN RAISE 'in a transition'; END IF; RETURN $1 + $2; END$$;
CREATE AGGREGATE failing(int) (SFUNC = fail, STYPE = int, INITCOND = '0');
SELECT max(f) FROM (SELECT g, failing(k) f FROM sales GROUP BY g OFFSET 0) q;
SELECT count(*) FROM (SELECT g, count(*) FROM sales GROUP BY g HAVING 1 / (min(k) - 9) > 0) q;
-- who may call what
CREATE ROLE seller;
GRANT SELECT ON sales TO seller;
REVOKE EXECUTE ON FUNCTION fail(int, int) FROM public;
SET ROLE seller;
SELECT g, failing(k) FROM sales WHERE k > 10000 GROUP BY g ORDER BY g LIMIT 2;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION failing(int) FROM public;
SET ROLE seller;
SELECT g, failing(k) FROM sales WHERE k > 10000 GROUP BY g ORDER BY g LIMIT 2;
RESET ROLE;
GRANT EXECUTE ON FUNCTION failing(int) TO public;
ALTER AGGREGATE failing(int) OWNER TO seller;
SELECT g, failing(k) FROM sales WHERE k > 10000 GROUP BY g ORDER BY g LIMIT 2;
ALTER AGGREGATE failing(int) OWNER TO CURRENT_USER;
DROP OWNED BY seller;
DROP ROLE seller;

-- Prepared statements, with any plan
PREPARE by_h(int, int) AS SELECT h, count(*), sum(k + $1) FROM sales WHERE id > $2 GROUP BY h HAVING count(*) > $1 ORDER BY h;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_h(1, 9900);
EXECUTE by_h(1, 9900);
EXECUTE by_h(14, 9900);
RESET plan_cache_mode;

-- Cursors, which stop and go on, or go back
BEGIN;
DECLARE forth CURSOR FOR SELECT g, count(*), sum(k), max(shop) FROM sales GROUP BY g;
FETCH 2 FROM forth;
FETCH 2 FROM forth;
MOVE 3004 IN forth;
FETCH ALL FROM forth;
DECLARE back SCROLL CURSOR FOR SELECT g, count(*), array_agg(k ORDER BY k) FROM sales GROUP BY g;
FETCH 2 FROM back;
FETCH BACKWARD 1 FROM back;
FETCH LAST FROM back;
COMMIT;

-- EXPLAIN ANALYZE shows the groups that HAVING has left out
SELECT regexp_replace(line, 'Memory: \d+', 'Memory: ...') FROM plan_of('SELECT h FROM sales GROUP BY h HAVING sum(k) > 7150000', true) line;

DROP TABLE sales, in_order, few, queries;
DROP AGGREGATE lax(int), strict_first(int), strict_begun(int), joined(text), shown(anyelement), my_mean(numeric), failing(int);
DROP FUNCTION add_lax, add_strict, join_text, show_text, text_of, times, mean, fail, plan_of, same, same_by_workers, in_parts;
DROP SEQUENCE calls;
DROP COLLATION any_case;
