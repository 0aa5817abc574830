-- Aggregates that sort their input inside the Agg node: the input is sorted for
-- one of them, if that pays.
SET gpusort.device = host;
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64MB';
-- comparisons cost much, so that everything is sorted ahead that can be
SET cpu_operator_cost = 0.1;

CREATE COLLATION blind_to_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE spirit AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE measures AS SELECT i id, hashint4(i) k, i % 7 g, nullif(hashint4(i) % 50, 3) few, hashint4(-i) % 1000 / 7.0::numeric num, hashint4(i) / 3.0::float8 f8,
	make_interval(mins => hashint4(i) % 100000) span, timestamptz '2000-01-01 UTC' + make_interval(secs => hashint4(-i)) ts, md5(i::text) COLLATE "C" txt,
	CASE i % 2 WHEN 0 THEN 'City ' ELSE 'city ' END || hashint4(i) % 9 city, (ARRAY['sad', 'ok', 'happy'])[1 + abs(hashint4(i) % 3)]::spirit feeling
FROM generate_series(1, 20000) i;
INSERT INTO measures (id, g) VALUES (-1, 1), (-2, NULL), (-3, 8);
VACUUM ANALYZE measures;

-- The columns of the GpuSorts in a plan.
CREATE FUNCTION sort_columns(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(node ->> 'Sort Key', ' and ' ORDER BY place)
		FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" starts with "GpuSort")') WITH ORDINALITY found (node, place));
END $$;

-- The rows of a query, as a set.
CREATE FUNCTION answer_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(q::text, chr(10) ORDER BY q::text COLLATE "C")) FROM (%s) q', query) INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;

-- The columns by which a query's rows are sorted, and whether the answer is the same as without gpusort.
CREATE FUNCTION sorted_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text := answer_of(query);
	sorts text := sort_columns(query);
BEGIN
	SET LOCAL gpusort.enable = off;
	RETURN CASE WHEN answer_of(query) IS DISTINCT FROM answer THEN 'DIFFERENT ' ELSE '' END || coalesce(sorts, 'none');
END $$;

-- each kind, without groups and with them
SELECT sorted_by('SELECT count(DISTINCT k) FROM measures');
SELECT sorted_by('SELECT g, count(DISTINCT txt), min(DISTINCT txt) FROM measures GROUP BY g');
SELECT sorted_by('SELECT sum(DISTINCT num), avg(DISTINCT num), min(DISTINCT num), count(*), max(txt) FROM measures');
SELECT sorted_by('SELECT array_agg(id ORDER BY k, id) FROM measures');
SELECT sorted_by('SELECT g, string_agg(txt, txt ORDER BY txt DESC NULLS LAST), count(few) FROM measures GROUP BY g');
SELECT sorted_by('SELECT array_agg(DISTINCT few ORDER BY few DESC) FROM measures');
SELECT sorted_by('SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY num) FROM measures');
SELECT sorted_by('SELECT g, percentile_cont(0.3) WITHIN GROUP (ORDER BY f8 DESC) FROM measures GROUP BY g');
SELECT sorted_by('SELECT g, percentile_cont(ARRAY[0, 0.1, NULL, 1]) WITHIN GROUP (ORDER BY span NULLS FIRST) FROM measures GROUP BY g');
SELECT sorted_by('SELECT percentile_disc(0.99) WITHIN GROUP (ORDER BY ts) FROM measures');
SELECT sorted_by('SELECT g, percentile_disc(ARRAY[[0.1, 0.9], [1, 0]]) WITHIN GROUP (ORDER BY feeling) FROM measures GROUP BY g');
SELECT sorted_by('SELECT g % 2, mode() WITHIN GROUP (ORDER BY few) FROM measures GROUP BY g % 2');
SELECT sorted_by('SELECT g, lower(mode() WITHIN GROUP (ORDER BY city COLLATE blind_to_case)) FROM measures GROUP BY g');
-- the plan, whose aggregates are unchanged
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, percentile_cont(0.3) WITHIN GROUP (ORDER BY num) FROM measures GROUP BY g HAVING mode() WITHIN GROUP (ORDER BY txt) > 'a';

