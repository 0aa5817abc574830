# Several devices: which of them gpusortd uses, and what becomes of a sort. Its device may fail, it may have to
# wait for a device, and it may be too large for a single device or for all together. The devices are those that
# the host engine has for tests.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

$ENV{GPUSORTD_HOST_DEVICES} = '100,100,200';
# sorts that are stuck in this test shall not give way, see 028_idle_sorts.pl
$ENV{GPUSORTD_IDLE_MILLISECONDS} = '3600000';
$ENV{GPUSORTD_HOST_FAULT} = '1';
my $library = GpusortCluster::library_with_test_gpusortd;
my $node = GpusortCluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$library'
gpusort.daemon_engine = host
gpusort.device_memory = 50
gpusort.verify = on
gpusort.min_rows = 0
work_mem = '256MB'
max_connections = 40
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');

sub devices
{
	return $node->safe_psql('postgres', "SELECT string_agg(device || ' ' || state || coalesce(' ' || reason, ''), ', ') FROM gpusort_devices");
}

sub wait_for_devices
{
	my ($expected, $what) = @_;
	ok( $node->poll_query_until('postgres',
			"SELECT string_agg(device || ' ' || state, ', ') FROM gpusort_devices", $expected), $what);
}

sub set_devices
{
	my ($list, $expected, $what) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.devices = $list");
	$node->reload;
	wait_for_devices($expected, $what);
}

# The UUID of a device of the host engine.
sub uuid { return "GPU-00000000-0000-0000-0000-00000000000$_[0]"; }

# Returns by how much a counter grows.
sub counted(&$)
{
	my ($act, $name) = @_;
	my $before = $node->counter($name);
	$act->();
	return $node->counter($name) - $before;
}

sub digest
{
	my ($rows) = @_;
	return "SELECT count(*), md5(string_agg(k::text, ',')) FROM "
	  . "(SELECT k FROM (SELECT hashint4(i) k FROM generate_series(1, $rows) i OFFSET 0) s ORDER BY k) s;\n";
}
my $digest = digest(100000);
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");
my $seconds = $PostgreSQL::Test::Utils::timeout_default;

#
# Which devices
#

wait_for_devices('0 ready, 1 ready, 2 ready', 'gpusortd uses all devices');
is( $node->safe_psql('postgres', 'SELECT device, name, memory, memory_used, jobs, sorts, busy_microseconds FROM gpusort_devices ORDER BY 1'),
	"0|gpusortd (host)|104857600|0|0|0|0\n1|gpusortd (host)|104857600|0|0|0|0\n2|gpusortd (host)|209715200|0|0|0|0",
	'and says what they are');
set_devices("'0, 2'", '0 ready, 1 unused, 2 ready', 'gpusort.devices chooses some');
is( $node->safe_psql('postgres', 'SELECT memory_used, jobs, sorts, busy_microseconds FROM gpusort_devices WHERE device = 1'),
	'|||', 'the others have no sorts');
like( $node->safe_psql('postgres', "SET gpusort.device = cuda; EXPLAIN (ANALYZE, COSTS OFF) $digest"),
	qr/Device: gpusortd \(host\), device [02]\n/, 'EXPLAIN tells which one it was');
is($node->safe_psql('postgres', 'SELECT sum(sorts) FROM gpusort_devices'), '1', 'so does the view');
set_devices("'2,7'", '0 unused, 1 unused, 2 ready', 'a device that does not exist is no hindrance');
ok(slurp_file($node->logfile) =~ /LOG:  gpusortd: there is no device 7\n/, 'the log tells of it');

is($node->safe_psql('postgres', 'SELECT uuid FROM gpusort_devices WHERE device = 2'), uuid(2), 'the devices have UUIDs');
set_devices("'" . uuid(0) . "', '" . uuid(2) . "'", '0 ready, 1 unused, 2 ready', 'by which they can be chosen');
set_devices("'" . uuid(1) . ',' . uuid(9) . "'", '0 unused, 1 ready, 2 unused', 'one that does not exist is no hindrance then');
ok(slurp_file($node->logfile) =~ /LOG:  gpusortd: there is no device \Q@{[uuid(9)]}\E\n/, 'the log tells of it');

foreach my $list ('none', '0,,1', '0,-1', '0 1', '99999', 'GPU-1', uuid(0) . ',1', '')
{
	my ($status, $out, $err) = $node->psql('postgres', "ALTER SYSTEM SET gpusort.devices = '$list'");
	like($err, qr/DETAIL:  It must be "all", or a list either of device numbers, as "0,1", or of UUIDs, which begin with "GPU-" or "MIG-"\.$/, 'with the reason')
	  if $list ne '';
	like($err, qr/invalid value for parameter "gpusort.devices": "\Q$list\E"/, "\"$list\" is refused") if $list ne '';
	isnt($status, 0, "\"$list\" is an error") if $list ne '';
}

