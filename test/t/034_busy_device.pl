# Sorts while gpusortd has a job for every second processor. Sorts of few rows stay in their
# processes, and sorts of many rows do not. Sorts that are too small for a device to gain always
# stay.
use strict;
use warnings;
use Cwd qw(abs_path);
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

use constant { TOO_FEW => 100000, FEW => 200000, MANY => 1200000 };

my $pkglibdir = `pg_config --pkglibdir`;
my $processors = `getconf _NPROCESSORS_ONLN`;
chomp($pkglibdir, $processors);
my $most_jobs = $processors < 4 ? 1 : int($processors / 2);

# The gpusortd beside a link to the library sorts on the host, but says that it has a GPU, since
# gpusort.device = auto asks no other.
my $directory = abs_path(PostgreSQL::Test::Utils::tempdir);
my $library = GpusortCluster::link_library($directory);
append_to_file("$directory/gpusortd",
	"#!/bin/bash\nexec '$pkglibdir/gpusortd' \"\$@\" > >(exec sed --unbuffered 's/^ready .*/ready cuda of no kind/')\n");
chmod(0755, "$directory/gpusortd") or die "chmod: $!";

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<"CONF");
shared_preload_libraries = '$library'
gpusort.min_rows = 0
gpusort.device = auto
work_mem = '1GB'
max_parallel_workers_per_gather = 0
max_connections = @{[ $most_jobs + 20 ]}
CONF
$node->start;
$node->safe_psql('postgres', GpusortCluster::WAIT_FUNCTION . 'CREATE EXTENSION gpusort');
$node->wait_until_ready('gpusortd is ready');

sub sort_of
{
	my ($rows, $key) = @_;
	return "SELECT count(*), md5(string_agg(k::text, ',')) FROM "
	  . "(SELECT k FROM (SELECT $key k FROM generate_series(1, $rows) i OFFSET 0) s ORDER BY k) s;\n";
}

my %expected = map { $_ => $node->safe_psql('postgres', 'SET gpusort.enable = off; ' . sort_of($_, 'hashint4(i)')) } TOO_FEW, FEW, MANY;

# Checks where a sort is done.
sub check
{
	my ($rows, $where, $what) = @_;
	my $before = $node->counter("sorts_$where");
	is($node->safe_psql('postgres', sort_of($rows, 'hashint4(i)')), $expected{$rows}, "$what, $rows rows are sorted");
	is($node->counter("sorts_$where"), $before + 1, "by the $where");
}

# A sort that has a job and waits for a row.
sub start_waiting
{
	my ($who) = @_;
	my $place = FEW - 10;
	my $session = $node->start_psql($who, sort_of(FEW, "CASE WHEN i = $place THEN wait_at(i, $place, '$who') ELSE hashint4(i) END"));
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = '$who' AND wait_event = 'PgSleep'")
	  or die "$who does not wait";
	return $session;
}

sub finish
{
	my ($session) = @_;
	$node->safe_psql('postgres', "INSERT INTO go_on VALUES ('$session->{name}')");
	$session->{handle}->finish;
	is("$session->{out}$session->{err}", "$expected{+FEW}\n", "the sort of the $session->{name} is right");
}

check(FEW, 'device', 'while it has nothing to do');
check(TOO_FEW, 'host', 'while it has nothing to do');
my @waiting = map { start_waiting("sort $_") } 1 .. $most_jobs - 1;
check(FEW, 'device', 'with one less');
push @waiting, start_waiting('last sort');
check(FEW, 'host', 'with as many jobs');
check(MANY, 'device', 'with as many jobs');

# a session that is terminated has no job any more,
my $ended = pop @waiting;
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '$ended->{name}'");
$ended->{handle}->finish;
like($ended->{err}, qr/terminating connection due to administrator command/, 'a session with a job is terminated');
check(FEW, 'device', 'after that');

