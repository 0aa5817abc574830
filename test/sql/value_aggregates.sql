-- Percentiles and numbers of different values, of all rows of a query:
-- GpuSortAggregate in the place of an Agg, in one process and in several.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.get_shared_row_cost = 0;
SET seq_page_cost = 0;
SET random_page_cost = 0;
-- so that sorts inside an aggregate are expensive
SET cpu_operator_cost = 0.1;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
-- id and sorted come in order
CREATE TABLE v WITH (parallel_workers = 2) AS
SELECT i id, i / 3 sorted, nullif(hashint4(i) % 50, 3) few, hashint4(i) k, CASE WHEN i % 5 > 0 THEN hashint4(-i) / 3.0::float8 END f8,
	(hashint4(i) % 1000)::numeric(9, 2) / 10 num, make_interval(mins => hashint4(i) % 10000) span, timestamptz '2000-01-01 UTC' + make_interval(secs => hashint4(-i)) ts,
	md5(i::text) txt, repeat('prefix ', 10) || hashint4(i) % 90 long, CASE i % 2 WHEN 0 THEN 'City ' ELSE 'city ' END || hashint4(i) % 9 city,
	(ARRAY['sad', 'ok', 'happy'])[1 + abs(hashint4(i) % 3)]::mood feeling, ARRAY[i % 10, i % 3] list, (1 + abs(hashint4(i) % 70))::positive dom,
	point(i, i) spot, NULL::float8 nothing
FROM generate_series(1, 12000) i;
CREATE TABLE empty WITH (parallel_workers = 2) AS SELECT * FROM v WHERE false;
VACUUM ANALYZE v, empty;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/plan_of.sql'
\i :include

-- The rows of a query, or its error.
CREATE FUNCTION outcome_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT coalesce(string_agg(q::text, chr(10) ORDER BY q::text COLLATE "C"), ''no row'') FROM (%s) q', query) INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;

-- Does the query have the node, and the same result as without gpusort: in one process, with little memory, with workers, with none that
-- starts, and without a leader that takes part?
CREATE FUNCTION examine_values(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	variant text;
	wanted text;
	line text;
	planned bool;
	result text := 'same';
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	PERFORM set_config('gpusort.enable', 'off', true);
	wanted := outcome_of(query);
	PERFORM set_config('gpusort.enable', 'on', true);
	FOREACH variant IN ARRAY '{alone,"little memory",workers,"no workers","no leader"}'::text[] LOOP
		PERFORM set_config('max_parallel_workers_per_gather', CASE variant WHEN 'alone' THEN '0' WHEN 'little memory' THEN '0' ELSE '8' END, true);
		PERFORM set_config('gpusort.work_mem', CASE variant WHEN 'little memory' THEN '256kB' ELSE '64MB' END, true);
		PERFORM set_config('max_parallel_workers', CASE variant WHEN 'no workers' THEN '0' ELSE '8' END, true);
		PERFORM set_config('parallel_leader_participation', CASE variant WHEN 'no leader' THEN 'off' ELSE 'on' END, true);
		planned := false;
		FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
			planned := planned OR line ~ 'GpuSortAggregate';
		END LOOP;
		IF outcome_of(query) IS DISTINCT FROM wanted THEN
			RETURN format('%s: %s, not %s', variant, outcome_of(query), wanted);
		-- with little memory the planner may choose otherwise
		ELSIF NOT planned AND variant <> 'little memory' THEN
			result := 'not planned: ' || variant;
		END IF;
	END LOOP;
	RETURN result;
END $$;

SELECT plan_of('SELECT count(DISTINCT txt), count(*) FROM v');
SELECT plan_of('SELECT percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY num DESC NULLS LAST) FROM v HAVING count(*) > 5');
-- if rows come in order, no share of them is worth a worker
SELECT plan_of('SELECT count(DISTINCT sorted) FROM v');
-- what EXPLAIN shows: keys tell how many values there are, unless the keys are too long; how much each member had is a matter of
-- chance
SELECT regexp_replace(line, '(Processes Emitting|Most Rows of a Process|Memory|Parts Emitted): \d+', '\1: ...') FROM plan_of('SELECT count(DISTINCT txt), count(*) FROM v', true) line;
SELECT regexp_replace(line, '(Processes Emitting|Most Rows of a Process|Memory|Parts Emitted): \d+', '\1: ...') FROM plan_of('SELECT count(DISTINCT repeat(long, 10)) FROM v', true) line;
-- several orders: one member finds the values of all
SELECT regexp_replace(line, '(Memory): \d+', '\1: ...') FROM plan_of('SELECT count(DISTINCT txt), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt DESC), count(few), count(*) FROM v', true) line;
SET max_parallel_workers_per_gather = 0;
SELECT regexp_replace(line, '(Memory): \d+', '\1: ...') FROM plan_of('SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), count(f8) FROM v', true) line;
EXPLAIN (VERBOSE, COSTS OFF) SELECT 1 + count(DISTINCT k + 1), percentile_disc(0.5) WITHIN GROUP (ORDER BY k + 1) FROM v HAVING count(k + 1) > 2;
RESET max_parallel_workers_per_gather;

-- different values of all kinds
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT count(DISTINCT id) FROM v',
	'SELECT count(DISTINCT sorted), count(*) FROM v',
	'SELECT count(DISTINCT few), count(*), count(few) FROM v',
	'SELECT count(DISTINCT f8) FROM v',
	'SELECT count(DISTINCT num) FROM v',
	'SELECT count(DISTINCT span) FROM v',
	'SELECT count(DISTINCT ts) FROM v',
	'SELECT count(DISTINCT txt) FROM v',
	'SELECT count(DISTINCT repeat(long, 10)) FROM v',
	'SELECT count(DISTINCT txt COLLATE "C") FROM v',
	'SELECT count(DISTINCT long) FROM v',
	'SELECT count(DISTINCT city) FROM v',
	'SELECT count(DISTINCT city COLLATE ignoring_case) FROM v',
	'SELECT count(DISTINCT feeling) FROM v',
	'SELECT count(DISTINCT list) FROM v',
	'SELECT count(DISTINCT dom) FROM v',
	'SELECT count(DISTINCT nothing), count(*) FROM v',
	'SELECT count(DISTINCT txt) FROM empty',
	'SELECT count(DISTINCT txt), count(*) FROM v WHERE id < 0',
	'SELECT count(DISTINCT lower(city)), count(lower(city)) FROM v WHERE k > 0',
	'SELECT count(DISTINCT few ORDER BY few DESC) FROM v']) query;
