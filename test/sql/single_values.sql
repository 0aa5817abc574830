-- Sorts of a single by-value column: they keep values in place of rows, and count NULLs.
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
CREATE TYPE size AS ENUM ('small', 'large', 'medium');
CREATE TABLE singles AS
SELECT i id, hashint4(i) k, nullif(hashint4(i) % 7, 0) few, NULL::int nothing, nullif(i % 3, 0) = 1 yes, ('x' || chr(40 + i % 80))::"char" letter,
	(i % 300)::int2 i2, nullif(hashint8(i) * 4294967296, hashint8(42) * 4294967296) i8,
	CASE i % 11 WHEN 0 THEN '-0' WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN '0' WHEN 4 THEN NULL ELSE hashint4(i) / 7.0 END::float8 f8,
	(hashint4(i) / 7.0)::float4 f4, date '2000-01-01' + hashint4(i) % 20000 d,
	CASE WHEN i % 5 > 0 THEN timestamptz '2000-01-01 00:00Z' + hashint4(i) * interval '1 second' END t, hashint4(i)::money m,
	(enum_range(NULL::size))[1 + i % 4] s, i::oid o
FROM generate_series(1, 7000) i;
ANALYZE singles;

-- the rows of a query, in order; the zeros and the NaNs are equal, and in any order
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
	ordered text := '';
	any_order numeric := 0;
BEGIN
	FOR value IN EXECUTE query LOOP
		ordered := md5(ordered || CASE value WHEN '-0' THEN '0' ELSE coalesce(value, 'none') END);
		any_order := any_order + hashtext(coalesce(value, 'none'));
	END LOOP;
	RETURN ordered || any_order;
END $$;
CREATE FUNCTION differences(query text) RETURNS TABLE (statement text, device text, work_mem text) LANGUAGE plpgsql AS $$
DECLARE
	native text;
BEGIN
	statement := query;
	PERFORM set_config('gpusort.enable', 'off', true);
	native := digest(query);
	PERFORM set_config('gpusort.enable', 'on', true);
	FOREACH device IN ARRAY '{host,cuda}'::text[] LOOP
		FOREACH work_mem IN ARRAY '{64kB,4MB}'::text[] LOOP
			PERFORM set_config('gpusort.device', device, true), set_config('gpusort.work_mem', work_mem, true);
			IF digest(query) <> native THEN
				RETURN NEXT;
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- all types and orders
SELECT differences(format('SELECT %I FROM singles ORDER BY 1 %s', attname, direction))
FROM pg_attribute, unnest('{ASC,DESC,ASC NULLS FIRST,DESC NULLS LAST}'::text[]) direction
WHERE attrelid = 'singles'::regclass AND attnum > 0;

-- what a sort keeps of the rows
CREATE FUNCTION method(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'GpuSort|Method|Rows:' THEN
			RETURN NEXT regexp_replace(line, ' *\(actual.*| of \d+ runs', '');
		END IF;
	END LOOP;
END $$;
SET work_mem = '64kB';
SELECT * FROM method('SELECT k FROM singles ORDER BY k');
SELECT * FROM method('SELECT few FROM singles ORDER BY few DESC');
SELECT * FROM method('SELECT nothing FROM singles ORDER BY nothing');
RESET work_mem;

-- some rows of each value
SELECT differences(query)
FROM unnest(ARRAY[
	'SELECT DISTINCT ON (few) few FROM singles ORDER BY few',
	'SELECT DISTINCT ON (i8) i8 FROM singles ORDER BY i8 DESC',
	'SELECT DISTINCT ON (nothing) nothing FROM singles ORDER BY nothing',
	'SELECT few FROM (SELECT few, row_number() OVER (PARTITION BY few) n FROM singles) s WHERE n <= 3',
	'SELECT few FROM (SELECT few, row_number() OVER (PARTITION BY few ORDER BY few DESC NULLS FIRST) n FROM singles) s WHERE n <= 3',
	'SELECT few FROM (SELECT few, rank() OVER (PARTITION BY few ORDER BY few) n FROM singles) s WHERE n <= 3',
	'SELECT nothing FROM (SELECT nothing, dense_rank() OVER (PARTITION BY nothing ORDER BY nothing) n FROM singles) s WHERE n <= 3',
	'SELECT count(DISTINCT few) || '' '' || count(DISTINCT nothing) || '' '' || count(DISTINCT i8) FROM singles',
	'SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY few) FROM singles',
	'SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY t) FROM singles',
	'SELECT few FROM singles ORDER BY few NULLS FIRST OFFSET 990 LIMIT 20',
	'SELECT few FROM singles ORDER BY few OFFSET 5990 LIMIT 2000']) query;

-- only the first rows of more than were expected: PostgreSQL's heap takes the values over, and the NULLs
PREPARE first_rows(int) AS SELECT few FROM singles WHERE id % 1 = 0 ORDER BY few NULLS FIRST LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT method('EXECUTE first_rows(30)');
SELECT differences(query) FROM unnest('{EXECUTE first_rows(30),EXECUTE first_rows(200)}'::text[]) query;
DEALLOCATE first_rows;

-- in any direction, in memory and in files
CREATE FUNCTION walk(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows CONSTANT refcursor := 'walked';
	r record;
	digest text := '';
BEGIN
	EXECUTE format('DECLARE walked SCROLL CURSOR FOR %s', query);
	PERFORM setseed(0.3);
	FOR i IN 1 .. 600 LOOP
		CASE (random() * 9)::int
			WHEN 0 THEN FETCH FIRST FROM rows INTO r;
			WHEN 1 THEN FETCH LAST FROM rows INTO r;
			WHEN 2 THEN FETCH ABSOLUTE (985 + random() * 30)::int FROM rows INTO r;
			WHEN 3 THEN FETCH ABSOLUTE (5985 + random() * 30)::int FROM rows INTO r;
			WHEN 4, 5, 6 THEN FETCH PRIOR FROM rows INTO r;
			ELSE FETCH NEXT FROM rows INTO r;
		END CASE;
		digest := md5(digest || coalesce(r::text, 'none'));
	END LOOP;
	CLOSE rows;
	RETURN digest;
END $$;
SELECT differences(format('SELECT walk(%L)', query))
FROM unnest(ARRAY[
	'SELECT few FROM singles ORDER BY few',
	'SELECT few FROM singles ORDER BY few DESC',
	'SELECT k FROM singles ORDER BY k',
	'SELECT nothing FROM singles ORDER BY nothing',
	'SELECT k FROM singles WHERE k IS NULL ORDER BY k']) query;

-- marks
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT differences(query)
FROM unnest(ARRAY[
	'SELECT a.i2 FROM (SELECT i2 FROM singles WHERE id < 3000) a JOIN (SELECT i2 FROM singles) b USING (i2)',
	'SELECT b.few FROM (SELECT few FROM singles) a FULL JOIN (SELECT few FROM singles WHERE id < 900) b USING (few)']) query;

DROP FUNCTION walk, method, differences, digest;
DROP TABLE singles;
DROP TYPE size;
