# Shards, by the commands of docs/scale-out.md: a table is divided among two servers, each with its own gpusort, and a
# third server sees it as one table through postgres_fdw. The shards sort, the answers are the same as without gpusort,
# and a shard that loses its gpusortd goes on.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use DocumentCommands;
use GpusortCluster;

my $coordinator = GpusortCluster->new('coordinator');
my @shards = map { GpusortCluster->new($_) } qw(shard1 shard2);
foreach my $node ($coordinator, @shards)
{
	$node->init;
	# auto_explain shows the plans of cursors
	$node->configure(<<'CONF');
gpusort.min_rows = 0
session_preload_libraries = 'auto_explain'
auto_explain.log_min_duration = 0
autovacuum = off
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE DATABASE shop');
}
# The coordinator does not sort what it sends to shards; the device of the shards is the host engine.
$_->safe_psql('postgres', "ALTER DATABASE shop SET gpusort.device = 'cuda'") foreach @shards;
$_->wait_until_ready('gpusortd is ready on ' . $_->name) foreach @shards;

my $document = DocumentCommands->new(
	'docs/scale-out.md',
	qr/\bhost 'shard(\d)'/ => sub { sprintf "host '%s', port '%d'", $shards[ $_[0] - 1 ]->host, $shards[ $_[0] - 1 ]->port },
	qr/'host=shard(\d)'/ => sub { sprintf "'host=%s port=%d'", $shards[ $_[0] - 1 ]->host, $shards[ $_[0] - 1 ]->port });

sub on_coordinator { return $coordinator->safe_psql('shop', $document->commands("On the coordinator: $_[0]")); }
sub on_each_shard { $_->safe_psql('shop', $document->commands($_[0])) foreach @shards; }

# A test: a plan on the coordinator is the one that the document shows.
sub shows_plan { $document->is_shown("On the coordinator: $_[0]", on_coordinator($_[0])); }

# How many sorts, or index builds, a shard has done.
sub count_done
{
	my ($shard, $what) = @_;
	return $shard->counter("${what}_host") + $shard->counter("${what}_device");
}

on_each_shard('On each shard');
on_coordinator($_) foreach 'the shards', 'the table';
$coordinator->safe_psql('shop', <<'SQL');
INSERT INTO orders
SELECT i, abs(hashint4(i)) % 500, timestamptz '2026-01-01 UTC' + make_interval(secs => abs(hashint4(i + 1)) % 1000000), hashint4(i + 2) % 100000 / 100.0,
	CASE i % 2 WHEN 0 THEN 'Town ' ELSE 'TOWN ' END || abs(hashint4(i + 3)) % 100, md5(i::text)
FROM generate_series(1, 30000) i;
SQL
$_->safe_psql('shop', 'ANALYZE') foreach @shards;
on_coordinator('statistics');
cmp_ok($_->safe_psql('shop', 'SELECT count(*) FROM orders'), '>', 10000, $_->name . ' has its part of the rows') foreach @shards;

#
# Orders of all rows
#

my @orders = ('placed, id', 'amount DESC, id', 'town, id', 'note DESC', 'customer, placed, id');

# One value for all rows in their order.
sub digest
{
	my ($order) = @_;
	return "SELECT count(*), md5(string_agg(o::text, ' ')) FROM (SELECT * FROM orders ORDER BY $order) o";
}

# The answers without gpusort on any of the servers.
sub without_gpusort
{
	my (@queries) = @_;
	$_->safe_psql('postgres', 'ALTER DATABASE shop SET gpusort.enable = off') foreach $coordinator, @shards;
	my %answers = map { ($_ => $coordinator->safe_psql('shop', $_)) } @queries;
	$_->safe_psql('postgres', 'ALTER DATABASE shop RESET gpusort.enable') foreach $coordinator, @shards;
	return %answers;
}

