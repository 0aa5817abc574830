-- Sums and averages of integers and numerics, which are exact sums: of groups, of grouping sets, and of windows.
SET gpusort.min_rows = 0;
SET gpusort.enable_aggregates = on;
SET gpusort.enable_windows = on;
SET work_mem = '256MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_incremental_sort = off;

-- scales from 0 to 20, zeros of several scales, NULLs, and in "odd" rare values that no exact sum takes
CREATE TABLE numbers AS
SELECT id, id % 400 g, nullif(id % 7, 3) h, (hashint4(id) / 1000.0)::numeric(14, 2) money,
	CASE id % 6 WHEN 0 THEN round(hashint4(id) / 7.0, id % 17) WHEN 1 THEN -hashint4(id)::numeric WHEN 2 THEN 0.000 WHEN 3 THEN NULL
		WHEN 4 THEN (id || 'e' || (id % 13))::numeric ELSE ('0.' || repeat('0', id % 15) || '3')::numeric END mixed,
	round(1 / (id % 9 + 1)::numeric, 20) long,
	CASE WHEN id % 97 = 0 THEN 'NaN' WHEN id % 101 = 0 THEN 'Infinity' WHEN id % 103 = 0 THEN '-Infinity' WHEN id % 53 = 0 THEN id || 'e40'
		WHEN id % 59 = 0 THEN '1e-18' WHEN id % 61 = 0 THEN '12345678901234567' WHEN id IN (67, 71) THEN '6e131071'
		WHEN id = 134 THEN '-6e131071' WHEN id % 11 = 0 THEN NULL ELSE id || '.' || id % 1000 END::numeric odd,
	nullif((id % 13)::smallint, 5::smallint) small, nullif(id % 1000, 77) whole,
	CASE WHEN id % 5 = 0 THEN 9223372036854775807 WHEN id % 301 = 0 THEN -9223372036854775808 ELSE id * 1000003::bigint END big
FROM generate_series(1, 6000) id;
ANALYZE numbers;
-- values that were compressed, as the text of a long number is not
CREATE TABLE long_numbers (id int, g int, value numeric);
INSERT INTO long_numbers SELECT id, id % 3, CASE WHEN id % 4 = 0 THEN ('1' || repeat('0', 30000) || '.5')::numeric ELSE id END FROM generate_series(1, 40) id;
ANALYZE long_numbers;

\getenv test PG_ABS_SRCDIR
\set node GpuSortGroupAggregate
\set include :test '/include/same.sql'
\i :include

-- aggregates of the same functions, of which the first and the last are no exact sums
CREATE AGGREGATE from_hundred(int) (SFUNC = int4_avg_accum, STYPE = bigint[], FINALFUNC = int8_avg, INITCOND = '{1,100}');
CREATE AGGREGATE from_zero(int) (SFUNC = int4_avg_accum, STYPE = bigint[], FINALFUNC = int8_avg, INITCOND = '{0,0}');
CREATE AGGREGATE absolute_sum(int) (SFUNC = int4_sum, STYPE = bigint, FINALFUNC = int8abs);

