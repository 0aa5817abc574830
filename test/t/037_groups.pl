# Processes that consume sorted groups and values together, and send rows to the leader. They are disturbed: by the end
# of any process while one waits for another, by errors, by workers that come late or never, by a lack of memory, by the
# loss of gpusortd. Each time the result is right or there is one clear error, and no shared memory and no file is left.
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
# segments that are files in the data directory can be counted
$node->configure(<<'CONF');
gpusort.min_rows = 0
work_mem = 64MB
dynamic_shared_memory_type = mmap
max_worker_processes = 16
max_parallel_workers_per_gather = 8
max_parallel_workers = 12
parallel_setup_cost = 0
cpu_tuple_cost = 1
parallel_tuple_cost = 1
gpusort.get_shared_row_cost = 0
min_parallel_table_scan_size = 0
enable_hashagg = off
enable_gathermerge = off
restart_after_crash = on
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', HeldQueries::PASS_FUNCTION . <<'SQL');
CREATE EXTENSION gpusort;

CREATE FUNCTION fail_in_worker(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF current_setting('my.leader', true) <> pg_backend_pid()::text THEN
		RAISE 'a worker has failed';
	END IF;
	RETURN pass(i);
END $$;

CREATE TABLE t WITH (parallel_workers = 2) AS
SELECT i id, abs(hashint4(i)) % 500 g, hashint4(i) k, md5(i::text) txt FROM generate_series(1, 6000) i;
CREATE TABLE large WITH (parallel_workers = 2) AS
SELECT i id, abs(hashint4(i)) % 9000 g, hashint4(i) k, repeat(md5(i::text), 5) txt FROM generate_series(1, 60000) i;
CREATE TABLE medium WITH (parallel_workers = 2) AS SELECT * FROM large WHERE id <= 18000;
VACUUM ANALYZE t, large, medium;
SQL
$node->wait_until_ready('gpusortd is ready');

# Consumers of each kind, all rows of which are in the result.
sub windows
{
	my ($table, $condition) = @_;
	return "SELECT count(*), sum(r), sum(hashtext(txt || r)::bigint) FROM "
	  . "(SELECT txt, row_number() OVER (PARTITION BY g ORDER BY k, id) r FROM $table WHERE $condition) s;\n";
}

# rows that pass from the workers in chunks
sub rows
{
	my ($table, $condition) = @_;
	return "SELECT count(*), sum(r), sum(hashtext(txt || r)::bigint) FROM "
	  . "(SELECT txt, rank() OVER (PARTITION BY g ORDER BY k, id) r FROM $table WHERE $condition OFFSET 0) s;\n";
}

sub groups
{
	my ($table, $condition) = @_;
	return "SELECT count(*), sum(hashtext(a)::bigint) FROM (SELECT g, string_agg(txt, ',' ORDER BY k, id) a FROM $table WHERE $condition GROUP BY g) s;\n";
}

sub distinct
{
	my ($table, $condition) = @_;
	return "SELECT count(*), sum(hashtext(txt || k)::bigint) FROM (SELECT DISTINCT ON (g) k, txt FROM $table WHERE $condition ORDER BY g, k, id) s;\n";
}

sub distinct_values
{
	my ($table, $condition) = @_;
	return "SELECT count(DISTINCT txt), count(txt), count(*) FROM $table WHERE $condition;\n";
}

# Keys do not tell how many different texts there are.
sub distinct_texts
{
	my ($table, $condition) = @_;
	return "SELECT count(DISTINCT repeat(txt, 5)), count(*) FROM $table WHERE $condition;\n";
}

sub percentiles
{
	my ($table, $condition) = @_;
	return "SELECT percentile_disc(ARRAY[0, 0.3, 1]) WITHIN GROUP (ORDER BY txt), percentile_disc(0.7) WITHIN GROUP (ORDER BY txt), count(*) "
	  . "FROM $table WHERE $condition;\n";
}
my %consumers = (windows => \&windows, rows => \&rows, 'group by' => \&groups, 'distinct on' => \&distinct, 'distinct values' => \&distinct_values,
	'distinct texts' => \&distinct_texts, percentiles => \&percentiles);
# one process has the result of these
my %emits_alone = ('distinct values' => 1, percentiles => 1);
my $stock = "SET gpusort.enable = off; SET max_parallel_workers_per_gather = 0;\n";
my %native = map { ($_ => $node->safe_psql('postgres', $stock . $consumers{$_}->('t', 'true'))) } keys %consumers;
my %native_medium = map { ($_ => $node->safe_psql('postgres', $stock . $consumers{$_}->('medium', 'true'))) } keys %consumers;
my %native_large = map { ($_ => $node->safe_psql('postgres', $stock . $consumers{$_}->('large', 'true'))) } keys %consumers;
my $idle_segments = $node->segments;

# Checks that nothing is left of shared memory and temporary files.
sub check_left
{
	my ($what) = @_;
	my ($segments, @files);
	for (1 .. 100)
	{
		$segments = $node->segments;
		@files = glob $node->data_dir . '/base/pgsql_tmp/*';
		last if $segments <= $idle_segments && !@files;
		select undef, undef, undef, 0.1;
	}
	is("$segments @files", "$idle_segments ", "$what: no shared memory and no file is left");
}

#
# Any number of workers, with and without the leader
#

my $in_parts = "SELECT value FROM gpusort_stats WHERE name = 'sorts_in_parts';\n";
foreach my $name (sort keys %consumers)
{
	foreach my $leader ('on', 'off')
	{
		foreach my $workers (0 .. 8)
		{
			my ($planned, $started) = ($workers || 2, $workers);
			my $settings = "SET parallel_leader_participation = $leader; ALTER TABLE t SET (parallel_workers = $planned); SET max_parallel_workers = $started;\n";
			my ($before, $result, $after) = split /\n/, $node->safe_psql('postgres', $settings . $in_parts . $consumers{$name}->('t', 'true') . $in_parts);
			is($result, $native{$name}, "$name, $workers workers, leader $leader");
			# a single worker alone gains nothing
			next if $leader eq 'off' && $workers == 1;
			is($after - $before, $workers == 0 || $emits_alone{$name} ? 0 : 1, 'they emit slices, of values that are all wanted');
		}
	}
}
$node->safe_psql('postgres', 'ALTER TABLE t SET (parallel_workers = 2)');
check_left('any number of workers');

#
# Disturbed while they wait
#

my $held = HeldQueries->new($node, 'consumer');

# Two moments: workers have put all of their rows, and the leader has not; or the
# other way round.  Each comes with the leader and a worker.
my %moments = ('the leader is late' => \&HeldQueries::start_with_late_leader, 'workers are late' => \&HeldQueries::start_with_late_workers);

foreach my $device ('host', 'cuda')
{
	foreach my $name (sort keys %consumers)
	{
		my $set = "SET gpusort.device = $device;\n";
		my $query = $consumers{$name}->('t', 'pass(id) > 0');

		foreach my $moment (sort keys %moments)
		{
			my $begin = $moments{$moment};
			my $what = "$name, $moment ($device)";
			my ($session) = $begin->($held, $set . $query);
			$held->finish($session);
			is($session->{err} . $session->{out}, "$native{$name}\n", $what);

			($session, my $leader, my $worker) = $begin->($held, $set . $query x 2);
			$node->safe_psql('postgres', "SELECT pg_cancel_backend($leader)");
			$held->finish($session);
			is($session->{err}, "ERROR:  canceling statement due to user request\n", "$what, cancelled");
			is($session->{out}, "$native{$name}\n", 'and the next one is right');

			($session, $leader, $worker) = $begin->($held, $set . $query x 2);
			$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
			$held->finish($session);
			like($session->{err}, qr/^(ERROR|FATAL):  terminating (connection|background worker "parallel worker") due to administrator command$/m, "$what, a worker is terminated");
			is($session->{out}, "$native{$name}\n", 'and the next one is right');

			($session, $leader, $worker) = $begin->($held, $set . $query);
			$node->safe_psql('postgres', "SELECT pg_terminate_backend($leader)");
			$held->finish($session);
			ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'consumer'"),
				"$what, the leader is terminated, and all are gone");
			check_left($what);
		}
	}
}

