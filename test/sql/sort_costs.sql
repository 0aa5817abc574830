-- Costs: how the planner decides between a GpuSort of one process, one with
-- parallel workers, indexes, and core's own sorts.
SET gpusort.device = host;
SET gpusort.min_rows = 0;
SET gpusort.enable_aggregates = off;
SET gpusort.key_word_cost = 0.002;
SET gpusort.host_sort_row_cost = 0.015;
SET gpusort.get_shared_row_cost = 0.01;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;

CREATE TABLE numbers WITH (parallel_workers = 2) AS
SELECT i id, hashint4(i) k, i / 10 ten, hashint4(-i) other, md5(i::text) txt FROM generate_series(1, 100000) i;
CREATE INDEX ON numbers (id);
CREATE INDEX ON numbers (k);
CREATE INDEX ON numbers (ten);
VACUUM ANALYZE numbers;

-- The nodes of a plan, from the top down.
CREATE FUNCTION nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	result text[];
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	SELECT array_agg(CASE WHEN node ->> 'Parallel Aware' = 'true' THEN 'Parallel ' ELSE '' END
			|| coalesce(node ->> 'Custom Plan Provider', node ->> 'Node Type') ORDER BY place)
		INTO result
		FROM jsonb_path_query(plan, 'strict $.** ? (exists(@."Node Type"))') WITH ORDINALITY found (node, place);
	RETURN array_to_string(result, ' -> ');
END $$;

-- an index that agrees with the order of the table, or gives few rows, or the first ones
SELECT nodes('SELECT * FROM numbers ORDER BY id');
SELECT nodes('SELECT * FROM numbers WHERE id < 5000 ORDER BY id');
SELECT nodes('SELECT * FROM numbers ORDER BY k LIMIT 100');
SELECT nodes('SELECT k FROM numbers ORDER BY k');
-- an index that does not: a GpuSort is cheaper than the index, and core's sort is more expensive
SET random_page_cost = 6;
SELECT nodes('SELECT * FROM numbers ORDER BY k');
SET gpusort.enable = off;
SELECT nodes('SELECT * FROM numbers ORDER BY k');
RESET gpusort.enable;
SET gpusort.host_sort_row_cost = 0.2;
SELECT nodes('SELECT * FROM numbers ORDER BY k');
SET gpusort.host_sort_row_cost = 0.015;
RESET random_page_cost;

-- the first rows: few by a heap, many with all the others, or what the costs say
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 100');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 30000');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 60000');
SET gpusort.host_sort_row_cost = 1;
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 30000');
SET gpusort.host_sort_row_cost = 0;
SET cpu_operator_cost = 0.01;
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 500');
RESET cpu_operator_cost;
SET gpusort.host_sort_row_cost = 0.015;
-- the heap is used, too, if memory suffices for the first rows but not for all
SET gpusort.work_mem = '1MB';
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 5000');
RESET gpusort.work_mem;
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 10000');

-- rows that come in order by the first column
SET gpusort.host_sort_row_cost = 1;
SELECT nodes('SELECT * FROM numbers ORDER BY ten, k LIMIT 60000');
SET gpusort.host_sort_row_cost = 0;
SET cpu_operator_cost = 0.01;
SELECT nodes('SELECT * FROM numbers ORDER BY ten, k LIMIT 60000');
RESET cpu_operator_cost;
SET gpusort.host_sort_row_cost = 0.015;

-- core charges too much for an incremental sort, so it has to cost far more to be left out
SET cpu_operator_cost = 0.005;
SET gpusort.host_sort_row_cost = 0.02;
SELECT nodes('SELECT * FROM numbers ORDER BY ten, k');
SET gpusort.host_sort_row_cost = 0;
SELECT nodes('SELECT * FROM numbers ORDER BY ten, k');
RESET cpu_operator_cost;
SET gpusort.host_sort_row_cost = 0.015;

-- nor is an incremental sort below groups left out, with an index in the order of the table
SET enable_hashagg = off;
SELECT nodes('SELECT id, other, count(*) FROM numbers GROUP BY id, other');
SELECT nodes('SELECT k, other, count(*) FROM numbers GROUP BY k, other');
RESET enable_hashagg;

