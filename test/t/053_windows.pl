# Window functions that gpusort evaluates, compared with PostgreSQL's WindowAgg. Queries are drawn: functions, frames, partitions, orders,
# filters, run conditions, several windows; little memory, workers, rescans, cursors, parameters, and arguments that fail; from PostgreSQL 19
# on, IGNORE NULLS.
#
# Other queries want the first rows of each group: DISTINCT ON, conditions on row_number(), rank() and dense_rank(). Rows that cannot be
# among them are left out before they are sorted.
#
# If the orders of a query are total, its rows are compared with those without gpusort. If not, rows that tie may come in any order, so
# the same sort is done on both sides, and only the windows are evaluated by different nodes.
#
# WINDOWS_QUERIES=5000 draws more queries, FIRST_ROWS_QUERIES=5000 more for first rows, WINDOWS_SEED=n other ones.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(min);
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $seed = $ENV{WINDOWS_SEED} // 1;
my $queries = $ENV{WINDOWS_QUERIES} // 300;
my $first_rows = $ENV{FIRST_ROWS_QUERIES} // $queries;
my $queries_of_session = 30;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.enable_windows = on
gpusort.get_shared_row_cost = 0
max_worker_processes = 16
max_parallel_workers = 12
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
enable_incremental_sort = off
autovacuum = off
jit = off
CONF
$node->start;

my $treats_nulls = $node->pg_version->major >= 19;
my $icu = GpusortCluster::has_icu();
$node->safe_psql('postgres', 'CREATE COLLATION any_case (provider = icu, locale = \'und-u-ks-level2\', deterministic = false)') if $icu;
my $text = $icu ? 'text COLLATE any_case' : 'text';
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE r (id int, a int, b int8, c $text, n numeric, f float8, ts timestamptz, bo bool, arr int[], big text) WITH (parallel_workers = 4);
INSERT INTO r SELECT i,
	CASE WHEN i % 11 > 0 THEN hashint4(i) & 7 END,
	CASE WHEN i % 13 > 0 THEN (hashint4(i * 7) & 31)::int8 END,
	CASE WHEN i % 17 > 0 THEN (ARRAY['x', 'Xy', 'xy', '', 'long ' || repeat('q', 60), 'B'])[1 + (hashint4(i * 3) & 1023) % 6] END,
	CASE WHEN i % 23 = 0 THEN 'NaN' WHEN i % 19 > 0 THEN round((hashint4(i * 5) & 15)::numeric / 4, i % 3) END,
	CASE WHEN i % 31 = 0 THEN 'NaN' WHEN i % 7 = 0 THEN -0.0 WHEN i % 7 = 1 THEN 0.0 WHEN i % 29 > 0 THEN (hashint4(i * 9) & 15) / 3.0 END,
	timestamptz '2024-01-01 00:00+00' + (hashint4(i * 13) & 15) * interval '1 hour',
	i % 3 = 0, ARRAY[i % 5, i % 7],
	CASE WHEN i % 50 = 0 THEN repeat(md5((i % 100)::text), 300) ELSE md5((i % 4)::text) END
