# A gpusortd that cannot be believed: it sends wrong orders, or no orders at all, changes an order
# after it has been sent, or passes memory that is not there. Then only the order of an ORDER BY may
# be wrong; no other answer and no index is. The program is that of test/gpusortd.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

plan skip_all => 'a server without ICU' unless GpusortCluster::has_icu();

my $library = GpusortCluster::library_with_test_gpusortd;
my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
shared_preload_libraries = '$library'
gpusort.verify = off
gpusort.min_rows = 0
gpusort.device = cuda
gpusort.work_mem = '64MB'
maintenance_work_mem = '64MB'
max_parallel_maintenance_workers = 0
max_parallel_workers_per_gather = 0
max_worker_processes = 16
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', GpusortCluster::PAGES_FUNCTION);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION amcheck;

CREATE TABLE rows (id int, k bigint, few int, t text COLLATE "C", icu text COLLATE "en-x-icu", n numeric, u uuid, f float8, long text COLLATE "C", icu_long text COLLATE "en-x-icu")
	WITH (parallel_workers = 2);
INSERT INTO rows SELECT i, hashint8extended(i, 1), i % 7, md5(i::text), md5(i::text), i * 7919 % 10007 / 7.0, md5(i::text)::uuid, hashint8extended(i, 2) / 7.0::float8,
	repeat('long ', 30) || hashint4(i) % 5000, repeat('long ', 30) || hashint4(i) % 5000
FROM generate_series(1, 8000) i;
SQL
$node->wait_until_ready('gpusortd is ready');

sub have_it
{
	my ($what) = @_;
	my $file = $node->data_dir . '/wrong';
	unlink $file;
	append_to_file($file, "$what\n") if $what ne '';
}

my $sort = 'SELECT count(*), count(DISTINCT id), md5(string_agg(k::text, \',\')) FROM (SELECT k, id FROM rows ORDER BY k OFFSET 0) s;';
my $wrong = qr/WARNING:  gpusort: sorting without the device\nDETAIL:  gpusortd sent an order/;

sub psql
{
	my ($script) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	$err =~ s/^psql:\S+: //mg;
	return ($out, $err);
}

my ($native, $err) = psql("SET gpusort.enable = off; $sort");
my %sorts = ('in memory' => '', 'through files' => "SET gpusort.work_mem = '256kB';");

# Sorts.
foreach my $way (sort keys %sorts)
{
	my ($out, $err) = psql("$sorts{$way} $sort");
	is("$out$err", $native, "a sort $way, with nothing wrong");
	foreach my $lie ('repeat', 'impossible', 'first tie', 'ties')
	{
		my $faults = $node->counter('device_faults');
		have_it($lie);
		($out, $err) = psql("$sorts{$way} $sort");
		have_it('');
		is($out, $native, "a sort $way is right ($lie)");
		like($err, $wrong, 'with a warning');
		cmp_ok($node->counter('device_faults'), '>', $faults, 'and it is counted');
	}

	# only gpusort.verify finds two neighbours that have changed places, but all rows are there
	have_it('swap');
	($out, $err) = psql("$sorts{$way} $sort");
	like($out, qr/^8000\|8000\|/, "a sort $way has all rows (swap)");
	isnt($out, $native, 'in another order');
	($out, $err) = psql("SET gpusort.verify = on; $sorts{$way} $sort");
	like($err, qr/ERROR:  gpusort: rows are out of order/, 'which gpusort.verify sees');
	have_it('');
}

# The sums by which an order is checked can be deceived, as here on purpose; gpusort.verify looks at each row.
have_it('cancelled');
my ($deceived, $deceived_err) = psql($sort);
like("$deceived$deceived_err", qr/^8000\|\d+\|\w+$/, 'a sort goes on with an order whose errors cancel out');
isnt($deceived, $native, 'in which rows have taken the places of others');
($deceived, $deceived_err) = psql("SET gpusort.verify = on; $sort");
like($deceived_err, qr/ERROR:  gpusort: the order is not a permutation of the rows/, 'which gpusort.verify sees');
have_it('');

# What comes of wrong marks of equal rows, and of wrong neighbours of which some are left out, is wrong; gpusort.verify finds both.
$node->safe_psql('postgres', 'CREATE TABLE grouped WITH (parallel_workers = 2) AS SELECT id, k, few FROM rows; ANALYZE grouped');
my %consumers = (
	'count(DISTINCT)' => 'SELECT count(DISTINCT k) FROM grouped;',
	'DISTINCT' => 'SELECT count(*) FROM (SELECT DISTINCT k, few FROM grouped) s;',
	'groups' => 'SELECT count(*), sum(l) FROM (SELECT k, few, length(json_agg(id)::text) l FROM grouped GROUP BY k, few) s;',
	'first rows of groups' => 'SELECT sum(id) FROM (SELECT DISTINCT ON (few) id FROM grouped ORDER BY few, id) s;');
