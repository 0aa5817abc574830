# B-trees that are larger than one file of a relation. All bytes of the index are those of PostgreSQL's, on whose pages nothing but the
# place in the log could differ, and an unlogged index has none.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use Digest::MD5;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
max_worker_processes = 16
max_parallel_workers = 8
autovacuum = off
CONF
$node->start;
# With this fill factor a gigabyte takes 4.9 million rows.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION amcheck;
CREATE UNLOGGED TABLE rows WITH (parallel_workers = 2) AS SELECT hashint8extended(i, 1) AS k FROM generate_series(1, 5000000) i;
SQL
$node->wait_until_ready('gpusortd is ready');

# The digests of the index's files, in order.
sub build
{
	my ($settings) = @_;
	my $path = $node->safe_psql('postgres', "SET maintenance_work_mem = '1GB'; $settings
		CREATE INDEX built ON rows (k) WITH (fillfactor = 10); CHECKPOINT; SELECT pg_relation_filepath('built')");
	my @digests;
	foreach my $suffix ('', '.1', '.2')
	{
		open(my $file, '<:raw', $node->data_dir . "/$path$suffix") or last;
		push @digests, Digest::MD5->new->addfile($file)->hexdigest;
	}
	return "@digests";
}

my $native = build('SET gpusort.enable = off; SET max_parallel_maintenance_workers = 2;');
like($native, qr/^\w+ \w+$/, "PostgreSQL's index has two files");
foreach my $workers (0, 2)
{
	$node->safe_psql('postgres', 'DROP INDEX built');
	is(build("SET max_parallel_maintenance_workers = $workers;"), $native, "with $workers workers all bytes are the same");
}
$node->safe_psql('postgres', "SELECT bt_index_check('built')");
is($node->counter('indexes_host'), '2', 'gpusort has built two of them');
$node->stop;
done_testing();
