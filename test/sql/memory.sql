-- Memory: rows beyond the setting go to core's sort, which spills them.
SET gpusort.min_rows = 0;
SET gpusort.work_mem = '1MB';
CREATE TABLE wide (k int, pad text);
ALTER TABLE wide SET (autovacuum_enabled = off);
-- estimates of an empty table: the sort looks small, and is taken over
ANALYZE wide;
CREATE FUNCTION sort_method(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Sort Method';
END $$;
CREATE FUNCTION many(n int) RETURNS SETOF wide ROWS 10 LANGUAGE plpgsql AS
	'BEGIN RETURN QUERY SELECT i * 7919 % 100003, repeat(''x'', 100) FROM generate_series(1, n) i; END';

SELECT sort_method('SELECT * FROM many(2000) ORDER BY k');
SELECT sort_method('SELECT * FROM many(50000) ORDER BY k');
SET gpusort.device = cuda;
SELECT sort_method('SELECT * FROM many(50000) ORDER BY k');
SELECT count(*), bool_and(previous <= k), sum(length(pad))
FROM (SELECT k, pad, lag(k, 1, 0) OVER () previous FROM (SELECT * FROM many(50000) ORDER BY k OFFSET 0) s) s;

BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM many(50000) ORDER BY k;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
FETCH FIRST FROM c;
COMMIT;
DROP FUNCTION many, sort_method;
DROP TABLE wide;
