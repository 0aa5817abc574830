-- The first rows of each group: rows that cannot be among them are left out before they are sorted.
SET gpusort.min_rows = 0;
SET gpusort.enable_costs = off;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_incremental_sort = off;
SET timezone = 'UTC';

-- Groups of all types, in no order. Some NULLs and some long values come late, when keys have been made without them.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');
CREATE TABLE early AS
SELECT id, g, g::int2 i2, g::int8 - 3 i8, (g * 1.5)::numeric num, g::float4 / 3 f4, CASE g WHEN 0 THEN -0.0 WHEN 1 THEN 0.0 WHEN 2 THEN 'NaN' ELSE g / 7.0 END::float8 f8,
	date '2024-01-01' + g d, timestamptz '2024-01-01' + g * interval '1 hour' ts, g * interval '1 hour' iv, g % 2 = 0 b, md5(g::text)::uuid u, ('txt' || g) COLLATE "C" c,
	(repeat('the same beginning ', 1 + g % 3) || g) COLLATE "C" long, 'Text ' || g free, ARRAY[g % 3, NULL, g] arr, int4range(g, g + 5) r, to_jsonb(g) j,
	(enum_range(NULL::mood)) [1 + g % 3] e, ('10.0.0.' || g)::inet ip, decode(md5(g::text), 'hex') bytes,
	CASE WHEN id < 9500 OR id % 3 > 0 THEN g END late_null, CASE WHEN id > 9500 AND g = 7 THEN 123456789012345678901234567890.5 ELSE g END late_num,
	CASE WHEN id > 9500 AND g = 7 THEN repeat('x', 500) || id % 4 ELSE 'y' || g END COLLATE "C" late_txt,
	v, nullif(v % 13, 5) n, v::text COLLATE "C" vt, hashint4(id)::int8 * 1000003 w, repeat('pad', id % 9) pad
FROM (SELECT id, (hashint4(id) & 1023) % 20 g, (hashint4(id * 7) & 4095) % 300 v FROM generate_series(1, 12000) id) s;
ALTER TABLE early ADD large int;
UPDATE early SET large = hashint4(id * 3) & 4095;
VACUUM (ANALYZE, FULL) early;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/wrong_place.sql'
\i :include

