# Restoring and rebuilding by the commands of docs/restore.md. They set the server's settings, and put them back. gpusort
# builds the indexes, in the memory that the commands set, and they are equal to PostgreSQL's own. The commands find the
# indexes whose order has changed with glibc, and no others.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use DocumentCommands;
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
# little memory and no workers, so that the counters show whether sessions have settings of their own
$node->configure(<<'CONF');
gpusort.min_rows = 0
maintenance_work_mem = '1MB'
max_parallel_maintenance_workers = 0
min_parallel_table_scan_size = 0
max_worker_processes = 16
max_parallel_workers = 4
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->wait_until_ready('gpusortd is ready');

my $document = DocumentCommands->new('docs/restore.md');
my $directory = PostgreSQL::Test::Utils::tempdir;
my $settings = $document->commands('Settings of the sessions');

# A test: a block of the document succeeds in a reader's shell. Returns what it prints.
sub run_block
{
	my ($name, $further) = @_;
	my ($out, $err) = ('', '');
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	my $commands = "cd '$directory'\n{\n$settings\n} >settings\n" . ($further // '') . "\n" . $document->commands($name);
	ok(IPC::Run::run([ 'bash', '-e', '-o', 'pipefail', '-c', $commands ], '<', \undef, '>', \$out, '2>', \$err), $name) or diag($err);
	return $out;
}

# A test: in this function gpusort builds at least this many indexes, in the memory and with the workers of the settings.
sub builds
{
	my ($what, $least, $do) = @_;
	my %before = map { ($_ => $node->counter($_)) } qw(indexes_host indexes_device indexes_spilled index_workers);
	$do->();
	my %done = map { ($_ => $node->counter($_) - $before{$_}) } keys %before;
	cmp_ok($done{indexes_host} + $done{indexes_device}, '>=', $least, "$what: gpusort has built the indexes");
	is($done{indexes_spilled}, 0, "$what: in memory");
	cmp_ok($done{index_workers}, '>', 0, "$what: with workers");
}

# A line for each B-tree index of the public schema, with the query's value.
sub of_indexes
{
	my ($database, $value) = @_;
	return $node->safe_psql($database,
		"SELECT c.oid::regclass, $value FROM pg_class c WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree') ORDER BY c.oid::regclass::text COLLATE \"C\"");
}

# A test: all indexes are good.
sub are_good
{
	my ($database, $what) = @_;
	$node->safe_psql($database, 'CREATE EXTENSION IF NOT EXISTS amcheck');
	unlike(of_indexes($database, 'bt_index_parent_check(c.oid, true)'), qr/ERROR/, "$what: amcheck finds nothing");
}

#
# A database of a locale of libc, if there is one
#

my $locale = $node->psql('postgres', "CREATE DATABASE shop TEMPLATE template0 LOCALE 'en_US.UTF-8' ENCODING 'UTF8'") == 0;
$node->safe_psql('postgres', 'CREATE DATABASE shop TEMPLATE template0') unless $locale;
$node->safe_psql('shop', <<'SQL');
CREATE TABLE orders (id bigint PRIMARY KEY, placed timestamptz NOT NULL, note text, code text COLLATE "C", tags text[]);
INSERT INTO orders
SELECT i, timestamptz '2026-01-01 UTC' + make_interval(secs => abs(hashint4(i)) % 1000000), md5(i::text), md5((i + 1)::text), ARRAY[md5((i + 2)::text)]
FROM generate_series(1, 40000) i;
CREATE INDEX orders_placed ON orders (placed);
CREATE INDEX orders_note ON orders (note, id);
CREATE INDEX orders_code ON orders (code);
CREATE INDEX orders_tags ON orders (tags);
CREATE UNIQUE INDEX "Orders, some" ON orders (lower(note)) WHERE id % 2 = 0;
CREATE TABLE customers (id int, name text COLLATE "C", town text COLLATE "POSIX");
INSERT INTO customers SELECT i, md5(i::text), md5((i % 100)::text) FROM generate_series(1, 30000) i;
ALTER TABLE customers ADD PRIMARY KEY (id), ADD UNIQUE (name);
CREATE INDEX customers_town ON customers (town) INCLUDE (name);
CLUSTER orders USING orders_placed;
ANALYZE;
SQL
my $indexes = () = of_indexes('shop', '1') =~ /\|1$/mg;
is($indexes, 9, 'there are indexes');

#
# Settings for a large restore
#

# what ALTER SYSTEM has set
my $of_server = "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf' ORDER BY name";
my $current = "SELECT current_setting('max_parallel_workers'), current_setting('max_wal_size')";
$node->safe_psql('postgres', $_) foreach "ALTER SYSTEM SET max_wal_size = '1536MB'", 'ALTER SYSTEM SET work_mem = 1234', 'SELECT pg_reload_conf()';
$node->poll_query_until('postgres', "SELECT current_setting('work_mem') = '1234kB'") or die 'not reloaded';
my ($before, $before_restore) = ($node->safe_psql('postgres', $of_server), $node->safe_psql('postgres', $current));
run_block('Settings of the server');
like(slurp_file("$directory/settings"), qr/^-c maintenance_work_mem=[1-9]\d*MB -c gpusort\.work_mem=-1 -c max_parallel_maintenance_workers=2$/, 'settings are computed');
$node->poll_query_until('postgres', "SELECT current_setting('max_wal_size') = '8GB'") or die 'not reloaded';
is($node->safe_psql('postgres', $current), '8|8GB', 'the server has the settings');
like($node->safe_psql('postgres', $of_server), qr/^autovacuum\|off$/m, 'and no autovacuum');

#
# Dump and restore
#

run_block('Dump');
builds('a restore', $indexes, sub { run_block('Restore') });
are_good('shop_restored', 'a restore');
my $rows = 'SELECT (SELECT sum(hashtext(o::text)::bigint) FROM orders o), (SELECT sum(hashtext(c::text)::bigint) FROM customers c)';
is($node->safe_psql('shop_restored', $rows), $node->safe_psql('shop', $rows), 'all rows are there');
$node->safe_psql('shop_restored', GpusortCluster::PAGES_FUNCTION);
my $pages = of_indexes('shop_restored', 'pages(c.oid)');
$node->safe_psql('postgres', 'DROP DATABASE shop_restored');
run_block('Restore', 'PGOPTIONS="$PGOPTIONS -c gpusort.enable=off"');
$node->safe_psql('shop_restored', GpusortCluster::PAGES_FUNCTION);
is($pages, of_indexes('shop_restored', 'pages(c.oid)'), 'the indexes are those of a restore without gpusort, page by page');

run_block('Putting the settings back');
is($node->safe_psql('postgres', $of_server), $before, 'ALTER SYSTEM has set what it had set before');
$node->poll_query_until('postgres', "SELECT current_setting('max_wal_size') = '1536MB'") or die 'not reloaded';
is($node->safe_psql('postgres', $current), $before_restore, 'and the server has its old settings');
like($node->safe_psql('postgres', $document->commands('Bytes a row in the builds so far')), qr/^[1-9]\d*\|\d+\|0$/, 'what a row takes');

#
# What a restore would gain
#

symlink("$FindBin::RealBin/../../scripts", "$directory/scripts");
$node->safe_psql('postgres', 'ALTER DATABASE shop RENAME TO other; CREATE DATABASE shop');
$node->safe_psql('shop', <<'SQL');
CREATE TABLE orders (id bigint CONSTRAINT orders_key PRIMARY KEY, name text, details jsonb, span int4range);
CREATE INDEX by_name ON orders (name);
CREATE INDEX by_details ON orders USING gin (details);
CREATE INDEX by_span ON orders USING gist (span);
INSERT INTO orders SELECT i FROM generate_series(1, 5000) i;
SQL
my $of_dump = 'Which index builds gain';
$document->is_shown($of_dump, run_block($of_dump, 'PGOPTIONS='), sub { return $_[0] =~ s/^ +| +$//gmr =~ s/\d+ %/N %/gr; });
like(run_block('The same with the rows counted'), qr/orders_key.*\| 5000 .*^A restore gains: gpusort takes over 3 of 4 .*[^:]\.$/ms, 'with its rows');
$node->safe_psql('postgres', 'DROP DATABASE shop; ALTER DATABASE other RENAME TO shop');

#
# Rebuilding
#

foreach my $name ('All indexes of a database, one table for each job', 'The same while the tables are in use', 'A table and its indexes, without dead rows, in the order of one index')
{
	my $files = of_indexes('shop', 'relfilenode');
	builds($name, $name =~ /^A table/ ? 6 : $indexes, sub { run_block($name) });
	my %before = map { split /\|(?=\d+$)/, $_, 2 } split /\n/, $files;
	my %now = map { split /\|(?=\d+$)/, $_, 2 } split /\n/, of_indexes('shop', 'relfilenode');
	my @same = grep { $before{$_} == $now{$_} } sort keys %before;
	is("@same", $name =~ /^A table/ ? 'customers_name_key customers_pkey customers_town' : '', "$name: all are new");
	are_good('shop', $name);
}

#
# After an upgrade of glibc or ICU
#

SKIP:
{
	my $find = 'Indexes in an order that may have changed';
	unlike(run_block($find), qr/orders/, 'no index is in an order that has changed');
	skip 'there is no locale en_US.UTF-8', 1 unless $locale;

	# a further index with a collation of its own, and versions that are not those of the library
	$node->safe_psql('shop', <<'SQL');
CREATE COLLATION "Own" (provider = libc, locale = 'en_US.UTF-8');
CREATE INDEX customers_own ON customers (name COLLATE "Own");
CREATE INDEX customers_brin ON customers USING brin (name COLLATE "Own");
SQL
	my $change = "UPDATE pg_collation SET collversion = '0' WHERE collname = 'Own'";
	$node->safe_psql('shop', $change);
	my @found = run_block($find) =~ /^ (\S.*\S) *$/mg;
	is_deeply([ map { s/ +/ /gr } grep { !/^(table|\(\d)/ } @found ], [ 'customers | customers_own | "Own"', 'customers | customers_brin | "Own"' ], 'those of a collation are found');

	$node->safe_psql('shop', "UPDATE pg_database SET datcollversion = '0' WHERE datname = 'shop'; $change");
	@found = map { s/ +/ /gr } grep { !/^(table|\(\d)/ } run_block($find) =~ /^ (\S.*\S) *$/mg;
	is_deeply([ sort @found ],
		[ sort 'customers | customers_own | "Own"', 'customers | customers_brin | "Own"', map { "orders | $_ | \"default\"" } 'orders_note', 'orders_tags', '"Orders, some"' ],
		'and those of the database, without those that sort by bytes');

	my $files = of_indexes('shop', 'relfilenode');
	builds('these indexes', 4, sub { run_block('Rebuilding these indexes') });
	my %before = map { split /\|(?=\d+$)/, $_, 2 } split /\n/, $files;
	my %now = map { split /\|(?=\d+$)/, $_, 2 } split /\n/, of_indexes('shop', 'relfilenode');
	is(join(' ', grep { $before{$_} != $now{$_} } sort keys %before), '"Orders, some" customers_own orders_note orders_tags', 'these are new, and no others');
	builds('their tables', $indexes + 1, sub { run_block('Rebuilding all indexes of their tables') });
	are_good('shop', 'after an upgrade');

	run_block('Noting the new versions');
	like(run_block($find), qr/\(0 rows\)/, 'then no index is left');
	is($node->safe_psql('shop', "SELECT count(*) FROM pg_collation WHERE collversion <> pg_collation_actual_version(oid)"), '0', 'nor a collation');
}

#
# pg_repack
#

SKIP:
{
	my $name = 'Repacking a table while it is in use';
	my $commands = $document->commands($name);
	skip 'pg_repack is not installed', 1 unless $node->safe_psql('shop', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'");
	my $files = of_indexes('shop', 'relfilenode');
	my $before = $node->counter('indexes_host') + $node->counter('indexes_device');
	run_block($name);
	cmp_ok($node->counter('indexes_host') + $node->counter('indexes_device') - $before, '>=', 6, 'gpusort has built the indexes');
	is($node->safe_psql('shop', 'SELECT count(*) FROM (SELECT placed < lag(placed) OVER (ORDER BY ctid) AS wrong FROM orders) o WHERE wrong'), '0', 'the rows are in order');
	are_good('shop', $name);
}

$document->all_taken;
$node->stop;
done_testing();