-- groups in their order, whose number is unknown, so that core would not have hashed them: the sort comes first
SELECT nodes('SELECT id || txt e, count(*) FROM numbers GROUP BY 1 ORDER BY 1');
SELECT nodes('SELECT other % 7 e, count(*) FROM numbers GROUP BY 1 ORDER BY 1');

-- to sort numbers inside an aggregate costs about as much as to sort them below it; texts cost more inside
SET gpusort.host_sort_row_cost = 0;
RESET gpusort.key_word_cost;
SELECT nodes('SELECT sum(id), mode() WITHIN GROUP (ORDER BY k) FROM numbers');
SELECT nodes('SELECT sum(id), percentile_cont(0.5) WITHIN GROUP (ORDER BY k) FROM numbers');
SELECT nodes('SELECT sum(id), mode() WITHIN GROUP (ORDER BY txt) FROM numbers');
SELECT nodes('SELECT sum(id), mode() WITHIN GROUP (ORDER BY k) FROM numbers GROUP BY other % 100');
SET gpusort.key_word_cost = 0.002;
SET gpusort.host_sort_row_cost = 0.015;

-- the first rows of a table in the order of the first column, except for ties: after the first rows core's heap has little to do
CREATE TABLE in_order AS SELECT i / 10 up, -i / 10 down, 1 one, CASE WHEN i % 7 > 0 THEN i END gap, lpad(i::text, 6, '0') COLLATE "C" txt, hashint4(i) k
FROM generate_series(1, 100000) i;
VACUUM ANALYZE in_order;
SELECT nodes('SELECT * FROM in_order ORDER BY k LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY up, k LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY down DESC, k LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY txt, k LIMIT 20000');
SELECT nodes('SELECT k FROM in_order ORDER BY up, k LIMIT 20000 OFFSET 10');
-- not if the order is another one, has too many ties, or is not known
SELECT nodes('SELECT * FROM in_order ORDER BY up DESC, k LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY one, k LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY one LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY gap, k LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY txt COLLATE "ucs_basic", k LIMIT 20000');
SELECT nodes('SELECT * FROM in_order ORDER BY up + 1, k LIMIT 20000');

-- the result of a set operation, functions that return sets
SELECT split_part(nodes('SELECT other FROM numbers INTERSECT ALL SELECT other FROM numbers ORDER BY other DESC'), ' -> ', 1) node;
SELECT nodes('SELECT other, generate_series(1, 10) FROM numbers ORDER BY other LIMIT 100');

-- parallel workers, by the cost of getting rows from them
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 100;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
SELECT nodes('SELECT id FROM numbers WHERE id % 7 > 2 ORDER BY other');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 60000');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 100');
SELECT nodes('SELECT * FROM numbers ORDER BY id LIMIT 100');
-- no workers that are expected to save less than a tenth of the wanted rows' cost
SET gpusort.get_shared_row_cost = 0.014;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
SET gpusort.get_shared_row_cost = 0.017;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 60000');
-- the same for what workers do below a Gather
SET parallel_setup_cost = 150;
SELECT nodes('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY other::numeric) FROM numbers');
SET parallel_setup_cost = 1300;
SELECT nodes('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY other::numeric) FROM numbers');
SET parallel_setup_cost = 100;
SET gpusort.get_shared_row_cost = 0.1;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
-- also if core's own Gather Merge would cost less
SET parallel_tuple_cost = 0;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
SET gpusort.get_shared_row_cost = 0.01;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
-- not together if core finds the first rows sooner in each worker; a GpuSort may find them even sooner
SET gpusort.get_shared_row_cost = 0.8;
SET gpusort.host_sort_row_cost = 0.02;
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 7000');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 10000');
SELECT nodes('SELECT * FROM in_order ORDER BY up, k LIMIT 20000');
SET gpusort.get_shared_row_cost = 0.01;
SET gpusort.host_sort_row_cost = 0.015;
-- an expensive expression is left to the workers, as in core
SELECT nodes('SELECT id, sha256(sha256(sha256(sha256(sha256(sha256(sha256(sha256(sha256(sha256(sha256(sha256(txt::bytea)))))))))))) FROM numbers ORDER BY other LIMIT 60000');
SET parallel_leader_participation = off;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
RESET parallel_leader_participation;
SET gpusort.enable_sort = off;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
RESET gpusort.enable_sort;
-- core has workers where a limit may be small, but is known only when it runs: there the choice is core's own
SET gpusort.get_shared_row_cost = 1;
SET parallel_tuple_cost = 0.01;
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT (SELECT 60000)');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 60000');
SET gpusort.get_shared_row_cost = 0.01;
SET parallel_tuple_cost = 0;
-- by core's costs alone
SET gpusort.enable_costs = off;
SELECT nodes('SELECT * FROM numbers ORDER BY other');
SELECT nodes('SELECT * FROM numbers ORDER BY other LIMIT 30000');
RESET gpusort.enable_costs;
SET max_parallel_workers_per_gather = 0;