FROM generate_series(1, 900) i;
CREATE TABLE s AS SELECT g, g * 2 h FROM generate_series(0, 7) g;
CREATE FUNCTION plus(int, int) RETURNS int LANGUAGE sql STRICT IMMUTABLE PARALLEL SAFE AS 'SELECT \$1 + \$2';
CREATE FUNCTION minus(int, int) RETURNS int LANGUAGE sql STRICT IMMUTABLE PARALLEL SAFE AS 'SELECT CASE WHEN \$2 <> 3 THEN \$1 - \$2 END';
CREATE FUNCTION again(int) RETURNS int LANGUAGE internal STRICT VOLATILE PARALLEL SAFE AS 'int4up';
CREATE FUNCTION some_null(int, int) RETURNS int LANGUAGE sql STRICT IMMUTABLE PARALLEL SAFE AS 'SELECT nullif(\$1 + \$2, 20)';
CREATE FUNCTION shown(anyarray, anyelement) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT array_to_string(\$1, ''/'')';
CREATE AGGREGATE sum_first(int) (SFUNC = plus, STYPE = int, PARALLEL = SAFE);
CREATE AGGREGATE sum_moving(int) (SFUNC = plus, STYPE = int, MSFUNC = plus, MINVFUNC = minus, MSTYPE = int, PARALLEL = SAFE);
CREATE AGGREGATE sum_to_null(int) (SFUNC = some_null, STYPE = int, PARALLEL = SAFE);
CREATE FUNCTION append(anyarray, anyelement) RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT \$1 || \$2';
CREATE AGGREGATE list(anyelement) (SFUNC = append, STYPE = anyarray, FINALFUNC = shown, FINALFUNC_EXTRA, INITCOND = '{}', PARALLEL = SAFE);
CREATE TABLE l WITH (parallel_workers = 4) AS SELECT i AS id, r.a, hashint4(i * 17)::int8 & 2047 b, r.c, r.n, r.f, r.ts, r.bo, r.arr, left(r.big, 20) big FROM generate_series(1, 18000) i JOIN r ON r.id = 1 + (hashint4(i) & 65535) % 900;
VACUUM ANALYZE;
SQL

#
# What is drawn
#

sub one_of { return $_[ int rand @_ ] }
sub chance { return rand() < $_[0] }

my @columns = ('a', 'b', 'c', 'n', 'f', 'ts', 'bo', 'arr', 'a % 3', 'upper(c)', 'big', "date_trunc('day', ts)", 'a + b', 'c COLLATE "C"');
my @numbers = ('a', 'b', 'n', 'f', 'id', 'a * 2', 'coalesce(b, 0)');
my @values = ('a', 'b', 'c', 'n', 'f', 'ts', 'bo', 'arr', 'big', 'id', 'lower(c)', 'a + id', 'n * 2');
my @offsets = (0, 1, 2, 3, 5, 1000, '9223372036854775807', '(SELECT 2)', '1 + 1');

sub exclusion { return chance(0.2) ? ' EXCLUDE ' . one_of('CURRENT ROW', 'GROUP', 'TIES') : '' }

sub frame
{
	my ($ordered, $range) = @_;
	return '' if chance(0.25);
	return "RANGE BETWEEN $range" . exclusion() if defined $range && chance(0.5);
	return one_of('RANGE UNBOUNDED PRECEDING', 'RANGE CURRENT ROW', 'RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING') . exclusion() if chance(0.15);
	my $mode = $ordered ? one_of('ROWS', 'ROWS', 'GROUPS') : 'ROWS';
	while (1)
	{
		my $start = one_of('UNBOUNDED PRECEDING', 'UNBOUNDED PRECEDING', 'CURRENT ROW', one_of(@offsets) . ' PRECEDING', one_of(@offsets) . ' FOLLOWING');
		my $end = one_of('UNBOUNDED FOLLOWING', 'CURRENT ROW', 'CURRENT ROW', one_of(@offsets) . ' PRECEDING', one_of(@offsets) . ' FOLLOWING');
		next if $start eq 'CURRENT ROW' && $end =~ /PRECEDING/;
		next if $start =~ /[^D] FOLLOWING/ && $end !~ /FOLLOWING/;
		return "$mode BETWEEN $start AND $end" . exclusion();
	}
}

# The ends of a frame at distances of the values of this order, if its type has them.
sub range
{
	my ($order) = @_;
	my %distances = (a => [ 0, 1, 3, -1 ], b => [ 0, 5, 100 ], n => [ 0, 0.5, 2.25 ], f => [ 0, 0.5, "'Infinity'" ], id => [ 0, 1, 50 ],
		ts => [ "interval '0'", "interval '2 hours'", "interval '1 day'" ]);
	return undef if $order !~ /^(\w+)( |$)/ || !exists $distances{$1};
	my @distances = @{ $distances{$1} };
	return one_of('UNBOUNDED PRECEDING', 'CURRENT ROW', one_of(@distances) . ' PRECEDING') . ' AND '
	  . one_of('UNBOUNDED FOLLOWING', 'CURRENT ROW', one_of(@distances) . ' FOLLOWING')
	  if chance(0.7);
	return one_of(@distances) . ' PRECEDING AND ' . one_of(@distances) . ' PRECEDING' if chance(0.5);
	return one_of(@distances) . ' FOLLOWING AND ' . one_of(@distances) . ' FOLLOWING';
}

