-- Values with parts: ranges, multiranges, records, documents, and arrays of them.
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
CREATE TYPE pair AS (number numeric, gone int, word text);
ALTER TYPE pair DROP ATTRIBUTE gone;
CREATE DOMAIN pairs AS pair;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'glad' BEFORE 'happy';
CREATE TYPE feeling AS (mood mood, since numrange);
CREATE FUNCTION a_document(h bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE abs(h) % 8 WHEN 0 THEN to_jsonb(a_number(h / 8)) WHEN 1 THEN '[]' WHEN 2 THEN jsonb_build_object('id', h / 100, 'name', md5(h::text))
		WHEN 3 THEN jsonb_build_object('id', h / 100, 'other', h % 3) WHEN 4 THEN jsonb_build_array(h / 1000, 'a', NULL, h % 2 = 0)
		WHEN 5 THEN jsonb_build_object('in', jsonb_build_object('b', h % 3, 'c', jsonb_build_array(h % 7)))
		WHEN 6 THEN jsonb_build_object('id', a_number(h / 8), 'name', 'x') ELSE to_jsonb(md5(h::text)) END $$;
CREATE TABLE parts AS
SELECT id, h % 7 few, CASE WHEN h % 10 <> 0 THEN int4range((h % 50)::int, (h % 50)::int + abs(h % 5)::int) END ints,
	tstzrange(timestamptz '2000-01-01' + h % 100 * interval '1 hour', timestamptz '2001-01-01' + h % 77 * interval '1 hour') times,
	a_range(h) numbers, textrange(chr(65 + abs(h % 2)::int) || chr(97 + abs(h % 5)::int), NULL, (ARRAY['[)', '()'])[1 + abs(h % 2)]) texts,
	nummultirange(a_range(h), a_range(h / 100), a_range(h / 1000)) many, ARRAY[a_range(h), a_range(h / 1000)] listed,
	numrange(repeat('7', 400)::numeric, repeat('7', 400)::numeric + abs(h)) alike,
	CASE WHEN h % 9 <> 0 THEN ROW(a_number(h), chr(97 + abs(h % 5)::int))::pair END pair, ROW(NULL, h % 100)::pairs pairs,
	ROW((enum_range(NULL::mood))[1 + abs(h % 4)], a_range(h))::feeling feeling,
	CASE WHEN h % 11 <> 0 THEN a_document(h) END doc, ARRAY[a_document(h), a_document(h / 100)] docs,
	jsonb_build_object('alike', repeat('same', 100), 'number', abs(h)) alike_doc
FROM (SELECT id, hashint8(id)::bigint h FROM generate_series(1, 4000) id) s;
ALTER TABLE parts ADD late int DEFAULT 7;
ANALYZE parts;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/wrong_place.sql'
\i :include
\set include :test '/include/sort_checks.sql'
\i :include

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
	('alike DESC, id'),
	('pair, id'),
	('pair DESC NULLS LAST, doc, id'),
	('pairs, id'),
	('feeling DESC, id'),
	('doc, id'),
	('doc DESC, id'),
	('few, doc DESC NULLS LAST, pair, id'),
	('docs, id'),
	('alike_doc DESC, id'),
	('ROW(few, pair, doc), id'),
	('ROW(few, ROW(doc, id)) DESC'),
	('ARRAY[pair, ROW(few, texts::text)::pair], id'),
	('CASE few WHEN 1 THEN ROW(few, texts) WHEN 2 THEN ROW(few, doc, few) ELSE ROW(few + 10, doc, few) END, id'),
	('ROW(id, point(1, 1)) DESC'),
	-- few rows tie in the first parts, and many
	('ROW(CASE WHEN id < 12 THEN id / 2 ELSE id END, repeat(''x'', 40), doc), id'),
	('ROW(few, repeat(''x'', 40), doc) DESC, id'),
	('parts')) cases (sort);
SELECT sort, sorted_by(query), wrong_place(query) FROM cases, format('SELECT id FROM parts ORDER BY %s', sort) query;

-- values that are stored elsewhere
CREATE TABLE elsewhere (id integer, numbers numrange);
ALTER TABLE elsewhere ALTER numbers SET STORAGE EXTERNAL;
INSERT INTO elsewhere SELECT id, numrange(repeat('7', 6000)::numeric, repeat('7', 6000)::numeric + hashint4(id) / 4 + 1e9) FROM generate_series(1, 500) id;
SELECT wrong_place('SELECT id FROM elsewhere ORDER BY numbers'), wrong_place('SELECT id FROM elsewhere ORDER BY numbers DESC');

