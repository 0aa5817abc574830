-- The first rows of each group: nodes that look only at these are given no others.
SET gpusort.min_rows = 0;
SET gpusort.enable_windows = off;
SET gpusort.enable_aggregates = off;
SET gpusort.enable_costs = off;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET enable_incremental_sort = off;

-- Groups of 1 to 2,000 rows, with ties and NULLs, that come in no order.
CREATE TABLE grouped AS
SELECT id, g, nullif(g % 5, 3) n, (g * 1.5)::numeric num, g::float8 / 3 f, 'group ' || g txt, ('GROUP ' || g % 50)::varchar COLLATE "C" c, p, repeat('x', g % 40) pad
FROM (SELECT id, sqrt(id * 7919 % 10007)::int g, id * 31 % 17 p FROM generate_series(1, 10006) id) s;
INSERT INTO grouped SELECT 20000 + i, 1000, 7, NULL, 0.5, repeat('long ', 100), NULL, i % 3, 'one large group' FROM generate_series(1, 2000) i;
ANALYZE grouped;

\getenv test PG_ABS_SRCDIR
\set include :test '/include/wrong_place.sql'
\i :include

-- The lines of a query's plan about groups and, if the query is run, how many rows the last GpuSort emits.
CREATE FUNCTION limits(query text, run boolean DEFAULT true) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	emitted text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE %s, COSTS OFF, TIMING OFF, SUMMARY OFF) ', run::text) || query LOOP
		IF line ~ '(Group Key|Rows per Group)' THEN
			RETURN NEXT trim(line);
		ELSIF line ~ 'GpuSort' THEN
			emitted := 'Rows: ' || substring(line FROM 'rows=(\d+)');
		END IF;
	END LOOP;
	IF run THEN
		RETURN NEXT emitted;
	END IF;
END $$;

SELECT limits('SELECT DISTINCT ON (g) * FROM grouped ORDER BY g, id');
SELECT limits('SELECT DISTINCT ON (txt, n) * FROM grouped ORDER BY n DESC, txt, p');
SELECT limits('SELECT g, p FROM grouped GROUP BY g, p');
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM grouped) s WHERE r <= 3');
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY txt ORDER BY id) r FROM grouped) s WHERE r < 3');
SELECT limits('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY g ORDER BY p) r FROM grouped) s WHERE 5 >= r');
SELECT limits('SELECT * FROM (SELECT id, dense_rank() OVER (PARTITION BY g, n ORDER BY p DESC) r FROM grouped) s WHERE 3 > r');
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER w r, sum(p) OVER w FROM grouped WINDOW w AS (PARTITION BY g ORDER BY p, id ROWS UNBOUNDED PRECEDING)) s WHERE r = 2');
-- the sum of the peers of a row takes all peers
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER w r, sum(id) OVER w FROM grouped WINDOW w AS (PARTITION BY g ORDER BY p)) s WHERE r <= 2');
-- without a limit: functions that look ahead, two windows, no PARTITION BY
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER w r, lead(p) OVER w FROM grouped WINDOW w AS (PARTITION BY g ORDER BY p, id)) s WHERE r <= 2');
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER w r, count(*) OVER (PARTITION BY g) FROM grouped WINDOW w AS (PARTITION BY g ORDER BY p, id)) s WHERE r <= 2');
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER w r, sum(p) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM grouped WINDOW w AS (PARTITION BY g ORDER BY p, id)) s WHERE r <= 2');
SELECT limits('SELECT * FROM (SELECT id, count(*) OVER (PARTITION BY g ORDER BY id) r FROM grouped) s WHERE r <= 2');
SELECT limits('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY p, id) r FROM grouped) s WHERE r <= 2', false);
-- a column that is sorted as it is stored, and its copy
SELECT limits('SELECT DISTINCT ON (txt COLLATE "C") id FROM grouped ORDER BY txt COLLATE "C", id');

