-- Plan places: wherever a Sort can stand in a plan, a GpuSort in its place does what the Sort would have done.
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = off;
SET gpusort.enable_aggregates = off;
SET gpusort.enable_costs = off;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_incremental_sort = off;
SET enable_material = off;

-- k is unique, and not in the order of the rows
CREATE TABLE numbers AS
SELECT i id, i * 7919 % 1009 k, i % 10 grp, nullif(i % 20, 0) gap, rpad('number ' || i, 200) txt FROM generate_series(1, 1008) i;
CREATE TABLE parts (id int, k int, grp int) PARTITION BY RANGE (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (300);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (300) TO (700);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (700) TO (1009);
INSERT INTO parts SELECT id, k, grp FROM numbers;
ANALYZE numbers, parts;

-- The nodes of a plan that have a GpuSort below; those of a subplan with its kind.
CREATE FUNCTION places(plan jsonb, parent text DEFAULT 'top', subplan text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	node text := coalesce(plan ->> 'Custom Plan Provider', plan ->> 'Node Type');
	child jsonb;
	relation text;
BEGIN
	IF node = 'GpuSort' THEN
		RETURN NEXT parent;
	END IF;
	FOR child IN SELECT * FROM jsonb_array_elements(plan -> 'Plans') LOOP
		relation := CASE WHEN child ->> 'Subplan Name' LIKE 'CTE %' THEN 'CTE' ELSE child ->> 'Parent Relationship' END;
		IF relation IN ('InitPlan', 'SubPlan', 'CTE') THEN
			RETURN QUERY SELECT places(child, relation, relation || ': ');
		ELSE
			RETURN QUERY SELECT places(child, subplan || node || CASE relation WHEN 'Inner' THEN ' (inner)' ELSE '' END, subplan);
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION plan_text(query text, columns boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	lines text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line !~ 'Why Not GpuSort: ' AND (columns OR line !~ ' Output: ') THEN
			lines := lines || line || E'\n';
		END IF;
	END LOOP;
	RETURN lines;
END $$;

-- A digest of a query's rows; its changes are undone.
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('WITH q AS MATERIALIZED (%s) SELECT count(*) || '' '' || md5(string_agg(q::text, chr(10))) FROM q', query)
	INTO result;
	RAISE assert_failure;
EXCEPTION WHEN assert_failure THEN
	RETURN result;
END $$;

CREATE FUNCTION sorts_so_far() RETURNS numeric LANGUAGE sql AS
	$$ SELECT sum(value) FROM gpusort_stats WHERE name IN ('sorts_device', 'sorts_host') $$;

-- The places of GpuSorts in a query. An error unless the query is sorted by them, and the rest of its plan and its rows are the native
-- ones; a caller can say that the columns of the plan may differ.
CREATE FUNCTION examine(query text, columns boolean DEFAULT true) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	native_plan text;
	native text;
	device text;
	before numeric;
	plan jsonb;
BEGIN
	-- functions are to plan their queries anew
	DISCARD PLANS;
	PERFORM set_config('gpusort.enable', 'off', true);
	native_plan := plan_text(query, columns);
	native := digest(query);
	DISCARD PLANS;
	PERFORM set_config('gpusort.enable', 'on', true);
	IF regexp_replace(regexp_replace(plan_text(query, columns), '(Parallel )?Custom Scan \(GpuSort\)', 'Sort', 'g'), '\n *Group Key: [^\n]*\n *Rows per Group: [^\n]*', '', 'g') <> native_plan THEN
		RAISE E'the plan is\n%sand natively\n%', plan_text(query, columns), native_plan;
	END IF;
	FOREACH device IN ARRAY '{host,cuda}'::text[] LOOP
		PERFORM set_config('gpusort.device', device, true);
		before := sorts_so_far();
		IF digest(query) IS DISTINCT FROM native THEN
			RAISE 'other rows on %', device;
		ELSIF sorts_so_far() = before THEN
			RAISE 'nothing sorted on %', device;
		END IF;
	END LOOP;
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(DISTINCT place, ', ' ORDER BY place) FROM places(plan -> 0 -> 'Plan') place);
END $$;

-- the top, and nodes that pass rows on
SELECT examine($$SELECT k, txt FROM numbers ORDER BY k$$);
SELECT examine($$SELECT n, ctid, tableoid FROM numbers n ORDER BY k DESC$$);
SELECT examine($$SELECT FROM numbers ORDER BY k$$);
SELECT examine($$SELECT k, generate_series(1, grp) FROM numbers ORDER BY k$$);
SELECT examine($$SELECT k FROM numbers ORDER BY k LIMIT 600 OFFSET 100$$);
SELECT examine($$SELECT grp FROM numbers ORDER BY grp FETCH FIRST 650 ROWS WITH TIES$$);
SELECT examine($$SELECT k + 1 FROM (SELECT k FROM numbers ORDER BY k OFFSET 0) s WHERE k % 3 = 0$$);
SELECT examine($$SELECT txt FROM (SELECT k, txt FROM numbers ORDER BY k OFFSET 0) s ORDER BY txt COLLATE "C"$$, columns => false);
SELECT examine($$SELECT k FROM (VALUES (3), (1), (2)) v (k) ORDER BY k$$);

-- a query with a collation of its own has the column twice, but the sorted rows and the result have it once
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, txt, grp FROM numbers ORDER BY txt COLLATE "POSIX" DESC, id;
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM (SELECT id, txt, grp FROM numbers ORDER BY txt COLLATE "POSIX" DESC, id OFFSET 0) s WHERE id > 0;
SELECT examine($$SELECT id, txt, grp FROM numbers ORDER BY txt COLLATE "POSIX" DESC, id$$, columns => false);
SELECT examine($$SELECT id, txt, row_number() OVER (ORDER BY txt COLLATE "POSIX") FROM numbers$$, columns => false);
SELECT examine($$SELECT txt FROM numbers ORDER BY txt COLLATE "POSIX" LIMIT 900 OFFSET 10$$, columns => false);
SELECT examine($$SELECT n FROM numbers n ORDER BY txt COLLATE "POSIX"$$, columns => false);
SELECT examine($$SELECT txt COLLATE "POSIX" FROM numbers ORDER BY txt COLLATE "POSIX", txt COLLATE "C"$$, columns => false);
SELECT examine($$SELECT txt FROM numbers UNION ALL (SELECT txt FROM numbers ORDER BY txt COLLATE "POSIX" LIMIT 900)$$, columns => false);
SELECT examine($$SELECT count(*), sum(a.k) FROM numbers a JOIN numbers b ON left(a.txt, 9) COLLATE "POSIX" = left(b.txt, 9) JOIN numbers c ON b.txt COLLATE "POSIX" = c.txt$$, columns => false);

-- window functions want their columns ahead of the others, but rows of a table are sorted as they are
SELECT line FROM string_to_table(plan_text('SELECT *, row_number() OVER (PARTITION BY grp ORDER BY k) FROM numbers', true), E'\n') line
WHERE line !~ 'OVER|Window:';
SELECT examine($$SELECT *, row_number() OVER (PARTITION BY grp ORDER BY k DESC) FROM numbers$$, columns => false);
SELECT examine($$SELECT *, lag(txt, 2) OVER w, sum(id + gap) FILTER (WHERE gap > 3) OVER (w RANGE BETWEEN 50 PRECEDING AND 50 FOLLOWING),
	(SELECT count(*) FROM parts p WHERE p.k < n.gap) FROM numbers n WINDOW w AS (PARTITION BY grp ORDER BY k)$$, columns => false);
SELECT examine($$SELECT *, rank() OVER (PARTITION BY grp ORDER BY k), sum(id) OVER (PARTITION BY gap ORDER BY k) FROM numbers WHERE id % 3 > 0$$, columns => false);
SELECT examine($$SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY grp ORDER BY k) place FROM numbers) s WHERE place <= 3 AND id > place$$, columns => false);
SELECT examine($$SELECT *, row_number() OVER (PARTITION BY grp ORDER BY txt COLLATE "POSIX") FROM numbers$$, columns => false);
CREATE TABLE pairs AS SELECT id, txt FROM numbers;
SELECT digest('SELECT *, row_number() OVER (ORDER BY txt, id, txt COLLATE "POSIX") FROM pairs') numbered \gset
SET gpusort.enable = off;
SELECT digest('SELECT *, row_number() OVER (ORDER BY txt, id, txt COLLATE "POSIX") FROM pairs') = :'numbered' same;
RESET gpusort.enable;
ALTER TABLE pairs ADD more int DEFAULT 7;
SELECT examine($$SELECT *, row_number() OVER (ORDER BY txt, id) FROM pairs$$, columns => false);
ALTER TABLE pairs DROP id;
SELECT examine($$SELECT *, row_number() OVER (ORDER BY txt, more) FROM pairs$$, columns => false);
DROP TABLE pairs;

