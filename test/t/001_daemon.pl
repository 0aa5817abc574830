# The life of gpusortd, and what its death does to sorts. gpusortd comes and goes with the server,
# and comes back when it is killed. A query only takes longer then.
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
work_mem = '256MB'
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');

my $sort = 'SELECT k FROM (SELECT hashint4(i) k FROM generate_series(1, 300000) i OFFSET 0) s ORDER BY k';
my $digest = "SELECT count(*), md5(string_agg(k::text, ',')) FROM ($sort) s";
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");

my $pkglibdir = `pg_config --pkglibdir`;
chomp $pkglibdir;
unlike(slurp_file("$pkglibdir/gpusortd"), qr/GPUSORTD_/, 'what is installed takes nothing from its environment that is for tests');

$node->wait_until_ready('gpusortd starts with the server');
isnt($node->daemon_pid, 0, 'it works in the data directory');
is((stat($node->data_dir . '/pg_stat_tmp/gpusortd.sock'))[2] & 0777, 0600, "its socket is the server's own");
is($node->safe_psql('postgres', "SET gpusort.device = cuda; $digest"), $native, 'it sorts');
is($node->counter('sorts_device'), '1', 'and that is counted');
is( $node->safe_psql('postgres', "SET gpusort.device = cuda; SELECT count(*) FROM ($sort) s")
	  . $node->safe_psql('postgres', "SELECT count(*) FROM gpusort_devices WHERE name = 'gpusortd (host)'"),
	'3000001', 'and again');

# killed while nothing sorts
my $first = $node->daemon_pid;
kill 'KILL', $first;
$node->wait_until_ready('gpusortd is back after it was killed');
isnt($node->daemon_pid, $first, 'as another process');
is($node->safe_psql('postgres', "SET gpusort.device = cuda; $digest"), $native, 'and sorts again');

# killed in the middle of a sort, while the keys are coming
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION kill_gpusortd_at(i int, pid int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF i = 200000 THEN
		EXECUTE format('COPY (SELECT 1) TO PROGRAM ''cat > /dev/null; kill -9 %s''', pid);
	END IF;
	RETURN hashint4(i);
END $$;
SQL
my $pid = $node->daemon_pid;
my ($status, $out, $err) = $node->psql('postgres', <<"SQL");
SET gpusort.device = cuda;
SELECT count(*), md5(string_agg(k::text, ','))
FROM (SELECT k FROM (SELECT kill_gpusortd_at(i, $pid) k FROM generate_series(1, 300000) i OFFSET 0) s ORDER BY k) s;
SQL
is($out, $native, 'a sort whose gpusortd is killed is done all the same');
like($err, qr/sorting without the device/, 'and says so');
is($node->counter('device_faults'), '1', 'once');
$node->wait_until_ready('and gpusortd is back');

# many sessions at once
my @results;
my @handles;
foreach my $i (1 .. 20)
{
	my ($stdout, $stderr) = ('', '');
	push @results, \$stdout;
	push @handles,
	  IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SET gpusort.device = cuda', '-c', $digest ],
		'>', \$stdout, '2>', \$stderr);
}
$_->finish foreach @handles;
is(scalar(grep { $$_ eq "$native\n" } @results), 20, 'twenty sessions sort at once');

# a backend has not loaded CUDA
my $maps = $node->safe_psql('postgres',
	"SET gpusort.device = cuda; SELECT count(*) FROM ($sort) s; SELECT count(*) FROM regexp_split_to_table(pg_read_file('/proc/self/maps', 0, 1000000), E'\\n') l WHERE l LIKE '%libcuda%'");
is($maps, "300000\n0", 'a backend never maps libcuda');

# a change of the settings with which gpusortd is started
my $before = $node->daemon_pid;
$node->append_conf('postgresql.conf', "gpusort.staging_memory_limit = '512MB'");
$node->reload;
ok( $node->poll_query_until('postgres',
		"SELECT setting = '512' FROM pg_settings WHERE name = 'gpusort.staging_memory_limit'"), 'the setting is reloaded');
my $changed = 0;
for (1 .. 300)
{
	my $now = $node->daemon_pid;
	$changed = 1, last if $now != 0 && $now != $before;
	select(undef, undef, undef, 0.1);
}
ok($changed, 'gpusortd is started anew with other settings');
$node->wait_until_ready('and is ready again');

# gpusortd ends with the server, however the server ends
$pid = $node->daemon_pid;
$node->stop('immediate');
my $gone = 0;
for (1 .. 300)
{
	$gone = 1, last if !-d "/proc/$pid";
	select(undef, undef, undef, 0.1);
}
ok($gone, 'gpusortd ends with the server');

# what sorts lack though gpusortd is ready
my $state = 'SELECT state, reason FROM gpusort_devices';
$node->append_conf('postgresql.conf', "min_dynamic_shared_memory = 8MB\nhuge_pages = try");
$node->start;
$node->wait_until_ready('gpusortd is ready with memory set aside');
my $has_huge_pages = $node->safe_psql('postgres', "SELECT current_setting('huge_pages_status', true) = 'on'") eq 't';
my $lack = 'the memory that min_dynamic_shared_memory sets aside is not known to be on huge pages, see vm.nr_hugepages and huge_pages';
is($node->safe_psql('postgres', "SET work_mem = '1MB'; $state"), $has_huge_pages ? 'ready|' : "ready|$lack", 'which may lack huge pages');
$node->append_conf('postgresql.conf', 'huge_pages = off');
$node->restart;
$node->wait_until_ready('gpusortd is ready without huge pages');
is($node->safe_psql('postgres', "SET work_mem = '1MB'; $state"), 'ready|', 'as is intended then');
is($node->safe_psql('postgres', "SET work_mem = '2047GB'; SET max_parallel_workers_per_gather = 2; $state"),
	'ready|/dev/shm has less room than the 6288384 MB that a sort with parallel workers may take', '/dev/shm is too small');
is($node->safe_psql('postgres', "SET work_mem = '2047GB'; SET max_parallel_workers_per_gather = 0; $state"), 'ready|', 'where it is needed');
$node->stop;

# without a GPU there is one line in the log
$node->append_conf('postgresql.conf', "gpusort.daemon_engine = auto");
$node->start;
SKIP:
{
	skip 'there is a GPU', 3 if -e '/dev/nvidiactl';
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gpusort_devices WHERE state = 'unusable'"),
		'without a GPU gpusortd says so');
	is($node->safe_psql('postgres', $digest), $native, 'and sorts are done by the backends');
	my @lines = slurp_file($node->logfile) =~ /no usable device/g;
	is(scalar(@lines), 1, 'with one line in the log');
}
$node->stop;
done_testing();