# many sessions
set_devices("'0,2'", '0 ready, 1 unused, 2 ready', 'with two devices again');
my @sessions;
foreach my $i (1 .. 16)
{
	my %session = (out => '', err => '');
	$session{handle} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SET gpusort.device = cuda', '-c', $digest, '-c', $digest ],
		'>', \$session{out}, '2>', \$session{err});
	push @sessions, \%session;
}
$_->{handle}->finish foreach @sessions;
is(scalar(grep { $_->{out} eq "$native\n$native\n" && $_->{err} eq '' } @sessions), 16, 'sixteen sessions sort on two devices');
is( $node->safe_psql('postgres', 'SELECT sum(sorts), min(sorts) > 0, sum(memory_used), sum(jobs), min(busy_microseconds) > 0 FROM gpusort_devices'),
	'32|t|0|0|t', 'each does a part, and keeps nothing');

#
# A device that fails
#

set_devices("'1,2'", '0 unused, 1 ready, 2 ready', 'with one that fails');
my ($out, $err);
is( counted(sub {
		(undef, $out, $err) = $node->psql('postgres', "SET gpusort.device = cuda; $digest");
	}, 'device_faults'), 1, 'a sort whose device fails counts one fault');
is($out, $native, 'it is right');
like($err, qr/WARNING:  gpusort: sorting without the device\nDETAIL:  GPUSORTD_HOST_FAULT has it so\.$/, 'and says what happened');
is(devices(), '0 unused, 1 failed GPUSORTD_HOST_FAULT has it so, 2 ready', 'the device is taken out');
ok(slurp_file($node->logfile) =~ /LOG:  gpusortd: device 1, gpusortd \(host\), has failed and gets no sorts for 60 seconds: GPUSORTD_HOST_FAULT has it so\n/,
	'with a line in the log');
is($node->safe_psql('postgres', 'SELECT sorts FROM gpusort_devices WHERE device = 2'), '1', 'the sort was done by another device');
is( counted(sub { is($node->safe_psql('postgres', "SET gpusort.device = cuda; $digest $digest"), "$native\n$native", 'others are right too'); },
		'device_faults'), 0, 'and do not go to the one that has failed');
is($node->safe_psql('postgres', 'SELECT sorts FROM gpusort_devices WHERE device = 2'), '3', 'but to the other');

set_devices("'1'", '0 unused, 1 ready, 2 unused', 'with no other one');
is( counted(sub {
		(undef, $out, $err) = $node->psql('postgres', "SET gpusort.device = cuda; $digest $digest");
		is($out, "$native\n$native", 'sorts are done by the backend');
	}, 'device_faults'), 2, 'each of them');
is(devices(), '0 unused, 1 ready, 2 unused', 'the last device stays in');

# the device is lost when the memory is full of rows, some of them in memory of their own, so that there is no
# room for keys
my $wide = "SELECT hashint4(i) k, repeat('x', CASE WHEN i % 200 = 0 THEN 5000 ELSE 100 END) pad FROM generate_series(1, 50000) i OFFSET 0";
my $wide_digest = "SELECT count(*), md5(string_agg(k || pad, ',')) FROM (SELECT * FROM ($wide) s ORDER BY k) s;\n";
my $scrolled = "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT k FROM ($wide) s ORDER BY k; MOVE 40000 IN c; FETCH BACKWARD 5 FROM c; MOVE LAST IN c; FETCH PRIOR FROM c; COMMIT;\n";
# single numbers are less than rows, and NULLs are only counted
my $single = "SELECT md5(string_agg(coalesce(k::text, 'none'), ',')) FROM (SELECT k FROM (SELECT nullif(hashint4(i) % 50, 7) k FROM generate_series(1, 50000) i OFFSET 0) s ORDER BY k) s;\n";
my $native_wide = $node->safe_psql('postgres', "SET gpusort.enable = off; $wide_digest $scrolled $single");
foreach my $memory ('64kB', '1MB', '5MB')
{
	my $native_sorts = $node->counter('sorts_native');
	is( counted(sub {
			(undef, $out, $err) = $node->psql('postgres', "SET gpusort.work_mem = '$memory'; SET gpusort.device = cuda; $wide_digest $scrolled $single");
		}, 'device_faults'), 3, "with $memory each sort asks for the device once");
	is($out, $native_wide, 'and is right');
	is($node->counter('sorts_native'), $native_sorts, 'and is not left to PostgreSQL');
}

