# A Limit above a parallel sort that is scanned again, as in a LATERAL or a subplan, with a bound that grows, shrinks or is NULL. Core tells
# workers only the bound of the first scan, so without gpusort rows are missing when the bound grows. A parallel GpuSort emits all rows.
# Queries are drawn at random: their bounds, tables and orders, how many workers are planned and come, which of the processes is late, and
# how much memory there is. Each result is compared with the result of a single process. For more queries, and others:
#
#	RESCANS_QUERIES=5000 RESCANS_SEED=2 scripts/test-one 18 t/047
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $queries = $ENV{RESCANS_QUERIES} // 120;
my $seed = $ENV{RESCANS_SEED} // 1;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.get_shared_row_cost = 0
max_worker_processes = 16
max_parallel_workers = 12
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
enable_incremental_sort = off
jit = off
autovacuum = off
client_min_messages = error
my.leader = ''
my.late = ''
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
-- what keeps the leader, or workers, from their first row for a while, or workers from some of their rows
CREATE FUNCTION late(place text) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
	whose text := CASE WHEN current_setting('my.leader') = pg_backend_pid()::text THEN ' of leader' ELSE ' of workers' END;
BEGIN
	IF current_setting('my.late') = place || whose THEN
		PERFORM pg_sleep(CASE place WHEN 'start' THEN 0.001 * (pg_backend_pid() % 3 * 5 + 2) ELSE 0.002 END);
	END IF;
	RETURN true;
END $$;
CREATE TABLE plain WITH (parallel_workers = 4) AS
SELECT i id, CASE WHEN i % 11 > 0 THEN md5((i % 1700)::text) END COLLATE "C" txt, i % 13 few FROM generate_series(1, 4000) i;
CREATE TABLE family (LIKE plain) WITH (parallel_workers = 4);
CREATE TABLE child_1 () INHERITS (family) WITH (parallel_workers = 4);
CREATE TABLE child_2 () INHERITS (family) WITH (parallel_workers = 4);
CREATE TABLE child_3 () INHERITS (family) WITH (parallel_workers = 4);
INSERT INTO child_1 SELECT * FROM plain WHERE id % 3 = 0;
INSERT INTO child_2 SELECT * FROM plain WHERE id % 3 = 1;
INSERT INTO child_3 SELECT * FROM plain WHERE id % 3 = 2;
VACUUM ANALYZE;
SQL

my $leads = "SELECT FROM set_config('my.leader', pg_backend_pid()::text, false);";
my $single = "SET max_parallel_workers_per_gather = 0; SET gpusort.enable = off; SET enable_memoize = off; SET my.late = '';";
my $sorts_together = qr/Gather Merge\s+Workers Planned: \d+\s+->  Parallel Custom Scan \(GpuSort\)/;

#
# What was found
#

my @bounds = map { "(VALUES $_) v(n, k)" } '(1, 5), (2, 3000)', '(1, 5), (2, 700), (3, NULL), (4, 2), (5, 4000)';
my %memory = (
	'rows in memory' => "SET work_mem = '4MB';",
	'rows that workers keep' => "SET work_mem = '64kB';",
	'each for itself' => "SET work_mem = '4MB'; SET parallel_leader_participation = off;");
foreach my $name (sort keys %memory)
{
	foreach my $bounds (@bounds)
	{
		my $query = "SELECT n, (SELECT count(*) || ' ' || md5(string_agg(q::text, ' ')) FROM "
		  . "(SELECT * FROM plain WHERE late('start') ORDER BY txt, id LIMIT k) q) FROM $bounds;\n";
		my $settings = "$leads $memory{$name} SET gpusort.min_rows = 0; SET max_parallel_workers_per_gather = 2; SET my.late = 'start of leader';";
		like($node->safe_psql('postgres', "$settings EXPLAIN (COSTS OFF) $query"), $sorts_together, "$name: the plan");
		is($node->safe_psql('postgres', "$settings $query"), $node->safe_psql('postgres', "$single $query"), "$name: a bound that grows");
	}
}

