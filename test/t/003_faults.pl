# Faults around a sort: a gpusortd that cannot be run, a lack of memory or disk, settings that make no sense, and queries
# that somebody ends half way. Each time there is one clear message, the next query is right, and neither a backend nor
# gpusortd keeps anything of the failed one.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $pkglibdir = `pg_config --pkglibdir`;
chomp $pkglibdir;

# gpusortd is looked for beside the link.
my $directory = PostgreSQL::Test::Utils::tempdir;
my $library = GpusortCluster::link_library($directory);
my $program = "$directory/gpusortd";

my $node = GpusortCluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$library'
gpusort.daemon_engine = host
gpusort.verify = on
gpusort.min_rows = 0
# gpusortd is stopped for as long as a test takes
gpusort.daemon_timeout = 0
gpusort.work_mem = '256MB'
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;

-- Rows of which the planner expects few.
CREATE FUNCTION many(n int) RETURNS SETOF int ROWS 10 LANGUAGE plpgsql AS
	$$ BEGIN RETURN QUERY SELECT hashint4(i) FROM generate_series(1, n) i; END $$;

-- Does something when a query comes to this row.
CREATE FUNCTION at(i int, place int, act text) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF i = place THEN
		EXECUTE act;
	END IF;
	RETURN i;
END $$;

