-- Columns that are taken off rows, or stay where they are in a table, under
-- nodes that have numbers of columns in arrays of their own.
SET gpusort.device = host;
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE rewritten WITH (parallel_workers = 2) AS
SELECT 'k' || (i % 10) k, (i * 7919) % 1000 + 1 a, i + 1000 b, 'x' || i % 700 x FROM generate_series(1, 20000) i;
ANALYZE rewritten;

-- names of constants, which the nodes above share with a Sort
SELECT 'a'::text AS letter, a AS first, 5 AS five FROM rewritten ORDER BY a, b OFFSET 19998;
SELECT 'a'::text AS letter, a AS first, 5 AS five FROM rewritten ORDER BY a, b LIMIT 2 OFFSET 19998;

-- The rows of a query as a set, with gpusort and without, when the query is not
-- a part of another one.
CREATE FUNCTION digest(query text, OUT nrows int, OUT hash numeric) LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	nrows := 0;
	hash := 0;
	FOR r IN EXECUTE query LOOP
		nrows := nrows + 1;
		hash := hash + hashtextextended(r::text, 0);
	END LOOP;
END $$;
CREATE FUNCTION compare(query text, OUT nrows int, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	native record;
	ours record;
BEGIN
	PERFORM set_config('gpusort.enable', 'off', true);
	native := digest(query);
	PERFORM set_config('gpusort.enable', 'on', true);
	ours := digest(query);
	nrows := ours.nrows;
	same := native = ours;
END $$;

-- columns in another order than the table's, below a window
SELECT * FROM compare('SELECT *, min(b) OVER () n FROM (SELECT b, a, k, x FROM rewritten ORDER BY k FETCH FIRST 15000 ROWS WITH TIES) q');
SELECT * FROM compare('SELECT *, min(b) OVER () n FROM (SELECT b, a, k, x FROM rewritten ORDER BY a FETCH FIRST 15001 ROWS WITH TIES) q');
SELECT * FROM compare('SELECT *, min(b) OVER () n FROM (SELECT x, b, a, k FROM rewritten ORDER BY b, a FETCH FIRST 15001 ROWS WITH TIES) q');
SELECT * FROM compare('SELECT *, rank() OVER (ORDER BY k) n FROM (SELECT b, a, k, x FROM rewritten ORDER BY k FETCH FIRST 15000 ROWS WITH TIES) q');
SELECT * FROM compare('SELECT *, min(b) OVER () n FROM (SELECT * FROM (SELECT b, a, k, x FROM rewritten ORDER BY k, b FETCH FIRST 15000 ROWS WITH TIES) p LIMIT 14990) q');

-- a copy of a column, for a collation
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, x FROM rewritten ORDER BY x COLLATE "POSIX" OFFSET 11999 FETCH FIRST 2 ROWS WITH TIES;
SELECT * FROM compare('SELECT x FROM rewritten ORDER BY x COLLATE "POSIX" OFFSET 11999 FETCH FIRST 2 ROWS WITH TIES');
SELECT * FROM compare('SELECT a, x FROM rewritten ORDER BY x COLLATE "POSIX", a FETCH FIRST 15000 ROWS WITH TIES');
SELECT * FROM compare('SELECT x, k FROM rewritten ORDER BY k COLLATE "POSIX" DESC, x COLLATE "POSIX" FETCH FIRST 15000 ROWS WITH TIES');
SELECT * FROM compare('SELECT *, min(b) OVER () n FROM (SELECT b, a, k, x FROM rewritten ORDER BY x COLLATE "POSIX" FETCH FIRST 15000 ROWS WITH TIES) q');
-- windows, groups, joins and limits that emit the copy
SELECT * FROM compare('SELECT x, count(*) OVER (PARTITION BY k) n FROM rewritten ORDER BY x COLLATE "POSIX" FETCH FIRST 15000 ROWS WITH TIES');
SELECT * FROM compare('SELECT * FROM (SELECT x, k, rank() OVER (PARTITION BY k ORDER BY a) r FROM rewritten) q WHERE r < 500 ORDER BY x COLLATE "POSIX" FETCH FIRST 2000 ROWS WITH TIES');
SELECT * FROM compare('SELECT x, count(*) FROM rewritten GROUP BY x ORDER BY x COLLATE "POSIX" FETCH FIRST 600 ROWS WITH TIES');
SELECT * FROM compare('SELECT r.x FROM rewritten r JOIN rewritten s ON r.b = s.a + 1000 ORDER BY r.x COLLATE "POSIX" FETCH FIRST 15000 ROWS WITH TIES');
SELECT * FROM compare('SELECT * FROM (SELECT x, k FROM rewritten ORDER BY k, b LIMIT 19000) q ORDER BY x COLLATE "POSIX" FETCH FIRST 18990 ROWS WITH TIES');
SELECT * FROM compare('SELECT DISTINCT ON (k COLLATE "POSIX") k, x FROM rewritten ORDER BY k COLLATE "POSIX", x, b FETCH FIRST 3 ROWS WITH TIES');

-- with parallel workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, x FROM rewritten ORDER BY x COLLATE "POSIX" OFFSET 11999 FETCH FIRST 2 ROWS WITH TIES;
SELECT * FROM compare('SELECT x FROM rewritten ORDER BY x COLLATE "POSIX" OFFSET 11999 FETCH FIRST 2 ROWS WITH TIES');
SELECT * FROM compare('SELECT *, min(b) OVER () n FROM (SELECT b, a, k, x FROM rewritten ORDER BY k FETCH FIRST 15000 ROWS WITH TIES) q');
SELECT * FROM compare('SELECT *, min(b) OVER () n FROM (SELECT b, a, k, x FROM rewritten ORDER BY x COLLATE "POSIX" FETCH FIRST 15000 ROWS WITH TIES) q');

DROP FUNCTION compare, digest;
DROP TABLE rewritten;
