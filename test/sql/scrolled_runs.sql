-- Spilled sorts that are read in any direction: rows of all lengths, with and without NULLs, larger than what is read at once.
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE lengths AS
SELECT i id, hashint4(i) k, nullif(i % 4, 0) gap, CASE WHEN i % 997 = 0 THEN repeat(md5(i::text), 3000 + i / 997) WHEN i % 97 = 0 THEN
	repeat(md5(i::text), 300) WHEN i % 2 = 0 THEN repeat('x', i % 200) END pad
FROM generate_series(1, 6000) i;
ALTER TABLE lengths ALTER pad SET STORAGE EXTERNAL;
UPDATE lengths SET pad = pad;
ANALYZE lengths;

-- Moves about in a query's rows, at random by the seed; returns a digest of the rows seen, and whether the sort has spilled.
CREATE FUNCTION walk(query text, seed float8, OUT digest text, OUT spilled bool) LANGUAGE plpgsql AS $$
DECLARE
	rows CONSTANT refcursor := 'walked';
	r record;
	before bigint;
BEGIN
	SELECT value FROM gpusort_stats WHERE name = 'sorts_spilled' INTO before;
	EXECUTE format('DECLARE walked SCROLL CURSOR FOR %s', query);
	PERFORM setseed(seed);
	digest := '';
	FOR i IN 1 .. 300 LOOP
		CASE (random() * 9)::int
			WHEN 0 THEN FETCH FIRST FROM rows INTO r;
			WHEN 1 THEN FETCH LAST FROM rows INTO r;
			WHEN 2 THEN FETCH RELATIVE (random() * 2000)::int - 1000 FROM rows INTO r;
			WHEN 3 THEN FETCH ABSOLUTE (random() * 13000)::int - 6500 FROM rows INTO r;
			WHEN 4, 5, 6 THEN FETCH PRIOR FROM rows INTO r;
			ELSE FETCH NEXT FROM rows INTO r;
		END CASE;
		digest := md5(digest || coalesce(r::text, 'none'));
	END LOOP;
	CLOSE rows;
	SELECT value > before FROM gpusort_stats WHERE name = 'sorts_spilled' INTO spilled;
END $$;
CREATE FUNCTION walks(query text) RETURNS TABLE (device text, work_mem text, seed float8, outcome text) LANGUAGE plpgsql AS $$
DECLARE
	native text;
	ours record;
BEGIN
	FOREACH seed IN ARRAY '{0.1,0.2}'::float8[] LOOP
		PERFORM set_config('gpusort.enable', 'off', true);
		native := (walk(query, seed)).digest;
		PERFORM set_config('gpusort.enable', 'on', true);
		FOREACH device IN ARRAY '{host,cuda}'::text[] LOOP
			FOREACH work_mem IN ARRAY '{64kB,150kB}'::text[] LOOP
				PERFORM set_config('gpusort.device', device, true), set_config('gpusort.work_mem', work_mem, true);
				ours := walk(query, seed);
				outcome := CASE WHEN NOT ours.spilled THEN 'not spilled' WHEN ours.digest <> native THEN 'not as without gpusort' END;
				IF outcome IS NOT NULL THEN
					RETURN NEXT;
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM walks('SELECT * FROM lengths ORDER BY k, id');
SELECT * FROM walks('SELECT * FROM lengths ORDER BY gap NULLS FIRST, pad COLLATE "C" DESC, id');
SELECT * FROM walks('SELECT id, k FROM lengths ORDER BY k, id');

-- marks
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET work_mem = '64kB';
CREATE FUNCTION joined() RETURNS text LANGUAGE sql AS
	$$ SELECT count(*) || ' ' || sum(hashint8(a.id * 10000 + b.id)) || ' ' || sum(length(b.pad)) FROM lengths a JOIN lengths b ON a.k % 500 = b.k % 500 $$;
SELECT joined() AS ours \gset
SET gpusort.enable = off;
SELECT joined() = :'ours' AS same;
RESET gpusort.enable;
DROP FUNCTION joined, walks, walk;
DROP TABLE lengths;