-- Whether the last sort of a query has left out rows early.
CREATE FUNCTION leaves_out(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	left_out text := 'none';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Rows Left Out Early: \d+$' THEN
			left_out := CASE WHEN substring(line FROM '\d+$')::int > 10000 THEN 'most' ELSE 'some' END;
		END IF;
	END LOOP;
	RETURN left_out;
END $$;

SELECT leaves_out('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY w) r FROM early) s WHERE r <= 3');
SELECT leaves_out('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY c, b ORDER BY v DESC) r FROM early) s WHERE r <= 3');
SELECT leaves_out('SELECT * FROM (SELECT id, dense_rank() OVER (PARTITION BY u ORDER BY n) r FROM early) s WHERE r <= 3');
SELECT leaves_out('SELECT DISTINCT ON (g) * FROM early ORDER BY g, v, id');
SELECT leaves_out('SELECT DISTINCT g FROM early');
SELECT leaves_out('SELECT g, c FROM early GROUP BY g, c');
-- a part of the order suffices
SELECT leaves_out('SELECT DISTINCT ON (g) * FROM early ORDER BY g, v, free');
-- rows with the same keys as enough others, unless they are peers
SELECT leaves_out('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY b) r FROM early) s WHERE r <= 3');
SELECT leaves_out('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY g ORDER BY b) r FROM early) s WHERE r <= 3');
-- not if there is no order, groups are small, very many rows are wanted, or the count is not known in time
SELECT leaves_out('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY g) r FROM early) s WHERE r <= 3');
SELECT leaves_out('SELECT DISTINCT ON (id) * FROM early ORDER BY id, v');
SELECT leaves_out('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY w) r FROM early) s WHERE r <= 1001');
SELECT leaves_out('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY w) r FROM early) s WHERE r <= (SELECT 3)');
CREATE FUNCTION in_json(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_typeof(jsonb_path_query_first(plan, '$.**."Rows Left Out Early"'));
END $$;
SELECT in_json('SELECT DISTINCT ON (g) * FROM early ORDER BY g, v, id');

-- All answers are those of PostgreSQL.
CREATE TABLE cases (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO cases (query)
SELECT format('SELECT id FROM (SELECT DISTINCT ON (%s) id FROM early ORDER BY %1$s %s, id) s ORDER BY id', g, o)
FROM unnest('{i2,i8,num,f4,f8,d,ts,iv,b,u,c,long,free,arr,r,j,e,ip,bytes,late_null,late_num,late_txt,n,large,id,"g, c","late_null, u, b"}'::text[]) WITH ORDINALITY v (g, number),
	LATERAL (SELECT (ARRAY[', v', 'DESC, w', 'NULLS FIRST, n DESC', 'DESC NULLS LAST, late_txt, v', ', vt']) [1 + number % 5]) o (o);
INSERT INTO cases (query)
SELECT format('SELECT id FROM (SELECT id, %s OVER (PARTITION BY %s ORDER BY %s) r FROM early) s WHERE r %s ORDER BY id', f, g, o || CASE WHEN f = 'row_number()' THEN ', id' ELSE '' END, c)
FROM (VALUES ('row_number()'), ('rank()'), ('dense_rank()')) functions (f),
	(VALUES ('g'), ('late_null'), ('late_txt'), ('large')) groups (g),
	(VALUES ('v', '<= 1'), ('v DESC', '<= 3'), ('n', '<= 2'), ('n DESC, vt', '< 5'), ('late_num DESC, w', '= 2'), ('late_txt, v', '<= 30'), ('num, c, free', '<= 7'), ('free, v', '<= 1000')) orders (o, c);
INSERT INTO cases (query)
SELECT format('SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY v, id) r FROM (SELECT * FROM early ORDER BY %s OFFSET 0) s) s WHERE r <= 3 ORDER BY id', o)
FROM (VALUES ('v'), ('v DESC, id'), ('g, v DESC'), ('g, v'), ('late_null NULLS FIRST')) inputs (o);
SELECT count(*) FROM cases;
SELECT number, wrong_place(query), query FROM cases WHERE wrong_place(query) IS NOT NULL;

-- the same in runs
SET gpusort.work_mem = '64kB';
SELECT leaves_out('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY w) r FROM early) s WHERE r <= 3');
SELECT number, wrong_place(query), query FROM cases WHERE number % 3 = 0 AND wrong_place(query) IS NOT NULL;
RESET gpusort.work_mem;

-- below PostgreSQL's node for windows
SET gpusort.enable_windows = off;
SELECT leaves_out('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY w) r FROM early) s WHERE r <= 3');
SELECT number, wrong_place(query), query FROM cases WHERE number % 4 = 1 AND wrong_place(query) IS NOT NULL;
RESET gpusort.enable_windows;

-- each worker leaves out rows of its own
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT leaves_out('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY w) r FROM early) s WHERE r <= 3');
SELECT leaves_out('SELECT DISTINCT ON (g) * FROM early ORDER BY g, v, id');
SELECT number, wrong_place(query), query FROM cases WHERE number % 4 = 2 AND wrong_place(query) IS NOT NULL;
SET gpusort.work_mem = '64kB';
SELECT number, wrong_place(query), query FROM cases WHERE number % 7 = 0 AND wrong_place(query) IS NOT NULL;
RESET gpusort.work_mem;
SET parallel_leader_participation = off;
SELECT leaves_out('SELECT DISTINCT ON (g) * FROM early ORDER BY g, v, id');
SELECT number, wrong_place(query), query FROM cases WHERE number % 9 = 0 AND wrong_place(query) IS NOT NULL;
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;

-- rows that come in another order later, and are all wanted
SELECT leaves_out('SELECT * FROM (SELECT i, row_number() OVER (PARTITION BY i % 10 ORDER BY CASE WHEN i <= 20000 THEN i ELSE -i END) r FROM generate_series(1, 80000) i) s WHERE r <= 3');
SELECT wrong_place('SELECT i::bigint FROM (SELECT i, row_number() OVER (PARTITION BY i % 10 ORDER BY CASE WHEN i <= 20000 THEN i ELSE -i END) r FROM generate_series(1, 80000) i) s WHERE r <= 3 ORDER BY i');

-- counts that are known only when the query runs, and change
SET plan_cache_mode = force_generic_plan;
PREPARE first_rows (bigint) AS SELECT count(*), sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY v, id) r FROM early) s WHERE r < $1;
SELECT leaves_out('EXECUTE first_rows (3)');
EXECUTE first_rows (3);
EXECUTE first_rows (600);
EXECUTE first_rows (NULL);
EXECUTE first_rows (9223372036854775807);
SET gpusort.enable = off;
EXECUTE first_rows (3);
EXECUTE first_rows (600);
RESET gpusort.enable;
SELECT wrong_place('SELECT s.id FROM (VALUES (3), (1), (NULL), (40), (2)) v (k), LATERAL (SELECT id, row_number() OVER (PARTITION BY g ORDER BY v, id) r FROM early) s WHERE r <= k ORDER BY k, s.id');
SELECT wrong_place('SELECT s.id FROM (VALUES (3), (1), (40), (2)) v (k), LATERAL (SELECT id, rank() OVER (PARTITION BY g ORDER BY v) r FROM early WHERE v > k * 10) s WHERE r <= k ORDER BY k, s.id');
-- an error of a row comes before one of the count
SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY 1 / (id - 12000)) r FROM early) s WHERE r <= (SELECT min(c)::int FROM early);

-- forward and backward
BEGIN;
DECLARE there_and_back SCROLL CURSOR FOR SELECT DISTINCT ON (g) g, v, id FROM early ORDER BY g, v DESC, id;
FETCH 2 FROM there_and_back;
MOVE 15 FROM there_and_back;
FETCH 3 FROM there_and_back;
FETCH BACKWARD 2 FROM there_and_back;
COMMIT;

DROP TABLE early, cases;
DROP TYPE mood;
DROP FUNCTION leaves_out, in_json, wrong_place;