-- percentiles
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY num) FROM v',
	'SELECT percentile_cont(0.123456789) WITHIN GROUP (ORDER BY f8), count(*) FROM v',
	'SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY span DESC) FROM v',
	'SELECT percentile_cont(ARRAY[[1, 0, NULL], [0.5, 0.999, 0.1]]) WITHIN GROUP (ORDER BY f8 DESC NULLS LAST) FROM v',
	'SELECT percentile_cont(ARRAY[0.7, 0.2]) WITHIN GROUP (ORDER BY span NULLS FIRST) FROM v',
	'SELECT percentile_disc(0) WITHIN GROUP (ORDER BY ts), percentile_disc(1) WITHIN GROUP (ORDER BY ts) FROM v',
	'SELECT percentile_disc(ARRAY[0.1, 0.9, 0.1]) WITHIN GROUP (ORDER BY txt) FROM v',
	'SELECT percentile_disc(''[7:8]={0.5,NULL}''::float8[]) WITHIN GROUP (ORDER BY feeling) FROM v',
	'SELECT lower(percentile_disc(0.4) WITHIN GROUP (ORDER BY city COLLATE ignoring_case)) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY list), count(list) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few), count(DISTINCT few), count(few), count(*) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k % 7), percentile_disc(0.6) WITHIN GROUP (ORDER BY k % 7) FROM v',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY nothing), percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY nothing), count(*) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), percentile_disc(ARRAY[2]) WITHIN GROUP (ORDER BY txt) FROM empty',
	'SELECT percentile_disc(''{}''::float8[]) WITHIN GROUP (ORDER BY f8), percentile_cont(NULL::float8[]) WITHIN GROUP (ORDER BY f8) FROM v',
	'SELECT percentile_disc(NULL) WITHIN GROUP (ORDER BY f8) FROM v',
	'SELECT percentile_disc(1.5) WITHIN GROUP (ORDER BY f8) FROM v',
	'SELECT percentile_disc(-0.1) WITHIN GROUP (ORDER BY f8) FROM empty',
	'SELECT percentile_cont(ARRAY[0.5, ''NaN'']) WITHIN GROUP (ORDER BY f8) FROM v']) query;
-- above and below
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT count(DISTINCT k) * 2, 5 FROM v HAVING count(DISTINCT k) > 5',
	'SELECT count(DISTINCT k) FROM v HAVING count(*) < 5',
	'SELECT rank() OVER (ORDER BY count(DISTINCT k)) FROM v',
	'SELECT DISTINCT count(DISTINCT k) FROM v ORDER BY 1 LIMIT 1',
	'SELECT count(DISTINCT a.txt) FROM v a JOIN v b ON b.id = a.few',
	'SELECT count(DISTINCT x) FROM (SELECT txt || k AS x FROM v UNION ALL SELECT txt FROM v) q',
	'SELECT count(DISTINCT x) FROM (SELECT k AS x FROM v ORDER BY txt LIMIT 5000) q',
	'SELECT o, (SELECT count(DISTINCT k # o) FROM v WHERE id % 4 = o) FROM generate_series(1, 4) o',
	'SELECT o, l.* FROM generate_series(1, 4) o, LATERAL (SELECT percentile_disc(o / 4.0) WITHIN GROUP (ORDER BY k) FROM v) l',
	'SELECT (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v) + id FROM v WHERE id < 3',
	'SELECT count(DISTINCT k) FROM v UNION ALL SELECT count(DISTINCT few) FROM v',
	'SELECT percentile_disc((SELECT 0.5)) WITHIN GROUP (ORDER BY k) FROM v',
	'SELECT count(DISTINCT (k, few)) FROM v']) query;
