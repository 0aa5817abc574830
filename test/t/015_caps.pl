# A thousand random jobs, each with other limits of every kind of memory: of the sort, of the index
# build, of staging, and of two devices of a few megabytes. For new limits of the devices gpusortd
# is started anew while it has jobs.
use strict;
use warnings;
use FindBin;
use Test::More;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

$ENV{GPUSORTD_HOST_DEVICES} = '3,5';
my $library = GpusortCluster::library_with_test_gpusortd;
my $node = GpusortCluster->new('main');
$node->init(extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$library'
gpusort.daemon_engine = host
CONF
$node->start;

my ($status, $output) = $node->compare_random('--caps', '--queries', 1300, '--large', 4, '--jobs', 2);
is($status, 0, 'all results are as without gpusort') or diag($output);
my ($queries) = $output =~ /^# (\d+) queries, /m;
cmp_ok($queries // 0, '>=', 1000, 'of a thousand queries');
foreach my $counter ('sorts_device', 'sorts_host', 'sorts_spilled', 'device_full', 'index_rows')
{
	my ($count) = $output =~ /^# $counter (\d+)$/m;
	cmp_ok($count // 0, '>=', 10, "$counter counts some");
}

$node->stop;
done_testing();
