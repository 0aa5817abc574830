-- Sorted groups that the leader and its workers consume: GpuSortGroups below
-- windows, GROUP BY and DISTINCT.
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = off;
SET gpusort.enable_aggregates = off;
SET work_mem = '64MB';
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
-- so that work of a single process is expensive
SET cpu_tuple_cost = 1;
SET gpusort.get_shared_row_cost = 0;
SET enable_hashagg = off;
SET enable_gathermerge = off;
SET max_parallel_workers_per_gather = 8;

CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
-- g: many groups, h: few, s: one of two rows is in one group
CREATE TABLE t WITH (parallel_workers = 2) AS
SELECT i id, nullif(abs(hashint4(i)) % 300, 7) g, i % 7 h,
	CASE WHEN i % 2 = 0 THEN 0 ELSE i % 500 END s,
	nullif(abs(hashint4(-i)) % 100, 3) x, hashint4(i)::float8 f,
	(abs(hashint4(i)) % 200)::numeric / 10 num, 'text ' || i % 200 txt,
	repeat('prefix ', 10) || i % 50 long,
	(CASE WHEN i % 3 = 0 THEN 'Name ' ELSE 'NAME ' END || i % 40) COLLATE any_case name,
	(ARRAY['red', 'green', 'blue'])[1 + i % 3]::color color
FROM generate_series(1, 12000) i;
CREATE TABLE small (k int);
INSERT INTO small VALUES (1), (2), (3);
ANALYZE t, small;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/plan_of.sql'
\i :include

\set include :test '/include/examine.sql'
\i :include

SELECT plan_of('SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY f) r FROM t) q');
SELECT plan_of('SELECT DISTINCT ON (g) g, id, txt FROM t ORDER BY g, id DESC');
SELECT plan_of('SELECT s, array_agg(id) FROM t GROUP BY s HAVING count(*) > 5');
SELECT plan_of('SELECT g, h FROM t GROUP BY g, h');
SELECT plan_of('SELECT id, lead(id) OVER (PARTITION BY s ORDER BY id), rank() OVER (PARTITION BY txt ORDER BY x NULLS FIRST) FROM t');
-- what EXPLAIN shows; how much each member had is a matter of chance
SELECT regexp_replace(line, '(Processes Emitting|Most Rows of a Process|Memory): \d+', '\1: ...')
FROM plan_of('SELECT s, array_agg(id) FROM t GROUP BY s', true) line;

-- windows
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) FROM t',
	'SELECT id, rank() OVER (PARTITION BY g ORDER BY x), count(*) OVER (PARTITION BY g ORDER BY x) FROM t',
	'SELECT id, sum(x) OVER (PARTITION BY g), lag(id) OVER (PARTITION BY g ORDER BY id) FROM t',
	'SELECT id, sum(x) OVER (PARTITION BY g, h), lag(id) OVER (PARTITION BY g ORDER BY h, id) FROM t',
	'SELECT id, lead(id) OVER (PARTITION BY s ORDER BY id), rank() OVER (PARTITION BY txt ORDER BY x NULLS FIRST) FROM t',
	'SELECT id, rank() OVER (PARTITION BY txt COLLATE "C" ORDER BY x DESC) FROM t WHERE h < 3',
	'SELECT id, sum(x) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING) FROM t',
	'SELECT id, sum(x) FILTER (WHERE h = 1) OVER (PARTITION BY g ORDER BY x RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) FROM t',
	'SELECT h, row_number() OVER (PARTITION BY h ORDER BY id) FROM t',
	'SELECT id, g * 2 + row_number() OVER (PARTITION BY g + 1 ORDER BY id) FROM t',
	'SELECT id, rank() OVER (PARTITION BY num ORDER BY id DESC) FROM t',
	'SELECT id, row_number() OVER (PARTITION BY long ORDER BY long DESC, id) FROM t',
	'SELECT id, row_number() OVER (PARTITION BY name ORDER BY id) FROM t',
	'SELECT id, row_number() OVER (PARTITION BY color, g ORDER BY id) FROM t',
	'SELECT id, row_number() OVER (PARTITION BY id ORDER BY x) FROM t',
	'SELECT id, row_number() OVER (PARTITION BY 1 + h % 1 ORDER BY id) FROM t',
	'SELECT g, h, sum(x), rank() OVER (PARTITION BY g ORDER BY sum(x), h) FROM t GROUP BY g, h',
	'SELECT generate_series(1, 2) AS a, id, row_number() OVER (PARTITION BY g ORDER BY id) FROM t',
	'SELECT id, (SELECT max(k) FROM small) + row_number() OVER (PARTITION BY g ORDER BY id) FROM t']) query;

