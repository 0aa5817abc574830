# Unique indexes over rows that only an older snapshot sees. These rows are in the index and do not
# count as duplicates. If one is too large for a page, the error is PostgreSQL's. Indexes are built
# in one process, with parallel workers that hand over their rows, and with workers that write runs
# to files.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
max_worker_processes = 16
max_parallel_workers = 8
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', GpusortCluster::PAGES_FUNCTION);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION amcheck;

CREATE TABLE rows (id int, t text COLLATE "C", n numeric) WITH (parallel_workers = 2);
INSERT INTO rows SELECT i, md5(i::text), i / 7.0 FROM generate_series(1, 30000) i;
CREATE TABLE large (id int, t text COLLATE "C") WITH (parallel_workers = 2);
INSERT INTO large SELECT i, md5(i::text) FROM generate_series(1, 30000) i;
SQL
$node->wait_until_ready('gpusortd is ready');

my $old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
$node->safe_psql('postgres', <<'SQL');
UPDATE rows SET n = n + 1 WHERE id % 3 = 0;
DELETE FROM rows WHERE id % 5 = 0;
INSERT INTO rows SELECT i, md5(i::text), i FROM generate_series(5, 30000, 10) i;
INSERT INTO large SELECT i, string_agg(md5(i || ' ' || j), '') FROM generate_series(1, 9) i, generate_series(1, 100) j GROUP BY i;
DELETE FROM large WHERE length(t) > 32;
SQL

my %ways = (
	'without gpusort' => 'SET gpusort.enable = off; SET max_parallel_maintenance_workers = 0;',
	'in one process' => 'SET max_parallel_maintenance_workers = 0;',
	'in one process, through files' => "SET max_parallel_maintenance_workers = 0; SET gpusort.work_mem = '256kB';",
	'with workers' => 'SET max_parallel_maintenance_workers = 2;',
	'with workers that write files' => "SET max_parallel_maintenance_workers = 2; SET gpusort.work_mem = '128kB';");
my ($native_pages, $native_error);
foreach my $way ('without gpusort', grep { !/without/ } sort keys %ways)
{
	foreach my $device ($way =~ /without/ ? ('host') : ('host', 'cuda'))
	{
		my $settings = "SET gpusort.device = $device; SET maintenance_work_mem = '64MB'; $ways{$way}";
		my $pages = '';
		foreach my $columns ('id', 't, id', '(n * 2), id', 'id DESC) INCLUDE (t')
		{
			my ($status, $out, $err) = $node->psql('postgres', "$settings CREATE UNIQUE INDEX built ON rows ($columns);
				SELECT pages('built'); SELECT bt_index_parent_check('built', true, true); DROP INDEX built;");
			$pages .= "$columns: $out$err\n";
		}
		my ($status, $out, $err) = $node->psql('postgres', "$settings CREATE UNIQUE INDEX built ON large (t);");
		# either of the processes may raise the error
		$err =~ s/\nCONTEXT:  parallel worker$//;
		if ($way =~ /without/)
		{
			($native_pages, $native_error) = ($pages, $err);
			unlike($pages, qr/ERROR/, 'PostgreSQL builds unique indexes over rows that only others see');
			like($err, qr/index row size \d+ exceeds btree version 4 maximum \d+ for index "built"\nDETAIL:  Index row references tuple/,
				'and has an error for those that are too large');
			next;
		}
		is($pages, $native_pages, "$way, $device: the same pages");
		is($err, $native_error, "$way, $device: the same error");
	}
}
cmp_ok($node->counter('index_workers'), '>=', 2 * 2 * 4 * 2, 'workers have built some');
cmp_ok($node->counter('indexes_spilled'), '>=', 2 * 2 * 4, 'and some went through files');
is($old->query_safe('SELECT count(*) FROM rows;'), '30000', 'the snapshot sees what it saw');
$old->query_safe('COMMIT');
$old->quit;

# Without the snapshot the rows that were too large are gone.
$node->safe_psql('postgres', 'CREATE UNIQUE INDEX built ON large (t); SELECT bt_index_parent_check(\'built\', true, true)');
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process has crashed');
$node->stop;
done_testing();
