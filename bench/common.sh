# shellcheck shell=bash
# What the benchmarks of a server share; to be sourced after `set -euo pipefail`.

# has to change whenever the table does
TABLE_VERSION=3
# rows of the table that a session makes at a time
PART_ROWS=1000000
# rows of the table
rows=''
# whether its rows have no column but k8, so that there is memory for a billion
narrow=false
# gpusort.device, and parallel workers beside the leader
device=auto workers=0
# the table that is measured
table=gpusort_bench.t
# how often everything is measured
repeats=${REPEATS:-3}

progress() { printf '== %s\n' "$*" >&2; }

fail() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "set client_min_messages = warning" -c "$1"; }

# Makes the schema, and runs the script of standard input in it.
prepare_schema() {
	sql "create extension if not exists gpusort"
	sql "create schema if not exists gpusort_bench"
	psql -Xq -v ON_ERROR_STOP=1 -c 'set client_min_messages = warning' -f -
}

prepare_table() {
	local comment="$rows rows, version $TABLE_VERSION"
	! $narrow || comment="$rows narrow rows, version $TABLE_VERSION"
	if [ "$(sql "select obj_description(to_regclass('gpusort_bench.t'))")" != "$comment" ]; then
		progress "making a table of $rows rows"
		psql -Xq -v ON_ERROR_STOP=1 <<-SQL
			set client_min_messages = warning;
			drop table if exists gpusort_bench.t;
			create $(table_definition) with (autovacuum_enabled = off);
		SQL
		export narrow
		export -f make_part
		seq 1 "$PART_ROWS" "$rows" |
			xargs --max-procs="$(nproc)" --replace "$BASH" -euc "make_part {} $PART_ROWS $rows"
		# the server writes the table now, and not while something is measured
		psql -Xq -v ON_ERROR_STOP=1 <<-SQL
			vacuum (freeze, analyze) gpusort_bench.t;
			comment on table gpusort_bench.t is '$comment';
			checkpoint;
		SQL
		sync
	fi
	# without pg_prewarm a scan at least brings the table into memory
	sql "create extension if not exists pg_prewarm; select pg_prewarm('gpusort_bench.t')" >/dev/null 2>&1 ||
		sql "select count(*) from gpusort_bench.t" >/dev/null
}

# A narrow table is unlogged: with that many rows the log would take as much room as the table.
table_definition() {
	if $narrow; then
		echo 'unlogged table gpusort_bench.t (k8 bigint)'
	else
		echo 'table gpusort_bench.t (id integer, k4 integer, k8 bigint, f8 double precision, num numeric(14, 2),
			ts timestamptz, txt text, grp integer, pad text)'
	fi
}

# usage: make_part FIRST_ROW PART_ROWS ROWS     puts these rows into the table, which has so many in all
make_part() {
	local values="i,
		(hashint8extended(i, 4) >> 32)::integer,
		hashint8extended(i, 8),
		random(),
		(random() * 1e10)::numeric(14, 2),
		timestamptz '2000-01-01 00:00:00+00' + random() * interval '7000 days',
		md5(i::text),
		floor(random() * 100)::integer,
		repeat('x', 40)"
	! $narrow || values='hashint8extended(i, 8)'
	psql -Xq -v ON_ERROR_STOP=1 <<-SQL
		select setseed($1 / $3::double precision) \g /dev/null
		insert into gpusort_bench.t
			select $values from generate_series($1::bigint, least($1 + $2 - 1, $3)) as i;
	SQL
}

# usage: make_documents TABLE ROWS
# Makes a table of documents. Words and numbers are drawn so that some are frequent and most are rare.
make_documents() {
	local documents=$1 count=$2 first part pids=()
	progress "making $count documents"
	sql "drop table if exists $documents;
		create table $documents (id bigint, words tsvector, numbers int[], document jsonb, title text)"
	part=$(((count + $(nproc) - 1) / $(nproc)))
	for ((first = 1; first <= count; first += part)); do
		make_documents_part "$documents" "$first" "$((first + part - 1 < count ? first + part - 1 : count))" &
		pids+=($!)
	done
	wait "${pids[@]}"
}

