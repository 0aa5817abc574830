-- What scripts/advise asks of the server.
--
-- psql variables: "kind", which is "given", "recorded" (by pg_stat_statements) or "restored" (index builds of a dump); "directory",
-- which has the given statements in the file "statements", or the numbers of rows of a dump in "rows", and gets the number of statements
-- that cannot be judged in "unjudged".
--
-- For the build of a B-tree there is a statement that sorts rows with the same columns and operators. It has no table, as the tables
-- of a dump are empty here.
--
-- Each statement is planned three times: without gpusort, with it and no GPU, and with it as if there were one, since with a GPU the
-- cost of sorting keys (gpusort.host_sort_row_cost) is taken as 0. The difference of the total costs is the gain. Where
-- gpusort replaces a sort in the finished plan, as for windows, that node still has the cost of PostgreSQL's own sort. Such a node
-- returns rows at cpu_operator_cost each. Its cost is replaced by that of another sort that the planner does know, of as many rows of
-- the same width, by a bigint. What windows gain beyond their sort is not counted.
--
-- The planner charges PostgreSQL's sort the same for input in any order. But that sort compares each row only once if all rows come
-- in order. So comparisons are taken off the cost of a Sort as far as statistics say that a table is in the order of its first
-- column.
--
-- Results are kept in settings of the session, since nothing can be written in a read-only transaction.
\set VERBOSITY terse
SET default_transaction_read_only = on;
SET statement_timeout = '10s';
SET lock_timeout = '2s';
SET plan_cache_mode = force_generic_plan;
SET client_min_messages = warning;

SELECT NOT EXISTS (SELECT FROM pg_settings WHERE name = 'gpusort.enable') AS is_missing \gset
\if :is_missing
LOAD 'gpusort';
\endif

-- ---- the statements, each with its calls and time if these are known

SELECT :'kind' = 'given' AS is_given, :'kind' = 'restored' AS is_restored \gset
\if :is_given
\set statements `cat :'directory'/statements`
SELECT coalesce(jsonb_agg(jsonb_build_object('statement', statement)), '[]') AS statements
FROM regexp_split_to_table(:'statements', ';[ \t\r]*(\n|$)') statement
WHERE statement ~ '\S' \gset
\elif :is_restored
SELECT set_config('work_mem', current_setting('maintenance_work_mem'), false) \g /dev/null
-- in the order in which they were made, which is that of the dump
\set counts `cat :'directory'/rows`
SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', i.indexrelid::regclass, 'on', i.indrelid::regclass,
	'method', m.amname, 'rows', rows, 'place', i.indexrelid::bigint,
	'statement', CASE WHEN m.amname <> 'btree' THEN 'SELECT 1'
		ELSE format('SELECT * FROM (SELECT %s, NULL::tid FROM generate_series(1, %s::bigint) OFFSET 0) s(%s) ORDER BY %s',
			"values", coalesce(rows, 1000000), names, keys) END))
	ORDER BY i.indexrelid), '[]') AS statements
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
		JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace,
	LATERAL (
		SELECT coalesce((SELECT min(count[2]::bigint) FROM regexp_matches(:'counts', '^(.*)\t(\d+)$', 'gn') count
				WHERE count[1] = format('%I.%I', n.nspname, t.relname)),
			CASE WHEN t.reltuples >= 0 AND t.relpages > 0 THEN t.reltuples::bigint END) AS rows) r,
	LATERAL (
		SELECT string_agg(format('NULL::%s', type), ', ' ORDER BY attnum) AS "values",
			string_agg(format('c%s', attnum), ', ' ORDER BY attnum) AS names,
			string_agg(format('c%s%s USING OPERATOR(%s)', attnum, ' COLLATE ' || order_of, operator), ', ' ORDER BY attnum)
				FILTER (WHERE attnum <= i.indnkeyatts) AS keys
		FROM (
			SELECT a.attnum, CASE WHEN a.atttypid = 'cstring'::regtype THEN o.opcintype::regtype::text
					ELSE format_type(a.atttypid, a.atttypmod) END AS type,
				CASE WHEN i.indcollation[a.attnum - 1] <> 0 THEN i.indcollation[a.attnum - 1]::regcollation END AS order_of,
				(SELECT format('%I.%s', s.nspname, p.oprname)
					FROM pg_amop f JOIN pg_operator p ON p.oid = f.amopopr JOIN pg_namespace s ON s.oid = p.oprnamespace
					WHERE f.amopfamily = o.opcfamily AND f.amopstrategy = 1 AND
						f.amoplefttype = o.opcintype AND f.amoprighttype = o.opcintype) AS operator
			FROM pg_attribute a LEFT JOIN pg_opclass o ON o.oid = i.indclass[a.attnum - 1] AND a.attnum <= i.indnkeyatts
			WHERE a.attrelid = i.indexrelid) a) k
