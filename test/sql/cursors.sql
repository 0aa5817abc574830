-- Cursors, marks and rescans: positions are those of the native sort.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
CREATE TABLE numbers AS SELECT i * 7919 % 1009 k FROM generate_series(1, 1008) i;
ANALYZE numbers;

BEGIN;
EXPLAIN (COSTS OFF) DECLARE c SCROLL CURSOR FOR SELECT k FROM numbers ORDER BY k;
DECLARE c SCROLL CURSOR FOR SELECT k FROM numbers ORDER BY k;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH 1 FROM c;
FETCH LAST FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 500 FROM c;
FETCH RELATIVE -100 FROM c;
FETCH FIRST FROM c;
FETCH ABSOLUTE -3 FROM c;
MOVE FORWARD ALL FROM c;
FETCH BACKWARD 2 FROM c;
MOVE BACKWARD ALL FROM c;
FETCH FORWARD 2 FROM c;
CLOSE c;
-- a first fetch from the end
DECLARE d SCROLL CURSOR FOR SELECT k FROM numbers ORDER BY k DESC;
FETCH LAST FROM d;
FETCH PRIOR FROM d;
-- rows to which a column is added that they are sorted without
DECLARE e SCROLL CURSOR FOR
	SELECT k FROM (SELECT k FROM (SELECT k::text FROM numbers OFFSET 0) n ORDER BY k COLLATE "C" DESC OFFSET 0) s;
FETCH 2 FROM e;
FETCH ABSOLUTE 500 FROM e;
FETCH PRIOR FROM e;
FETCH LAST FROM e;
FETCH NEXT FROM e;
FETCH PRIOR FROM e;
DECLARE h CURSOR WITH HOLD FOR SELECT k FROM numbers ORDER BY k;
COMMIT;
FETCH 2 FROM h;
CLOSE h;

-- rescans, with the same and with other parameters
SET enable_material = off;
SET enable_memoize = off;
SELECT o, (SELECT string_agg(k::text, ',') FROM (SELECT k FROM numbers WHERE k % 100 = o ORDER BY k DESC) s) FROM generate_series(1, 3) o;
SELECT o, l.* FROM generate_series(1, 2) o, LATERAL (SELECT count(*), min(k), max(k) FROM (SELECT k FROM numbers WHERE k > o * 500 ORDER BY k OFFSET 2) s) l;
SELECT count(*), sum(a.k) FROM generate_series(1, 3) o LEFT JOIN (SELECT k FROM numbers ORDER BY k OFFSET 0) a ON a.k <= o;

-- marks, in a merge join with duplicates on both sides
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(a.k) FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 10;
SELECT count(*), sum(a.k) FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 10;

-- loops of PL/pgSQL
DO $$
DECLARE
	previous int := 0;
	r record;
BEGIN
	FOR r IN SELECT k FROM numbers ORDER BY k LOOP
		IF r.k <> previous + 1 THEN
			RAISE 'expected %, have %', previous + 1, r.k;
		END IF;
		previous := r.k;
	END LOOP;
END $$;
DROP TABLE numbers;
