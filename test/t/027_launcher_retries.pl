# The launcher of gpusortd, when it cannot be started at once, or ends early. It is started again, not
# too often, and there is never more than one.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
session_preload_libraries = 'gpusort'
gpusort.daemon_engine = host
gpusort.verify = on
gpusort.min_rows = 0
max_worker_processes = 4
max_parallel_workers = 8
max_parallel_workers_per_gather = 8
max_logical_replication_workers = 0
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t AS SELECT hashint4(i) k FROM generate_series(1, 20000) i;
ALTER TABLE t SET (parallel_workers = 8);
ANALYZE t;
CREATE FUNCTION hold(k int) RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	PERFORM pg_advisory_lock_shared(1);
	RETURN k;
END $$;
SQL
my $digest = "SELECT md5(string_agg(k::text, ',')) FROM (SELECT k FROM t ORDER BY k) s";
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");

# Returns what a session prints that wants gpusortd to sort.
sub psql
{
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY default\nSET gpusort.device = cuda; SET max_parallel_workers_per_gather = 0; $digest");
	$err =~ s/^psql:\S+: //mg;
	return ($out, $err);
}

# The processes that are launchers.
sub launchers
{
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return map { m{/(\d+)$} } grep {
		status_of($_ =~ s{.*/}{}r, 'PPid') eq $postmaster
		  && (eval { slurp_file("$_/cmdline") } // '') =~ /gpusort launcher/
	} glob '/proc/[0-9]*';
}

sub wait_until
{
	my ($condition) = @_;
	for (1 .. 50 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $condition->();
		select(undef, undef, undef, 0.02);
	}
	return 0;
}

#
# No worker slot is free
# Parallel workers take all slots, and wait for a lock.
my $door = $node->background_psql('postgres');
$door->query_safe('SELECT pg_advisory_lock(1)');
my $holder = $node->start_psql('holder', <<'SQL');
SET gpusort.enable = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT count(hold(k)) FROM t;
SQL
ok( $node->poll_query_until('postgres',
		"SELECT count(*) = 4 FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND wait_event = 'advisory'"),
	'parallel workers have all slots');
my ($out, $err) = psql();
is($out, $native, 'a sort without a launcher is right');
like($err, qr/^WARNING:  gpusort: sorting without the device\nDETAIL:  no background worker slot is free, see max_worker_processes\.$/, 'and says why');
is($node->safe_psql('postgres', 'SELECT state, reason FROM gpusort_devices'),
	'failed|no background worker slot is free, see max_worker_processes', 'so does who looks');

# many sorts, while the start is tried again after growing delays
sub attempts { return scalar(() = slurp_file($node->logfile) =~ /could not start the launcher/g); }
is(attempts(), 1, 'the log says it');
my $start = time;
psql() while time < $start + 3;
is(attempts(), 1, 'once');

$door->quit;
$holder->{handle}->finish;
is($holder->{out}, "20000\n", 'the slots are free again');
$node->wait_until_ready('gpusortd comes, without a restart');
($out, $err) = psql();
is("$out$err", $native, 'and sorts');
is(scalar(launchers()), 1, 'there is one launcher');

#
# The launcher ends
#

my ($launcher) = launchers();
kill 'TERM', $launcher;
ok(wait_until(sub { my ($now) = launchers(); return !defined $now || $now != $launcher; }), 'the launcher is told to end');
$node->wait_until_ready('there is another one');

# by an error: it can open nothing, so there is no other gpusortd
($launcher) = launchers();
system_or_bail('prlimit', '--pid', $launcher, '--nofile=3:');
my $log = -s $node->logfile;
kill 'KILL', $node->daemon_pid;
ok(wait_until(sub { return substr(slurp_file($node->logfile), $log) =~ /"gpusort launcher" \(PID $launcher\) exited with exit code 1/ }), 'the launcher fails');
is($node->safe_psql('postgres', $digest), $native, 'sorts go on');
$node->wait_until_ready('and there is another one');
is(scalar(launchers()), 1, 'one only');

# the server's restart after a crash: shared memory is new, and all state with it
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('restart_after_crash')::bool");

# Kills a backend, and returns when the server is there again.
sub crash
{
	my ($launcher) = launchers();
	my $victim = $node->background_psql('postgres', on_error_stop => 0);

	kill 'KILL', scalar($victim->query('SELECT pg_backend_pid()'));
	ok(wait_until(sub { return status_of($launcher, 'State') =~ /^[ZX]?$/ }), 'a backend is killed, and the launcher ends with all others');
	eval { $victim->quit };
	$node->wait_until_up;
}
crash();
$node->wait_until_ready('gpusortd is back');
($out, $err) = psql();
is("$out$err", $native, 'and sorts');
is(scalar(launchers()), 1, 'there is one launcher');

# the same with the library preloaded, when the postmaster starts the launcher
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort'");
$node->restart;
psql() foreach 1 .. 3;
$node->wait_until_ready('preloaded, gpusortd is ready');
is(scalar(launchers()), 1, 'there is one launcher');
($launcher) = launchers();
kill 'TERM', $launcher;
ok(wait_until(sub { my ($now) = launchers(); return !defined $now || $now != $launcher; }), 'the launcher is told to end');
$node->wait_until_ready('there is another one');
is(scalar(launchers()), 1, 'one only');

# the postmaster does not start that launcher again after a crash; for its own launcher backends wait
# 10 seconds
crash();
$start = time;
$node->wait_until_ready('gpusortd is back, too');
cmp_ok(time - $start, '<', 8, 'at once, since backends start the launcher then');

# There is no slot for the launcher at all
#

foreach my $slots (0, 1)
{
	# the first one is the logical replication launcher's
	$node->append_conf('postgresql.conf', "max_worker_processes = $slots\nmax_logical_replication_workers = 4");
	$log = -s $node->logfile;
	$node->restart;
	is($node->safe_psql('postgres', 'SELECT state, reason FROM gpusort_devices'),
		'failed|no background worker slot is free, see max_worker_processes', "with max_worker_processes = $slots it is known at once");
	($out, $err) = psql() foreach 1 .. 3;
	is($out, $native, 'sorts are right');
	like($err, qr/^WARNING:  gpusort: sorting without the device\nDETAIL:  no background worker slot is free, see max_worker_processes\.$/, 'and say why');
	is(scalar(() = slurp_file($node->logfile, $log) =~ /could not start the launcher/g), 1, 'the log says it once');
}
$node->append_conf('postgresql.conf', "max_worker_processes = 1\nmax_logical_replication_workers = 0");
$node->restart;
$node->wait_until_ready('where it has the only slot gpusortd is ready');
$node->stop;

#
# Single-user mode
#

sub single_user
{
	my ($settings, $query) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'postgres', '--single', '-D', $node->data_dir, @$settings, 'postgres' ], '<', \"$query\n", '>', \$out, '2>', \$err);
	return ($out, $err);
}

foreach my $settings ([], [ '-c', 'shared_preload_libraries=' ])
{
	my $how = @$settings ? 'loaded by the session' : 'preloaded';
	($out, $err) = single_user($settings, 'SELECT state, reason FROM gpusort_devices');
	like($out, qr/state = "failed".*reason = "there are no background workers in single-user mode"/s, "$how, single-user mode says that there are none");
	($out, $err) = single_user([ @$settings, '-c', 'gpusort.device=cuda', '-c', 'max_parallel_workers_per_gather=0' ], $digest);
	like($out, qr/md5 = "$native"/, 'sorts are right');
	like($err, qr/WARNING:  gpusort: sorting without the device\n.*DETAIL:  there are no background workers in single-user mode\.$/m, 'and say why');
	unlike($err, qr/could not start the launcher/, 'the log does not');
}
done_testing();
