-- Runs of several processes, which all of them merge part by part.
SET gpusort.min_rows = 0;
SET gpusort.device = host;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.get_shared_row_cost = 0;
SET enable_incremental_sort = off;

-- Each partition is scanned by one process, the smallest by the leader, so that no process has a number of rows by chance.
CREATE TABLE all_lines (id int, k int, few int, same int, gap int, ordered int, txt text, num numeric, wide text) PARTITION BY RANGE (id);
CREATE TABLE lines_1 PARTITION OF all_lines FOR VALUES FROM (1) TO (29001) WITH (parallel_workers = 0);
CREATE TABLE lines_2 PARTITION OF all_lines FOR VALUES FROM (29001) TO (58001) WITH (parallel_workers = 0);
CREATE TABLE lines_3 PARTITION OF all_lines FOR VALUES FROM (58001) TO (60001) WITH (parallel_workers = 0);
INSERT INTO all_lines
SELECT i id, hashint4(i) k, i % 3 few, 1 same, nullif(i % 5, 0) gap, i ordered, md5(i::text) txt, hashint4(i)::numeric / 7 num,
	repeat('x', CASE i % 10000 WHEN 0 THEN 300000 ELSE i % 200 END) wide
FROM generate_series(1, 60000) i;
ALTER TABLE all_lines ADD later int DEFAULT 7;
ANALYZE all_lines;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/digest.sql'
\i :include
\set include :test '/include/arrive.sql'
\i :include

CREATE VIEW lines AS SELECT * FROM all_lines WHERE CASE WHEN id % 1000 = 0 THEN arrive(id) ELSE true END;

