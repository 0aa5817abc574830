-- Long strings that begin alike, of which keys leave the beginning out.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
CREATE FUNCTION strings(prefix text, n integer) RETURNS TABLE (t text) LANGUAGE sql AS $$
	SELECT prefix || md5(i::text) FROM generate_series(1, n) i
$$;
-- Strings with the prefixes come first, so that others come when keys leave a prefix out.
CREATE TABLE addresses AS
SELECT row_number() OVER () id, t COLLATE "C" t, convert_to(t, 'UTF8') b, (t || repeat(' ', length(t) % 3))::char(2000) COLLATE "C" c, left(t, 170)::varchar COLLATE "C" v
FROM (SELECT t FROM strings(repeat('https://www.example.com/', 6), 1500)
	UNION ALL SELECT t FROM strings(repeat('https://www.example.com/', 60), 300)
	UNION ALL SELECT t FROM strings(repeat('https://www.example.com/', 6) || 'long', 1500)
	UNION ALL SELECT repeat(t, 40) FROM strings('', 300)
	UNION ALL SELECT repeat(t, 10) FROM strings('zz', 300)
	UNION ALL SELECT t FROM strings('', 300)
	UNION ALL SELECT left(repeat('https://www.example.com/', 70), i) FROM generate_series(0, 1650) i
	UNION ALL SELECT left(repeat('https://www.example.com/', 6), i) || 'a' FROM generate_series(0, 144) i
	UNION ALL SELECT left(repeat('https://www.example.com/', 6), i) || '~' FROM generate_series(0, 144) i
	UNION ALL SELECT repeat('https://www.example.com/', 6) FROM generate_series(1, 5)
	UNION ALL SELECT NULL FROM generate_series(1, 2)) s;
-- some values are compressed, some are stored elsewhere
CREATE TABLE toasted AS SELECT id, repeat('common prefix ', 300) || t t FROM addresses;
CREATE TABLE elsewhere (id integer, t text COLLATE "C");
ALTER TABLE elsewhere ALTER t SET STORAGE EXTERNAL;
INSERT INTO elsewhere SELECT id, repeat(md5('common'), 80) || t FROM addresses WHERE id % 4 = 0;