CREATE TABLE queries (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
-- groups
('SELECT g, sum(money), avg(money), count(money) FROM numbers GROUP BY g'),
('SELECT h, sum(money), avg(money), min(whole), count(*) FROM numbers GROUP BY h HAVING sum(money) > -10000000'),
('SELECT g, sum(mixed), avg(mixed), sum(long), avg(long) FROM numbers GROUP BY g'),
('SELECT g, h, sum(odd), avg(odd) FROM numbers GROUP BY g, h'),
('SELECT h, sum(odd), avg(odd) FROM numbers WHERE odd NOT IN (''NaN'', ''Infinity'', ''-Infinity'') GROUP BY h'),
('SELECT g, sum(small), avg(small), sum(whole), avg(whole), sum(big), avg(big) FROM numbers GROUP BY g'),
('SELECT sum(big), avg(big), avg(mixed), sum(money) FROM numbers GROUP BY h IS NULL'),
('SELECT g, sum(value), avg(value) FROM long_numbers GROUP BY g'),
('SELECT g, from_hundred(whole), from_zero(whole), avg(whole), absolute_sum(whole) FROM numbers GROUP BY g'),
('SELECT g, sum(money) FILTER (WHERE id % 2 = 0), avg(money + 1), sum(-whole) FROM numbers GROUP BY g'),
('SELECT g, sum(money), stddev(money), sum(whole::numeric) FROM numbers GROUP BY g'),
('SELECT g, sum(odd), avg(odd), avg(small), sum(big), count(small) FROM numbers WHERE odd IS NULL OR small IS NULL GROUP BY g'),
('SELECT g, sum(money * whole), avg(money / nullif(whole, 0)), sum(odd / 2), count(nullif(h, 1)), min(-whole), max(id + g) FROM numbers GROUP BY g'),
('SELECT g, h, sum(money * small) FILTER (WHERE id % 3 > 0), avg(odd + money) FILTER (WHERE h > 1), count(*) FILTER (WHERE h = 2), count(small) FILTER (WHERE whole > 500) FROM numbers GROUP BY ROLLUP (g, h)'),
('SELECT g, sum(repeat(''9'', 20)::numeric + id), sum(CASE WHEN h = 2 THEN odd END), avg((SELECT count(*) FROM pg_am WHERE oid < id)) FROM numbers WHERE id < 2000 GROUP BY g'),
('SELECT g, sum((SELECT h)) FILTER (WHERE h IN (SELECT 1 + i FROM generate_series(0, 1) i)), avg(money) FROM numbers GROUP BY g'),
('SELECT g, sum(DISTINCT whole), avg(DISTINCT money), sum(money) FROM numbers GROUP BY g'),
('SELECT g, sum(DISTINCT h) FROM numbers GROUP BY g'),
-- sets of groups
('SELECT g, h, sum(money), avg(money), sum(big), avg(whole), grouping(h) FROM numbers GROUP BY ROLLUP (g, h)'),
('SELECT g, h, sum(mixed), avg(mixed), avg(long) FROM numbers GROUP BY ROLLUP (g, h)'),
('SELECT g, h, sum(odd), avg(odd), count(odd), max(whole) FROM numbers WHERE odd NOT IN (''NaN'', ''Infinity'', ''-Infinity'') GROUP BY ROLLUP (g, h)'),
('SELECT g, h, sum(odd), avg(odd) FROM numbers GROUP BY GROUPING SETS ((g, h), (g), (g), ())'),
('SELECT g, sum(money), avg(big) FROM numbers WHERE id < 0 GROUP BY ROLLUP (g)');
SELECT n, same(query) FROM queries ORDER BY n;
-- beside percentiles
TRUNCATE queries RESTART IDENTITY;
INSERT INTO queries (query) VALUES
('SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY money), sum(odd), avg(mixed), count(*) FILTER (WHERE h = 2), sum(money * 2) FROM numbers GROUP BY g'),
('SELECT g, count(DISTINCT money), avg(money), avg(money) + sum(money), sum(big), max(whole) FROM numbers GROUP BY g'),
('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY whole), sum(money), avg(mixed), sum(odd), count(*), sum(whole) FROM numbers WHERE id > 134'),
('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY whole), count(DISTINCT h), count(*), sum(whole) FILTER (WHERE h > 1), min(-id) FROM numbers');
-- whether counts of different values are taken depends on the version
SELECT n, CASE WHEN n IN (1, 3) THEN result ELSE regexp_replace(result, '^[01] ', '') END FROM (SELECT n, same(query, 'GpuSortAggregate') result FROM queries OFFSET 0) q ORDER BY n;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT n, regexp_replace(same(query, 'GpuSortAggregate'), '^[01] ', '') FROM queries ORDER BY n;
SET max_parallel_workers_per_gather = 0;
-- a sum of numbers that only core can add, and one that no numeric holds
SELECT sum(odd) FROM numbers WHERE id IN (67, 134) GROUP BY ();
SELECT g > 1000, avg(odd) FROM numbers WHERE id IN (1, 67, 71) GROUP BY 1;

-- an argument that fails, is volatile, or may not be evaluated
SELECT max(s) FROM (SELECT g, sum(1 / (whole - 7.0)) s FROM numbers GROUP BY g OFFSET 0) q;
CREATE SEQUENCE calls;
SELECT sum(n), sum(c), nextval('calls') FROM (SELECT g, sum(nextval('calls') * 0 + whole) n, count(*) FILTER (WHERE nextval('calls') > 0) c FROM numbers GROUP BY g OFFSET 0) q;
CREATE FUNCTION secret(numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN $1; END$$;
REVOKE EXECUTE ON FUNCTION secret FROM public;
CREATE ROLE accountant;
GRANT SELECT ON numbers TO accountant;
SET ROLE accountant;
SELECT g, sum(secret(money)) FROM numbers GROUP BY g ORDER BY g LIMIT 1;
RESET ROLE;
DROP OWNED BY accountant;
DROP ROLE accountant;

-- windows
TRUNCATE queries RESTART IDENTITY;
INSERT INTO queries (query)
SELECT format('SELECT id, %s FROM numbers WHERE %s WINDOW w AS (PARTITION BY h ORDER BY %s)', string_agg(format('%s OVER w', call), ', '), which, frame)
FROM (VALUES ('sum(money)', 'id < 2000'), ('avg(money)', 'id < 2000'), ('sum(mixed)', 'id < 2000'), ('avg(long)', 'id < 2000'), ('sum(small)', 'id < 2000'),
		('avg(small)', 'id < 2000'), ('sum(whole)', 'id < 2000'), ('avg(whole)', 'id < 2000'), ('sum(big)', 'id < 2000'), ('avg(big)', 'id < 2000'),
		('sum(odd)', 'id < 2000'), ('avg(odd)', 'id < 2000'),
		('sum(odd)', 'id < 400 AND odd NOT IN (''NaN'', ''Infinity'', ''-Infinity'')'), ('avg(odd)', 'id < 400 AND odd NOT IN (''NaN'', ''Infinity'', ''-Infinity'')'),
		('avg(mixed) FILTER (WHERE id % 3 > 0)', 'id < 2000'), ('sum(whole::numeric)', 'id < 2000'), ('from_hundred(whole)', 'id < 2000'),
		('absolute_sum(whole)', 'id < 2000')) c(call, which),
	(VALUES ('id'), ('id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW'), ('id ROWS BETWEEN 2 PRECEDING AND 40 FOLLOWING'), ('id ROWS BETWEEN 5 PRECEDING AND 4 PRECEDING'),
		('g RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING'), ('g GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING'), ('id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING'),
		('g RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES')) f(frame)
WHERE which NOT LIKE '%400%' OR frame LIKE 'id ROWS BETWEEN 3%' OR frame = 'id'
GROUP BY which, frame ORDER BY frame, which;
SELECT count(*), regexp_replace(result, ' and not.*', ' and not') FROM (SELECT same(query, 'GpuSortWindow') result FROM queries) q GROUP BY result;
-- an argument that is not what it was
CREATE FUNCTION shifting(int) RETURNS numeric LANGUAGE plpgsql STABLE AS $$BEGIN RETURN $1 + nextval('shifts') % 2 / 10.0; END$$;
CREATE SEQUENCE shifts;
SELECT count(*) FROM (SELECT sum(shifting(whole)) OVER (ORDER BY id ROWS 3 PRECEDING) FROM numbers WHERE id < 100) q;
-- in the memory of a row
SET work_mem = '64kB';
SELECT same('SELECT id, sum(money) OVER w, avg(odd) OVER w, sum(big) OVER (PARTITION BY g) FROM numbers WINDOW w AS (PARTITION BY h ORDER BY id ROWS 9 PRECEDING)', 'GpuSortWindow');
SELECT same('SELECT g, sum(mixed), avg(mixed), sum(big) FROM numbers GROUP BY g');
SET work_mem = '256MB';

-- More than 128 bits
CREATE TABLE large AS SELECT id, id % 2 g, repeat('9', 16)::numeric + round(0.9999, 16) AS value FROM generate_series(1, 1800000) id;
SELECT same('SELECT g, sum(value), avg(value), count(*) FROM large GROUP BY ROLLUP (g)');
-- the first rows that leave the frame make the sum larger
SELECT same('SELECT id, s FROM (SELECT id, sum(CASE WHEN id <= 5 THEN value ELSE -value END) OVER (ORDER BY id ROWS BETWEEN 1701420 PRECEDING AND CURRENT ROW) s FROM large WHERE id <= 1702000) q WHERE id > 1701420', 'GpuSortWindow');
-- results at rows that add no row to the frame take no memory: that of the session at the last row, after a value that is no exact number, and without one
CREATE FUNCTION memory_with(odd numeric) RETURNS bigint LANGUAGE sql AS $$
SELECT max((SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE a IS NOT NULL)) FILTER (WHERE id = 200000) FROM (
	SELECT id, avg(CASE WHEN id = 3 THEN $1 ELSE id END) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 199990 FOLLOWING) a FROM large WHERE id <= 200000 OFFSET 0) q;
$$;
SELECT memory_with(1e-20) - memory_with(1e-2) < 1000000;
SELECT same('SELECT sum(s), avg(a) FROM (SELECT sum(value) OVER (ORDER BY id) s, avg(value) OVER (ORDER BY id ROWS BETWEEN 1750000 PRECEDING AND CURRENT ROW) a FROM large) q', 'GpuSortWindow');

DROP TABLE numbers, long_numbers, large, queries;
DROP AGGREGATE from_hundred(int), from_zero(int), absolute_sum(int);
DROP FUNCTION same, shifting, secret, memory_with;
DROP SEQUENCE shifts, calls;
