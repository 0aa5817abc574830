# Rows of a single process in shared memory that the server has set aside in huge pages. The rows
# are there, the result is right even if that memory is too small, and none of it is kept, however a
# sort ends.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

# Shared memory of the server in all.
use constant NEEDED_KB => 180 * 1024;

my %memory = slurp_file('/proc/meminfo') =~ /^(\w+):\s+(\d+)/mg;
plan skip_all => 'there are not enough huge pages (vm.nr_hugepages)'
  if ($memory{HugePages_Free} // 0) * ($memory{Hugepagesize} // 0) < NEEDED_KB;

my $node = GpusortCluster->new('main');
$node->init;
# segments that are files in the data directory can be counted
$node->configure(<<'CONF');
shared_buffers = 16MB
max_connections = 20
work_mem = 1GB
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
maintenance_work_mem = 1GB
dynamic_shared_memory_type = mmap
huge_pages = on
min_dynamic_shared_memory = 80MB
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
-- what this process has of its own, in megabytes
CREATE FUNCTION own_memory() RETURNS int LANGUAGE sql AS $$
	SELECT substring(pg_read_file('/proc/self/status') from 'RssAnon:\s+(\d+)')::int / 1024
$$;
-- 57 MB of rows
CREATE TABLE t AS SELECT i id, hashint4(i) k, repeat(md5(i::text), 14) txt FROM generate_series(1, 120000) i;
VACUUM ANALYZE t;
SQL

my $digest = "SELECT count(*), md5(string_agg(id || txt, ',' ORDER BY n)) FROM (SELECT *, row_number() OVER () n FROM (SELECT * FROM t ORDER BY k, id) s) s;";
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");
my $measured = 'BEGIN; DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k, id; MOVE 10 FROM c; SELECT own_memory(); COMMIT;';

my $idle_segments = $node->segments;

# Sorts once more, in a session that has run a script before, which may fail.
sub check_memory
{
	my ($script, $operator, $megabytes, $what) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "$script; $measured", on_error_stop => 0);
	my ($own) = $out =~ /(\d+)\z/;
	cmp_ok($own, $operator, $megabytes, "$what: memory of the process");
	is($node->segments, $idle_segments, "$what: there are no other segments");
	return $err;
}

check_memory('', '<', 30, 'all rows are in the memory set aside');
is($node->safe_psql('postgres', $digest), $native, 'the result is right');

# If one of these kept its memory, the next would have none.
is(check_memory($measured x 5, '<', 30, 'after other sorts'), '', 'they succeed');
like(check_memory('BEGIN; DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k, id; MOVE 10 FROM c; SELECT 1 / 0; ROLLBACK', '<', 30, 'after an error'),
	qr/division by zero/, 'it is an error');
like(check_memory("SET statement_timeout = '1s'; SELECT count(pg_sleep(0.1)) FROM (SELECT * FROM t ORDER BY k, id) s; RESET statement_timeout",
		'<', 30, 'after a cancelled query'),
	qr/statement timeout/, 'it is cancelled');

# The memory is held by another session.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN');
$holder->query_safe('DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k, id');
$holder->query_safe('MOVE 10 FROM c');
check_memory('', '>', 40, 'while another session has most of it');
is($node->safe_psql('postgres', $digest), $native, 'the result is right, then too');

$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
eval { $holder->quit };
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"), 'that session is terminated');
check_memory('', '<', 30, 'after its end');

# An index is built of rows in the same memory.
is(check_memory('CREATE EXTENSION amcheck; CREATE INDEX built ON t (txt, k)', '<', 30, 'after an index was built'), '', 'it is built');
is($node->safe_psql('postgres', "SELECT bt_index_check('built', true)"), '', 'it is right');

foreach my $less ('16MB', '0')
{
	$node->append_conf('postgresql.conf', "min_dynamic_shared_memory = $less");
	$node->restart;
	$idle_segments = $node->segments;
	check_memory('', '>', 40, "with $less set aside");
	is($node->safe_psql('postgres', $digest), $native, 'the result is right');
}

$node->append_conf('postgresql.conf', "min_dynamic_shared_memory = 80MB\nhuge_pages = off");
$node->restart;
$idle_segments = $node->segments;
check_memory('', '>', 50, 'with small pages');

$node->stop;
done_testing();
