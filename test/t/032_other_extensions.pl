# gpusort beside other people's extensions, loaded before it and after it. Each extension works, and
# so does gpusort. Extensions that are not installed for this PostgreSQL are skipped.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $shared = `$pg_config --sharedir`);
chomp(my $programs = `$pg_config --bindir`);

# Extensions whose library has hooks. pg_stat_kcache wants pg_stat_statements ahead of it.
my @libraries = grep { is_installed($_) } qw(pg_stat_statements pg_stat_kcache pg_qualstats hypopg pg_hint_plan);
my $gpusort = qr/Custom Scan \(GpuSort\)/;

sub is_installed
{
	return -e "$shared/extension/$_[0].control";
}

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
gpusort.min_rows = 0
work_mem = '64MB'
max_parallel_workers_per_gather = 0
pg_qualstats.sample_rate = 1
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION amcheck;
CREATE TABLE t AS SELECT i AS id, hashint4(i) AS k, md5(i::text) AS s FROM generate_series(1, 20000) i;
CREATE TABLE r (id int PRIMARY KEY, k int UNIQUE, s text);
INSERT INTO r SELECT id, k, s FROM t ORDER BY k;
CREATE INDEX ON r (s, id);
DELETE FROM r WHERE id % 10 = 0;
ANALYZE;
SQL

# A test: a query has the same rows with gpusort, by a GpuSort, and without.
sub sorts_the_same
{
	my ($what, $query) = @_;
	like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query"), $gpusort, "$what: gpusort sorts");
	is($node->safe_psql('postgres', $query), $node->safe_psql('postgres', "SET gpusort.enable = off; $query"), "$what: the same rows");
}

# How many sorts, or index builds, gpusort has done.
sub count_done
{
	my ($what) = @_;
	return $node->counter("${what}_host") + $node->counter("${what}_device");
}

# A test: a table has this many indexes, all of them are good, and gpusort has built them.
sub has_good_indexes
{
	my ($what, $table, $before, $count) = @_;
	# indexes of TOAST tables count, too
	cmp_ok(count_done('indexes') - $before, '>=', $count, "$what: gpusort has built them");
	is($node->safe_psql('postgres', "SELECT count(*), count(bt_index_parent_check(indexrelid, true)) FROM pg_index WHERE indrelid = '$table'::regclass"),
		"$count|$count", "$what: they are good");
}

sub test_hypopg
{
	my $hypothetical = "SELECT count(*) FROM hypopg_create_index('CREATE INDEX ON t (k)');";
	my $few = 'EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY k LIMIT 10;';
	like($node->safe_psql('postgres', "$hypothetical $few"), qr/Index Scan using "?<\d+>btree_t_k/, 'a hypothetical index is taken');
	like($node->safe_psql('postgres', "$hypothetical EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY s, k"), $gpusort, 'where it is of no use, gpusort sorts');
	my $before = count_done('indexes');
	$node->safe_psql('postgres', "$hypothetical CREATE TABLE h AS SELECT * FROM t; SELECT hypopg_create_index('CREATE INDEX ON h (s)'); CREATE INDEX ON h (k); CREATE INDEX ON h (s)");
	has_good_indexes('true indexes', 'h', $before, 2);
	$node->safe_psql('postgres', 'DROP TABLE h');
}

# A test: pg_qualstats collects the same of these queries with gpusort and without.
sub test_pg_qualstats
{
	my %collected;
	foreach my $enable ('off', 'on')
	{
		$node->safe_psql('postgres', 'SELECT pg_qualstats_reset()');
		$node->safe_psql('postgres', <<"SQL");
SET gpusort.enable = $enable;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM t a JOIN t b ON a.k = b.k WHERE b.id > 100;
SELECT count(*) FROM (SELECT id, row_number() OVER (ORDER BY k) n FROM t WHERE s > '8') w WHERE n < 5000 AND id % 2 = 0;
SELECT count(*) FROM (SELECT k COLLATE "C" AS k FROM (SELECT s AS k FROM t) i ORDER BY 1) x JOIN t ON t.s = x.k WHERE t.id < 10000;
SQL
		$collected{$enable} = $node->safe_psql('postgres',
			'SELECT lrelid::regclass, lattnum, opno::regoper, rrelid::regclass, rattnum, occurences, execution_count, nbfiltered, eval_type'
			  . ' FROM pg_qualstats() WHERE lrelid = \'t\'::regclass OR rrelid = \'t\'::regclass ORDER BY 1, 2, 3, 4, 5, 6, 7');
	}
	like($collected{on}, qr/^t\|2\|.*\|t\|2\|/m, 'it has the clause of a merge join');
	is($collected{on}, $collected{off}, 'and all others that it has without gpusort');
}

sub test_pg_stat_kcache
{
	my $query = 'SELECT k, s FROM t ORDER BY k, s';
	$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset(); SELECT pg_stat_kcache_reset()');
	sorts_the_same('while it counts', $query);
	is( $node->safe_psql('postgres',
			"SELECT calls, exec_user_time + exec_system_time > 0 FROM pg_stat_statements s JOIN pg_stat_kcache() k ON k.queryid = s.queryid AND k.userid = s.userid AND k.dbid = s.dbid AND k.top = s.toplevel WHERE s.query = '$query'"),
		'2|t', 'it has counted the sorts');
}

sub test_pg_hint_plan
{
	my ($gpusort_first) = @_;
	my $join = 'EXPLAIN (COSTS OFF) SELECT * FROM t a JOIN t b USING (id) ORDER BY a.k, id';
	foreach my $method (qw(MergeJoin HashJoin NestLoop))
	{
		my $node_name = $method =~ s/([a-z])J/$1 J/r =~ s/NestLoop/Nested Loop/r;
		like($node->safe_psql('postgres', "/*+ $method(a b) */ $join"), qr/$gpusort.*$node_name/s, "a hint for a $node_name is obeyed");
	}
	# if gpusort comes last, pg_hint_plan takes its settings back before gpusort gets the plan
	like($node->safe_psql('postgres', '/*+ Set(gpusort.enable off) */ EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY k'),
		qr/^Sort$/m, 'so is one about gpusort') if $gpusort_first;
}

sub test_pg_repack
{
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_repack');
	my $before = count_done('indexes');
	my $rows = $node->safe_psql('postgres', 'SELECT count(*), sum(hashtext(r::text)) FROM r');
	my $sorts = count_done('sorts');
	$node->command_ok([ "$programs/pg_repack", '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-t', 'r', '--order-by', 's' ], 'a table is repacked');
	cmp_ok(count_done('sorts'), '>', $sorts, 'gpusort has put its rows in order');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT s < lag(s) OVER (ORDER BY ctid) AS wrong FROM r) o WHERE wrong'), '0', 'which they have');
	is($node->safe_psql('postgres', 'SELECT count(*), sum(hashtext(r::text)) FROM r'), $rows, 'none is missing');
	has_good_indexes('its indexes', 'r', $before, 3);
}

