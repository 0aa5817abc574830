# shellcheck shell=bash
# What the benchmarks of a server share; to be sourced after `set -euo pipefail`.

# changes whenever the table does
TABLE_VERSION=2
# of the table
rows=''
# how often everything is measured
repeats=${REPEATS:-3}

progress() { printf '== %s\n' "$*" >&2; }

fail() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "set client_min_messages = warning" -c "$1"; }

# Makes the schema with what follows, as a script, in it.
prepare_schema() {
	sql "create extension if not exists gpusort"
	sql "create schema if not exists gpusort_bench"
	psql -Xq -v ON_ERROR_STOP=1 -c 'set client_min_messages = warning' -f -
}

prepare_table() {
	local comment="$rows rows, version $TABLE_VERSION"
	if [ "$(sql "select obj_description(to_regclass('gpusort_bench.t'))")" != "$comment" ]; then
		progress "making a table of $rows rows"
		psql -Xq -v ON_ERROR_STOP=1 <<-SQL
			set client_min_messages = warning;
			drop table if exists gpusort_bench.t;
			select setseed(0.5) \g /dev/null
			create table gpusort_bench.t with (autovacuum_enabled = off) as
				select i::integer as id,
					(hashint8extended(i, 4) >> 32)::integer as k4,
					hashint8extended(i, 8) as k8,
					random() as f8,
					(random() * 1e10)::numeric(14, 2) as num,
					timestamptz '2000-01-01 00:00:00+00' + random() * interval '7000 days' as ts,
					md5(i::text) as txt,
					floor(random() * 100)::integer as grp,
					repeat('x', 40) as pad
				from generate_series(1::bigint, $rows) as i;
			vacuum (freeze, analyze) gpusort_bench.t;
			comment on table gpusort_bench.t is '$comment';
		SQL
	fi
	# without pg_prewarm a scan brings it into memory at least
	sql "create extension if not exists pg_prewarm; select pg_prewarm('gpusort_bench.t')" >/dev/null 2>&1 ||
		sql "select count(*) from gpusort_bench.t" >/dev/null
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

# usage: describe_server SETTINGS
describe_server() {
	sql "select split_part(version(), ' on ', 1) || ', gpusort '
		|| (select extversion from pg_extension where extname = 'gpusort')"
	sql "select format('%s rows, %s, shared_buffers %s, $1, medians of $repeats',
		to_char($rows, 'FM999,999,999,999'), pg_size_pretty(pg_table_size('gpusort_bench.t')),
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