-- records sort by their values, not by their bytes
SELECT sorted_by('SELECT id FROM parts ORDER BY pair USING *<, id'), wrong_place('SELECT id FROM parts ORDER BY pair USING *<, id');
-- the errors of the comparator
CREATE FUNCTION error(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
CREATE VIEW errors AS SELECT * FROM (VALUES
	('CASE WHEN id % 2 = 0 THEN ROW(1, ''a''::text) ELSE ROW(1, 2) END'),
	('CASE WHEN id % 2 = 0 THEN ROW(1, 2, 3) ELSE ROW(1, 2) END'),
	('CASE WHEN id % 2 = 0 THEN ROW(1, ''a''::text COLLATE "C") ELSE ROW(1, ''a''::text) END'),
	('ROW(few, point(1, 1))'),
	('ARRAY[ROW(1, few), ROW(few)]')) errors (sort);
SELECT sort, error(query) FROM errors, format('SELECT id FROM parts ORDER BY %s', sort) query;
SET gpusort.enable = off;
SELECT sort, error(query) FROM errors, format('SELECT id FROM parts ORDER BY %s', sort) query;
RESET gpusort.enable;
-- documents of more levels than keys follow, which take no more stack than in the comparator
CREATE TABLE deep AS SELECT id, (repeat('[', 4000) || id || repeat(']', 4000))::jsonb doc FROM generate_series(1, 50) id;
SELECT wrong_place('SELECT id FROM deep ORDER BY doc DESC');
SET max_stack_depth = '100kB';
SELECT error('SELECT id FROM deep ORDER BY doc DESC');
SET gpusort.enable = off;
SELECT error('SELECT id FROM deep ORDER BY doc DESC');
RESET gpusort.enable;
RESET max_stack_depth;

-- the same in runs
SET gpusort.work_mem = '64kB';
SELECT sort, wrong_place(query) FROM cases, format('SELECT id FROM parts ORDER BY %s', sort) query;
RESET gpusort.work_mem;

-- only later rows tie in the first parts, so keys become longer when many have been made, and some runs are written
CREATE TABLE late AS SELECT id, jsonb_build_array(CASE WHEN id <= 6000 THEN hashint4(id) ELSE id % 50 END, repeat('x', 40), hashint4(-id)) doc FROM generate_series(1, 22000) id;
SELECT wrong_place('SELECT id FROM late ORDER BY doc'), wrong_place('SELECT id FROM late ORDER BY doc DESC, id');
SET gpusort.work_mem = '512kB';
SELECT wrong_place('SELECT id FROM late ORDER BY doc'), wrong_place('SELECT id FROM late ORDER BY doc DESC, id');
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

-- groups, windows, merge joins and aggregates, where equal values may look different
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE VIEW statements AS SELECT * FROM (VALUES
	('SELECT md5(string_agg(n::text, '' '' ORDER BY n)) FROM (SELECT count(*) n FROM parts GROUP BY numbers) s'),
	('SELECT count(*) FROM (SELECT DISTINCT many, listed FROM parts) s'),
	('SELECT sum(id * r) FROM (SELECT id, rank() OVER (PARTITION BY few ORDER BY numbers DESC) r FROM parts) s'),
	('SELECT count(*), sum(a.id * b.id) FROM parts a JOIN parts b USING (numbers)'),
	('SELECT md5(string_agg(n::text, '' '' ORDER BY n)) FROM (SELECT count(*) n FROM parts GROUP BY doc, pair) s'),
	('SELECT sum(id * r) FROM (SELECT id, dense_rank() OVER (PARTITION BY few ORDER BY doc) r FROM parts) s'),
	('SELECT count(*), sum(a.id * b.id) FROM parts a JOIN parts b USING (pair)'),
	('SELECT count(DISTINCT doc), count(DISTINCT pair), count(DISTINCT feeling) FROM parts'),
	('SELECT count(DISTINCT texts), count(DISTINCT numbers), max(upper(ints)) FROM parts')) statements (statement);
SELECT statement, differs(statement) FROM statements;
RESET enable_hashagg;
RESET enable_hashjoin;
RESET enable_nestloop;

-- Long values that begin alike are fetched a few times each, and equal ones are not, though comparators fetch them each time.
CREATE FUNCTION blocks(statement text, enable boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('gpusort.enable', enable::text, true);
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || statement INTO plan;
	PERFORM set_config('gpusort.enable', 'on', true);
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
CREATE TABLE alike AS
SELECT id, few, jsonb_build_object('a', same, 'id', hashint4(id)) doc, same || same || hashint4(id) string,
	CASE WHEN id % 2 = 0 THEN same ELSE md5(id::text) || same END either
FROM (SELECT string_agg(md5(i::text), '') same FROM generate_series(1, 150) i) s, (SELECT id, id % 2 few FROM generate_series(1, 600) id) i;
SET gpusort.verify = off;
SELECT blocks('SELECT id FROM alike ORDER BY doc', false) > 10 * blocks('SELECT id FROM alike ORDER BY doc', true) of_documents,
	blocks('SELECT id FROM alike ORDER BY few, string', false) > 5 * blocks('SELECT id FROM alike ORDER BY few, string', true) of_strings,
	blocks('SELECT n FROM (SELECT doc FROM alike WHERE id = 1) a, generate_series(1, 1000) n ORDER BY doc', true) < 200 of_one_document;
RESET gpusort.verify;
SELECT differs('SELECT string_agg(id::text, '' '' ORDER BY rank) FROM (SELECT id, row_number() OVER (ORDER BY doc DESC) rank FROM alike) s'),
	differs('SELECT string_agg(id::text, '' '' ORDER BY rank) FROM (SELECT id, row_number() OVER (ORDER BY few DESC, string) rank FROM alike) s'),
	differs('SELECT string_agg(id::text, '' '' ORDER BY rank) FROM (SELECT id, row_number() OVER (ORDER BY jsonb_build_array(either), id) rank FROM alike) s');
SET work_mem = '64kB';
SELECT differs('SELECT string_agg(id::text, '' '' ORDER BY rank) FROM (SELECT id, row_number() OVER (ORDER BY few DESC, string) rank FROM alike) s');
SET work_mem = '64MB';

-- indexes
CREATE FUNCTION builds() RETURNS numeric LANGUAGE sql AS
	$$ SELECT sum(value) FROM gpusort_stats WHERE name IN ('indexes_host', 'indexes_device') $$;
-- records of several types, whose keys processes cannot make together
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT count(*) FROM (SELECT id FROM parts ORDER BY CASE WHEN id % 2 = 0 THEN row(id, id) ELSE row(id, id::text) END OFFSET 0) s;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
-- the comparator is missing even if all values are NULL
SELECT count(DISTINCT row(id % 7, null::json)) FROM parts;
-- row types of row types have more columns than memory has room for
CREATE TYPE ten AS (a int, b int, c int, d int, e int, f int, g int, h int, i int, j int);
CREATE TYPE hundred AS (a ten, b ten, c ten, d ten, e ten, f ten, g ten, h ten, i ten, j ten);
CREATE TYPE thousand AS (a hundred, b hundred, c hundred, d hundred, e hundred, f hundred, g hundred, h hundred, i hundred, j hundred);
CREATE TYPE many AS (a thousand, b thousand, c thousand, d thousand, e thousand, f thousand, g thousand, h thousand, i thousand, j thousand);
CREATE TYPE more AS (a many, b many, c many, d many, e many, f many, g many, h many, i many, j many);
CREATE TABLE nests (id int, nest more);
INSERT INTO nests (id, nest.a.a.a.a.a, nest.a.a.a.a.b) SELECT i, i % 5, -i FROM generate_series(1, 20) i;
BEGIN;
DECLARE of_nests CURSOR FOR SELECT id, nest FROM nests ORDER BY nest;
FETCH of_nests;
SELECT sum(total_bytes) < 8 * 1048576 little FROM pg_backend_memory_contexts WHERE name LIKE 'gpusort%';
COMMIT;

SELECT builds() AS before \gset
CREATE INDEX of_numbers ON parts (numbers, id);
CREATE INDEX of_texts ON parts (texts DESC NULLS LAST, many);
CREATE UNIQUE INDEX ON parts (listed, id);
CREATE INDEX of_pair ON parts (pair, id);
CREATE INDEX of_doc ON parts (doc DESC);
SET max_parallel_maintenance_workers = 2;
CREATE INDEX of_docs ON parts (docs, feeling);
CREATE INDEX of_both ON parts ((few % 3), doc, pair DESC);
CREATE INDEX of_times ON parts (times, id);
SELECT builds() - :before;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
RESET client_min_messages;
SELECT indexrelid::regclass, bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'parts'::regclass ORDER BY 1;
DROP EXTENSION amcheck;
