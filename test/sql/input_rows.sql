-- The rows below a sort are taken from the pages that a scan has read: each column as the scan would give it, and each row once.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;

-- Rows from before and after columns were added and dropped, with and without NULLs, stored short, long, compressed and apart.
CREATE TABLE goods (id int, gone text, small int2, letter "char", price numeric, called name, flag bool, long text, at timestamptz,
	fixed char(5), id8 bigint, part int4range, list int[]) WITH (parallel_workers = 2);
CREATE FUNCTION add_goods(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO goods (id, small, letter, price, called, flag, long, at, fixed, id8, part, list)
	SELECT i, i % 77, chr(65 + i % 26)::"char", i / 7.0, 'name ' || i % 50, i % 3 = 0,
		CASE i % 5 WHEN 0 THEN '' WHEN 1 THEN 'x' || i WHEN 2 THEN repeat('text ', 60) || i
			WHEN 3 THEN repeat('compressed', 1000) || i ELSE NULL END,
		'2026-11-30'::timestamptz + i * interval '1 s', i % 1000, i * 1000003::bigint, int4range(i, i + 5), ARRAY[i, NULL, i % 7]
	FROM generate_series(first, last) i
$$;
SELECT add_goods(1, 1500);
INSERT INTO goods (id, gone) SELECT i, 'gone ' || i FROM generate_series(1501, 1600) i;
ALTER TABLE goods DROP COLUMN gone;
ALTER TABLE goods ADD COLUMN later int DEFAULT 7, ADD COLUMN note text DEFAULT 'as it was', ADD COLUMN nothing float8;
SELECT add_goods(1601, 3000);
INSERT INTO goods (id, long) SELECT i, string_agg(md5((i * j)::text), '') FROM generate_series(3001, 3010) i, generate_series(1, 400) j GROUP BY i;
UPDATE goods SET nothing = id, later = NULL WHERE id % 4 = 0;
DELETE FROM goods WHERE id % 9 = 0;
ANALYZE goods;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/digest.sql'
\i :include

-- Are the rows of a query, in their order, those of PostgreSQL; with workers, too, and in runs?
CREATE FUNCTION same(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	expected text;
	same boolean := true;
	workers text;
	memory text;
BEGIN
	PERFORM set_config('gpusort.enable', 'off', true);
	expected := digest(query);
	PERFORM set_config('gpusort.enable', 'on', true);
	FOREACH workers IN ARRAY '{0,2}'::text[] LOOP
		PERFORM set_config('max_parallel_workers_per_gather', workers, true);
		FOREACH memory IN ARRAY '{64MB,64kB}'::text[] LOOP
			PERFORM set_config('work_mem', memory, true);
			same := same AND digest(query) = expected;
		END LOOP;
	END LOOP;
	RETURN same;
END $$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;

EXPLAIN (COSTS OFF) SELECT id FROM goods ORDER BY at, id;
-- columns: all, the first, the last, in another order, twice, added ones, with constants, with expressions, of the system
SELECT same('SELECT * FROM goods ORDER BY at, id');
SELECT same('SELECT id FROM goods ORDER BY id');
SELECT same('SELECT list, id FROM goods ORDER BY list, id');
SELECT same('SELECT fixed, price, letter, id FROM goods ORDER BY price, id');
SELECT same('SELECT part, long, flag, called, small, id FROM goods ORDER BY called, id DESC');
SELECT same('SELECT id, id AS again, price FROM goods ORDER BY price, id');
SELECT same('SELECT later, note, nothing, id FROM goods ORDER BY nothing, note, id');
SELECT same('SELECT id, 5, NULL::text, ''word'', long FROM goods ORDER BY long, id');
SELECT same('SELECT id, price * 2 AS twice, long FROM goods ORDER BY 2, id');
SELECT same('SELECT id + small AS sum, coalesce(long, note) AS text, list[3], later + nothing AS added FROM goods ORDER BY 1, 2, 3, id');
SELECT same('SELECT upper(called), fixed || letter::text, (SELECT count(*) FROM generate_series(1, goods.small)) FROM goods ORDER BY 1, 2, 3');
SELECT same('SELECT id * 0 + random()::int * 0 AS zero, row(price, note)::text, note FROM goods ORDER BY 1, 2, 3');
SELECT same('SELECT goods.price * 2, goods FROM goods ORDER BY 1, id');
SELECT same('SELECT id, ctid, tableoid FROM goods ORDER BY id');
SELECT same('SELECT goods, id FROM goods ORDER BY id');
-- filters: that leave out some rows of a page, whole pages, all rows; that raise an error
SELECT same('SELECT id, price, at FROM goods WHERE small > 40 ORDER BY at, id');
SELECT same('SELECT * FROM goods WHERE flag ORDER BY price, id');
SELECT same('SELECT id + 1 AS next, long FROM goods WHERE id BETWEEN 1000 AND 1100 ORDER BY long, 1');
SELECT same('SELECT id, 3, price FROM goods WHERE note IS NULL ORDER BY price');
SELECT id, price FROM goods WHERE 1 / (id - 2999) < 2 ORDER BY price;
SELECT id, 1 / (id - 2999) FROM goods ORDER BY price;
-- nodes that sort by themselves
SELECT same('SELECT id, sum(small) OVER (ORDER BY at, id) FROM goods');
SELECT same('SELECT small, count(*), sum(later), max(nothing) FROM goods GROUP BY small ORDER BY small');
SELECT same('SELECT DISTINCT called, fixed FROM goods ORDER BY 1, 2');
SELECT same('SELECT DISTINCT ON (called) called, price, long FROM goods ORDER BY called, price, id');
SELECT same('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY price), count(DISTINCT note), count(DISTINCT later) FROM goods');
SELECT same('SELECT flag, string_agg(fixed, '','' ORDER BY at) FROM goods GROUP BY flag ORDER BY flag');

-- partitions, whose columns lie in other places
CREATE TABLE sold (id int, day date, shop text, price numeric) PARTITION BY RANGE (id);
CREATE TABLE sold_1 PARTITION OF sold FOR VALUES FROM (0) TO (1000) WITH (parallel_workers = 2);
CREATE TABLE sold_2 (gone int, price numeric, shop text, id int, day date) WITH (parallel_workers = 2);
ALTER TABLE sold_2 DROP COLUMN gone;
ALTER TABLE sold ATTACH PARTITION sold_2 FOR VALUES FROM (1000) TO (2000);
CREATE TABLE sold_3 PARTITION OF sold FOR VALUES FROM (2000) TO (3000) WITH (parallel_workers = 2);
INSERT INTO sold SELECT i * 3, '2026-01-01'::date + i % 90, CASE WHEN i % 11 > 0 THEN 'shop ' || i % 20 END, i / 3.0
FROM generate_series(0, 999) i;
ANALYZE sold;
EXPLAIN (COSTS OFF) SELECT shop, price FROM sold ORDER BY shop, price;
SELECT same('SELECT shop, price FROM sold ORDER BY shop, price');
SELECT same('SELECT id, shop, day FROM sold WHERE day < ''2026-02-10'' ORDER BY day, id');
SELECT same('SELECT day, id * 2 FROM sold ORDER BY day, id');
SELECT same('SELECT * FROM sold WHERE id > (SELECT 1500) ORDER BY price');
SELECT same('SELECT shop, count(*), sum(price) FROM sold GROUP BY shop ORDER BY shop');

-- scans that begin again, also for other values, before and after their end
CREATE TABLE asked AS SELECT i * 5 AS n FROM generate_series(1, 20) i;
SELECT same('SELECT n, s.* FROM asked, LATERAL (SELECT id, price FROM goods WHERE small = n % 77 ORDER BY price, id LIMIT 3) s ORDER BY n, id');
SELECT same('SELECT n, s.* FROM asked, LATERAL (SELECT id, shop FROM sold WHERE id < n * 20 ORDER BY shop, id LIMIT 2) s ORDER BY n, id');
SELECT same('SELECT n, (SELECT count(*) FROM (SELECT id FROM goods ORDER BY at OFFSET n) s) FROM asked ORDER BY n');

-- a cursor reads what it would have read, whatever is changed meanwhile
BEGIN;
DECLARE before CURSOR FOR SELECT id, later, note FROM goods WHERE id <= 10 ORDER BY id;
UPDATE goods SET note = 'changed' WHERE id <= 10;
DELETE FROM goods WHERE id = 2;
FETCH ALL FROM before;
SELECT id, later, note FROM goods WHERE id <= 10 ORDER BY id;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT same('SELECT id, price FROM goods ORDER BY price, id');
COMMIT;
-- rows that are locked, and read again
BEGIN;
SELECT id, note FROM goods WHERE id < 4 ORDER BY price FOR UPDATE;
ROLLBACK;

-- EXPLAIN ANALYZE counts each row that scans give or leave out, whether it takes times or not
CREATE FUNCTION counts(query text, timing text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, FORMAT JSON, TIMING %s) %s', timing, query) INTO plan;
	RETURN (SELECT string_agg(concat_ws(' ', (node->>'Actual Rows')::numeric::int, node->>'Rows Removed by Filter'), ', ')
		FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "Seq Scan")') node);
END $$;
SELECT query, counts(query, 'on'), counts(query, 'off') FROM (VALUES ('SELECT id, price FROM goods ORDER BY price'),
	('SELECT id, price FROM goods WHERE small > 40 ORDER BY price'), ('SELECT id + 1, price FROM goods WHERE false IS DISTINCT FROM flag ORDER BY price'),
	('SELECT shop, count(*) FROM sold WHERE id % 2 = 0 GROUP BY shop')) v(query);

-- the statistics count each row that a scan has read
CREATE TABLE counted AS SELECT i AS id, md5(i::text) AS text FROM generate_series(1, 5000) i;
ANALYZE counted;
SELECT pg_stat_reset_single_table_counters('counted'::regclass) IS NOT NULL;
SELECT count(*) FROM (SELECT text, id FROM counted ORDER BY text OFFSET 0) s;
SELECT count(*) FROM (SELECT text, id FROM counted WHERE id % 2 = 0 ORDER BY text OFFSET 0) s;
SELECT pg_stat_force_next_flush();
SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'counted';

DROP TABLE goods, sold, asked, counted;
DROP FUNCTION add_goods, counts, digest, same;