-- several values, or several orders of a value, in one process
SET max_parallel_workers_per_gather = 0;
SELECT regexp_replace(line, '(Memory): \d+', '\1: ...') FROM plan_of('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT txt), count(*), count(f8), percentile_cont(0.5) WITHIN GROUP (ORDER BY num DESC) FROM v', true) line;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(few), percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT k), percentile_cont(0.5) WITHIN GROUP (ORDER BY num), count(num) FROM v HAVING count(DISTINCT txt) > 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), percentile_cont(0.5) WITHIN GROUP (ORDER BY num), count(num) FROM v GROUP BY few HAVING count(*) > 2;
RESET max_parallel_workers_per_gather;
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT count(DISTINCT k), count(DISTINCT few) FROM v',
	'SELECT count(DISTINCT k), percentile_disc(0.5) WITHIN GROUP (ORDER BY k DESC) FROM v',
	'SELECT percentile_cont(0.1) WITHIN GROUP (ORDER BY num), percentile_cont(0.1) WITHIN GROUP (ORDER BY num DESC) FROM v',
	'SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY num), percentile_disc(0.3) WITHIN GROUP (ORDER BY num::float8 DESC), count(num::float8), count(DISTINCT num) FROM v',
	'SELECT few, percentile_cont(0.1) WITHIN GROUP (ORDER BY num), percentile_cont(0.1) WITHIN GROUP (ORDER BY num DESC) FROM v GROUP BY few',
	'SELECT count(DISTINCT k), count((CASE id WHEN 5000 THEN 1e400 ELSE k END)::float8) FROM v',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY k), count(k) FROM v',
	'SELECT count(txt), count(few), count(DISTINCT few), count(nothing), count(*) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), percentile_cont(ARRAY[0.1, 0.7]) WITHIN GROUP (ORDER BY span) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few), percentile_disc(0.5) WITHIN GROUP (ORDER BY few NULLS FIRST), percentile_disc(0.4) WITHIN GROUP (ORDER BY few DESC) FROM v',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY num), count(DISTINCT num), percentile_disc(0.5) WITHIN GROUP (ORDER BY num DESC) FROM v',
	'SELECT count(DISTINCT city), count(DISTINCT city COLLATE ignoring_case), count(DISTINCT list), count(DISTINCT feeling), count(DISTINCT dom) FROM v',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY nothing), percentile_disc(0.5) WITHIN GROUP (ORDER BY ts), count(DISTINCT nothing), count(nothing) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), count(DISTINCT k), percentile_disc(0.5) WITHIN GROUP (ORDER BY f8), count(*) FROM empty',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), count(DISTINCT k), percentile_disc(0.5) WITHIN GROUP (ORDER BY f8), count(*) FROM v WHERE id = 7',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.9) WITHIN GROUP (ORDER BY -x), count(DISTINCT x) FROM (SELECT CASE id % 4 WHEN 0 THEN ''NaN'' ELSE f8 END x FROM v) q',
	'SELECT count(DISTINCT k), percentile_disc(1.5) WITHIN GROUP (ORDER BY txt) FROM v',
	'SELECT count(DISTINCT txt), count(DISTINCT 1 / (k - k)) FROM v',
	'SELECT count(DISTINCT k), count(DISTINCT txt) FROM v HAVING count(DISTINCT few) > 3 AND count(f8) > 1',
	'SELECT o, l.* FROM generate_series(1, 4) o, LATERAL (SELECT percentile_disc(o / 4.0) WITHIN GROUP (ORDER BY k), count(DISTINCT txt), count(DISTINCT few # o) FROM v WHERE id % o = 0) l',
	'SELECT o, l.* FROM generate_series(1, 30) o, LATERAL (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT txt) FROM v WHERE id = o) l',
	'SELECT count(DISTINCT id), count(DISTINCT few), count(DISTINCT sorted) FROM v',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), count(*), count(k) FROM v GROUP BY few',
	'SELECT few, percentile_cont(0.5) WITHIN GROUP (ORDER BY num), percentile_cont(0.5) WITHIN GROUP (ORDER BY f8 DESC), percentile_cont(ARRAY[0, 0.5]) WITHIN GROUP (ORDER BY span), count(*), count(f8) FROM v GROUP BY few HAVING count(*) > 2',
	'SELECT city COLLATE ignoring_case = ''CITY 1'', percentile_disc(0.4) WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY ts) FROM v GROUP BY city COLLATE ignoring_case',
	'SELECT few, feeling, percentile_disc(0.5) WITHIN GROUP (ORDER BY nothing), percentile_disc(0.5) WITHIN GROUP (ORDER BY dom) FROM v GROUP BY feeling, few',
	'SELECT x, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt) FROM (SELECT *, CASE few % 3 WHEN 0 THEN ''NaN''::float8 WHEN 1 THEN ''-0'' ELSE few END x FROM v) q GROUP BY x',
	'SELECT o, l.* FROM generate_series(1, 3) o, LATERAL (SELECT k % o, percentile_disc(o / 4.0) WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt) FROM v WHERE id > o GROUP BY 1) l']) query;
-- the same with files of each sort, and with orders that are checked
SET gpusort.verify = on;
SET gpusort.work_mem = '64kB';
SET max_parallel_workers_per_gather = 0;
SELECT regexp_replace(line, '(Disk): \d+|merge of \d+', '\1 ...', 'g') FROM plan_of('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT txt) FROM v', true) line;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT txt), count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY num) FROM v;
SELECT few % 5, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT txt), count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY num) FROM v GROUP BY 1 ORDER BY 1;
SET gpusort.enable = off;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT txt), count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY num) FROM v;
SELECT few % 5, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT txt), count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY num) FROM v GROUP BY 1 ORDER BY 1;
RESET gpusort.enable;
RESET gpusort.verify;
RESET gpusort.work_mem;
RESET max_parallel_workers_per_gather;
-- single places are found without a sort, of values that are spread in all ways; each place is checked, and many places are sorted
CREATE TABLE places AS
SELECT i id, hashint8extended(i, 1) wide, hashint4(i) % 3 few, 7 same, CASE WHEN i % 9 > 0 THEN exp(i / 80.0) * sign(hashint4(i)) END spread,
	CASE i % 6 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' WHEN 4 THEN 1 ELSE hashint4(i) / 1e9 END::float8 special,
	CASE i % 2000 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 ELSE i % 5 END ends, i % 7 > 2 flag, (i % 30000)::int2 small,
	date '2026-01-01' + hashint4(i) % 40000 AS day, CASE WHEN i % 4000 > 0 THEN 1 ELSE i END mostly_one, (hashint4(i) % 10000000)::numeric / 1000 num
