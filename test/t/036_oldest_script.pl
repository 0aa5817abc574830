# The newest library with the oldest script of the extension. The library of a server may be
# replaced long before ALTER EXTENSION is run, if ever. Everything that the script makes has to
# work, by the names of its columns.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

# The objects of the extension, each with its definition.
use constant OBJECTS => <<'SQL';
SELECT pg_describe_object(classid, objid, 0), CASE classid
	WHEN 'pg_proc'::regclass THEN pg_get_function_arguments(objid) || pg_get_function_result(objid)
	ELSE pg_get_viewdef(objid) END
FROM pg_depend WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpusort')
ORDER BY 1
SQL

# What the views have been since their first version: columns are only added.
my %columns = (
	gpusort_devices => 'device, name, uuid, memory, capability, driver, state, reason, memory_used, jobs, sorts, busy_microseconds',
	gpusort_stats => 'name, value');
my %later_columns = (
	gpusort_progress => 'pid, datid, kind, phase, rows_put, rows_expected, runs_written, rows_emitted, device',
	gpusort_stat_database => 'datid, sorts_device, sorts_host, sorts_native, sorts_spilled, rows, bytes, indexes, stats_reset');

my $node = GpusortCluster->new('main');
$node->init;
$node->configure('');
$node->start;

chomp(my $directory = `pg_config --sharedir`);
foreach my $script (glob "$directory/extension/gpusort--*.sql")
{
	unlike(slurp_file($script), qr/^CREATE\b[^;]*\bVIEW\b[^;]*\*/m, "$script: views name their columns");
}

my $oldest = $node->safe_psql('postgres', <<'SQL');
SELECT version FROM pg_available_extension_versions WHERE name = 'gpusort'
ORDER BY string_to_array(version, '.')::int[] LIMIT 1
SQL
is($oldest, '0.1.0', 'the oldest script');
$node->safe_psql('postgres', "CREATE EXTENSION gpusort VERSION '$oldest'");
$node->wait_until_ready('gpusortd gets ready');

# A test: views, and the functions behind them, have at least this many rows.
sub check_columns
{
	my ($rows, %views) = @_;
	foreach my $name (sort keys %views)
	{
		foreach my $source ($name, "$name()")
		{
			cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT $views{$name} FROM $source OFFSET 0) s"),
				'>=', $rows, "$source has its columns");
		}
	}
}
check_columns(1, %columns);
my $sorts = $node->counter('sorts_device') + $node->counter('sorts_host');
is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT i FROM generate_series(1, 50000) i ORDER BY -i OFFSET 0) s'),
	50000, 'a sort');
cmp_ok($node->counter('sorts_device') + $node->counter('sorts_host'), '>', $sorts, 'which counts');

# after the update the extension is the same as a new one
$node->safe_psql('postgres', 'ALTER EXTENSION gpusort UPDATE; CREATE DATABASE another');
$node->safe_psql('another', 'CREATE EXTENSION gpusort');
check_columns(0, %later_columns);
is($node->safe_psql('postgres', OBJECTS), $node->safe_psql('another', OBJECTS), 'updated, it has all that a new one has');

$node->stop;
done_testing();