# usage: make_documents_part TABLE FIRST LAST
make_documents_part() {
	sql "insert into $1
		select i,
			(select array_to_tsvector(array_agg(distinct 'w' || (200000 * random() ^ 3)::int)) from generate_series(1, 30) w where i > 0),
			(select array_agg((200000 * random() ^ 3)::int) from generate_series(1, 20) n where i > 0),
			jsonb_build_object('id', i, 'name', md5(i::text), 'tags', jsonb_build_array('t' || i % 100, 't' || i % 1009),
				'size', i % 5000, 'active', i % 2 = 0, 'note', 'k' || i % 50),
			md5(i::text) || ' ' || md5((i * 7)::text) || ' ' || md5((i * 11)::text)
		from generate_series($2::bigint, $3) i"
}

# gpusortd takes a moment to start a device.
wait_for_devices() {
	local attempt
	for attempt in {1..60}; do
		[ "$(sql "select count(*) from gpusort_devices where state = 'starting'")" -gt 0 ] || return 0
		sleep 0.5
	done
	progress "gpusortd has not come up after $((attempt / 2)) seconds"
}

# ---- queries of ORDER BY

# usage: sorted_query KEY [COLUMNS]     the query of a key, of all columns or these; fails if there is no such key
sorted_query() {
	local columns=${2:-*}
	case $1 in
	k4 | k8 | f8 | num | ts | txt) echo "select $columns from gpusort_bench.t order by $1" ;;
	txt_icu) echo "select $columns from gpusort_bench.t order by txt collate \"en-x-icu\"" ;;
	grp_k8) echo "select $columns from gpusort_bench.t order by grp, k8" ;;
	k8_only) echo "select k8 from gpusort_bench.t order by k8" ;;
	window) echo "select $columns, row_number() over (partition by grp order by k8) from gpusort_bench.t" ;;
	*) return 1 ;;
	esac
}

# usage: check_keys USAGE KEY...     fails unless there is a query for each
check_keys() {
	local key usage=$1
	for key in "${@:2}"; do
		sorted_query "$key" >/dev/null || fail "there is no key $key; $usage"
	done
}

# The columns of a key. With them a query's result does not depend on the order of rows with equal keys.
key_columns() {
	case $1 in
	txt_icu) echo txt ;;
	grp_k8 | window) echo 'grp, k8' ;;
	k8_only) echo k8 ;;
	*) echo "$1" ;;
	esac
}

# usage: list_settings ON|OFF MEMORY     the settings of a benchmark, with $workers, and gpusort on or off, as lines NAME=VALUE
# PostgreSQL's own sorts are made to use the workers; with gpusort the planner decides by what it expects them to cost.
list_settings() {
	printf '%s\n' "gpusort.enable=$1" "work_mem=$2" "maintenance_work_mem=$2" jit=off "max_parallel_workers_per_gather=$workers" \
		"max_parallel_maintenance_workers=$workers" "max_parallel_workers=$((workers > 8 ? workers : 8))" min_parallel_table_scan_size=0
	[ "$1" = on ] || printf '%s\n' parallel_setup_cost=0 parallel_tuple_cost=0
}

# usage: measured_settings ON|OFF MEMORY     commands that set these, and $device
measured_settings() {
	echo "load 'gpusort'; set gpusort.device = $device; set gpusort.work_mem = -1;"
	list_settings "$1" "$2" | sed "s/\(.*\)=\(.*\)/set \1 = '\2';/"
}

# usage: measured_sql ON|OFF MEMORY STATEMENT     runs a statement in a new session with these settings
measured_sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$(measured_settings "$1" "$2")" -c "$3"; }

# usage: digest ON|OFF WORK_MEM KEY     a digest of the sorted keys; for the window of a set, since workers return its groups in any order
digest() {
	local query
	query=$(sorted_query "$3" "$(key_columns "$3")")
	[ "$3" != window ] || query="select count(*), sum(hashtextextended(w::text, 0)::numeric) from ($query offset 0) w"
	measured_sql "$1" "$2" "copy ($query) to stdout" | sha256sum
}