-- above them: filters, aggregates, other windows, joins, sets, order
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q',
	'SELECT r, count(*) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q GROUP BY r',
	'SELECT DISTINCT rank() OVER (PARTITION BY g ORDER BY x) FROM t',
	'SELECT a, sum(r * id) FROM (SELECT generate_series(1, 2) AS a, id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q GROUP BY a',
	'SELECT DISTINCT generate_series(1, 2), rank() OVER (PARTITION BY g ORDER BY x) FROM t',
	'SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q WHERE r <= 2',
	'SELECT * FROM (SELECT id, rank() OVER (PARTITION BY s ORDER BY x) r FROM t) q WHERE r <= 3',
	'SELECT * FROM (SELECT id, dense_rank() OVER (PARTITION BY h ORDER BY x DESC) r FROM t) q WHERE r <= 3',
	'SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY long ORDER BY name, id) r FROM t) q WHERE 3 > r',
	'SELECT * FROM (SELECT id, row_number() OVER w r, lead(id) OVER w n FROM t WINDOW w AS (PARTITION BY h ORDER BY id)) q WHERE r <= 3',
	'SELECT * FROM (SELECT id, rank() OVER w r, count(*) OVER w n FROM t WINDOW w AS (PARTITION BY h ORDER BY x)) q WHERE r <= 3',
	'SELECT * FROM (SELECT id, row_number() OVER w r, count(*) OVER (PARTITION BY h) n FROM t WINDOW w AS (PARTITION BY h ORDER BY id)) q WHERE r <= 3',
	'SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q WHERE r <= 0',
	'SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t ORDER BY r, id LIMIT 1000',
	'SELECT id, r - 1 AS q FROM (SELECT id, x, 1 + rank() OVER (PARTITION BY g ORDER BY x) r FROM t ORDER BY f, id LIMIT 2000) p',
	'SELECT q.id, r, u.h FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q JOIN t u ON u.id = q.id WHERE r = 2',
	'SELECT id, row_number() OVER (PARTITION BY g ORDER BY id), 1 FROM t UNION ALL SELECT id, rank() OVER (PARTITION BY h ORDER BY id), 2 FROM t',
	'SELECT k, (SELECT sum(r * id) FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q) FROM small',
	'SELECT t.id, rank() OVER (PARTITION BY t.g ORDER BY u.f) FROM t JOIN t u ON u.id = t.id + 1']) query;

-- done again for each row of another table
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT k, (SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY f) r FROM t OFFSET 0) q WHERE r <= k) FROM small',
	'SELECT k, s FROM small, LATERAL (SELECT sum(r * id) s FROM (SELECT id, rank() OVER (PARTITION BY h ORDER BY id) r FROM t OFFSET 0) q WHERE r > k) p',
	'SELECT k, s FROM small, LATERAL (SELECT sum(r) s FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t LIMIT 5000) q WHERE r > k - 5) p WHERE s < 0']) query;