-- groups and joins by sorting or by hashing
CREATE FUNCTION nodes_by(setting text, dear text, query text) RETURNS TABLE (that_is text, nodes text) LANGUAGE plpgsql AS $$
BEGIN
	FOR that_is, nodes IN VALUES ('cheap', '0'), ('dear', dear) LOOP
		PERFORM set_config(setting, nodes, true);
		nodes := nodes(query);
		RETURN NEXT;
	END LOOP;
END $$;
-- if everything else costs a hundred times as much
SET seq_page_cost = 100;
SET random_page_cost = 400;
SET cpu_tuple_cost = 1;
SET cpu_index_tuple_cost = 0.5;
SET cpu_operator_cost = 0.25;
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT other, count(*), sum(id) FROM numbers GROUP BY other');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT other FROM numbers GROUP BY other HAVING other > 0');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT DISTINCT other, txt FROM numbers');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT DISTINCT other FROM numbers ORDER BY other DESC');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT DISTINCT ON (other) other, txt FROM numbers ORDER BY other, txt DESC');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT a.id, b.txt FROM numbers a JOIN numbers b ON a.other = b.other');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT a.id, b.txt FROM numbers a LEFT JOIN numbers b ON a.other = b.other');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT id FROM numbers a WHERE NOT EXISTS (SELECT FROM numbers b WHERE a.other = b.other AND a.txt < b.txt)');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT id FROM numbers a WHERE other + 1 IN (SELECT other FROM numbers b)');
SELECT * FROM nodes_by('gpusort.host_sort_row_cost', '100', 'SELECT a.id, b.txt FROM numbers a JOIN numbers b ON a.id = b.other');
RESET seq_page_cost;
RESET random_page_cost;
RESET cpu_tuple_cost;
RESET cpu_index_tuple_cost;
RESET cpu_operator_cost;
-- large hash tables cost more than core expects, unless only the first rows are wanted
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT other, count(*) FROM numbers GROUP BY other');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT DISTINCT other FROM numbers');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT DISTINCT other FROM numbers LIMIT 10');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT other, count(*) FROM numbers GROUP BY other ORDER BY count(*) LIMIT 10');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT a.id, b.txt FROM numbers a JOIN numbers b ON a.other = b.other ORDER BY b.txt LIMIT 10');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT a.id, b.txt FROM numbers a JOIN numbers b ON a.other = b.other');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT a.id, b.txt FROM numbers a LEFT JOIN numbers b ON a.other = b.other');
-- those of each worker, too
CREATE TABLE repeated WITH (parallel_workers = 2) AS SELECT hashint4(i % 40000) k, i / 10 up, i % 2 i FROM generate_series(1, 400000) i;
VACUUM ANALYZE repeated;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT k, sum(i) FROM repeated GROUP BY k');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT DISTINCT k FROM repeated');
-- groups by two columns, of which core expects a tenth of the rows, though one follows from the other
CREATE TABLE pairs WITH (parallel_workers = 0) AS SELECT i % 800 a, i % 800 * 2 b, i / 800 % 800 c FROM generate_series(1, 640000) i;
ANALYZE pairs;
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT DISTINCT a, b FROM pairs');
CREATE STATISTICS pairs_ac (ndistinct) ON a, c FROM pairs;
ANALYZE pairs;
SELECT * FROM nodes_by('gpusort.hash_row_cost', '1', 'SELECT DISTINCT a, c FROM pairs');
DROP TABLE pairs;
SET max_parallel_workers_per_gather = 0;
-- but not for neighbouring rows with the same value
SELECT * FROM nodes_by('gpusort.hash_row_cost', '0.1', 'SELECT a.k, b.txt FROM in_order a JOIN in_order b ON a.k = b.k');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '0.1', 'SELECT a.k, b.txt FROM in_order a JOIN in_order b ON a.up = b.up');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '0.3', 'SELECT k, sum(i) FROM repeated GROUP BY k');
SELECT * FROM nodes_by('gpusort.hash_row_cost', '0.3', 'SELECT up, sum(i) FROM repeated GROUP BY up');
DROP TABLE repeated;
-- and NULLs are not looked up
CREATE TABLE mostly_null AS SELECT CASE WHEN i % 50 = 0 THEN hashint4(i) END k, rpad(i::text, 100) txt FROM generate_series(1, 30000) i;
VACUUM ANALYZE mostly_null;
SELECT * FROM nodes_by('gpusort.hash_row_cost', '0.1', 'SELECT a.txt, b.txt FROM mostly_null a JOIN mostly_null b ON a.k = b.k');
DROP TABLE mostly_null;