$node->safe_psql('postgres', "CREATE EXTENSION amcheck; CREATE TABLE wide AS $wide; CREATE INDEX wide_k ON wide (k, pad); ANALYZE wide");
foreach my $memory ('64kB', '1MB', '5MB', '64MB')
{
	is( counted(sub {
			(undef, $out, $err) = $node->psql('postgres', <<"SQL");
SET gpusort.work_mem = '$memory';
SET gpusort.device = cuda;
SET max_parallel_maintenance_workers = 0;
REINDEX INDEX wide_k;
SELECT bt_index_parent_check('wide_k', true);
SQL
		}, 'indexes_host'), 1, "with $memory an index build whose device fails is done by the backend");
	is($out, '', 'and right');
}

#
# A device that is in use by others
# Sorts that stop at a row until they are told to go on, and have memory all the while.
$node->safe_psql('postgres', GpusortCluster::WAIT_FUNCTION . <<'SQL');
CREATE TABLE many AS SELECT i FROM generate_series(1, 200000) i;
CREATE TABLE more AS SELECT i FROM generate_series(1, 500000) i;
ANALYZE many, more;
-- rows of which the planner expects few
CREATE FUNCTION unexpected() RETURNS SETOF int ROWS 10 LANGUAGE plpgsql AS
	$$ BEGIN RETURN QUERY SELECT hashint4(i) FROM generate_series(1, 500000) i; END $$;
SQL
$ENV{GPUSORTD_HOST_DEVICES} = '12,12';
$node->append_conf('postgresql.conf', "max_parallel_workers_per_gather = 0\ngpusort.device = cuda");
$node->restart;
set_devices("'0'", '0 ready, 1 unused', 'with a single device of little memory');

my $sort = "SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT k FROM (SELECT hashint4(i) k FROM many OFFSET 0) s ORDER BY k) s;";
my $sorted = $node->safe_psql('postgres', "SET gpusort.enable = off; $sort");

sub start_stuck
{
	my ($who, $place) = @_;
	my %session = (who => $who, out => '', err => '');
	my $stuck = $sort =~ s/hashint4\(i\)/wait_at(i, $place, '$who')/r;
	$session{handle} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET application_name = '$who'", '-c', $stuck ],
		'>', \$session{out}, '2>', \$session{err});
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = '$who' AND wait_event = 'PgSleep'")
	  or die "$who is not stuck";
	return \%session;
}

sub end_stuck
{
	my ($session) = @_;
	$node->safe_psql('postgres', "INSERT INTO go_on VALUES ('$session->{who}')");
	$session->{handle}->finish;
	is("$session->{out}$session->{err}", "$sorted\n", "the sort of the $session->{who} is right");
}

my $in_use = "WARNING:  gpusort: sorting without the device\nDETAIL:  device memory is in use by other sorts.";
my $holder = start_stuck('holder', 1000);
is($node->safe_psql('postgres', 'SELECT jobs, memory_used > 3100000 FROM gpusort_devices WHERE device = 0'), '1|t', 'a sort has half of the memory');
is( counted(sub {
		is( counted(sub { (undef, $out, $err) = $node->psql('postgres', $sort); }, 'device_full'), 1, 'another one counts as having found none');
	}, 'device_faults'), 0, 'and as no fault');
$err =~ s/^psql:\S+: //mg;
is("$out\n$err", "$sorted\n$in_use", 'it is done without the device');

my $waiter = start_stuck('waiter', 100000);
is($node->safe_psql('postgres', 'SELECT jobs FROM gpusort_devices WHERE device = 0'), '1', 'a third one collects rows while it waits for its turn');
end_stuck($holder);
ok($node->poll_query_until('postgres', 'SELECT jobs = 1 AND sorts = 1 FROM gpusort_devices WHERE device = 0'), 'which comes');
end_stuck($waiter);
is($node->safe_psql('postgres', 'SELECT jobs, sorts, memory_used FROM gpusort_devices WHERE device = 0'), '0|2|0', 'and so it is done by the device');

