-- Values with parts: ranges, multiranges, and arrays of them.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET gpusort.device = host;
CREATE SCHEMA values_with_parts;
SET search_path = values_with_parts, public;
CREATE TYPE textrange AS RANGE (subtype = text);
CREATE FUNCTION a_number(h bigint) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
	SELECT (ARRAY[0, 1, 1.0, 1.00, 100, -1, 1.5, 1e30, 'NaN', 'Infinity', 12345678.9]::numeric[])[1 + abs(h) % 12] $$;
CREATE FUNCTION a_range(h bigint) RETURNS numrange LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN h % 20 = 0 THEN 'empty' ELSE numrange(least(a, b), greatest(a, b), (ARRAY['[]', '[)', '(]', '()'])[1 + abs(h / 2) % 4]) END
	FROM (SELECT a_number(h) a, a_number(h / 12) b) d $$;
CREATE TABLE parts AS
SELECT id, h % 7 few, CASE WHEN h % 10 <> 0 THEN int4range((h % 50)::int, (h % 50)::int + abs(h % 5)::int) END ints,
	tstzrange(timestamptz '2000-01-01' + h % 100 * interval '1 hour', timestamptz '2001-01-01' + h % 77 * interval '1 hour') times,
	a_range(h) numbers, textrange(chr(65 + abs(h % 2)::int) || chr(97 + abs(h % 5)::int), NULL, (ARRAY['[)', '()'])[1 + abs(h % 2)]) texts,
	nummultirange(a_range(h), a_range(h / 100), a_range(h / 1000)) many, ARRAY[a_range(h), a_range(h / 1000)] listed,
	numrange(repeat('7', 400)::numeric, repeat('7', 400)::numeric + abs(h)) alike
FROM (SELECT id, hashint8(id)::bigint h FROM generate_series(1, 4000) id) s;
ANALYZE parts;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/wrong_place.sql'
\i :include

CREATE FUNCTION sorted_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Sort  \(|GpuSort' THEN
			RETURN CASE WHEN line ~ 'GpuSort' THEN 'gpusort' ELSE 'PostgreSQL' END;
		END IF;
	END LOOP;
	RETURN 'none';
END $$;
CREATE VIEW cases AS SELECT * FROM (VALUES
	('ints, id'),
	('ints DESC NULLS LAST, id'),
	('times DESC, id'),
	('numbers, id'),
	('few, numbers DESC NULLS FIRST, texts, id'),
	('texts, id'),
	('texts DESC, numbers, id'),
	('many, id'),
	('many DESC, id'),
	('listed, id'),
	('alike, id'),
	('alike DESC, id')) cases (sort);
SELECT sort, sorted_by(query), wrong_place(query) FROM cases, format('SELECT id FROM parts ORDER BY %s', sort) query;

-- values that are stored elsewhere
CREATE TABLE elsewhere (id integer, numbers numrange);
ALTER TABLE elsewhere ALTER numbers SET STORAGE EXTERNAL;
INSERT INTO elsewhere SELECT id, numrange(repeat('7', 6000)::numeric, repeat('7', 6000)::numeric + hashint4(id) / 4 + 1e9) FROM generate_series(1, 500) id;
SELECT wrong_place('SELECT id FROM elsewhere ORDER BY numbers'), wrong_place('SELECT id FROM elsewhere ORDER BY numbers DESC');

-- the same in runs
SET gpusort.work_mem = '64kB';
SELECT sort, wrong_place(query) FROM cases, format('SELECT id FROM parts ORDER BY %s', sort) query;
RESET gpusort.work_mem;

-- with workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE parts SET (parallel_workers = 2);
SELECT sort, wrong_place(query) FROM cases, format('SELECT id FROM parts ORDER BY %s', sort) query;
SET parallel_leader_participation = off;
SELECT sort, wrong_place(query) FROM cases, format('SELECT id FROM parts ORDER BY %s', sort) query;
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;

-- groups, windows, merge joins and aggregates, of which equal values may look different
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE VIEW statements AS SELECT * FROM (VALUES
	('SELECT md5(string_agg(n::text, '' '' ORDER BY n)) FROM (SELECT count(*) n FROM parts GROUP BY numbers) s'),
	('SELECT count(*) FROM (SELECT DISTINCT many, listed FROM parts) s'),
	('SELECT sum(id * r) FROM (SELECT id, rank() OVER (PARTITION BY few ORDER BY numbers DESC) r FROM parts) s'),
	('SELECT count(*), sum(a.id * b.id) FROM parts a JOIN parts b USING (numbers)'),
	('SELECT count(DISTINCT texts), count(DISTINCT numbers), max(upper(ints)) FROM parts')) statements (statement);
CREATE FUNCTION differs(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
	expected text;
BEGIN
	EXECUTE format('SELECT s::text FROM (%s) s', statement) INTO found;
	SET LOCAL gpusort.enable = off;
	EXECUTE format('SELECT s::text FROM (%s) s', statement) INTO expected;
	SET LOCAL gpusort.enable = on;
	RETURN CASE WHEN found IS DISTINCT FROM expected THEN format('%s, not %s', found, expected) END;
END $$;
SELECT statement, differs(statement) FROM statements;
RESET enable_hashagg;
RESET enable_hashjoin;
RESET enable_nestloop;

-- indexes
CREATE FUNCTION builds() RETURNS numeric LANGUAGE sql AS
	$$ SELECT sum(value) FROM gpusort_stats WHERE name IN ('indexes_host', 'indexes_device') $$;
SELECT builds() AS before \gset
CREATE INDEX of_numbers ON parts (numbers, id);
CREATE INDEX of_texts ON parts (texts DESC NULLS LAST, many);
CREATE UNIQUE INDEX ON parts (listed, id);
SET max_parallel_maintenance_workers = 2;
CREATE INDEX of_times ON parts (times, id);
SELECT builds() - :before;
CREATE EXTENSION IF NOT EXISTS amcheck;
SELECT indexrelid::regclass, bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'parts'::regclass ORDER BY 1;
DROP EXTENSION amcheck;