-- DISTINCT
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT DISTINCT ON (g) g, id, txt FROM t ORDER BY g, id DESC',
	'SELECT DISTINCT ON (g, h) g, h, id FROM t ORDER BY h, g, id',
	'SELECT DISTINCT ON (s) s, id FROM t ORDER BY s, id',
	'SELECT DISTINCT txt, x FROM t',
	'SELECT DISTINCT ON (lower(txt)) lower(txt), x, id FROM t ORDER BY lower(txt), x NULLS FIRST, id',
	'SELECT DISTINCT ON (num) num, id FROM t ORDER BY num DESC NULLS LAST, id',
	'SELECT DISTINCT ON (long) long, id FROM t ORDER BY long, id',
	'SELECT DISTINCT ON (name) id FROM t ORDER BY name, id',
	'SELECT count(*), sum(id) FROM (SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id DESC) q']) query;

-- GROUP BY
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT g, count(*), min(txt), max(f) FROM t GROUP BY g',
	'SELECT s, array_agg(id ORDER BY f DESC, id), string_agg(DISTINCT txt, '','' ORDER BY txt) FROM t GROUP BY s',
	'SELECT g, mode() WITHIN GROUP (ORDER BY x), percentile_disc(0.3) WITHIN GROUP (ORDER BY f) FROM t GROUP BY g HAVING count(*) > 20',
	'SELECT g, h FROM t GROUP BY g, h',
	'SELECT g, array_agg(id ORDER BY f * 2, id) FROM t GROUP BY g',
	'SELECT g + 1 AS a, sum(x) > 0 AS b, string_agg(DISTINCT txt || x, '','') FROM t GROUP BY g + 1 HAVING count(*) > 5',
	'SELECT h = 1 AND g > 5 AS a, count(DISTINCT x), max(f) FROM t GROUP BY 1',
	'SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY f), max(f) FROM t GROUP BY g',
	'SELECT num, count(DISTINCT x), max(f) FROM t GROUP BY num',
	'SELECT g, array_agg(DISTINCT g % 5) FROM t GROUP BY g',
	'SELECT lower(name) COLLATE "C", count(DISTINCT x), max(f) FROM t GROUP BY name, lower(name) COLLATE "C"',
	'SELECT long, array_agg(id ORDER BY id) FROM t GROUP BY long',
	'SELECT color, array_agg(id ORDER BY id) FROM t GROUP BY color']) query;

-- no rows, and few
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) FROM t WHERE f + id < f',
	'SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) FROM t WHERE id + 0 IN (3, 5, 7)']) query;

-- left to one process: a single group, what is not parallel safe, or a limit
-- from another plan, which core does not pass to workers before 17
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT id, row_number() OVER (ORDER BY id) FROM t',
	'SELECT id, row_number() OVER (PARTITION BY g ORDER BY id), sum(x) OVER () FROM t',
	'SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q WHERE r <= (SELECT max(k) FROM small)',
	'SELECT id, (SELECT max(k) FROM small WHERE k < t.h) + row_number() OVER (PARTITION BY g ORDER BY id) FROM t']) query;

-- rows that do not fit the memory: each process merges and emits parts of all runs
SET work_mem = '512kB';
SELECT regexp_replace(line, '(Processes Emitting|Most Rows of a Process|Rows Written By Workers|Disk|Parts Emitted): \d+', '\1: ...')
FROM plan_of('SELECT id, txt, long, row_number() OVER (PARTITION BY s ORDER BY id) FROM t', true) line WHERE line !~ 'Method|Written';
SELECT query, examine(query) FROM unnest(ARRAY[
	'SELECT id, txt, long, row_number() OVER (PARTITION BY g ORDER BY id) FROM t',
	'SELECT id, txt, long, rank() OVER (PARTITION BY s ORDER BY x), count(*) OVER (PARTITION BY s ORDER BY x) FROM t',
	'SELECT id, txt, long, row_number() OVER (PARTITION BY name ORDER BY id) FROM t',
	'SELECT id, txt, long, row_number() OVER (PARTITION BY color, g ORDER BY id DESC) FROM t',
	'SELECT id, txt, long, row_number() OVER (PARTITION BY 1 + h % 1 ORDER BY id) FROM t',
	'SELECT s, string_agg(long || txt, '','' ORDER BY id) FROM t GROUP BY s',
	'SELECT num, array_agg(long || id ORDER BY id) FROM t GROUP BY num',
	'SELECT DISTINCT ON (g, h) g, h, id, txt, long FROM t ORDER BY g, h, id DESC']) query;