$holder = start_stuck('second holder', 1000);
$waiter = start_stuck('second waiter', 100000);
is($node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'second waiter'"), 't', 'one that waits is ended');
eval { $waiter->{handle}->finish };
end_stuck($holder);
$waiter = start_stuck('third waiter', 100000);
end_stuck($waiter);
is($node->safe_psql('postgres', 'SELECT jobs, sorts, memory_used FROM gpusort_devices WHERE device = 0'), '0|4|0', 'and leaves nothing in the queue');

#
# More than a device has memory for
#

my %large = (
	'as expected' => ['SELECT hashint4(i) k FROM more', qr/the sort is expected to need 11 MB of device memory, more than there is/],
	'unexpectedly' => ['SELECT k FROM unexpected() k', qr/device memory is full, it is in use by other sorts/]);
foreach my $how (sort keys %large)
{
	my ($query, $reason) = @{ $large{$how} };
	my $large = "SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT k FROM ($query OFFSET 0) s ORDER BY k) s;";
	my $expected = $node->safe_psql('postgres', "SET gpusort.enable = off; $large");
	foreach my $memory ('64MB', '12MB')
	{
		is( counted(sub { (undef, $out, $err) = $node->psql('postgres', "SET gpusort.work_mem = '$memory'; $large"); }, 'device_full') > 0, 1,
			"a sort that is too large, $how, counts, with $memory");
		is($node->counter('sorts_native'), '0', 'it is not left to PostgreSQL');
		is($out, $expected, 'it is right');
		like($err, $reason, 'and says so');
	}
}

#
# One sort on two devices
#

sub restart_with_devices
{
	my ($devices, $faulty) = @_;
	$ENV{GPUSORTD_HOST_DEVICES} = $devices;
	$ENV{GPUSORTD_HOST_FAULT} = $faulty;
	$node->restart;
	wait_for_devices('0 ready, 1 ready', 'with two devices of little memory');
}

# Runs SQL when the devices have no memory of earlier sorts left.
sub run_alone
{
	my ($sql) = @_;
	$node->poll_query_until('postgres', 'SELECT sum(jobs) = 0 FROM gpusort_devices') or die 'jobs do not end';
	my (undef, $stdout, $stderr) = $node->psql('postgres', "SET work_mem = '512MB'; $sql");
	return "$stdout$stderr";
}

$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.devices = 'all'");
restart_with_devices('20,20', '-1');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE numbers AS SELECT hashint4(i) random, i % 1000 ties, -i down, 7 same FROM generate_series(1, 600000) i;
CREATE TABLE texts AS SELECT md5((i / 2)::text) t FROM generate_series(1, 200000) i;
CREATE TABLE fewer AS SELECT random FROM numbers LIMIT 400000;
ANALYZE numbers, texts, fewer;
CREATE FUNCTION unexpected_numbers() RETURNS SETOF numbers ROWS 10 LANGUAGE plpgsql AS
	$$ BEGIN RETURN QUERY SELECT * FROM numbers; END $$;
CREATE FUNCTION unexpected_texts() RETURNS SETOF texts ROWS 10 LANGUAGE plpgsql AS
	$$ BEGIN RETURN QUERY SELECT * FROM texts; END $$;
SQL
my $both = qr/Sort Method: radix sort, 2 parts merged\n *Device: gpusortd \(host\), device \d and gpusortd \(host\), device \d\n/;
foreach my $table ('numbers', 'unexpected_numbers()', 'texts', 'unexpected_texts()')
{
	foreach my $column ($table =~ /numbers/ ? ('random', 'ties', 'down', 'same') : ('t COLLATE "C"', 't COLLATE "C" DESC'))
	{
		my $sorted = "SELECT * FROM (SELECT * FROM $table OFFSET 0) s ORDER BY $column";
		my ($name) = $column =~ /^(\w+)/;
		my $digest = "SELECT count(*), md5(string_agg($name\::text, ',')) FROM ($sorted) s;";
		my $expected = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");
		is(run_alone($digest), $expected, "$table is sorted by $column");
		like(run_alone("EXPLAIN (ANALYZE, COSTS OFF) $sorted"),
			$column eq 'same' ? qr/Sort Method: none, rows in order\n/ : $both,
			$column eq 'same' ? 'on none, since they are in order' : 'on two devices');
	}
}
is(run_alone(<<'SQL'), '', 'so is an index that is built');
SET maintenance_work_mem = '512MB';
SET max_parallel_maintenance_workers = 0;
CREATE INDEX fewer_random ON fewer (random);
SELECT bt_index_parent_check('fewer_random', true);
SQL
is($node->counter('indexes_device'), '1', 'on devices');
is($node->counter('device_full') + $node->counter('device_faults'), '0', 'and none goes without');
is( $node->safe_psql('postgres', 'SELECT min(sorts) = max(sorts), sum(jobs), sum(memory_used) FROM gpusort_devices'),
	't|0|0', 'both have done the same, and keep nothing');

# one of them fails with its part
my $small = 'SELECT md5(string_agg(ties::text, \',\')) FROM (SELECT ties FROM (SELECT * FROM numbers LIMIT 1000) s ORDER BY ties) s;';
my $large = 'SELECT md5(string_agg(random::text, \',\')) FROM (SELECT random FROM (SELECT * FROM numbers OFFSET 0) s ORDER BY random) s;';
my $expected = $node->safe_psql('postgres', "SET gpusort.enable = off; $large");
restart_with_devices('20,20', '1');
like(run_alone($large), qr/^$expected.*DETAIL:  GPUSORTD_HOST_FAULT has it so\./s, 'a sort is right if one of its parts fails');
is(devices(), '0 ready, 1 failed GPUSORTD_HOST_FAULT has it so', 'the device is taken out');
is(run_alone($small), $node->safe_psql('postgres', "SET gpusort.enable = off; $small"), 'the other one goes on');
$node->stop;
done_testing();