FROM generate_series(1, 30000) i;
VACUUM ANALYZE places;
SET gpusort.verify = on;
SET max_parallel_workers_per_gather = 0;
SELECT name, direction, examine_values(format('SELECT percentile_disc(%L::float8[]) WITHIN GROUP (ORDER BY %I %s), percentile_disc(%s) WITHIN GROUP (ORDER BY %I %s) FROM places',
	CASE WHEN direction = 'DESC' THEN '{0, 0.3, 0.31, 0.7, 1, 0.5}' ELSE '{0.1, 0.1001, NULL}' END, name, direction, 0.77, name, direction))
FROM unnest('{id,wide,few,same,spread,special,ends,flag,small,day,mostly_one,num}'::text[]) name, unnest('{ASC,DESC}'::text[]) direction ORDER BY 1, 2;
SELECT direction, examine_values(format('SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY num %1$s), percentile_cont(''{0.25, 0.75}''::float8[]) WITHIN GROUP (ORDER BY spread %1$s), percentile_cont(0.999) WITHIN GROUP (ORDER BY wide %1$s), percentile_cont(0.5) WITHIN GROUP (ORDER BY ends %1$s), count(*) FROM places', direction))
FROM unnest('{ASC,DESC}'::text[]) direction;
SELECT examine_values('SELECT o, l.* FROM generate_series(1, 3) o, LATERAL (SELECT percentile_disc(o / 4.0) WITHIN GROUP (ORDER BY wide), percentile_disc(o / 5.0) WITHIN GROUP (ORDER BY special) FROM places WHERE id % o = 0) l');
SELECT examine_values('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY wide), percentile_disc(1.5) WITHIN GROUP (ORDER BY id) FROM places');
SELECT examine_values('SELECT percentile_disc((SELECT array_agg(i / 60.0::float8) FROM generate_series(1, 60) i)) WITHIN GROUP (ORDER BY wide) FROM places');
SELECT bool_or(line ~ 'Sort Method: selection') AS is_selected FROM plan_of('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY wide) FROM places', true) line;
-- each order has the memory of a sort
SET gpusort.work_mem = '2500kB';
SELECT count(*) AS nselected FROM plan_of('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY wide), percentile_disc(0.5) WITHIN GROUP (ORDER BY -id) FROM places', true) line
WHERE line ~ 'Sort Method: selection';
-- more values come than were expected, and the memory is full
SET gpusort.work_mem = '1MB';
PREPARE spilled AS SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.1) WITHIN GROUP (ORDER BY -x)
FROM (SELECT wide / 2 + generate_series(1, 2) x FROM places WHERE abs(wide % 2) < 2 AND abs(few) < 4 AND abs(same) < 8) q;
SELECT regexp_replace(line, 'merge of \d+', 'merge of ...') FROM plan_of('EXECUTE spilled', true) line WHERE line ~ 'Sort Method';
EXECUTE spilled;
SET gpusort.enable = off;
EXECUTE spilled;
RESET gpusort.enable;
DEALLOCATE spilled;
RESET gpusort.work_mem;
RESET gpusort.verify;
RESET max_parallel_workers_per_gather;
DROP TABLE places;

-- queries that are left to core, with the right answer
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT count(DISTINCT few::text::tsvector) FROM v',
	'SELECT count(DISTINCT k), string_agg(txt, '','' ORDER BY id) IS NULL FROM v',
	'SELECT count(DISTINCT k), max(random()) > 1 FROM v',
	'SELECT count(DISTINCT k), mode() WITHIN GROUP (ORDER BY few) FROM v',
	'SELECT count(DISTINCT few) FROM v WHERE few = 7',
	'SELECT count(DISTINCT random()) > 1 FROM v',
	'SELECT count(DISTINCT (SELECT max(id) FROM v b WHERE b.few = a.few)) FROM v a WHERE id < 100',
	'SELECT count(DISTINCT spot::text) + generate_series(1, 2) FROM v',
	'SELECT count(DISTINCT k) FROM v GROUP BY ()']) query;