-- init plans, sub plans, CTEs
SELECT examine($$SELECT k FROM numbers WHERE k > (SELECT k FROM numbers ORDER BY k OFFSET 600 LIMIT 1)$$);
SELECT examine($$SELECT o, ARRAY(SELECT k FROM numbers ORDER BY k DESC) FROM generate_series(1, 3) o$$);
SELECT examine($$SELECT o, ARRAY(SELECT k FROM numbers WHERE grp = o ORDER BY k) FROM generate_series(1, 12) o$$);
SELECT examine($$SELECT o, EXISTS (SELECT FROM numbers WHERE k > o ORDER BY k OFFSET 500) FROM generate_series(505, 510) o$$);
SELECT examine($$SELECT k FROM numbers WHERE k NOT IN (SELECT k FROM numbers ORDER BY k OFFSET 10)$$);
SELECT examine($$SELECT o, (SELECT sum(a.k * b.k) FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 7 WHERE a.grp <> o AND b.grp <> o)
	FROM generate_series(1, 5) o$$);
SELECT examine($$WITH c AS MATERIALIZED (SELECT k FROM numbers ORDER BY k) SELECT k FROM c UNION ALL SELECT -k FROM c$$);
SELECT examine($$WITH c AS NOT MATERIALIZED (SELECT k FROM numbers ORDER BY k OFFSET 5) SELECT k FROM c WHERE k > 7$$);
SELECT examine($$WITH RECURSIVE r (k, depth) AS (
		SELECT k, 0 FROM numbers WHERE k < 10
		UNION ALL SELECT n.k, depth + 1 FROM numbers n JOIN r ON n.k = r.k * 3 WHERE depth < 5)
	SELECT * FROM r ORDER BY depth, k$$);

