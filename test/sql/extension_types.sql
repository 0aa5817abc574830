-- Types of contrib extensions: ltree, hstore, and the numbers of publications of isn.
SELECT count(*) < 4 AS missing FROM pg_available_extensions WHERE name IN ('amcheck', 'hstore', 'isn', 'ltree') \gset
\if :missing
\quit
\endif
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET gpusort.device = host;
CREATE SCHEMA extension_types;
SET search_path = extension_types;
CREATE EXTENSION hstore;
CREATE EXTENSION isn;
CREATE EXTENSION ltree;
CREATE DOMAIN department AS ltree CHECK (nlevel(VALUE) < 20);
CREATE TYPE shelved AS (place ltree, tags hstore, book isbn);
CREATE TABLE stock AS
SELECT id, h % 7 few, CASE WHEN h % 10 <> 0 THEN path END path, path::department department, ARRAY[path, subpath(path, 1)] paths,
	('Top.' || repeat('Same.', 100))::text || path::text AS alike,
	CASE WHEN h % 9 <> 0 THEN tags END tags, book, book::isbn13 book13, ROW(subpath(path, 0, 1), tags, book)::shelved shelved
FROM (SELECT id, h, ltree('Top.' || chr(65 + abs(h % 3)::int) || CASE WHEN h % 2 = 0 THEN '.b' || abs(h % 100) ELSE '' END || '.' || to_hex(abs(h % 1000))) path,
		hstore(ARRAY['color', 'size', 'a' || abs(h % 3)], ARRAY[(ARRAY['red', 'green', '', NULL])[1 + abs(h % 4)], (h % 50)::text, 'x']) tags,
		('978' || lpad(abs(h % 1000000)::text, 9, '0') || '?')::isbn book
	FROM (SELECT id, hashint8(id)::bigint h FROM generate_series(1, 4000) id) s) s;
ALTER TABLE stock ALTER alike TYPE ltree USING alike::ltree;
ANALYZE stock;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/wrong_place.sql'
\i :include
\set include :test '/include/sort_checks.sql'
\i :include

CREATE VIEW cases AS SELECT * FROM (VALUES
	('path, id'),
	('path DESC NULLS LAST, id'),
	('department, id'),
	('few, paths DESC, id'),
	('alike DESC, id'),
	('tags, id'),
	('tags DESC NULLS LAST, path, id'),
	('book, id'),
	('book13 DESC, tags, id'),
	('shelved, id'),
	('ARRAY[shelved], id DESC'),
	('ROW(tags, path, id)')) cases (sort);
SELECT sort, sorted_by(query), wrong_place(query) FROM cases, format('SELECT id FROM stock ORDER BY %s', sort) query;

-- the same in runs, and with workers
SET gpusort.work_mem = '64kB';
SELECT sort, wrong_place(query) FROM cases, format('SELECT id FROM stock ORDER BY %s', sort) query;
RESET gpusort.work_mem;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE stock SET (parallel_workers = 2);
SELECT sort, wrong_place(query) FROM cases, format('SELECT id FROM stock ORDER BY %s', sort) query;
SET max_parallel_workers_per_gather = 0;

-- groups, windows, aggregates, and joins of two types of one family
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE TABLE sold AS SELECT id, book13::ean13 code FROM stock WHERE few > 0;
ANALYZE sold;
CREATE VIEW statements AS SELECT * FROM (VALUES
	('SELECT md5(string_agg(n::text, '' '' ORDER BY n)) FROM (SELECT count(*) n FROM stock GROUP BY subpath(path, 0, 2)) s'),
	('SELECT count(*) FROM (SELECT DISTINCT tags, few FROM stock) s'),
	('SELECT sum(id * r) FROM (SELECT id, rank() OVER (PARTITION BY few ORDER BY path DESC) r FROM stock) s'),
	('SELECT count(*), sum(a.id * b.id) FROM stock a JOIN stock b USING (tags, path)'),
	('SELECT count(*), sum(a.id * b.id) FROM stock a JOIN sold b ON a.book13 = b.code'),
	('SELECT count(DISTINCT path), count(DISTINCT tags), count(DISTINCT book), count(DISTINCT shelved) FROM stock')) statements (statement);
SELECT statement, differs(statement) FROM statements;

-- indexes
SET search_path = extension_types, public;
CREATE FUNCTION builds() RETURNS numeric LANGUAGE sql AS
	$$ SELECT sum(value) FROM gpusort_stats WHERE name IN ('indexes_host', 'indexes_device') $$;
SELECT builds() AS before \gset
CREATE INDEX of_path ON stock (path, id);
CREATE INDEX of_alike ON stock (alike DESC NULLS LAST);
CREATE INDEX of_tags ON stock (tags, path DESC);
CREATE UNIQUE INDEX of_book ON stock (book, id);
CREATE INDEX of_shelved ON stock (shelved);
SET max_parallel_maintenance_workers = 2;
CREATE INDEX of_paths ON stock (paths, tags);
SELECT builds() - :before;
SET client_min_messages = warning;
CREATE EXTENSION amcheck;
SELECT indexrelid::regclass, bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'stock'::regclass ORDER BY 1;
DROP SCHEMA extension_types CASCADE;
