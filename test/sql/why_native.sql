-- Why a sort was left to PostgreSQL: EXPLAIN (VERBOSE) says why, from PostgreSQL 18 on at the node, before 18 below the plan.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
CREATE TABLE numbers AS SELECT i id, i % 50 grp, -i k, i::text COLLATE "C" txt, to_tsvector('simple', i::text) words FROM generate_series(1, 10000) i;
ANALYZE numbers;
CREATE FUNCTION nearer_zero(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT abs($1) < abs($2)';
CREATE FUNCTION as_near_zero(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT abs($1) = abs($2)';
CREATE FUNCTION compare_to_zero(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT abs($1) - abs($2)';
CREATE OPERATOR <# (LEFTARG = int, RIGHTARG = int, FUNCTION = nearer_zero);
CREATE OPERATOR =# (LEFTARG = int, RIGHTARG = int, FUNCTION = as_near_zero);
CREATE OPERATOR CLASS near_zero FOR TYPE int USING btree AS OPERATOR 1 <#, OPERATOR 3 =#, FUNCTION 1 compare_to_zero(int, int);

EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM numbers ORDER BY words DESC, k;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM numbers ORDER BY k USING <#;
EXPLAIN (COSTS OFF, VERBOSE) SELECT grp, k FROM numbers GROUP BY GROUPING SETS ((grp), (k));
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM (SELECT id, k FROM numbers UNION ALL SELECT id, k FROM numbers) s ORDER BY k LIMIT 10;

-- expected numbers are compared with settings
CREATE FUNCTION why_not(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE) ' || query LOOP
		IF line ~ 'Why Not GpuSort' THEN
			RETURN NEXT regexp_replace(line, '.*: ', '');
		END IF;
	END LOOP;
END $$;
SET gpusort.min_rows = 20000;
SELECT why_not('SELECT id FROM numbers ORDER BY k');
SELECT why_not('CREATE TABLE sorted AS SELECT id FROM numbers ORDER BY k');
-- PostgreSQL sorts single numbers without their rows, which takes less time where few of them are different
SET gpusort.min_rows = 2000;
SELECT why_not('SELECT grp FROM numbers ORDER BY grp');
SELECT why_not('SELECT k FROM numbers ORDER BY k');
SELECT why_not('SELECT grp, id FROM numbers ORDER BY grp');
-- PostgreSQL then stores no NULLs of texts
CREATE TABLE mostly_null AS SELECT i id, CASE WHEN i % 20 = 0 THEN i::text COLLATE "C" END txt, CASE WHEN i % 2 = 0 THEN i::numeric END n FROM generate_series(1, 5000) i;
ANALYZE mostly_null;
SELECT why_not('SELECT txt FROM mostly_null ORDER BY txt');
SELECT why_not('SELECT txt, id FROM mostly_null ORDER BY txt');
SELECT why_not('SELECT n FROM mostly_null ORDER BY n');
DROP TABLE mostly_null;
-- from 17 on PostgreSQL keeps few texts in memory, whatever the setting
CREATE FUNCTION keeps_values(query text) RETURNS boolean LANGUAGE sql AS
	$$ SELECT EXISTS (SELECT FROM why_not(query) why WHERE why = 'PostgreSQL keeps its few values in memory') $$;
SELECT keeps_values('SELECT lpad(txt, 100) t FROM numbers ORDER BY t'), keeps_values('SELECT lpad(txt, 100) t, id FROM numbers ORDER BY t');
SET work_mem = '256kB';
SELECT keeps_values('SELECT lpad(txt, 100) t FROM numbers ORDER BY t') = (current_setting('server_version_num')::int >= 170000) AS as_the_version,
	keeps_values('SELECT lpad(txt, 100) t, id FROM numbers ORDER BY t'), keeps_values('SELECT k FROM numbers ORDER BY k');
SET work_mem = '64MB';
SET gpusort.min_rows = 0;
SELECT why_not('SELECT id FROM numbers ORDER BY k');
SET gpusort.device = host;
SET gpusort.host_sort_row_cost = 1;
SELECT why_not('SELECT id FROM (SELECT id, grp, k FROM numbers ORDER BY grp OFFSET 0) s ORDER BY grp, k');
RESET gpusort.host_sort_row_cost;
RESET gpusort.device;

-- each of several sorts, except those that are taken over; a limit does not reach the sorts of a subquery
SELECT why_not($$SELECT ARRAY(SELECT k FROM numbers ORDER BY k), ARRAY(SELECT id FROM numbers n WHERE n.k <> s.k ORDER BY words, n.k + s.k OFFSET 1)
	FROM numbers s ORDER BY txt LIMIT 2$$);

-- aggregates that sort their values themselves, unless they find these sorted
SELECT why_not('SELECT mode() WITHIN GROUP (ORDER BY k) FILTER (WHERE grp > 1) FROM numbers');
SELECT why_not('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), mode() WITHIN GROUP (ORDER BY grp) FROM numbers');
SELECT why_not('SELECT grp FROM numbers GROUP BY grp HAVING rank(3) WITHIN GROUP (ORDER BY k) > 1');
SELECT why_not('SELECT grp, array_agg(id ORDER BY k) FROM numbers GROUP BY grp');
SET gpusort.min_rows = 20000;
SELECT why_not('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM numbers');
SET gpusort.min_rows = 0;

-- the reason is in the other formats too, and in the log
CREATE FUNCTION why_not_json(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0;
	RETURN coalesce(plan -> 'Plan' ->> 'Why Not GpuSort', plan -> 'Why Not GpuSort' ->> 0);
END $$;
SELECT why_not_json('SELECT id FROM numbers ORDER BY words');
SET client_min_messages = debug1;
SELECT count(*) FROM (SELECT FROM numbers ORDER BY words OFFSET 0) s;
SELECT count(*) FROM (SELECT FROM numbers ORDER BY k OFFSET 0) s;

-- so it is when a sort falls back to PostgreSQL's when it runs
SET plan_cache_mode = force_generic_plan;
PREPARE before_the_switch AS SELECT count(*) FROM (SELECT FROM numbers ORDER BY k OFFSET 0) s;
EXECUTE before_the_switch;
SET gpusort.enable = off;
EXECUTE before_the_switch;
RESET gpusort.enable;
RESET plan_cache_mode;
DEALLOCATE before_the_switch;
RESET client_min_messages;

-- not unless asked for, and not of other plans that run meanwhile
EXPLAIN (COSTS OFF) SELECT id FROM numbers ORDER BY words;
CREATE FUNCTION first_of(key text) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT id FROM numbers ORDER BY %s LIMIT 1', key);
END $$;
SELECT why_not($$SELECT first_of('words')$$);
EXPLAIN (ANALYZE, VERBOSE) SELECT 1 / (k - k) FROM numbers ORDER BY words;
SELECT id FROM numbers ORDER BY words LIMIT 1;
SET gpusort.enable = off;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM numbers ORDER BY words;
SET plan_cache_mode = force_generic_plan;
PREPARE sorted AS SELECT id FROM numbers ORDER BY k;
SELECT why_not('EXECUTE sorted');
RESET gpusort.enable;
SELECT why_not('EXECUTE sorted');
DEALLOCATE sorted;
-- the first rows of a plan that has a GpuSort for more of them
PREPARE first (bigint, bigint) AS SELECT id, k FROM numbers ORDER BY k LIMIT $1 OFFSET $2;
SELECT why_not('EXECUTE first (1, 0)');
SELECT why_not('EXECUTE first (1, 100000)');
SELECT why_not('EXECUTE first (NULL, 0)');
DEALLOCATE first;
DROP TABLE numbers, sorted;
DROP FUNCTION why_not, why_not_json, first_of;
DROP OPERATOR FAMILY near_zero USING btree;
DROP OPERATOR <# (int, int), =# (int, int);
DROP FUNCTION nearer_zero, as_near_zero, compare_to_zero;
