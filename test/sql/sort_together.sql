-- Sorting together: below a Gather Merge parallel workers hand their rows over
-- to the leader.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.get_shared_row_cost = 0;
SET enable_incremental_sort = off;

CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE TYPE pair AS (a int, b text);
CREATE TABLE numbers WITH (parallel_workers = 2) AS
SELECT i id, hashint4(i) k, i % 10 grp, nullif(i % 20, 0) gap, (hashint4(i) % 1000)::numeric / 7 num, md5(i::text) txt,
	(ARRAY['red', 'green', 'blue'])[1 + i % 3]::color color, repeat(md5(i::text), 6) long,
	ARRAY[i % 7, i % 5] list, (i % 11, md5(i::text))::pair pair
FROM generate_series(1, 8000) i;
ALTER TABLE numbers ADD later int DEFAULT 7;
CREATE TABLE parts (id int, k int, grp int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (4000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (4000) TO (8001);
INSERT INTO parts SELECT id, k, grp FROM numbers;
ANALYZE numbers, parts;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/digest.sql'
\i :include

CREATE FUNCTION sorts_together() RETURNS bigint LANGUAGE sql AS
	$$ SELECT value FROM gpusort_stats WHERE name = 'sorts_together' $$;

-- Is the query's result the native one, and was it sorted together?
CREATE FUNCTION examine(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	native text;
	device text;
	before bigint;
BEGIN
	DISCARD PLANS;
	PERFORM set_config('gpusort.enable', 'off', true);
	native := digest(query);
	DISCARD PLANS;
	PERFORM set_config('gpusort.enable', 'on', true);
	FOREACH device IN ARRAY '{host,cuda}'::text[] LOOP
		PERFORM set_config('gpusort.device', device, true);
		before := sorts_together();
		IF digest(query) IS DISTINCT FROM native THEN
			RETURN 'other rows on ' || device;
		ELSIF sorts_together() = before THEN
			RETURN 'not together on ' || device;
		END IF;
	END LOOP;
	RETURN 'same';
END $$;

EXPLAIN (COSTS OFF, VERBOSE) SELECT id, k FROM numbers ORDER BY k, id;

-- types, directions, NULLs, ties, truncated keys; keys that only the leader makes
CREATE TABLE queries AS SELECT query FROM unnest(ARRAY[
	'SELECT k, id FROM numbers ORDER BY k, id',
	'SELECT k, id FROM numbers ORDER BY k DESC, id DESC',
	'SELECT gap, id FROM numbers ORDER BY gap NULLS FIRST, id',
	'SELECT gap, id FROM numbers ORDER BY gap DESC NULLS LAST, id',
	'SELECT num, id FROM numbers ORDER BY num, id',
	'SELECT txt FROM numbers ORDER BY txt',
	'SELECT txt, id FROM numbers ORDER BY txt COLLATE "en-x-icu" DESC',
	'SELECT long, id FROM numbers ORDER BY substr(long, 1, 190), id',
	'SELECT color, id FROM numbers ORDER BY color, id DESC',
	'SELECT ARRAY[color], id FROM numbers ORDER BY ARRAY[color] DESC, id',
	'SELECT list, id FROM numbers ORDER BY list, id',
	'SELECT grp, pair, id FROM numbers ORDER BY grp, pair, id',
	'SELECT grp FROM numbers ORDER BY grp',
	'SELECT later, id FROM numbers ORDER BY later DESC, id DESC',
	'SELECT numbers, id FROM numbers ORDER BY k, id',
	'SELECT id FROM numbers ORDER BY k, id']) query;
SELECT query, examine(query) FROM queries;

-- rows that are one value, whose values the leader takes: all such types, with and without NULLs
SELECT count(*), examine(format('SELECT %s v FROM numbers ORDER BY v %s', value, direction))
FROM unnest(ARRAY['gap', 'k', '(k % 300)::smallint', 'nullif(k::bigint * k, 0)', 'nullif(gap, 3) > 7', 'color', 'k::oid',
	'nullif(k / 1e7, 1)::real', 'nullif(k / 3.0::float8, 1)', $$ gap + date '2026-01-01' $$, $$ '2026-01-01'::timestamp + gap * (k / 1000) * interval '1 ms' $$,
	$$ '00:00'::time + id * interval '1 s' $$, 'chr(65 + gap)::"char"']) value,
	unnest('{ASC,DESC,ASC NULLS FIRST,DESC NULLS LAST}'::text[]) direction
GROUP BY 2;
SELECT examine('SELECT nullif(id, id) v FROM numbers ORDER BY v'), examine('SELECT later FROM numbers ORDER BY later DESC');

-- expressions, some of which are not emitted; functions, joins, unions, parameters, subplans below
CREATE FUNCTION twice(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN 2 * i; END';
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT id FROM numbers ORDER BY k + grp, txt',
	'SELECT id, twice(k % 1000) FROM numbers ORDER BY twice(k % 1000), id',
	'SELECT txt || id, row(id, k), ARRAY[k, NULL] FROM numbers ORDER BY id % 17, txt',
	'SELECT id FROM numbers WHERE twice(grp) < 10 ORDER BY k, id',
	'SELECT a.id, b.txt FROM numbers a JOIN numbers b ON a.id = b.k % 8000 ORDER BY a.k, b.id',
	'SELECT a.id, b.k FROM numbers a LEFT JOIN parts b ON a.id = b.id AND b.grp > 4 ORDER BY b.k, a.id',
	'SELECT id, k FROM parts ORDER BY k, id',
	'SELECT id, k FROM numbers UNION ALL SELECT id, k FROM parts ORDER BY k, id',
	'SELECT id, k FROM numbers WHERE id > (SELECT max(id) - 2000 FROM numbers) ORDER BY k, id',
	'SELECT id, k - (SELECT min(k) FROM parts)::bigint FROM numbers ORDER BY k, id',
	'SELECT id FROM numbers n WHERE EXISTS (SELECT FROM parts p WHERE p.id = n.id AND p.grp = 3) ORDER BY k, id',
	'SELECT id FROM numbers ORDER BY k, id LIMIT 7000 OFFSET 10',
	'SELECT id FROM (SELECT id, k FROM numbers ORDER BY k, id OFFSET 0) s WHERE id % 3 = 0',
	'SELECT id, row_number() OVER (ORDER BY k, id) FROM numbers',
	'SELECT *, row_number() OVER (ORDER BY k, txt) FROM numbers']) query;

-- done anew, in a nested loop, with and without parameters that change; ended before the last row
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT examine('SELECT o, s.id FROM generate_series(1, 3) o LEFT JOIN (SELECT id, k FROM numbers ORDER BY k, id OFFSET 7990) s ON s.id > o');
SELECT examine('SELECT o, s.id FROM generate_series(1, 3) o LEFT JOIN (SELECT id, k FROM numbers ORDER BY k, id LIMIT 6000) s ON s.k <= o');

-- with ties: many rows, or few, which each process sorts for itself
SELECT examine('SELECT grp, k FROM numbers ORDER BY grp DESC, k FETCH FIRST 7000 ROWS WITH TIES');
SELECT examine('SELECT k FROM numbers ORDER BY k FETCH FIRST 3 ROWS WITH TIES');
SELECT examine('SELECT grp FROM numbers ORDER BY grp FETCH FIRST 3 ROWS WITH TIES');
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- what EXPLAIN says, without the number of workers that came in time
CREATE FUNCTION report(query text) RETURNS TABLE (aware text, method text, nrows text) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	plan := jsonb_path_query_first(plan, '$.** ? (@."Custom Plan Provider" == "GpuSort")');
	RETURN QUERY SELECT plan ->> 'Parallel Aware', plan ->> 'Sort Method', plan ->> 'Rows';
END $$;
SET gpusort.device = host;
SELECT * FROM report('SELECT * FROM numbers ORDER BY k');

-- a plan that runs under other settings: each process sorts for itself, or the leader alone
SET plan_cache_mode = force_generic_plan;
PREPARE sorted AS SELECT id, k FROM numbers ORDER BY k, id;
SELECT * FROM report('EXECUTE sorted');
SET parallel_leader_participation = off;
SELECT * FROM report('EXECUTE sorted');
RESET parallel_leader_participation;
SET gpusort.enable = off;
SELECT * FROM report('EXECUTE sorted');
SET gpusort.enable = on;
SET max_parallel_workers = 0;
SELECT * FROM report('EXECUTE sorted');
SET max_parallel_workers = 1;
SELECT * FROM report('EXECUTE sorted');
RESET max_parallel_workers;

-- with too little memory each process writes the rows that find no room as runs
PREPARE checked AS SELECT count(*), bool_and(k >= previous), sum(id), sum(hashtextextended(txt, 0)) FROM
	(SELECT *, lag(k, 1, k) OVER () previous FROM (SELECT id, k, txt, long FROM numbers ORDER BY k OFFSET 0) s) s;
EXECUTE checked;
SET gpusort.work_mem = '1MB';
EXECUTE checked;
SET gpusort.work_mem = '300kB';
EXECUTE checked;
SET gpusort.work_mem = '64kB';
EXECUTE checked;
RESET gpusort.work_mem;
RESET plan_cache_mode;

-- runs of all rows, where the planner expects them; runs of rows beyond its estimate; and rows whose keys are of no use
CREATE FUNCTION written(query text) RETURNS TABLE (aware text, in_runs boolean, nrows text, on_disk boolean)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	plan := jsonb_path_query_first(plan, '$.** ? (@."Custom Plan Provider" == "GpuSort")');
	RETURN QUERY SELECT plan ->> 'Parallel Aware', plan ->> 'Sort Method' ~ '^[a-z].*, merge of \d+ runs( in \d+ (streamed )?parts)?$', plan ->> 'Rows',
		(plan ->> 'Disk')::int > 0;
END $$;
CREATE FUNCTION fewer_expected(query text) RETURNS text LANGUAGE sql AS
	$$ SELECT replace(query, ' FROM numbers ORDER', ' FROM numbers WHERE numbers.id % 1 = 0 ORDER') $$;
SET gpusort.work_mem = '256kB';
SELECT * FROM written('SELECT * FROM numbers ORDER BY k');
SELECT * FROM written(fewer_expected('SELECT * FROM numbers ORDER BY k'));
SELECT query, examine(query), examine(fewer_expected(query)) FROM queries;
SELECT query, examine(query), examine(fewer_expected(query)) FROM unnest(ARRAY[
	'SELECT k FROM numbers ORDER BY k LIMIT 7000 OFFSET 10',
	'SELECT id, txt FROM numbers ORDER BY k, id LIMIT 3000',
	'SELECT DISTINCT ON (grp) grp, id FROM numbers ORDER BY grp, k, id',
	'SELECT id FROM (SELECT grp, id, row_number() OVER (PARTITION BY grp ORDER BY k, id) n FROM numbers) s WHERE n <= 3 ORDER BY grp, n']) query;
SET gpusort.device = host;
-- if there are more runs than can be merged at once, each process merges its own
SET gpusort.work_mem = '64kB';
SELECT aware FROM written('SELECT * FROM numbers ORDER BY k');
SELECT examine('SELECT * FROM numbers ORDER BY k, id');
RESET gpusort.work_mem;

-- cursors have no workers
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM numbers ORDER BY k, id;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH FIRST FROM c;
FETCH BACKWARD 1 FROM c;
CLOSE c;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM numbers ORDER BY k, id;
COMMIT;
FETCH 2 FROM h;
CLOSE h;
DO $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT id FROM numbers ORDER BY k, id LOOP
		n := n + 1;
		BEGIN
			IF r.id % 1000 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			n := n + 1;
		END;
	END LOOP;
	RAISE NOTICE '%', n;
END $$;

-- an error in any of the processes, and the next query; also after runs have been written
CREATE FUNCTION fail_at(i int, place int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF i = place THEN
		RAISE 'failed';
	END IF;
	RETURN i;
END $$;
\set VERBOSITY terse
DO $$
DECLARE
	failures int := 0;
BEGIN
	FOR i IN 1 .. 20 LOOP
		PERFORM set_config('gpusort.work_mem', CASE i % 2 WHEN 0 THEN '-1' ELSE '64kB' END, true);
		BEGIN
			PERFORM id FROM (SELECT fail_at(id, i * 400) id FROM numbers ORDER BY k, id OFFSET 0) s;
		EXCEPTION WHEN raise_exception THEN
			failures := failures + 1;
		END;
	END LOOP;
	RAISE NOTICE '% of 20 have failed', failures;
END $$;
SELECT examine('SELECT id FROM numbers ORDER BY k, id');

-- the planner chooses by its costs, and not if nothing is gained
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
CREATE FUNCTION uses(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN CASE WHEN jsonb_path_exists(plan, '$.** ? (@."Custom Plan Provider" == "GpuSort" && @."Parallel Aware" == true)') THEN 'together'
		WHEN jsonb_path_exists(plan, '$.** ? (@."Custom Plan Provider" == "GpuSort")') THEN 'alone'
		ELSE plan #>> '{0,Plan,Node Type}' END;
END $$;
CREATE TABLE many WITH (parallel_workers = 2) AS SELECT i id, hashint4(i) k, md5(i::text) txt FROM generate_series(1, 200000) i;
CREATE INDEX ON many (id);
VACUUM ANALYZE many;
SELECT uses('SELECT * FROM many ORDER BY k');
-- also in runs, and where many more rows are wanted than fit
SET gpusort.work_mem = '1MB';
SELECT uses('SELECT * FROM many ORDER BY k');
SELECT uses('SELECT * FROM many ORDER BY k LIMIT 150000');
RESET gpusort.work_mem;
SELECT uses('SELECT * FROM many ORDER BY k LIMIT 10');
SELECT uses('SELECT * FROM many ORDER BY id LIMIT 10');
SELECT uses('SELECT * FROM many WHERE id < 10 ORDER BY k');
SELECT uses('SELECT * FROM many WHERE fail_at(id, 0) > 0 ORDER BY k');
SELECT uses('SELECT a.id FROM many a JOIN many b ON a.id = b.k ORDER BY a.k');
SET parallel_leader_participation = off;
SELECT uses('SELECT * FROM many ORDER BY k');
RESET parallel_leader_participation;
SET enable_gathermerge = off;
SELECT uses('SELECT * FROM many ORDER BY k');
RESET enable_gathermerge;
SET gpusort.enable_sort = off;
SELECT uses('SELECT * FROM many ORDER BY k');

DROP TABLE numbers, parts, many, queries;
DROP TYPE color, pair;
DROP FUNCTION digest, sorts_together, examine, twice, report, written, fewer_expected, fail_at, uses;
