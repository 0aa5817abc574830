-- Windows that a GpuSortWindow evaluates: plans, and answers that do not depend on drawn queries. t/053 draws queries.
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = on;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_incremental_sort = off;
SET timezone = 'UTC';

CREATE TABLE sales AS
SELECT id, id * 7919 % 10007 k, nullif(id % 7, 3) g, (id * 31 % 1000)::numeric / 8 num, 'shop ' || id % 5 shop, (id * 13 % 17) / 3.0::float8 f
FROM generate_series(1, 10000) id;
ANALYZE sales;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/windows.sql'
\i :include
\set node GpuSortWindow
\set include :test '/include/same.sql'
\i :include

-- One node for the sort and the windows over its order
SELECT plan_of('SELECT id, row_number() OVER (PARTITION BY g ORDER BY k) FROM sales');
SELECT plan_of('SELECT *, rank() OVER w, sum(num) OVER w, count(*) FILTER (WHERE id > 5) OVER (PARTITION BY g) FROM sales WINDOW w AS (PARTITION BY g ORDER BY k)');
SELECT plan_of('SELECT lag(k, 2, id) OVER (ORDER BY shop DESC, id) + 1 FROM sales');
-- Windows of another order have a sort of their own
SELECT plan_of('SELECT sum(k) OVER (PARTITION BY g ORDER BY id), sum(k) OVER (PARTITION BY shop ORDER BY id) FROM sales');
-- Frames that exclude rows
SELECT plan_of('SELECT sum(id) OVER (PARTITION BY g ORDER BY k RANGE UNBOUNDED PRECEDING EXCLUDE TIES), first_value(id) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM sales');
-- Volatile arguments, in the only window of a node
SELECT plan_of('SELECT sum(random()) OVER (PARTITION BY g ORDER BY k), count(*) FILTER (WHERE random() < 0.5) OVER (PARTITION BY g ORDER BY k) FROM sales');
-- Run conditions, and a limit of the sort
SELECT plan_of('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY k) r FROM sales) s WHERE r <= 3');
SELECT plan_of('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY k) r FROM sales) s WHERE r <= 3');
-- What cannot be evaluated is left to WindowAgg; windows below it are not
SELECT plan_of('SELECT first_value(id) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING EXCLUDE TIES) FROM sales');
SELECT plan_of('SELECT sum(id) OVER (PARTITION BY g ORDER BY k), sum(random()) OVER (PARTITION BY g ORDER BY k ROWS 2 PRECEDING) FROM sales');
SET gpusort.enable_windows = off;
SELECT plan_of('SELECT id, row_number() OVER (PARTITION BY g ORDER BY k) FROM sales');
SET gpusort.enable_windows = on;