# Limits above a Gather, on nodes that core would not have below a Gather.
my $window = "SELECT row_number() OVER (PARTITION BY txt ORDER BY id) x FROM plain WHERE late('start')";
my @groups = (
	[ 'a window', 'GpuSortWindow', $window ],
	[ 'a window in a WindowAgg', 'GpuSortGroups', $window, 'SET gpusort.enable_windows = off;' ],
	[ 'windows that look ahead', 'GpuSortWindow', "SELECT lead(id, 1, 0) OVER w + sum(few) OVER w x FROM plain WHERE late('start') WINDOW w AS (PARTITION BY txt ORDER BY id)" ],
	[ 'an aggregate that sorts', 'GpuSort(?:Groups|Aggregate)', "SELECT count(DISTINCT few) x FROM plain WHERE late('start') GROUP BY txt" ],
	[ 'sums', 'GpuSortGroupAggregate', "SELECT sum(few) x FROM plain WHERE late('start') GROUP BY txt", 'SET enable_hashagg = off;' ],
	[ 'different rows', 'GpuSortUnique', "SELECT DISTINCT txt x FROM plain WHERE late('start') AND txt IS NOT NULL", 'SET enable_hashagg = off;' ],
	[ 'percentiles', 'GpuSortAggregate', "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY id) x FROM plain WHERE late('start') GROUP BY txt" ]);
