# The limit of a role on the memory of devices, whatever its sessions do. And memory that no sort
# has needed for a while goes back.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

$ENV{GPUSORTD_HOST_DEVICES} = '100';
# sorts that wait in this test shall not give way
$ENV{GPUSORTD_IDLE_MILLISECONDS} = '3600000';
$ENV{GPUSORTD_RELEASE_MILLISECONDS} = '1000';
my $library = GpusortCluster::library_with_test_gpusortd;
my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
shared_preload_libraries = '$library'
gpusort.min_rows = 0
gpusort.device = cuda
work_mem = 64MB
max_parallel_workers_per_gather = 0
CONF
$node->start;
$node->safe_psql('postgres', GpusortCluster::WAIT_FUNCTION . <<'SQL');
CREATE EXTENSION gpusort;
CREATE ROLE capped LOGIN;
CREATE ROLE member LOGIN IN ROLE capped;
CREATE ROLE kept_off LOGIN;
ALTER ROLE capped SET gpusort.device_memory_limit = '6MB';
ALTER ROLE kept_off SET gpusort.device_memory_limit = 0;
GRANT SELECT ON go_on TO PUBLIC;
CREATE TABLE many AS SELECT i FROM generate_series(1, 200000) i;
CREATE TABLE more AS SELECT i FROM generate_series(1, 400000) i;
GRANT SELECT ON many, more TO PUBLIC;
ANALYZE many, more;
SQL
$node->wait_until_ready('gpusortd is ready');

my $warning = "WARNING:  gpusort: sorting without the device\n"
  . "DETAIL:  the sort would exceed the device memory that its role may use (gpusort.device_memory_limit).";

sub sort_of
{
	my ($table, $key) = @_;
	return "SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT k FROM (SELECT $key k FROM $table OFFSET 0) s ORDER BY k) s;";
}

# Returns the answer of a session of a role to a script.
sub ask_as
{
	my ($role, $script) = @_;
	my (undef, $out, $err) = $node->psql('postgres', $script, connstr => $node->connstr('postgres') . " user=$role");
	$err =~ s/^psql:\S+: //mg;
	return $out . ($err eq '' ? '' : "\n$err");
}

# Sorts as a role, and checks messages and counters.
sub sorts_as
{
	my ($role, $table, $expected_full, $what) = @_;
	my $sorted = $node->safe_psql('postgres', 'SET gpusort.enable = off; ' . sort_of($table, 'hashint4(i)'));
	my $full = $node->counter('device_full');
	is(ask_as($role, sort_of($table, 'hashint4(i)')), $sorted . ($expected_full ? "\n$warning" : ''), $what);
	is($node->counter('device_full') - $full, $expected_full, '... and is counted');
}

# Starts a session of a role with a script.
sub start_as
{
	my ($role, $name, $script) = @_;
	local $ENV{PGUSER} = $role;
	return $node->start_psql($name, "$script\n");
}

#
# The limit of a role
#

sorts_as('capped', 'many', 0, 'a role sorts within its limit');
sorts_as('capped', 'more', 1, 'beyond it the backend does');
sorts_as('member', 'more', 0, 'a role that is a member of it has another one');
sorts_as('kept_off', 'many', 1, 'a role can be kept off the device');
foreach my $script ('SET gpusort.device_memory_limit = -1', 'SET gpusort.device_memory_limit = 5', 'RESET gpusort.device_memory_limit',
	'ALTER ROLE capped SET gpusort.device_memory_limit = -1')
{
	like(ask_as('capped', $script), qr/^\n?ERROR:  permission denied to set parameter "gpusort.device_memory_limit"/,
		"who has it may not change it: $script");
}
is(ask_as('capped', 'SHOW gpusort.device_memory_limit'), '6MB', 'but see it');
is(ask_as('capped', "SET ROLE NONE; DISCARD ALL; SHOW gpusort.device_memory_limit"), '6MB', 'and not be rid of it');

# another session of the role, not of another one
my $used = 'SELECT memory_used FROM gpusort_devices';
my $stuck = start_as('capped', 'stuck', sort_of('many', "wait_at(i, 150000, 'stuck')"));
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'stuck' AND wait_event = 'PgSleep'")
  or die 'it is not stuck';