-- Append and MergeAppend
SELECT examine($$(SELECT k FROM numbers ORDER BY k OFFSET 2) UNION ALL (SELECT -k FROM numbers ORDER BY k DESC OFFSET 3)$$);
SELECT examine($$SELECT id FROM parts ORDER BY id$$);
CREATE INDEX ON parts_2 (k);
CREATE INDEX ON parts_2 (id);
SET enable_seqscan = off;
SELECT examine($$SELECT id FROM parts ORDER BY id$$);
SELECT examine($$SELECT k FROM parts ORDER BY k$$);
RESET enable_seqscan;

-- merge joins, with duplicates and NULLs on both sides
SELECT examine($$SELECT a.k, b.k FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 7 ORDER BY 1, 2$$);
SELECT examine($$SELECT a.k, b.k FROM numbers a LEFT JOIN numbers b ON a.gap = b.grp AND a.k = b.k + 1 ORDER BY 1, 2$$);
SELECT examine($$SELECT a.k, b.k FROM numbers a FULL JOIN numbers b ON a.gap = b.grp AND a.k / 9 = b.k / 8 ORDER BY 1, 2$$);
SELECT examine($$SELECT k FROM numbers a WHERE EXISTS (SELECT FROM numbers b WHERE a.gap = b.k) ORDER BY k$$);
SELECT examine($$SELECT k FROM numbers a WHERE NOT EXISTS (SELECT FROM numbers b WHERE a.gap = b.k) ORDER BY k$$);
SELECT examine($$SELECT count(*) FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 10 JOIN numbers c ON b.id / 20 = c.id / 20$$);
SELECT examine($$SELECT a.k, b.id FROM parts a JOIN parts b ON a.id = b.k ORDER BY a.k$$);