WHERE c.relkind = 'i' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND
	NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = t.oid AND deptype = 'e') \gset
\else
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_statements') THEN
		RAISE 'no statements are given, and the extension pg_stat_statements, which has some, is not in this database';
	END IF;
END $$;
SELECT quote_ident(n.nspname) AS schema
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements' \gset
-- A statement has several identifiers if its tables were made anew. Statements that are no queries and sort no rows are left out.
SELECT coalesce(jsonb_agg(jsonb_strip_nulls(
	jsonb_build_object('statement', statement, 'calls', calls, 'time', time, 'problem', problem))), '[]') AS statements
FROM (
	SELECT /* of scripts/advise */ statement, sum(calls) AS calls, sum(time) AS time,
		CASE WHEN statement = '<insufficient privilege>' THEN 'only members of pg_read_all_stats can read it'
			WHEN kind <> 'query' THEN 'only queries are judged' END AS problem
	FROM (
		SELECT min(query) AS statement, sum(calls) AS calls, sum(total_exec_time) AS time
		FROM :schema.pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		GROUP BY queryid) s,
		LATERAL regexp_replace(statement, '^(\s|\(|/\*.*?\*/|--[^\n]*\n)*', '') bare,
		LATERAL (
			SELECT CASE WHEN bare ~* '^(select|with|values|table|insert|update|delete|merge)\M' THEN 'query'
				WHEN bare ~* '^(create\M.*\m(index|as)|copy\s*\(|(declare|prepare|refresh|reindex|cluster)\M)' THEN 'command'
				WHEN bare = '<insufficient privilege>' THEN 'secret' END AS kind) k
	WHERE kind IS NOT NULL AND statement NOT LIKE '%/* of scripts/advise */%'
	GROUP BY statement, kind
	ORDER BY time DESC
	LIMIT 100) s \gset
\endif

-- ---- planning

-- Statements and results pass through settings, so the text of DO is always the same: one entry in pg_stat_statements.
SELECT set_config('advise.results', '[]', false) \g /dev/null
\o /dev/null
SELECT format('SELECT set_config(''advise.statement'', %L, false)', statement), $do$
DO $block$
DECLARE
	result		jsonb := current_setting('advise.statement');
	-- A list that pg_stat_statements has shortened gets ten elements, as many as the planner expects of an unknown array.
	written		text := regexp_replace(result ->> 'statement', '(\$\d+) /\*, \.\.\. \*/', '\1' || repeat(', \1', 9), 'g');
	-- Where constants have become parameters, an array of them has lost its type, and one behind its type is a syntax error.
	readable	text := regexp_replace(regexp_replace(written, '\marray\s*\[\s*(\$\d+)(\s*,\s*\$\d+)*\s*\]', '\1', 'gi'),
		'\m(date|interval|timestamptz|timetz|(timestamp|time)(\s+with(out)?\s+time\s+zone)?)\s+(\$\d+)', '\5::\1', 'gi');
	statement	text;
	problem		text := result ->> 'problem';
	key_cost	text := current_setting('gpusort.host_sort_row_cost');
	major		int := current_setting('server_version_num')::int / 10000;
	types		text;
	parameters	int := 0;
	mode		text;
	plan		jsonb;
	node		jsonb;
	probe		jsonb;
	cost		numeric;
