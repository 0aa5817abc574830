# Plans with nodes of other extensions: of the module in test/foreign_nodes, loaded before gpusort and after
# it, and of postgres_fdw. Below these nodes a Sort stays PostgreSQL's own, and none of their paths is lost.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my $build = abs_path(PostgreSQL::Test::Utils::tempdir);
system_or_bail('make', '-s', '-C', $build, '-f', "$FindBin::RealBin/../foreign_nodes/Makefile", "PG_CONFIG=$pg_config");

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
gpusort.min_rows = 0
max_parallel_workers_per_gather = 0
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
-- of a partitioned table core would make all paths anew
CREATE TABLE p (k int, t text);
CREATE TABLE p1 () INHERITS (p);
CREATE TABLE p2 () INHERITS (p);
INSERT INTO p1 SELECT i * 7 % 3001, md5(i::text) FROM generate_series(0, 1000) i;
INSERT INTO p2 SELECT i * 7 % 3001, md5(i::text) FROM generate_series(1001, 3000) i;
-- so that an ordered path of the whole has a Sort for one of the tables
CREATE INDEX ON p1 (t);
CREATE TABLE g AS SELECT i % 1000 AS k, hashint4(i) AS v FROM generate_series(1, 5000) i;
ANALYZE;
SQL

# Everything else costs a hundred times as much, so gpusort's paths are the cheapest.
my %costs = (seq_page => 100, random_page => 400, cpu_tuple => 1, cpu_index_tuple => 0.5, cpu_operator => 0.25,
	'gpusort.key_word' => 0, 'gpusort.host_sort_row' => 0);
my $cheap = join '', map { "SET ${_}_cost = $costs{$_};" } sort keys %costs;
my $sort = qr/^ *(?:->  )?Sort(?:  \(.*\))?$/m;
my $gpusort = qr/Custom Scan \(GpuSort\)/;
my $foreign = qr/Custom Scan \(ForeignNode\)/;

# The plan of a query under these settings, if its rows are those of gpusort.enable = off.
sub plan_of
{
	my ($what, $settings, $query) = @_;
	my ($native, $plan, $rows) = split /^--\n/m,
	  $node->safe_psql('postgres', "$settings SET gpusort.enable = off; $query;\n\\echo --\nSET gpusort.enable = on;\nEXPLAIN (VERBOSE, COSTS OFF) $query;\n\\echo --\n$query;");
	chomp($native);
	is($rows, $native, "$what: the same rows");
	return $plan;
}

foreach my $libraries ("$build/foreign_nodes, gpusort", "gpusort, $build/foreign_nodes")
{
	my $order = $libraries =~ /^gpusort/ ? 'gpusort first' : 'gpusort last';
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	$node->restart;

	my $plan = plan_of("$order, above parents", "SET foreign_nodes.above = parents; SET gpusort.enable_costs = off;", 'SELECT t, k FROM p ORDER BY t');
	like($plan, $foreign, 'the node is there');
	like($plan, $sort, 'with a Sort below it');
	unlike($plan, $gpusort, 'that has stayed one');
	like($plan, qr/Why Not GpuSort: .*a node of another extension above it may look at it/, 'EXPLAIN says why');
	cmp_ok($node->counter('refused_foreign'), '>', 0, 'and it is counted');

	$plan = plan_of("$order, a sort above it", 'SET foreign_nodes.above = parents; SET gpusort.enable_costs = off;', 'SELECT k, t FROM p ORDER BY k, t');
	like($plan, qr/$gpusort.*$foreign/s, 'is taken over');

	$plan = plan_of("$order, a node that bears it", 'SET foreign_nodes.above = parents; SET foreign_nodes.bear = on; SET gpusort.enable_costs = off;', 'SELECT t, k FROM p ORDER BY t');
	like($plan, qr/Custom Scan \(ChunkDispatch\).*$gpusort/s, 'has a GpuSort below it');

	$plan = plan_of("$order, the cheapest sort", "$cheap SET foreign_nodes.above = parents;", 'SELECT t, k FROM p ORDER BY t');
	like($plan, $foreign, 'is one of what the node emits');

	foreach my $query ('SELECT k, count(*), sum(v) FROM g GROUP BY k ORDER BY k', 'SELECT k FROM g GROUP BY k ORDER BY k', 'SELECT DISTINCT k, count(*) FROM g GROUP BY k ORDER BY k, count')
	{
		$plan = plan_of("$order, above groups, $query", "$cheap SET gpusort.hash_row_cost = 1000; SET foreign_nodes.above = groups;", $query);
		like($plan, $foreign, 'the node is there');
		unlike($plan, qr/$foreign.*$gpusort/s, 'and no GpuSort below it');
	}

	$plan = plan_of("$order, above all", "$cheap SET foreign_nodes.above = ordered;", 'SELECT a.k, a.v FROM g a JOIN g b USING (k) WHERE b.v % 8 = 0 ORDER BY a.v, k');
	like($plan, qr/$foreign.*$sort/s, 'the node is there, and a Sort');
	unlike($plan, $gpusort, 'and no GpuSort');

	$plan = plan_of("$order, a subquery's plan", "$cheap SET foreign_nodes.above = groups;",
		'WITH c AS MATERIALIZED (SELECT v, k FROM g ORDER BY v LIMIT 4000) SELECT k, count(*), (SELECT max(c.v - g.k) FROM c) FROM g GROUP BY k ORDER BY k');
	like($plan, qr/CTE c\n.*$gpusort/s, 'is nobody else\'s');
}

# A ForeignScan has a join below it, for rows that were changed meanwhile.
my $port = $node->port;
my $host = $node->host;
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', fdw_tuple_cost '1000');
CREATE USER MAPPING FOR CURRENT_USER SERVER here;
CREATE FOREIGN TABLE f1 (k int, v int) SERVER here OPTIONS (table_name 'g');
CREATE FOREIGN TABLE f2 (k int, v int) SERVER here OPTIONS (table_name 'g');
ANALYZE f1, f2;
-- not known to the other server
CREATE FUNCTION same(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN \$1; END';
SQL
my $plan = plan_of('a foreign join', 'SET enable_hashjoin = off; SET enable_nestloop = off; SET gpusort.enable_costs = off;', 'SELECT f1.k, f2.v FROM f1 JOIN f2 USING (v) ORDER BY same(f1.k), f2.v FOR UPDATE OF f1');
like($plan, qr/$gpusort.*Foreign Scan\n.*Merge Join.*$sort/s, 'has Sorts below it');
unlike($plan, qr/Foreign Scan.*$gpusort/s, 'that stay what they are');

unlike(slurp_file($node->logfile), qr/terminated by signal|TRAP/, 'no process has crashed');
$node->stop;
done_testing();
