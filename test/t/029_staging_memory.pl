# The staging memory of all sorts together has a limit. Beyond it backends sort by themselves.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

# sorts that wait for the innermost sort shall not count as idle in this test
$ENV{GPUSORTD_IDLE_MILLISECONDS} = '3600000';
my $library = GpusortCluster::library_with_test_gpusortd;
my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
shared_preload_libraries = '$library'
gpusort.staging_memory_limit = 60MB
gpusort.min_rows = 0
gpusort.device = cuda
max_stack_depth = 6MB
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE ROLE ordinary;
CREATE TABLE go_on (who text);
GRANT SELECT ON go_on TO ordinary;
-- sorts rows of which one is made by sorting others
CREATE FUNCTION nest(level int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF level = 0 THEN
		WHILE NOT EXISTS (SELECT FROM go_on) LOOP
			PERFORM pg_sleep(0.01);
		END LOOP;
		RETURN 0;
	END IF;
	RETURN (SELECT sum(k * n % 1000) FROM
			(SELECT k, row_number() OVER () n FROM
				(SELECT CASE WHEN i = 50 THEN nest(level - 1) ELSE hashint4(i) % 1000 END k
					FROM generate_series(1, 100) i OFFSET 0) s ORDER BY k) s);
END $$;
SQL
$node->wait_until_ready('gpusortd is ready');
my $daemon = $node->daemon_pid;

# MB of all rings that gpusortd has.
sub staging_megabytes
{
	my $bytes = 0;
	foreach my $descriptor (glob "/proc/$daemon/fd/*")
	{
		my $file = readlink($descriptor) // next;
		$bytes += (stat $descriptor)[12] * 512 if $file =~ /gpusort ring/;
	}
	return $bytes >> 20;
}

my $nested = $node->start_psql('nested', "SET client_min_messages = error;\nSET ROLE ordinary;\nSELECT nest(40);\n");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'nested' AND wait_event = 'PgSleep'")
  or die 'it is not stuck';
cmp_ok(staging_megabytes(), '<=', 60, 'sorts within sorts have no more staging memory than they may');
cmp_ok(status_of($daemon, 'Threads'), '<=', 4, 'and few threads');

my $sort = "SELECT count(*), md5(string_agg(k::text, ',')) FROM "
  . "(SELECT k FROM (SELECT hashint4(i) k FROM generate_series(1, 100000) i OFFSET 0) s ORDER BY k) s;";
my $expected = $node->safe_psql('postgres', "SET gpusort.enable = off; $sort");
my $full = $node->counter('device_full');
my (undef, $out, $err) = $node->psql('postgres', $sort);
is($out, $expected, 'where it is in use, others are right');
$err =~ s/^psql:\S+: //mg;
is($err, "WARNING:  gpusort: sorting without the device\nDETAIL:  all staging memory is in use by other sorts.", 'and say how they were done');
is($node->counter('device_full'), $full + 1, 'and are counted');

$node->safe_psql('postgres', "INSERT INTO go_on VALUES ('nested')");
$nested->{handle}->finish;
is($nested->{out},
	$node->safe_psql('postgres', 'SET gpusort.enable = off; SELECT nest(40)') . "\n", 'the nested sorts are right');
is($nested->{err}, '', 'without an error');
is($node->safe_psql('postgres', $sort), $expected, 'then there is room again');
is($node->counter('device_full'), $full + 1, 'for all of it');
is($node->counter('device_faults'), '0', 'and nothing was at fault');

# the limit can be changed
$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.staging_memory_limit = '16MB'");
$node->reload;
ok( $node->poll_query_until('postgres', "SELECT setting = '16' FROM pg_settings WHERE name = 'gpusort.staging_memory_limit'"),
	'the limit is reloaded');
my $restarted;
foreach (1 .. 1800)
{
	my $pid = $node->daemon_pid;
	$restarted = $pid != 0 && $pid != $daemon;
	last if $restarted;
	select(undef, undef, undef, 0.1);
}
ok($restarted, 'by a new gpusortd');
$node->wait_until_ready('which is ready');
is($node->safe_psql('postgres', $sort), $expected, 'and has one ring at least');

$node->stop;
done_testing();