-- several aggregates: the order is the one that saves most
SELECT sorted_by('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), percentile_disc(0.6) WITHIN GROUP (ORDER BY txt), mode() WITHIN GROUP (ORDER BY few) FROM measures GROUP BY g');
SELECT sorted_by('SELECT g, mode() WITHIN GROUP (ORDER BY few), percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), mode() WITHIN GROUP (ORDER BY f8) FROM measures GROUP BY g');
SELECT sorted_by('SELECT g, mode() WITHIN GROUP (ORDER BY few), count(*) FROM measures GROUP BY g HAVING percentile_disc(0.5) WITHIN GROUP (ORDER BY txt) > ''8'' AND count(*) > 1');
SELECT sorted_by('SELECT g, mode() WITHIN GROUP (ORDER BY k), rank(7) WITHIN GROUP (ORDER BY few), sum(id) FILTER (WHERE k > 0), count(DISTINCT few) FILTER (WHERE k > 0) FROM measures GROUP BY g') ~ 'DIFF';
-- groups by several columns, some of which the order has as well, and by a constant
SELECT sorted_by('SELECT g, few, mode() WITHIN GROUP (ORDER BY txt) FROM measures GROUP BY g, few');
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY k) FROM measures WHERE g = 3 GROUP BY g');
SELECT sorted_by('SELECT g, array_agg(id ORDER BY g, k) FROM measures GROUP BY g');
-- above and below: windows, joins, subqueries, ORDER BY, DISTINCT
SELECT sorted_by('SELECT rank() OVER (ORDER BY mode() WITHIN GROUP (ORDER BY k)), g FROM measures GROUP BY g');
SELECT sorted_by('SELECT r.g, percentile_cont(0.5) WITHIN GROUP (ORDER BY r.f8 + s.id) FROM measures r LEFT JOIN measures s ON s.id = r.few GROUP BY r.g');
SELECT sorted_by('SELECT o, (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k # o) FROM measures WHERE g = o) FROM generate_series(1, 4) o');
SELECT sorted_by('SELECT o, l.* FROM generate_series(1, 4) o, LATERAL (SELECT g, mode() WITHIN GROUP (ORDER BY k % (o * 1000)) FROM measures GROUP BY g) l');
SELECT sorted_by('SELECT DISTINCT mode() WITHIN GROUP (ORDER BY k) IS NULL FROM measures GROUP BY g');
SELECT sorted_by('SELECT generate_series(1, 2), mode() WITHIN GROUP (ORDER BY k) FROM measures GROUP BY g');
-- no rows, and no values
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY k), percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(*) FROM measures WHERE id + 0 < -10');
SELECT sorted_by('SELECT g, mode() WITHIN GROUP (ORDER BY k), percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), array_agg(DISTINCT txt) FROM measures WHERE id + 0 < 0 GROUP BY g') ~ 'DIFF';

-- aggregates that depend on the order of the rows get the order of a subquery, or of the table
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY txt), array_agg(id) FROM (SELECT * FROM measures ORDER BY num, id) r');
SELECT sorted_by('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), array_agg(id) FROM (SELECT * FROM measures ORDER BY g, num, id) r GROUP BY g');
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY txt), sum(f8) FROM measures');
-- nothing is sorted ahead by what a filter leaves out, by volatile expressions, or by subqueries
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY 1 / few) FILTER (WHERE few <> 0) FROM measures');
SELECT sorted_by('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY 1 / few) FROM measures');
SELECT sorted_by('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k + 0 * random()) IS NULL FROM measures');
SELECT sorted_by('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k + (SELECT r.id % 2)) FROM measures r');
-- nor by a single value, or by that of the group, nor for hypothetical-set aggregates and grouping sets
SELECT sorted_by('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY 1) FROM measures');
SELECT sorted_by('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY g) FROM measures GROUP BY g');
SELECT sorted_by('SELECT rank(7) WITHIN GROUP (ORDER BY k) FROM measures');
SELECT sorted_by('SELECT g, mode() WITHIN GROUP (ORDER BY k) FROM measures GROUP BY ROLLUP (g)');
-- nor if the rows are in order, or few values differ, or with these settings
CREATE TABLE measures_in_order AS SELECT id, txt, id % 2 two FROM measures ORDER BY id;
VACUUM ANALYZE measures_in_order;
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY id) FROM measures_in_order');
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY two) FROM measures_in_order');
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY txt) FROM measures_in_order');
SET gpusort.enable_costs = off;
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY txt) FROM measures_in_order');
RESET gpusort.enable_costs;
SET gpusort.min_rows = 100000;
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY txt) FROM measures_in_order');
SET gpusort.min_rows = 0;

-- by the costs: strings in groups, but not numbers without them
RESET cpu_operator_cost;
SELECT sorted_by('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM measures GROUP BY g');
SELECT sorted_by('SELECT mode() WITHIN GROUP (ORDER BY k) FROM measures');
-- an index that has the groups together is used for them instead
CREATE INDEX ON measures_in_order (id);
SELECT sorted_by('SELECT id, mode() WITHIN GROUP (ORDER BY txt), sum(id) FROM measures_in_order GROUP BY id');
SET cpu_operator_cost = 0.1;

-- memory for a part of the rows only
SET work_mem = '64kB';
SELECT sorted_by('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), mode() WITHIN GROUP (ORDER BY txt) FROM measures GROUP BY g');
SET work_mem = '64MB';

-- cursors, of which few rows may be wanted, views and prepared statements
CREATE VIEW median_texts AS SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY txt) FROM measures GROUP BY g;
SELECT sorted_by('SELECT * FROM median_texts');
SET plan_cache_mode = force_generic_plan;
PREPARE part (float8, int) AS SELECT g, percentile_disc($1) WITHIN GROUP (ORDER BY id % $2) FROM measures GROUP BY g ORDER BY g;
EXPLAIN (COSTS OFF) EXECUTE part (0.5, 1000);
EXECUTE part (0.5, 1000);
SET gpusort.enable = off;
EXECUTE part (0.5, 1000);
RESET gpusort.enable;
EXECUTE part (0.5, 0);
EXECUTE part (2, 10);
BEGIN;
DECLARE modes SCROLL CURSOR FOR SELECT g, mode() WITHIN GROUP (ORDER BY k % 1000) FROM measures GROUP BY g ORDER BY g;
FETCH 3 FROM modes;
FETCH BACKWARD 2 FROM modes;
COMMIT;