-- Functions, frames and offsets
SELECT same('SELECT id, row_number() OVER w, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w, ntile(7) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY num, id)');
SELECT same('SELECT id, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w, sum(k) OVER w, avg(num) OVER w, count(*) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY num)');
SELECT same('SELECT id, lag(k) OVER w, lead(k, 3) OVER w, lag(k, id % 5 - 2, -1) OVER w, first_value(k) OVER w, last_value(k) OVER w, nth_value(k, 4) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY id)');
SELECT same('SELECT id, sum(f) OVER w, avg(num) OVER w, min(k) OVER w, first_value(k) OVER w, nth_value(k, 2) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING)');
SELECT same('SELECT id, sum(f) OVER w, avg(num) OVER w, max(k) OVER w, last_value(k) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY num, id GROUPS BETWEEN 3 PRECEDING AND 1 PRECEDING)');
SELECT same('SELECT id, sum(k) OVER w, count(*) OVER w FROM sales WINDOW w AS (PARTITION BY shop ORDER BY id ROWS BETWEEN (SELECT 2) FOLLOWING AND UNBOUNDED FOLLOWING)');
SELECT same('SELECT id, sum(f) OVER w, count(*) OVER w, last_value(k) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY id DESC RANGE BETWEEN 50 PRECEDING AND 20 FOLLOWING)');
SELECT same('SELECT id, avg(num) OVER (PARTITION BY g ORDER BY num RANGE BETWEEN CURRENT ROW AND 0.5 FOLLOWING) FROM sales');
SELECT same('SELECT id, string_agg(shop, '','') OVER (PARTITION BY id % 1000 ORDER BY id), array_agg(k) OVER (PARTITION BY id % 1000) FROM sales');
-- Frames that exclude rows near the present one
SELECT same('SELECT id, sum(f) OVER w, avg(num) OVER w, min(k) OVER w, first_value(k) OVER w, last_value(k) OVER w, nth_value(k, 2) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW)');
SELECT same('SELECT id, sum(k) OVER w, count(*) OVER w FROM sales WINDOW w AS (PARTITION BY id % 500 ORDER BY num RANGE UNBOUNDED PRECEDING EXCLUDE GROUP)');
SELECT same('SELECT id, sum(k) OVER w, max(k) OVER w, count(*) OVER w FROM sales WINDOW w AS (PARTITION BY shop ORDER BY num RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES)');
SELECT same('SELECT id, array_agg(id) OVER w, first_value(id) OVER w, last_value(id) OVER w, nth_value(id, 3) OVER w FROM sales WINDOW w AS (PARTITION BY id % 50 ORDER BY num, id GROUPS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE TIES)');
-- Volatile arguments are evaluated as often as in core, and in the same order
SELECT same_calls('SELECT id, sum(nextval(''calls'')) OVER w, sum(nextval(''calls'')) OVER w, lag(nextval(''calls''), id % 3) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY num, id)');
SELECT same_calls('SELECT id, sum(nextval(''calls'')) OVER w, max(k) FILTER (WHERE nextval(''calls'') % 3 > 0) OVER w, last_value(nextval(''calls'')) OVER w FROM sales WINDOW w AS (PARTITION BY shop ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)');
SELECT same_calls('SELECT id, sum(nextval(''calls'')) OVER w, nth_value(nextval(''calls''), 2) OVER w, ntile(nextval(''calls'')::int) OVER w FROM sales WINDOW w AS (PARTITION BY shop ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP)');
SELECT same_calls('SELECT * FROM (SELECT id, lag(id, nextval(''calls'')::int % 5, -1) OVER w, row_number() OVER w r FROM sales WINDOW w AS (PARTITION BY g ORDER BY id)) s WHERE r <= 7');
SELECT same_calls('SELECT id, lag(id, nextval(''calls'')::int % 500, -1) OVER w, row_number() OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY id)');
SELECT same_calls('SELECT id, sum(nextval(''calls'')) OVER w, count(*) OVER (PARTITION BY g) FROM sales WINDOW w AS (PARTITION BY g ORDER BY id) LIMIT 500');
SET work_mem = '64kB';
SELECT same_calls('SELECT id, lead(id, nextval(''calls'')::int % 500 - 250, -1) OVER w, first_value(nextval(''calls'')) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY id)');
SET work_mem = '64MB';
-- In little memory, where rows that are looked at again go to a file
SET work_mem = '64kB';
SELECT same('SELECT id, sum(k) OVER (PARTITION BY g), lag(shop, 5000) OVER (ORDER BY id), ntile(9) OVER (PARTITION BY shop ORDER BY id) FROM sales');
SELECT same('SELECT id, sum(f) OVER w, last_value(k) OVER w, nth_value(k, 2) OVER w FROM sales WINDOW w AS (PARTITION BY g ORDER BY num, id ROWS BETWEEN 7 PRECEDING AND 2 PRECEDING EXCLUDE GROUP)');
SELECT same('SELECT id, first_value(num) OVER w, lead(shop) OVER w, cume_dist() OVER w FROM sales WINDOW w AS (ORDER BY num, id)');
SET work_mem = '64MB';
-- A single by-value column, and no rows
SELECT same('SELECT k, rank() OVER (ORDER BY k), sum(k) OVER (ORDER BY k ROWS 2 PRECEDING) FROM (SELECT k FROM sales) s');
SELECT same('SELECT k, ntile(3) OVER (ORDER BY k) FROM sales WHERE id < 0');

-- Errors are PostgreSQL's
SELECT ntile(0) OVER (ORDER BY id) FROM sales;
SELECT nth_value(id, 0) OVER (ORDER BY id) FROM sales;
SELECT sum(id) OVER (ORDER BY id ROWS (SELECT -1) PRECEDING) FROM sales;
SELECT sum(id) OVER (PARTITION BY g ORDER BY 1 / (id - id), id ROWS NULL PRECEDING) FROM sales;
-- the functions of the first row that does not meet a condition are evaluated
SELECT count(x) FROM (SELECT row_number() OVER w rn, sum(1 / (id - 3)) OVER w x FROM sales WINDOW w AS (PARTITION BY id / 20000 ORDER BY id)) s WHERE rn <= 2;
SELECT count(x) FROM (SELECT rank() OVER w rn, sum(1 / (id - 3)) OVER w x FROM sales WINDOW w AS (PARTITION BY id / 20000 ORDER BY id)) s WHERE rn <= 2;
CREATE SEQUENCE counted;
SELECT string_agg(g || ' ' || s, ',' ORDER BY g) sums FROM (SELECT g, row_number() OVER w rn, sum(nextval('counted')) OVER (w ROWS UNBOUNDED PRECEDING) s FROM sales WINDOW w AS (PARTITION BY g ORDER BY id)) t WHERE rn <= 1 \gset
SELECT setval('counted', 1, false);
SET gpusort.enable = off;
SELECT string_agg(g || ' ' || s, ',' ORDER BY g) = :'sums' same FROM (SELECT g, row_number() OVER w rn, sum(nextval('counted')) OVER (w ROWS UNBOUNDED PRECEDING) s FROM sales WINDOW w AS (PARTITION BY g ORDER BY id)) t WHERE rn <= 1;
RESET gpusort.enable;
DROP SEQUENCE counted;
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND (SELECT NULL::int8) FOLLOWING) FROM sales;
SELECT count(x) FROM (SELECT rank() OVER w r, lag(id) OVER w x FROM sales WINDOW w AS (PARTITION BY shop ORDER BY g NULLS FIRST RANGE BETWEEN -1 PRECEDING AND CURRENT ROW)) s WHERE r <= 1;
SELECT count(x) FROM (SELECT lag(1 / (id - 10000)) OVER (ORDER BY id) x FROM sales) s;
SELECT count(x) FROM (SELECT lead(1 / (id - 10000)) OVER (ORDER BY id) x FROM sales) s;

