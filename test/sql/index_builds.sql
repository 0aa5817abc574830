-- Index builds: each B-tree is the one that PostgreSQL builds.
SET gpusort.min_rows = 0;
SET maintenance_work_mem = '64MB';
SET client_min_messages = warning;
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;
RESET client_min_messages;

-- All pages of an index, without the place in the log of their last change.
CREATE FUNCTION pages(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(substring(get_raw_page(index::text, block::int) FROM 11), ''))
	FROM generate_series(0, pg_relation_size(index) / current_setting('block_size')::int - 1) block
$$;

-- How many index builds were done since the last call, and by what, without those that nobody asked for.
CREATE TABLE counted AS SELECT name, value FROM gpusort_stats WHERE name LIKE 'index%' AND name NOT LIKE 'index\_%\_m%';
CREATE FUNCTION builds() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	SELECT string_agg(concat_ws(' ', name, s.value - c.value), ', ' ORDER BY name COLLATE "C") INTO result
	FROM gpusort_stats s JOIN counted c USING (name) WHERE s.value > c.value AND name NOT IN ('index_rows', 'index_bytes', 'index_worker_pages');
	UPDATE counted c SET value = s.value FROM gpusort_stats s WHERE s.name = c.name;
	RETURN coalesce(result, 'none');
END $$;