-- window functions
SELECT examine($$SELECT k, lag(k) OVER (ORDER BY k) FROM numbers$$);
SELECT examine($$SELECT k, rank() OVER (PARTITION BY gap ORDER BY k DESC), sum(k) OVER (ORDER BY k ROWS 3 PRECEDING),
		first_value(k) OVER (PARTITION BY grp ORDER BY k RANGE BETWEEN 50 PRECEDING AND 50 FOLLOWING EXCLUDE CURRENT ROW)
	FROM numbers ORDER BY k$$);

-- grouping; how sets are united, and whether aggregates have their rows sorted, depends on the version
SELECT examine($$SELECT DISTINCT grp, gap FROM numbers$$);
SELECT examine($$SELECT DISTINCT ON (grp) grp, k FROM numbers ORDER BY grp, k DESC$$);
SELECT examine($$SELECT grp, gap, count(*), sum(k) FROM numbers GROUP BY grp, gap HAVING sum(k) % 2 = 0$$);
SELECT examine($$SELECT grp, gap, count(*) FROM numbers GROUP BY ROLLUP (grp, gap)$$);
SELECT count(examine(query)) FROM unnest(ARRAY[
	$$SELECT k / 2 FROM numbers UNION SELECT id / 3 FROM numbers$$,
	$$SELECT k / 2 FROM numbers INTERSECT SELECT id FROM numbers$$,
	$$SELECT k / 2 FROM numbers EXCEPT ALL SELECT id / 4 FROM numbers$$,
	$$SELECT grp, count(DISTINCT gap), string_agg(k::text, ',' ORDER BY k) FROM numbers GROUP BY grp$$]) query;

-- nested loops that begin the sort anew, or read it again
SET enable_nestloop = on;
SET enable_mergejoin = off;
SELECT examine($$SELECT o, k FROM generate_series(1, 3) o LEFT JOIN (SELECT k FROM numbers ORDER BY k OFFSET 0) s ON k <= o$$);
SELECT examine($$SELECT o, txt FROM generate_series(1, 3) o LEFT JOIN (SELECT txt FROM numbers ORDER BY txt COLLATE "POSIX" OFFSET 900) s ON true$$, columns => false);
SELECT examine($$SELECT o, s.* FROM generate_series(1, 12) o, LATERAL (SELECT k FROM numbers WHERE grp = o % 3 ORDER BY k OFFSET 90) s$$);
RESET enable_nestloop;
RESET enable_mergejoin;

-- below Gather Merge, whole and in part, and also when the Gather Merge begins anew
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT examine($$SELECT k, txt FROM numbers ORDER BY k$$);
SELECT examine($$SELECT k, txt FROM numbers ORDER BY txt COLLATE "POSIX"$$, columns => false);
SELECT examine($$SELECT grp, gap, count(*) FROM numbers GROUP BY grp, gap$$);
SELECT examine($$SELECT count(*), sum(a.k) FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 7$$);
SET enable_nestloop = on;
SET enable_mergejoin = off;
SELECT examine($$SELECT o, k FROM generate_series(1, 3) o LEFT JOIN (SELECT k FROM numbers ORDER BY k OFFSET 0) s ON k <= o$$);
RESET enable_mergejoin;
SET enable_nestloop = off;
SET max_parallel_workers_per_gather = 0;

-- security barriers: no row is shown to a function that the view hides
CREATE FUNCTION show(shown int) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	IF EXISTS (SELECT FROM numbers WHERE k = shown AND grp >= 2) THEN
		RAISE 'row % is shown', shown;
	END IF;
	RETURN shown % 2 = 0;
END $$;
CREATE VIEW public_numbers WITH (security_barrier) AS SELECT k, txt FROM numbers WHERE grp < 2;
CREATE VIEW sorted_numbers WITH (security_barrier) AS SELECT k FROM numbers WHERE grp < 2 ORDER BY k;
SELECT examine($$SELECT k FROM public_numbers WHERE show(k) ORDER BY k$$);
SELECT examine($$SELECT k FROM sorted_numbers WHERE show(k)$$);
SELECT examine($$SELECT k FROM sorted_numbers WHERE show(k) LIMIT 90$$);

