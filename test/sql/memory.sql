-- Memory: rows beyond the setting go to temporary files, in sorted runs that are merged.
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION explain_sort(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan';
END $$;
CREATE FUNCTION sort_method(query text) RETURNS text LANGUAGE sql AS $$ SELECT explain_sort(query) ->> 'Sort Method' $$;
CREATE FUNCTION sort_disk(query text) RETURNS bigint LANGUAGE sql AS $$ SELECT (explain_sort(query) ->> 'Disk')::bigint $$;

-- whether a sort spills turns out as the rows come, whatever was expected
CREATE TABLE wide (k int, pad text);
CREATE FUNCTION many(n int) RETURNS SETOF wide ROWS 10 LANGUAGE plpgsql AS
	'BEGIN RETURN QUERY SELECT i * 7919 % 100003, repeat(''x'', 100) FROM generate_series(1, n) i; END';
SET gpusort.work_mem = '1MB';
SELECT sort_method('SELECT * FROM many(2000) ORDER BY k');
SELECT sort_method('SELECT * FROM many(50000) ORDER BY k') ~ '^radix sort, merge of [5-9] runs$' AS in_runs;
SET gpusort.device = cuda;
SELECT sort_method('SELECT * FROM many(50000) ORDER BY k') ~ '^radix sort, merge of [5-9] runs by gpusortd$' AS in_runs;
SET gpusort.work_mem = '64kB';
SELECT sort_method('SELECT * FROM many(50000) ORDER BY k') ~ '^radix sort, merge of [0-9]{3} runs by gpusortd$' AS more_than_merge_at_once;
RESET gpusort.device;
SET gpusort.work_mem = '64kB';
SELECT sort_method('SELECT * FROM many(50000) ORDER BY k') ~ '^radix sort, merge of [0-9]{3} runs$' AS more_than_merge_at_once;
-- a merge writes its output over what it has read: 5.4 MB of rows; in other places it would take more than 15
SELECT sort_disk('SELECT * FROM many(50000) ORDER BY k') BETWEEN 5000 AND 10000 AS written_over;
RESET gpusort.work_mem;

-- Rows that come in another way each time: keys of all kinds, some of them truncated, or not of the layout that sufficed for earlier runs;
-- rows that are larger than the whole memory; toasted rows.
CREATE TABLE rows AS
SELECT i id, i % 7 few, CASE WHEN i > 6000 AND i % 10 = 0 THEN NULL ELSE hashint4(i) END late_null,
	CASE WHEN i < 5000 THEN i * 1.5 ELSE i * 1e20 END::numeric late_long,
	md5((i % 3500)::text) txt, repeat(chr(97 + i % 2), 240) || hashint4(i) % 1000 cut, ARRAY[hashint4(i) % 5, i] pair,
	CASE WHEN i % 2500 = 0 THEN repeat(md5(i::text), 4000) WHEN i % 500 = 0 THEN repeat(i::text || ' ', 700) ELSE repeat('p', i % 90) END pad
FROM generate_series(1, 8000) i;
ALTER TABLE rows ALTER pad SET STORAGE EXTERNAL;
INSERT INTO rows SELECT i, 1, i, i, 'external', 'external', ARRAY[i], repeat(md5(i::text), 3000) FROM generate_series(8001, 8005) i;
ANALYZE rows;

-- the digest of the rows in order; whether it is the same as without gpusort, and the sort has spilled
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(int8send(hashtextextended(r::text, 0)), '''')) FROM (%s OFFSET 0) r', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION native_digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	native text;
BEGIN
	SET LOCAL gpusort.enable = off;
	native := digest(query);
	SET LOCAL gpusort.enable = on;
	RETURN native;
END $$;
CREATE FUNCTION spills(query text, native text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	SELECT value FROM gpusort_stats WHERE name = 'sorts_spilled' INTO before;
	IF digest(query) <> native THEN
		RETURN 'not as without gpusort';
	END IF;
	RETURN CASE WHEN value > before THEN 'as without gpusort' ELSE 'not spilled' END FROM gpusort_stats WHERE name = 'sorts_spilled';
END $$;
CREATE FUNCTION spills_all_ways(query text) RETURNS TABLE (device text, work_mem text, outcome text) LANGUAGE plpgsql AS $$
DECLARE
	native text := native_digest(query);
BEGIN
	FOREACH device IN ARRAY '{host,cuda}'::text[] LOOP
		FOREACH work_mem IN ARRAY '{64kB,300kB}'::text[] LOOP
			PERFORM set_config('gpusort.device', device, true), set_config('gpusort.work_mem', work_mem, true);
			outcome := spills(query, native);
			IF outcome <> 'as without gpusort' THEN
				RETURN NEXT;
			END IF;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY id');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY id DESC');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY few, hashint4(id), id');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY late_null NULLS FIRST, id');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY late_null DESC, id');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY late_long, id');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY txt, id');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY txt COLLATE "en-x-icu" DESC, id');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY cut, id DESC');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY cut COLLATE "en-x-icu", id DESC');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY pair');
SELECT * FROM spills_all_ways('SELECT * FROM rows ORDER BY pad, id');
SELECT * FROM spills_all_ways('SELECT id, few, pad FROM rows ORDER BY few, id::text::tsvector');
SELECT * FROM spills_all_ways('SELECT few, repeat(few::text, 50) FROM rows ORDER BY few');

-- gpusortd tells where the next row is if keys were exact and of one layout
SET gpusort.device = cuda;
SET gpusort.work_mem = '300kB';
SELECT columns, sort_method('SELECT * FROM rows ORDER BY ' || columns) ~ 'by gpusortd$' AS by_gpusortd
FROM unnest('{"txt, id", "late_null", "cut", "few, id::text::tsvector", "txt COLLATE \"en-x-icu\""}'::text[]) columns;
RESET gpusort.device;

-- rows that are wanted again or backward
SET gpusort.work_mem = '64kB';
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM many(50000) ORDER BY k;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 25000 FROM c;
FETCH FIRST FROM c;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
DECLARE held CURSOR WITH HOLD FOR SELECT k FROM many(50000) ORDER BY k;
DECLARE dropped CURSOR FOR SELECT k FROM many(50000) ORDER BY k;
FETCH dropped;
COMMIT;
FETCH 2 FROM held;
CLOSE held;

-- merge joins mark places in the inner side and go back to them
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(a.id * b.id % 1000) FROM rows a JOIN rows b ON a.txt = b.txt;
SELECT count(*), sum(a.id * b.id % 1000) FROM rows a JOIN rows b ON a.txt = b.txt;
SET gpusort.enable = off;
SELECT count(*), sum(a.id * b.id % 1000) FROM rows a JOIN rows b ON a.txt = b.txt;
RESET gpusort.enable;
RESET enable_hashjoin;

-- sorted anew for each row of the outer side, and kept for all of them
SET enable_nestloop = on;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT o, (SELECT string_agg(id::text, ' ') FROM (SELECT id FROM (SELECT id FROM rows WHERE few >= o ORDER BY txt, id OFFSET 0) s LIMIT 3) s) FROM generate_series(4, 6) o;
SELECT count(*), sum(id) FROM generate_series(1, 3) o, LATERAL (SELECT id FROM rows ORDER BY txt, id OFFSET 3) s WHERE id % o = 0;
RESET enable_mergejoin;
RESET enable_material;

-- not more of the disk than is allowed
\set VERBOSITY sqlstate
SET temp_file_limit = '1MB';
SELECT sum(length(s::text)) FROM (SELECT * FROM rows ORDER BY id DESC OFFSET 0) s;
RESET temp_file_limit;
\set VERBOSITY default
SELECT sum(length(s::text)) FROM (SELECT * FROM rows ORDER BY id DESC OFFSET 0) s;

-- a little memory stays for the next sort, and no more than the next sort may have
CREATE FUNCTION kept() RETURNS numeric LANGUAGE sql AS
	$$ SELECT round(total_bytes / 1024.0 / 1024, 1) FROM pg_backend_memory_contexts WHERE name = 'gpusort blocks of rows' $$;
SET gpusort.work_mem = '100MB';
SELECT sort_method('SELECT * FROM many(200000) ORDER BY k');
SELECT kept() BETWEEN 8 AND 16.1 AS kept;
SELECT sort_method('SELECT * FROM many(200000) ORDER BY k');
SELECT kept() BETWEEN 8 AND 16.1 AS kept;
SET gpusort.work_mem = '1MB';
SELECT sort_method('SELECT * FROM many(50000) ORDER BY k') ~ 'merge of' AS in_runs;
SELECT kept() BETWEEN 0.5 AND 1.1 AS kept;
RESET gpusort.work_mem;

-- If rows are wide compared with blocks of rows, as many stay in memory as in PostgreSQL's own sort, less one in twenty at most. All memory
-- of the sort is within the setting, also if widths differ and rows go to files.
CREATE FUNCTION used() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'gpusort%' $$;
CREATE FUNCTION wide_rows(width int, spread int, n numeric, looks bool) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT hashint4(i) k, repeat(''x'', %s + abs(hashint4(i) %% %s)) pad, CASE WHEN %L AND i %% (%s / 50) = 0 THEN used() END used'
		' FROM generate_series(1, %s) i OFFSET 0', width, spread, looks, ceil(n / 50) * 50, ceil(n)) $$;
CREATE FUNCTION most_used(rows text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	most bigint;
	length bigint;
BEGIN
	EXECUTE format('SELECT max(used), sum(length(pad)) FROM (SELECT * FROM (%s) r ORDER BY k OFFSET 0) s', rows) INTO most, length;
	RETURN most;
END $$;
SET gpusort.work_mem = '4MB';
SELECT width, n, sort_method(format('SELECT * FROM (%s) r ORDER BY k', wide_rows(width, 1, n, false)))
FROM (VALUES (8000, 490), (40000, 100), (100000, 40)) v (width, n);
SELECT width, spread, most_used(wide_rows(width, spread, 6e6 / (width + spread / 2), true)) BETWEEN 3500000 AND pg_size_bytes('4MB') + 32768 AS within
FROM (VALUES (2700, 1), (8000, 1), (100000, 1), (1, 4000), (1, 30000), (1, 100000)) v (width, spread);
SET gpusort.work_mem = '64MB';
SELECT width, n, sort_method(format('SELECT * FROM (%s) r ORDER BY k', wide_rows(width, 1, n, false)))
FROM (VALUES (8000, 8200), (40000, 1650), (200000, 330)) v (width, n);
SELECT width, spread, most_used(wide_rows(width, spread, 75e6 / (width + spread / 2), true)) BETWEEN 60000000 AND pg_size_bytes('64MB') + 32768 AS within
FROM (VALUES (40000, 1), (1000000, 1), (1, 80000), (1, 1000000)) v (width, spread);

-- Rows in order have no keys. If there is no room for all keys, the first row that is not in order is taken back: among wide and narrow
-- rows.
SET gpusort.work_mem = '64kB';
SELECT count(*), count(*) FILTER (WHERE spills(query, native_digest(query)) = 'not as without gpusort') AS wrong
FROM (SELECT format('SELECT * FROM (SELECT CASE WHEN i < %s THEN ''m'' ELSE ''a'' END || i + 1000 k, repeat(''x'', CASE WHEN i %% 9 IN (%s) THEN 4500 ELSE i %% 9 END) pad'
		' FROM generate_series(1, %s + 20) i OFFSET 0) r ORDER BY k COLLATE "C"', at, wide, at) AS query
	FROM generate_series(2, 100) at, unnest('{"0", "0, 1", "0, 1, 2, 3"}'::text[]) wide) q;
RESET gpusort.work_mem;

DROP FUNCTION used, wide_rows, most_used;
DROP FUNCTION many, kept, explain_sort, sort_method, sort_disk, digest, native_digest, spills, spills_all_ways;
DROP TABLE wide, rows;
