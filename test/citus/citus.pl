# Citus: a coordinator and two workers, each with gpusort, by the commands of docs/scale-out.md. The workers sort, build indexes and
# evaluate windows with gpusort, the coordinator sorts what they send, and the answers are those without gpusort. Run by scripts/citus.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use DocumentCommands;
use GpusortCluster;

my ($coordinator, @workers) = my @nodes = map { GpusortCluster->new($_) } qw(coordinator worker1 worker2);
foreach my $node (@nodes)
{
	$node->init;
	$node->configure(<<'CONF');
shared_preload_libraries = 'citus, gpusort'
gpusort.min_rows = 1000
gpusort.device = host
citus.shard_count = 8
citus.node_conninfo = 'sslmode=prefer'
max_prepared_transactions = 50
autovacuum = off
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE DATABASE shop');
}

my $document = DocumentCommands->new(
	'docs/scale-out.md',
	qr/'worker(\d)', 5432/ => sub { sprintf "'%s', %d", $workers[ $_[0] - 1 ]->host, $workers[ $_[0] - 1 ]->port },
	qr/'coordinator', 5432/ => sub { sprintf "'%s', %d", $coordinator->host, $coordinator->port });

sub on_coordinator { return $coordinator->safe_psql('shop', $document->commands("On the coordinator of Citus: $_[0]")); }

# A test: a plan on the coordinator is the one that the document shows.
sub shows_plan { $document->is_shown("On the coordinator of Citus: $_[0]", on_coordinator($_[0]) =~ s/host=\S+ port=\d+/host=worker1 port=5432/r); }

# How many sorts, or index builds, each server has done.
sub count_done
{
	my ($what) = @_;
	return map { $_->counter("${what}_host") + $_->counter("${what}_device") } @nodes;
}

# Tests: what a command makes of these counts on each worker, and on the coordinator.
sub check_done
{
	my ($name, $what, $of_workers, $of_coordinator, $command) = @_;
	my @before = count_done($what);
	my $result = $command->();
	my @done = count_done($what);
	$_ -= shift @before foreach @done;
	is(shift @done, $of_coordinator, "$name: $what of the coordinator");
	cmp_ok($_, '>=', $of_workers, "$name: $what of a worker") foreach @done;
	return $result;
}

$_->safe_psql('shop', $document->commands('On each server of Citus')) foreach @nodes;
on_coordinator('the workers');
on_coordinator('the table');
$coordinator->safe_psql('shop', <<'SQL');
INSERT INTO orders
SELECT i, abs(hashint4(i)) % 500, timestamptz '2026-01-01 UTC' + make_interval(secs => abs(hashint4(i + 1)) % 1000000), hashint4(i + 2) % 100000 / 100.0, md5(i::text)
FROM generate_series(1, 80000) i;
ANALYZE orders;
SQL

my %queries = (
	'windows' => 'SELECT id, row_number() OVER (PARTITION BY customer ORDER BY placed, id) FROM orders ORDER BY id',
	'an order' => 'SELECT * FROM orders ORDER BY note, id',
	'the first rows' => 'SELECT * FROM orders ORDER BY note, id LIMIT 5000',
	'groups' => 'SELECT customer, array_agg(id ORDER BY placed, id) FROM orders GROUP BY customer ORDER BY customer');

# The answers with gpusort on all servers, or on none.
sub answers
{
	my ($enable) = @_;
	$_->safe_psql('postgres', "ALTER DATABASE shop SET gpusort.enable = $enable") foreach @nodes;
	my %answers = map { ($_ => $coordinator->safe_psql('shop', $queries{$_})) } sort keys %queries;
	return \%answers;
}

my $expected = answers('off');
is_deeply(answers('on'), $expected, 'the answers are those without gpusort');

check_done('windows', 'sorts', 4, 0, sub { on_coordinator('windows') });
check_done('an order', 'sorts', 0, 1, sub { $coordinator->safe_psql('shop', $queries{'an order'}) });
check_done('groups', 'sorts', 4, 0, sub { $coordinator->safe_psql('shop', 'SELECT customer, array_agg(id ORDER BY placed, id) FROM orders GROUP BY customer') });
shows_plan('a plan of windows');
shows_plan('a plan of an order');

my $by_time = "SELECT count(*) FROM orders WHERE placed < '2026-01-01 01:00 UTC'";
my $found = $coordinator->safe_psql('shop', $by_time);
check_done('an index', 'indexes', 4, 0, sub { on_coordinator('an index') });
like($coordinator->safe_psql('shop', "EXPLAIN $by_time"), qr/orders_placed/, 'which is used');
is($coordinator->safe_psql('shop', $by_time), $found, 'and has all rows');

$document->all_taken(qr{^(?!.*Citus)});
$_->stop foreach @nodes;
done_testing();
