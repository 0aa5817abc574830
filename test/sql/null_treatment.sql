-- Window functions with IGNORE NULLS and RESPECT NULLS, which PostgreSQL has from 19 on. t/053 draws queries.
SELECT current_setting('server_version_num')::int < 190000 AS too_old \gset
\if :too_old
	\quit
\endif
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = on;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_incremental_sort = off;

-- some NULLs, long runs of NULLs, and NULLs only
CREATE TABLE readings AS
SELECT id, id % 7 g, id % 250 peer, CASE WHEN id % 3 = 0 THEN id * 7919 % 10007 END third, CASE WHEN id % 2000 > 1980 THEN id END rare, NULL::int missing,
	CASE WHEN id % 5 > 2 THEN 'reading ' || id END word
FROM generate_series(1, 10000) id;
ANALYZE readings;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/windows.sql'
\i :include
\set node GpuSortWindow
\set include :test '/include/same.sql'
\i :include

-- Plans
SELECT plan_of('SELECT lag(third, 2) IGNORE NULLS OVER w, lag(third, 2) OVER w, first_value(word) RESPECT NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)');
-- without IGNORE NULLS core may fail with this frame
SELECT plan_of('SELECT nth_value(id, 2) IGNORE NULLS OVER (PARTITION BY g ORDER BY peer GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING EXCLUDE TIES) FROM readings');
-- functions that core will refuse are left to it
SELECT plan_of('SELECT rank() RESPECT NULLS OVER (PARTITION BY g ORDER BY id), lag(id) OVER (PARTITION BY g ORDER BY id) FROM readings');

-- Shifts
SELECT same('SELECT id, lag(third) IGNORE NULLS OVER w, lead(third) IGNORE NULLS OVER w, lag(rare) IGNORE NULLS OVER w, lead(rare) IGNORE NULLS OVER w, lag(missing) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)');
SELECT same('SELECT id, lag(third, 5, -1) IGNORE NULLS OVER w, lead(rare, 30, -1) IGNORE NULLS OVER w, lag(rare, 0, -1) IGNORE NULLS OVER w, lead(missing, 1, -1) IGNORE NULLS OVER w FROM readings WINDOW w AS (ORDER BY id)');
SELECT same('SELECT id, lag(third, id % 9 - 4, -1) IGNORE NULLS OVER w, lead(rare, nullif(id % 5, 3), id) IGNORE NULLS OVER w, lag(word, -3) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)');
-- Frames
SELECT same('SELECT id, first_value(third) IGNORE NULLS OVER w, last_value(rare) IGNORE NULLS OVER w, nth_value(word, 3) IGNORE NULLS OVER w, nth_value(third, id % 40 + 1) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)');
SELECT same('SELECT id, last_value(third) IGNORE NULLS OVER w, last_value(word) IGNORE NULLS OVER w, last_value(missing) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id ROWS UNBOUNDED PRECEDING)');
SELECT same('SELECT id, first_value(rare) IGNORE NULLS OVER w, last_value(rare) IGNORE NULLS OVER w, nth_value(third, 2) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN 100 PRECEDING AND 50 PRECEDING)');
SELECT same('SELECT id, first_value(rare) IGNORE NULLS OVER w, last_value(third) IGNORE NULLS OVER w, nth_value(third, 2) IGNORE NULLS OVER w FROM readings WINDOW w AS (ORDER BY id ROWS BETWEEN 3 FOLLOWING AND 1 FOLLOWING)');
SELECT same('SELECT id, first_value(rare) IGNORE NULLS OVER w, last_value(rare) IGNORE NULLS OVER w, nth_value(third, 2) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id RANGE BETWEEN 40 PRECEDING AND 20 FOLLOWING)');
SELECT same('SELECT id, first_value(third) IGNORE NULLS OVER w, last_value(word) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY peer, id GROUPS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING)');
-- Frames that exclude rows; a row is left out only while it is excluded
SELECT same('SELECT id, first_value(third) IGNORE NULLS OVER w, last_value(third) IGNORE NULLS OVER w, nth_value(word, 2) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND 4 FOLLOWING EXCLUDE CURRENT ROW)');
SELECT same('SELECT id, first_value(nullif(peer % 3, 1)) IGNORE NULLS OVER w, last_value(nullif(peer % 3, 1)) IGNORE NULLS OVER w, nth_value(nullif(peer % 3, 1), 3) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY peer RANGE BETWEEN 20 PRECEDING AND CURRENT ROW EXCLUDE GROUP)');
SELECT same('SELECT id, first_value(peer) IGNORE NULLS OVER w, last_value(peer) IGNORE NULLS OVER w, nth_value(peer, 30) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY peer RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING EXCLUDE TIES)');
-- Run conditions and a limit of the sort
SELECT same('SELECT * FROM (SELECT id, row_number() OVER w r, lag(third) IGNORE NULLS OVER w, first_value(rare) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)) s WHERE r <= 300');
-- In little memory, where rows that are looked at again go to a file
SET work_mem = '64kB';
SELECT same('SELECT id, lag(word, 40) IGNORE NULLS OVER w, lead(rare) IGNORE NULLS OVER w, last_value(word) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 20 FOLLOWING)');
SELECT same('SELECT id, lag(rare, id % 3) IGNORE NULLS OVER w, nth_value(word, 100) IGNORE NULLS OVER w, last_value(third) IGNORE NULLS OVER w FROM readings WHERE id <= 3000 WINDOW w AS (ORDER BY id ROWS BETWEEN 500 PRECEDING AND 7 PRECEDING EXCLUDE CURRENT ROW)');
SET work_mem = '64MB';
-- Volatile arguments are evaluated as often as in core
SELECT same_calls('SELECT id, lag(nullif(nextval(''calls'') % 4, 2), id % 4 - 1) IGNORE NULLS OVER w, last_value(nullif(nextval(''calls'') % 3, 1)) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)');
SELECT same_calls('SELECT id, nth_value(nullif(nextval(''calls'') % 4, 2), 3) IGNORE NULLS OVER w, lead(id + 0 * nextval(''calls'')) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN 3 PRECEDING AND 4 FOLLOWING EXCLUDE CURRENT ROW)');
SELECT same_calls('SELECT id, lag((SELECT nullif((nextval(''calls'') + id) % 4, 2))) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)');

-- Errors are PostgreSQL's
SELECT rank() RESPECT NULLS OVER (ORDER BY id) FROM readings;
SELECT * FROM (SELECT row_number() IGNORE NULLS OVER (PARTITION BY g ORDER BY id) r FROM readings) s WHERE r <= 0;
SELECT nth_value(third, 0) IGNORE NULLS OVER (ORDER BY id) FROM readings;
-- only for rows that core looks at
SELECT count(x) FROM (SELECT lead(third / (id - 9999)) IGNORE NULLS OVER (ORDER BY id) x FROM readings) s;
SELECT count(x) FROM (SELECT lag(third / (id - 9999)) IGNORE NULLS OVER (ORDER BY id) x FROM readings WHERE id <= 9999) s;

-- In all processes
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT same('SELECT id, lag(third) IGNORE NULLS OVER w, last_value(rare) IGNORE NULLS OVER w FROM readings WINDOW w AS (PARTITION BY g ORDER BY id)');
SELECT same('SELECT id, lag(word) IGNORE NULLS OVER w, lead(rare, 7) IGNORE NULLS OVER w FROM readings WINDOW w AS (ORDER BY id)');

DROP TABLE readings;
DROP SEQUENCE calls CASCADE;
DROP FUNCTION plan_of, same, same_calls;