sub order
{
	my @order = map { one_of(@columns) . one_of('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') } 1 .. one_of(0, 1, 1, 1, 2, 3);
	return @order;
}

sub aggregate
{
	my $aggregate = one_of(qw(sum avg min max count stddev sum avg count), 'count(*)', 'string_agg', 'array_agg', 'sum_first', 'sum_moving', 'sum_to_null',
		'list', 'bool_and', 'jsonb_agg', 'max of all', 'min of all', 'corr');
	return $aggregate if $aggregate eq 'count(*)';
	return "$aggregate(" . one_of(@numbers) . ')' if $aggregate =~ /^(sum|avg|min|max|stddev)$/;
	return "$aggregate(" . one_of(@values) . ')' if $aggregate eq 'count';
	return "string_agg(left(c, 2), ',')" if $aggregate eq 'string_agg';
	return 'array_agg(' . one_of('id', 'a', 'c', 'n') . ')' if $aggregate eq 'array_agg';
	return "$aggregate(" . one_of('id', 'b', 'n') . ')' if $aggregate eq 'list';
	return "$1(" . one_of('ts', 'c', 'big') . ')' if $aggregate =~ /^(\w+) of all/;
	return 'bool_and(bo)' if $aggregate eq 'bool_and';
	return 'corr(f, a)' if $aggregate eq 'corr';
	return "$aggregate(a)";
}

# What a function does with NULLs, and an argument that mostly is one.
sub treatment { return $treats_nulls && chance(0.6) ? one_of(' IGNORE NULLS', ' IGNORE NULLS', ' IGNORE NULLS', ' RESPECT NULLS') : '' }
sub sparse { return 'CASE WHEN ' . one_of('id % 40 > 35', 'b = 3', 'a = 2', 'id % 3 = 0', 'bo', 'false') . ' THEN ' . one_of('id', 'a', 'n') . ' END' }
sub value { my (@values) = @_; return $treats_nulls && chance(0.4) ? sparse() : one_of(@values) }

sub function
{
	my ($window) = @_;
	my $kind = rand;
	return one_of('row_number()', 'row_number()', 'rank()', 'dense_rank()', 'percent_rank()', 'cume_dist()') . " OVER $window" if $kind < 0.3;
	return 'ntile(' . one_of(1, 3, 7, 100, 'NULL', '1 + id % 3', 'a + 1') . ") OVER $window" if $kind < 0.35;
	if ($kind < 0.5)
	{
		my $shift = one_of('', '', ', 1', ', 2', ', 5', ', 0', ', -1', ', -3', ', 100', ', NULL', ', 1000', ', a', ', id % 4 - 1');
		my ($value, $default) = @{ one_of([ 'a', '-1' ], [ 'b', '-1::int8' ], [ 'n', '-1.5' ], [ 'id', 'a' ], [ 'big', "'none'::text" ], [ 'a + id', 0 ]) };
		($value, $default) = (sparse(), '-1') if $treats_nulls && chance(0.4);
		return one_of('lag', 'lead') . "($value$shift" . ($shift ne '' && chance(0.4) ? ", $default" : '') . ')' . treatment() . " OVER $window";
	}
	return one_of('first_value', 'last_value') . '(' . value(@values) . ')' . treatment() . " OVER $window" if $kind < 0.6;
	return 'nth_value(' . value(@values) . ', ' . one_of(1, 2, 3, 10, 'a + 1', 'id % 4 + 1', 'NULL') . ')' . treatment() . " OVER $window" if $kind < 0.66;
	my $filter = one_of('', '', '', ' FILTER (WHERE a > 2)', ' FILTER (WHERE bo)', ' FILTER (WHERE id % 2 = 0 AND n IS NOT NULL)');
	return aggregate() . "$filter OVER $window";
}