my %processes = (
	'in one process' => '',
	'with workers' => 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; SET gpusort.get_shared_row_cost = 0;');
my $unhashed = 'SET enable_hashagg = off; SET cpu_tuple_cost = 0.1; SET gpusort.verify = on;';
foreach my $consumer (sort keys %consumers)
{
	my ($lie, $error) = $consumer eq 'first rows of groups' ? ('swap', 'rows are out of order') : ('ties', 'equal rows are marked wrongly');
	my ($expected) = psql("SET gpusort.enable = off; $consumers{$consumer}");
	foreach my $processes (sort keys %processes)
	{
		my $script = "$unhashed $processes{$processes} $consumers{$consumer}";
		my ($out, $err) = psql($script);
		is("$out$err", $expected, "$consumer $processes, with nothing wrong");
		have_it($lie);
		($out, $err) = psql($script);
		have_it('');
		like("$out$err", qr/ERROR:  gpusort: $error/, "and with wrong orders ($lie)");
	}
}
my ($plan) = psql("$unhashed $processes{'with workers'} EXPLAIN (COSTS OFF) $consumers{groups}");
like($plan, qr/Parallel Custom Scan \(GpuSortGroupAggregate\)/, 'groups are emitted by all processes');

# Index builds.
my %builds = (
	'in memory' => '',
	'through files' => "SET gpusort.work_mem = '256kB';",
	'with workers' => 'SET max_parallel_maintenance_workers = 2;',
	'with workers that write files' => "SET max_parallel_maintenance_workers = 2; SET gpusort.work_mem = '128kB';");
my @columns = ('k', 'k DESC', 'few, k', 'few', 't', 'few, t DESC', 'icu', 'few, icu', 'n, id', 'u', 'f', 'few DESC, f DESC');
# keys that do not tell all rows apart
my @tied_columns = ('long', 'icu_long', 'few, long DESC', 'few, icu_long');

sub build_all
{
	my ($settings, @more_columns) = @_;
	my $result = '';
	foreach my $definition ((map { "INDEX built ON rows ($_)" } @more_columns, @columns), 'UNIQUE INDEX built ON rows (k)', 'UNIQUE INDEX built ON rows (t)')
	{
		my ($out, $err) = psql("$settings CREATE $definition; SELECT pages('built'); SELECT bt_index_parent_check('built', true, true); DROP INDEX built;");
		$result .= "$definition: $out\n";
		$result .= "$err\n" if $err =~ /ERROR/;
	}
	return $result;
}

# Other tests build indexes of all kinds with a right gpusortd.
my $pages = build_all('SET gpusort.enable = off;');
my $all_pages = build_all('SET gpusort.enable = off;', @tied_columns);
unlike($all_pages, qr/ERROR/, 'PostgreSQL builds all indexes');
foreach my $way (sort keys %builds)
{
	foreach my $lie ('repeat', 'cancelled', 'swap')
	{
		my ($faults, $on_device) = ($node->counter('device_faults'), $node->counter('indexes_device'));
		have_it($lie);
		is(build_all($builds{$way}), $pages, "indexes built $way are right ($lie)");
		have_it('');
		cmp_ok($node->counter('device_faults'), '>=', $faults + @columns + 2, 'each wrong order is counted');
		is($node->counter('indexes_device'), $on_device, 'and none of them was used');
	}

	# for some builds it makes no difference which keys are said to be equal
	foreach my $lie ('ties', 'swap')
	{
		have_it($lie);
		is(build_all($builds{$way}, @tied_columns), $all_pages, "indexes with truncated keys, too ($lie)");
		have_it('');
	}
}
is(build_all($builds{'with workers'}), $pages, 'with nothing wrong any more indexes are right');
my ($out);
have_it('swap');
($out, $err) = psql('CREATE INDEX CONCURRENTLY built ON rows (k); SELECT bt_index_parent_check(\'built\', true, true);');
like($err, $wrong, 'a concurrent build notices');
($out, $err) = psql('REINDEX INDEX CONCURRENTLY built; SELECT bt_index_parent_check(\'built\', true, true);');
like($err, $wrong, 'so does one that takes the place of another');
($out, $err) = psql('INSERT INTO rows SELECT * FROM rows WHERE id = 17; CREATE UNIQUE INDEX ON rows (k); DELETE FROM rows WHERE ctid = (SELECT max(ctid) FROM rows WHERE id = 17);');
like($err, qr/ERROR:  could not create unique index/, 'duplicates are found');
have_it('');
$node->safe_psql('postgres', 'DROP INDEX built; VACUUM rows');

# An order that changes after it has been sent.
have_it('change');
my $right = 0;
for (1 .. 10)
{
	($out, $err) = psql($sort);
	$right++ if $out eq $native;
	# in a build that goes through files the order only says which run is next
	($out, $err) = psql("SET gpusort.work_mem = '256kB'; CREATE INDEX built ON rows (k); SELECT bt_index_parent_check('built', true, true); DROP INDEX built;");
	$right++ if $err !~ /ERROR/;
}
is($right, 20, 'an order that changes while it is read does no harm');
have_it('');

# Staging memory that is not there, or that may be taken away.
foreach my $lie ('short', 'unsealed')
{
	have_it($lie);
	$node->restart;
	$node->wait_until_ready("gpusortd runs ($lie)");
	($out, $err) = psql($sort);
	is($out, $native, 'a sort does without');
	like($err, qr/WARNING:  gpusort: sorting without the device\nDETAIL:  gpusortd sent staging memory that may be too short/,
		'and says why');
}
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process of the server has crashed');
$node->stop;
done_testing();
