# The comparison of random queries: gpusort passes it, and fails it when something is wrong.
# For the second part the module in test/wrong_orders spoils the plans of gpusort, each time in one
# way. The comparison has to find a case, and show how to repeat it.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

# Builds the module where this user may write.
my $source = "$FindBin::RealBin/../wrong_orders";
my $build = abs_path(PostgreSQL::Test::Utils::tempdir);
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
system_or_bail('make', '-s', '-C', $build, '-f', "$source/Makefile",
	"PG_CONFIG=$pg_config");

my $node = GpusortCluster->new('main');
$node->init(extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'gpusort, $build/wrong_orders'
gpusort.daemon_engine = host
# only GpuSorts are spoiled
gpusort.enable_windows = off
gpusort.enable_aggregates = off
restart_after_crash = on
CONF
$node->start;

sub set_fault
{
	my ($fault) = @_;
	$node->append_conf('postgresql.conf', "wrong_orders.fault = $fault");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('wrong_orders.fault') = '$fault'");
}

my @some = ('--seed', 11, '--queries', 150);
foreach my $case ([ 'host', 'sorts_host' ], [ 'cuda', 'sorts_device' ])
{
	my ($device, $counter) = @$case;
	my ($status, $output) = $node->compare_random(@some, '--device', $device);
	is($status, 0, "gpusort passes ($device)") or diag($output);
	like($output, qr/^ok - gpusort has sorted \d{2,} times$/m, 'with many sorts');
	like($output, qr/^# $counter \d{2,}$/m, 'of this kind');
	unlike($output, qr/^not ok/m, 'without a line that says otherwise');
}

SKIP:
{
	skip 'with assertions a SetOp of PostgreSQL 18 ends the server when its inputs are out of order', 1
	  if $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::int >= 180000 AND current_setting('debug_assertions')::bool") eq 't';
	foreach my $fault ('nulls', 'direction', 'column')
	{
		set_fault($fault);
		my ($status, $output) = $node->compare_random(@some);
		is($status, 1, "a wrong order is noticed ($fault)") or diag($output);
		like($output, qr/^not ok - round \d+ of seed 11$/m, 'and counted');

		my ($shown, $repeat) = $output =~ /^(# Query .*?)^# Its output/ms;
		($repeat) = ($shown // '') =~ /^# To repeat it: \S+ (.*)$/m;
		like($shown, qr/^#   CREATE TABLE .*^#   INSERT INTO .*^# The query:\n#   (SET|SELECT|WITH|BEGIN|DO) /ms, 'tables and query are shown');
		($status, my $again) = $node->compare_random(split / /, $repeat);
		is($status, 1, 'what is said to repeat it does');
		is(index($again, $shown) >= 0, 1, 'with the same tables and the same query') or diag($shown, $again);
	}
}

set_fault('native');
my ($status, $output) = $node->compare_random(@some);
is($status, 1, 'so is that it is not gpusort that sorts');
# a plan from before a transaction may be used again when the transaction is rolled back
like($output, qr/^not ok - gpusort has sorted \d times$/m, 'and said');
like($output, qr/^ok - round 3 of seed 11$/m, 'although the results are right');

set_fault('crash');
($status, $output) = $node->compare_random('--seed', 11, '--queries', 50);
isnt($status, 0, 'so is a crash');
like($output, qr/^not ok - round 1 of seed 11$/m, 'and counted');
like($output, qr/because of crash of another server process|a session is lost/, 'and said');

# the server may have to recover first
$node->wait_until_up;
$node->stop;
done_testing();