sub expression
{
	my ($window) = @_;
	my $function = function($window);
	return "($function)::text || '!'" if chance(0.1);
	return "coalesce(($function)::text, id::text)" if chance(0.05);
	# volatile arguments
	return one_of('sum(again(a))', 'count(again(id))', 'lag(again(a), 2)', 'max(id) FILTER (WHERE again(a) > 2)') . " OVER $window" if chance(0.03);
	return one_of('lag(again(nullif(a, 3)), 2)', 'lead(again(nullif(a, 3)), a)', 'first_value(again(nullif(a, 3)))', 'nth_value((SELECT max(h) FROM s WHERE g < a), 2)') . treatment() . " OVER $window"
	  if chance(0.02);
	# a treatment of NULLs that the function refuses
	return one_of('rank()', 'row_number()', 'ntile(3)') . treatment() . " OVER $window" if chance(0.005);
	# arguments that fail for some rows, if core looks at these
	return one_of('lag', 'lead', 'first_value', 'last_value') . "(nullif(a, 3) / (id - 700))" . treatment() . " OVER $window" if chance(0.01);
	return one_of("lag(1 / (id - 700), 3) OVER $window", "sum(1 / (id - 901)) OVER $window", "ntile(id - 1) OVER $window", "nth_value(id, a) OVER $window")
	  if chance(0.02);
	return $function;
}