# A test: with these settings a query has the same answer as without gpusort, and each shard has sorted by a GpuSort in
# the plan of its cursor, and has counted it.
sub shards_sort
{
	my ($what, $settings, $query, $answer) = @_;
	my @logs = map { -s $_->logfile } @shards;
	my @before = map { count_done($_, 'sorts') } @shards;
	is($coordinator->safe_psql('shop', "$settings $query"), $answer, "$what: the same answer");
	foreach my $i (0 .. $#shards)
	{
		my $name = $shards[$i]->name;
		like(slurp_file($shards[$i]->logfile, $logs[$i]), qr/DECLARE c\d+ CURSOR.*\n(?:\t.*\n)*\t.*Custom Scan \(GpuSort(Window)?\)/,
			"$what: a GpuSort on $name");
		cmp_ok(count_done($shards[$i], 'sorts'), '>', $before[$i], "$what: and it is counted there");
	}
}

my $merge = qr/Merge Append\n(?: .*\n)*?.*Remote SQL: .* ORDER BY .*\n(?: .*\n)*?.*Remote SQL: .* ORDER BY /;
shows_plan('a sort of all shards');
$document->is_shown('On a shard: the plan of what it is sent', $shards[0]->safe_psql('shop', $document->commands('On a shard: the plan of what it is sent')));

my %native = without_gpusort(map { digest($_) } @orders);
my $merged = 'SET gpusort.enable = off;';
foreach my $order (@orders)
{
	like($coordinator->safe_psql('shop', "$merged EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM orders ORDER BY $order"), $merge, "$order: merged");
	shards_sort($order, $merged, digest($order), $native{ digest($order) });
}

# With gpusort on the coordinator too, and its costs.
like($coordinator->safe_psql('shop', 'EXPLAIN (COSTS OFF) SELECT * FROM orders ORDER BY placed'),
	qr/Custom Scan \(GpuSort\)\n.*Sort Key.*\n.*Append\n.*Async Foreign Scan.*\n.*Async Foreign Scan/, 'the coordinator sorts what is fetched from all at the same time');
is($coordinator->safe_psql('shop', digest($_)), $native{ digest($_) }, "$_: the same answer") foreach @orders;
like($coordinator->safe_psql('shop', 'EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM orders ORDER BY placed LIMIT 10'), $merge, 'with a LIMIT it merges');

# Ranges of the order; they need no merge.
$coordinator->safe_psql('shop', <<'SQL');
CREATE TABLE ranges (LIKE orders) PARTITION BY RANGE (placed);
CREATE FOREIGN TABLE ranges_1 PARTITION OF ranges FOR VALUES FROM (MINVALUE) TO ('2026-01-06 UTC') SERVER shard1 OPTIONS (table_name 'orders_before');
CREATE FOREIGN TABLE ranges_2 PARTITION OF ranges FOR VALUES FROM ('2026-01-06 UTC') TO (MAXVALUE) SERVER shard2 OPTIONS (table_name 'orders_since');
SQL
my @ranges = ([ 'orders_before', '<' ], [ 'orders_since', '>=' ]);
$shards[$_]->safe_psql('shop',
	"CREATE VIEW $ranges[$_][0] AS SELECT * FROM orders WHERE placed $ranges[$_][1] '2026-01-06 UTC'; GRANT SELECT ON $ranges[$_][0] TO coordinator") foreach 0, 1;
like($coordinator->safe_psql('shop', 'EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM ranges ORDER BY placed'),
	qr/\AAppend\n(?: .*\n)*?.*Remote SQL: .* ORDER BY .*\n(?: .*\n)*?.*Remote SQL: .* ORDER BY /, 'shards that have ranges are read in turn');
shards_sort('ranges', '', 'SELECT count(*) > 10000, count(*) FILTER (WHERE wrong) FROM (SELECT placed < lag(placed) OVER () AS wrong FROM (SELECT * FROM ranges ORDER BY placed OFFSET 0) r) o', 't|0');

# Expressions that postgres_fdw does not take for the same on both sides.
unlike($coordinator->safe_psql('shop', "$merged EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM orders ORDER BY note COLLATE \"POSIX\""),
	qr/Remote SQL: .* ORDER BY/, 'another collation is sorted on the coordinator');
$coordinator->safe_psql('shop', 'ALTER SERVER shard1 OPTIONS (DROP extensions); ALTER SERVER shard2 OPTIONS (DROP extensions)');
unlike($coordinator->safe_psql('shop', "$merged EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM orders ORDER BY town"),
	qr/Remote SQL: .* ORDER BY/, 'so is a type of an extension that is not named');
$coordinator->safe_psql('shop', "ALTER SERVER shard1 OPTIONS (ADD extensions 'citext'); ALTER SERVER shard2 OPTIONS (ADD extensions 'citext')");

# A cursor is planned for all rows, not for the first ones. An index in another order than the table's would have the
# first rows sooner.
$_->safe_psql('shop', 'CREATE INDEX orders_amount ON orders (amount)') foreach @shards;
my $by_amount = 'SELECT count(o::text) FROM (SELECT * FROM orders ORDER BY amount OFFSET 0) o';
my ($options) = $document->commands('On the coordinator: the shards') =~ /options ('-c .*')/;
$coordinator->safe_psql('shop', "ALTER SERVER $_ OPTIONS (SET options '-c max_parallel_workers_per_gather=0')") foreach qw(shard1 shard2);
my $log = -s $shards[0]->logfile;
$coordinator->safe_psql('shop', "$merged $by_amount");
like(slurp_file($shards[0]->logfile, $log), qr/DECLARE c\d+ CURSOR.*\n(?:\t.*\n)*\t.*Index (?:Only )?Scan using orders_amount/, 'without a setting an index is taken for the first rows');
$coordinator->safe_psql('shop', "ALTER SERVER $_ OPTIONS (SET options $options)") foreach qw(shard1 shard2);
shards_sort('beside an index', $merged, $by_amount, '30000');
$_->safe_psql('shop', 'DROP INDEX orders_amount') foreach @shards;

#
# Evaluated on the shards
#

my $groups = "SELECT count(*), md5(string_agg(a::text, ' ' ORDER BY customer)) FROM (SELECT customer, array_agg(id ORDER BY placed, id) a FROM orders GROUP BY customer) g";
shows_plan('groups');
on_each_shard('On each shard: the last orders of each customer');
on_coordinator('the last orders of each customer');
my $windows = "SELECT count(*), sum(hashtext(w::text)::bigint) FROM last_orders w";
%native = (%native, without_gpusort($groups, $windows));
is($coordinator->safe_psql('shop', "SET enable_partitionwise_aggregate = on; $groups"), $native{$groups}, 'their answer is the same');
shards_sort('windows', '', $windows, $native{$windows});
is($native{$windows},
	$coordinator->safe_psql('shop',
		'SELECT count(*), sum(hashtext(w::text)::bigint) FROM (SELECT * FROM (SELECT customer, row_number() OVER (PARTITION BY customer ORDER BY placed DESC, id) AS place, id, placed FROM orders) o WHERE place <= 3) w'),
	'the windows of all shards are those of the whole table');

#
# On every shard, without the coordinator
#

foreach my $block ('An index on every shard', 'A result on every shard')
{
	my $what = $block =~ /index/ ? 'indexes' : 'sorts';
	my @before = map { count_done($_, $what) } @shards;
	command_ok([ 'bash', '-c', $document->commands($block) ], $block);
	cmp_ok(count_done($shards[$_], $what), '>', $before[$_], "$block: by gpusort on " . $shards[$_]->name) foreach 0 .. $#shards;
}
foreach my $shard (@shards)
{
	is($shard->safe_psql('shop', "CREATE EXTENSION amcheck; SELECT bt_index_parent_check('orders_placed', true)"), '', 'the index is good on ' . $shard->name);
	is($shard->safe_psql('shop', 'SELECT count(*) FROM (SELECT note < lag(note) OVER (ORDER BY ctid) AS wrong FROM orders_by_note) o WHERE wrong'), '0', 'and the result is in order');
}

#
# A shard loses its gpusortd
#

my $counters = on_coordinator('the counters of all shards');
like($counters, qr/^$_\|sorts_device\|[1-9]/m, "the counters of $_") foreach qw(shard1 shard2);
is($coordinator->safe_psql('shop', "SELECT sum(value) FROM shard_stats WHERE name = 'device_faults'"), '0', 'no gpusortd was lost so far');

# a shard that waits at a row in the middle of its table
my $middle = $shards[0]->safe_psql('shop', 'SELECT id FROM orders OFFSET 8000 LIMIT 1');
# the shard waits for a file; it would not see rows that others insert, as postgres_fdw's transactions are repeatable
$shards[0]->safe_psql('shop', <<"SQL");
CREATE FUNCTION wait_at(id bigint, place bigint) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS \$\$
BEGIN
	WHILE id = place AND (pg_stat_file('go_on', true)).size IS NULL LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN true;
END \$\$;
CREATE VIEW late AS SELECT * FROM orders WHERE wait_at(id, $middle);
GRANT SELECT ON late TO coordinator;
SQL
$coordinator->safe_psql('shop', <<'SQL');
CREATE FOREIGN TABLE late (id bigint, customer int, placed timestamptz, amount numeric(14,2), town citext, note text COLLATE "C")
	SERVER shard1 OPTIONS (table_name 'late', use_remote_estimate 'false');
SQL
my $late = digest('placed, id') =~ s/FROM orders/FROM (SELECT * FROM late UNION ALL SELECT * FROM orders_2) u/r;
my $session = $coordinator->start_psql('late', "\\connect shop\n$merged $late;\n");
ok( $shards[0]->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = 'coordinator' AND wait_event = 'PgSleep'"),
	'a shard is in the middle of its scan');
kill 'KILL', $shards[0]->daemon_pid || die 'there is no gpusortd';
append_to_file($shards[0]->data_dir . '/go_on', "\n");
$session->{handle}->finish;
is($session->{err} . $session->{out}, $native{ digest('placed, id') } . "\n", 'it loses its gpusortd, and the answer is the same');
is($coordinator->safe_psql('shop', "SELECT shard, value FROM shard_stats WHERE name = 'device_faults' ORDER BY 1"), "shard1|1\nshard2|0", 'which is counted');

foreach my $shard (@shards)
{
	kill 'KILL', $shard->daemon_pid || next;
	is($coordinator->safe_psql('shop', "$merged " . digest('note DESC')), $native{ digest('note DESC') }, 'after the gpusortd of ' . $shard->name . ' is killed');
}
$_->wait_until_ready('gpusortd is back on ' . $_->name) foreach @shards;

unlike(slurp_file($_->logfile), qr/TRAP|gpusort: (?:rows are out|the order is not)/, 'no fault on ' . $_->name) foreach $coordinator, @shards;
$document->all_taken(qr{Citus});
$_->stop foreach $coordinator, @shards;
done_testing();
