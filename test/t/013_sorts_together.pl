# Parallel workers that sort together with their leader, and are disturbed: by the end of any process while one
# waits for another, by workers that come late, by a lack of shared memory, by the loss of gpusortd. Each time the
# result is right or there is one clear error, and no shared memory is left.
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
max_parallel_workers_per_gather = 2
max_parallel_workers = 8
parallel_setup_cost = 0
parallel_tuple_cost = 0
gpusort.get_shared_row_cost = 0
min_parallel_table_scan_size = 0
restart_after_crash = on
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', HeldQueries::PASS_FUNCTION . <<'SQL');
CREATE EXTENSION gpusort;

CREATE FUNCTION fail_in_worker(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF current_setting('my.leader', true) <> pg_backend_pid()::text THEN
		IF i >= current_setting('my.fails_from')::int THEN
			RAISE 'a worker has failed';
		END IF;
		RETURN i;
	END IF;
	RETURN pass(i);
END $$;

-- all rows of a leader, few of a worker
CREATE FUNCTION few_in_worker(i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF current_setting('my.leader', true) = pg_backend_pid()::text THEN
		RETURN true;
	END IF;
	IF i % 100 = 0 THEN
		PERFORM pg_sleep(0.01);
	END IF;
	RETURN i % 100 = 0;
END $$;

CREATE TABLE t WITH (parallel_workers = 2) AS SELECT i id, hashint4(i) k, md5(i::text) txt FROM generate_series(1, 6000) i;
CREATE TABLE large WITH (parallel_workers = 2) AS SELECT i id, hashint4(i) k, repeat(md5(i::text), 5) txt FROM generate_series(1, 150000) i;
VACUUM ANALYZE t, large;
SQL
$node->wait_until_ready('gpusortd is ready');

sub digest_of
{
	my ($table, $condition) = @_;
	return "SELECT count(*), md5(string_agg(k::text || txt, ',')) FROM (SELECT k, txt FROM $table WHERE $condition ORDER BY k, txt OFFSET 0) s;\n";
}
my $query = digest_of('t', 'pass(id) > 0');
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; SET max_parallel_workers_per_gather = 0; " . digest_of('t', 'true'));
my $held = HeldQueries->new($node, 'sorter');

# the segments of the server itself, when there are no queries
my $idle_segments = $node->segments;

sub check_segments
{
	my ($what) = @_;
	my $count;
	for (1 .. 100)
	{
		$count = $node->segments;
		last if $count <= $idle_segments;
		select undef, undef, undef, 0.1;
	}
	cmp_ok($count, '<=', $idle_segments, "$what: no shared memory is left");
	my $files = $node->data_dir . '/base/pgsql_tmp/*';
	for (1 .. 100)
	{
		last unless glob $files;
		select undef, undef, undef, 0.1;
	}
	is(join(' ', glob $files), '', 'nor temporary files');
}

# If each process sorts for itself, EXPLAIN shows the rows of all processes.
foreach my $leader ('on', 'off')
{
	my $explained = "SET gpusort.device = host; SET parallel_leader_participation = $leader;\n"
	  . "EXPLAIN (ANALYZE, TIMING off, FORMAT %s) SELECT k, txt FROM large ORDER BY k FETCH FIRST 5 ROWS WITH TIES";
	like($node->safe_psql('postgres', sprintf($explained, 'TEXT')), qr/Sort Method: radix sort\n +Device: host\n +Rows: 150000\n +Sorts By Workers: 2\n/,
		"each process sorts for itself, with the leader $leader");
	like($node->safe_psql('postgres', sprintf($explained, 'JSON')), qr/"Sort Method": "radix sort",\n +"Device": "host",\n +"Rows": 150000,\n +"Sorts By Workers": 2,\n/,
		'in JSON');
}

# A leader without room for its rows sorts them by PostgreSQL's heap, workers with few rows by keys; the leader
# shows its own sort.
like($node->safe_psql('postgres', <<'SQL'), qr/Parallel Aware": true.*"Sort Method": "top-N heapsort \(native\)"/s, "the leader's own lines stand");
SELECT set_config('my.leader', pg_backend_pid()::text, false);
SET gpusort.device = host;
SET gpusort.work_mem = '256kB';
SET plan_cache_mode = force_generic_plan;
PREPARE first (bigint) AS SELECT k FROM (SELECT k, txt FROM large WHERE few_in_worker(id) ORDER BY k OFFSET 0) s LIMIT $1;
EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) EXECUTE first (5);
SQL

# Two moments: the workers have sent all of their rows and wait for the
# leader to take them; the leader has had all of its own and waits for them.
# Each comes with the leader and a worker.
my %moments = ('workers wait for the leader' => \&HeldQueries::start_with_late_leader, 'the leader waits for workers' => \&HeldQueries::start_with_late_workers);

# The same with little memory, but workers that write their rows as runs wait for nobody.
my $little_memory = "SET gpusort.work_mem = '64kB';\n";

foreach my $settings ("SET gpusort.device = host;\n", "SET gpusort.device = cuda;\n", $little_memory)
{
	my $script = "$settings$query$query";

	foreach my $moment ($settings eq $little_memory ? 'the leader waits for workers' : sort keys %moments)
	{
		my $begin = $moments{$moment};
		my ($together, $workers) = ($node->counter('sorts_together'), $node->counter('sort_workers'));
		my $spilled = $node->counter('sorts_spilled');
		my ($session) = $begin->($held, "$settings$query");
		$held->finish($session);
		is($session->{err} . $session->{out}, "$native\n", "$moment ($settings)");
		is($node->counter('sorts_together'), $together + 1, 'they sort together');
		is($node->counter('sorts_spilled'), $spilled + ($settings eq $little_memory), 'in runs if there is little memory');
		is($node->counter('sort_workers'), $workers + 2, 'all rows are sent');
		check_segments('it ends');

		($session, my $leader, my $worker) = $begin->($held, $script);
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($leader)");
		$held->finish($session);
		is($session->{err}, "ERROR:  canceling statement due to user request\n", 'it is cancelled');
		is($session->{out}, "$native\n", 'and the next one is right');
		check_segments('it is cancelled');

		($session, $leader, $worker) = $begin->($held, $script);
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($leader)");
		$held->finish($session);
		ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'sorter'"),
			'the leader is terminated, and all are gone');
		check_segments('it is terminated');

		($session, $leader, $worker) = $begin->($held, $script);
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
		$held->finish($session);
		like($session->{err}, qr/^(ERROR|FATAL):  terminating (connection|background worker "parallel worker") due to administrator command$/m, 'a worker is terminated');
		is($session->{out}, "$native\n", 'and the next one is right');
		check_segments('a worker is terminated');

		($session) = $begin->($held, "${settings}SET statement_timeout = '3s';\n$query RESET statement_timeout;\n$query");
		$session->{handle}->pump until $session->{err} =~ /timeout/;
		$held->finish($session);
		is($session->{err}, "ERROR:  canceling statement due to statement timeout\n", 'it takes too long');
		is($session->{out}, "$native\n", 'and the next one is right');
		check_segments('it takes too long');
	}
}

# A worker that fails while the leader is held at its first row: at once, or when the worker has written runs.
my $session;
foreach my $first (1, 5000)
{
	$held->shut_doors(2);
	$session = $held->start("${little_memory}SET my.fails_from = $first;\n" . digest_of('t', 'fail_in_worker(id) > 0') . $query);
	$session->{handle}->pump until $session->{err} =~ /has failed/;
	$held->finish($session);
	is($session->{err}, "ERROR:  a worker has failed\n", "a worker fails at row $first");
	is($session->{out}, "$native\n", 'and the next sort is right');
	check_segments('a worker fails');
}

# at any time
my $script = "\\set VERBOSITY terse\n";
foreach my $memory ('64MB', '1MB')
{
	$script .= "SET gpusort.work_mem = '$memory';\n";
	$script .= "SET statement_timeout = " . (2 * $_) . ";\n" . digest_of('large', 'true') . "RESET statement_timeout;\n" foreach (1 .. 40);
}
my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
is(join("\n", grep { !/canceling statement due to statement timeout/ } split /\n/, $err), '', 'sorts can be cancelled at any time');
check_segments('cancelled at any time');

#
# Workers that come when the leader has had all rows
#

my $postmaster = $node->safe_psql('postgres', "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
my ($together, $workers) = ($node->counter('sorts_together'), $node->counter('sort_workers'));
$session = $held->start("\\! (sleep 2; kill -CONT $postmaster) > /dev/null 2>&1 & kill -STOP $postmaster\n$query");
$session->{handle}->finish;
is($session->{err} . $session->{out}, "$native\n", 'workers come late');
is($node->counter('sorts_together'), $together + 1, 'they were waited for');
is($node->counter('sort_workers'), $workers, 'but not needed');

#
# gpusortd lost, with keys of rows that are in shared memory
#

($session) = $moments{'the leader waits for workers'}->($held, "SET gpusort.device = cuda;\n$query");
kill 'KILL', $node->daemon_pid || die 'there is no gpusortd';
$held->finish($session);
is($session->{err}, "WARNING:  gpusort: sorting without the device\n", 'gpusortd is killed');
is($session->{out}, "$native\n", 'and keys of all rows are made again');
$node->wait_until_ready('gpusortd is back');

# Too little memory, or none
#

my $native_large = $node->safe_psql('postgres', 'SET gpusort.enable = off; SET max_parallel_workers_per_gather = 0; ' . digest_of('large', 'true'));
my $report = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM large WHERE pass(id) > 0 ORDER BY k;\n";
my $hint = qr/LOG:  gpusort: parallel workers took \d+ MB of new shared memory/;

# All rows come from workers, so that the workers find no room.
sub sort_large
{
	my ($settings) = @_;
	my ($session) = $held->start_at_first_rows("SET plan_cache_mode = force_generic_plan;\nPREPARE p AS $report" =~ s/EXPLAIN \(.*?\) //r
		  . "PREPARE d AS " . digest_of('large', 'pass(id) > 0') . "EXPLAIN EXECUTE p \\g /dev/null\nEXPLAIN EXECUTE d \\g /dev/null\n"
		  . "$settings\nEXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE p;\nEXECUTE d;\n");
	$held->open_doors(1);
	# workers wait for the leader, unless they have written all of their rows
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'sorter' AND leader_pid IS NOT NULL AND wait_event_type IS DISTINCT FROM 'Extension'")
	  or die 'the workers do not come to an end';
	$held->finish($session);
	check_segments("large ($settings)");
	return $session;
}

$session = sort_large('');
like($session->{out}, qr/Sort Method: radix sort\n.*Rows: 150000\n.*Sorted With Workers: 2\n(?!.*Rows Written).*\Q$native_large\E\n$/s, 'all rows are sent');
# since the server's last start; a sort above may have been large enough
my $log = slurp_file($node->logfile) =~ s/.*database system is ready to accept connections//sr;
is(scalar(() = $log =~ /$hint/g), 1, 'the log tells that memory could be set aside, once');

# memory for more rows than the planner expects, for all that it expects, and for hardly any
my %kept;
foreach my $memory ('8MB', '4MB', '64kB')
{
	$session = sort_large("SET gpusort.work_mem = '$memory';");
	like($session->{out}, qr/Sort Method: radix sort, merge of \d+ runs( in \d+ (streamed )?parts)?\n.*Rows: 150000\n.*Sorted With Workers: 2\n.*Disk: \d+ ?kB/s, "memory for a part of the rows: $memory");
	($kept{$memory}) = $session->{out} =~ /Rows Written By Workers: (\d+)/;
	like($session->{out}, qr/\Q$native_large\E\n$/, 'all rows, in order');
}
cmp_ok($kept{'8MB'}, '>', 0, 'what exceeds the memory setting is kept by the workers');
cmp_ok($kept{'8MB'}, '<', 149000, 'but not what they have sent before');
cmp_ok($kept{$_}, '>', 149000, "with $_ they send none") foreach ('4MB', '64kB');

# a worker that comes to help when the others have merged all runs, and have deleted them
($session, undef, my $late) = $held->start_with_late_leader("SET gpusort.work_mem = '1MB';\n" . digest_of('large', 'pass(id) > 0'));
kill 'STOP', $late;
$held->open_doors(2);
$held->wait_for(1, 0, 'IPC');
kill 'CONT', $late;
$held->finish($session);
is($session->{err} . $session->{out}, "$native_large\n", 'a worker is too late to help');
check_segments('a worker is too late to help');

# a limit that a single run does not exceed, but all runs of a worker do
$session = sort_large("SET gpusort.work_mem = '4MB'; SET temp_file_limit = '8MB';");
like($session->{err}, qr/^(ERROR:  temporary file size exceeds "?temp_file_limit"? \(8192kB\)\n)+\z/, 'runs count for temp_file_limit');
unlike($session->{out}, qr/^\d/m, 'no answer');

# segments and files of a megabyte at most, and rows of which workers keep more
system_or_bail('prlimit', '--pid', $postmaster, '--fsize=1048576:');
$session = sort_large("SET gpusort.work_mem = '512MB';");
like($session->{err}, qr/^(ERROR:  could not write to file .*: File too large\n)+\z/, 'neither shared memory nor files is an error');
unlike($session->{out}, qr/^\d/m, 'the only answer');
system_or_bail('prlimit', '--pid', $postmaster, '--fsize=unlimited:');
$session = sort_large("SET gpusort.work_mem = '512MB';");
like($session->{out}, qr/\Q$native_large\E\n$/, 'with both again');

#
# A worker that is killed takes the server down, and no shared memory stays
#

($session, my $leader, my $worker) = $moments{'workers wait for the leader'}->($held, $query);
kill 'KILL', $worker;
eval { $session->{handle}->finish };
eval { $held->end };
ok($node->wait_until_up, 'a worker is killed, and the server comes up again');
is($node->safe_psql('postgres', $query), $native, 'the next sort is right');
check_segments('a worker is killed');

#
# Memory set aside
#

$node->append_conf('postgresql.conf', "min_dynamic_shared_memory = 64MB\ndynamic_shared_memory_type = posix\n");
$node->restart;
my $restarted = -s $node->logfile;
$held->make_doors;
$session = sort_large('');
like($session->{out}, qr/Rows: 150000\n.*Sorted With Workers: 2\n.*\Q$native_large\E\n$/s, 'with memory set aside');
unlike(substr(slurp_file($node->logfile), $restarted), $hint, 'the log has nothing to tell');
$held->end;

$node->stop;
done_testing();
