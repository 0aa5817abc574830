# The library, loaded by sessions rather than by the server. CREATE EXTENSION acts at once and says
# how to go on. gpusortd starts when a sort first needs it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "work_mem = '256MB'");
$node->start;

my $table = 'CREATE TABLE t AS SELECT hashint4(i) k FROM generate_series(1, 20000) i; ANALYZE t;';
my $plan = 'EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY k;';
my $digest = "SELECT md5(string_agg(k::text, ',')) FROM (SELECT k FROM t ORDER BY k OFFSET 0) s";

my ($status, $out, $err) = $node->psql('postgres', "$table CREATE EXTENSION gpusort; $plan");
like($out, qr/GpuSort/, 'CREATE EXTENSION acts in its session');
like($err, qr/NOTICE:  gpusort acts in this session/, 'and says that others have to load the library');
like($err, qr/HINT:  ALTER DATABASE postgres SET session_preload_libraries = 'gpusort';/, 'and how');
unlike($node->safe_psql('postgres', $plan), qr/GpuSort/, 'others do not act yet');

# what the hint says
my ($line) = $err =~ /HINT:  (.*;)/;
$node->safe_psql('postgres', $line);
like($node->safe_psql('postgres', $plan), qr/GpuSort/, 'with the line of the hint they do');
$node->safe_psql('postgres', 'DROP EXTENSION gpusort');
($status, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION gpusort');
is($err, '', 'where the library is loaded there is nothing to say');

# gpusortd starts at the first request, one for all databases
$node->append_conf('postgresql.conf', "gpusort.daemon_engine = host\nsession_preload_libraries = 'gpusort'");
$node->reload;
$node->safe_psql('postgres', "CREATE DATABASE other");
$node->safe_psql('other', "$table CREATE EXTENSION gpusort");
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $digest");
foreach my $database ('postgres', 'other')
{
	ok($node->poll_query_until($database, "SELECT count(*) = 1 FROM gpusort_devices WHERE state = 'ready'"),
		"gpusortd is ready for $database");
	is($node->safe_psql($database, "SET gpusort.device = cuda; $digest"), $native, "and sorts for $database");
}
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
my @children = grep { (eval { slurp_file("$_/status") } // '') =~ /^PPid:\s+$postmaster$/m } glob '/proc/[0-9]*';
is(scalar(grep { (eval { slurp_file("$_/cmdline") } // '') =~ /gpusort launcher/ } @children), 1, 'there is one launcher');
is($node->safe_psql('postgres', "SELECT value FROM gpusort_stats WHERE name = 'sorts_device'"), '2', 'both are counted');

# the extension's objects can be moved, and dropped while sorts run
$node->safe_psql('postgres', 'CREATE SCHEMA elsewhere; ALTER EXTENSION gpusort SET SCHEMA elsewhere');
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM elsewhere.gpusort_stats'), 't', 'the extension is relocatable');
is( $node->safe_psql('postgres', <<"SQL"), "$native", 'it can be dropped in the middle of a sort');
CREATE FUNCTION drop_it(k int) RETURNS int LANGUAGE plpgsql VOLATILE AS \$\$
BEGIN
	DROP EXTENSION IF EXISTS gpusort;
	RETURN k;
END \$\$;
SET client_min_messages = error;
SET gpusort.device = cuda;
SELECT md5(string_agg(k::text, ',')) FROM (SELECT drop_it(k) k FROM t ORDER BY t.k OFFSET 0) s;
SQL

# a cancelled sort leaves nothing behind
my $fds = "SELECT count(*) FROM pg_ls_dir('/proc/self/fd')";
my ($before, $after, $done) = split /\n/, $node->safe_psql('postgres', <<"SQL");
SET gpusort.device = cuda;
$digest \\g /dev/null
$fds;
DO \$\$
BEGIN
	FOR i IN 1 .. 100 LOOP
		BEGIN
			PERFORM k, 1 / (CASE WHEN k = (SELECT max(k) FROM t) THEN 0 ELSE 1 END) one FROM t ORDER BY one, k;
			RAISE 'there was no error';
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
END \$\$;
$fds;
$digest;
SQL
# files of tables may be opened, but not one for each sort
cmp_ok($after, '<', $before + 10, 'a hundred failed sorts leave no descriptors open');
is($done, $native, 'and gpusortd goes on');
($status, $out, $err) = $node->psql('postgres',
	"SET gpusort.device = cuda; SET statement_timeout = '300ms'; SELECT k, pg_sleep(0.001) FROM t ORDER BY k");
like($err, qr/statement timeout/, 'a sort can be cancelled');

# settings that are wrong
foreach my $wrong ("gpusort.device = 'tpu'", 'gpusort.min_rows = -1', 'gpusort.staging_memory_limit = 1MB')
{
	my ($name) = split / /, $wrong;
	my $before = -s $node->logfile;
	my $conf = slurp_file($node->data_dir . '/postgresql.conf');
	$node->append_conf('postgresql.conf', $wrong);
	$node->reload;
	is($node->safe_psql('postgres', "SET gpusort.device = host; $digest"), $native, "with $wrong sorts go on");
	open my $file, '>', $node->data_dir . '/postgresql.conf' or die;
	print $file $conf;
	close $file;
}
$node->stop;
done_testing();