# nor has a session whose sorts gpusortd has done, or that has given them up, however long the
# session is idle,
my $rows = "SELECT hashint4(i) k FROM generate_series(1, @{[FEW]}) i ORDER BY k";
my $failing = "SELECT CASE WHEN i = @{[FEW - 10]} THEN 1 / (i - i) ELSE hashint4(i) END k FROM generate_series(1, @{[FEW]}) i ORDER BY k";
$node->safe_psql('postgres', "CREATE TABLE t WITH (parallel_workers = 2) AS SELECT hashint4(i) k FROM generate_series(1, @{[MANY]}) i; VACUUM ANALYZE t");
my %sorting = (
	'a cursor' => "BEGIN; DECLARE c CURSOR FOR $rows; FETCH 10 FROM c",
	'a cursor that is held' => "BEGIN; DECLARE c CURSOR WITH HOLD FOR $rows; COMMIT; FETCH 10 FROM c",
	'a cursor that scrolls' => "BEGIN; DECLARE c SCROLL CURSOR FOR $rows; MOVE LAST FROM c; FETCH BACKWARD 10 FROM c",
	'a cursor on runs' => "SET gpusort.work_mem = '4MB'; BEGIN; DECLARE c CURSOR FOR SELECT k, -k FROM t ORDER BY k; FETCH 10 FROM c",
	'a cursor that scrolls on runs' =>
	  "SET gpusort.work_mem = '4MB'; BEGIN; DECLARE c SCROLL CURSOR FOR SELECT k, -k FROM t ORDER BY k; MOVE 1000 FROM c; FETCH BACKWARD 10 FROM c",
	'a cursor on two sorts' => "SET enable_hashjoin = off; SET enable_nestloop = off; BEGIN;"
	  . "DECLARE c CURSOR FOR SELECT a.k FROM ($rows) a JOIN (SELECT k FROM t LIMIT @{[FEW]}) b USING (k); FETCH 10 FROM c",
	'a cursor on workers' => "SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
	  . 'BEGIN; DECLARE c CURSOR FOR SELECT k, -k FROM t ORDER BY k; FETCH 10 FROM c',
	'a transaction with an index build' => 'BEGIN; CREATE INDEX ON t (k)');
my %giving_up = (
	'a transaction that has failed' => "BEGIN; $failing",
	'a transaction with a sort that has failed' => "BEGIN; SAVEPOINT s; $failing; ROLLBACK TO s",
	'an exception that is handled' => "BEGIN; DO \$\$ BEGIN PERFORM count(*) FROM ($failing) s; EXCEPTION WHEN division_by_zero THEN NULL; END \$\$",
	'a transaction with an index build that has failed' => 'BEGIN; CREATE INDEX ON t ((CASE WHEN k = hashint4(1100000) THEN 1 / (k - k) ELSE k END))');
my @idle;
foreach my $what (sort keys %sorting, sort keys %giving_up)
{
	my $sorts = $node->safe_psql('postgres', 'SELECT sum(sorts) FROM gpusort_devices');
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query($sorting{$what} // $giving_up{$what});
	ok($node->safe_psql('postgres', "SELECT sum(sorts) > $sorts FROM gpusort_devices"), "$what has been served by gpusortd") if $sorting{$what};
	check(FEW, 'device', "beside $what");
	push @idle, $session;
}

# nor has a query that emits sorted rows
my $emitting = $node->start_psql('emitting', "DO \$\$ DECLARE r record; BEGIN FOR r IN $rows LOOP PERFORM wait_at(1, 1, 'emitting'); EXIT; END LOOP; END \$\$");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'emitting' AND wait_event = 'PgSleep'")
  or die 'it does not wait';
check(FEW, 'device', 'beside a query that waits at its first row');
$node->safe_psql('postgres', "INSERT INTO go_on VALUES ('emitting')");
$emitting->{handle}->finish;
$_->quit foreach @idle;

finish($_) foreach @waiting;
check(FEW, 'device', 'at the end');
is($node->counter('device_faults'), '0', 'and nothing was at fault');

$node->stop;
done_testing();
