# Sorts while gpusortd has as many jobs as half the processors: those of few rows
# stay in their processes, those of many do not. Those of so few that a device never
# gains always stay.
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

# gpusortd beside a link to the library sorts on the host, and says that it has
# a GPU, without which gpusort.device = auto would not ask it.
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

# Where a sort is done.
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

# a session that is terminated has no job any more
my $ended = pop @waiting;
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '$ended->{name}'");
$ended->{handle}->finish;
like($ended->{err}, qr/terminating connection due to administrator command/, 'a session with a job is terminated');
check(FEW, 'device', 'after that');

# nor has a sort that gpusortd has sorted
my $reader = $node->background_psql('postgres');
$reader->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT hashint4(i) k FROM generate_series(1, @{[FEW]}) i ORDER BY k; FETCH 10 FROM c");
check(FEW, 'device', 'beside a cursor');
$reader->quit;

finish($_) foreach @waiting;
check(FEW, 'device', 'at the end');
is($node->counter('device_faults'), '0', 'and nothing was at fault');

$node->stop;
done_testing();