-- other aggregates beside, and filters
EXPLAIN (VERBOSE, COSTS OFF) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FILTER (WHERE few > 3), sum(k), max(txt) FILTER (WHERE num > 1) FROM v HAVING count(f8) > 5;
EXPLAIN (VERBOSE, COSTS OFF) SELECT few, percentile_cont(0.5) WITHIN GROUP (ORDER BY num) FILTER (WHERE k > 0), avg(num), sum(few + 1), sum(k) FROM v GROUP BY few;
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), avg(num), sum(k), count(f8), max(txt), min(ts), stddev(k), avg(k) FROM v',
	'SELECT count(DISTINCT txt), sum(num) FILTER (WHERE few > 3), count(*) FILTER (WHERE few IS NULL), bool_or(feeling = ''ok''), count(*) FROM v',
	'SELECT count(DISTINCT txt), count(DISTINCT txt) FILTER (WHERE few > 3), count(txt) FILTER (WHERE few > 3) FROM v',
	'SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY num) FILTER (WHERE k > 0), percentile_cont(0.3) WITHIN GROUP (ORDER BY num), avg(num), sum(num) FROM v',
	'SELECT count(DISTINCT 12 / few) FILTER (WHERE few <> 0), sum(12 / few) FILTER (WHERE few <> 0) FROM v',
	'SELECT count(DISTINCT k), sum(12 / few) FROM v',
	'SELECT count(DISTINCT k) FILTER (WHERE false), sum(k) FILTER (WHERE false), percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FILTER (WHERE NULL) FROM v',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), sum(k), count(*), max(txt) FROM empty',
	'SELECT sum(num) FROM v HAVING count(DISTINCT k) > 5 AND max(few) > 3',
	'SELECT count(DISTINCT k), count(*) + 3 FROM v HAVING sum(k) IS NULL',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), max(txt || city) FROM (SELECT k, txt COLLATE "C" txt, city COLLATE "en-x-icu" city FROM v) q',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), max(txt || city) FROM (SELECT k, txt COLLATE "C" txt, city COLLATE "en-x-icu" city FROM v LIMIT 1) q',
	-- these read the rows in their order, in one process
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), sum(f8), avg(f8), md5(array_agg(id)::text) FROM v',
	'SELECT percentile_disc(ARRAY[0, 1]) WITHIN GROUP (ORDER BY k DESC), md5(string_agg(txt, '''')), max(spot::text) FROM v',
	'SELECT o, l.* FROM generate_series(1, 3) o, LATERAL (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k % o), sum(k * o), count(*) FILTER (WHERE k > o) FROM v WHERE id > o) l',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), sum(k) FROM v GROUP BY few',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(f8) FROM v GROUP BY few',
	'SELECT few, count(f8), count(txt) FILTER (WHERE k > 0), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt COLLATE "C") FROM v GROUP BY few',
	'SELECT few % 9, percentile_cont(0.5) WITHIN GROUP (ORDER BY num), avg(num), min(few % 9) FROM v GROUP BY 1',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY num), percentile_cont(0.5) WITHIN GROUP (ORDER BY f8 DESC), count(DISTINCT txt COLLATE "en-x-icu"), max(k) FROM v GROUP BY feeling, few',
	'SELECT count(DISTINCT txt) FILTER (WHERE id % 3 = 0), count(DISTINCT txt) FILTER (WHERE id % 3 = 1), count(*) FILTER (WHERE id % 3 = 2) FROM v GROUP BY few',
	'SELECT few, count(DISTINCT txt), variance(k), var_pop(num), stddev_samp(k::int8), bit_or(k), every(k > 0), max(list::text) FROM v GROUP BY few HAVING sum(k) > 0 OR min(txt) < ''1''',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), sum(k), max(long), count(*) FROM empty GROUP BY few',
	'SELECT o, l.* FROM generate_series(1, 3) o, LATERAL (SELECT k % o, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), sum(k * o), count(*) FILTER (WHERE k > o) FROM v WHERE id > o GROUP BY 1) l',
	'SELECT s, sum(t) OVER (ORDER BY s), n FROM (SELECT sum(k) s, max(few) t, count(DISTINCT k) n FROM v GROUP BY dom) q']) query;
