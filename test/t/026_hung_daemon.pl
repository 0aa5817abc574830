# A gpusortd that is stopped, or hangs, in every phase of a sort. No query waits for it for long,
# nor twice, each answer is right, and gpusortd is replaced. The server stops as it does without
# gpusortd, and no gpusortd is left behind.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
work_mem = '256MB'
log_min_messages = log
# far longer than a wait for gpusortd may take, so that a wait for ever fails
statement_timeout = '60s'
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;

CREATE FUNCTION signal(name text, pid int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY (SELECT 1) TO PROGRAM ''cat > /dev/null; kill -%s %s''', name, pid);
	-- all threads take a moment to stop
	IF name = 'STOP' THEN PERFORM pg_sleep(0.2); END IF;
END $$;

-- Stops gpusortd when a query comes to this row.
CREATE FUNCTION stop_at(i int, place int, pid int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF i = place THEN PERFORM signal('STOP', pid); END IF;
	RETURN hashint4(i);
END $$;
CREATE TABLE t AS SELECT i, hashint4(i) k FROM generate_series(1, 20000) i;
ANALYZE t;
SQL

my $digest = "SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT k FROM t ORDER BY k) s";
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");

# If a test fails, the processes that it has stopped must not stay.
my %stopped;
END { kill 'CONT', $_ foreach keys %stopped; }

sub stop_process
{
	my ($pid) = @_;
	$stopped{$pid} = 1;
	kill 'STOP', $pid;
	sleep 0.01 until status_of($pid, 'State') =~ /^[TZ]?$/;
	return $pid;
}

sub resume_process
{
	my ($pid) = @_;
	kill 'CONT', $pid;
	delete $stopped{$pid};
}

# Returns what a session prints whose sorts go to gpusortd.
sub psql
{
	my ($script) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY default\nSET gpusort.device = cuda;\n$script",
		on_error_stop => 0);
	$err =~ s/^psql:\S+: //mg;
	return ($out, $err);
}

sub wait_until_gone
{
	my ($pid, $what) = @_;
	my $gone = 0;
	for (1 .. 50 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if $gone = status_of($pid, 'State') =~ /^[ZX]?$/;
		sleep 0.02;
	}
	ok($gone, $what);
}

# A gpusortd that was not ready for long is started again only after a while, but at once if the
# configuration is loaded again.
sub wait_until_replaced
{
	my ($what) = @_;
	$node->poll_query_until('postgres', "SELECT state <> 'failed' OR reason !~ 'was killed' FROM (SELECT * FROM gpusort_devices, pg_reload_conf()) d");
	$node->wait_until_ready($what);
}

sub log_since
{
	my ($place) = @_;
	return substr(slurp_file($node->logfile), $place);
}

$node->wait_until_ready('gpusortd is ready');

#
# Each phase
#

my %phases = (
	'asking for a job' => [ 1, 20000, 'stop_at(i, 1, %d) k' ],
	'waiting for a chunk' => [ 1000, 200000, q{repeat(stop_at(i, 1000, %d)::text, 20) COLLATE "C" k} ],
	'sorting' => [ 20000, 20000, 'stop_at(i, 20000, %d) k' ]);

foreach my $phase (sort keys %phases)
{
	my ($place, $rows, $column) = @{ $phases{$phase} };
	my $expression = sprintf($column, 0) =~ s/, $place,/, 0,/r;
	my $expected = $node->safe_psql('postgres',
		"SET gpusort.enable = off; SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT $expression FROM generate_series(1, $rows) i ORDER BY k) s");
	my $pid = $node->daemon_pid;
	$stopped{$pid} = 1;
	my $log = -s $node->logfile;
	my $start = time;
	my ($out, $err) = psql(sprintf("SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT $column FROM generate_series(1, $rows) i ORDER BY k) s", $pid));
	note sprintf('%s: %.1f s', $phase, time - $start);
	is($out, $expected, "a gpusortd that is stopped while $phase: the answer is right");
	like($err, qr/^WARNING:  gpusort: sorting without the device\nDETAIL:  [^\n]*\.$/, 'with one warning');
	wait_until_gone($pid, 'it is killed');
	wait_until_replaced('and replaced');
	like(log_since($log), qr/LOG:  gpusort: gpusortd was killed, it did not answer for 2500 ms\n/, 'the log says so');
	($out, $err) = psql($digest);
	is("$out$err", $native, 'the next sort has a device');
	delete $stopped{$pid};
}

# index builds
my $pid = stop_process($node->daemon_pid);
my ($out, $err) = psql("CREATE INDEX built ON t (k); SET enable_seqscan = off; SET enable_sort = off; SET gpusort.enable = off; $digest; DROP INDEX built");
is($out, $native, 'an index is built while gpusortd is stopped');
like($err, qr/^WARNING:  gpusort: sorting without the device\n/, 'with a warning');
wait_until_replaced('gpusortd is replaced');

# the view of the devices
$pid = stop_process($node->daemon_pid);
is($node->safe_psql('postgres', "SELECT state, reason ~ '^gpusortd has kept the query waiting for \\d+ ms\$' FROM gpusort_devices"),
	'failed|t', 'gpusort_devices says that gpusortd does not answer');
wait_until_gone($pid, 'which is enough to have it killed');
wait_until_replaced('and replaced');

#
# One query loses time once
#

$pid = $node->daemon_pid;
$stopped{$pid} = 1;
$node->safe_psql('postgres', <<'SQL');
-- Waits until there is another gpusortd than this one, and stops that too.
CREATE FUNCTION stop_next(pid int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE next text;
BEGIN
	CREATE TEMP TABLE answer (line text);
	LOOP
		TRUNCATE answer;
		COPY answer FROM PROGRAM 'for p in /proc/[0-9]*; do if [ "$(readlink $p/cwd)" = "$PWD" ]; then case $(readlink $p/exe) in */gpusortd) basename $p;; esac; fi; done';
		SELECT line INTO next FROM answer WHERE line <> pid::text;
		EXIT WHEN next IS NOT NULL AND (SELECT bool_and(state = 'ready') FROM gpusort_devices);
		PERFORM pg_reload_conf();
		PERFORM pg_sleep(0.1);
	END LOOP;
	PERFORM signal('STOP', next::int);
	RAISE NOTICE 'stopped %', next;
END $$;
CREATE FUNCTION sorts(pid int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT md5(string_agg(k::text, ',')) FROM (SELECT stop_at(i, 1, pid) k FROM generate_series(1, 20000) i ORDER BY k) s;
	PERFORM stop_next(pid);
	FOR n IN 1 .. 3 LOOP
		RETURN QUERY SELECT md5(string_agg(k::text, ',')) FROM (SELECT k FROM t ORDER BY k) s;
	END LOOP;
END $$;
SQL
my ($sum) = $native =~ /\|(.*)/;
my $log = -s $node->logfile;
($out, $err) = psql("SELECT sorts($pid);");
is($out, join("\n", ($sum) x 4), 'a query whose gpusortd is stopped, and then the next one');
my ($next) = $err =~ /NOTICE:  stopped (\d+)/;
$stopped{$next} = 1;
is(scalar(() = log_since($log) =~ /DETAIL:  the query has waited too long for gpusortd before\.$/mg), 3,
	'does not ask the next one');
is(scalar(() = $err =~ /WARNING:  gpusort: sorting without the device$/mg), 1, 'and warns once');
is(status_of($next, 'State'), 'T', 'which so is not missed');
resume_process($next);
($out, $err) = psql($digest);
is("$out$err", $native, 'another query asks it');
delete $stopped{$pid};

#
# The launcher is stopped, too
#

$pid = $node->daemon_pid;
my $launcher = $node->launcher_pid;
stop_process($_) foreach $launcher, $pid;
my $start = time;
($out, $err) = psql("SET gpusort.work_mem = '256kB'; $digest");
note sprintf('without a launcher: %.1f s', time - $start);
is($out, $native, 'where the launcher cannot help a sort helps itself');
like($err, qr/^WARNING:  gpusort: sorting without the device\nDETAIL:  gpusortd has kept the query waiting for \d+ ms\.$/, 'once');
($out, $err) = psql($digest);
is($out, $native, 'others are right, too');
like($err, qr/^WARNING:  gpusort: sorting without the device\nDETAIL:  gpusortd does not answer\.$/, 'and do not wait');
is($node->safe_psql('postgres', 'SELECT state, reason FROM gpusort_devices'), 'failed|gpusortd does not answer', 'nor does who looks');
resume_process($_) foreach $pid, $launcher;
$node->wait_until_ready('when both go on');
is($node->daemon_pid, $pid, 'gpusortd is kept');

#
# A client is stopped
#

my $session = $node->start_psql('stopped', "SET gpusort.device = cuda;\nSELECT count(*) FROM (SELECT stop_at(i, 15000, pg_backend_pid()) k FROM generate_series(1, 20000) i ORDER BY k) s;\n");
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'stopped' AND state = 'active'");
my $backend = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE application_name = 'stopped'");
$stopped{$backend} = 1;
sleep 0.02 until status_of($backend, 'State') eq 'T';
($out, $err) = psql($digest);
is("$out$err", $native, 'a client that is stopped holds up nobody');
# longer than a job may hang
sleep 13;
is($node->daemon_pid, $pid, 'and is not taken for a job that hangs');
resume_process($backend);
$session->{handle}->finish;
is("$session->{out}$session->{err}", "20000\n", 'it goes on when it can');

#
# The end of the server
#

sub stop_with
{
	my ($mode, $stopped) = @_;
	my $pid = $node->daemon_pid;
	stop_process($pid) if $stopped;
	my $start = time;
	$node->stop($mode);
	my $taken = time - $start;
	wait_until_gone($pid, "$mode shutdown, gpusortd " . ($stopped ? 'stopped' : 'well') . ': it is gone');
	delete $stopped{$pid};
	$node->start;
	$node->wait_until_ready('the server starts again');
	return $taken;
}

my $without = stop_with('fast', 0);
my $with = stop_with('fast', 1);
note "fast shutdown: $without s, with gpusortd stopped $with s";
cmp_ok($with, '<', $without + 3, 'which does not wait for it');
stop_with('immediate', 1);

# the launcher, and with it all of the server's processes, are gone at once
foreach my $process ('launcher', 'postmaster')
{
	$pid = stop_process($node->daemon_pid);
	$launcher = $node->launcher_pid;
	my $killed = $process eq 'launcher' ? $launcher : status_of($launcher, 'PPid');
	if ($process eq 'launcher')
	{
		$node->append_conf('postgresql.conf', 'restart_after_crash = off');
		$node->reload;
		$node->poll_query_until('postgres', "SELECT NOT current_setting('restart_after_crash')::bool");
	}
	kill 'KILL', $killed;
	wait_until_gone($pid, "the $process is killed: a gpusortd that is stopped is gone, too");
	wait_until_gone($launcher, 'and the launcher');
	delete $stopped{$pid};
	$node->_update_pid(-1) if $node->can('_update_pid');
	for (1 .. 50 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last unless -e $node->data_dir . '/postmaster.pid' && kill 0, (slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/)[0];
		sleep 0.02;
	}
	PostgreSQL::Test::Utils::system_log('pg_ctl', '--wait', '-D', $node->data_dir, '-l', $node->logfile, '-o', "--cluster-name=main", 'start');
	$node->_update_pid(1);
	$node->wait_until_ready('the server starts again');
}

#
# A job hangs in its device, and the rest of gpusortd is well
#

$node->stop;
$ENV{GPUSORTD_HOST_DEVICES} = '100,100';
$ENV{GPUSORTD_HOST_HANG} = '1';
my $library = GpusortCluster::library_with_test_gpusortd;
$node->append_conf('postgresql.conf', "shared_preload_libraries = '$library'\ngpusort.devices = '1'");
$node->start;
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gpusort_devices WHERE state = 'ready'");
$pid = $node->daemon_pid;
$log = -s $node->logfile;
($out, $err) = psql($digest);
is($out, $native, 'a device hangs: the answer is right');
like($err, qr/^WARNING:  gpusort: sorting without the device\nDETAIL:  gpusortd has kept the query waiting for \d+ ms\.$/, 'with one warning');
wait_until_gone($pid, 'gpusortd ends by itself');
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gpusort_devices WHERE state = 'ready'");
like(log_since($log), qr/LOG:  gpusort: gpusortd exited with status 3: a job hangs in its device\n/, 'and says so');

$node->stop;
done_testing();
