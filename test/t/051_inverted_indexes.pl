# GIN indexes that gpusort builds, compared with those that PostgreSQL builds. Tables, indexes and settings are drawn; both indexes
# have the same entries with the same rows, and queries find in them what they find without.
#
# GIN_BUILDS=500 draws more builds, GIN_SEED=n other ones, and GIN_TABLE=n repeats one table of a run.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use GinIndexes;

my $seed = $ENV{GIN_SEED} // 1;
my $builds = $ENV{GIN_BUILDS} // 40;
my $builds_of_table = 5;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.device = host
min_parallel_table_scan_size = 0
autovacuum = off
fsync = off
CONF
$node->start;

my $major = $node->pg_version->major;
my $icu = GpusortCluster::has_icu();
$node->safe_psql('postgres', "CREATE EXTENSION $_") foreach qw(gpusort amcheck pg_trgm hstore btree_gin);
$node->safe_psql('postgres', GinIndexes::sql());
$node->safe_psql('postgres', <<'SQL');
-- its operators on arrays of int would hide PostgreSQL's
CREATE SCHEMA apart;
CREATE EXTENSION intarray SCHEMA apart;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad', 'happy');
SQL
$node->safe_psql('postgres', <<'SQL') if $icu;
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION german (provider = icu, locale = 'de');
SQL

#
# What is drawn
#

sub one_of { return $_[ int rand @_ ] }

