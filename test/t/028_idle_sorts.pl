# Sorts whose rows do not come. Expected rows reserve no memory of a device, and the memory that
# these sorts have goes to others.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

# a device of which sorts have 20 MB, for about 800,000 rows
$ENV{GPUSORTD_HOST_DEVICES} = '40';
my $library = GpusortCluster::library_with_test_gpusortd;
my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
shared_preload_libraries = '$library'
gpusort.device_memory = 50
gpusort.min_rows = 0
gpusort.device = cuda
work_mem = '1GB'
max_parallel_workers_per_gather = 0
CONF
$node->start;
$node->safe_psql('postgres', GpusortCluster::WAIT_FUNCTION . <<'SQL');
CREATE EXTENSION gpusort;
SQL
$node->wait_until_ready('gpusortd is ready');

# A sort of this many rows, whose key is this expression of i.
sub sort_of
{
	my ($rows, $key) = @_;
	return "SELECT count(*), md5(string_agg(k::text, ',')) FROM "
	  . "(SELECT k FROM (SELECT $key k FROM generate_series(1, $rows) i OFFSET 0) s ORDER BY k) s;\n";
}

sub expected
{
	my ($rows) = @_;
	return $node->safe_psql('postgres', 'SET gpusort.enable = off; ' . sort_of($rows, 'hashint4(i)'));
}

sub start_stuck
{
	my ($who, $rows, $place) = @_;
	my $session = $node->start_psql($who,
		"SET work_mem = '1TB';\n" . sort_of($rows, "CASE WHEN i = $place THEN wait_at(i, $place, '$who') ELSE hashint4(i) END"));
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = '$who' AND wait_event = 'PgSleep'")
	  or die "$who is not stuck";
	return $session;
}

sub end_stuck
{
	my ($session, $expected) = @_;
	$node->safe_psql('postgres', "INSERT INTO go_on VALUES ('$session->{name}')");
	$session->{handle}->finish;
	is($session->{out}, "$expected\n", "the sort of the $session->{name} is right");
}

my $small = expected(100000);
my $large = expected(600000);

# Checks that the device does other sorts.
sub check_others
{
	my ($what) = @_;
	my $full = $node->counter('device_full');
	my ($status, $out, $err) = $node->psql('postgres', sort_of(100000, 'hashint4(i)') . sort_of(600000, 'hashint4(i)'));
	is("$out$err", "$small\n$large", "$what, others are right");
	is($node->counter('device_full'), $full, 'and done by the device');
}

# A sort that is expected to take nearly all memory, and has few rows
#

my @idle = (start_stuck('sleeper', 750000, 20));
cmp_ok($node->safe_psql('postgres', 'SELECT memory_used FROM gpusort_devices'),
	'<', 4 << 20, 'an expectation reserves next to nothing');
check_others('beside a sort that sleeps at row 20');

# more sorts than there is room for
push @idle, start_stuck("sleeper $_", 750000, 20) foreach (1 .. 9);
$node->safe_psql('postgres', 'SELECT pg_sleep(2)');
check_others('beside many of them');

# A sort that has most of the memory
#

my $full = $node->counter('device_full');
end_stuck($_, expected(750000)) foreach @idle;
my $holder = start_stuck('holder', 750000, 700000);
cmp_ok($node->safe_psql('postgres', 'SELECT memory_used FROM gpusort_devices'),
	'>', 16 << 20, 'one that has many rows has memory for them');
$node->safe_psql('postgres', 'SELECT pg_sleep(2)');
is($node->safe_psql('postgres', 'SELECT jobs FROM gpusort_devices'), '1', 'and keeps it while nobody else wants it');
check_others('beside a sort that has most of the memory and is idle');
$full = $node->counter('device_full');
end_stuck($holder, expected(750000));
is($node->counter('device_full'), $full + 1, 'which has given way');
like($holder->{err}, qr/WARNING:  gpusort: sorting without the device/, 'and says so');
is($node->safe_psql('postgres', 'SELECT jobs, memory_used FROM gpusort_devices'), '0|0', 'nothing is left');
is($node->counter('device_faults'), '0', 'and nothing was at fault');

$node->stop;
done_testing();
