# Foreign tables whose server sorts strings in another order. If PostgreSQL gives the right rows by hashing, or raises an error,
# cheaper sorts do not lead it to a merge join by that order.
use strict;
use warnings;
use FindBin;
use Test::More;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

plan skip_all => 'a server without ICU' unless GpusortCluster::has_icu();
my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
gpusort.min_rows = 1000
max_parallel_workers_per_gather = 0
CONF
$node->start;

# the foreign server sorts by the collation of its own column, which is that database's: all of 'A' before all of 'a'
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION gpusort;
CREATE EXTENSION postgres_fdw;
CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', use_remote_estimate 'true');
CREATE USER MAPPING FOR public SERVER loop;
CREATE TABLE r AS SELECT ((CASE WHEN g % 2 = 0 THEN 'a' ELSE 'A' END) || (g * 31 % 5000)) COLLATE "C" k, g v FROM generate_series(1, 5000) g;
CREATE TABLE l AS SELECT ((CASE WHEN g % 3 = 0 THEN 'a' ELSE 'A' END) || (g * 17 % 5000)) COLLATE "en-x-icu" k, g x FROM generate_series(1, 5000) g;
CREATE TABLE m AS SELECT * FROM l;
CREATE FOREIGN TABLE f (k text COLLATE "en-x-icu", v int) SERVER loop OPTIONS (table_name 'r');
CREATE TABLE p (k text COLLATE "en-x-icu", v int);
CREATE FOREIGN TABLE p1 () INHERITS (p) SERVER loop OPTIONS (table_name 'r');
VACUUM ANALYZE r;
VACUUM ANALYZE l;
VACUUM ANALYZE m;
ANALYZE f;
ANALYZE p;
SQL

my %queries = (
	'anti join' => 'SELECT count(*) FROM l LEFT JOIN f ON l.k = f.k WHERE f.k IS NULL',
	'inner join' => 'SELECT count(*) FROM l JOIN f ON l.k = f.k',
	'left join' => 'SELECT count(f.k) FROM l LEFT JOIN f ON l.k = f.k',
	'semijoin' => 'SELECT count(*) FROM l WHERE EXISTS (SELECT 1 FROM f WHERE f.k = l.k)',
	'child table' => 'SELECT count(*) FROM l LEFT JOIN p ON l.k = p.k WHERE p.k IS NULL',
	'join above a join' => 'SELECT count(*) FROM l JOIN m ON l.k = m.k LEFT JOIN f ON l.k = f.k WHERE f.k IS NULL',
	'join of groups' => 'SELECT count(*) FROM (SELECT k, count(*) FROM l GROUP BY k) s LEFT JOIN f ON s.k = f.k WHERE f.k IS NULL',
	'join of different rows' => 'SELECT count(*) FROM (SELECT DISTINCT k FROM l) s LEFT JOIN f ON s.k = f.k WHERE f.k IS NULL',
	'join of a window' => 'SELECT sum(n) FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY x) n FROM l) s LEFT JOIN f ON s.k = f.k WHERE f.k IS NULL',
	'join of subqueries' => 'SELECT count(*) FROM (SELECT k FROM l OFFSET 0) s LEFT JOIN (SELECT k FROM f OFFSET 0) t ON s.k = t.k WHERE t.k IS NULL',
	'ORDER BY' => 'SELECT k FROM f ORDER BY k',
	'GROUP BY' => 'SELECT k, count(*) FROM f GROUP BY k ORDER BY k',
	'DISTINCT ON' => 'SELECT count(*) FROM (SELECT DISTINCT ON (k) k, v FROM f ORDER BY k, v) s',
);

# Returns the rows of a query, or its error.
sub result
{
	my ($settings, $query) = @_;
	my ($status, $rows, $error) = $node->psql('postgres', "$settings $query");
	return $status == 0 ? $rows : $error;
}

foreach my $choice ('', 'SET enable_hashjoin = off;', 'SET enable_hashjoin = off; SET enable_nestloop = off;', 'SET enable_sort = off;', 'SET enable_hashagg = off;')
{
	foreach my $name (sort keys %queries)
	{
		my $query = $queries{$name};
		is(result($choice, $query), result("SET gpusort.enable = off; $choice", $query), "$name, $choice");
	}
}

# gpusort sorts what is sorted here
my $plan = $node->safe_psql('postgres', 'SET enable_hashjoin = off; SET enable_nestloop = off; EXPLAIN (COSTS OFF) SELECT count(*) FROM l JOIN m ON l.k = m.k JOIN f ON l.x = f.v');
like($plan, qr/Custom Scan \(GpuSort\)/, 'sorts beside a foreign table are taken over');

done_testing();
