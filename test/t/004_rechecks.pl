# Rows that another transaction changes during a sort. A query that locks or changes these rows
# reads them once more, through the sort and the nodes around it. The result is the same as without
# gpusort.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'gpusort'
max_prepared_transactions = 1
gpusort.daemon_engine = host
gpusort.verify = on
gpusort.min_rows = 0
gpusort.enable_windows = on
work_mem = '64MB'
enable_hashjoin = off
enable_nestloop = off
enable_material = off
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->wait_until_ready('gpusortd is ready');

# The other transaction, which has made its changes and has yet to commit. Some of the rows that it
# changes move in the order, others leave the result.
my $other = <<'SQL';
DROP TABLE IF EXISTS numbers;
CREATE TABLE numbers AS SELECT i id, i * 7919 % 1009 k, i % 10 grp FROM generate_series(1, 1008) i;
ANALYZE numbers;
BEGIN;
UPDATE numbers SET k = 5000 - k WHERE k % 100 = 0;
UPDATE numbers SET grp = 10 WHERE k % 100 = 1;
DELETE FROM numbers WHERE k % 100 = 2;
PREPARE TRANSACTION 'other';
SQL

# Returns the result of a query that meets the other transaction on its way.
sub meet
{
	my ($query, $settings) = @_;
	my ($out, $err) = ('', '');
	$node->safe_psql('postgres', $other);
	my $session = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET application_name = 'meeter'", '-c', $settings, '-c', $query ],
		'>', \$out, '2>', \$err);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'meeter' AND wait_event_type = 'Lock'")
	  or die "never waits: $query";
	$node->safe_psql('postgres', "COMMIT PREPARED 'other'");
	$session->finish;
	return $out . $err;
}

my $windows = 'SELECT *, row_number() OVER w r, lag(k, 2, id) OVER w before, sum(k) OVER w FROM numbers WINDOW w AS (PARTITION BY grp ORDER BY k, id)';

foreach my $query (
	'SELECT * FROM numbers WHERE grp < 10 ORDER BY k FOR UPDATE',
	'SELECT a.*, b.id FROM numbers a JOIN numbers b ON a.k / 10 = b.k / 7 WHERE a.grp < 10 ORDER BY a.k, b.k FOR UPDATE OF a',
	'SELECT a.*, s.id FROM numbers a JOIN (SELECT * FROM numbers ORDER BY k OFFSET 3) s ON a.k = s.k + 1 WHERE a.grp < 10 ORDER BY a.k FOR SHARE OF a',
	'UPDATE numbers n SET grp = s.k FROM (SELECT id, k FROM numbers ORDER BY k OFFSET 3) s WHERE n.id = s.id AND n.grp < 10 RETURNING n.*, s.*',
	'DELETE FROM numbers n USING numbers m WHERE n.k = m.id AND n.grp < 10 RETURNING n.*, m.*',
	# windows: their rows are kept as they were, but those of a subquery in an expression are evaluated once more
	"SELECT a.*, s.* FROM numbers a JOIN ($windows) s ON a.id = s.id WHERE a.grp < 10 ORDER BY a.k FOR UPDATE OF a",
	"SELECT a.*, (SELECT array_agg(r - k) FROM ($windows) s WHERE s.grp + 0 = a.grp AND r < a.k % 10) FROM numbers a"
	  . " WHERE a.k > (SELECT min(s.k + r) FROM ($windows) s WHERE s.grp + 0 = a.grp) ORDER BY a.k FOR UPDATE",
	"UPDATE numbers n SET k = s.r, grp = s.before FROM ($windows) s WHERE n.id = s.id AND n.grp < 10 RETURNING n.*, s.*",
	"UPDATE numbers n SET k = (SELECT max(r) FROM ($windows) s WHERE s.grp + 0 = n.grp AND s.k <= n.k) WHERE n.grp < 10 RETURNING n.*",
	"DELETE FROM numbers n USING ($windows) s WHERE n.id = s.id AND n.grp < 10 AND s.r < 2 * n.k RETURNING n.*, s.*")
{
	my $native = meet($query, 'SET gpusort.enable = off');
	cmp_ok(() = $native =~ /\n/g, '>', 900, "natively there is a result: $query");
	my $sort = $query =~ / OVER / ? 'GpuSortWindow' : 'GpuSort';
	like($node->safe_psql('postgres', "EXPLAIN $query"), qr/\($sort\)/, "there is a $sort in its plan");
	ok(meet($query, "SET gpusort.device = $_") eq $native, "which makes no difference ($_)") foreach ('host', 'cuda');
}

$node->stop;
done_testing();
