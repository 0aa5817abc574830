# The program that compares the results of the conformance suites. It has to see each difference, and to accept
# only lines that do not count as one.
use strict;
use warnings;
use File::Path qw(make_path);
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir;

# The verdict on a pair of results, with the lines that are known to differ.
sub verdict
{
	my ($native, $forced, $known) = @_;
	foreach my $pair ([ 'native/case.out', $native ], [ 'forced/case.out', $forced ], [ 'known', $known // '' ])
	{
		my ($name, $text) = @$pair;
		make_path("$directory/native", "$directory/forced");
		open my $file, '>', "$directory/$name" or die "$name: $!";
		print $file $text;
		close $file;
	}
	my $output = `conformance/compare_results --known $directory/known $directory/native $directory/forced`;
	return $output =~ /^ok - case$/m && $? == 0 ? 'same' : $output =~ /^not ok - case$/m && $? != 0 ? 'different' : $output;
}

# A query with its result as psql prints it.
sub table
{
	my ($query, $heading, @rows) = @_;
	my $rule = $heading =~ s/[^|]/-/gr =~ s/\|/+/gr;
	return join("\n", $query, $heading, $rule, @rows, '(' . @rows . (@rows == 1 ? ' row)' : ' rows)'), '', '');
}

my @rows = (' 1 | x', ' 1 | y', ' 2 | z');
my @swapped = (' 1 | y', ' 1 | x', ' 2 | z');
my @wrong_order = (' 2 | z', ' 1 | x', ' 1 | y');
my @other = (' 1 | x', ' 1 | y', ' 2 | y');

# ties
foreach my $query (
	'SELECT a, b FROM t ORDER BY a;',
	'SELECT a, b FROM t ORDER BY t.a DESC NULLS LAST LIMIT 3;',
	"SELECT a, b FROM t -- ORDER BY b\nORDER\n  BY 1 COLLATE \"C\";",
	'WITH w AS (SELECT * FROM t ORDER BY b) SELECT * FROM w ORDER BY a;')
{
	is(verdict(table($query, ' a | b ', @rows), table($query, ' a | b ', @swapped)), 'same', "$query: ties");
	is(verdict(table($query, ' a | b ', @rows), table($query, ' a | b ', @wrong_order)), 'different', "$query: order");
	is(verdict(table($query, ' a | b ', @rows), table($query, ' a | b ', @other)), 'different', "$query: values");
	is(verdict(table($query, ' a | b ', @rows), table($query, ' a | b ', @rows[ 0, 1 ])), 'different', "$query: rows");
}
foreach my $query (
	'SELECT a, b FROM t ORDER BY a, b;',
	'SELECT a, b FROM t ORDER BY a, c;',
	'SELECT a, b FROM t ORDER BY a + 1;',
	'FETCH ALL FROM c;',
	'EXECUTE p;',
	"SELECT 1;\nFETCH ALL FROM c;")
{
	is(verdict(table($query, ' a | b ', @rows), table($query, ' a | b ', @swapped)), 'different', "$query: no ties to be seen");
}
my $unordered = 'SELECT a, b FROM (SELECT * FROM t ORDER BY a) s;';
is(verdict(table($unordered, ' a | b ', @rows), table($unordered, ' a | b ', @wrong_order)), 'same', 'no ORDER BY of its own');
is( verdict(
		table("SELECT 1;\nNOTICE:  ORDER BY\nSELECT a, b FROM t ORDER BY a;\nNOTICE:  seen", ' a | b ', @rows),
		table("SELECT 1;\nNOTICE:  ORDER BY\nSELECT a, b FROM t ORDER BY a;\nNOTICE:  seen", ' a | b ', @swapped)),
	'same', 'a query among other lines');
is( verdict("NOTICE:  one\nNOTICE:  two\n", "NOTICE:  two\nNOTICE:  one\n"),
	'different', 'lines that are not of a table');

is( verdict(
		"DETAIL:  of it\n--\n-- a comment\n--\n\n--\n-- another\n" . table('SELECT a, b FROM t ORDER BY a;', ' a | b ', @rows),
		"DETAIL:  of it\n--\n-- a comment\n--\n\n--\n-- another\n" . table('SELECT a, b FROM t ORDER BY a;', ' a | b ', @swapped)),
	'same', 'a query after a comment');

# what is known to differ
my $window = "SELECT a, b,\n\tfirst_value(b) OVER (ORDER BY a) FROM t\nORDER BY a;";
my @first = map { "$_ | x" } @rows;
my @last = map { "$_ | y" } @swapped;
is(verdict(table($window, ' a | b | f ', @first), table($window, ' a | b | f ', @last)), 'different', 'a column');
is(verdict(table($window, ' a | b | f ', @first), table($window, ' a | b | f ', @last), "# why\ncase: f\n$window\n"),
	'same', 'a column that is known to differ');
is(verdict(table($window, ' a | b | f ', @first), table($window, ' a | b | f ', @last), "other: f\n$window\n"),
	'different', 'in another test');
is(verdict(table($window, ' a | b | f ', @first), table($window, ' a | b | f ', @last), "case: b\n$window\n"),
	'different', 'another column');
my $hidden = 'SELECT a, b FROM t ORDER BY a + 1;';
is(verdict(table($hidden, ' a | b ', @rows), table($hidden, ' a | b ', @swapped), "case: (order)\n$hidden\n"),
	'same', 'an order that cannot be seen');
is(verdict(table($hidden, ' a | b ', @rows), table($hidden, ' a | b ', @other), "case: (order)\n$hidden\n"),
	'different', 'but its rows can');

# plans
sub plan_table
{
	my (@lines) = map { " $_" } @_;
	my $width = (sort { $b <=> $a } map { length } @lines)[0] + 1;
	my $left = int(($width - 10) / 2);
	return table('EXPLAIN SELECT a FROM t ORDER BY a;', ' ' x $left . 'QUERY PLAN' . ' ' x ($width - $left - 10), @lines);
}
my @native = (
	'Merge Join', '  ->  Sort  (cost=1)', '        Sort Key: a', '        Sort Method: quicksort  Memory: 25kB',
	'        ->  Seq Scan on t', '  ->  Sort', '        Sort Key: b', '        Sort Method: quicksort  Memory: 25kB',
	'        ->  Seq Scan on u');
my @forced = (
	'Merge Join', '  ->  Custom Scan (GpuSort)  (cost=1)', '        Sort Key: a', '        Sort Method: radix sort',
	'        Device: host', '        Rows: 3', '        Memory: 16 kB', '        ->  Seq Scan on t',
	'  ->  Sort', '        Sort Key: b', '        Sort Method: quicksort  Memory: 25kB', '        ->  Seq Scan on u');

sub changed
{
	my ($from, $to, @lines) = @_;
	my $done = 0;
	return map { !$done && s/$from/$to/ ? ($done = 1, $_)[1] : $_ } @lines;
}
is(verdict(plan_table(@native), plan_table(@forced)), 'same', 'a GpuSort for a Sort');
is( verdict(plan_table(@native), plan_table(changed('Custom Scan', 'Parallel Custom Scan', @forced[ 0 .. 5 ], '        Sorted With Workers: 2', @forced[ 6 .. 11 ]))),
	'same', 'one that sorts with workers');
is(verdict(plan_table(@native), plan_table(@forced[ 0 .. 2 ], '        Group Key: a', '        Rows per Group: 1', @forced[ 3 .. 11 ])), 'same', 'one that leaves rows of groups out');
is(verdict(plan_table(@native), plan_table(changed('cost=1', 'cost=2', @forced))), 'different', 'other costs');
is(verdict(plan_table(@native), plan_table(changed('Sort Key: a', 'Sort Key: b', @forced))), 'different', 'another key');
is(verdict(plan_table(@native), plan_table(changed('quicksort', 'external merge', @forced))), 'different', 'how a Sort sorted');
is(verdict(plan_table(@native), plan_table(changed('Seq Scan on t', 'Index Scan on t', @forced))), 'different', 'another node');
is(verdict(plan_table(changed('Sort', 'Incremental Sort', @native)), plan_table(@forced)), 'different', 'not for an Incremental Sort');
is(verdict(plan_table(changed('Merge Join', 'Sort', @native)), plan_table(@forced)), 'different', 'nor for another one');
is(verdict(plan_table(@native), plan_table(@forced[ 0, 1 ]), "case: (all)\nEXPLAIN SELECT a FROM t ORDER BY a;\n"), 'same', 'a plan that is known to differ');
is(verdict(plan_table('Append', '  ->  Seq Scan on t', '  ->  Seq Scan on u'), plan_table('Append', '  ->  Seq Scan on u', '  ->  Seq Scan on t')),
	'different', 'lines of a plan are no rows');
my $why_not = 'Why Not GpuSort: the rows are few';
is(verdict(plan_table(@native), plan_table(@forced[ 0 .. 9 ], "        $why_not", @forced[ 10, 11 ])), 'same', 'why a Sort is none');
is(verdict(plan_table(@native), plan_table(@native, $why_not)), 'same', 'said at the end');

# in JSON
sub json_plan
{
	my ($name, $aware, $scan_aware) = @_;
	return plan_table('[', '  {', '    "Plan": {',
		'      "Node Type": "' . ($name eq 'Sort' ? 'Sort' : 'Custom Scan') . '",',
		'      "Plans": [', '        {', '          "Node Type": "Seq Scan",', qq(          "Parallel Aware": $scan_aware), '        }', '      ],',
		qq(      "Parallel Aware": $aware,), $name eq 'Sort' ? () : ('      "Custom Plan Provider": "GpuSort",'), '      "Startup Cost": 0.0', '    }', '  }', ']');
}
is(verdict(json_plan('Sort', 'false', 'true'), json_plan('GpuSort', 'true', 'true')), 'same', 'a GpuSort that is parallel aware');
is(verdict(json_plan('Sort', 'false', 'false'), json_plan('GpuSort', 'false', 'true')), 'different', 'but not its child');

# as the isolation tester prints them
sub padded_table
{
	my (@lines) = @_;
	my $width = (sort { $b <=> $a } map { length } @lines)[0];
	return table('step one: EXPLAIN SELECT a FROM t ORDER BY a;', map { sprintf '%-*s', $width, $_ } 'QUERY PLAN', @lines);
}
my @short = ('Sort', '  Sort Key: a', '  ->  Seq Scan on t');
is(verdict(padded_table(@short), padded_table(changed('Sort', 'Custom Scan (GpuSort)', @short))), 'same', 'padded lines');
is(verdict(padded_table(@short), padded_table(changed('Sort', 'Materialize', @short))), 'different', 'and not any of them');

# the process that raises an error
is(verdict("ERROR:  twice\nCONTEXT:  parallel worker\n", "ERROR:  twice\n"), 'same', 'an error raised by a parallel worker or its leader');
is(verdict("ERROR:  twice\nCONTEXT:  parallel worker\n", "ERROR:  once\n"), 'different', 'but another error');
is(verdict("ERROR:  twice\nCONTEXT:  in there\n", "ERROR:  twice\n"), 'different', 'or in another context');

done_testing();