-- A function that may not be called
CREATE ROLE windows_user;
CREATE FUNCTION forbidden(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE AGGREGATE sum_forbidden(int) (SFUNC = forbidden, STYPE = int, INITCOND = 0);
REVOKE EXECUTE ON FUNCTION sum_forbidden(int) FROM public;
GRANT SELECT ON sales TO windows_user;
SET ROLE windows_user;
SELECT sum_forbidden(id) OVER (ORDER BY id) FROM sales;
RESET ROLE;
GRANT EXECUTE ON FUNCTION sum_forbidden(int) TO windows_user;
REVOKE EXECUTE ON FUNCTION forbidden(int, int) FROM public;
ALTER FUNCTION sum_forbidden(int) OWNER TO windows_user;
SELECT sum_forbidden(id) OVER (ORDER BY id) FROM sales;
BEGIN;
REVOKE EXECUTE ON FUNCTION int4eq(int, int) FROM public;
SET LOCAL ROLE windows_user;
SELECT rank() OVER (PARTITION BY g ORDER BY id) FROM sales;
ROLLBACK;
DROP AGGREGATE sum_forbidden(int);
DROP FUNCTION forbidden(int, int);
REVOKE SELECT ON sales FROM windows_user;
DROP ROLE windows_user;

-- A cast of a result, in a plan for workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT same('SELECT count(*), sum(r), max(t) FROM (SELECT row_number() OVER w r, (rank() OVER w)::text t FROM sales WINDOW w AS (PARTITION BY g ORDER BY id)) s');

-- Windows over rows that workers have sorted
SELECT plan_of('SELECT id, row_number() OVER (ORDER BY k, id), lag(num) OVER (ORDER BY k, id) FROM sales');
SELECT same('SELECT id, row_number() OVER w, rank() OVER w, count(*) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING) FROM sales WINDOW w AS (ORDER BY k, id)');
SELECT same('SELECT id, lag(shop) OVER w, sum(f) OVER w, cume_dist() OVER w FROM sales WINDOW w AS (ORDER BY num, id)');
SELECT same('SELECT * FROM (SELECT id, num, dense_rank() OVER (ORDER BY num) r FROM sales) s WHERE r <= 5');
SELECT same('SELECT * FROM (VALUES (1), (20), (3)) v(n), LATERAL (SELECT id, sum(k) OVER (ORDER BY id) FROM sales WHERE id % 30 < n OFFSET n) s');

-- Rows that come in order, up to a row for whose key there is no memory
SET max_parallel_workers_per_gather = 0;
CREATE TABLE falling AS SELECT id, 5 - id / 1000 g FROM generate_series(1, 5000) id;
SELECT DISTINCT CASE WHEN set_config('gpusort.work_mem', memory || 'kB', false) <> '' THEN same('SELECT id, max(id) OVER (PARTITION BY g) FROM falling') END
FROM generate_series(64, 160, 3) memory;
RESET gpusort.work_mem;
DROP TABLE falling;

-- A partition of more rows than memory has room for what is noted of each: rows in a file, and rows that stay in shared memory
CREATE TABLE deep AS SELECT id, id * 7919 % 100003 k, id / 99000 g FROM generate_series(1, 100000) id;
ANALYZE deep;
SET work_mem = '64kB';
SELECT same('SELECT id, sum(k) OVER (PARTITION BY g), lead(id, 70000) OVER w, ntile(9) OVER w FROM deep WINDOW w AS (PARTITION BY g ORDER BY k)');
SET work_mem = '4MB';
SET max_parallel_workers_per_gather = 2;
SELECT plan_of('SELECT count(*), sum(s), sum(d) FROM (SELECT sum(k) OVER (PARTITION BY g) s, lag(id, 70000) OVER (PARTITION BY g ORDER BY k) d FROM deep) s');
SELECT same('SELECT count(*), sum(s), sum(d) FROM (SELECT sum(k) OVER (PARTITION BY g) s, lag(id, 70000) OVER (PARTITION BY g ORDER BY k) d FROM deep) s');
DROP TABLE deep;

DROP TABLE sales;
DROP SEQUENCE calls CASCADE;
DROP FUNCTION plan_of, same, same_calls;