-- The numbers of rows in the order of a query.
CREATE FUNCTION row_numbers(query text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	result bigint[];
BEGIN
	EXECUTE format('SELECT array_agg(number) FROM (%s OFFSET 0) s (number)', query) INTO result;
	RETURN result;
END $$;
-- The first row of a query that is not in its place, if any.
CREATE FUNCTION wrong_place(query text, native bigint[]) RETURNS bigint LANGUAGE sql AS $$
	SELECT min(place) FROM unnest(native, row_numbers(query)) WITH ORDINALITY o (expected, found, place) WHERE found IS DISTINCT FROM expected
$$;

-- Under collations that do not order by bytes, the sort keys begin alike.
CREATE COLLATION without_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SET gpusort.enable = off;
CREATE TABLE cases AS SELECT *, row_numbers(query) native FROM (VALUES
	('addresses', 't, id'),
	('addresses', 't DESC, id'),
	('addresses', 't NULLS FIRST, id'),
	('addresses', 'id % 3, t, id'),
	('addresses', 'length(t) % 2, t DESC, c, id'),
	('addresses', 'v, t, id'),
	('addresses', 'c, id'),
	('addresses', 'c DESC NULLS LAST, id'),
	('addresses', 'b, id'),
	('addresses', 't COLLATE "en-x-icu", id'),
	('addresses', 't COLLATE "en-x-icu" DESC, b, id'),
	('addresses', 'upper(t) COLLATE without_case, id'),
	('addresses', 'id % 3, v COLLATE without_case DESC NULLS LAST, t COLLATE "en-x-icu", id'),
	('addresses', 'ARRAY[t COLLATE "en-x-icu", left(t, 200)] DESC, id'),
	('addresses', 'ARRAY[t], id'),
	('addresses', 'ARRAY[''a'', t] DESC, id'),
	('(SELECT * FROM addresses WHERE t > ''https'' ORDER BY md5(t) OFFSET 0) s', 't, id'),
	('(SELECT * FROM addresses ORDER BY id DESC OFFSET 0) s', 't, id'),
	('(SELECT * FROM addresses ORDER BY id DESC OFFSET 0) s', 't COLLATE "en-x-icu", id'),
	('toasted', 't COLLATE "C", id'),
	('toasted', 't COLLATE "en-x-icu", id'),
	('elsewhere', 't, id'),
	('elsewhere', 't DESC, id')) cases (source, sort), format('SELECT id FROM %s ORDER BY %s', source, sort) query;
RESET gpusort.enable;
SELECT source, sort, wrong_place(query, native) FROM cases;

-- the same in runs
SET gpusort.work_mem = '64kB';
SELECT source, sort, wrong_place(query, native) FROM cases;
RESET gpusort.work_mem;

-- with workers, which leave out the same prefix, also if the leader has no rows of its own
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE addresses SET (parallel_workers = 2);
SELECT source, sort, wrong_place(query, native) FROM cases WHERE source = 'addresses';
SET parallel_leader_participation = off;
SELECT source, sort, wrong_place(query, native) FROM cases WHERE source = 'addresses';
-- some rows are sent, and others kept in files
SET gpusort.work_mem = '256kB';
SELECT source, sort, wrong_place(query, native) FROM cases WHERE source = 'addresses';
RESET gpusort.work_mem;
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;

-- indexes
CREATE INDEX of_t ON addresses (left(t, 1000));
CREATE INDEX of_two ON addresses ((id % 3), left(t, 500) DESC NULLS LAST);
CREATE UNIQUE INDEX ON addresses (left(t, 200));
CREATE UNIQUE INDEX of_both ON addresses (t, id);
CREATE INDEX of_sort_keys ON addresses (left(t, 1000) COLLATE "en-x-icu" DESC, v COLLATE without_case);
SET maintenance_work_mem = '1MB';
SET gpusort.work_mem = '64kB';
CREATE UNIQUE INDEX of_both_in_runs ON addresses (t, id);
CREATE UNIQUE INDEX ON addresses (t) WHERE id > 5000;
RESET maintenance_work_mem;
RESET gpusort.work_mem;
-- by workers, which leave out the same prefix
CREATE TABLE alike (t text COLLATE "C", other text COLLATE "C") WITH (parallel_workers = 2);
INSERT INTO alike SELECT repeat('same ', 30) || md5(i::text), repeat('same ', 10) || md5(i::text) FROM generate_series(1, 5000) i;
CREATE FUNCTION workers(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := value FROM gpusort_stats WHERE name = 'index_workers';
BEGIN
	EXECUTE statement;
	RETURN value - before FROM gpusort_stats WHERE name = 'index_workers';
END $$;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '256MB';
SET max_parallel_maintenance_workers = 2;
ANALYZE alike;
SELECT workers('CREATE INDEX ON alike (t)') AS alike, workers('CREATE INDEX ON alike (other)') AS shorter,
	workers('CREATE INDEX ON alike (lower(t))') AS expression;
SELECT workers('CREATE UNIQUE INDEX of_both_by_workers ON addresses (t, id)') AS text,
	workers('CREATE INDEX of_bytes_by_workers ON addresses (b, id)') AS bytes,
	workers('CREATE INDEX of_sort_keys_by_workers ON addresses (t COLLATE "en-x-icu", c COLLATE without_case, id)') AS sort_keys,
	workers('CREATE INDEX of_arrays_by_workers ON addresses ((ARRAY[left(t, 500), ''a'']), (left(t, 500)) DESC)') AS arrays;
DROP TABLE alike;
-- an index of a device is checked: texts that begin alike are compared as their collations have it, not by bytes
CREATE TABLE alike AS SELECT repeat('common ', 5) || x t FROM unnest(ARRAY['Q', 'bbc', 'a', 'B', 'q', 'Z']) x;
SET gpusort.device = cuda;
CREATE INDEX ON alike (t COLLATE "en-x-icu");
CREATE INDEX ON alike (t COLLATE "C", t COLLATE "en-x-icu" DESC);
CREATE INDEX ON alike (t COLLATE "POSIX");
RESET gpusort.device;
SELECT t FROM alike ORDER BY t COLLATE "en-x-icu";
DROP TABLE alike;
DROP FUNCTION workers;
RESET maintenance_work_mem;
RESET min_parallel_table_scan_size;
SET max_parallel_maintenance_workers = 0;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
RESET client_min_messages;
SELECT indexrelid::regclass, bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 'addresses'::regclass ORDER BY indexrelid;
DROP EXTENSION amcheck;
DROP TABLE addresses, toasted, elsewhere, cases;
DROP COLLATION without_case;
DROP FUNCTION strings, row_numbers, wrong_place;

-- comparators compare strings behind a column that is unique by the statistics, whatever rows have come since
CREATE TABLE unique_once AS SELECT i id, nullif(i, 0) gap, 'text ' || i % 11 txt FROM generate_series(0, 2999) i;
ANALYZE unique_once;
INSERT INTO unique_once SELECT id / 4, gap / 4, 'more ' || hashint4(id) % 13 FROM unique_once;
CREATE FUNCTION in_same_order(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	result text;
	orders text[];
BEGIN
	FOR i IN 1 .. 2 LOOP
		PERFORM set_config('gpusort.enable', (i = 1)::text, true);
		EXECUTE format('SELECT md5(string_agg(s::text, '' '')) FROM (%s OFFSET 0) s', query) INTO result;
		orders := orders || result;
	END LOOP;
	RETURN orders[1] = orders[2];
END $$;
SELECT query, in_same_order(query) FROM (VALUES
	('SELECT id, txt FROM unique_once ORDER BY id, txt COLLATE "en-x-icu"'),
	('SELECT id, txt FROM unique_once ORDER BY id DESC, txt COLLATE "en-x-icu" DESC'),
	('SELECT * FROM unique_once ORDER BY gap NULLS FIRST, txt COLLATE "en-x-icu", id'),
	('SELECT id, txt FROM unique_once ORDER BY id, txt COLLATE "en-x-icu" LIMIT 4000')) q(query);
SET gpusort.work_mem = '64kB';
SELECT in_same_order('SELECT * FROM unique_once ORDER BY id, txt COLLATE "en-x-icu", gap');
RESET gpusort.work_mem;
DROP TABLE unique_once;
DROP FUNCTION in_same_order;