SET work_mem = '64MB';

-- a plan that is older than a setting
SET plan_cache_mode = force_generic_plan;
PREPARE counted (int) AS SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM t) q WHERE r <= $1;
EXECUTE counted (2);
SET gpusort.enable = off;
EXECUTE counted (2);
EXECUTE counted (NULL);
RESET gpusort.enable;
SET gpusort.work_mem = '64kB';
EXECUTE counted (2);
RESET gpusort.work_mem;

-- a cursor, which has no workers and is read in steps
BEGIN;
DECLARE c CURSOR FOR SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id;
FETCH 3 FROM c;
FETCH 2 FROM c;
COMMIT;

-- strings that are equal, and have others between them in an order by bytes
CREATE TABLE by_bytes WITH (parallel_workers = 2) AS
SELECT i id, CASE WHEN i % 400 = 0 THEN 'm' ELSE (ARRAY['Xy', 'XY', 'xy'])[1 + i % 3] END COLLATE any_case name FROM generate_series(1, 6000) i;
ANALYZE by_bytes;
SELECT count(*), sum(id), sum(r) FROM (SELECT name, id, row_number() OVER (PARTITION BY name ORDER BY name USING ~<~, id) r FROM by_bytes) s;
SELECT count(*), sum(id), sum(r) FROM (SELECT * FROM (SELECT name, id, row_number() OVER (PARTITION BY name ORDER BY name USING ~<~, id) r FROM by_bytes) s WHERE r <= 2) s;
SELECT count(*), sum(m::numeric), sum(n) FROM (SELECT name, percentile_disc(0.5) WITHIN GROUP (ORDER BY id) m, count(*) n FROM by_bytes GROUP BY name ORDER BY name USING ~<~) s;
SELECT count(*), sum(id) FROM (SELECT DISTINCT ON (name) name, id FROM by_bytes ORDER BY name USING ~<~, id) s;
SET gpusort.enable = off;
SELECT count(*), sum(id), sum(r) FROM (SELECT name, id, row_number() OVER (PARTITION BY name ORDER BY name USING ~<~, id) r FROM by_bytes) s;
SELECT count(*), sum(id), sum(r) FROM (SELECT * FROM (SELECT name, id, row_number() OVER (PARTITION BY name ORDER BY name USING ~<~, id) r FROM by_bytes) s WHERE r <= 2) s;
SELECT count(*), sum(m::numeric), sum(n) FROM (SELECT name, percentile_disc(0.5) WITHIN GROUP (ORDER BY id) m, count(*) n FROM by_bytes GROUP BY name ORDER BY name USING ~<~) s;
SELECT count(*), sum(id) FROM (SELECT DISTINCT ON (name) name, id FROM by_bytes ORDER BY name USING ~<~, id) s;
RESET gpusort.enable;
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(id), sum(r) FROM (SELECT name, id, row_number() OVER (PARTITION BY name ORDER BY name USING ~<~, id) r FROM by_bytes) s;
SELECT count(*), sum(id), sum(r) FROM (SELECT * FROM (SELECT name, id, row_number() OVER (PARTITION BY name ORDER BY name USING ~<~, id) r FROM by_bytes) s WHERE r <= 2) s;
SELECT count(*), sum(m::numeric), sum(n) FROM (SELECT name, percentile_disc(0.5) WITHIN GROUP (ORDER BY id) m, count(*) n FROM by_bytes GROUP BY name ORDER BY name USING ~<~) s;
SELECT count(*), sum(id) FROM (SELECT DISTINCT ON (name) name, id FROM by_bytes ORDER BY name USING ~<~, id) s;
SET max_parallel_workers_per_gather = 8;
DROP TABLE by_bytes;

DROP TABLE t, small;
DROP FUNCTION plan_of, in_parts, examine;
DROP TYPE color;
DROP COLLATION any_case;