-- The plan of a query that has run.
CREATE FUNCTION analyzed(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;

-- How a query's runs were merged.
CREATE FUNCTION merge(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	method text;
BEGIN
	method := string_agg(m #>> '{}', ' ') FROM jsonb_path_query(analyzed(query), '$.**."Sort Method"') m;
	RETURN CASE WHEN method ~ 'merge of \d+ runs in \d+ streamed parts' THEN 'in streamed parts' WHEN method ~ 'merge of \d+ runs in \d+ parts' THEN 'in parts' ELSE 'by one' END;
END $$;

-- Native results. A query has only one, as no row changes before the same query is examined again.
CREATE TABLE natives (query text PRIMARY KEY, result text);

-- Is the query's result the native one, and how were runs merged? If there are to be workers, each has rows.
CREATE FUNCTION examine(query text, workers int DEFAULT 0) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	native text;
	merge text;
BEGIN
	SELECT result INTO native FROM natives n WHERE n.query = examine.query;
	IF native IS NULL THEN
		DISCARD PLANS;
		PERFORM set_config('gpusort.enable', 'off', true);
		native := digest(query);
		PERFORM set_config('gpusort.enable', 'on', true);
		INSERT INTO natives VALUES (query, native);
	END IF;
	DISCARD PLANS;
	PERFORM expect_workers(workers);
	merge := merge(query);
	PERFORM expect_workers(0);
	RETURN CASE WHEN digest(query) IS DISTINCT FROM native THEN 'other rows' ELSE 'same' END || ', ' || merge;
END $$;

CREATE TABLE queries (query text);
INSERT INTO queries VALUES
	('SELECT * FROM lines ORDER BY k, id'),
	('SELECT id, k, txt FROM lines ORDER BY k DESC, id'),
	('SELECT id, txt, num FROM lines ORDER BY txt COLLATE "C"'),
	('SELECT id, txt, num FROM lines ORDER BY num DESC, txt COLLATE "C" DESC'),
	('SELECT id, few, txt FROM lines ORDER BY few, id'),
	('SELECT id, gap, txt, later FROM lines ORDER BY gap NULLS FIRST, id DESC'),
	('SELECT id, gap, txt FROM lines ORDER BY gap DESC NULLS LAST, later, id'),
	('SELECT ordered, txt, wide FROM lines ORDER BY ordered DESC'),
	('SELECT id, wide FROM lines ORDER BY wide COLLATE "C", id');
SET work_mem = '64kB';
SELECT query, examine(query) FROM queries LIMIT 1;
SET work_mem = '1MB';
SELECT query, replace(examine(query, 2), 'streamed ', '') examine FROM queries;
-- rows are expected to have room, but not all rows of the workers have, whatever the leader takes
SET work_mem = '3MB';
SELECT query, replace(examine(query, 2), 'streamed ', '') examine FROM queries WHERE query ~ '\*|wide';
SET work_mem = '4MB';
SELECT query, examine(query, 2) FROM queries WHERE query !~ '\*|wide';

-- how many runs there are of rows in order depends on when workers begin
SELECT memory, set_config('work_mem', memory, false) IS NOT NULL AND examine('SELECT ordered, txt, wide FROM lines ORDER BY ordered') ~ '^same' same
FROM unnest(ARRAY['1MB', '4MB']) memory;

-- equal rows, which are cut by their places
SET work_mem = '512kB';
SELECT examine('SELECT same, later, repeat(''y'', 90) FROM lines ORDER BY same, later', 2);

-- slices for which no memory is left
SELECT examine('SELECT few, count(*), sum(n), max(txt) FROM (SELECT few, txt, row_number() OVER (PARTITION BY few ORDER BY k, id) n FROM lines) s GROUP BY few', 2);

-- the first rows that are wanted need no merge of all rows
SELECT examine('SELECT id, k, txt FROM lines ORDER BY k, id LIMIT 30000');

-- a process whose rows are narrow keeps only these, and others write runs
CREATE TABLE mixed (id int, k int, txt text) PARTITION BY RANGE (id);
CREATE TABLE wide PARTITION OF mixed FOR VALUES FROM (1) TO (10000);
CREATE TABLE narrow PARTITION OF mixed FOR VALUES FROM (10000) TO (200001);
ALTER TABLE wide ALTER txt SET STORAGE PLAIN;
INSERT INTO mixed SELECT i, hashint4(i), CASE WHEN i < 10000 THEN repeat(md5(i::text), 90) ELSE '' END FROM generate_series(1, 200000) i;
ANALYZE mixed, wide, narrow;
SET work_mem = '1MB';
SELECT nrows, examine('SELECT * FROM mixed ORDER BY k, id LIMIT ' || nrows) FROM generate_series(3600, 3900, 50) nrows;
DROP TABLE mixed;
SET work_mem = '256kB';

-- the parts take twice the space
SET temp_file_limit = '1GB';
SELECT examine('SELECT * FROM lines ORDER BY k, id');
RESET temp_file_limit;

-- Parts that are merged while the leader emits rows; above, that depends on the number of runs.
SET work_mem = '6MB';
CREATE TABLE all_many (id int, k int, few int, same int, gap int, txt text, num numeric, wide text) PARTITION BY RANGE (id);
CREATE TABLE many_1 PARTITION OF all_many FOR VALUES FROM (0) TO (80001) WITH (parallel_workers = 0);
CREATE TABLE many_2 PARTITION OF all_many FOR VALUES FROM (80001) TO (160001) WITH (parallel_workers = 0);
CREATE TABLE many_3 PARTITION OF all_many FOR VALUES FROM (160001) TO (240001) WITH (parallel_workers = 0);
INSERT INTO all_many
SELECT i id, hashint4(i) k, i % 3 few, 1 same, nullif(i % 5, 0) gap, md5(i::text) txt, hashint4(i)::numeric / 7 num, repeat('y', i % 100) wide
FROM generate_series(1, 240000) i;
ANALYZE all_many;
CREATE VIEW many AS SELECT * FROM all_many WHERE CASE WHEN id % 1000 = 0 THEN arrive(id) ELSE true END;
TRUNCATE queries;
INSERT INTO queries VALUES
	('SELECT * FROM many ORDER BY k, id'),
	('SELECT * FROM many ORDER BY txt COLLATE "C" DESC'),
	('SELECT * FROM many ORDER BY num, wide COLLATE "C" DESC'),
	('SELECT * FROM many ORDER BY few DESC, gap NULLS FIRST, id'),
	('SELECT same, few, gap, txt, num, wide FROM many ORDER BY same, few, txt COLLATE "C"');
SELECT query, examine(query, 2) FROM queries;
SET work_mem = '8MB';
SELECT replace(examine(query, 2), 'streamed ', '') examine FROM queries LIMIT 1;

-- With more rows than expected the memory of all processes has room for some of them. Their memory does not count for the next runs, which
-- would have some hundred rows each otherwise: 40 to 144 runs instead of 22 to 26.
SET work_mem = '2MB';
CREATE TABLE alike WITH (parallel_workers = 2) AS SELECT i id, hashint4(i) k, i % 10 a, i % 10 b, i % 10 c FROM generate_series(1, 500000) i;
ANALYZE alike;
SELECT max(substring(m #>> '{}' FROM 'merge of (\d+) runs')::int) < 35 few_runs
FROM jsonb_path_query(analyzed('SELECT id, k FROM alike WHERE a < 4 AND b < 4 AND c < 4 ORDER BY k'), '$.**."Sort Method"') m;
SELECT examine('SELECT id, k FROM alike WHERE a < 4 AND b < 4 AND c < 4 ORDER BY k, id') ~ '^same' same;
DROP TABLE alike;
SET work_mem = '6MB';

-- files are not written once more, so that they may be limited
SET temp_file_limit = '1GB';
SELECT examine('SELECT * FROM many ORDER BY k, id', 2);
RESET temp_file_limit;

-- equal rows, in any order
SELECT expect_workers(2);
SELECT merge('SELECT * FROM many ORDER BY same');
SELECT expect_workers(0);
SELECT count(s), count(DISTINCT id), sum(k), sum(num), count(DISTINCT txt) FROM (SELECT * FROM many ORDER BY same OFFSET 0) s;

-- not all rows are read, and rows are read again
SET enable_material = off;
SET enable_hashjoin = off;
SELECT x, (SELECT s FROM (SELECT id, k, few, same, gap, txt, num FROM many ORDER BY k, id OFFSET 0) s WHERE s.k > x LIMIT 1) FROM (VALUES (-2000000000), (0), (1000000)) v(x);
SELECT count(*), count(s), sum(s.id) FROM (VALUES (1), (2)) v(x) LEFT JOIN (SELECT * FROM many ORDER BY k, id OFFSET 0) s ON true;
-- 19 would rather have a nested loop than materialize rows
SET enable_nestloop = off;
SELECT count(s) FROM (SELECT * FROM many ORDER BY k, id OFFSET 0) s JOIN (SELECT i FROM generate_series(-2147483648, -2147000000) i ORDER BY i OFFSET 0) i ON s.k = i.i;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_nestloop;

-- a row that is too large for a stream, and for enough samples in any memory
INSERT INTO all_many SELECT 0, 0, 0, 1, 0, 'large', 0, repeat('z', 70000);
ALTER TABLE all_many ALTER wide SET STORAGE EXTERNAL;
SELECT examine('SELECT id, k, few, same, gap, txt, num, concat(wide) FROM many ORDER BY k, id', 2);

SELECT count(*) AS temporary_files FROM pg_ls_tmpdir();
DROP VIEW lines, many;
DROP TABLE all_lines, all_many, queries, natives;
DROP FUNCTION digest, arrive, expect_workers, analyzed, merge, examine;