-- Another order of integers, of which gpusort knows nothing: only its function compares, and one comparison does not end.
CREATE FUNCTION compare_slowly(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN RETURN btint4cmp(at(a, 5000, 'SELECT pg_sleep(600)'), b); END $$;
CREATE FUNCTION less_slowly(a int, b int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT compare_slowly(a, b) < 0';
CREATE OPERATOR <<< (FUNCTION = less_slowly, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR CLASS slowly FOR TYPE int USING btree AS OPERATOR 1 <<<, OPERATOR 3 =, FUNCTION 1 compare_slowly(int, int);

CREATE TABLE t WITH (parallel_workers = 3) AS SELECT hashint4(i) k, repeat('x', 100) pad FROM generate_series(1, 20000) i;
VACUUM ANALYZE t;
SQL
$node->safe_psql('postgres', GpusortCluster::HELD_FUNCTION);

my $digest = "SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT k FROM many(20000) k ORDER BY k) s;\n";
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");

# Returns what a session prints that goes on after errors.
sub psql
{
	my ($script) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	$err =~ s/^psql:\S+: //mg;
	return ($out, $err);
}

# Waits until a condition outside the database is true.
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

# If a test fails, a gpusortd that it has stopped must not stay.
my $daemon = 0;
END { kill 'CONT', $daemon if $daemon }

#
# A gpusortd that cannot be run
#

sub check_without_daemon
{
	my ($what, $error) = @_;
	my $reason = "could not execute \"$program\": $error";
	ok( $node->poll_query_until('postgres', "SELECT state || '|' || reason FROM gpusort_devices",
			"failed|gpusortd exited with status 1: $reason"),
		"$what: gpusort_devices says why");
	ok(slurp_file($node->logfile) =~ /LOG:  gpusort: gpusortd exited with status 1: \Q$reason\E\n/, 'so does the log');
	unlike(slurp_file($node->logfile), qr/^(?!.*exited with status 1: ).*LOG: .*\Q$reason\E/m, 'in one line for each attempt');
	my ($out, $err) = psql($digest);
	is($out, $native, 'sorts are done by the backends');
	is($err, '', 'without a word');
	do
	{
		# now and then gpusortd is tried again
		($out, $err) = psql("SET gpusort.device = cuda; $digest");
	} while ($err =~ /gpusortd is not ready yet/);
	is($out, $native, 'also where the device is asked for');
	like($err, qr/WARNING:  gpusort: sorting without the device\nDETAIL:  [^\n]*\Q$reason\E\.$/, 'which is a warning');
}

sub put_program
{
	my ($content, $mode) = @_;
	open my $file, '>', $program or die "$program: $!";
	print $file $content;
	close $file;
	chmod $mode, $program;
	$node->restart;
}

check_without_daemon('no gpusortd', 'No such file or directory');
put_program('', 0600);
check_without_daemon('a file that is not executable', 'Permission denied');
put_program("no program\n", 0700);
check_without_daemon('a file that is no program', 'Exec format error');
unlink $program;
symlink("$pkglibdir/gpusortd", $program) or die "symlink: $!";
$node->wait_until_ready('once it is there gpusortd is started');
my ($out, $err) = psql("SET gpusort.device = cuda; $digest");
is("$out$err", $native, 'and sorts');

# A lack of staging memory
#

my $launcher = $node->launcher_pid;

# Sets a limit of the launcher, which gpusortd inherits, and makes gpusortd start anew, by the change of a setting.
sub restart_daemon
{
	my ($limit, $staging_limit, $state) = @_;
	my $before = $node->daemon_pid;
	system_or_bail('prlimit', '--pid', $launcher, $limit);
	$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.staging_memory_limit = '$staging_limit'");
	$node->reload;
	wait_until(sub { return $before == 0 || $node->daemon_pid != $before; });
	ok($node->poll_query_until('postgres', 'SELECT state, reason FROM gpusort_devices', $state),
		"with $limit and up to $staging_limit of staging memory gpusort_devices says so");
	$daemon = $node->daemon_pid;
}

my $missing = 'could not make staging memory of 16 MB: fallocate: File too large';
restart_daemon('--fsize=4194304:', '512MB', "unusable|$missing");
($out, $err) = psql("SET gpusort.device = cuda; $digest $digest");
is($out, "$native\n$native", 'without staging memory sorts are done by the backends');
is(scalar(() = $err =~ /DETAIL:  \Q$missing\E\./g), 2, 'each says so');
is(scalar(() = slurp_file($node->logfile) =~ /LOG:  gpusort: no usable device, sorting on the host\n.*DETAIL:  \Q$missing\E\.\n/g), 1, 'and the log, once');
ok(wait_until(sub { return $node->daemon_pid == 0; }), 'gpusortd has ended');

# a sort of each of three workers, and two sorts of one process
my $sort = 'SELECT count(*), sum(hashint4(k)) FROM (SELECT k, pad FROM t ORDER BY k OFFSET 0) s;';
my %statements = (
	'workers' => "SET max_parallel_workers_per_gather = 3; SET parallel_leader_participation = off; SET parallel_setup_cost = 0;\n"
	  . "SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET cpu_tuple_cost = 1;\n$sort",
	'two sorts' => $sort =~ s/FROM t/FROM (SELECT * FROM t ORDER BY pad, k DESC OFFSET 0) t/r);
foreach my $what (sort keys %statements)
{
	my $offset = -s $node->logfile;
	($out, $err) = psql("SET gpusort.device = cuda; $statements{$what}");
	is($out, $node->safe_psql('postgres', "SET gpusort.enable = off; $sort"), "$what without the device");
	is($err, "WARNING:  gpusort: sorting without the device\nDETAIL:  $missing.", 'are one warning');
	cmp_ok(scalar(() = slurp_file($node->logfile, $offset) =~ /(?:WARNING|LOG):  gpusort: sorting without the device/g), '>', 1, 'the log has each');
}
restart_daemon('--fsize=unlimited:', '256MB', 'ready|');
($out, $err) = psql("SET gpusort.device = cuda; $digest");
is("$out$err", $native, 'and with the limit gone it sorts');

#
# Backends out of memory
#

# For a backend: limits its address space to this many megabytes more than now.
sub limit_backend
{
	my ($megabytes) = @_;
	return "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; prlimit --pid \$PPID "
	  . "--as=\$(awk \"/VmSize/ { print (\\\$2 + 1024 * $megabytes) * 1024 }\" /proc/\$PPID/status):';\n";
}
my $unlimit_backend = "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; prlimit --pid \$PPID --as=unlimited:';\n";

($out, $err) = psql('SET gpusort.device = cuda;' . limit_backend(12) . $digest . $unlimit_backend . $digest);
is($out, "$native\n$native", 'a backend without room for the staging memory sorts by itself');
is( $err, "WARNING:  gpusort: sorting without the device\n"
	  . "DETAIL:  could not map the staging memory: Cannot allocate memory.", 'and says so, once');
foreach my $device ('cuda', 'host')
{
	($out, $err) = psql("SET gpusort.device = $device; $digest" . limit_backend(6)
		  . "SELECT sum(length(pad)) FROM (SELECT k, repeat('x', 100) pad FROM many(200000) k ORDER BY k OFFSET 0) s;\n"
		  . $unlimit_backend . $digest);
	is($out, "$native\n$native", "a backend out of memory goes on ($device)");
	is(scalar(() = $err =~ /ERROR:  out of memory\n/g), 1, 'after one error');
}

#
# Temporary files that grow too large
#

my $spilling = "SELECT count(*), sum(length(pad)) FROM (SELECT k, repeat('x', 100) pad FROM many(50000) k ORDER BY k OFFSET 0) s;\n";
foreach my $device ('cuda', 'host')
{
	($out, $err) = psql(<<"SQL");
\\set VERBOSITY terse
SET gpusort.device = $device;
SET work_mem = '64MB';
SET gpusort.work_mem = '1MB';
SET temp_file_limit = '1MB';
$spilling
$digest
RESET temp_file_limit;
$spilling
SELECT count(*) FROM pg_ls_tmpdir();
SQL
	like($err, qr/^ERROR:  temporary file size exceeds "?temp_file_limit"? \(1024kB\)$/,
		"a sort that spills exceeds temp_file_limit ($device)");
	is($out, "$native\n50000|5000000\n0", 'the next ones are right, and no file is left');
}

#
# Settings that make no sense
#

my %refused = (
	"gpusort.device = 'tpu'" =>
	  qr/^ERROR:  invalid value for parameter "gpusort.device": "tpu"\nHINT:  Available values: auto, cuda, host\.$/,
	"gpusort.min_rows = -1" =>
	  qr/^ERROR:  -1 is outside the valid range for parameter "gpusort.min_rows" \(0 \.\. 2147483647\)$/,
	"gpusort.min_rows = 'many'" => qr/^ERROR:  invalid value for parameter "gpusort.min_rows": "many"$/,
	"gpusort.staging_memory_limit = '15MB'" =>
	  qr/^ERROR:  15 MB is outside the valid range for parameter "gpusort.staging_memory_limit" \(16( MB)? \.\. 2097151( MB)?\)$/,
	"gpusort.staging_memory_limit = '3TB'" =>
	  qr/^ERROR:  3145728 MB is outside the valid range for parameter "gpusort.staging_memory_limit" \(16( MB)? \.\. 2097151( MB)?\)$/,
	"gpusort.staging_memory_limit = '64 pages'" =>
	  qr/^ERROR:  invalid value for parameter "gpusort.staging_memory_limit": "64 pages"\nHINT:  Valid units for this parameter are /,
	"gpusort.daemon_engine = 'opencl'" =>
	  qr/^ERROR:  invalid value for parameter "gpusort.daemon_engine": "opencl"\nHINT:  Available values: auto, cuda, host\.$/);
foreach my $setting (sort keys %refused)
{
	($out, $err) = psql("ALTER SYSTEM SET $setting;\nSET gpusort.device = cuda; $digest");
	like($err, $refused{$setting}, "$setting is refused");
	is($out, $native, 'and the session goes on');
}

#
# Queries that are ended, in each phase of a sort
#

restart_daemon('--fsize=unlimited:', '128MB', 'ready|');

# For each phase a query that gets stuck in it: the backend itself sleeps, or waits for a gpusortd that is stopped. Rows
# must not come in order, as they would have no keys.
my $sleep = '$$SELECT pg_sleep(600)$$';
# a signal takes a moment to stop all threads, in which one of them could sort
my $running = "grep -L State:.T /proc/$daemon/task/*/status";
my $stop = "\$\$COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; kill -STOP $daemon; until test -z \"\$($running)\"; do sleep 0.01; done'\$\$";
my %phases = (
	'filling' => "SELECT at(i, 15000, $sleep) k FROM generate_series(1, 20000) i ORDER BY k DESC",
	'asking for staging memory' => "SELECT at(i, 1, $stop) k FROM generate_series(1, 20000) i ORDER BY k DESC",
	'waiting for a chunk' => "SELECT repeat(at(i, 1000, $stop)::text, 20) COLLATE \"C\" k FROM generate_series(1, 200000) i ORDER BY k DESC",
	'sorting' => "SELECT at(i, 20000, $stop) k FROM generate_series(1, 20000) i ORDER BY k DESC",
	'settling ties' => "SELECT i % 10 k, i FROM generate_series(1, 20000) i ORDER BY k, i USING <<<",
	'emitting' => "SELECT at(k, 1000, $sleep) FROM (SELECT k FROM generate_series(1, 20000) k ORDER BY k DESC OFFSET 0) s");

# Starts a session that gets stuck in this phase, and then goes on.
sub start_session
{
	my ($phase, $statement_timeout) = @_;
	return $node->start_psql($phase, "SET gpusort.device = cuda;\n" . <<"SQL");
SET client_connection_check_interval = '100ms';
$digest
BEGIN; SELECT held(); ROLLBACK;
SET statement_timeout = $statement_timeout;
SELECT 'stuck', count(*) FROM ($phases{$phase} OFFSET 0) s;
RESET statement_timeout;
\\! kill -CONT $daemon
BEGIN; SELECT held(); ROLLBACK;
$digest
SQL
}

# Waits until the session is stuck; the result is the backend's process id.
sub wait_until_stuck
{
	my ($session) = @_;
	my $stops = $phases{ $session->{name} } =~ /STOP/;
	my $stuck = "application_name = '$session->{name}' AND state = 'active' AND query LIKE '%stuck%' AND "
	  . ($stops ? "wait_event_type = 'Extension'" : "wait_event = 'PgSleep'");
	wait_until(sub { return !$stops || status_of($daemon, 'State') eq 'T' }) &&
	  $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE $stuck")
	  or die "never stuck: $session->{name}";
	return $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $stuck");
}

# Tests that the session went on after this error, as if nothing had happened.
sub check_went_on
{
	my ($session, $error) = @_;
	$session->{handle}->finish;
	is($session->{err}, "ERROR:  $error\n", "while $session->{name}: $error");
	my ($digest_before, $held_before, $held_after, $digest_after) = split /\n/, $session->{out};
	is("$digest_before $digest_after", "$native $native", 'the next query is right');
	is($held_after, $held_before, 'the backend keeps nothing');
	check_daemon_is_idle();
}

# Tests that the session is gone.
sub check_is_gone
{
	my ($session, $how) = @_;
	ok( $node->poll_query_until(
			'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = '$session->{name}'"),
		"while $session->{name}: $how");
	kill 'CONT', $daemon;
	check_daemon_is_idle();
	eval { $session->{handle}->finish };
}

# The number of descriptors that gpusortd has open, without rings, and that of its rings. When no sort is left, gpusortd
# has only its first thread, the descriptors that it had when it was ready, and up to four rings.
sub daemon_descriptors
{
	my @all = map { readlink($_) // () } glob "/proc/$daemon/fd/*";
	my @rings = grep { /gpusort ring/ } @all;
	return (@all - @rings, scalar @rings);
}
wait_until(sub { status_of($daemon, 'Threads') eq '1' });
my ($idle_descriptors) = daemon_descriptors();

sub check_daemon_is_idle
{
	ok( wait_until(
			sub {
				my ($descriptors, $rings) = daemon_descriptors();
				return status_of($daemon, 'Threads') eq '1' && $descriptors == $idle_descriptors && $rings <= 4;
			}),
		'gpusortd keeps nothing');
}

foreach my $phase (sort keys %phases)
{
	my $session = start_session($phase, '0');
	my $backend = wait_until_stuck($session);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
	check_went_on($session, 'canceling statement due to user request');

	$session = start_session($phase, "'1s'");
	check_went_on($session, 'canceling statement due to statement timeout');

	$session = start_session($phase, '0');
	$backend = wait_until_stuck($session);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
	check_is_gone($session, 'the session is terminated');

	$session = start_session($phase, '0');
	wait_until_stuck($session);
	$session->{handle}->signal('KILL');
	check_is_gone($session, 'its client is killed');
}
is($node->daemon_pid, $daemon, 'all that with one gpusortd');

#
# The extension is dropped while another session sorts
#

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION wait_for_drop() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_extension WHERE extname = 'gpusort') LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
SQL
my $session = $node->start_psql('sorter', "SET gpusort.device = cuda;\n" . <<'SQL');
SELECT count(*), md5(string_agg(k::text, ','))
FROM (SELECT hashint4(at(i, 15000, 'SELECT wait_for_drop()')) k FROM generate_series(1, 20000) i ORDER BY k) s;
SQL
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'sorter' AND wait_event = 'PgSleep'");
$node->safe_psql('postgres', 'DROP EXTENSION gpusort');
$session->{handle}->finish;
is("$session->{out}$session->{err}", "$native\n", 'a sort goes on while its extension is dropped');
is($node->safe_psql('postgres', "CREATE EXTENSION gpusort; SET gpusort.device = cuda; $digest SELECT state FROM gpusort_devices"),
	"$native\nready", 'and all is there again when it is created');

$node->stop;
done_testing();