foreach (@groups)
{
	my ($name, $sort, $rows, $change) = @$_;
	my $query = "SELECT n, (SELECT count(x) FROM (SELECT x FROM ($rows) g LIMIT k) q) FROM (VALUES (1, 1), (2, 4000), (3, 2), (4, 1000)) v(n, k);\n";
	my $settings = "$leads SET gpusort.min_rows = 0; SET gpusort.enable_windows = on; SET enable_gathermerge = off; SET max_parallel_workers_per_gather = 2; " . ($change // '');
	my $right = $node->safe_psql('postgres', "$single $query");
	like($node->safe_psql('postgres', "$settings EXPLAIN (COSTS OFF) $query"), qr/Limit\s+->  Gather\s.*Parallel Custom Scan \($sort\)/s, "$name: the plan");
	foreach my $memory (sort keys %memory)
	{
		is($node->safe_psql('postgres', "$settings $memory{$memory} SET my.late = 'start of $_';  $query"), $right, "$name, $memory, late start of $_: a bound that grows")
		  foreach 'leader', 'workers';
	}
}

# Limits on a window of one process, whose rows are read again, or come from a Gather Merge.
my %windows = (
	'a window of one process' => [ $window, 0, qr/Seq Scan/ ],
	'a window over sorted rows' => [ "SELECT row_number() OVER (ORDER BY txt, id) + lag(few, 1, 0) OVER (ORDER BY txt, id) x FROM plain WHERE late('start')", 2, $sorts_together ]);
foreach my $name (sort keys %windows)
{
	my ($rows, $workers, $below) = @{ $windows{$name} };
	my $query = "SELECT n, (SELECT concat(count(x), ' ', sum(x)) FROM (SELECT x FROM ($rows) g LIMIT k) q) FROM (VALUES (1, 1), (2, 4000), (3, 2), (4, 1000)) v(n, k);\n";
	foreach my $memory ('4MB', '64kB')
	{
		my $settings = "$leads SET work_mem = '$memory'; SET gpusort.min_rows = 0; SET gpusort.enable_windows = on; SET max_parallel_workers_per_gather = $workers; SET my.late = 'start of leader';";
		like($node->safe_psql('postgres', "$settings EXPLAIN (COSTS OFF) $query"), qr/Limit\s+->  Subquery Scan on g\s+->  Custom Scan \(GpuSortWindow\).*$below/s, "$name, $memory: the plan");
		is($node->safe_psql('postgres', "$settings $query"), $node->safe_psql('postgres', "$single $query"), "$name, $memory: a bound that grows");
	}
}

#
# At random
#

srand $seed;
sub pick { return $_[ int rand @_ ]; }

# Rows of a number, a bound, an offset and a parameter.
sub draw_bounds
{
	my @bounds = map { pick('NULL::int', 0, 1, 2, 7, 40, 100, 500, 1500, 3000, 10000) } 0 .. 2 + int rand 6;
	my $shape = pick('grow', 'shrink', 'any', 'any');
	my $size = sub { return $_[0] =~ /NULL/ ? 1e9 : $_[0] };
	@bounds = sort { $size->($a) <=> $size->($b) } @bounds if $shape ne 'any';
	@bounds = reverse @bounds if $shape eq 'shrink';
	my $n = 0;
	return join ', ', map { sprintf '(%d, %s, %d, %d)', $n++, $_, pick(0, 0, 3, 60), pick(0, 0, 1000) } @bounds;
}

# A query whose answer does not depend on the order of equal rows.
sub draw_query
{
	my $outer = '(SELECT * FROM (VALUES ' . draw_bounds() . ') v(n, k, o, least) ORDER BY n OFFSET 0) s';
	my $from = pick('plain x', 'family x', 'family x', '(SELECT * FROM plain UNION ALL SELECT id + 10000, txt, few FROM child_1) x');
	my $where = pick("late('start')", "CASE WHEN id % 211 = 0 THEN late('row') ELSE true END") . pick('', '', ' AND id >= s.least');
	my ($order, $limit) = (pick('txt, id', 'few, id', 'txt DESC NULLS LAST, id DESC', 'id'), pick('LIMIT s.k', 'LIMIT s.k', 'LIMIT s.k OFFSET s.o'));
	my $digest = "concat(count(*), ' ', md5(string_agg(id::text, ' ')))";
	if (rand() < 0.2)
	{
		($order, $limit) = ('few', 'FETCH FIRST coalesce(s.k, 100000) ROWS WITH TIES');
		$digest = "concat(count(*), ' ', sum(id))";
	}
	my $rows = 'SELECT ' . pick('id', 'id, few', 'id, txt') . " FROM $from WHERE $where ORDER BY $order $limit";
	return pick(
		"SELECT n, (SELECT $digest FROM ($rows) q) FROM $outer",
		"SELECT n, l FROM $outer, LATERAL (SELECT $digest FROM ($rows) q) l",
		# here rows are sorted once more, by n, and may come in any order within n
		"SELECT n, count(*), sum(id), sum(hashint4(id)) FROM (SELECT s.n, l.id FROM $outer LEFT JOIN LATERAL ($rows) l ON true OFFSET 0) d GROUP BY n ORDER BY n");
}

sub draw_settings
{
	my %settings = (
		'my.late' => pick('', 'start of leader', 'start of leader', 'start of workers', 'row of workers'),
		'max_parallel_workers_per_gather' => pick(0, 1, 2, 3, 4),
		'max_parallel_workers' => pick(12, 12, 12, 0, 1, 2),
		'work_mem' => pick('64kB', '200kB', '4MB', '64MB'),
		'parallel_leader_participation' => pick('on', 'on', 'on', 'off'),
		'enable_memoize' => pick('on', 'on', 'off'),
		'enable_parallel_append' => pick('on', 'off'),
		'enable_material' => pick('on', 'off'),
		'gpusort.gather_rows' => pick('on', 'off', 'auto'),
		'gpusort.min_rows' => pick(0, 0, 1000),
		'gpusort.device' => pick('host', 'host', 'cuda'));
	return join ' ', map { "SET $_ = '$settings{$_}';" } sort keys %settings;
}

my ($together, $alone, @wrong) = (0, 0);
for (my $done = 0; $done < $queries; $done += 10)
{
	my @drawn = map { [ draw_settings(), draw_query() ] } 1 .. 10;
	my $script = join '', map { "RESET ALL; $leads $_->[0]\n\\echo # plan\nEXPLAIN (COSTS OFF) $_->[1];\n\\echo # gpusort\n$_->[1];\n$single\n\\echo # single\n$_->[1];\n" } @drawn;
	my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	is($err, '', "queries from $done: no error");
	my (undef, @answers) = split /^# (?:plan|gpusort|single)\n/m, "$out\n";
	foreach (@drawn)
	{
		my ($plan, $answer, $right) = splice @answers, 0, 3;
		# rows may be missing below a Gather Merge of core's Sorts, or of a sort in each process
		next if $plan =~ s/$sorts_together//gr =~ /Gather Merge/;
		$plan =~ $sorts_together ? $together++ : $alone++;
		push @wrong, "$_->[0]\n$_->[1];\n$plan$answer" if $answer ne $right;
	}
}
is(join("\n", @wrong), '', 'all answers are right');
cmp_ok($together, '>', $queries / 5, 'of queries with parallel GpuSorts');
cmp_ok($alone, '>', $queries / 20, 'and of others');

$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|terminated by signal/, 'nothing has crashed');
done_testing();
