# gpusort beside other extensions that have hooks in the planner, in the executor and in EXPLAIN, whichever is
# loaded first.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONFIGURATION');
shared_preload_libraries = 'pg_stat_statements, auto_explain, gpusort'
gpusort.min_rows = 0
work_mem = '64MB'
pg_stat_statements.track_planning = on
auto_explain.log_min_duration = 0
auto_explain.log_verbose = on
CONFIGURATION
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000;

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION pg_stat_statements;
CREATE TABLE t AS SELECT i k, to_tsvector('simple', i::text) words FROM generate_series(1, 1000) i;
ANALYZE t;
SQL

foreach my $order ('gpusort comes last', 'gpusort comes first')
{
	if ($order =~ /first/)
	{
		$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort, pg_stat_statements, auto_explain'");
		$node->restart;
	}
	$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
	my $log = -s $node->logfile;
	is($node->safe_psql('postgres', 'SELECT k FROM t ORDER BY k DESC, words LIMIT 1000'),
		join("\n", reverse 1 .. 1000), "$order: a sort");
	is( $node->safe_psql('postgres', "SELECT plans, calls, rows FROM pg_stat_statements WHERE query LIKE 'SELECT k FROM t%'"),
		'1|1|1000', "$order: pg_stat_statements has seen it");
	like(slurp_file($node->logfile, $log), qr/Custom Scan \(GpuSort\).*Sort Key: t\.k DESC, t\.words/s,
		"$order: auto_explain shows its plan");

	my $why_not = qr/Why Not GpuSort: .*tsvector/;
	$log = -s $node->logfile;
	like($node->safe_psql('postgres', 'EXPLAIN (VERBOSE, ANALYZE) SELECT k FROM t ORDER BY words'), $why_not, "$order: EXPLAIN knows why not");
	is( $node->safe_psql('postgres', "SELECT calls FROM pg_stat_statements WHERE query LIKE 'EXPLAIN%'"),
		'1', "$order: and pg_stat_statements of the EXPLAIN");
	like(slurp_file($node->logfile, $log), $why_not, "$order: so does auto_explain") if $version >= 18;
}

if ($version >= 18)
{
	like($node->safe_psql('postgres', "LOAD 'pg_overexplain'; EXPLAIN (DEBUG, VERBOSE) SELECT k FROM t ORDER BY words"),
		qr/Why Not GpuSort: .*tsvector\n(?: .*\n)*?  Parallel Safe: true\n/, 'pg_overexplain adds to the same node');
}

$node->stop;
done_testing();