-- locks and changes
CREATE TABLE copies (place serial, k int);
SELECT examine($$SELECT k FROM numbers ORDER BY k FOR UPDATE$$);
SELECT examine($$SELECT a.k, b.k FROM numbers a JOIN parts b USING (k) ORDER BY a.k DESC FOR UPDATE OF b SKIP LOCKED$$);
SELECT examine($$INSERT INTO copies (place, k) SELECT id, k FROM numbers ORDER BY k RETURNING *$$);
SELECT examine($$UPDATE numbers n SET id = s.id FROM (SELECT id, k FROM numbers ORDER BY k OFFSET 10) s WHERE n.k = s.k + 1 RETURNING n.*$$);
SELECT examine($$DELETE FROM parts WHERE k IN (SELECT k FROM numbers ORDER BY id DESC LIMIT 600) RETURNING *$$);
INSERT INTO copies (k) SELECT k FROM numbers ORDER BY k DESC;
SELECT count(*), bool_and(place + k = 1009) FROM copies;
CREATE MATERIALIZED VIEW sorted_copies AS SELECT k FROM copies ORDER BY k;
REFRESH MATERIALIZED VIEW sorted_copies;
SELECT count(*), bool_and(k = place) FROM (SELECT k, row_number() OVER () place FROM sorted_copies) s;

-- functions: a scrolling cursor with a parameter, until its plan is a generic one; a loop that is left early, in a sort
CREATE FUNCTION scroll(low int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c SCROLL CURSOR (least int) FOR SELECT k FROM numbers WHERE k >= least ORDER BY k;
	fetched int;
	result text := '';
	step int;
BEGIN
	OPEN c(low);
	FOREACH step IN ARRAY '{1,5,-3,200,-1000,1,3000,-1,-2}'::int[] LOOP
		FETCH RELATIVE step FROM c INTO fetched;
		result := concat_ws(' ', result, coalesce(fetched::text, 'none'));
	END LOOP;
	FETCH ABSOLUTE -10 FROM c INTO fetched;
	CLOSE c;
	RETURN concat_ws(' ', result, fetched);
END $$;
SELECT scroll(400);
SELECT examine($$SELECT scroll(o * 50) FROM generate_series(1, 10) o$$);
CREATE FUNCTION first_above(low int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT k FROM numbers WHERE k > low ORDER BY k LOOP
		RETURN r.k;
	END LOOP;
	RETURN NULL;
END $$;
SELECT examine($$SELECT k, first_above(k * 10) FROM numbers WHERE k < 120 ORDER BY first_above(k * 10), k$$);

-- prepared statements: a custom plan, a generic one, and the generic one without gpusort and without memory for it
PREPARE above (int) AS
	SELECT count(*), sum(a.k * b.k), sum(length(a.txt || b.txt)) FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 7 WHERE a.k > $1;
SET plan_cache_mode = force_custom_plan;
EXECUTE above (500);
EXECUTE above (700);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE above (500);
EXECUTE above (500);
EXECUTE above (700);
SELECT value AS native_before FROM gpusort_stats WHERE name = 'sorts_native' \gset
SET gpusort.enable = off;
EXECUTE above (500);
EXECUTE above (700);
RESET gpusort.enable;
SET gpusort.work_mem = '64kB';
EXECUTE above (500);
EXECUTE above (700);
RESET gpusort.work_mem;
SELECT value - :native_before >= 4 AS were_native FROM gpusort_stats WHERE name = 'sorts_native';

-- cursors: one that outlives its transaction, fetched on both sides of its end; and changes of the current row
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT k FROM numbers ORDER BY k;
FETCH 3 FROM c;
COMMIT;
FETCH 1 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT k FROM numbers ORDER BY k FOR UPDATE;
FETCH 2 FROM c;
UPDATE numbers SET txt = 'changed' WHERE CURRENT OF c RETURNING k;
FETCH 1 FROM c;
DELETE FROM numbers WHERE CURRENT OF c RETURNING k;
ROLLBACK;
-- without FOR UPDATE it is not known which row that is
BEGIN;
DECLARE c CURSOR FOR SELECT k FROM numbers ORDER BY k;
FETCH 1 FROM c;
UPDATE numbers SET txt = 'changed' WHERE CURRENT OF c;
ROLLBACK;

DROP MATERIALIZED VIEW sorted_copies;
DROP VIEW public_numbers, sorted_numbers;
DROP TABLE numbers, parts, copies;
DROP FUNCTION examine, places, plan_text, digest, sorts_so_far, show, scroll, first_above;
