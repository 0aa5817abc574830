# The postmaster as process 1, as in a container without an init. It inherits every orphan, and
# takes an orphan that ends by a signal for a crash of its own child. The end of gpusortd never
# looks like a crash, however it comes about.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my @namespaces = qw(unshare --user --map-current-user --pid --fork --kill-child --mount-proc);
plan skip_all => 'namespaces are forbidden' unless run_log([ @namespaces, 'true' ]);

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.device = cuda
max_parallel_workers_per_gather = 0
restart_after_crash = on
CONF

# The command that has the server in its namespace.
my $server;
END { $server->kill_kill(grace => 1) if defined $server; }

sub wait_until
{
	my ($what, $condition) = @_;
	for (1 .. 50 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $condition->();
		sleep 0.02;
	}
	die "$what has not come";
}

sub postmaster { return status_of($node->launcher_pid, 'PPid'); }

sub count_in_log
{
	my ($pattern) = @_;
	my $count = () = slurp_file($node->logfile) =~ /$pattern/g;
	return $count;
}

sub restarts { return count_in_log(qr/all server processes terminated; reinitializing/); }

# A new session, and its process id outside of the namespace.
sub start_session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $inner = $session->query('SELECT pg_backend_pid()');
	foreach my $process (glob '/proc/[0-9]*')
	{
		next unless status_of($process =~ s{.*/}{}r, 'PPid') eq postmaster();
		return ($session, $1) if (eval { slurp_file("$process/status") } // '') =~ /^NSpid:\s+(\d+)\s+$inner$/m;
	}
	die "process $inner is not found";
}

# Kills these processes at the same time, which is one crash, and no more.
sub check_crash
{
	my ($what, $daemon, @pids) = @_;
	my $before = restarts();
	kill 'KILL', @pids;
	wait_until('a restart', sub { return restarts() > $before; });
	$node->wait_until_up;
	$node->wait_until_ready("$what: gpusortd is ready again");
	isnt($node->daemon_pid, $daemon, 'it is another one');
	# the effect of an orphan may come later
	sleep 1;
	is(restarts(), $before + 1, 'the server has restarted once');
}

$server = IPC::Run::start([ @namespaces, 'postgres', '-D', $node->data_dir ], '<', \undef, '>>', $node->logfile, '2>&1');
ok($node->wait_until_up, 'the server is up');
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->wait_until_ready('gpusortd is ready');
like(slurp_file('/proc/' . postmaster() . '/status'), qr/^NSpid:\s+\d+\s+1$/m, 'it is process 1');

my $digest = "SELECT md5(string_agg(k::text, ',')) FROM (SELECT hashint4(i) k FROM generate_series(1, 50000) i ORDER BY 1) s";
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");

sub stop_daemon
{
	my $daemon = $node->daemon_pid;
	kill 'STOP', $daemon;
	wait_until('its stop', sub { return status_of($daemon, 'State') eq 'T'; });
}

# A backend crashes, ten times. In some of them gpusortd is stopped, and cannot
# end by itself, in some it is killed, too.
foreach my $crash (1 .. 10)
{
	my $state = (qw(well stopped well killed well))[ $crash % 5 ];
	my $daemon = $node->daemon_pid;
	is($node->safe_psql('postgres', $digest), $native, 'gpusortd sorts');
	my ($session, $backend) = start_session();
	stop_daemon() if $state eq 'stopped';
	check_crash("crash $crash, gpusortd $state", $daemon,
		$backend, $state eq 'killed' ? (status_of($daemon, 'PPid'), $daemon) : ());
	eval { $session->quit };
}

# The launcher is killed, which is a crash of the server's own.
foreach my $state ('well', 'stopped')
{
	stop_daemon() if $state eq 'stopped';
	check_crash("the launcher is killed, gpusortd $state", $node->daemon_pid, $node->launcher_pid);
}

# No end of gpusortd itself, or of its guard, is a crash.
my $before = restarts();
my %killed = (
	'gpusortd' => sub { return $node->daemon_pid; },
	'its guard' => sub { return status_of($node->daemon_pid, 'PPid'); },
	'both' => sub { return ($node->daemon_pid, status_of($node->daemon_pid, 'PPid')); });
foreach my $what (sort keys %killed)
{
	my $daemon = $node->daemon_pid;
	kill 'KILL', $killed{$what}->();
	wait_until('its end', sub { return $node->daemon_pid != $daemon; });
	# the next gpusortd may have to wait for a while
	$node->poll_query_until('postgres', "SELECT bool_and(state = 'ready') FROM gpusort_devices, pg_reload_conf()");
	is($node->safe_psql('postgres', $digest), $native, "killed: $what; another one sorts");
}
my $launcher = $node->launcher_pid;
kill 'TERM', $launcher;
wait_until('its end', sub { return !-d "/proc/$launcher"; });
$node->wait_until_ready('there is another launcher');
is(restarts(), $before, 'the server has not restarted');
unlike(slurp_file($node->logfile), qr/data may be corrupted|corrupt data/, 'and does not fear for its data');

# an orderly end, though gpusortd is stopped
stop_daemon();
kill 'INT', postmaster();
$server->finish;
undef $server;
like(`pg_controldata @{[$node->data_dir]}`, qr/state:\s+shut down$/m, 'the server shuts down in order');
done_testing();