# Windows, whose orders are total if $total.
sub windows
{
	my ($total) = @_;
	my @partition = map { one_of(@columns) } 1 .. one_of(0, 1, 1, 1, 1, 2);
	my @order = order();
	my @windows;
	foreach my $number (1 .. one_of(1, 1, 1, 2, 3))
	{
		my @own_partition = $number == 1 || chance(0.8) ? @partition : map { one_of(@columns) } 1 .. one_of(0, 1, 2);
		my @own_order = $number == 1 || chance(0.5) ? @order : chance(0.5) ? @order[ 0 .. $#order - 1 ] : order();
		@own_order = (@own_order, 'id') if $total;
		push @windows,
		  join(' ',
			@own_partition ? 'PARTITION BY ' . join(', ', @own_partition) : '',
			@own_order ? 'ORDER BY ' . join(', ', @own_order) : '',
			frame(scalar @own_order, @own_order == 1 ? range(@own_order) : undef));
	}
	return @windows;
}

sub query
{
	my ($total) = @_;
	my @windows = windows($total);
	my @names = map { "w$_" } 1 .. @windows;
	my $number = 0;
	my $functions = join(', ', map { expression(one_of(@names)) . ' AS x' . $number++ } 1 .. one_of(1, 1, 2, 2, 3, 5));
	# with these, core's IGNORE NULLS does not come to an end if it finds no value
	foreach my $i (grep { $windows[$_] !~ /ORDER BY/ && $windows[$_] =~ /EXCLUDE (GROUP|TIES)/ } 0 .. $#windows)
	{
		$functions =~ s/ IGNORE NULLS OVER $names[$i]\b/ OVER $names[$i]/g;
	}
	my $definitions = 'WINDOW ' . join(', ', map { "$names[$_] AS ($windows[$_])" } 0 .. $#windows);
	my $columns = one_of('id', 'id, a, c', 'r.*', 'big, id', 'id, a + 1 AS a1');
	my $from = one_of('r', 'r', 'r', '(SELECT * FROM r WHERE a IS NOT NULL) r', '(SELECT r.* FROM r JOIN s ON r.a = s.g) r', '(SELECT * FROM r WHERE false) r');
	my $query = "SELECT $columns, $functions FROM $from $definitions";
	my $counted = one_of('row_number()', 'row_number()', 'rank()', 'dense_rank()', 'count(*)') . ' OVER ' . one_of(@names);
	my $form = rand;
	return "SELECT * FROM (SELECT $columns, $functions, $counted AS rn FROM $from $definitions) q WHERE rn " . one_of('<=', '<=', '<', '=') . ' ' . one_of(1, 2, 5)
	  if $form < 0.2;
	return "SELECT id, x0 FROM ($query) q" if $form < 0.25;
	return "SELECT count(*), sum(hashtext(x0::text)::int8), max(x0::text COLLATE \"C\") FROM ($query) q" if $form < 0.45;
	return "SELECT s.g, q.* FROM s, LATERAL (SELECT $columns, $functions FROM r WHERE r.a = s.g $definitions) q" if $form < 0.5;
	return "SELECT g, (SELECT x0::text FROM (SELECT $functions FROM r WHERE r.a < s.h $definitions) q ORDER BY 1 LIMIT 1) FROM s" if $form < 0.54;
	return "BEGIN; DECLARE c " . one_of('', 'SCROLL ') . "CURSOR FOR $query; FETCH 7 FROM c; FETCH 100 FROM c; "
	  . one_of('', 'MOVE 300 FROM c; ') . 'FETCH ALL FROM c; COMMIT'
	  if $form < 0.58;
	return "PREPARE p(int) AS SELECT * FROM (SELECT id, sum(a + \$1) OVER w1 AS x0, lag(a, \$1)" . treatment() . " OVER w1, $counted AS rn FROM r $definitions) q WHERE rn <= \$1; "
	  . 'SET plan_cache_mode = force_generic_plan; EXECUTE p(2); EXECUTE p(NULL); EXECUTE p(100); RESET plan_cache_mode; DEALLOCATE p'
	  if $form < 0.62;
	return "SELECT a, sum(b), rank() OVER (PARTITION BY a % 2 ORDER BY sum(b)), sum(sum(id)) OVER (ORDER BY a), lag(max(n)) OVER (ORDER BY a) FROM r GROUP BY a"
	  if $form < 0.64;
	return $query;
}

# A query for the first rows of groups, which are the same in any order of rows that tie.
sub first_rows
{
	my @groups = map { one_of(@columns, 'id % 50', 'id % 400', '-id / 100') } 1 .. one_of(1, 1, 1, 2);
	my @order = order();
	# by bytes, while equality is that of the collation
	unshift @order, 'c USING ~<~' if chance(0.1);
	my $count = one_of(1, 1, 2, 3, 5, 10, 50, 1000, 1001);
	my $table = one_of('r', 'r', 'r', 'l');
	my $from = one_of($table, $table, "(SELECT * FROM $table ORDER BY " . join(', ', @groups, 'id' . one_of('', ' DESC')) . ' OFFSET 0) x', "(SELECT * FROM $table WHERE id % 7 > 0) x");
	my $groups = join(', ', @groups);
	my $columns = one_of('id', 'id, a, c', '*');
	my $form = rand;
	return "SELECT DISTINCT ON ($groups) $columns FROM $from ORDER BY " . join(', ', (map { $_ . one_of('', ' DESC', ' NULLS FIRST') } @groups), @order, 'id') if $form < 0.25;
	return "SELECT count(*) FROM (SELECT DISTINCT $groups FROM $from) q" if $form < 0.3;
	return "SELECT count(*) FROM (SELECT $groups FROM $from GROUP BY $groups) q" if $form < 0.35;
	return "SELECT count(DISTINCT $groups[0]) FROM $from" if $form < 0.38;

	my $function = one_of('row_number', 'rank', 'dense_rank');
	@order = (@order, 'id') if $function eq 'row_number' || chance(0.3);
	my $window = "PARTITION BY $groups" . (@order ? ' ORDER BY ' . join(', ', @order) : '');
	my $more = one_of('', '', '', ', sum(id) OVER w AS s', ', lag(id) OVER (w ROWS UNBOUNDED PRECEDING) AS s', ', count(*) OVER w AS s');
	$more = one_of(', lag(nullif(id % 5, 3)) IGNORE NULLS OVER (w ROWS UNBOUNDED PRECEDING) AS s', ', first_value(nullif(id % 5, 3)) IGNORE NULLS OVER w AS s')
	  if $treats_nulls && chance(0.2);
	$more = '' if $more =~ /lag|first/ && ($order[-1] // '') ne 'id';
	my $ranked = "SELECT $columns, $function() OVER w AS rn$more FROM $from WINDOW w AS ($window)";
	my $compare = one_of('<=', '<=', '<', '=');
	return "PREPARE p(bigint) AS SELECT * FROM ($ranked) q WHERE rn <= \$1; SET plan_cache_mode = force_generic_plan; EXECUTE p($count); EXECUTE p(2); EXECUTE p(NULL); "
	  . 'RESET plan_cache_mode; DEALLOCATE p'
	  if $form < 0.45;
	return "SELECT k, q.* FROM (VALUES (3), (1), (NULL), (20), (2)) v (k), LATERAL ($ranked) q WHERE rn $compare k" if $form < 0.52;
	return "SELECT g, q.* FROM s, LATERAL (SELECT * FROM (SELECT id, $function() OVER (PARTITION BY $groups ORDER BY "
	  . join(', ', @order, 'id') . ") AS rn FROM r WHERE r.a <> s.g) x WHERE rn $compare s.g) q"
	  if $form < 0.57;
	return "BEGIN; DECLARE c " . one_of('', 'SCROLL ') . "CURSOR FOR SELECT * FROM ($ranked) q WHERE rn $compare $count; FETCH ALL FROM c; COMMIT" if $form < 0.6;
	return "SELECT * FROM ($ranked) q WHERE rn $compare " . one_of($count, $count, "(SELECT $count)", "$count + id % 2");
}

#
# Comparison
#

my %counted;

# The output of queries: a list of texts, the rows of each sorted.
sub outputs
{
	my ($settings, @queries) = @_;
	my $script = "SET client_min_messages = warning;\nSET timezone = 'UTC';\n$settings\n" . join('', map { "$_;\n\\echo ==\n" } @queries);
	my ($out, $err) = ('', '');
	$node->psql('postgres', $script, stdout => \$out, stderr => \$err, on_error_stop => 0, on_error_die => 0);
	$err =~ s/^psql:[^:]*:\d+: //mg;
	$err =~ s/\nCONTEXT:  parallel worker//g;
	$counted{errors} += () = $err =~ /^ERROR/mg;
	my @outputs = map { join("\n", sort split /\n/) } split(/^==$/m, $out);
	return (@outputs, $err);
}

sub compare
{
	my ($name, $settings, $without, @queries) = @_;
	my @expected = outputs("$settings $without", @queries);
	my @got = outputs($settings, @queries);
	my @different = grep { ($expected[$_] // '') ne ($got[$_] // '') } 0 .. $#expected;
	ok(!@different, $name) or diag(map { show_difference($settings, $queries[$_] // 'the errors', $expected[$_], $got[$_]) } $different[0]);
}

# The plans of those queries that are only one statement.
sub plans
{
	my ($settings, $options, @queries) = @_;
	return outputs($settings, map { /^SELECT/ ? "EXPLAIN ($options, COSTS OFF) $_" : () } @queries);
}

# The first lines that are only in one of two outputs.
sub show_difference
{
	my ($settings, $query, $expected, $got) = @_;
	my %in_got = map { $_ => 1 } split /\n/, $got;
	my %in_expected = map { $_ => 1 } split /\n/, $expected;
	my @missing = grep { !$in_got{$_} } sort keys %in_expected;
	my @wrong = grep { !$in_expected{$_} } sort keys %in_got;
	@missing = ('all of these, in this order:', $expected) if !@missing && !@wrong;
	return "$settings\n$query;\n" . join('', map { substr($_, 0, 400) . "\n" } scalar(@missing) . ' lines are missing:', @missing[ 0 .. min(3, $#missing) ],
		scalar(@wrong) . ' lines are wrong:', @wrong[ 0 .. min(3, $#wrong) ]);
}

srand($seed);
for (my $first = 0; $first < $queries; $first += $queries_of_session)
{
	my $total = chance(0.5);
	my $settings = "SET gpusort.device = " . one_of('host', 'host', 'cuda') . "; SET enable_indexscan = " . one_of('on', 'off') . '; ';
	$settings .= "SET work_mem = '" . one_of('64kB', '256kB', '4MB') . "'; SET max_parallel_workers_per_gather = " . one_of(0, 1, 2, 4) . '; ' if $total;
	$settings .= 'SET parallel_leader_participation = off; ' if $total && chance(0.3);
	$settings .= 'SET max_parallel_workers_per_gather = 0; ' if !$total;
	my @queries = map { query($total) } 1 .. $queries_of_session;
	compare("queries from $first", $settings, $total ? 'SET gpusort.enable = off; SET max_parallel_workers_per_gather = 0;' : 'SET gpusort.enable_windows = off;', @queries);
	my $plans = join(' ', plans($settings, 'VERBOSE OFF', @queries));
	$counted{nodes} += () = $plans =~ /\(GpuSortWindow\)/g;
	$counted{others} += () = $plans =~ /WindowAgg/g;
	$counted{ignoring_nulls} += () = $plans =~ /Window Functions:[^\n]* IGNORE NULLS OVER/g;
	$counted{presorted} += () = $plans =~ /Presorted Key/g;
	$counted{parallel} += () = $plans =~ /Parallel Custom Scan \(GpuSortWindow\)/g;
}
for (my $first = 0; $first < $first_rows; $first += $queries_of_session)
{
	my $settings = "SET gpusort.device = " . one_of('host', 'host', 'cuda') . '; SET gpusort.enable_windows = ' . one_of('on', 'off') . '; SET enable_hashagg = off; ';
	$settings .= "SET work_mem = '" . one_of('64kB', '256kB', '4MB', '64MB') . "'; SET max_parallel_workers_per_gather = " . one_of(0, 0, 1, 2, 4) . '; ';
	$settings .= 'SET parallel_leader_participation = off; ' if chance(0.2);
	my @queries = map { first_rows() } 1 .. $queries_of_session;
	compare("first rows from $first", $settings, 'SET gpusort.enable = off; SET max_parallel_workers_per_gather = 0;', @queries);
	my @early = grep { /Rows Left Out Early/ } plans($settings, 'ANALYZE, TIMING OFF, SUMMARY OFF', @queries);
	$counted{early} += @early;
	$counted{early_with_workers} += grep { /Parallel Custom Scan \(GpuSort/ } @early;
}
cmp_ok($counted{nodes}, '>', $queries / 3, 'gpusort has evaluated windows');
cmp_ok($counted{nodes}, '>', 5 * $counted{others}, 'and most of all');
cmp_ok($counted{parallel}, '>', 0, 'some of them in all processes');
cmp_ok($counted{presorted}, '>', 0, 'and some over rows that workers have sorted');
cmp_ok($counted{ignoring_nulls}, '>', $queries / 10, 'and left out NULLs') if $treats_nulls;
like($node->safe_psql('postgres', 'EXPLAIN (VERBOSE, COSTS OFF) SELECT JSON_ARRAYAGG(a RETURNING jsonb) OVER (PARTITION BY b) FROM r'), qr/WindowAgg/,
	'EXPLAIN could not show a constructor of JSON that another node evaluates') if $node->pg_version >= 16;
like($node->safe_psql('postgres', 'EXPLAIN (VERBOSE, COSTS OFF) SELECT JSON_ARRAYAGG(a RETURNING jsonb) OVER (ORDER BY b DESC), row_number() OVER (ORDER BY b) FROM r'),
	qr/GpuSortWindow.*WindowAgg/s, 'nor one above another sort') if $node->pg_version >= 16;
cmp_ok($counted{early}, '>', $first_rows / 6, 'rows have been left out early');
cmp_ok($counted{early_with_workers}, '>', 0, 'by workers, too');
note("$counted{early} sorts left out rows early, $counted{early_with_workers} of them with workers");
note("$counted{nodes} nodes, $counted{parallel} of them parallel, $counted{presorted} over sorted rows; $counted{others} WindowAggs; $counted{errors} errors");
done_testing();
