# Index builds over rows of whose transactions nothing is noted on the pages, as just after a load. The indexes have the rows that
# PostgreSQL's have, and the pages of the table stay as they are, if gpusort's scan has read them.
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
max_prepared_transactions = 2
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', GpusortCluster::PAGES_FUNCTION);
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE EXTENSION amcheck');
$node->wait_until_ready('gpusortd is ready');

# Rows that are noted as those of a transaction that has committed, and the others, by their headers.
sub notes
{
	return $node->safe_psql('postgres', <<'SQL');
SELECT count(*) FILTER (WHERE (t_infomask & x'100'::int) <> 0), count(*) FILTER (WHERE (t_infomask & x'100'::int) = 0)
FROM generate_series(0, pg_relation_size('loaded') / 8192 - 1) block, heap_page_items(get_raw_page('loaded', block::int))
SQL
}

my $create = 'DROP TABLE IF EXISTS loaded; CREATE TABLE loaded (id int, t text COLLATE "C", words int[]) WITH (parallel_workers = 2);';

sub insert
{
	my ($from, $to) = @_;
	return "INSERT INTO loaded SELECT i, md5(i::text), ARRAY[i % 100, i % 7 + 1000] FROM generate_series($from, $to) i;";
}

# How rows come into the table, and whether the build of gpusort leaves their headers as they are.
my %loads = (
	'one transaction' => [ sub { $node->safe_psql('postgres', $create . insert(1, 20000)) }, 1 ],
	'transactions one after another' => [
		sub {
			$node->safe_psql('postgres', $create);
			$node->safe_psql('postgres', insert(1, 9000));
			$node->safe_psql('postgres', 'BEGIN;' . insert(9001, 9100) . 'SAVEPOINT s;' . insert(9101, 20000) . 'COMMIT');
		},
		0
	],
	'a transaction that has failed, between others' => [
		sub {
			$node->safe_psql('postgres', $create . insert(1, 9000));
			$node->safe_psql('postgres', 'BEGIN;' . insert(5000, 12000) . 'ROLLBACK');
			$node->safe_psql('postgres', insert(9001, 20000));
		},
		0
	],
	'a transaction that was prepared' => [
		sub {
			$node->safe_psql('postgres', $create);
			$node->safe_psql('postgres', 'BEGIN;' . insert(1, 20000) . "PREPARE TRANSACTION 'load'");
			$node->safe_psql('postgres', "COMMIT PREPARED 'load'");
		},
		1
	],
	'a transaction for each row' => [
		sub {
			$node->safe_psql('postgres', $create);
			$node->safe_psql('postgres', "DO \$\$ BEGIN FOR i IN 1 .. 3000 LOOP
				INSERT INTO loaded VALUES (i, md5(i::text), ARRAY[i % 100, 1]); COMMIT; END LOOP; END \$\$");
		},
		0
	],
	'rows deleted and updated since' => [
		sub {
			$node->safe_psql('postgres', $create . insert(1, 20000));
			$node->safe_psql('postgres', "DELETE FROM loaded WHERE id BETWEEN 3000 AND 4000; UPDATE loaded SET words = '{7}' WHERE id % 1000 = 0");
		},
		0
	]);
my @ways = (
	[ 'in one process', 'SET max_parallel_maintenance_workers = 0;' ],
	[ 'with workers', 'SET max_parallel_maintenance_workers = 2;' ]);
my $settings = "SET maintenance_work_mem = '64MB';";
my $build = <<'SQL';
CREATE UNIQUE INDEX built ON loaded (t, id);
SELECT pages('built');
CREATE INDEX parted ON loaded ((id * 2)) WHERE id % 3 = 0;
SELECT pages('parted');
CREATE INDEX contained ON loaded USING gin (words);
SQL
my $check = <<'SQL';
SELECT bt_index_parent_check('built', true, true);
SET enable_seqscan = off;
SELECT count(*), sum(id), sum(hashint8(id)) FROM loaded WHERE words && ARRAY[1001, 1006, 7];
SQL
foreach my $load (sort keys %loads)
{
	my ($perform, $stays) = $loads{$load}->@*;

	$perform->();
	my $before = notes();
	like($before, qr/^0\|\d+$/, "$load: nothing is noted") if $load !~ /updated/;
	foreach my $way (@ways)
	{
		my ($name, $set) = @$way;

		$perform->();
		my $built = $node->safe_psql('postgres', "$settings $set $build");
		my $after = notes();
		$built .= $node->safe_psql('postgres', $check);
		$perform->();
		my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $settings $set $build");
		is($built, $native . $node->safe_psql('postgres', $check), "$load, $name: the indexes are PostgreSQL's");
		is($after, $before, "$load, $name: and the pages of the table are as before") if $stays;
	}
}

# A build leaves to core what has rows of many transactions, and core notes what it has found.
$loads{'a transaction for each row'}[0]->();
$node->safe_psql('postgres', 'CREATE INDEX built ON loaded (id)');
is(notes(), '3000|0', 'rows of many transactions on a page are noted');

# In the transaction that has loaded the rows. What was rolled back to a savepoint is not in the index.
foreach my $way (@ways)
{
	my ($name, $set) = @$way;
	my ($indexed, $all, $rolled_back) = split /\n/, $node->safe_psql('postgres',
		$create . "$settings $set BEGIN; TRUNCATE loaded;" . insert(1, 8000) . 'SAVEPOINT s;' . insert(1, 5000) . 'ROLLBACK TO s; SAVEPOINT s;'
		  . insert(8001, 15000) . <<'SQL');
RELEASE s;
CREATE UNIQUE INDEX built ON loaded (id);
CREATE INDEX contained ON loaded USING gin (words);
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM loaded WHERE id > 0;
SET enable_indexscan = off;
SELECT count(*), sum(id) FROM loaded WHERE words && ARRAY[1000, 1001, 1002, 1003, 1004, 1005, 1006];
COMMIT;
SELECT count(*), sum(id) FROM loaded WHERE id > 0;
SQL
	is($indexed, '15000|112507500', "$name, in the transaction of the load: the B-tree has all rows");
	is($all, '15000|112507500', '... the GIN index, too');
	is($rolled_back, '15000|112507500', '... and after the end of the transaction');
	$node->safe_psql('postgres', "SELECT bt_index_parent_check('built', true, true)");
}

# A transaction that is still running keeps the build waiting, as PostgreSQL's. When it ends, its rows are in the index or not.
foreach my $end (qw(COMMIT ROLLBACK))
{
	$node->safe_psql('postgres', $create . insert(1, 5000));
	my $running = $node->background_psql('postgres');
	$running->query_safe('BEGIN;' . insert(5001, 5050));
	my $building = $node->background_psql('postgres');
	$building->query_until(qr/begins/, "\\echo begins\nCREATE UNIQUE INDEX built ON loaded (id);\n\\echo done\n");
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ '^CREATE UNIQUE'});
	$running->query_safe("$end;");
	$running->quit;
	$building->query_until(qr/done/, '');
	$building->quit;
	is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT bt_index_parent_check('built', true, true);
		SELECT count(*) FROM loaded WHERE id > 0"), $end eq 'COMMIT' ? "\n5050" : "\n5000", "after a $end the index has the right rows");
}
cmp_ok($node->counter('indexes_host'), '>=', 2 * 6 * 2, 'gpusort has built the indexes');
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process has crashed');
$node->stop;
done_testing();