cmp_ok($node->safe_psql('postgres', $used), '>', 3000000, 'a session has half of what its role may have');
sorts_as('capped', 'many', 1, 'another one of the role does without the device then');
sorts_as('member', 'many', 0, 'but none of another role');
$node->safe_psql('postgres', "INSERT INTO go_on VALUES ('stuck')");
$stuck->{handle}->finish;
is("$stuck->{out}$stuck->{err}", $node->safe_psql('postgres', 'SET gpusort.enable = off; ' . sort_of('many', 'hashint4(i)')) . "\n",
	'the first one was not disturbed');
sorts_as('capped', 'many', 0, 'and when it has ended there is room again');

# many sessions at once, and parallel workers
my $native = $node->safe_psql('postgres', 'SET gpusort.enable = off; ' . sort_of('many', 'hashint4(i)'));
my $parallel = 'SET client_min_messages = error; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; '
  . "SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;\n";
my @sessions = map { start_as('capped', "session $_", $parallel . sort_of('many', 'hashint4(i)') x 5) } 1 .. 8;
my $most = 0;
while (grep { $_->{handle}->pumpable } @sessions)
{
	my $bytes = $node->safe_psql('postgres', $used);
	$most = $bytes if $bytes > $most;
	foreach my $session (@sessions) { $session->{handle}->pump_nb if $session->{handle}->pumpable; }
}
$_->{handle}->finish foreach @sessions;
is(scalar(grep { $_->{out} eq "$native\n" x 5 && $_->{err} eq '' } @sessions), 8, 'eight sessions of it sort at once');
cmp_ok($most, '>', 0, 'on the device');
cmp_ok($most, '<=', 6 << 20, 'and have no more of it than the role may');
is($node->counter('device_faults'), '0', 'nothing was at fault');
is($node->safe_psql('postgres', 'SELECT memory_used, jobs FROM gpusort_devices'), '0|0', 'nothing is left');

#
# Memory that is not needed any longer
#

# Rings that gpusortd has.
sub rings
{
	my $daemon = $node->daemon_pid;
	return scalar grep { (readlink($_) // '') =~ /gpusort ring/ } glob "/proc/$daemon/fd/*";
}

# Makes this many sorts get stuck at the same time.
sub stick
{
	my ($name, $count) = @_;
	my @stuck = map { $node->start_psql($name, sort_of('many', "wait_at(i, 100000, '$name')") . "\n") } 1 .. $count;
	$node->poll_query_until('postgres',
		"SELECT count(*) = $count FROM pg_stat_activity WHERE application_name = '$name' AND wait_event = 'PgSleep'")
	  or die 'they are not stuck';
	return @stuck;
}

sub unstick
{
	my ($name, @stuck) = @_;
	$node->safe_psql('postgres', "INSERT INTO go_on VALUES ('$name')");
	$_->{handle}->finish foreach @stuck;
}

sub waits_for_rings
{
	my ($expected, $what) = @_;
	for (my $i = 0; $i < 10 * $PostgreSQL::Test::Utils::timeout_default && rings() != $expected; $i++)
	{
		select(undef, undef, undef, 0.1);
	}
	is(rings(), $expected, $what);
}

my @stuck = stick('five', 5);
cmp_ok(rings(), '>=', 5, 'five sorts have staging memory');
unstick('five', @stuck);
waits_for_rings(2, 'which is given back but for a little');
is($node->safe_psql('postgres', sort_of('many', 'hashint4(i)')), $native, 'sorts go on');
$ENV{GPUSORTD_RELEASE_MILLISECONDS} = '3600000';
$node->restart;
$node->wait_until_ready('gpusortd is ready again, and keeps memory for longer');
waits_for_rings(1, 'it has a ring from its beginning');
@stuck = stick('four', 4);
unstick('four', @stuck);
select(undef, undef, undef, 4);
cmp_ok(rings(), '>=', 4, 'none is given back before that time');

$node->stop;
done_testing();
