-- Rows that come in order already, to the end or not.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
CREATE TABLE words AS SELECT i id, md5(i::text) word FROM generate_series(1, 5000) i;
CREATE TABLE sorted AS SELECT row_number() OVER (ORDER BY word COLLATE "en-x-icu", id) place, id, word FROM words;

-- How an order is made, and the first row that is not in its place, if any.
CREATE FUNCTION method(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Sort Method' THEN
			RETURN (regexp_match(line, 'Sort Method: (.*?)(?:  |$)'))[1];
		END IF;
	END LOOP;
END $$;
\getenv test PG_ABS_SRCDIR
\set include :test '/include/wrong_place.sql'
\i :include

-- A digest of the rows in their order.
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(t, '','')) FROM (%s OFFSET 0) s', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION stock_digest(query text) RETURNS text LANGUAGE plpgsql SET gpusort.enable = off AS $$
BEGIN
	RETURN digest(query);
END $$;
CREATE FUNCTION shows(query text, node text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%' || node || '%' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;

SELECT rows, sort, method(format('SELECT * FROM (%s) r ORDER BY %s', rows, sort)), wrong_place(format('SELECT place FROM (%s) r ORDER BY %s', rows, sort))
FROM (VALUES
	('SELECT * FROM sorted ORDER BY place OFFSET 0', 'word COLLATE "en-x-icu", id'),
	('SELECT * FROM sorted ORDER BY place DESC OFFSET 0', 'word COLLATE "en-x-icu" DESC, id DESC'),
	('SELECT * FROM sorted ORDER BY place DESC OFFSET 0', 'word COLLATE "en-x-icu", id'),
	('SELECT * FROM sorted WHERE place = 1', 'word COLLATE "en-x-icu"'),
	('SELECT least(place, 1) place, id, left(word, 0) word FROM sorted', 'word COLLATE "en-x-icu", place'),
	('SELECT place, id, nullif(word, word) word FROM sorted ORDER BY place OFFSET 0', 'word COLLATE "en-x-icu", place'),
	('SELECT * FROM (TABLE sorted UNION ALL SELECT 6000, 6000, NULL ORDER BY 1 OFFSET 0) o', 'word COLLATE "en-x-icu", id'),
	('SELECT * FROM (TABLE sorted UNION ALL SELECT 6000, 6000, NULL ORDER BY 1 OFFSET 0) o', 'word COLLATE "en-x-icu" NULLS FIRST, id'),
	('SELECT * FROM (TABLE sorted UNION ALL SELECT 6000, 6000, '''' ORDER BY 1 OFFSET 0) o', 'word COLLATE "en-x-icu", id'),
	('SELECT * FROM sorted ORDER BY place OFFSET 0', 'word COLLATE "C", id'),
	('SELECT * FROM sorted ORDER BY place OFFSET 0', 'place'),
	('SELECT * FROM sorted ORDER BY place OFFSET 0', 'place DESC'),
	('SELECT * FROM sorted ORDER BY place DESC OFFSET 0', 'place'),
	('SELECT * FROM sorted ORDER BY place DESC OFFSET 0', 'place DESC'),
	-- NULLs and where they go
	('SELECT nullif(place, 5000) place, id FROM sorted ORDER BY place OFFSET 0', 'place'),
	('SELECT nullif(place, 5000) place, id FROM sorted ORDER BY place OFFSET 0', 'place NULLS FIRST'),
	('SELECT nullif(place, 5000) place, id FROM sorted ORDER BY place DESC OFFSET 0', 'place DESC'),
	('SELECT nullif(place, 5000) place, id FROM sorted ORDER BY place DESC OFFSET 0', 'place DESC NULLS LAST'),
	('SELECT nullif(place, 1) place, id FROM sorted ORDER BY place OFFSET 0', 'place NULLS FIRST'),
	('SELECT nullif(place, 1) place FROM sorted ORDER BY sorted.place OFFSET 0', 'place NULLS FIRST'),
	('SELECT nullif(place, 1) place FROM sorted ORDER BY sorted.place OFFSET 0', 'place'),
	-- several columns, in order by the first but not by all
	('SELECT place, place / 10 a, place % 10 b FROM sorted ORDER BY place OFFSET 0', 'a, b'),
	('SELECT place, place / 10 a, place % 10 b FROM sorted ORDER BY place OFFSET 0', 'a, b DESC'),
	('SELECT place, place / 5000 a, place b FROM sorted ORDER BY place OFFSET 0', 'a DESC, b'),
	('SELECT place, (place / 10)::numeric a, lpad(place::text, 9) COLLATE "C" b FROM sorted ORDER BY place OFFSET 0', 'a, b'),
	('SELECT place, (place / 5000)::numeric a, lpad((5000 - place)::text, 9) COLLATE "C" b FROM sorted ORDER BY place DESC OFFSET 0', 'a DESC, b'),
	-- in order but for the last row
	('SELECT CASE WHEN place = 5000 THEN 0 ELSE place END place, id FROM sorted ORDER BY sorted.place OFFSET 0', 'place'),
	('SELECT place, CASE WHEN place = 5000 THEN ''a'' ELSE lpad(place::text, 200, ''b'') END COLLATE "C" t FROM sorted ORDER BY place OFFSET 0', 't, place'),
	-- values of other kinds
	('SELECT place, place / 7.0 v FROM sorted ORDER BY place OFFSET 0', 'v'),
	('SELECT place, place::float8 v FROM sorted ORDER BY place OFFSET 0', 'v'),
	('SELECT place, lpad(place::text, 32, ''0'')::uuid v FROM sorted ORDER BY place OFFSET 0', 'v'),
	('SELECT place, ARRAY[place, 1] v FROM sorted ORDER BY place OFFSET 0', 'v'),
	('SELECT place, place > 2500 v, id FROM sorted ORDER BY place OFFSET 0', 'v, place')) cases (rows, sort);

-- nothing is left to sort, but there is a memory limit
SET gpusort.work_mem = '64kB';
SELECT method('SELECT * FROM unnest((SELECT array_agg(word ORDER BY place) FROM sorted)) word ORDER BY word COLLATE "en-x-icu"') ~ '^none, each run in order, merge of \d+ runs( by gpusortd)? that more memory would spare$' AS in_runs;

-- in order until memory is full, with no room for the keys of the rows so far
SELECT last, digest(query) = stock_digest(query) AS same
FROM (SELECT last, format('SELECT t FROM (SELECT lpad((CASE WHEN place = %s THEN 0 ELSE place END)::text, 100, ''b'') COLLATE "C" t FROM sorted WHERE place <= %1$s ORDER BY place OFFSET 0) r ORDER BY t', last) query
	FROM unnest(ARRAY[300, 350, 400, 450, 500, 1000, 5000]) last) queries;

-- runs of rows that exceed the memory are each in order
SELECT method(query) ~ '^radix sort, merge of' AS in_runs, digest(query) = stock_digest(query) AS same
FROM (VALUES ('SELECT CASE WHEN id % 1000 = 0 THEN repeat(word, 5000) ELSE word END COLLATE "C" t FROM words ORDER BY t')) queries (query);
RESET gpusort.work_mem;

-- rows of one column, some of which are NULL or younger than the row
CREATE TABLE young ();
INSERT INTO young SELECT FROM generate_series(1, 3);
ALTER TABLE young ADD v integer DEFAULT 5;
INSERT INTO young VALUES (6), (7), (NULL);
SELECT v FROM young ORDER BY v;
INSERT INTO young VALUES (1), (NULL), (6);
SELECT v FROM young ORDER BY v DESC;
DROP TABLE young;

-- indexes
CREATE UNIQUE INDEX of_place ON sorted (place);
CREATE UNIQUE INDEX of_two ON sorted (place, word COLLATE "C");
CREATE TABLE twice AS TABLE sorted ORDER BY place;
INSERT INTO twice SELECT * FROM sorted WHERE place = 5000;
CREATE UNIQUE INDEX ON twice (place);
CREATE INDEX of_twice ON twice (place);
SET maintenance_work_mem = '1MB';
SET gpusort.work_mem = '64kB';
CREATE UNIQUE INDEX ON twice (place);
CREATE UNIQUE INDEX ON twice (lpad(place::text, 100));
INSERT INTO twice VALUES (0, 0, '');
CREATE INDEX of_last ON twice (lpad(place::text, 100) COLLATE "C");
RESET maintenance_work_mem;
RESET gpusort.work_mem;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
RESET client_min_messages;
SELECT indexrelid::regclass, bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid IN ('sorted'::regclass, 'twice'::regclass) ORDER BY indexrelid;
DROP TABLE twice;

-- if a table is known to be in order, workers would save nothing
ANALYZE sorted;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT sort, shows(format('SELECT place, id FROM sorted ORDER BY %s', sort), 'Parallel Custom Scan') AS together
FROM unnest(ARRAY['place', 'place + 1', 'place DESC', 'id', 'place, id', 'word COLLATE "en-x-icu"', 'word COLLATE "C"', 'place NULLS FIRST']) sort;
SET max_parallel_workers_per_gather = 0;

-- back and forth
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT place FROM (SELECT * FROM sorted ORDER BY place OFFSET 0) r ORDER BY word COLLATE "en-x-icu", id;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 2500 FROM c;
COMMIT;

-- Memory of rows in order is free for the keys of later rows: runs of rows that came in order do not make later runs shorter.
SET gpusort.device = host;
SET work_mem = '1MB';
CREATE TABLE late AS SELECT i place, CASE WHEN i <= 8000 THEN repeat('a', 300) || lpad(i::text, 32, '0') ELSE repeat('m', 300) || md5(i::text) END word
FROM generate_series(1, 20000) i;
SELECT runs[1], runs[2]::integer < 30 AS few, wrong_place('SELECT place FROM late ORDER BY word COLLATE "C"')
FROM regexp_match(method('SELECT * FROM late ORDER BY word COLLATE "C"'), '^(.*), merge of (\d+) runs') runs;
-- if rows in order follow rows that are not, EXPLAIN tells how the latter were sorted
SELECT runs[1], runs[2]::integer < 30 AS few, wrong_place('SELECT place FROM late ORDER BY word COLLATE "C"')
FROM regexp_match(method('SELECT * FROM (SELECT * FROM late ORDER BY place <= 8000, place OFFSET 0) s ORDER BY place <= 8000, word COLLATE "C"'), '^(.*), merge of (\d+) runs') runs;

DROP TABLE words, sorted, late;
DROP FUNCTION method, wrong_place, digest, stock_digest, shows;