BEGIN
	IF problem <> '' THEN
		RAISE '%', problem;
	END IF;
	PERFORM set_config('gpusort.device', 'host', true);
	FOREACH statement IN ARRAY ARRAY[written, readable] LOOP
		BEGIN
			-- Other texts than a query fail as a cursor, and nothing is executed: a single command as it is a PREPARE, several as
			-- they are several.
			BEGIN
				FOR plan IN EXECUTE 'PREPARE gpusort_advise AS ' || statement LOOP
				END LOOP;
			EXCEPTION WHEN invalid_cursor_definition THEN
				IF SQLERRM NOT LIKE '%PREPARE%' THEN
					RAISE 'these are several commands';
				END IF;
			END;

			FOREACH mode IN ARRAY ARRAY['stock', 'gpu', 'host'] LOOP
				PERFORM set_config('gpusort.enable', (mode <> 'stock')::text, true);
				PERFORM set_config('gpusort.enable_windows', 'off', true);
				PERFORM set_config('gpusort.enable_aggregates', 'off', true);
				PERFORM set_config('gpusort.host_sort_row_cost', CASE mode WHEN 'gpu' THEN '0' ELSE key_cost END, true);

				-- before 16 EXPLAIN knows values of parameters only, each of which needs a type, those too that are no longer there
				IF major < 16 THEN
					DEALLOCATE ALL;
					SELECT '(' ||
						string_agg(CASE WHEN statement ~ ('\$' || i || '\M') THEN 'unknown' ELSE 'text' END, ', ' ORDER BY i) || ')'
					INTO types
					FROM generate_series(1, (SELECT max(p[1]::int) FROM regexp_matches(written, '\$(\d{1,5})\M', 'g') p)) i;
					EXECUTE concat('PREPARE gpusort_advise', types, ' AS ', statement);
					SELECT cardinality(parameter_types) INTO parameters FROM pg_prepared_statements WHERE name = 'gpusort_advise';
				END IF;
				IF parameters > 0 THEN
					EXECUTE format('EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE gpusort_advise(NULL%s)', repeat(', NULL', parameters - 1))
					INTO plan;
				ELSIF major < 16 THEN
					EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || statement INTO plan;
				ELSE
					EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON, GENERIC_PLAN) ' || statement INTO plan;
				END IF;

				cost := plan #> '{0,Plan,Total Cost}';
				FOR node IN SELECT jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuSort")') LOOP
					CONTINUE WHEN abs((node -> 'Total Cost')::numeric - (node -> 'Startup Cost')::numeric -
						(node -> 'Plan Rows')::numeric * current_setting('cpu_operator_cost')::numeric) > 0.02;
					EXECUTE format('EXPLAIN (FORMAT JSON) SELECT i%s FROM generate_series(1, %s::bigint) i ORDER BY i',
						(SELECT string_agg(', i + ' || n, '') FROM generate_series(1, least((node -> 'Plan Width')::int / 8 - 1, 1000)) n),
						node -> 'Plan Rows') INTO probe;
					CONTINUE WHEN probe #>> '{0,Plan,Custom Plan Provider}' IS DISTINCT FROM 'GpuSort';
					cost := cost - (node -> 'Total Cost')::numeric + (node #> '{Plans,0,Total Cost}')::numeric
						+ (probe #> '{0,Plan,Total Cost}')::numeric - (probe #> '{0,Plan,Plans,0,Total Cost}')::numeric;
				END LOOP;

				-- Of several columns the others are compared among the rows of one value. A join keeps the order of its outer side.
				FOR node IN SELECT jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "Sort")') LOOP
					WITH RECURSIVE input AS (
						SELECT node #> '{Plans,0}' AS input
						UNION ALL
						SELECT input #> '{Plans,0}' FROM input WHERE input ->> 'Node Type' IN ('Hash Join', 'Nested Loop')
					), sort AS (
						SELECT greatest((node -> 'Plan Rows')::numeric, 2) AS rows, node #>> '{Sort Key,0}' AS key,
							jsonb_array_length(node -> 'Sort Key') = 1 AS is_only_key,
							(node -> 'Startup Cost')::numeric - (node #> '{Plans,0,Total Cost}')::numeric AS comparisons,
							2 * current_setting('cpu_operator_cost')::numeric AS comparison
					)
					SELECT cost - coalesce(sum(
						greatest(least(comparisons, rows * comparison * ln(rows) / ln(2.0)) - rows * comparison, 0) * correlation ^ 2 *
						CASE WHEN is_only_key THEN 1 ELSE least(greatest(ln(values) / ln(rows), 0), 1) END), 0)
					INTO cost
					FROM sort, input JOIN pg_stats ON input ->> 'Node Type' = 'Seq Scan' AND
						schemaname = input ->> 'Schema' AND tablename = input ->> 'Relation Name',
						LATERAL (SELECT CASE WHEN n_distinct < 0 THEN -n_distinct * rows ELSE n_distinct END AS values) v
					WHERE (correlation < 0) = (key ~ ' DESC\M') AND
						format('%I.%I', input ->> 'Alias', attname) = regexp_replace(key, '( DESC| NULLS (FIRST|LAST))+$', '');
				END LOOP;
				result := result || jsonb_build_object(mode, cost);
			END LOOP;
			problem := NULL;
			EXIT;
		EXCEPTION WHEN query_canceled OR OTHERS THEN
			problem := coalesce(problem, SQLERRM);
			-- what is not for the text's sake ends it
			EXIT WHEN statement = readable OR SQLSTATE NOT LIKE '42%';
		END;
	END LOOP;
	IF problem <> '' THEN
		RAISE '%', problem;
	END IF;

	-- that of the last mode
	result := result || jsonb_build_object('plan', plan, 'no_reasons', parameters > 0);
	PERFORM set_config('advise.results', (current_setting('advise.results')::jsonb || result)::text, false);
EXCEPTION WHEN query_canceled OR OTHERS THEN
	result := result || jsonb_build_object('problem', SQLERRM);
	PERFORM set_config('advise.results', (current_setting('advise.results')::jsonb || result)::text, false);
END $block$
$do$
FROM jsonb_array_elements(:'statements') statement \gexec
\o

-- ---- the tables

\pset footer off
\pset null ''
\if :is_given
\set columns ''
\else
\set columns 'calls, round(time / 1000) AS seconds,'
\endif

-- Before PostgreSQL 18 reasons are in a list beside the plan, and EXPLAIN EXECUTE has none.
SELECT $with$
WITH /* of scripts/advise */ result AS MATERIALIZED (
	SELECT regexp_replace(regexp_replace(btrim(r.statement, E' \t\r\n'), '\s+', ' ', 'g'), '^(.{60}).{4,}', '\1...') AS statement,
		r.calls, r.time, r.problem, coalesce(r.time, r.stock) AS weight,
		1 - r.host / nullif(r.stock, 0) AS host_gain, 1 - r.gpu / nullif(r.stock, 0) AS gpu_gain, taken, "left", memory,
		r.name, r.on, r.method, r.rows, r.place, (r.plan #>> '{0,Plan,Plan Width}')::numeric AS width
	FROM jsonb_to_recordset(current_setting('advise.results')::jsonb)
			AS r(statement text, calls numeric, time numeric, problem text, stock numeric, gpu numeric, host numeric, plan jsonb,
				no_reasons boolean, name text, "on" text, method text, rows bigint, place bigint),
		LATERAL (
			SELECT string_agg(format('%s (%s rows)', keys, node #>> '{Plans,0,Plan Rows}'), E'\n')
				FILTER (WHERE node ->> 'Custom Plan Provider' LIKE 'GpuSort%' AND keys <> '') AS taken,
			-- a row has its key, its place and a header, too; nodes without keys send and receive rows
			max((node #>> '{Plans,0,Plan Rows}')::numeric * ((node #>> '{Plans,0,Plan Width}')::numeric + 72))
				FILTER (WHERE node ->> 'Custom Plan Provider' LIKE 'GpuSort%' AND keys <> '') AS memory,
			string_agg(concat_ws(': ', keys, coalesce(node ->> 'Why Not GpuSort', 'PostgreSQL 15 does not say why')), E'\n')
				FILTER (WHERE node ? 'Why Not GpuSort' AND inner_sorts IS NULL OR r.no_reasons AND node ->> 'Node Type' LIKE '%Sort') AS left_nodes,
			string_agg(inner_sorts || ': sorted inside the aggregate, of which costs do not tell', E'\n') AS inner_nodes
			FROM jsonb_path_query(r.plan, 'strict $.** ? (exists(@."Node Type"))') node,
				LATERAL (SELECT string_agg(key, ', ') AS keys FROM jsonb_array_elements_text(node -> 'Sort Key') key) k,
				LATERAL (SELECT string_agg(output, ', ') AS inner_sorts FROM jsonb_array_elements_text(node -> 'Output') output
					WHERE node ->> 'Node Type' = 'Aggregate' AND output ~ CASE WHEN current_setting('server_version_num')::int < 160000
						THEN 'WITHIN GROUP \(ORDER BY |\(DISTINCT |\(.* ORDER BY ' ELSE 'WITHIN GROUP \(ORDER BY ' END) a) n,
		LATERAL (
			SELECT concat_ws(E'\n', left_nodes, inner_nodes, string_agg(regexp_replace(line, '^Sort by ', ''), E'\n')) AS "left"
			FROM jsonb_array_elements_text(r.plan #> '{0,Why Not GpuSort}') line) l)
$with$ AS results \gset

\if :is_restored

-- ---- the index builds of a restore

SELECT :'results' || $with$, build AS (
	SELECT *, CASE WHEN problem <> '' THEN problem WHEN method NOT IN ('btree', 'gin') THEN format('PostgreSQL builds %s indexes itself', method)
			WHEN rows < current_setting('gpusort.min_rows')::bigint THEN 'fewer rows are expected than gpusort.min_rows'
			ELSE nullif(regexp_replace("left", '^.*: ', ''), '') END AS reason,
		-- an index has the place of a row in its header; a sort has a row's key, its place, and an entry of the order besides
		coalesce(rows, 1000000) * (2 * width + 32) AS bytes
	FROM result
)
$with$ AS builds \gset

:builds
SELECT name AS index, "on" AS "table", coalesce(rows::text, '?') AS rows,
	CASE WHEN reason <> '' THEN '' WHEN method = 'gin' THEN '?' ELSE round(100 * greatest(host_gain, 0)) || ' %' END AS "gain without GPU",
	CASE WHEN reason <> '' THEN '' WHEN method = 'gin' THEN '?' ELSE round(100 * greatest(gpu_gain, host_gain, 0)) || ' %' END AS "with GPU",
	CASE WHEN reason <> '' THEN '' WHEN method = 'gin' THEN '?' ELSE ceil(bytes / 1048576) || 'MB' END AS memory,
	reason AS "left to PostgreSQL"
FROM build
ORDER BY place;

:builds, sums AS (
	SELECT count(*) AS builds, count(*) FILTER (WHERE reason IS NULL) AS taken, count(*) FILTER (WHERE rows IS NULL) AS unknown,
		count(*) FILTER (WHERE problem <> '') AS unjudged,
		coalesce(sum(weight * greatest(host_gain, 0)) FILTER (WHERE reason IS NULL AND method = 'btree') /
			nullif(sum(weight) FILTER (WHERE method = 'btree'), 0), 0) AS host,
		coalesce(sum(weight * greatest(host_gain, gpu_gain, 0)) FILTER (WHERE reason IS NULL AND method = 'btree') /
			nullif(sum(weight) FILTER (WHERE method = 'btree'), 0), 0) AS gpu,
		ceil(max(bytes) FILTER (WHERE reason IS NULL AND method = 'btree') / 1048576) AS megabytes
	FROM build
)
SELECT unjudged, CASE WHEN taken = 0 THEN format('A restore would gain nothing: gpusort takes over none of its %s index builds.', builds)
	ELSE format('A restore gains: gpusort takes over %s of %s index builds, and by the planner''s costs saves %s %% of the sorts for ' ||
			'B-trees without a GPU, and %s %% with one', taken, builds, round(100 * host), round(100 * gpu)) ||
		CASE WHEN megabytes IS NULL THEN ''
			WHEN megabytes * 1048576 > pg_size_bytes(current_setting('maintenance_work_mem'))
			THEN format('; set maintenance_work_mem = ''%sMB'' for each job, so that the largest B-tree needs no files', megabytes)
			ELSE format('; maintenance_work_mem, %s, is enough for the largest B-tree', current_setting('maintenance_work_mem')) END || '.' ||
		CASE WHEN unknown = 0 THEN '' WHEN unknown = builds THEN ' The dump does not tell its rows: a million are assumed in each table.'
			ELSE ' Where the rows are unknown, a million are assumed.' END END AS sentence
FROM sums \gset

\else

:results
SELECT count(*) FILTER (WHERE problem <> '') AS unjudged, count(problem) > 0 AS is_any_unjudged,
	count(taken) > 0 AS is_any_taken, count(*) FILTER (WHERE taken <> '' AND NOT coalesce(least(host_gain, gpu_gain) > 0.005, false)) > 0 AS is_any_unknown,
	count(*) FILTER (WHERE taken IS NULL AND "left" <> '') > 0 AS is_any_left,
	count(*) FILTER (WHERE problem IS NULL AND taken IS NULL AND "left" = '') AS unsorted
FROM result \gset
\if :is_any_taken
:results
SELECT :columns
	CASE WHEN host_gain > 0.005 THEN round(100 * host_gain) || ' %' ELSE '?' END AS "gain without GPU",
	CASE WHEN gpu_gain > 0.005 THEN round(100 * gpu_gain) || ' %' ELSE '?' END AS "with GPU",
	taken AS "taken over", "left" AS "left to PostgreSQL", statement
FROM result WHERE taken <> ''
ORDER BY weight * greatest(host_gain, gpu_gain) DESC NULLS LAST;
\if :is_any_unknown
\echo '?: taken over, with a gain that the planner''s costs do not tell\n'
\endif
\endif

\if :is_any_left
:results
SELECT :columns "left" AS "left to PostgreSQL", statement
FROM result WHERE taken IS NULL AND "left" <> ''
ORDER BY weight DESC;
\endif

\if :is_any_unjudged
:results
SELECT :columns problem AS "cannot be judged", statement
FROM result WHERE problem <> ''
ORDER BY weight DESC;
\endif
\echo Statements without a sort: :unsorted

-- ---- the sentence for all of them

-- What is not judged counts as no gain.
:results, sums AS (
	SELECT sum(weight) AS total, max(memory) AS memory,
		coalesce(sum(weight * greatest(host_gain, 0)) FILTER (WHERE taken <> '') / nullif(sum(weight), 0), 0) AS host,
		coalesce(sum(weight * greatest(host_gain, gpu_gain, 0)) FILTER (WHERE taken <> '') / nullif(sum(weight), 0), 0) AS gpu
	FROM result
), setting AS (
	SELECT pg_size_bytes(current_setting(CASE current_setting('gpusort.work_mem') WHEN '-1' THEN 'work_mem' ELSE 'gpusort.work_mem' END)) AS work_mem
)
SELECT CASE WHEN host >= 0.1 THEN 'Install gpusort' WHEN gpu >= 0.1 THEN 'Install gpusort, with a GPU'
		WHEN gpu >= 0.03 THEN 'gpusort would gain little' ELSE 'There is no reason to install gpusort for these statements' END ||
	format(': by the planner''s costs it saves %s %% of %s without a GPU, and %s %% with one', round(100 * host),
		CASE WHEN :'kind' = 'given' THEN 'their cost' ELSE format('their %s seconds', round(total / 1000)) END, round(100 * gpu)) ||
	CASE WHEN gpu >= 0.03 AND memory > work_mem
		THEN format('; set gpusort.work_mem = ''%sMB'', so that the largest sort needs no files', ceil(memory / 1048576)) ELSE '' END ||
	'.' AS sentence
FROM sums, setting \gset

\endif

\echo :sentence

\o :directory/unjudged
\qecho :unjudged