-- processes that share very many scans get in each other's way
CREATE TABLE many (id integer, k integer, txt text) PARTITION BY RANGE (id);
CREATE TABLE few (LIKE many) PARTITION BY RANGE (id);
DO $$
BEGIN
	FOR i IN 0..299 LOOP
		EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 200, (i + 1) * 200);
	END LOOP;
	FOR i IN 0..2 LOOP
		EXECUTE format('CREATE TABLE few_%s PARTITION OF few FOR VALUES FROM (%s) TO (%s)', i, i * 20000, (i + 1) * 20000);
	END LOOP;
END $$;
INSERT INTO many SELECT i, hashint4(i), md5(i::text) FROM generate_series(0, 59999) i;
INSERT INTO few SELECT * FROM many;
ANALYZE many, few;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SELECT name, split_part(nodes(format('SELECT * FROM %I ORDER BY k', name)), ' ->', 1) FROM unnest(ARRAY['few', 'many']) name;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
DROP TABLE many, few;

-- no room for files: an index in whose order rows do not lie
CREATE TABLE scattered AS SELECT hashint4(i) k, i, repeat('x', 60) pad FROM generate_series(1, 100000) i;
CREATE INDEX ON scattered (k, i);
VACUUM ANALYZE scattered;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '1MB';
SET effective_cache_size = '1GB';
SET random_page_cost = 10;
PREPARE plans AS SELECT nodes('SELECT * FROM scattered ORDER BY k, i') ordered, nodes('SELECT DISTINCT ON (k) * FROM scattered ORDER BY k, i') first_ones,
	nodes('SELECT k, i, max(pad) FROM scattered GROUP BY k, i') groups;
EXECUTE plans;
SET temp_file_limit = '40MB';
EXECUTE plans;
SET temp_file_limit = '5MB';
EXECUTE plans;
-- a sort that the plan has anyway, without an index
SET enable_indexscan = off;
SELECT nodes('SELECT * FROM scattered ORDER BY k, i');
DEALLOCATE plans;
RESET enable_indexscan;
RESET temp_file_limit;
RESET effective_cache_size;
RESET random_page_cost;
RESET work_mem;
DROP TABLE scattered;

-- few values of an expression that has statistics, by an index or a statistics object
CREATE TABLE buckets AS SELECT timestamp '2026-01-01' + i * interval '1 second' t FROM generate_series(1, 20000) i;
ANALYZE buckets;
SET gpusort.min_rows = 1000;
SET enable_hashagg = off;
SELECT nodes('SELECT count(*) FROM buckets GROUP BY date_bin(''1 hour'', t, timestamp ''2026-01-01'')') groups,
	nodes('SELECT date_trunc(''hour'', t) FROM buckets ORDER BY 1') ordered;