# SQL: a number below this one, which depends on the row.
sub number
{
	my ($values, $row) = @_;
	my $salt = int rand 1000;
	return "abs(hashint8extended(" . ($row // 'i') . ", $salt) % $values)";
}

sub distinct { return one_of(1, 2, 5, 50, 50, 1000, 1000000) }

# A type of elements: its name, a value for a number, and whether keys can be equal and not the same.
sub element
{
	my ($name) = @_;
	my $collation = one_of('"C"', '"C"', '"POSIX"', $icu ? ('german', 'any_case') : ());
	my $text = one_of(
		sub { "'w' || ($_[0])" },
		sub { "md5(($_[0])::text)" },
		sub { "CASE WHEN ($_[0]) % 2 = 0 THEN 'w' ELSE 'W' END || ($_[0]) / 2" },
		sub { "repeat(md5(($_[0])::text), 1 + (($_[0]) % 20)::int)" });
	my %elements = (
		int2 => sub { "(($_[0]) % 30000)::int2" },
		int4 => sub { "($_[0])::int4" },
		int8 => sub { "($_[0]) * 1000000007" },
		float4 => sub { "(($_[0]) / 4)::float4" },
		float8 => sub { "(CASE ($_[0]) % 5 WHEN 0 THEN '0' WHEN 1 THEN '-0' WHEN 2 THEN 'NaN' ELSE '' || ($_[0]) END)::float8" },
		numeric => sub { "round((($_[0]) / 3)::numeric, (($_[0]) % 3)::int)" },
		text => $text,
		varchar => $text,
		bpchar => sub { "('w' || ($_[0]) % 1000)::char(12)" },
		name => sub { "('w' || ($_[0]))::name" },
		bytea => sub { "decode(md5(($_[0])::text), 'hex')" },
		uuid => sub { "md5(($_[0])::text)::uuid" },
		bool => sub { "($_[0]) % 2 = 0" },
		date => sub { "date '2000-01-01' + (($_[0]) % 10000)::int" },
		timestamptz => sub { "timestamptz '2000-01-01 00:00+00' + ($_[0]) * interval '1 s'" },
		time => sub { "time '00:00' + ($_[0]) * interval '1 s'" },
		interval => sub { "(CASE WHEN ($_[0]) % 2 = 0 THEN '1 month' ELSE '30 days' END)::interval * (($_[0]) / 2)" },
		inet => sub { "inet '10.0.0.0' + ($_[0])" },
		macaddr => sub { "left(md5(($_[0])::text), 12)::macaddr" },
		money => sub { "($_[0])::money" },
		oid => sub { "($_[0])::oid" },
		bit => sub { "(($_[0])::int)::bit(12)" },
		varbit => sub { "(($_[0])::int)::bit(20)::varbit" },
		mood => sub { "(enum_range(NULL::mood))[1 + ($_[0]) % 4]" });
	my $collated = $name =~ /^(text|varchar)$/;
	return {
		name => $name,
		collation => $collated ? " COLLATE $collation" : '',
		value => $elements{$name},
		by_group => $name =~ /^(numeric|float8|interval)$/ || ($collated && $collation eq 'any_case') };
}

# SQL: an array of up to so many values for numbers; another row number makes other values.
sub array_of
{
	my ($element, $most, $row, $null) = @_;
	my $value = $element->{value}(number(distinct(), "$row * 64 + j"));
	$value = "CASE WHEN ($row + j) % 7 > 0 THEN $value END" if $null;
	return "ARRAY(SELECT $value FROM generate_series(1, $row % " . ($most + 1) . ") j)";
}

# SQL: words.
sub words
{
	my ($most) = @_;
	my $element = { value => sub { "'w' || ($_[0])" } };
	return 'array_to_string(' . array_of($element, $most, 'i') . ", ' ')";
}

# Kinds of columns. Each has a type, a value that depends on the row, and keys of an index: an operator class, an expression,
# unless the column itself is the key, and conditions with %s in the place of the key.
my %kinds = (
	tsvector => sub {
		my $words = words(one_of(3, 8, 30));
		my @conditions = ("%s @@ 'w3'", "%s @@ 'w1 | w5'", "%s @@ 'w1 & !w4'", "%s @@ 'w1:*'", "%s @@ 'w3:A'", "%s @@@ 'w2'");
		return {
			type => 'text',
			value => $words,
			keys => [ { key => "to_tsvector('simple', %s)", conditions => \@conditions } ] }
		  if rand() < 0.3;
		my $value = one_of("to_tsvector('simple', $words)", "setweight(to_tsvector('simple', $words), 'A')",
			"array_to_tsvector(array_remove(string_to_array($words, ' '), ''))");
		return { type => 'tsvector', value => $value, keys => [ { conditions => \@conditions }, { key => 'strip(%s)', conditions => [ @conditions[ 0 .. 3 ] ] } ] };
	},
	jsonb => sub {
		my $object = "jsonb_build_object('a', " . number(distinct()) . ", 'b', to_jsonb(" . array_of(element(one_of('int4', 'text')), 6, 'i', 1)
		  . "), 'k' || " . number(20) . ", 'text', 'o', jsonb_build_object('x', i % 2 = 0, 'y', NULL, 'z', 1.50))";
		my $value = one_of($object, "CASE i % 4 WHEN 0 THEN '{}' WHEN 1 THEN '[]' WHEN 2 THEN to_jsonb(" . number(9) . ") ELSE $object END");
		my @paths = ("%s @> '{\"a\": 3}'", "%s @> '{\"b\": [3]}'", "%s @> '{\"o\": {\"x\": true}}'", "%s @? '\$.b[*] ? (@ == 3)'", "%s @@ '\$.a == 1'", "%s @> '{}'");
		return {
			type => 'jsonb',
			value => $value,
			keys => [
				{ class => 'jsonb_ops', conditions => [ @paths, "%s ? 'k3'", "%s ?| ARRAY['k1', 'k2', 'a']", "%s ?& ARRAY['a', 'k7']" ] },
				{ class => 'jsonb_path_ops', conditions => \@paths },
				{ class => 'jsonb_ops', key => "(%s -> 'b')", conditions => [ "%s ? 'w3'", "%s @> '[3]'" ] }] };
	},
	array => sub {
		my $element = element(one_of(qw(int4 int4 text text numeric), qw(int2 int8 float8 uuid bool bytea date interval inet timestamptz bpchar mood name)));
		my $value = array_of($element, one_of(1, 5, 5, 20, 60), 'i', one_of(0, 1));
		my $probe = 'ARRAY[' . $element->{value}(one_of(map { "$_\::int8" } 0, 1, 3)) . ']';
		my $probes = 'ARRAY[' . join(', ', map { $element->{value}("$_\::int8") } 1, 2, 4) . ']';
		my $type = $element->{name} . q([]);
		return {
			type => "$type$element->{collation}",
			value => $value,
			by_group => $element->{by_group},
			keys => [
				{
					conditions => [ "%s OPERATOR(pg_catalog.&&) $probes\::$type", "%s OPERATOR(pg_catalog.@>) $probe\::$type",
						"%s OPERATOR(pg_catalog.<@) $probes\::$type", "%s = $probe\::$type", "%s OPERATOR(pg_catalog.@>) '{}'::$type" ] },
				{ key => "(%s OPERATOR(pg_catalog.||) %s)", conditions => ["%s OPERATOR(pg_catalog.&&) $probes\::$type"] }] };
	},
	trigrams => sub {
		my $value = one_of(words(5), element('text')->{value}(number(distinct())), "(" . number(100000) . ")::text");
		return {
			type => 'text' . one_of('', ' COLLATE "C"'),
			value => $value,
			keys => [
				{ class => 'gin_trgm_ops', conditions => [ "%s LIKE '%%w12%%'", "%s LIKE 'w1%%'", "%s ILIKE '%%W3%%'", "%s ~ 'w[12]3'", "%s % 'w33'", "%s %%> 'w12'" ] },
				{ class => 'gin_trgm_ops', key => 'upper(%s)', conditions => ["%s LIKE '%%W12%%'"] }] };
	},
	hstore => sub {
		my $value = one_of("hstore(ARRAY['a', (" . number(distinct()) . ")::text, 'k' || " . number(20) . ', NULL])',
			"hstore(" . array_of(element('text'), 1, '2 * (i % 8)') . " || ARRAY['x', 'y'])",
			"hstore('k' || " . number(distinct()) . ", 'v')");
		return { type => 'hstore', value => $value, keys => [ { conditions => [ "%s @> 'a=>3'", "%s ? 'k3'", "%s ?| ARRAY['k1', 'k2', 'x']", "%s ?& ARRAY['a', 'k7']" ] } ] };
	},
	intarray => sub {
		# its operators refuse null elements
		return {
			type => 'int4[]',
			value => array_of(element('int4'), one_of(3, 20), 'i'),
			keys => [
				{
					class => 'apart.gin__int_ops',
					conditions => [ "%s OPERATOR(apart.&&) '{1,2,4}'::int4[]", "%s OPERATOR(apart.@>) '{3}'::int4[]", "%s OPERATOR(apart.@@) '1|(3&!4)'::apart.query_int",
						"%s OPERATOR(apart.<@) '{0,1,2,3,4}'::int4[]" ] }] };
	},
	scalar => sub {
		my $element = element(
			one_of(qw(int2 int4 int8 float4 float8 numeric text varchar bpchar name bytea uuid bool date timestamptz time interval inet macaddr money oid bit varbit mood)));
		my $probe = $element->{value}(one_of(map { "$_\::int8" } 0, 1, 3));
		my %types = (bpchar => 'char(12)', bit => 'bit(12)');
		my $compared = $types{ $element->{name} } // $element->{name};
		# the planner makes a value of bool itself a condition
		my @operators = ('<', '<=', '>=', '>', $compared eq 'bool' ? () : '=');
		return {
			type => "$compared$element->{collation}",
			value => $element->{value}(number(distinct())),
			by_group => $element->{by_group},
			keys => [ { conditions => [ map { "%s $_ ($probe)::$compared" } @operators ] } ] };
	},
	scripted => sub {
		my $rare = one_of(7, 20, 300);
		my @cases = ("'null null'", "''", "n || ' ' || n || ' null ' || n", "'1-1500'", "'spi ' || n", "'5 -5 5 ' || -n", "n || '-' || n + 10");
		my $value = 'CASE i % ' . ($rare * @cases) . join('', map { " WHEN $_ * $rare THEN $cases[$_]" } 0 .. $#cases) . " ELSE n || ' ' || n % 13 END";
		# these keys make a build fail
		my $fail = rand() < 0.5;
		$value = 'CASE WHEN i % 500 = 499 THEN ' . one_of("'error'", "'1 2000000666'") . " ELSE $value END" if $fail;
		return {
			type => 'text',
			value => "(SELECT $value FROM (SELECT " . number(distinct()) . ' n) s)',
			by_group => 'absolute',
			may_fail => $fail,
			keys => [
				{ class => 'scripted_ops', conditions => [ '%s @# 3', '%s @# 1000002', '%s !@# 3', '%s @# -5' ] },
				{ class => 'scripted_absolute_ops', by_group => 1, conditions => [ '%s @## 3', '%s @## -5', '%s !@## 4' ] }] };
	});

# A column, some of whose values are missing, empty, or long.
sub random_column
{
	my ($fail) = @_;
	while (1)
	{
		my $column = $kinds{ one_of(sort keys %kinds) }();
		next if $column->{may_fail} && !$fail;
		$column->{value} = 'CASE WHEN i % ' . (2 + int rand 20) . " > 0 THEN $column->{value} END" if rand() < 0.4;
		return $column;
	}
}

# A table: its columns, statements that make it, and what it allows to be done with it.
sub random_table
{
	my ($number) = @_;
	my $fail = rand() < 0.7;
	my @columns;
	foreach (0 .. 2)
	{
		my $column = random_column($fail);
		$fail = 0 if $column->{may_fail};
		push @columns, $column;
	}
	my $kind = one_of('', '', '', '', 'UNLOGGED', 'TEMPORARY', 'PARTITIONED');
	my $rows = one_of(0, 1, 200, 2000, 2000, 6000, 6000, 12000);
	my $options = 'fillfactor = ' . one_of(60, 90, 100) . ', toast_tuple_target = ' . one_of(128, 2000) . ', parallel_workers = ' . one_of(0, 2, 2);
	my $definition = "r (i int, note int" . join('', map { ", c$_ $columns[$_]{type}" } 0 .. 2) . ')';
	my $values = join('', map { ", $columns[$_]{value}" } 0 .. 2);
	my @script;
	if ($kind eq 'PARTITIONED')
	{
		push @script, "CREATE TABLE $definition PARTITION BY HASH (i)",
		  map { "CREATE TABLE r$_ PARTITION OF r FOR VALUES WITH (MODULUS 3, REMAINDER $_) WITH ($options)" } 0 .. 2;
	}
	else
	{
		push @script, "CREATE $kind TABLE $definition WITH ($options)";
	}
	push @script, "INSERT INTO r SELECT i, 0$values FROM generate_series(1, $rows) i";
	# rows that were never there
	push @script, 'BEGIN', "INSERT INTO r SELECT i, 0$values FROM generate_series(100001, 100100) i", 'ROLLBACK' if rand() < 0.3;
	my $changes = join '', map {
		one_of(
			# chains of rows on one page, of which an index has the first one's place
			"UPDATE r SET note = note + 1 WHERE i % " . one_of(2, 3, 5) . " = 0;\n",
			"UPDATE r SET c" . int(rand 3) . " = NULL WHERE i % 5 = 0;\n",
			"DELETE FROM r WHERE i % 11 = 0;\n",
			"VACUUM r;\n",
			"INSERT INTO r SELECT i + 200000, note" . join('', map { ", c$_" } 0 .. 2) . " FROM r WHERE i % 4 = 0;\n",
			"BEGIN;\nUPDATE r SET note = -1 WHERE i % 3 = 1;\nROLLBACK;\n")
	} 1 .. int rand 5;
	return {
		columns => \@columns,
		kind => $kind,
		script => join('', map { "$_;\n" } @script),
		changes => $changes,
		# a session that still sees what changes have removed; it would not let an index be built concurrently
		old_snapshot => $kind ne 'TEMPORARY' && rand() < 0.3 };
}

# A definition of an index on a table, and conditions that the index answers.
sub random_index
{
	my ($table) = @_;
	my @places;
	my @keys;
	my @conditions;
	my @by_group;
	my $where = one_of('', '', '', 'i % 3 > 0', 'c1 IS NOT NULL');
	foreach (1 .. one_of(1, 1, 1, 2, 3))
	{
		my $place = int rand 3;
		push @places, $place;
		my $column = $table->{columns}[$place];
		my $key = one_of(@{ $column->{keys} });
		my $expression = ($key->{key} // '%s') =~ s/%s/c$place/gr;
		push @keys, (defined $key->{key} ? "($expression)" : $expression) . ' ' . ($key->{class} // '');
		push @by_group, scalar @keys if $key->{by_group} // ($column->{by_group} // '') eq '1';
		push @conditions, map { s/%s/$expression/r =~ s/%%/%/gr } @{ $key->{conditions} };
	}
	# of one column both may not hold, which the planner notices
	push @conditions, "$conditions[0] AND $conditions[-1]" if $places[0] != $places[-1];
	return {
		keys => join(', ', @keys),
		with => one_of('', ' WITH (fastupdate = off)'),
		where => $where eq '' ? '' : " WHERE $where",
		conditions => [ map { $where eq '' ? $_ : "($_) AND $where" } @conditions ],
		by_group => \@by_group };
}

sub random_settings
{
	my %settings = (
		maintenance_work_mem => one_of($major >= 18 ? '64kB' : '1MB', '1MB', '4MB', '64MB', '1GB'),
		max_parallel_maintenance_workers => one_of(0, 2),
		'gpusort.work_mem' => one_of('-1', '64kB', '150kB', '300kB'));
	return join '', map { "SET $_ = '$settings{$_}';\n" } sort keys %settings;
}

#
# Builds
#

# psql: a statement, and a line that tells how it ended.
sub reported
{
	my ($name, $statement) = @_;
	return "$statement;\n\\if :ERROR\n\\echo $name|:LAST_ERROR_MESSAGE\n\\else\n\\echo $name|built\n\\endif\n";
}

# psql: builds an index without gpusort, and with it in some way, and compares both.
sub build_script
{
	my ($table, $index) = @_;
	my @ways = ('CREATE', 'CREATE', 'CREATE', 'REINDEX INDEX', 'VACUUM FULL');
	push @ways, 'CLUSTER' if $table->{kind} ne 'PARTITIONED';
	push @ways, 'CREATE CONCURRENTLY', 'CREATE CONCURRENTLY', 'REINDEX INDEX CONCURRENTLY'
	  if $table->{kind} ne 'PARTITIONED' && !$table->{old_snapshot};
	my $way = one_of(@ways);
	my $concurrently = $way eq 'CREATE CONCURRENTLY' ? 'CONCURRENTLY' : '';
	my $definition = "ON r USING gin ($index->{keys})$index->{with}$index->{where}";
	my $log_workers = "SET client_min_messages = debug1;\n";
	my $script = random_settings() . $log_workers . "SET gpusort.enable = off;\n" . reported('core', "CREATE INDEX $concurrently built_core $definition");
	my $rebuild = random_settings() . 'SET gpusort.enable = on;';
	if ($way =~ /^CREATE/)
	{
		$script .= "$rebuild\n" . reported('gpusort', "CREATE INDEX $concurrently built_gpusort $definition");
	}
	else
	{
		my %statements = (
			'VACUUM FULL' => 'VACUUM FULL r',
			CLUSTER => 'CLUSTER r USING r_i',
			'REINDEX INDEX' => 'REINDEX INDEX built_gpusort',
			'REINDEX INDEX CONCURRENTLY' => 'REINDEX INDEX CONCURRENTLY built_gpusort');
		# what cannot be built by PostgreSQL cannot be rebuilt either
		$script .= "\\if :ERROR\n$rebuild\n" . reported('gpusort', "CREATE INDEX built_gpusort $definition") . "\\else\n";
		$script .= "CREATE INDEX r_i ON r (i);\n" if $way eq 'CLUSTER';
		$script .= "CREATE INDEX built_gpusort $definition;\n$rebuild\n" . reported('gpusort', $statements{$way});
		$script .= "DROP INDEX r_i;\n" if $way eq 'CLUSTER';
		# all indexes of the table have been built anew
		$script .= "SET gpusort.enable = off;\nREINDEX INDEX built_core;\n" if $way =~ /^(VACUUM|CLUSTER)/;
		$script .= "\\endif\n";
	}
	my $groups = "'{" . join(',', @{ $index->{by_group} }) . "}'";
	$script .= "RESET client_min_messages;\nSELECT count(*) = 2 both FROM pg_class WHERE relname IN ('built_core', 'built_gpusort') \\gset\n";
	$script .= "\\if :both\nSELECT 'difference|' || gin_difference('built_core', 'built_gpusort', $groups);\n";
	$script .= "SELECT 'checked|', gin_index_check(leaf) FROM unnest(ARRAY['built_core', 'built_gpusort']::regclass[]) i, leaves_of(i) leaf;\n"
	  if $major >= 18;
	$script .= "SELECT 'posting trees|' || sum(posting_trees) FROM leaves_of('built_gpusort') leaf, gin_shape(leaf);\n";
	$script .= "DROP INDEX built_core;\n";
	$script .= "SELECT 'query|' || found_difference('r', \$q\$$_\$q\$);\n" foreach @{ $index->{conditions} };
	return "$script\\endif\nSET client_min_messages = error;\nDROP INDEX IF EXISTS built_core, built_gpusort;\n";
}

# What is wrong with a build, from what psql has printed; counts what there was.
my %count = map { $_ => 0 } qw(built failed parallel rows queries trees);

sub problems_of
{
	my ($index, $out) = @_;
	my %results;
	push @{ $results{$1} }, $2 while $out =~ /^(core|gpusort|difference|checked|posting trees|query)\|(.*)$/gm;
	my ($core, $gpusort) = map { ($_->[0] // 'nothing') =~ s/built_(core|gpusort)/built/gr =~ s/\d+/N/gr } @results{ 'core', 'gpusort' };
	return "PostgreSQL: $core; gpusort: $gpusort" if $core ne $gpusort;
	if ($core ne 'built')
	{
		$count{failed}++;
		return $core =~ /index row size|can(not)? be (extracted|compared)/ ? () : $core;
	}
	$count{built}++;
	$count{trees}++ if ($results{'posting trees'}[0] // 0) > 0;
	my @problems = grep { $_ ne '' } @{ $results{difference} // ['not compared'] };
	push @problems, 'not checked' if $major >= 18 && @{ $results{checked} // [] } < 2;
	push @problems, 'a query failed' if @{ $results{query} // [] } != @{ $index->{conditions} };
	foreach my $query (@{ $results{query} // [] })
	{
		$count{queries}++;
		if ($query =~ /^found (\d+)$/) { $count{rows} += $1 }
		else { push @problems, $query }
	}
	return @problems;
}

# Draws a table and indexes on it; returns problems.
sub check_table
{
	my ($number, $nbuilds) = @_;
	srand($seed * 100000 + $number);
	my $table = random_table($number);
	my @indexes = map { random_index($table) } 1 .. $nbuilds;
	my @builds = map { build_script($table, $_) } @indexes;
	my $script = $table->{script};
	my $old;
	if ($table->{old_snapshot})
	{
		$node->safe_psql('postgres', $script);
		$old = $node->background_psql('postgres');
		$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
		$script = '';
	}
	$script .= $table->{changes} . "ANALYZE r;\n";
	$script .= "\\echo ==\n$_" foreach @builds;
	my ($status, $out, $err) = $node->psql('postgres', "${script}DROP TABLE r;\n", on_error_stop => 0);
	if ($old)
	{
		$old->query_safe('COMMIT');
		$old->quit;
	}
	$count{parallel} += () = $err =~ /building index "built_core.* with request for [1-9]\d* parallel worker/g;
	my ($before, @outs) = split /^==$/m, $out;
	my @problems;
	push @problems, 'the session ended' if $status == 2 || @outs != @builds;
	foreach my $i (0 .. $#builds)
	{
		push @problems, map { "$indexes[$i]{keys}$indexes[$i]{with}$indexes[$i]{where}: $_" } problems_of($indexes[$i], $outs[$i] // '');
	}
	diag("table $number (GIN_SEED=$seed GIN_TABLE=$number) with problems:\n@problems\nscript:\n$script\noutput:\n$out\nerrors:\n" . ($err =~ s/^.*(DEBUG|LOG): .*\n//gmr))
	  if @problems;
	return map { "table $number: $_" } @problems;
}

my @tables = defined $ENV{GIN_TABLE} ? $ENV{GIN_TABLE} : 1 .. ($builds + $builds_of_table - 1) / $builds_of_table;
note("GIN_SEED=$seed GIN_BUILDS=$builds");
my @problems = map { check_table($_, $builds_of_table) } @tables;
is(join("\n", @problems), '', "with seed $seed all indexes are like PostgreSQL's own");
note(join(', ', map { "$_: $count{$_}" } sort keys %count));
unless (defined $ENV{GIN_TABLE})
{
	cmp_ok($count{built}, '>', $builds / 2, 'of indexes that can be built');
	cmp_ok($count{rows}, '>', $builds * 100, 'and in which queries find rows');
	cmp_ok($count{trees}, '>', 0, 'some of them in posting trees');
	cmp_ok($count{parallel}, '>', 0, 'and some indexes are built in parallel by PostgreSQL') if $major >= 18;
}

#
# All statements that build indexes
#

# before 18 gpusort does not learn of a concurrent build, but builds some indexes whose relcache entry is still there
my $concurrent = $major >= 18 ? 1 : undef;

# A statement, how many indexes gpusort builds in it if that is known, what there is before, and the index's table, if that is another.
my $index = 'CREATE INDEX built ON s.t USING gin (a) WITH (fastupdate = off);';
my $view = "CREATE MATERIALIZED VIEW s.v AS SELECT * FROM s.t; CREATE INDEX built ON s.v USING gin (a);";
my $partitions = 'ALTER TABLE s.t RENAME TO t1; CREATE TABLE s.t (LIKE s.t1) PARTITION BY LIST (k); CREATE TABLE s.t2 (LIKE s.t1);'
  . 'INSERT INTO s.t2 SELECT i, 2, a FROM s.t1; ALTER TABLE s.t ATTACH PARTITION s.t1 FOR VALUES IN (1);';
my $second = 'ALTER TABLE s.t ATTACH PARTITION s.t2 FOR VALUES IN (2)';
my @statements = (
	[ 'CREATE INDEX built ON s.t USING gin (a)', 1 ],
	[ 'CREATE INDEX CONCURRENTLY built ON s.t USING gin (a)', $concurrent ],
	[ 'BEGIN; SAVEPOINT a; CREATE INDEX built ON s.t USING gin (a); ROLLBACK TO a; CREATE INDEX built ON s.t USING gin (a); COMMIT', 2 ],
	[ "DO \$\$BEGIN EXECUTE 'CREATE INDEX built ON s.t USING gin (a)'; END\$\$", 1 ],
	[ 'BEGIN; ALTER TABLE s.t ADD x int; CREATE INDEX built ON s.t USING gin (a); COMMIT', 1 ],
	[ 'REINDEX INDEX s.built', 1, $index ],
	[ 'REINDEX TABLE s.t', 1, $index ],
	[ 'REINDEX SCHEMA s', 1, $index ],
	[ 'REINDEX INDEX CONCURRENTLY s.built', $concurrent, $index ],
	[ 'REINDEX TABLE CONCURRENTLY s.t', $concurrent, $index ],
	[ 'BEGIN; REINDEX INDEX s.built; SAVEPOINT a; REINDEX TABLE s.t; ROLLBACK TO a; COMMIT', 2, $index ],
	[ 'TRUNCATE s.t; INSERT INTO s.t SELECT i, 1, ARRAY[i % 7, i] FROM generate_series(1, 500) i', 1, $index ],
	[ 'VACUUM FULL s.t', 1, $index ],
	[ 'CLUSTER s.t USING t_i', 1, $index ],
	[ 'ALTER TABLE s.t ALTER a TYPE bigint[]', 1, $index ],
	[ 'ALTER TABLE s.t ALTER i TYPE bigint', 1, $index ],
	[ 'ALTER TABLE s.t SET UNLOGGED', 1, $index ],
	[ 'ALTER TABLE s.t ADD x float DEFAULT random()', 1, $index ],
	[ 'REFRESH MATERIALIZED VIEW s.v', 1, $view, 's.v' ],
	[ 'CREATE INDEX built ON s.t USING gin (a)', 2, "$partitions $second;" ],
	[ $second, 1, "$partitions CREATE INDEX built ON s.t USING gin (a);" ],
	[ 'REINDEX INDEX s.built', 2, "$partitions $second; CREATE INDEX built ON s.t USING gin (a);" ]);

# A test: the index that a statement builds is like PostgreSQL's, and it is gpusort that builds it, or PostgreSQL.
sub check_statement
{
	my ($settings, $statement, $nbuilds, $before, $table) = @_;
	$table //= 's.t';
	$node->safe_psql('postgres', <<"SQL");
SET gpusort.enable = off;
CREATE SCHEMA s;
CREATE TABLE s.t AS SELECT i, 1 k, ARRAY[i % 5, i % 50, i] a FROM generate_series(1, 1000) i;
CREATE INDEX t_i ON s.t (i);
@{[ $before // '' ]}
SQL
	my $count = $node->counter('indexes_inverted');
	$node->safe_psql('postgres', "$settings;\n$statement;\n");
	my $built = $node->counter('indexes_inverted') - $count;
	if (defined $nbuilds) { is($built, $nbuilds, "$settings; $statement: $nbuilds builds by gpusort") }
	else { note("$settings; $statement: $built builds by gpusort") }
	is($node->safe_psql('postgres', <<"SQL"), '', "$settings; $statement: an index like PostgreSQL's");
SET gpusort.enable = off;
CREATE INDEX by_core ON $table USING gin (a);
SELECT gin_difference('s.built', 's.by_core', '{}', false);
SET client_min_messages = error;
DROP SCHEMA s CASCADE;
SQL
}

check_statement('SET gpusort.enable = on', @$_) foreach @statements;
check_statement('SET gpusort.enable_index_build = off', $_->[0], 0, @{$_}[ 2 .. $#$_ ]) foreach @statements[ 0, 5 ];
# caches are emptied whenever they may be
if ($node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on')
{
	check_statement('SET debug_discard_caches = 1', @$_) foreach @statements;
}

#
# Workers
#

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION restricted(int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1; END';
CREATE TABLE shared AS SELECT i, ARRAY[i % 7, i] a FROM generate_series(1, 10000) i;
SQL
my $divided = 'ALTER TABLE shared SET (parallel_workers = 2)';
my $create = 'CREATE INDEX ON shared USING gin';
foreach (
	[ 1, "SET maintenance_work_mem = '64MB'; $create (a)" ],
	[ 0, "SET maintenance_work_mem = '63MB'; $create (a)" ],
	[ 2, "$divided; SET maintenance_work_mem = '1MB'; $create (a)" ],
	[ 1, "$divided; SET max_parallel_maintenance_workers = 1; $create (a)" ],
	[ 0, "$divided; SET max_parallel_maintenance_workers = 0; $create (a)" ],
	[ 0, "$divided; $create (restricted(a))" ],
	[ 0, "$divided; $create (a) WHERE restricted(a) IS NOT NULL" ],
	[ 2, "BEGIN; $divided; SAVEPOINT a; UPDATE shared SET a = '{}' WHERE i = 1; $create (a); COMMIT" ],
	[ 0, "CREATE TEMPORARY TABLE shared WITH (parallel_workers = 2) AS SELECT * FROM public.shared; $create (a)" ])
{
	my ($workers, $statement) = @$_;
	my $before = $node->counter('index_workers');
	$node->safe_psql('postgres', $statement);
	is($node->counter('index_workers') - $before, $workers, "$workers workers: $statement");
}
$node->safe_psql('postgres', 'DROP TABLE shared');

#
# High trees
#

$node->safe_psql('postgres', <<'SQL');
-- one key in all rows, two in half of them, and one in each
CREATE TABLE large WITH (parallel_workers = 2) AS SELECT i, ARRAY[0, i % 2 - 2, i] a FROM generate_series(1, 100000) i;
-- keys of which a page has few
CREATE TABLE wide WITH (parallel_workers = 2) AS
SELECT i, ARRAY(SELECT (SELECT string_agg(md5(key || ' ' || j), '' ORDER BY j) FROM generate_series(1, 40) j) COLLATE "C" FROM generate_series(i, i + 1) key) a
FROM generate_series(1, 3000) i;
ANALYZE large, wide;
SQL
my %least = (large => 'entry_levels >= 2 AND posting_trees = 3 AND posting_levels >= 2', wide => 'entry_levels >= 4');
foreach my $table (sort keys %least)
{
	# a description for each name
	my %names;
	my $script = '';
	my $build = sub {
		my ($name, $enable, $workers, $memory) = @_;
		$names{$name} = "$table, gpusort.enable = $enable, $workers workers, $memory";
		$script .= "SET gpusort.enable = $enable;\nSET max_parallel_maintenance_workers = $workers;\nSET maintenance_work_mem = '$memory';\n"
		  . "CREATE INDEX $name ON $table USING gin (a);\n";
	};
	$build->('serial', 'off', 0, '64MB');
	foreach my $memory (1, 64)
	{
		$build->("by_core_$memory", 'off', 2, "${memory}MB");
		$build->("by_gpusort_${memory}_$_", 'on', $_, "${memory}MB") foreach 0, 2;
	}
	my ($status, undef, $err) = $node->psql('postgres', "SET client_min_messages = debug1;\n$script");
	is($status, 0, "all indexes on $table are built");
	my $divided = () = $err =~ /gpusort: dividing terms into \d+ buckets/g;
	note("$table: terms are divided $divided times");
	cmp_ok($divided, '>', 0, 'terms with few rows are divided by processes with little memory') if $table eq 'large' && $major >= 18;
	foreach my $name (grep { $_ ne 'serial' } sort keys %names)
	{
		$node->safe_psql('postgres', "SELECT gin_index_check('$name')") if $major >= 18;
		is($node->safe_psql('postgres', "SELECT gin_difference('serial', '$name'), $least{$table} FROM gin_shape('$name')"), '|t', $names{$name});
		note($node->safe_psql('postgres', "SELECT gin_shape('$name')"));
	}
	$node->safe_psql('postgres', 'DROP INDEX ' . join(', ', grep { $_ ne 'by_gpusort_64_2' } sort keys %names));
	if ($table eq 'large')
	{
		foreach my $condition ("a OPERATOR(pg_catalog.@>) '{0}'", "a OPERATOR(pg_catalog.&&) '{-1, 77777, 99}'", "a OPERATOR(pg_catalog.@>) '{-2, 77778}'", "a = '{0, -1, 5}'")
		{
			like($node->safe_psql('postgres', "SELECT found_difference('large', \$q\$$condition\$q\$)"), qr/^found [1-9]/, "queries of posting trees: $condition");
		}
	}
	$node->safe_psql('postgres', "DROP TABLE $table");
}

#
# Terms that are divided, though it is of little use
#

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE repeating WITH (parallel_workers = 0) AS
SELECT array_fill(repeat(md5(i::text), 10) COLLATE "C", ARRAY[100]) a FROM generate_series(1, 15000) i;
-- the first rows have other terms than the rest
CREATE TABLE changing WITH (parallel_workers = 0) AS
SELECT ARRAY[i, -i] a FROM generate_series(1, 20000) i UNION ALL SELECT ARRAY(SELECT generate_series(1, 40)) FROM generate_series(1, 30000);
ANALYZE repeating, changing;
SQL

sub temporary_bytes { return $node->safe_psql('postgres', "SELECT temp_bytes FROM pg_stat_database WHERE datname = 'postgres'") }

my %most_bytes = (repeating => 30e6, changing => 12e6);
foreach my $table (sort keys %most_bytes)
{
	my $before = temporary_bytes();
	my ($status, undef, $err) = $node->psql('postgres', "SET client_min_messages = debug1; SET maintenance_work_mem = '1MB'; SET max_parallel_maintenance_workers = 0;"
		  . " CREATE INDEX by_gpusort ON $table USING gin (a);");
	like($err, qr/gpusort: dividing terms into/, "terms of $table rows are divided");
	# statistics may come late
	ok($node->poll_query_until('postgres', "SELECT temp_bytes > $before FROM pg_stat_database WHERE datname = 'postgres'"), 'which takes temporary files');
	my $bytes = temporary_bytes() - $before;
	cmp_ok($bytes, '<', $most_bytes{$table}, 'but not large ones') or diag("$bytes bytes");
	is($node->safe_psql('postgres', "SET gpusort.enable = off; CREATE INDEX by_core ON $table USING gin (a); SELECT gin_difference('by_core', 'by_gpusort')"), '',
		'the index is like PostgreSQL\'s own');
	$node->safe_psql('postgres', "DROP TABLE $table");
}

#
# Indexes that become empty, and are filled
#

is($node->safe_psql('postgres', <<'SQL'), "0\n|1\n\nfound 3000", 'an index that has been truncated is empty, can be filled, and is like one that is built then');
SET gpusort.enable = on;
CREATE TABLE emptied AS SELECT i, ARRAY[i % 7, i % 100, i] a FROM generate_series(1, 3000) i;
CREATE INDEX filled ON emptied USING gin (a) WITH (fastupdate = off);
BEGIN;
TRUNCATE emptied;
SELECT count(*) FROM gin_contents('filled');
CREATE INDEX empty_too ON emptied USING gin (a);
SELECT gin_difference('filled', 'empty_too'), entry_leaves FROM gin_shape('empty_too');
DROP INDEX empty_too;
COMMIT;
INSERT INTO emptied SELECT i, ARRAY[i % 7, i % 100, i] FROM generate_series(1, 3000) i;
CREATE INDEX built_then ON emptied USING gin (a);
-- of inserts the metapage knows nothing
SELECT gin_difference('filled', 'built_then', '{}', false);
DROP INDEX filled;
SELECT found_difference('emptied', $$a OPERATOR(pg_catalog.&&) '{0,1,2,3,4,5,6}'$$);
SQL

#
# Long keys
#

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE long_keys AS SELECT i, ARRAY[repeat('x', 45000) || i % 5, repeat('y', 30000) || i % 100, 'z' || i] a FROM generate_series(1, 1000) i;
ALTER TABLE long_keys SET (parallel_workers = 2);
ANALYZE long_keys;
SQL
foreach my $workers (0, 2)
{
	is($node->safe_psql('postgres', <<"SQL"), "0\n|1\nfound 200", "keys that only compression makes short enough, with $workers workers");
SET max_parallel_maintenance_workers = $workers;
SET maintenance_work_mem = '1MB';
SET gpusort.enable = off;
CREATE INDEX long_core ON long_keys USING gin (a);
SET gpusort.enable = on;
CREATE INDEX long_gpusort ON long_keys USING gin (a);
SELECT count(*) FROM gin_contents('long_gpusort') WHERE tids IS NULL;
SELECT gin_difference('long_core', 'long_gpusort'), 1;
SELECT found_difference('long_keys', \$\$a OPERATOR(pg_catalog.\@>) ARRAY[repeat('x', 45000) || 3]\$\$);
DROP INDEX long_core, long_gpusort;
SQL
}

#
# A function that changes where full memory goes
#

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION limited(int, text) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF $1 = 20000 THEN
		PERFORM set_config('temp_file_limit', $2, false);
	END IF;
	RETURN ARRAY[$1, $1 % 7];
END$$;
CREATE TABLE numbered AS SELECT i, ARRAY[i, i % 7] a FROM generate_series(1, 40000) i;
SQL
$node->psql('postgres', "SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '1MB'; "
	  . "CREATE INDEX less_space ON numbered USING gin ((limited(i, '0')))", stderr => \my $error);
like($error, qr/temporary file size exceeds/, 'no temporary file is allowed any more: an error, and no index of half the rows');
is($node->safe_psql('postgres', <<'SQL'), '', 'a file is allowed again: all rows are in the index');
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '1MB';
SET temp_file_limit = 0;
CREATE INDEX more_space ON numbered USING gin ((limited(i, '-1')));
SET temp_file_limit = -1;
CREATE INDEX of_column ON numbered USING gin (a);
SELECT gin_difference('more_space', 'of_column');
SQL

#
# Who has built them
#

cmp_ok($node->counter('indexes_inverted'), '>=', $count{built}, 'gpusort has built all that it was to build');

$node->stop;
done_testing();