# The table in which the runs of this call are noted, and the function that makes and notes a run.
prepare_runs() {
	prepare_schema <<-'SQL'
		drop table if exists gpusort_bench.run cascade;
		create unlogged table gpusort_bench.run (
			key text, gpusort boolean, timing boolean, ms numeric, fill_ms numeric, sort_ms numeric, device_ms numeric,
			device text, method text, workers integer, on_disk boolean, cost numeric, width numeric);

		-- Explains a query, runs it and notes what that says. "timing" is for the time on the device: it slows the rest.
		create or replace function gpusort_bench.measure(key text, query text, timing boolean) returns void
		language plpgsql as $$
		declare
			before jsonb;
			after jsonb;
			plan jsonb;
			sorts numeric;
		begin
			select jsonb_object_agg(name, value) into before from gpusort_stats;
			execute format('explain (analyze, timing %s, format json) %s', timing::text, query) into plan;
			select jsonb_object_agg(name, value) into after from gpusort_stats;
			sorts := nullif((after->>'sorts_device')::numeric + (after->>'sorts_host')::numeric
				- (before->>'sorts_device')::numeric - (before->>'sorts_host')::numeric, 0);
			insert into gpusort_bench.run values (
				key, current_setting('gpusort.enable')::boolean, timing,
				(plan->0->>'Execution Time')::numeric,
				((after->>'fill_microseconds')::numeric - (before->>'fill_microseconds')::numeric) / sorts / 1000,
				((after->>'sort_microseconds')::numeric - (before->>'sort_microseconds')::numeric) / sorts / 1000,
				nullif((jsonb_path_query_first(plan, '$.**."Device Time"') #>> '{}')::numeric, 0),
				jsonb_path_query_first(plan, '$.**."Device"') #>> '{}',
				jsonb_path_query_first(plan, '$.**."Sort Method"') #>> '{}',
				(jsonb_path_query_first(plan, '$.**."Workers Launched"') #>> '{}')::integer,
				jsonb_path_exists(plan, '$.** ? (exists(@."Disk") || @."Sort Space Type" == "Disk")'),
				(plan->0->'Plan'->>'Total Cost')::numeric, (plan->0->'Plan'->>'Plan Width')::numeric);
		end
		$$;
	SQL
}

# ---- DuckDB

duckdb_directory=''

prepare_duckdb() {
	command -v duckdb >/dev/null || { progress "there is no program duckdb, and so none of its times" && return; }
	progress "copying the table for $(duckdb --version)"
	duckdb_directory=$(mktemp -d)
	trap 'rm -rf "$duckdb_directory"' EXIT
	if $narrow; then
		prepare_narrow_duckdb
		return
	fi
	sql "copy (select id, k4, k8, f8, num, ts at time zone 'UTC', txt, grp, pad from gpusort_bench.t) to stdout (format csv)" |
		duckdb "$duckdb_directory/t" -c "create table t (id integer, k4 integer, k8 bigint, f8 double, num decimal(14, 2),
			ts timestamp, txt varchar, grp integer, pad varchar); copy t from '/dev/stdin' (format csv, header false)"
}

# A copy of a billion rows would take a quarter of an hour: DuckDB makes rows of its own instead, which are as random.
prepare_narrow_duckdb() {
	duckdb "$duckdb_directory/t" -c "create table t as select (hash(i) >> 1)::bigint as k8 from range($rows) as r(i)"
}

# usage: duckdb_ms STATEMENT     its median, or null
duckdb_ms() {
	local repeat
	[ -n "$duckdb_directory" ] || { echo null && return; }
	for ((repeat = 0; repeat <= repeats; repeat++)); do
		echo "explain analyze ${1//gpusort_bench./};"
	done | duckdb "$duckdb_directory/t" -cmd "set threads = $((workers + 1))" |
		sed -nE 's/.*Total Time: ([0-9.]+)s.*/\1/p' | sed 1d | sort -n |
		sed -n "$(((repeats + 1) / 2))s/.*/1000 * &/p"
}

# ---- the description of the server

# usage: describe_server SETTINGS
describe_server() {
	sql "select split_part(version(), ' on ', 1) || ', gpusort '
		|| (select extversion from pg_extension where extname = 'gpusort')"
	sql "select format('%s rows, %s, shared_buffers %s, $1, $repeats runs each',
		to_char($rows, 'FM999,999,999,999'), pg_size_pretty(pg_table_size('$table')),
		current_setting('shared_buffers'))"
	echo "$(cpu_model), $(nproc) cores"
	sql "select 'gpusortd: ' || concat_ws(', ', name, nullif(pg_size_pretty(memory), ''), 'capability ' || capability,
		'driver ' || driver, state, reason) from gpusort_devices"
}

# The processor of this machine, which is the server's if PGHOST names a socket.
cpu_model() {
	local name value
	while IFS=: read -r name value; do
		[[ $name != 'model name'* ]] || { echo "${value# }" && return; }
	done </proc/cpuinfo
	uname -m
}
