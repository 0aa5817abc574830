-- Unique indexes over rows that are dead to the check: rows that this transaction or another has deleted, of every shape.
SET gpusort.min_rows = 0;
SET max_parallel_maintenance_workers = 0;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
RESET client_min_messages;

-- The outcome of a definition: the index's pages, without the place in the log of their last change; or the error.
CREATE FUNCTION pg_temp.outcome(definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	state text;
	detail text;
	hint text;
BEGIN
	EXECUTE definition;
	SELECT count(*) || ' pages ' || md5(string_agg(substring(get_raw_page('built', block::int) FROM 11), '')) INTO result
	FROM generate_series(0, pg_relation_size('built') / current_setting('block_size')::int - 1) block;
	PERFORM bt_index_parent_check('built', true, true);
	DROP INDEX built;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS result = MESSAGE_TEXT, state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	-- of several duplicates any may be named
	detail := regexp_replace(detail, '=\(.*\) is dup', '=(...) is dup');
	RETURN concat_ws(', ', state, result, detail, hint);
END $$;

-- The same without gpusort, with it, and through files; and whether all of them agree.
CREATE FUNCTION pg_temp.compare(definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	native text;
	ours text;
	memory text;
	device text;
BEGIN
	PERFORM set_config('gpusort.enable', 'off', true);
	native := pg_temp.outcome(definition);
	PERFORM set_config('gpusort.enable', 'on', true);
	FOREACH memory IN ARRAY ARRAY['64MB', '64kB'] LOOP
		PERFORM set_config('gpusort.work_mem', memory, true);
		FOREACH device IN ARRAY ARRAY['host', 'cuda'] LOOP
			PERFORM set_config('gpusort.device', device, true);
			ours := pg_temp.outcome(definition);
			IF ours <> native THEN
				RETURN concat_ws(E'\n', 'PostgreSQL: ' || native, format('gpusort, %s, %s: ', memory, device) || ours);
			END IF;
		END LOOP;
	END LOOP;
	RETURN CASE WHEN native ~ '^\d+ pages' THEN 'the same pages' ELSE split_part(native, ', Values', 1) END;
END $$;

-- a single row, too large for a page
BEGIN;
CREATE TEMP TABLE v (t text);
INSERT INTO v SELECT string_agg(md5(i::text), '') FROM generate_series(1, 100) i;
DELETE FROM v;
SELECT pg_temp.compare('CREATE UNIQUE INDEX built ON v (t)');
SELECT pg_temp.compare('CREATE UNIQUE INDEX built ON v (length(t)) INCLUDE (t)');
\set VERBOSITY terse
CREATE UNIQUE INDEX built ON v (t);
ROLLBACK;

-- rows of all shapes: half of each, and all, deleted by this transaction
CREATE TEMP TABLE shapes (id int, few int, t text COLLATE "C", plain text COLLATE "C", external text COLLATE "C", icu text COLLATE "en-x-icu",
	num numeric, n name COLLATE "C", u uuid, c char(20) COLLATE "C", ints int[], b bool, d date, j jsonb);
ALTER TABLE shapes ALTER plain SET STORAGE plain, ALTER external SET STORAGE external;
INSERT INTO shapes
SELECT i, i % 7, md5(i::text), repeat(md5(i::text), i % 80), repeat(md5(i::text), i % 250), md5(i::text), i / 7.0, 'name ' || i, md5(i::text)::uuid, i, ARRAY[i % 3, i],
	i % 2 = 0, date '2000-01-01' + i, to_jsonb(i)
FROM generate_series(1, 1500) i;
INSERT INTO shapes (id) SELECT i FROM generate_series(1501, 1600) i;
SELECT format('CREATE TEMP TABLE wide (%s)', string_agg('c' || i || CASE WHEN i % 3 = 0 THEN ' text' WHEN i % 3 = 1 THEN ' int' ELSE ' bool' END, ', '))
FROM generate_series(1, 32) i \gexec
SELECT format('INSERT INTO wide SELECT %s FROM generate_series(1, 500) k', string_agg(CASE
	WHEN i % 3 = 0 THEN '(k % 7)::text' WHEN i % 3 = 1 THEN format('nullif(k, %s)', i) ELSE format('nullif(k %% %s = 0, true)', i) END, ', '))
FROM generate_series(1, 32) i \gexec
CREATE FUNCTION pg_temp.all_shapes() RETURNS TABLE (key text, outcome text) LANGUAGE sql AS $$
	SELECT key, pg_temp.compare(format('CREATE UNIQUE INDEX built ON shapes (%s)', key))
	FROM unnest(ARRAY['id', 'id DESC', 'few, id', 'few', 't', 't) INCLUDE (id', 'few) INCLUDE (num, j', 'plain', 'external', 'id) INCLUDE (external',
		'icu', 'icu DESC, id', 'num', 'n', 'u', 'c', 'ints', 'b, id', 'd', 'j, id', 't, id, num, icu, n, u', '(few + 1), t', 'id) NULLS NOT DISTINCT WHERE (t IS NULL']) key
	UNION ALL
	SELECT 'wide', pg_temp.compare('CREATE UNIQUE INDEX built ON wide (' || string_agg(attname, ', ' ORDER BY attnum) || ')')
	FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attnum > 0
$$;
BEGIN;
DELETE FROM shapes WHERE id % 2 = 0;
DELETE FROM wide WHERE c1 % 2 = 0;
SELECT * FROM pg_temp.all_shapes();
UPDATE shapes SET few = few + 1;
UPDATE wide SET c1 = c1;
SELECT * FROM pg_temp.all_shapes();
DELETE FROM shapes;
DELETE FROM wide;
SELECT * FROM pg_temp.all_shapes();
ROLLBACK;
