# gpusort_progress: what it shows of sorts and index builds that are held at some row, comparison or phase, and who may see it. It
# shows nothing of a sort that has ended, however it ended.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use HeldQueries;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.device = host
work_mem = 64MB
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
max_parallel_workers = 8
parallel_setup_cost = 0
parallel_tuple_cost = 0
gpusort.get_shared_row_cost = 0
min_parallel_table_scan_size = 0
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', HeldQueries::PASS_FUNCTION . <<'SQL');
CREATE EXTENSION gpusort;

-- doors 1 and up, at two rows
CREATE FUNCTION pass_at(i int, first int, second int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF i = first THEN
		PERFORM pg_advisory_xact_lock_shared(1);
	ELSIF i = second THEN
		PERFORM pg_advisory_xact_lock_shared(2);
	END IF;
	RETURN i;
END $$;

-- comparisons of integers, which wait at door 1 in the phase that is set
CREATE FUNCTION held_cmp(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF current_setting('my.phase', true) = (SELECT phase FROM public.gpusort_progress WHERE pid = pg_backend_pid()) THEN
		PERFORM pg_advisory_xact_lock_shared(1);
	END IF;
	RETURN btint4cmp(a, b);
END $$;
DO $$
DECLARE
	name text;
	operator text;
BEGIN
	FOR name, operator IN VALUES ('lt', '<'), ('le', '<='), ('eq', '='), ('ge', '>='), ('gt', '>') LOOP
		EXECUTE format('CREATE FUNCTION held_%s(int, int) RETURNS bool LANGUAGE sql IMMUTABLE PARALLEL SAFE AS ''SELECT $1 %s $2''', name, operator);
		EXECUTE format('CREATE OPERATOR #%s# (FUNCTION = held_%s, LEFTARG = int, RIGHTARG = int)', operator, name);
	END LOOP;
END $$;
CREATE OPERATOR CLASS held_ops FOR TYPE int USING btree AS
	OPERATOR 1 #<#, OPERATOR 2 #<=#, OPERATOR 3 #=#, OPERATOR 4 #>=#, OPERATOR 5 #>#, FUNCTION 1 held_cmp(int, int);

CREATE TABLE t WITH (parallel_workers = 2) AS SELECT i AS id, hashint4(i) AS k, repeat(md5(i::text), 4) AS txt FROM generate_series(1, 20000) i;
CREATE TABLE few AS SELECT i AS id, (i / 3) % 200 AS k, repeat(md5(i::text), 4) AS txt FROM generate_series(1, 1800) i;
VACUUM ANALYZE t, few;

CREATE ROLE alice LOGIN;
CREATE ROLE bob LOGIN;
CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats;
GRANT SELECT ON t, few TO alice, bob;
SQL
$node->wait_until_ready('gpusortd is ready');

# Columns of the view, as a session sees them that does not sort with gpusort itself.
sub shown
{
	my ($columns, $role) = @_;
	return $node->safe_psql('postgres', 'SET gpusort.enable = off;' . ($role ? "SET SESSION AUTHORIZATION $role;" : '')
		  . "SELECT $columns FROM gpusort_progress ORDER BY phase COLLATE \"C\", pid");
}
use constant ALL => 'kind, phase, rows_put, runs_written, rows_emitted, device, datname';

# Checks that nothing is shown as soon as a query has ended.
sub check_none
{
	my ($what) = @_;
	is(shown('*'), '', "$what: nothing is left");
}

# Waits until a process waits for a lock.
my $held = HeldQueries->new($node, 'sorter');
sub start_held
{
	my ($script) = @_;
	$held->shut_doors(1, 2);
	my $session = $held->start($script);
	return ($session, $held->wait_for(1, 0, 'Lock'));
}

# Lets the query go on from the first door to the second.
sub go_on
{
	my ($pid) = @_;
	$held->open_doors(1);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE pid = $pid AND NOT granted AND locktype = 'advisory' AND objid = 2")
	  or die 'never at the second door';
}

sub count_of { return "SELECT count(*) FROM ($_[0] OFFSET 0) s;\n"; }
my $by_key = count_of('SELECT * FROM t WHERE pass_at(id, 9000, 18000) > 0 ORDER BY k');

#
# Phases
#

check_none('before the first sort');

my ($session, $pid) = start_held($by_key);
is(shown(ALL), 'sort|taking rows|8192|0|||postgres', 'rows are taken');
is(shown('pid, rows_expected'), "$pid|" . $node->safe_psql('postgres', 'SELECT round(20000 / 3.0)'), 'of a process, as many as the planner expects');
is(shown('datid'), $node->safe_psql('postgres', "SELECT oid FROM pg_database WHERE datname = 'postgres'"), 'in a database');
go_on($pid);
is(shown(ALL), 'sort|taking rows|16384|0|||postgres', 'more rows are taken');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
check_none('a sort');

($session, $pid) = start_held(count_of('SELECT nullif(k, k) n FROM t WHERE pass_at(id, 9000, 18000) > 0 ORDER BY n'));
is(shown(ALL), 'sort|taking rows|8192|0|||postgres', 'NULLs, which are only counted, are rows');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');

($session, $pid) = start_held("SET gpusort.device = cuda;\n$by_key");
is(shown(ALL), 'sort|taking rows|8192|0||gpusortd|postgres', 'gpusortd has the keys');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');

my $emitted = "SELECT count(pass_at(place::int, 9000, 18000)) FROM (SELECT row_number() OVER () place, k FROM (SELECT k FROM t ORDER BY k OFFSET 0) s OFFSET 0) s;\n";
($session, $pid) = start_held($emitted);
is(shown(ALL), 'sort|emitting rows|20000|0|8192|host|postgres', 'rows are emitted');
go_on($pid);
is(shown(ALL), 'sort|emitting rows|20000|0|16384|host|postgres', 'more rows are emitted');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
check_none('a sort that emits rows');

# windows are evaluated while rows are emitted
my $windows = "SELECT count(pass_at(place::int, 9000, 18000)) + min(r) - 1 FROM (SELECT row_number() OVER () place, r FROM"
  . " (SELECT row_number() OVER (PARTITION BY id % 500 ORDER BY k) r FROM t OFFSET 0) s OFFSET 0) s;\n";
my $before = $node->counter('windows');
($session, $pid) = start_held($windows);
is(shown(ALL), 'sort|emitting rows|20000|0|8193|host|postgres', 'a GpuSortWindow emits rows');
go_on($pid);
is(shown(ALL), 'sort|emitting rows|20000|0|16385|host|postgres', 'it emits more');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
is($node->counter('windows') - $before, 1, 'and is counted');
check_none('windows');

# nodes that are counted without a phase of their own
foreach my $case (
	[ 'aggregates', 'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM t', 1 ],
	[ 'set_operations', 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; '
		  . 'SET min_parallel_table_scan_size = 0; SET cpu_operator_cost = 1; SELECT count(*) FROM (SELECT txt FROM t EXCEPT SELECT txt FROM t) s', 1 ],
	[ 'rows_left_out', 'SELECT count(*) FROM (SELECT DISTINCT ON (id % 2) txt FROM t ORDER BY id % 2, id) s', 10000 ])
{
	my ($name, $query, $least) = @$case;
	my $counted = $node->counter($name);
	$node->safe_psql('postgres', $query);
	cmp_ok($node->counter($name) - $counted, '>=', $least, "$name are counted");
}

($session, $pid) = start_held("SET gpusort.device = cuda;\n$emitted");
like(shown(ALL), qr/^sort\|emitting rows\|20000\|0\|8192\|(?!host)\w.*\|postgres$/, 'the device has a name');
$held->finish($session);

# in runs
my $in_runs = "SET gpusort.work_mem = '1MB';\n" . count_of('SELECT * FROM t WHERE pass_at(id, 9000, 18000) > 0 ORDER BY txt');
($session, $pid) = start_held($in_runs);
my ($runs) = shown(ALL) =~ /^sort\|taking rows\|\d+\|(\d+)\|\|host\|postgres$/;
cmp_ok($runs, '>', 0, 'runs are written');
go_on($pid);
my ($rows, $more_runs) = shown(ALL) =~ /^sort\|taking rows\|(\d+)\|(\d+)\|\|host\|postgres$/;
cmp_ok($more_runs, '>', $runs, 'more runs are written');
ok($rows <= 18000 && $rows > 18000 - 4096, "with all rows, $rows");
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
check_none('a sort in runs');

($session, $pid) = start_held("SET gpusort.work_mem = '1MB';\n" . $emitted =~ s/SELECT k FROM t/SELECT k, txt FROM t/r);
like(shown(ALL), qr/^sort\|emitting rows\|20000\|[1-9]\d*\|8192\|host\|postgres$/, 'rows are emitted from runs');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');

# in the phases that make comparisons
my $scroll = "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT k, id, txt FROM few ORDER BY k, id USING #<#; FETCH 1 FROM c \\g /dev/null\n";
my $index = "CREATE INDEX i ON few (k, id held_ops, txt); SELECT count(*) FROM few; DROP INDEX i;\n";
my %phases = (
	'sorting' => qr/^sort\|sorting\|1800\|0\|\|host\|postgres$/,
	'writing run' => qr/^sort\|writing run\|\d+\|\d+\|\|host\|postgres$/,
	'merging runs' => qr/^sort\|merging runs\|1800\|[1-9]\d*\|\|host\|postgres$/);
foreach my $phase (sort keys %phases)
{
	my $memory = $phase eq 'sorting' ? '64MB' : '100kB';
	($session, $pid) = start_held("SET my.phase = '$phase'; SET gpusort.work_mem = '$memory';\n${scroll}MOVE ALL c; COMMIT; SELECT 1;\n");
	like(shown(ALL), $phases{$phase}, $phase);
	$held->finish($session);
	is($session->{err} . $session->{out}, "1\n", 'the result');
	check_none($phase);
}

# a sort that goes to core's when it runs
($session, $pid) = start_held("PREPARE p AS $by_key EXPLAIN EXECUTE p \\g /dev/null\nSET gpusort.enable_sort = off; SET plan_cache_mode = force_generic_plan;\nEXECUTE p;\n");
is(shown(ALL), 'sort|taking rows|8192|0||native|postgres', 'a sort that is native');
go_on($pid);
is(shown(ALL), 'sort|taking rows|16384|0||native|postgres', 'which takes more rows');
$held->finish($session);
check_none('a native sort');

# a sort of rows that another sort emits
($session, $pid) = start_held(count_of('SELECT * FROM (SELECT id, k FROM t ORDER BY txt OFFSET 0) s WHERE pass_at(id, 9000, 18000) > 0 ORDER BY k'));
like(shown(ALL), qr/^sort\|taking rows\|\d+\|0\|\|\|postgres$/, 'of nested sorts the one is shown that takes rows');
$held->finish($session);
check_none('nested sorts');

#
# Index builds
#

my $build = "CREATE INDEX i ON t (pass_at(id, 9000, 18000), k); SELECT count(*) FROM t; DROP INDEX i;\n";
($session, $pid) = start_held($build);
is(shown(ALL), 'index build|taking rows|8192|0|||postgres', 'an index build takes rows');
is(shown('rows_expected'), '20000', 'as many as the table has');
go_on($pid);
is(shown(ALL), 'index build|taking rows|16384|0|||postgres', 'it takes more');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
check_none('an index build');

%phases = (
	'sorting' => qr/^index build\|sorting\|1800\|0\|\|host\|postgres$/,
	'writing run' => qr/^index build\|writing run\|\d+\|\d+\|\|host\|postgres$/,
	'merging runs' => qr/^index build\|merging runs\|1800\|[1-9]\d*\|\|host\|postgres$/,
	'writing index' => qr/^index build\|writing index\|1800\|[1-9]\d*\|0\|host\|postgres$/);
foreach my $phase (sort keys %phases)
{
	my $memory = $phase eq 'sorting' ? '64MB' : '64kB';
	($session, $pid) = start_held("SET my.phase = '$phase'; SET gpusort.work_mem = '$memory';\n$index");
	like(shown(ALL), $phases{$phase}, "index build: $phase");
	$held->finish($session);
	is($session->{err} . $session->{out}, "1800\n", 'the result');
	check_none("index build: $phase");
}

my $inverted = "CREATE INDEX i ON t USING gin (string_to_array(txt || pass_at(id, 9000, 18000), 'a')); SELECT count(*) FROM t; DROP INDEX i;\n";
($session, $pid) = start_held($inverted);
like(shown(ALL), qr/^index build\|taking rows\|8192\|0\|\|\|postgres$/, 'a build of a GIN index takes rows');
go_on($pid);
like(shown(ALL), qr/^index build\|taking rows\|16384\|0\|\|\|postgres$/, 'it takes more');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
check_none('a build of a GIN index');

#
# Workers
#

my $set = "SET max_parallel_workers_per_gather = 2; SET max_parallel_maintenance_workers = 2;\n";
my $processes = '(SELECT leader_pid IS NULL FROM pg_stat_activity a WHERE a.pid = gpusort_progress.pid), kind, phase';
my $together = $set . count_of('SELECT k, txt FROM t WHERE pass(id) > 0 ORDER BY k, txt');
my $groups = "${set}SET cpu_tuple_cost = 1; SET enable_hashagg = off; SET enable_gathermerge = off;\n"
  . "SELECT count(*), sum(pass(r::int)) > 0 FROM (SELECT row_number() OVER (PARTITION BY id % 500 ORDER BY k, id) r, txt FROM t) s WHERE hashtext(txt || r) <> 0;\n";
my $parallel_build = "${set}CREATE INDEX i ON t (pass(id), k); SELECT count(*) FROM t; DROP INDEX i;\n";

($session) = $held->start_with_late_leader($together);
is(shown($processes), "t|sort|taking rows\nf|sort|waiting for leader\nf|sort|waiting for leader", 'workers wait for the leader');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
check_none('workers wait for the leader');

($session) = $held->start_with_late_workers($together);
is(shown($processes), "t|sort|taking rows\nf|sort|taking rows\nf|sort|taking rows", 'the leader waits for workers');
$held->finish($session);
is($session->{err} . $session->{out}, "20000\n", 'the result');
check_none('the leader waits for workers');

($session) = $held->start_at_first_rows($groups);
is(shown($processes), "t|sort|emitting rows\nf|sort|emitting rows\nf|sort|emitting rows", 'all emit groups');
$held->finish($session);
is($session->{err} . $session->{out}, "20000|t\n", 'the result');
check_none('groups');

foreach my $memory ('64MB', '64kB')
{
	$held->shut_doors(1, 2);
	$session = $held->start("SET gpusort.work_mem = '$memory';\n$parallel_build");
	$held->wait_for(1, 1, 'Lock');
	like(shown($processes), qr/^(t|f)\|index build\|taking rows(\n(t|f)\|index build\|taking rows)+$/, "workers build an index with $memory");
	$held->finish($session);
	is($session->{err} . $session->{out}, "20000\n", 'the result');
	check_none("workers build an index with $memory");
}

# in the end the leader has the rows and the runs of all processes, and the number of rows that was expected of all
$node->safe_psql('postgres', 'ALTER TABLE few SET (parallel_workers = 2)');
foreach my $memory ('64MB', '64kB')
{
	my $in_memory = $memory eq '64MB';
	my $phase = $in_memory ? 'sorting' : 'writing index';
	$held->shut_doors(1, 2);
	$session = $held->start("$set SET my.phase = '$phase'; SET gpusort.work_mem = '$memory';\n$index");
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'sorter' AND backend_type = 'client backend' AND wait_event_type = 'Lock'"),
		"the leader of an index build is $phase");
	is($node->safe_psql('postgres', "SET gpusort.enable = off; SELECT phase, rows_put, rows_expected, runs_written > 3 FROM gpusort_progress p JOIN pg_stat_activity a USING (pid) WHERE a.backend_type = 'client backend'"),
		"$phase|1800|1800|" . ($in_memory ? 'f' : 't'), "with all rows and runs, in $memory");
	$held->finish($session);
	is($session->{err} . $session->{out}, "1800\n", 'the result');
	check_none("the leader of an index build in $memory");
}

$held->shut_doors(1, 2);
$session = $held->start($parallel_build);
$held->wait_for(1, 2, 'Lock');
$held->open_doors(1);
ok($node->poll_query_until('postgres', "SELECT count(*) = 2 FROM gpusort_progress WHERE kind = 'index build' AND phase = 'waiting for leader' AND rows_put > 0"),
	'workers of an index build wait for the leader');
$held->finish($session);
check_none('workers of an index build wait for the leader');

#
# Who sees what
#

($session, $pid) = start_held("SET SESSION AUTHORIZATION alice;\n$by_key");
my $seen = "$pid|postgres|sort|taking rows|8192|6667|0||";
my $columns = 'pid, datname, kind, phase, rows_put, rows_expected, runs_written, rows_emitted, device';
is(shown($columns, 'alice'), $seen, 'a role sees its own sorts');
is(shown($columns, 'watcher'), $seen, 'pg_read_all_stats sees all');
is(shown($columns), $seen, 'so does a superuser');
is(shown($columns, 'bob'), "$pid|postgres|||||||", 'others see only that there is one');
$held->finish($session);

#
# However a sort ends
#

foreach my $name ('taking', 'emitting', 'build', 'runs')
{
	my %scripts = (taking => $by_key, emitting => $emitted, build => $build, runs => $in_runs);
	($session, $pid) = start_held("$scripts{$name}SELECT 1;\n");
	isnt(shown('*'), '', "$name is shown");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_locks WHERE pid = $pid AND NOT granted");
	$held->finish($session);
	like($session->{err}, qr/canceling statement due to user request/, "$name is cancelled");
	check_none("$name is cancelled");

	($session, $pid) = start_held($scripts{$name});
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid");
	check_none("$name is terminated");
	$held->finish($session);
}

foreach my $ended ('leader', 'worker')
{
	foreach my $script ($together, $groups, $parallel_build)
	{
		$held->shut_doors(1, 2);
		$session = $held->start($script);
		my ($leader, $worker) = $held->wait_for(1, 1, 'Lock');
		$node->safe_psql('postgres', 'SELECT pg_terminate_backend(' . ($ended eq 'leader' ? $leader : $worker) . ')');
		$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = " . ($ended eq 'leader' ? $leader : $worker));
		$held->finish($session);
		$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE leader_pid = $leader");
		check_none("the $ended is terminated");
	}
}

# in the session itself, which goes on: the sort is shown, and then it is not
my $own = 'SELECT kind, phase FROM gpusort_progress;';
sub in_one_session
{
	my ($what, $script, $expected) = @_;
	my ($status, $out) = $node->psql('postgres', "SET gpusort.enable = on;\n$script", on_error_stop => 0);
	is($out, $expected, $what);
}
my $cursor = 'DECLARE c CURSOR FOR SELECT k FROM t ORDER BY k; FETCH 1 FROM c \g /dev/null' . "\n";
in_one_session('a cursor is closed', "BEGIN; $cursor$own CLOSE c; $own SELECT 1; COMMIT;", "sort|emitting rows\n1");
in_one_session('a cursor is left open', "BEGIN; $cursor$own COMMIT; $own SELECT 1;", "sort|emitting rows\n1");
in_one_session('a cursor is held', 'BEGIN; ' . ($cursor =~ s/CURSOR/CURSOR WITH HOLD/r) . "$own COMMIT; $own SELECT 1;", "sort|emitting rows\n1");
in_one_session('a transaction is rolled back', "BEGIN; $cursor$own ROLLBACK; $own SELECT 1;", "sort|emitting rows\n1");
in_one_session('a savepoint is rolled back', "BEGIN; SAVEPOINT s; $cursor$own ROLLBACK TO s; $own SELECT 1; COMMIT;", "sort|emitting rows\n1");
in_one_session('two cursors', "BEGIN; $cursor" . ($cursor =~ s/\bc\b/d/gr) . "$own CLOSE d; $own CLOSE c; $own SELECT 1; COMMIT;", "sort|emitting rows\nsort|emitting rows\n1");
in_one_session('errors', count_of('SELECT 1 / (id - 9000) FROM t ORDER BY 1') . $own . "SELECT sum(1 / (id - 9000)) FROM (SELECT id FROM t ORDER BY k OFFSET 0) s;\n"
	  . $own . "CREATE INDEX ON t ((1 / (id - 9000))); $own SELECT 1;", '1');
in_one_session('errors that are caught', <<"SQL", "0\n1");
BEGIN;
DO \$\$
DECLARE
	r record;
BEGIN
	FOR i IN 1 .. 20 LOOP
		BEGIN
			FOR r IN SELECT id FROM t WHERE 1 / (id - 9000) < 9 ORDER BY k LOOP END LOOP;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		BEGIN
			FOR r IN SELECT id FROM t ORDER BY k LOOP PERFORM 1 / (r.id - 9000); END LOOP;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		BEGIN
			CREATE INDEX ON t ((1 / (id - 9000)));
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
END \$\$;
SELECT count(*) FROM gpusort_progress;
COMMIT;
SELECT 1;
SQL

# at any time
my $script = '';
foreach my $i (1 .. 30)
{
	$script .= "SET statement_timeout = " . (4 * $i) . ";\n" . count_of("SELECT * FROM t ORDER BY k, txt") . "CREATE INDEX i$i ON t (txt, k);\nRESET statement_timeout;\n";
}
my ($status, $out, $err) = $node->psql('postgres', "$script $own SELECT 1;", on_error_stop => 0);
like($out, qr/^(20000\n)*1$/, 'cancelled at any time, nothing is left');

check_none('in the end');
$held->end;

#
# Where the library is not preloaded
#

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
($status, $out, $err) = $node->psql('postgres', "LOAD 'gpusort'; SET gpusort.min_rows = 0; SELECT count(*) FROM (SELECT k FROM t ORDER BY k OFFSET 0) s; SELECT * FROM gpusort_progress", on_error_stop => 0);
is($out, 20000, 'without the preloaded library there are sorts');
like($err, qr/ERROR:  gpusort must be loaded via "shared_preload_libraries"/, 'and the view tells what it needs');

$node->stop;
done_testing();