-- What built an index, on each device, and what is wrong with the index.
CREATE FUNCTION check_index(definition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	native text;
	device text;
BEGIN
	PERFORM set_config('gpusort.enable', 'off', true);
	EXECUTE definition;
	native := pages('built');
	DROP INDEX built;
	PERFORM set_config('gpusort.enable', 'on', true);
	FOREACH device IN ARRAY ARRAY['host', 'cuda'] LOOP
		PERFORM set_config('gpusort.device', device, true);
		PERFORM builds();
		EXECUTE definition;
		RETURN NEXT builds() || CASE WHEN pages('built') <> native THEN ', other pages' ELSE '' END;
		PERFORM bt_index_parent_check('built', true, true);
		DROP INDEX built;
	END LOOP;
END $$;

CREATE DOMAIN amount AS numeric(12, 3);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE rows (
	id int, b bool, i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, d date, ts timestamp, tz timestamptz,
	u uuid, t text COLLATE "C", v varchar(50) COLLATE "C", c char(20) COLLATE "C", n name COLLATE "C", num numeric,
	a amount, long text COLLATE "C", icu text COLLATE "en-x-icu", j jsonb, m mood, place tid, ints int[]);
INSERT INTO rows
SELECT i, i % 3 = 0, h % 1000, h % 100000, h::bigint * 1000003, abs(h), h / 7.0, h / 7.0::float8,
	date '2000-01-01' + h % 10000, timestamp '2000-01-01' + h * interval '1 second',
	timestamptz '2000-01-01 00:00+00' + h * interval '1 minute', md5(h::text)::uuid, md5(h::text), left(md5(h::text), h % 30 + 1),
	left(md5(h::text), 9), left(md5(h::text), 12), h / 100.0, h % 1000, CASE WHEN h % 500 = 1 THEN 'short ' || h ELSE repeat('long ', 30) || h % 100 END, h, to_jsonb(h),
	(ARRAY['sad', 'ok', 'happy'])[abs(h) % 3 + 1]::mood, ('(' || abs(h) % 7 || ',' || i % 11 || ')')::tid, ARRAY[h % 5, i]
FROM (SELECT i, hashint4(i) % 3000 h FROM generate_series(1, 6000) i) s;
INSERT INTO rows (id) SELECT i FROM generate_series(6001, 6100) i;
ANALYZE rows;

-- keys
SELECT key, check_index(format('CREATE INDEX built ON rows (%s)', key))
FROM unnest(ARRAY['id', 'id DESC', 'b', 'i2', 'i4', 'i8 DESC NULLS LAST', 'o NULLS FIRST', 'f4', 'f8', 'd', 'ts', 'tz DESC', 'u',
	't', 'v DESC', 'c', 'n', 'num', 'a', 'long', 'place', 'i2, i8', 'b DESC, t NULLS FIRST, i4', 'd, num, u, v',
	'b, j', 'i2 DESC, ints DESC', 'long, m', 't text_pattern_ops DESC', 'icu', 'icu DESC NULLS LAST, id', 'ints', 'ints DESC, i2', '(i4 % 10), (upper(t) COLLATE "C")', '(NULL::int), i2']) key;

-- kinds
SELECT definition, check_index(replace(definition, '...', 'INDEX built ON rows'))
FROM unnest(ARRAY['CREATE UNIQUE ... (id)', 'CREATE UNIQUE ... (id) INCLUDE (t, j, num)', 'CREATE ... (i2) INCLUDE (t, b)',
	'CREATE ... (i2) WHERE i4 % 2 = 0', 'CREATE ... (i2) WHERE id < 0', 'CREATE UNIQUE ... (id) NULLS NOT DISTINCT',
	'CREATE ... (i4) WITH (fillfactor = 30)', 'CREATE ... (i2) WITH (deduplicate_items = off)']) definition;

-- trees of several levels, pages of few and of many rows, long and short posting lists
CREATE TABLE many (id int, k int, few int, t text COLLATE "C", wide text COLLATE "C");
ALTER TABLE many ALTER wide SET STORAGE plain;
INSERT INTO many SELECT i, hashint4(i), i % 7, md5((i % 2000)::text), lpad(i::text, 600 + 10 * (i % 200), md5(i::text))
FROM generate_series(1, 6000) i;
SELECT key, options, check_index(format('CREATE INDEX built ON many (%s) WITH (%s)', key, options))
FROM unnest(ARRAY['k', 'few', 't', 'few, t DESC', 'wide', 'id) INCLUDE (t']) key,
	unnest(ARRAY['fillfactor = 10', 'fillfactor = 100', 'deduplicate_items = off']) options;
CREATE INDEX built ON many (wide);
SELECT level > 1 AS has_levels FROM bt_metap('built');
DROP INDEX built;
SET gpusort.work_mem = '64kB';
SELECT key, check_index(format('CREATE INDEX built ON many (%s)', key))
FROM unnest(ARRAY['k', 'few', 't', 'few, t DESC', 'wide']) key;
RESET gpusort.work_mem;
DROP TABLE many;

-- left to PostgreSQL, and other access methods
CREATE FUNCTION reverse_compare(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR <# (FUNCTION = int4gt, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR CLASS reverse_ops FOR TYPE int USING btree AS OPERATOR 1 <#, OPERATOR 3 =, FUNCTION 1 reverse_compare(int, int);
SELECT definition, check_index(replace(definition, '...', 'INDEX built ON rows'))
FROM unnest(ARRAY['CREATE ... ((id::text::tsvector))', 'CREATE ... (id reverse_ops)']) definition;
SET gpusort.min_rows = 10000;
SELECT * FROM check_index('CREATE INDEX built ON rows (i4)');
SET gpusort.min_rows = 0;
SET gpusort.enable_index_build = off;
SELECT * FROM check_index('CREATE INDEX built ON rows (i4)');
RESET gpusort.enable_index_build;
CREATE INDEX built ON rows USING hash (i4);
CREATE INDEX built_too ON rows USING brin (i4);
DROP INDEX built, built_too;
SELECT builds();

-- rows that exceed the memory, and go through files
SET gpusort.work_mem = '64kB';
SELECT key, check_index(format('CREATE INDEX built ON rows (%s)', key))
FROM unnest(ARRAY['id', 'id DESC', 'i2', 'i4 DESC NULLS FIRST', 'tz', 'u', 't', 'v DESC', 'n', 'num', 'long', 'long, m', 'b, j',
	'icu', 'icu DESC NULLS LAST, id', 'ints DESC, i2', '(NULL::int), i2', 'i2) INCLUDE (t, b', 'i2) WITH (fillfactor = 30',
	'i2) WITH (deduplicate_items = off', 't) WHERE (id > 0']) key;
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON rows (id)');
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON rows (id) NULLS NOT DISTINCT WHERE id > 0');
-- few of them
SELECT * FROM check_index('CREATE INDEX built ON rows (i4) WHERE id = 17');

-- rows that are merged more than once, with keys between them: types that rely on the alignment of a row
CREATE TABLE aligned AS SELECT i id, (i % 3)::text COLLATE "en-x-icu" few, md5(i::text) COLLATE "en-x-icu" txt,
	array_fill(1, ARRAY[i % 40]) || (hashint4(i) % 1000) || NULL::int ints, array_fill(1::bigint, ARRAY[20]) || hashint8(i) longs,
	numrange(10::numeric ^ 300 + abs(hashint4(i)) % 1000, NULL) range, nullif(i % 5, 0) gap
FROM generate_series(1, 10000) i;
SELECT key, check_index(format('CREATE INDEX built ON aligned (%s)', key))
FROM unnest(ARRAY['few, ints', 'few DESC, ints DESC NULLS LAST, id', 'few, longs', 'few, range', 'txt, gap', 'few, gap, txt DESC']) key;
INSERT INTO aligned SELECT * FROM aligned WHERE id = 77;
CREATE UNIQUE INDEX built ON aligned (few, longs);
DROP TABLE aligned;

-- more rows between others that are dead to the unique check than are held at a time
CREATE TABLE dead AS SELECT i id, CASE WHEN i > 15000 THEN i ELSE 17 END k, repeat('x', 100) COLLATE "C" t FROM generate_series(0, 20000) i;
BEGIN;
DELETE FROM dead WHERE id BETWEEN 1 AND 14999;
SAVEPOINT s;
CREATE UNIQUE INDEX built ON dead (k);
ROLLBACK TO s;
CREATE UNIQUE INDEX built ON dead (k, t);
ROLLBACK TO s;
DELETE FROM dead WHERE id = 0;
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON dead (k)');
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON dead (k, t)');
ROLLBACK;
UPDATE dead SET k = id;
INSERT INTO dead VALUES (20001, 10000);
CREATE UNIQUE INDEX built ON dead (k);
DELETE FROM dead WHERE id = 20001;
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON dead (k)');
DROP TABLE dead;
RESET gpusort.work_mem;
SET maintenance_work_mem = '1MB';
SELECT * FROM check_index('CREATE INDEX built ON rows (long)');
SET gpusort.work_mem = '64MB';
SELECT * FROM check_index('CREATE INDEX built ON rows (long)');
SHOW maintenance_work_mem;
RESET gpusort.work_mem;
SET maintenance_work_mem = '64MB';

-- parallel workers
ALTER TABLE rows SET (parallel_workers = 3);
SET max_parallel_maintenance_workers = 8;
SELECT key, check_index(format('CREATE INDEX built ON rows (%s)', key))
FROM unnest(ARRAY['i4', 'num DESC', 'v', 'long', 'b, j', 'i2) INCLUDE (t', 'id) WHERE (i4 % 2 = 0']) key;
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON rows (id)');
-- with more rows than memory each worker sorts its own
SET gpusort.work_mem = '100kB';
SELECT key, check_index(format('CREATE INDEX built ON rows (%s)', key))
FROM unnest(ARRAY['i4', 'num DESC', 'v', 'long', 'icu', 'b, j', 'i2) INCLUDE (t', 'id) WHERE (i4 % 2 = 0', 'i4) WHERE (id < 0']) key;
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON rows (id)');
CREATE UNIQUE INDEX CONCURRENTLY built ON rows (id, t);
REINDEX INDEX CONCURRENTLY built;
SELECT builds(), bt_index_parent_check('built', true, true);
DROP INDEX built;
-- also if that turns out late, since rows are longer than expected
SET gpusort.work_mem = '1MB';
SELECT * FROM check_index('CREATE INDEX built ON rows ((repeat(t, 10)))');
RESET gpusort.work_mem;
-- also if only the leader gets any rows
CREATE TABLE few WITH (parallel_workers = 2) AS SELECT i, -i k FROM generate_series(1, 3000) i;
SET gpusort.work_mem = '64kB';
DO $$ BEGIN
	FOR i IN 1 .. 20 LOOP
		CREATE UNIQUE INDEX built_few ON few (k, i);
		PERFORM bt_index_parent_check('built_few', true, true);
		DROP INDEX built_few;
	END LOOP;
END $$;
DROP TABLE few;
RESET gpusort.work_mem;
SELECT builds() LIKE '%indexes_host 20%';
CREATE INDEX CONCURRENTLY built ON rows (t);
REINDEX INDEX CONCURRENTLY built;
SELECT builds(), bt_index_parent_check('built', true, true);
DROP INDEX built;
-- any of the processes may raise the error
\set SHOW_CONTEXT never
CREATE INDEX built ON rows ((1 / (id - 5000)));
CREATE UNIQUE INDEX built ON rows ((id / 2));
\set SHOW_CONTEXT errors
SET max_parallel_maintenance_workers = 0;
SELECT * FROM check_index('CREATE INDEX built ON rows (i4)');
SHOW max_parallel_maintenance_workers;
ALTER TABLE rows RESET (parallel_workers);

-- values that are large, or stored elsewhere
CREATE TABLE large (id int, t text COLLATE "C", plain text COLLATE "C", elsewhere text COLLATE "C");
ALTER TABLE large ALTER plain SET STORAGE plain, ALTER elsewhere SET STORAGE external;
INSERT INTO large
SELECT i, repeat(md5((i % 50)::text), 10 + i), left(repeat(md5(i::text), 20), i * 2),
	CASE WHEN i % 3 = 0 THEN (SELECT string_agg(md5((i % 30 + j)::text), '') FROM generate_series(1, 70) j) ELSE md5(i::text) END
FROM generate_series(1, 300) i;
SELECT key, check_index(format('CREATE INDEX built ON large (%s)', key))
FROM unnest(ARRAY['t', 'plain', 'elsewhere', 'elsewhere, t', 'id) INCLUDE (elsewhere']) key;
INSERT INTO large VALUES (0, (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 1000) i));
CREATE INDEX built ON large (t);
SET gpusort.enable = off;
CREATE INDEX built ON large (t);
RESET gpusort.enable;

-- rows that are not unique
INSERT INTO rows (id, t) VALUES (17, 'twice'), (NULL, 'none'), (NULL, 'neither');
SELECT builds();
CREATE UNIQUE INDEX built ON rows (id);
CREATE UNIQUE INDEX built ON rows (id) WHERE id IS NULL;
DROP INDEX built;
CREATE UNIQUE INDEX built ON rows (id) NULLS NOT DISTINCT WHERE id IS NULL;
CREATE UNIQUE INDEX built ON rows ((id % 100), i4, (t || 'x')) WHERE i4 = 5 OR id = 17;
ALTER TABLE rows ADD UNIQUE (id) DEFERRABLE INITIALLY DEFERRED;
SELECT builds();
SET gpusort.enable = off;
CREATE UNIQUE INDEX built_too ON rows (id);
CREATE UNIQUE INDEX built_too ON rows (id) NULLS NOT DISTINCT WHERE id IS NULL;
ALTER TABLE rows ADD UNIQUE (id) DEFERRABLE INITIALLY DEFERRED;
RESET gpusort.enable;
DROP INDEX IF EXISTS built;
DELETE FROM rows WHERE id IS NULL OR t = 'twice';

-- rows that are dead to the unique check, HOT chains, rows of this transaction
BEGIN;
DELETE FROM rows WHERE id % 10 = 0;
INSERT INTO rows (id, i4) SELECT id, 0 FROM generate_series(10, 6000, 10) id;
UPDATE rows SET i4 = i4 + 1 WHERE id % 3 = 0;
SAVEPOINT s;
SELECT * FROM check_index('CREATE UNIQUE INDEX built ON rows (id)');
ROLLBACK TO s;
SELECT * FROM check_index('CREATE INDEX built ON rows (i4)');
ROLLBACK;

-- statements that build
CREATE FUNCTION check_all() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := builds();
	index regclass;
BEGIN
	FOR index IN SELECT indexrelid FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
		WHERE amname = 'btree' AND relkind = 'i' AND indexrelid >= 16384 AND indisvalid
	LOOP
		PERFORM bt_index_parent_check(index, true, true);
	END LOOP;
	RETURN result;
END $$;
CREATE TABLE built (id int PRIMARY KEY, k int UNIQUE DEFERRABLE, t text, EXCLUDE USING btree (t WITH =));
INSERT INTO built SELECT i, hashint4(i), repeat(i::text, 1000) FROM generate_series(1, 1000) i;
SELECT check_all();
ALTER TABLE built DROP CONSTRAINT built_t_excl, DROP CONSTRAINT built_k_key, DROP CONSTRAINT built_pkey;
ALTER TABLE built ADD PRIMARY KEY (id), ADD UNIQUE (k) DEFERRABLE;
SELECT check_all();
ALTER TABLE built ADD EXCLUDE USING btree (k WITH =);
SELECT check_all();
CREATE INDEX CONCURRENTLY built_i ON built (k, id);
SELECT check_all();
REINDEX INDEX built_i;
SELECT check_all();
REINDEX TABLE built;
SELECT check_all();
REINDEX TABLE CONCURRENTLY built;
SELECT check_all();
REINDEX (CONCURRENTLY) INDEX built_i;
SELECT check_all();
VACUUM FULL built;
SELECT check_all();
VACUUM (FULL off) built;
CLUSTER built USING built_i;
SELECT check_all();
ALTER TABLE built ALTER k TYPE bigint;
SELECT check_all();
TRUNCATE built;
INSERT INTO built SELECT i, i, i FROM generate_series(1, 10) i;
SELECT check_all();
SET max_parallel_maintenance_workers = 2;
REINDEX TABLE built;
SELECT check_all();
DROP TABLE built;

-- tables that are built on
CREATE MATERIALIZED VIEW built AS SELECT i, -i k FROM generate_series(1, 1000) i;
CREATE UNIQUE INDEX ON built (k);
REFRESH MATERIALIZED VIEW built;
REFRESH MATERIALIZED VIEW CONCURRENTLY built;
SELECT check_all();
DROP MATERIALIZED VIEW built;
CREATE TEMP TABLE built AS SELECT i, -i k FROM generate_series(1, 1000) i;
CREATE INDEX ON built (k);
SELECT check_all();
DROP TABLE built;
CREATE UNLOGGED TABLE built AS SELECT i, -i k FROM generate_series(1, 1000) i;
CREATE INDEX ON built (k);
ALTER TABLE built SET LOGGED;
SELECT check_all();
DROP TABLE built;
CREATE TABLE built (i int, k int) PARTITION BY RANGE (i);
CREATE TABLE built_1 PARTITION OF built FOR VALUES FROM (0) TO (500);
CREATE TABLE built_2 PARTITION OF built FOR VALUES FROM (500) TO (1500);
INSERT INTO built SELECT i, -i k FROM generate_series(1, 1000) i;
CREATE INDEX ON built (k);
CREATE TABLE built_3 (k int, i int);
INSERT INTO built_3 SELECT -i, i FROM generate_series(1500, 1600) i;
ALTER TABLE built ATTACH PARTITION built_3 FOR VALUES FROM (1500) TO (2000);
SELECT check_all();
DROP TABLE built;

-- A table without statistics, whose rows are shorter or longer than they look from outside: how often each is scanned, and whether files are
-- written, with memory for all rows, and with less.
CREATE FUNCTION times_scanned(loaded regclass) RETURNS numeric LANGUAGE sql AS $$
	SELECT pg_stat_get_tuples_returned(loaded) / 10000.0
$$;
CREATE TABLE narrow WITH (autovacuum_enabled = off, parallel_workers = 2) AS
SELECT i AS id, NULL::text AS a, NULL::text AS b, NULL::text AS c, NULL::text AS d FROM generate_series(1, 10000) i;
CREATE TABLE wide WITH (autovacuum_enabled = off, parallel_workers = 2) AS
SELECT i AS id, i || repeat(' a long text', 50) AS long FROM generate_series(1, 10000) i;
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
SELECT builds() IS NOT NULL;
SET gpusort.work_mem = '300kB';
CREATE INDEX ON narrow (id);
SELECT pg_stat_force_next_flush();
SELECT times_scanned('narrow'), builds();
SET gpusort.work_mem = '1MB';
CREATE INDEX ON wide (id);
SELECT pg_stat_force_next_flush();
SELECT times_scanned('wide'), builds();
SET gpusort.work_mem = '4MB';
CREATE INDEX ON wide (long COLLATE "C");
SELECT pg_stat_force_next_flush();
SELECT times_scanned('wide'), builds();
RESET gpusort.work_mem;
DROP TABLE narrow, wide;
-- rows that were inserted when the table had other columns, until that was rolled back, in whole and to a savepoint
CREATE TABLE altered (a int) WITH (autovacuum_enabled = off, parallel_workers = 2);
BEGIN;
ALTER TABLE altered ADD y int, ADD z int;
INSERT INTO altered SELECT i, 257, 77777 FROM generate_series(1, 2000) i;
ROLLBACK;
BEGIN;
SAVEPOINT before;
ALTER TABLE altered ADD y int, ADD z int;
INSERT INTO altered SELECT i, -16, 77777 FROM generate_series(1, 2000) i;
ROLLBACK TO before;
ALTER TABLE altered ADD y text, ADD z text;
INSERT INTO altered SELECT i, 'y' || i, 'z' FROM generate_series(1, 2000) i;
CREATE INDEX ON altered (y);
CREATE INDEX altered_z ON altered (z, y);
COMMIT;
ANALYZE altered;
ALTER TABLE altered ADD later text DEFAULT 'as it was';
CREATE INDEX ON altered (later, y);
SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'altered'::regclass;
DROP TABLE altered;
DROP FUNCTION times_scanned;

DROP OPERATOR FAMILY reverse_ops USING btree;
DROP OPERATOR <# (int, int);
DROP FUNCTION check_all, check_index, builds, pages, reverse_compare;
DROP TABLE rows, large, counted;
DROP TYPE mood;
DROP DOMAIN amount;
DROP EXTENSION amcheck, pageinspect;