-- All answers are those of PostgreSQL.
CREATE TABLE cases (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO cases (query)
SELECT format('SELECT id FROM (SELECT DISTINCT ON (%s) id FROM grouped ORDER BY %s, id) s ORDER BY id', g, o)
FROM (VALUES ('g', 'g'), ('g, n', 'n NULLS FIRST, g DESC'), ('n', 'n'), ('num', 'num DESC'), ('f', 'f'), ('txt', 'txt'), ('c, p', 'p, c'), ('id', 'id'), ('g, txt, n', 'g, txt, n')) v (g, o);
INSERT INTO cases (query)
SELECT format('SELECT id FROM (SELECT id, %s OVER (PARTITION BY %s ORDER BY %s) r FROM grouped) s WHERE r %s %s ORDER BY id', f, g, o, c, k)
FROM (VALUES ('row_number()', ', id'), ('rank()', ''), ('dense_rank()', ''), ('rank()', ', id % 7')) functions (f, suffix),
	(VALUES ('g'), ('n, g'), ('txt'), ('num'), ('c')) groups (g),
	LATERAL (VALUES ('p' || suffix), ('p DESC, n' || suffix)) orders (o),
	(VALUES ('<=', '1'), ('<', '3'), ('=', '2'), ('<=', '50'), ('<', '0'), ('<=', 'NULL')) conditions (c, k);
INSERT INTO cases (query)
SELECT format('SELECT id + coalesce(x, 0) FROM (SELECT id, row_number() OVER w r, %s x FROM grouped WINDOW w AS (PARTITION BY %s ORDER BY p, id %s)) s WHERE r <= 2 ORDER BY id', f, g, frame)
FROM (VALUES ('sum(id) OVER w'), ('lag(id) OVER w'), ('lead(id) OVER w'), ('lag(id, -2) OVER w'), ('first_value(id) OVER w'), ('last_value(id) OVER w'), ('count(*) OVER (PARTITION BY g)'),
		('ntile(4) OVER w'), ('sum(id) OVER (PARTITION BY g ORDER BY p)'), ('max(id) FILTER (WHERE p > 3) OVER w')) functions (f),
	(VALUES ('g'), ('txt')) groups (g),
	(VALUES (''), ('ROWS UNBOUNDED PRECEDING'), ('ROWS 2 PRECEDING'), ('ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING'), ('GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING'),
		('ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW')) frames (frame);
INSERT INTO cases (query)
SELECT format('SELECT id FROM (SELECT id, %s OVER (PARTITION BY %s ORDER BY id) r FROM (SELECT * FROM grouped ORDER BY %s OFFSET 0) s) s WHERE r <= 2 ORDER BY id', f, g, o)
FROM (VALUES ('row_number()'), ('rank()')) functions (f), (VALUES ('g', 'g, id'), ('txt', 'txt, id'), ('g', 'g DESC'), ('id', 'id')) inputs (g, o);
SELECT count(*) FROM cases;
SELECT number, wrong_place(query), query FROM cases WHERE wrong_place(query) IS NOT NULL;

-- the same in runs
SET gpusort.work_mem = '64kB';
SELECT number, wrong_place(query), query FROM cases WHERE number % 3 = 0 AND wrong_place(query) IS NOT NULL;
RESET gpusort.work_mem;

-- with workers, whose rows the leader has
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT limits('SELECT DISTINCT ON (g) * FROM grouped ORDER BY g, id', false);
SELECT number, wrong_place(query), query FROM cases WHERE number % 5 = 0 AND wrong_place(query) IS NOT NULL;
-- a limit that comes from another plan does not reach workers
SELECT wrong_place('SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM grouped) s WHERE r <= (SELECT min(p) + 2 FROM grouped) ORDER BY id');
-- nor does a limit that only the leader can evaluate
CREATE TEMP TABLE of_leader AS SELECT 2 AS n;
CREATE FUNCTION told_by_leader() RETURNS integer STABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT n FROM of_leader); END';
SET parallel_leader_participation = off;
SELECT wrong_place('SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM grouped) s WHERE r <= told_by_leader() ORDER BY id');
RESET parallel_leader_participation;
DROP FUNCTION told_by_leader;
DROP TABLE of_leader;
SET max_parallel_workers_per_gather = 0;

-- limits that are known only when the query runs, and change
SET plan_cache_mode = force_generic_plan;
PREPARE first_rows (bigint) AS SELECT count(*), sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM grouped) s WHERE r < $1;
SELECT limits('EXECUTE first_rows (3)');
EXECUTE first_rows (3);
EXECUTE first_rows (1);
EXECUTE first_rows (NULL);
EXECUTE first_rows (-9223372036854775808);
EXECUTE first_rows (9223372036854775807);
SET gpusort.enable = off;
EXECUTE first_rows (3);
EXECUTE first_rows (9223372036854775807);
RESET gpusort.enable;
-- without rows nobody asks for the limit
PREPARE divided (integer) AS SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) r FROM grouped WHERE id < 0) s WHERE r <= 10 / $1;
EXECUTE divided (0);
SELECT wrong_place('SELECT s.id FROM (VALUES (3), (1), (NULL), (40), (2)) v (k), LATERAL (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) r FROM grouped) s WHERE r <= k ORDER BY k, s.id');
SELECT wrong_place('SELECT (SELECT sum(id) FROM (SELECT id, rank() OVER (PARTITION BY txt ORDER BY p) r FROM grouped) s WHERE r <= v.k)::bigint FROM generate_series(1, 40, 3) v (k) ORDER BY k % 3, k');

DROP TABLE grouped, cases;
DROP FUNCTION limits, wrong_place;