# workers wait for room in chunks, since the leader is held at its first row
my $sent = "SELECT txt, rank() OVER (PARTITION BY g ORDER BY k, id)::int r FROM large OFFSET 0";
my $large_rows = "SELECT count(*), sum(pass(r)), sum(hashtext(txt || r)::bigint) FROM ($sent) s;\n";

sub start_without_room
{
	my ($script) = @_;
	$held->shut_doors(2);
	my $session = $held->start($script);
	my ($leader) = $held->wait_for(1, 0, 'Lock');
	my ($worker) = $held->wait_for(0, 2, 'Extension');
	return ($session, $leader, $worker);
}
my ($session) = start_without_room($large_rows);
$held->finish($session);
is($session->{err} . $session->{out}, "$native_large{rows}\n", 'workers wait for room');
($session) = start_without_room("SELECT count(*) FROM (SELECT pass(r) FROM ($sent) s LIMIT 3) l;\n$large_rows");
$held->finish($session);
is($session->{err} . $session->{out}, "3\n$native_large{rows}\n", 'and for the end of a LIMIT');
foreach my $function ('pg_cancel_backend', 'pg_terminate_backend')
{
	foreach my $whose ('leader', 'worker')
	{
		($session, my $leader, my $worker) = start_without_room($large_rows x 2);
		$node->safe_psql('postgres', "SELECT $function(" . ($whose eq 'leader' ? $leader : $worker) . ')');
		$held->finish($session);
		like($session->{err}, qr/^(ERROR|FATAL):  (canceling statement|terminating (connection|background worker "parallel worker"))/m, "workers wait for room, $function of the $whose");
		is($session->{out}, $function eq 'pg_terminate_backend' && $whose eq 'leader' ? '' : "$native_large{rows}\n", 'and the next one is right');
		ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'consumer'"), 'and all are gone');
	}
}
check_left('workers wait for room');