-- with groups these are left to core, since the order matters to them, or is unknown
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT few, count(DISTINCT k), max(txt || city) FROM (SELECT few, k, txt COLLATE "C" txt, city COLLATE "en-x-icu" city FROM v) q GROUP BY few',
	'SELECT few, count(DISTINCT k), sum(f8) IS NULL FROM v GROUP BY few',
	'SELECT few, count(DISTINCT k), max(f8) FROM v GROUP BY few',
	'SELECT few, count(DISTINCT k), max(num * 1.0) FROM v GROUP BY few',
	'SELECT few, count(DISTINCT k), min(city COLLATE ignoring_case) COLLATE "C" = '''' FROM v GROUP BY few',
	'SELECT few, count(DISTINCT k), array_length(array_agg(id), 1) FROM v GROUP BY few']) query;

-- numerics that are cast, to the bit as core casts them: of few and many digits, around 2 ^ 53, large, small, toasted
CREATE TABLE numerics WITH (parallel_workers = 2) AS
SELECT CASE i % 9 WHEN 0 THEN hashint8(i) / 100.0 WHEN 1 THEN hashint8(i)::numeric(12, 2) WHEN 2 THEN i::numeric * 10000 ^ (i % 30)::numeric
	WHEN 3 THEN hashint8extended(i, 1)::numeric / 10 ^ (i % 25)::numeric WHEN 4 THEN 9007199254740992 + (i % 100 - 50) WHEN 5 THEN hashint8extended(i, 2) / (i % 60 + 1.0)
	WHEN 6 THEN (9007199254740992 + (i % 100 - 50)) / 10 ^ (i % 21)::numeric WHEN 7 THEN round(hashint8(i)::numeric * i, -i % 12) ELSE (i - 3000) / 1000.000 END x
FROM generate_series(1, 6000) i
UNION ALL SELECT x::numeric FROM unnest('{NaN,Infinity,-Infinity,0,0.0000,1e300,-1e-300,NULL,1e-307,17e307}'::text[]) x
UNION ALL SELECT (i || repeat('3', 300) || '.' || repeat('7', 3000))::numeric FROM generate_series(1, 5) i;
VACUUM ANALYZE numerics;
SELECT examine_values(format('SELECT percentile_disc(%L::float8[]) WITHIN GROUP (ORDER BY x::float8) FROM numerics', array_agg(i / 6014.0))) FROM generate_series(0, 6014) i;
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT percentile_cont(ARRAY[0, 0.001, 0.3, 0.5, 1]) WITHIN GROUP (ORDER BY x DESC) FROM numerics',
	'SELECT count(DISTINCT x::float8), count(x::float8), count(*) FROM numerics',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x * 2) FROM numerics WHERE abs(x) < 1000',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a.x + b.num) FROM numerics a JOIN v b ON b.id = a.x',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM (SELECT x FROM numerics UNION ALL SELECT num FROM v) q',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM (SELECT DISTINCT x FROM numerics) q',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM (SELECT x FROM numerics ORDER BY x::text LIMIT 3000) q',
	'SELECT o, l.* FROM generate_series(1, 3) o, LATERAL (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x / o) FROM numerics) l',
	-- out of the range of double precision
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x * 100) FROM numerics WHERE x = 17e307',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x * 1e-200) FROM numerics WHERE x = 1e-307']) query;
-- an index has the cast value, and nothing else
CREATE INDEX ON numerics ((x::float8));
VACUUM numerics;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT examine_values('SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM numerics');
RESET enable_seqscan;
RESET enable_bitmapscan;
-- the cast is done by the node, and shown as in the query
EXPLAIN (VERBOSE, COSTS OFF) SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM numerics HAVING count(x::float8) > 1;
BEGIN;
REVOKE EXECUTE ON FUNCTION float8(numeric) FROM PUBLIC;
CREATE ROLE regress_caster;
GRANT SELECT ON numerics TO regress_caster;
SET LOCAL ROLE regress_caster;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM numerics;
ROLLBACK;

-- of each group
SELECT plan_of('SELECT few, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), count(*) FROM v GROUP BY few');
SET max_parallel_workers_per_gather = 0;
SELECT regexp_replace(line, '(Memory): \d+', '\1: ...') FROM plan_of('SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY txt DESC) FROM v GROUP BY few', true) line;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k % 7 + 1, few, percentile_cont(0.5) WITHIN GROUP (ORDER BY num), count(num::float8) FROM v GROUP BY k % 7, few HAVING count(*) > 1 AND few > 3;
-- the groups come in order
EXPLAIN (COSTS OFF) SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY few ORDER BY few;
RESET max_parallel_workers_per_gather;
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT few, percentile_cont(0.3) WITHIN GROUP (ORDER BY f8), count(*), count(f8) FROM v GROUP BY few',
	'SELECT few, percentile_cont(ARRAY[0, 0.3, NULL, 1]) WITHIN GROUP (ORDER BY num DESC) FROM v GROUP BY few',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY txt COLLATE "C" DESC) FROM v GROUP BY id % 2',
	'SELECT percentile_disc(ARRAY[0.9, 0.1]) WITHIN GROUP (ORDER BY long), count(DISTINCT long), count(long) FROM v GROUP BY few % 3',
	'SELECT few, feeling, dom, percentile_cont(0.5) WITHIN GROUP (ORDER BY span) FROM v GROUP BY feeling, few, dom',
	'SELECT city COLLATE ignoring_case = ''CITY 1'', percentile_disc(0.4) WITHIN GROUP (ORDER BY k), count(*) FROM v GROUP BY city COLLATE ignoring_case',
	'SELECT id, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) FROM v GROUP BY id',
	'SELECT 1, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY id % 1',
	'SELECT few * 2 + (k % 3), count(*) FROM v GROUP BY few, k % 3 HAVING percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) > 0',
	'SELECT few, count(DISTINCT txt), count(*) FROM v GROUP BY few',
	'SELECT few, percentile_cont(0.5) WITHIN GROUP (ORDER BY nothing), count(nothing), count(DISTINCT nothing) FROM v GROUP BY few',
	'SELECT few, percentile_disc(ARRAY[]::float8[]) WITHIN GROUP (ORDER BY k) FROM empty GROUP BY few',
	'SELECT few, percentile_disc(2) WITHIN GROUP (ORDER BY k) FROM empty GROUP BY few',
	'SELECT few, percentile_disc(2) WITHIN GROUP (ORDER BY k) FROM v GROUP BY few',
	'SELECT few, sorted, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v WHERE few = 7 GROUP BY few, sorted',
	'SELECT a.few, b.few, percentile_disc(0.5) WITHIN GROUP (ORDER BY a.k) FROM v a JOIN v b ON a.few = b.few WHERE b.id < 50 GROUP BY a.few, b.few',
	'SELECT city, count(DISTINCT city COLLATE ignoring_case), count(*) FROM v GROUP BY city',
	'SELECT city COLLATE ignoring_case = ''CITY 1'', percentile_disc(0.4) WITHIN GROUP (ORDER BY city COLLATE "C" DESC) FROM v GROUP BY city COLLATE ignoring_case',
	'SELECT list, spot::text, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) FROM v GROUP BY list, spot::text',
	'SELECT r.few, percentile_disc(0.5) WITHIN GROUP (ORDER BY ts) FROM (SELECT * FROM v ORDER BY txt LIMIT 5000) r GROUP BY r.few',
	'SELECT floor(x)::int, percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM (SELECT num x FROM v UNION ALL SELECT few FROM v) q GROUP BY 1',
	'SELECT count(*), max(p), max(few) FROM (SELECT few, percentile_cont(0.25) WITHIN GROUP (ORDER BY num) p FROM v GROUP BY few) q',
	'SELECT few, p, rank() OVER (ORDER BY p) FROM (SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) p FROM v GROUP BY few) q',
	'SELECT few, count(*), rank() OVER (ORDER BY percentile_disc(0.5) WITHIN GROUP (ORDER BY k)) FROM v GROUP BY few',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY few ORDER BY 2 DESC LIMIT 5',
	'SELECT o, l.* FROM generate_series(1, 3) o, LATERAL (SELECT k % o, percentile_disc(o / 4.0) WITHIN GROUP (ORDER BY k) FROM v WHERE id > o GROUP BY 1) l',
	'SELECT DISTINCT percentile_disc(0.5) WITHIN GROUP (ORDER BY dom) FROM v GROUP BY few',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY few UNION ALL SELECT id, percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM v GROUP BY id']) query;
-- keys with a parameter of a join
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT * FROM generate_series(1, 3) o, LATERAL (SELECT few # o, percentile_disc(0.5) WITHIN GROUP (ORDER BY k # o) FROM v GROUP BY 1) l;
EXPLAIN (COSTS OFF) SELECT * FROM generate_series(1, 3) o, LATERAL (SELECT id FROM v ORDER BY k # o OFFSET 0) l;
RESET max_parallel_workers_per_gather;
-- a value that differs from a column of the groups by its collation
EXPLAIN (VERBOSE, COSTS OFF) SELECT city, count(DISTINCT city COLLATE ignoring_case) FROM v GROUP BY city;
-- a path with sorted groups has its first row earlier, and stays, though it costs more in all
SET cpu_operator_cost = 0.02;
SELECT string_agg(line, ' ') ~ 'GpuSortGroups' AS sorts_groups
FROM plan_of('SELECT few, percentile_cont(0.5) WITHIN GROUP (ORDER BY dom) FROM v, generate_series(1, 2) GROUP BY few LIMIT 1') line;
SET cpu_operator_cost = 0.1;
-- queries with groups that are left to core
SELECT query, examine_values(query) FROM unnest(ARRAY[
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM v GROUP BY few',
	'SELECT few, percentile_disc(few / 50.0) WITHIN GROUP (ORDER BY k) FROM v WHERE few >= 0 GROUP BY few',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), grouping(few) FROM v GROUP BY few',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY ROLLUP (few)',
	'SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), generate_series(1, 2) FROM v GROUP BY few',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) IS NULL FROM v WHERE few = 7 GROUP BY few',
	'SELECT count(*) > 0 FROM (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY random() < 0.5) q']) query;
ALTER TABLE v ADD PRIMARY KEY (id);
SELECT examine_values('SELECT id, txt, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY id');
ALTER TABLE v DROP CONSTRAINT v_pkey;
-- groups larger than the memory, which go to a file
SET work_mem = '64kB';
SET gpusort.work_mem = '64kB';
SELECT plan_of('SELECT id % 2, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM (SELECT i id, i % 9001 k FROM generate_series(1, 60000) i OFFSET 0) q GROUP BY 1 ORDER BY 1');
SELECT id % 2, percentile_disc(ARRAY[0.9, 0.5, 0]) WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM (SELECT i id, i % 9001 k FROM generate_series(1, 60000) i OFFSET 0) q GROUP BY 1 ORDER BY 1;
SELECT n, md5(m::text) FROM (SELECT id % 2 n, percentile_disc(ARRAY[0.9, 0.5, 0]) WITHIN GROUP (ORDER BY md5(k::text) COLLATE "C") m FROM (SELECT i id, i % 9001 k FROM generate_series(1, 60000) i OFFSET 0) q GROUP BY 1) p ORDER BY 1;
SET gpusort.enable = off;
SELECT id % 2, percentile_disc(ARRAY[0.9, 0.5, 0]) WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM (SELECT i id, i % 9001 k FROM generate_series(1, 60000) i OFFSET 0) q GROUP BY 1 ORDER BY 1;
SELECT n, md5(m::text) FROM (SELECT id % 2 n, percentile_disc(ARRAY[0.9, 0.5, 0]) WITHIN GROUP (ORDER BY md5(k::text) COLLATE "C") m FROM (SELECT i id, i % 9001 k FROM generate_series(1, 60000) i OFFSET 0) q GROUP BY 1) p ORDER BY 1;
RESET gpusort.enable;
RESET gpusort.work_mem;
SET work_mem = '64MB';
-- all rows, which do not fit the memory: all processes merge parts of the runs, also if one process finds percentiles
RESET seq_page_cost;
RESET random_page_cost;
RESET cpu_operator_cost;
SET work_mem = '512kB';
CREATE TABLE many WITH (parallel_workers = 4) AS SELECT hashint8(i)::bigint k FROM generate_series(1, 100000) i;
ANALYZE many;
SET max_parallel_workers_per_gather = 4;
SELECT plan_of('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM many');
SELECT plan_of('SELECT count(DISTINCT k) FROM many');
-- each of several orders has runs of its own, which all processes merge
SET cpu_tuple_cost = 1;
SET parallel_tuple_cost = 100;
SELECT string_agg(line, ' ') ~ 'Parallel.*GpuSortAggregate' AS in_workers, count(*) FILTER (WHERE line ~ 'merge of') AS spilled
FROM plan_of('SELECT count(DISTINCT k), percentile_disc(0.5) WITHIN GROUP (ORDER BY -k) FROM many', true) line;
SELECT count(DISTINCT k), percentile_disc(ARRAY[0, 0.3, 1]) WITHIN GROUP (ORDER BY -k), count(DISTINCT md5(k::text)), count(nullif(k % 7, 0)), count(*) FROM many;
SET gpusort.enable = off;
SELECT count(DISTINCT k), percentile_disc(ARRAY[0, 0.3, 1]) WITHIN GROUP (ORDER BY -k), count(DISTINCT md5(k::text)), count(nullif(k % 7, 0)), count(*) FROM many;
RESET gpusort.enable;
-- so many teams would leave no segments of shared memory to others
SELECT format('SELECT %s FROM many', string_agg(format('count(DISTINCT k + %s)', i), ', ')) AS sixteen FROM generate_series(1, 16) i \gset
ALTER TABLE many SET (parallel_workers = 8);
SET max_parallel_workers_per_gather = 8;
SELECT string_agg(line, ' ') ~ 'Parallel.*GpuSortAggregate' AS in_workers FROM plan_of('SELECT count(DISTINCT k + 1), count(DISTINCT k + 2) FROM many') line;
SELECT string_agg(line, ' ') ~ 'Parallel.*GpuSortAggregate' AS in_workers FROM plan_of(:'sixteen') line;
SET max_parallel_workers_per_gather = 4;
RESET cpu_tuple_cost;
RESET parallel_tuple_cost;
-- with fewer workers that does not gain enough
ALTER TABLE many SET (parallel_workers = 1);
SELECT plan_of('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM many');
SELECT plan_of('SELECT count(DISTINCT k), percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM many');
DROP TABLE many;
RESET max_parallel_workers_per_gather;
SET work_mem = '64MB';
SET seq_page_cost = 0;
SET random_page_cost = 0;
SET cpu_operator_cost = 0.1;
-- with a cursor, and again with other parameters
SET plan_cache_mode = force_generic_plan;
PREPARE g(float8, int) AS SELECT few, percentile_disc($1) WITHIN GROUP (ORDER BY k), count(*) FROM v WHERE id < $2 GROUP BY few ORDER BY few LIMIT 3;
EXECUTE g(0.5, 12000);
EXECUTE g(NULL, 100);
EXECUTE g(0.1, 0);
EXECUTE g(7, 100);
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY few ORDER BY few;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 50 FROM c;
FETCH 2 FROM c;
FETCH FIRST FROM c;
COMMIT;
RESET plan_cache_mode;

-- many orders
SELECT n, examine_values('SELECT ' || string_agg(format('percentile_disc(0.5) WITHIN GROUP (ORDER BY k %% %s)', i), ', ') || ' FROM v')
FROM unnest(ARRAY[16, 17]) n, generate_series(2, n + 1) i GROUP BY n ORDER BY n;
-- many of them
SELECT n, examine_values('SELECT ' || string_agg(format('percentile_disc(%s) WITHIN GROUP (ORDER BY k)', i / 1000.0), ', ') || ' FROM v')
FROM unnest(ARRAY[2, 1000]) n, generate_series(1, n) i GROUP BY n ORDER BY n;
-- values of records, whose columns have names only below
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(DISTINCT (q.r).f1) FROM (SELECT ROW(id, txt) r FROM v OFFSET 0) q;
EXPLAIN (VERBOSE, COSTS OFF) WITH q AS MATERIALIZED (SELECT ROW(id, txt) r FROM v) SELECT count((r).f1) FROM q HAVING count(DISTINCT (r).f1) > 1;

-- again with other parameters, from a cursor, and with a view
SET plan_cache_mode = force_generic_plan;
PREPARE p(float8, int) AS SELECT percentile_disc($1) WITHIN GROUP (ORDER BY k), count(*) FROM v WHERE id > $2;
EXECUTE p(0.5, 0);
EXECUTE p(NULL, 100);
-- by whichever process
\set SHOW_CONTEXT never
EXECUTE p(7, 100);
\set SHOW_CONTEXT errors
EXECUTE p(0.1, 20000);
SELECT plan_of('EXECUTE p(0.5, 0)');
BEGIN;
DECLARE c CURSOR FOR SELECT count(DISTINCT txt), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt) FROM v;
FETCH 1 FROM c;
FETCH 1 FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT count(DISTINCT txt) FROM v;
FETCH 1 FROM c;
FETCH 1 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 1 FROM c;
COMMIT;
DO $$ DECLARE n bigint; BEGIN SELECT count(DISTINCT txt) INTO n FROM v; RAISE NOTICE '%', n; END $$;

-- a user who may not call an aggregate may not call it here either
CREATE ROLE regress_caller;
GRANT SELECT ON v TO regress_caller;
REVOKE EXECUTE ON FUNCTION count("any") FROM PUBLIC;
SET ROLE regress_caller;
SELECT count(DISTINCT txt) FROM v;
RESET ROLE;
GRANT EXECUTE ON FUNCTION count("any") TO PUBLIC;
SET ROLE regress_caller;
SELECT count(DISTINCT txt) FROM v;
RESET ROLE;
-- nor if the owner may not execute the functions of the aggregate
BEGIN;
ALTER AGGREGATE count("any") OWNER TO regress_caller;
REVOKE EXECUTE ON FUNCTION int8inc_any(int8, "any") FROM PUBLIC;
SELECT count(DISTINCT txt) FROM v;
ROLLBACK;
-- an aggregate that has been replaced is not core's
BEGIN;
CREATE OR REPLACE AGGREGATE pg_catalog.count("any") (sfunc = int8inc_any, stype = int8, initcond = '1000000', parallel = safe);
SELECT count(DISTINCT few), count(few) FROM v;
ROLLBACK;
-- nor can several processes make one that has lost how states are combined
BEGIN;
CREATE OR REPLACE AGGREGATE pg_catalog.max(int4) (sfunc = int4smaller, stype = int4, parallel = safe);
SELECT string_agg(line, ' ') ~ 'Parallel.*GpuSortAggregate' AS in_workers FROM plan_of('SELECT count(DISTINCT txt), max(id) FROM v') line;
SELECT count(DISTINCT txt), max(id) FROM v;
ROLLBACK;
SELECT string_agg(line, ' ') ~ 'Parallel.*GpuSortAggregate' AS in_workers FROM plan_of('SELECT count(DISTINCT txt), max(id) FROM v') line;
-- to a function of a user the order may matter
BEGIN;
CREATE FUNCTION hash_of(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT (coalesce($1, 1) * 31 + coalesce($2, 7)) % 100003';
CREATE OR REPLACE AGGREGATE pg_catalog.max(int4) (sfunc = hash_of, stype = int4, initcond = 1);
SELECT string_agg(line, ' ') ~ 'GpuSortAggregate' AS is_planned FROM plan_of('SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), max(id) FROM v GROUP BY few') line;
ROLLBACK;
-- the other aggregates of a user who may not call these
REVOKE EXECUTE ON FUNCTION max(int4) FROM PUBLIC;
SET ROLE regress_caller;
SELECT count(DISTINCT txt), max(id) FROM v;
RESET ROLE;
GRANT EXECUTE ON FUNCTION max(int4) TO PUBLIC;
REVOKE SELECT ON v FROM regress_caller;
DROP ROLE regress_caller;
DROP TABLE v, empty, numerics;
DROP FUNCTION plan_of, outcome_of, examine_values;
DROP TYPE mood;
DROP DOMAIN positive;
DROP COLLATION ignoring_case;