CREATE STATISTICS buckets_bin ON (date_bin('1 hour', t, timestamp '2026-01-01')) FROM buckets;
CREATE INDEX ON buckets ((1), date_trunc('hour', t));
SELECT nodes('SELECT date_bin(''1 hour'', t, timestamp ''2026-01-01'') FROM buckets ORDER BY 1') not_analyzed;
ANALYZE buckets;
SELECT nodes('SELECT count(*) FROM buckets GROUP BY date_bin(''1 hour'', t, timestamp ''2026-01-01'')') groups,
	nodes('SELECT date_trunc(''hour'', t) FROM buckets ORDER BY 1') ordered, nodes('SELECT date_trunc(''day'', t) FROM buckets ORDER BY 1') other;
-- their sorts do not cost less than what core does in their place
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 300;
ALTER TABLE buckets SET (parallel_workers = 2);
SELECT nodes('SELECT count(*) FROM buckets GROUP BY date_bin(''1 hour'', t, timestamp ''2026-01-01'')') groups;
SET gpusort.enable = off;
SELECT nodes('SELECT count(*) FROM buckets GROUP BY date_bin(''1 hour'', t, timestamp ''2026-01-01'')') groups_without;
RESET gpusort.enable;
RESET parallel_setup_cost;
SET max_parallel_workers_per_gather = 0;
RESET enable_hashagg;
DROP TABLE buckets;

-- what each worker would repeat, the groups of a subquery, keeps workers out
CREATE TABLE facts WITH (parallel_workers = 2) AS
SELECT i id, i % 50000 k, i * 79 % 10007 h, i v, i % 300 d, i::numeric n FROM generate_series(1, 300000) i;
CREATE TABLE days WITH (parallel_workers = 2) AS SELECT i d, i / 2 week, i % 13 m FROM generate_series(1, 20000) i;
ANALYZE facts, days;
RESET ALL;
SET gpusort.device = host;
SET gpusort.min_rows = 0;
SET gpusort.enable_aggregates = off;
SET work_mem = '64MB';
SELECT nodes('SELECT f.k, f.h, count(*), sum(v) FROM facts f JOIN (SELECT k FROM facts GROUP BY k HAVING sum(v) > 100) s USING (k) GROUP BY 1, 2')
	~ 'Parallel Seq Scan -> Hash -> Aggregate' repeated;
SELECT nodes('SELECT f.k, f.h, count(*), sum(v) FROM facts f JOIN (SELECT k FROM facts WHERE v < 1000 GROUP BY k HAVING sum(v) > 100) s USING (k) GROUP BY 1, 2')
	~ 'Parallel GpuSortGroups' hardly_repeated;
-- groups of a subquery with joins do not lose their order for little, as the join above would rest on estimates
SET gpusort.min_rows = 5000;
SET enable_hashagg = off;
SET seq_page_cost = 20;
SELECT nodes('SELECT count(*) FROM (SELECT k, h FROM facts JOIN days USING (d) WHERE m = 3 AND id <= 100000 GROUP BY 1, 2) a
	FULL JOIN (SELECT k, h FROM facts f JOIN days ON f.h = days.d WHERE m = 3 GROUP BY 1, 2) b USING (k, h)') ~ 'Merge Join' in_order;
RESET seq_page_cost;
RESET enable_hashagg;
SET gpusort.min_rows = 0;
-- a join leaves few of the groups that core expects, so workers hash
SET work_mem = '1MB';
CREATE FUNCTION sums(column_name text) RETURNS text LANGUAGE sql AS $$
SELECT string_agg(format('sum(CASE WHEN m = %s THEN n END)', i), ', ') || format(' FROM facts JOIN days ON facts.%s = days.d GROUP BY week', column_name)
FROM generate_series(1, 7) i $$;
SELECT nodes('SELECT week, ' || sums('d')) few_left;
SELECT nodes('SELECT week, ' || sums('h')) many_left;
DROP FUNCTION sums;
DROP TABLE facts, days;

DROP TABLE numbers, in_order;
DROP FUNCTION nodes, nodes_by;