# gpusortd is lost with the keys
foreach my $moment (sort keys %moments)
{
	my ($session) = $moments{$moment}->($held, "SET gpusort.device = cuda;\n" . windows('t', 'pass(id) > 0'));
	kill 'KILL', $node->daemon_pid || die 'there is no gpusortd';
	$held->finish($session);
	like($session->{err}, qr/\A(WARNING:  gpusort: sorting without the device\n)*\z/, "$moment: gpusortd is killed");
	is($session->{out}, "$native{windows}\n", 'and the keys are made again');
	$node->wait_until_ready('gpusortd is back');
}

#
# Errors: in a worker, and above the groups, when some rows have been emitted
#

# the leader is held at its first row
$held->shut_doors(2);
$session = $held->start(windows('t', 'fail_in_worker(id) > 0') . windows('t', 'true'));
$session->{handle}->pump until $session->{err} =~ /has failed/;
$held->finish($session);
is($session->{err}, "ERROR:  a worker has failed\n", 'a worker fails in the child');
is($session->{out}, "$native{windows}\n", 'and the next one is right');
my $failing = windows('large', 'true') =~ s/hashtext\(txt \|\| r\)/(1 \/ (r - 14))/r;
my ($status, $out, $err) = $node->psql('postgres', $failing . windows('large', 'true'), on_error_stop => 0);
like($err, qr/division by zero/, 'an error above the groups');
is($out, $native_large{windows}, 'and the next one is right');