sub test_pg_partman
{
	$node->safe_psql('postgres', <<'SQL');
DROP SCHEMA IF EXISTS partman CASCADE;
DROP TABLE IF EXISTS parts;
CREATE SCHEMA partman;
CREATE EXTENSION pg_partman SCHEMA partman;
SQL
	# from version 5 on there are only native partitions, and their kind is named
	my $type = $node->safe_psql('postgres', "SELECT CASE WHEN split_part(extversion, '.', 1)::int < 5 THEN 'native' ELSE 'range' END FROM pg_extension WHERE extname = 'pg_partman'");
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE parts (id int NOT NULL, k int, s text) PARTITION BY RANGE (id);
SELECT partman.create_parent('public.parts', 'id', p_type => '$type', p_interval => '1000', p_start_partition => '0', p_premake => 3);
INSERT INTO parts SELECT id, k, s FROM t;
CALL partman.partition_data_proc('public.parts');
CALL partman.run_maintenance_proc();
CREATE INDEX ON parts (k);
ANALYZE parts;
SQL
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM partman.show_partitions('public.parts')"), '>', 20, 'there are partitions');
	sorts_the_same('all of them', 'SELECT s, id FROM parts ORDER BY s');
	sorts_the_same('by a key of theirs', 'SELECT k, id, s FROM parts WHERE id > 500 ORDER BY id % 100, k');
	is($node->safe_psql('postgres', "SELECT count(*), count(bt_index_parent_check(c.oid, true)) FROM pg_class c JOIN pg_index ON indexrelid = c.oid WHERE c.relkind = 'i' AND indrelid IN (SELECT format('%I.%I', partition_schemaname, partition_tablename)::regclass FROM partman.show_partitions('public.parts'))"
		) =~ s/^(\d+)\|\1$/same/r, 'same', 'their indexes are good');
}

sub test_postgis
{
	$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION IF NOT EXISTS postgis;
DROP TABLE IF EXISTS places;
CREATE TABLE places AS SELECT id, ST_MakePoint(k % 180, id % 90) AS place FROM t;
CREATE INDEX ON places USING gist (place);
ANALYZE places;
SQL
	my $query = 'SELECT id, ST_AsText(place) FROM places ORDER BY place, id';
	like($node->safe_psql('postgres', "EXPLAIN (VERBOSE) $query"), qr/there are no keys for the type geometry/, 'places are sorted by PostgreSQL');
	is($node->safe_psql('postgres', $query), $node->safe_psql('postgres', "SET gpusort.enable = off; $query"), 'the same rows');
	sorts_the_same('by a number of theirs', 'SELECT id FROM places ORDER BY ST_X(place), place, id');
	my $near = 'SELECT id FROM places ORDER BY place <-> ST_MakePoint(1, 1) LIMIT 5';
	like($node->safe_psql('postgres', "EXPLAIN $near"), qr/Index Scan using places_place_idx/, 'a GiST index gives the nearest');
	is( $node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM places WHERE place && ST_MakeEnvelope(0, 0, 50, 50)'),
		$node->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM places WHERE place && ST_MakeEnvelope(0, 0, 50, 50)'),
		'and finds all');
}

my %tests = (
	hypopg => \&test_hypopg,
	pg_hint_plan => \&test_pg_hint_plan,
	pg_partman => \&test_pg_partman,
	pg_qualstats => \&test_pg_qualstats,
	pg_repack => \&test_pg_repack,
	pg_stat_kcache => \&test_pg_stat_kcache,
	postgis => \&test_postgis);

foreach my $libraries ([ @libraries, 'gpusort' ], [ 'gpusort', @libraries ])
{
	my $gpusort_first = $libraries->[0] eq 'gpusort';
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '" . join(', ', @$libraries) . "'");
	$node->restart;
	# some extensions want their library to be loaded first
	$node->safe_psql('postgres', "CREATE EXTENSION IF NOT EXISTS $_") foreach @libraries;
	foreach my $extension (sort keys %tests)
	{
		subtest "$extension, gpusort " . ($gpusort_first ? 'first' : 'last') => sub {
			plan skip_all => "$extension is not installed" unless is_installed($extension);
			$tests{$extension}->($gpusort_first);
		};
	}
}

unlike(slurp_file($node->logfile), qr/terminated by signal|TRAP/, 'no process has crashed');
$node->stop;
done_testing();