# In one of two workers, which has sent all of its rows: the other one, which may have to take them, is stopped until it has ended. Then the
# leader learns of both errors at once.
$node->safe_psql('postgres', HeldQueries::ARRIVE_FUNCTION);
foreach my $first (0, 1)
{
	$held->shut_doors(3);
	$session = $held->start("SET parallel_leader_participation = off;\n" . windows('large', 'arrive(id) > 0'));
	my @workers = $held->wait_for(0, 2, 'Lock');
	my ($stopped, $ended) = @workers[ $first, 1 - $first ];
	my ($leader) = $held->{doors}->query_safe("SELECT leader_pid FROM pg_stat_activity WHERE pid = $stopped");
	kill 'STOP', $stopped;
	$held->open_doors(3);
	$held->wait_for(0, 1, 'Extension');
	kill 'STOP', $leader;
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($ended, 10000)");
	kill 'CONT', $stopped;
	sleep 2;
	kill 'CONT', $leader;
	$held->finish($session);
	is($session->{err} =~ s/^(CONTEXT|SQL|PL).*\n//mgr, qq(ERROR:  terminating background worker "parallel worker" due to administrator command\n), 'a worker ends that has sent rows');
}
check_left('a worker ends that has sent rows');

# at any time
my $script = "\\set VERBOSITY terse\n";
foreach my $i (1 .. 60)
{
	my $name = (sort keys %consumers)[ $i % keys %consumers ];
	$script .= "SET statement_timeout = " . (3 * $i) . ";\n" . $consumers{$name}->('large', 'true') . "RESET statement_timeout;\n";
}
($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
is(join("\n", grep { !/canceling statement due to statement timeout/ } split /\n/, $err), '', 'they can be cancelled at any time');
check_left('cancelled at any time');

#
# Workers that come when the others have had all rows
#

my $postmaster = $node->safe_psql('postgres', "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
$session = $held->start("\\! (sleep 2; kill -CONT $postmaster) > /dev/null 2>&1 & kill -STOP $postmaster\n" . join '', map { $consumers{$_}->('t', 'true') } sort keys %consumers);
$session->{handle}->finish;
is($session->{err} . $session->{out}, join('', map { "$native{$_}\n" } sort keys %consumers), 'workers come late');
check_left('workers come late');

# Too little memory, or none
# Executes plans that were made with enough memory, with less.
sub consume_large
{
	my ($what, $settings) = @_;
	my $prepare = '';
	my $execute = '';
	foreach my $name (sort keys %consumers)
	{
		my $id = $name =~ s/ //r;
		# all processes begin before any goes on
		$prepare .= "PREPARE $id AS " . $consumers{$name}->('large', 'pass(id) > 0') . "EXPLAIN EXECUTE $id \\g /dev/null\n";
		$execute .= "EXECUTE $id;\n";
	}
	my ($session) = $held->start_at_first_rows("SET plan_cache_mode = force_generic_plan;\n$prepare$settings\n$execute");
	$held->finish($session);
	is($session->{err} . $session->{out}, join('', map { "$native_large{$_}\n" } sort keys %consumers), $what);
	check_left($what);
}

# What EXPLAIN shows of a sort in this memory.
sub report_in
{
	my ($work_mem) = @_;
	return $node->safe_psql('postgres', "SET plan_cache_mode = force_generic_plan; PREPARE w AS " . windows('large', 'true')
		  . "EXPLAIN EXECUTE w \\g /dev/null\nSET gpusort.work_mem = '$work_mem'; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE w;");
}
like(report_in('64MB'), qr/Parallel Custom Scan \(GpuSortWindow\).*Sort Key: large.g, .*Sort Method: radix sort\n.*Rows: 60000\n.*Parts Emitted: \d+\n.*Processes Emitting: [123]\n/s, 'there is memory');
my $shown;
# workers may come when all rows are taken
foreach my $attempt (1 .. 10)
{
	$shown = report_in('2MB');
	last if $shown =~ /Rows Written By Workers/;
}
like($shown, qr/Sort Method: radix sort, merge of \d+ runs in \d+ parts\n.*Disk: .*Parts Emitted: \d+\n.*Processes Emitting: [123]\n/s,
	'there is too little, and all emit parts of the merge');
cmp_ok($shown =~ /Rows Written By Workers: (\d+)/ ? $1 : 0, '>', 0, 'some rows were in files of workers');
$shown = report_in('256kB');
like($shown, qr/Sort Method: radix sort, merge of \d+ runs\n.*Disk: /s, 'there is so little that runs cannot be merged at once');
unlike($shown, qr/Parts Emitted/, 'so one process emits all rows');
consume_large("with $_", "SET gpusort.work_mem = '$_';") foreach ('64MB', '4MB', '2MB', '1MB', '256kB', '64kB');
consume_large('switched off since', 'SET gpusort.enable_sort = off;');

# segments and files have two megabytes at most, and the leader has nearly all rows, so that even its runs cannot be
# written
system_or_bail('prlimit', '--pid', $postmaster, '--fsize=2097152:');
foreach my $name (sort keys %consumers)
{
	my $query = $consumers{$name}->('medium', 'pass(id) > 0');
	($session) = $held->start_at_first_rows("SET gpusort.work_mem = '512MB';\n$query");
	$held->open_doors(2);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'consumer' AND leader_pid IS NULL AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Extension'");
	$held->finish($session);
	like($session->{err} . $session->{out}, qr/\A(\Q$native_medium{$name}\E|ERROR:  could not write to file .*: File too large)\n\z/, "$name, shared memory that cannot be had");
	check_left($name);
}
system_or_bail('prlimit', '--pid', $postmaster, '--fsize=unlimited:');

#
# A worker that is killed takes the server down, and no shared memory stays
#

($session, my $leader, my $worker) = $moments{'the leader is late'}->($held, windows('t', 'pass(id) > 0'));
kill 'KILL', $worker;
eval { $session->{handle}->finish };
eval { $held->end };
ok($node->wait_until_up, 'a worker is killed, and the server comes up again');
is($node->safe_psql('postgres', windows('t', 'true')), $native{windows}, 'the next one is right');
check_left('a worker is killed');

$node->stop;
done_testing();
