# The queries of the generator.
# Each query is a script for psql whose whole output is the same on both sides. As rows with equal keys may come in
# any order, a script prints
#	- where the order is total: the rows, or a digest of them, in sequence;
#	- where it is not: a digest of the rows as a set, and how many of them come
#	  out of order, which has to be none;
#	- where rows are made of many that are equal, as by DISTINCT: their
#	  canonical text.
package Queries;
use strict;
use warnings;
use Draw;
use Types;
use Keys;
use Exporter 'import';

our @EXPORT = qw(draw_query draw_settings draw_server_caps);

# ---- what is printed of a query's rows

# A digest of the rows of a query in the sequence in which they come. The window keeps the aggregate in one process,
# after the sort.
sub digest_of_sequence
{
	my ($query) = @_;
	my $digest = "count(*), md5(string_agg(r, '|'))";

	return "WITH q AS MATERIALIZED ($query) SELECT $digest FROM (SELECT q::text r, row_number() OVER () n FROM q) w;\n" if chance(0.3);
	return "SELECT $digest FROM (SELECT q::text r, row_number() OVER () n FROM ($query) q) w;\n" if chance(0.6) || $query =~ /^SELECT  FROM/;
	return digest_alone($query);
}

# The same for a query that is not a part of another one, sometimes in the middle of subtransactions.
sub digest_alone
{
	my ($query) = @_;
	my $failing = chance(0.3) ? ' BEGIN n := n + 1 / (n % 50 - 7); EXCEPTION WHEN division_by_zero THEN NULL; END;' : '';
	return <<"SQL";
DO \$\$
DECLARE
	r record;
	n integer := 0;
	digest text := '';
BEGIN
	FOR r IN $query LOOP
		n := n + 1;
		digest := md5(digest || r::text);$failing
	END LOOP;
	RAISE NOTICE '% rows: %', n, digest;
END \$\$;
SQL
}

sub digest_of_set
{
	my ($query) = @_;
	# all rows of which come to one process
	$query .= ' OFFSET 0' if $query !~ /LIMIT|OFFSET|FETCH/ && chance(0.3);
	return "SELECT count(*), sum(hashtextextended(q::text, 0)::numeric) FROM ($query) q;\n";
}

# ---- kinds of queries

# ORDER BY keys that leave ties.
sub ordered
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @keys = draw_keys($source);
	my (@outputs, @order, @compared);

	foreach my $i (1 .. @keys)
	{
		my $key = $keys[ $i - 1 ];
		push @outputs, "$key->{sql} AS k$i";
		push @order, pick($key->{sql}, "k$i", $i) . $key->{order};
		push @compared, "k$i", "lag(k$i) OVER () p$i";
	}
	my $query = 'SELECT ' . join(', ', @outputs) . ', ' . output_columns($source) . " FROM $source->{from} ORDER BY " . join(', ', @order);
	my $compared = join ', ', @compared;
	my $is_out_of_order = is_out_of_order(@keys);
	my $digest = "count(*), sum(hashtextextended(r, 0)::numeric), 'out of order: ' || count(*) FILTER (WHERE n > 1 AND $is_out_of_order)";

	return "WITH q AS MATERIALIZED ($query) SELECT $digest FROM (SELECT q::text r, row_number() OVER () n, $compared FROM q) w;\n" if chance(0.3);
	return "SELECT $digest FROM (SELECT q::text r, row_number() OVER () n, $compared FROM ($query) q) w;\n";
}

sub draw_total_query
{
	my ($tables, $source) = @_;
	$source //= draw_source($tables);
	my $order = total_order($source, draw_keys($source));
	my $outputs = chance(0.05) ? '' : output_columns($source);
	return "SELECT $outputs FROM $source->{from} $order";
}

sub draw_limit
{
	my ($size) = @_;
	my $limit = chance(0.7) ? pick(' LIMIT ', ' FETCH FIRST ') . between(0, $size + 1) : '';
	$limit .= pick(' ROWS ONLY', ' ROWS WITH TIES') if $limit =~ /FETCH/;
	my $offset = chance(0.5) ? ' OFFSET ' . between(0, $size + 1) : '';
	return $limit =~ /FETCH/ ? $offset . $limit : $limit . $offset;
}

sub ordered_totally
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	return digest_of_sequence(draw_total_query($tables, $source) . (chance(0.5) ? draw_limit($source->{size}) : ''));
}

sub with_ties
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @keys = draw_keys($source);
	my $count = between(1, $source->{size} + 1);
	return digest_of_set('SELECT ' . output_columns($source) . " FROM $source->{from} " . order_by(@keys) . " FETCH FIRST $count ROWS WITH TIES");
}

# The first rows by another collation than the column's; the column is emitted, too.
sub collated
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my ($column) = pick_some(1, grep { $_->{type}{collatable} } @{ $source->{columns} });

	return ordered_totally($tables) unless $column;
	my %key = (sql => "$column->{sql} COLLATE " . pick(collations_of($column->{type})), order => pick('', ' DESC'), type => $column->{type});
	my $outputs = join ', ', map { "$_ AS o" . ($_ =~ s/\W/_/gr) } shuffled($column->{sql}, @{ $source->{ids} });
	return digest_alone("SELECT $outputs FROM $source->{from} " . total_order($source, \%key) . draw_limit($source->{size}));
}

sub canonical_columns
{
	my @keys = @_;
	return join ', ', map { canonical($keys[ $_ - 1 ]{type}, $keys[ $_ - 1 ]{collation}, "k$_") . " AS d$_" } 1 .. @keys;
}

sub distinct
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @keys = draw_keys($source, 3);

	# the first row of each group
	return digest_of_sequence('SELECT DISTINCT ON (' . join(', ', map { $_->{sql} } @keys) . ') ' . join(', ', @{ $source->{ids} })
		  . " FROM $source->{from} " . total_order($source, map { { %$_, type => {} } } @keys)) if chance(0.4);

	my $columns = join ', ', map { "$keys[$_ - 1]{sql} AS k$_" } 1 .. @keys;
	my $order = chance(0.5) ? ' ORDER BY ' . join(', ', map { $_ . $keys[ $_ - 1 ]{order} } shuffled(1 .. @keys)) : '';
	return digest_of_set('SELECT ' . canonical_columns(@keys) . " FROM (SELECT DISTINCT $columns FROM $source->{from}$order) d");
}

# Columns that the tables t, p and u have alike.
sub common_columns
{
	my ($tables) = @_;
	return grep { $_->{name} =~ /^c/ } @{ $tables->{u}{columns} };
}

sub set_operation
{
	my ($tables) = @_;
	my @columns = pick_some(between(1, 3), common_columns($tables));
	my $list = join ', ', map { "$columns[$_ - 1]{name} AS k$_" } 1 .. @columns;
	my @names = pick_some(3, 't', 'u', 'p');
	my $input = sub { "SELECT " . (chance(0.1) ? 'DISTINCT ' : '') . "$list FROM $_[0]" . (chance(0.2) ? " WHERE $columns[0]{name} IS NOT NULL" : '') };
	my $query = $input->($names[0]);

	foreach my $name ($names[1], chance(0.3) ? $names[2] : ())
	{
		$query .= pick(' UNION ', ' UNION ALL ', ' INTERSECT ', ' INTERSECT ALL ', ' EXCEPT ', ' EXCEPT ALL ') . $input->($name);
	}
	$query .= ' ORDER BY ' . join(', ', map { $_ . pick('', ' DESC', ' NULLS FIRST') } 1 .. @columns) if chance(0.5);
	my @keys = map { { type => $_->{type}, collation => $_->{collation} } } @columns;
	return digest_of_set('SELECT ' . canonical_columns(@keys) . " FROM ($query) d");
}

# Aggregates of groups, of the same result in any order.
sub draw_aggregates
{
	my ($source) = @_;
	my $id = $source->{ids}[0];
	my $other = draw_key($source, plain => 1);
	my @aggregates = ('count(*)', "sum($id)", "min($id)", "max($id)");

	push @aggregates, pick_some(3, "count($other->{sql})", "count(*) FILTER (WHERE $id % 3 > 0)", "avg($id)", "sum($id) FILTER (WHERE $id > 50)", "sum(${id}::numeric) + avg(${id}::numeric)",
		"max($id % 7)", "stddev(${id}::bigint)", "bit_xor($id)", "length(string_agg(${id}::text, ','))", "jsonb_array_length(jsonb_agg($id))", "range_agg(int4range($id, $id + 2))")
	  if chance(0.5);
	push @aggregates, "count(DISTINCT $other->{sql})" if chance(0.3);
	push @aggregates, "array_agg($id ORDER BY $other->{sql}$other->{order}, " . join(', ', @{ $source->{ids} }) . ')' if chance(0.3);
	return join ', ', map { "$aggregates[$_] AS a$_" } 0 .. $#aggregates;
}

sub draw_having
{
	my ($id, @more) = @_;
	return chance(0.2) ? ' HAVING ' . pick('count(*) > 1', "sum($id) % 2 = 0 AND min($id) > 3", "avg($id) < 1000", "max($id) > (SELECT 5)", @more) : '';
}

# Groups by keys. A group shows its contents, as it may show any of several equal keys.
sub grouped
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @keys = draw_keys($source, 3);
	my $expressions = join ', ', map { $_->{sql} } @keys;
	my $grouping = chance(0.75) ? $expressions
	  : pick("ROLLUP ($expressions)", "CUBE ($expressions)", "GROUPING SETS (($expressions), ($keys[0]{sql}), ())", "DISTINCT ROLLUP ($expressions), GROUPING SETS ((), ($keys[0]{sql}))");

	return digest_of_set('SELECT ' . draw_aggregates($source) . " FROM $source->{from} GROUP BY $grouping" . draw_having($source->{ids}[0]));
}

# Grouping sets that one order serves: each has the first of the keys.
sub draw_sets
{
	my (@expressions) = @_;
	my $list = sub { join ', ', @expressions[ $_[0] .. $_[1] - 1 ] };
	my $count = @expressions;
	my $part = below($count) + 1;

	return 'ROLLUP (' . $list->(0, $count) . ')' if chance(0.3);
	return 'ROLLUP ((' . $list->(0, $part) . ')' . ($part < $count ? ', ' . $list->($part, $count) : '') . ')' if chance(0.3);
	return $list->(0, $part) . ($part < $count ? ', ROLLUP (' . $list->($part, $count) . ')' : ', GROUPING SETS ((), ())') if chance(0.3);
	my @sets = map { '(' . join(', ', shuffled(@expressions[ 0 .. $_ - 1 ])) . ')' } $count, map { below($count + 1) } 1 .. between(1, 4);
	return 'GROUPING SETS (' . join(', ', shuffled(@sets)) . ')';
}

# The same with sets of the keys. A key shows whether it is NULL, or all of itself if equal ones are the same.
sub grouped_by_sets
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @keys = draw_keys($source, 4);
	my @expressions = map { $_->{sql} } @keys;
	my $where = chance(0.1) ? ' WHERE ' . $source->{ids}[0] . pick(' < 0', ' < 9', ' IS NULL') : '';
	my $grouping = 'grouping(' . join(', ', shuffled(@expressions)) . ')';
	my $columns = join ', ', map { "$expressions[$_ - 1] AS k$_" } 1 .. @keys;
	my $query = "SELECT $columns, $grouping AS sets, row(" . (draw_aggregates($source) =~ s/ AS a\d+//gr) . ") AS results FROM $source->{from}$where GROUP BY " . draw_sets(@expressions)
	  . draw_having($source->{ids}[0], "$grouping % 2 = 1");

	return digest_of_set('SELECT ' . canonical_columns(@keys) . ", sets, results FROM ($query) d");
}

sub window
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my $ids = join ', ', @{ $source->{ids} };
	my $id = $source->{ids}[0];
	my (@outputs, @windows);

	foreach my $i (1 .. pick(1, 1, 2, 3))
	{
		my @partition = chance(0.6) ? draw_plain_keys($source, 2) : ();
		my @keys = draw_keys($source, 2);
		my $partition = @partition ? 'PARTITION BY ' . join(', ', map { $_->{sql} } @partition) . ' ' : '';

		if (chance(0.5))
		{
			# the same for all rows with equal keys
			push @windows, "w$i AS ($partition" . order_by(@keys) . ')';
			push @outputs, map { "$_ OVER w$i" } pick_some(3, 'rank()', 'dense_rank()', 'percent_rank()', 'cume_dist()', 'count(*)', "sum($id)", "min($id)");
			push @outputs, "count(*) OVER (w$i GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE " . pick('GROUP', 'NO OTHERS') . ')' if chance(0.4);
		}
		else
		{
			push @windows, "w$i AS ($partition" . total_order($source, @keys) . ')';
			push @outputs, map { "$_ OVER w$i" } pick_some(3, 'row_number()', 'ntile(4)', "lag($id)", "lead($id, 2, 0)", "first_value($id)", "last_value($id)", "nth_value($id, 3)", "sum($id)");
			push @outputs, "sum($id) OVER (w$i ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)" if chance(0.4);
		}
	}
	return digest_of_set("SELECT $ids AS i, " . join(', ', map { "$outputs[$_] AS f$_" } 0 .. $#outputs) . " FROM $source->{from} WINDOW " . join(', ', @windows)) if @{ $source->{ids} } == 1;
	return digest_of_set('SELECT ' . join(', ', map { "$outputs[$_] AS f$_" } 0 .. $#outputs) . " FROM $source->{from} WINDOW " . join(', ', @windows));
}

# The first rows of each group: windows that count rows, ranks or peers, beside functions that look at other rows.
sub first_rows_of_groups
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @partition = draw_plain_keys($source, 2);
	my @keys = draw_keys($source, 2);
	my $total = chance(0.5);
	my $function = $total ? pick('row_number()', 'rank()', 'dense_rank()') : pick('rank()', 'dense_rank()');
	my $limit = chance(0.3) ? '(SELECT ' . between(0, 6) . ')' : between(0, 6);
	my $condition = chance(0.7) ? 'n ' . pick('<', '<=', '=') . " $limit" : "$limit " . pick('>', '>=') . ' n';
	my $frame = pick('', '', '', ' ROWS UNBOUNDED PRECEDING', ' ROWS BETWEEN 1 PRECEDING AND CURRENT ROW', ' GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW', ' ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING');
	my ($id) = @{ $source->{ids} };
	my $other = pick('', '', ', generate_series(1, 2) AS o', ', count(*) OVER w AS o', ', ' . ($total ? "lag($id) OVER w AS o" : "max($id) OVER (PARTITION BY " . $partition[0]{sql} . ') AS o'));
	# a frame of rows may have any of several peers
	$frame = '' if !$total && $frame =~ /ROWS/;

	my $ids = join ', ', map { "$source->{ids}[$_] AS i$_" } 0 .. $#{ $source->{ids} };
	return digest_of_set("SELECT * FROM (SELECT $ids, $function OVER w AS n$other FROM $source->{from} WINDOW w AS (PARTITION BY "
		  . join(', ', map { $_->{sql} } @partition) . ' ' . ($total ? total_order($source, @keys) : order_by(@keys)) . "$frame)) s WHERE $condition");
}

# Windows of rows that are the first ones in an order, also in that order.
sub window_of_first_rows
{
	my ($tables) = @_;
	my ($from, $order) = draw_first_rows($tables->{ pick('t', 'u') });
	my $window = pick('', '', $order, 'PARTITION BY g', "PARTITION BY g $order");
	my @functions = pick_some(2, 'count(*)', 'sum(id)', 'min(g)', 'max(id)', $window =~ /ORDER/ ? ('rank()', 'dense_rank()') : ());
	my $query = 'SELECT *, ' . join(', ', map { "$functions[$_] OVER ($window) AS f$_" } 0 .. $#functions) . " FROM $from";

	return chance(0.3) ? digest_of_set("SELECT * FROM ($query) w WHERE f0 < " . between(1, 100)) : digest_of_set($query);
}

# Merge joins, if the planner can be brought to them; with duplicates they go back to marks.
sub merge_join
{
	my ($tables) = @_;
	my @columns = pick_some(between(1, 2), common_columns($tables));
	my $left = limited($tables->{ pick('t', 'p') }, 'a', 300);
	my $right = limited($tables->{u}, 'b', 100);
	my $condition = join ' AND ', map { "a.$_->{name} = b.$_->{name}" } @columns;
	my $settings = "SET enable_hashjoin = off;\nSET enable_nestloop = off;\n" . (chance(0.5) ? "SET enable_material = off;\n" : '');
	my $kind = pick('JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'EXISTS', 'NOT EXISTS', 'three');

	$condition .= ' AND a.g = b.g' if chance(0.3);
	return $settings . digest_of_set("SELECT a.id FROM $left->{from} WHERE $kind (SELECT FROM $right->{from} WHERE $condition)") if $kind =~ /EXISTS/;
	return $settings . digest_of_set("SELECT a.id, b.id AS i, c.id AS j FROM $left->{from} JOIN $right->{from} ON $condition LEFT JOIN "
		  . "(SELECT DISTINCT ON (g) * FROM u ORDER BY g, id) c ON c.g = b.g") if $kind eq 'three';
	$condition .= ' AND a.id > b.id' if $kind ne 'FULL JOIN' && chance(0.2);
	return $settings . digest_of_set("SELECT a.id, b.id AS i" . (chance(0.3) ? ', a AS r, b AS s' : '') . " FROM $left->{from} $kind $right->{from} ON $condition");
}

sub cursor
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my $hold = chance(0.2);
	my $size = $source->{size} + 2;
	my $script = 'BEGIN;' . "\nDECLARE c " . (chance(0.85) ? 'SCROLL ' : 'NO SCROLL ') . 'CURSOR' . ($hold ? ' WITH HOLD' : '') . ' FOR ' . draw_total_query($tables, $source) . ";\n";

	foreach my $step (1 .. between(1, 8))
	{
		my $move = pick('NEXT', 'PRIOR', 'FIRST', 'LAST', 'ABSOLUTE ' . between(-$size, $size), 'RELATIVE ' . between(-5, 5),
			'FORWARD ' . between(0, 7), 'BACKWARD ' . between(0, 7), 'FORWARD 7', 'BACKWARD 7');
		# sorts begin with the first row that is fetched, and last longer than a subtransaction
		my $savepoint = chance(0.15) && !($hold && $step > 2);
		$script .= "SET gpusort.enable = off;\n" if chance(0.03);
		$script .= "SAVEPOINT s;\n" if $savepoint;
		$script .= pick('FETCH', 'FETCH', 'MOVE') . " $move FROM c;\n";
		$script .= pick('RELEASE', 'ROLLBACK TO') . " SAVEPOINT s;\n" if $savepoint;
		# all rows are too many to print
		$script .= 'MOVE ' . pick('FORWARD ALL', 'BACKWARD ALL') . " FROM c;\n" if chance(0.1);
		if ($hold && $step == 2)
		{
			$script .= "COMMIT;\n";
		}
	}
	return $script . ($hold ? "CLOSE c;\n" : '') . "ROLLBACK;\n";
}

sub prepared
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @keys = draw_keys($source);
	my $id = $source->{ids}[0];
	my $query = 'SELECT ' . join(', ', @{ $source->{ids} }) . ", \$2 AS given FROM $source->{from} WHERE $id % 10 <> \$1 AND a.g <> \$2 " . total_order($source, @keys);
	my $mode = pick('auto', 'force_generic_plan', 'force_custom_plan');
	my $script = "SET plan_cache_mode = $mode;\n";
	# with NULL a custom plan knows that there are no rows, and meets no error of a generic plan; costs decide which
	# of the two runs
	my @groups = (0 .. 6, ('NULL') x ($mode ne 'auto'));

	$query .= ' LIMIT $3' if chance(0.3);
	$script .= 'PREPARE s (integer, integer' . ($query =~ /\$3/ ? ', integer' : '') . ") AS SELECT count(*), md5(string_agg(r, '|')) FROM (SELECT q::text r, row_number() OVER () n FROM ($query) q) w;\n";
	foreach (1 .. pick(1, 3, 7))
	{
		# a plan that was made with GpuSort has to work without
		$script .= "SET gpusort.enable = off;\n" if chance(0.1);
		$script .= 'EXECUTE s (' . below(10) . ', ' . pick(@groups) . ($query =~ /\$3/ ? ', ' . pick('NULL', between(0, $source->{size})) : '') . ");\n";
		$script .= "SET gpusort.enable = {enable};\n" if chance(0.2);
	}
	return $script;
}

# Sorts that are done anew for each row around them.
sub subplan
{
	my ($tables) = @_;
	my $outer = limited($tables->{ pick('t', 'p') }, 'a', 25);
	my $inner = limited($tables->{u}, 'b', 400);
	my @keys = draw_keys($inner, 3);
	my $order = total_order($inner, @keys);
	my $condition = pick('b.g = a.g', 'b.id % 5 = a.id % 5', 'b.id > a.id', 'true', 'b.g >= a.g');
	my $limit = chance(0.5) ? ' LIMIT ' . between(1, 30) : '';

	return digest_of_set(pick(
		"SELECT a.id, ARRAY(SELECT b.id FROM $inner->{from} WHERE $condition $order$limit) AS list FROM $outer->{from}",
		"SELECT a.id, (SELECT b.id FROM $inner->{from} WHERE $condition $order LIMIT 1 OFFSET 1) AS one FROM $outer->{from}",
		"SELECT a.id, l.* FROM $outer->{from} LEFT JOIN LATERAL (SELECT b.id AS i, a.g + b.g AS h FROM $inner->{from} WHERE $condition $order$limit) l ON true",
		"SELECT a.id FROM $outer->{from} WHERE a.id IN (SELECT b.id FROM $inner->{from} WHERE $condition $order OFFSET 1)",
		"SELECT a.id, l.* FROM $outer->{from}, LATERAL (SELECT row_number() OVER ($order) AS n, b.id AS i FROM $inner->{from} WHERE $condition) l",
		"SELECT a.id, l.* FROM $outer->{from}, LATERAL (SELECT count(*), min(n) FROM (SELECT dense_rank() OVER (" . order_by(@keys) . ") AS n FROM $inner->{from} WHERE $condition) s) l"));
}

sub recursive
{
	my ($tables) = @_;
	my $source = limited($tables->{ pick('t', 'u') }, 'a', 60);
	my $order = total_order($source, draw_keys($source, 2));
	my $last = total_order($source, draw_keys($source, 2));

	return digest_of_sequence("WITH RECURSIVE r (id, depth) AS ((SELECT a.id, 1 FROM $source->{from} $order LIMIT 5) UNION ALL "
		  . "SELECT l.id, r.depth + 1 FROM r, LATERAL (SELECT a.id FROM $source->{from} WHERE a.id > r.id $order LIMIT 2) l WHERE r.depth < 4) "
		  . "SELECT r.depth, r.id FROM r JOIN $source->{from} ON a.id = r.id $last, r.depth");
}

# Rows that are stored in the order in which they come.
sub stored
{
	my ($tables) = @_;
	my $query = draw_total_query($tables) =~ s/^SELECT  FROM/SELECT 1 AS one FROM/r;
	my $read = "SET LOCAL max_parallel_workers_per_gather = 0;\nSELECT count(*), md5(string_agg(r, '|')) FROM (SELECT s::text r, row_number() OVER () n FROM stored s) w;\n";

	return "BEGIN;\nSET LOCAL synchronize_seqscans = off;\n" . pick(
		"CREATE TEMPORARY TABLE stored AS $query;\n",
		"CREATE TEMPORARY TABLE stored AS SELECT * FROM ($query) q;\n",
		"CREATE TEMPORARY TABLE stored AS SELECT * FROM ($query) q LIMIT 0;\nINSERT INTO stored $query;\n",
		"CREATE MATERIALIZED VIEW stored AS $query;\n",
		"CREATE MATERIALIZED VIEW stored AS $query WITH NO DATA;\nREFRESH MATERIALIZED VIEW stored;\n",
		"CREATE VIEW stored AS $query;\n") . $read . "ROLLBACK;\n";
}

sub copied
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	return 'COPY (' . draw_total_query($tables, $source) . ($source->{size} > 500 ? ' OFFSET ' . ($source->{size} - 100) : '') . ") TO STDOUT;\n";
}

sub aggregated
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my @keys = draw_keys($source, 2);
	my $key = $keys[0];
	my $other = draw_key($source, plain => 1);
	my $ids = join " || '/' || ", map { "$_\::text" } @{ $source->{ids} };
	my $total = total_order($source, map { { %$_ } } @keys);
	my $group = chance(0.5) ? ' GROUP BY a.g' : '';
	my $distinct = canonical($key->{type}, $key->{collation}, 'x');

	return digest_of_set(pick(
		"SELECT string_agg($ids, ',' $total) AS s FROM $source->{from}$group",
		"SELECT array_agg($source->{ids}[0] $total) AS s, min(a.g) AS m FROM $source->{from}$group",
		"SELECT string_agg($ids, ',' $total) AS s, string_agg($ids, ';' ORDER BY " . join(', ', reverse @{ $source->{ids} }) . ") AS v FROM $source->{from}$group",
		"SELECT count(DISTINCT $key->{sql}) AS s FROM $source->{from}$group",
		"SELECT n, (SELECT array_agg($distinct) FROM unnest(s) x) AS v FROM (SELECT count(*) AS n, array_agg(DISTINCT $key->{sql}) AS s FROM $source->{from}$group) d",
		"SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY $source->{ids}[0] DESC) AS s, mode() WITHIN GROUP (ORDER BY a.g) AS m FROM $source->{from}$group",
		"SELECT $distinct AS s, n, l FROM (SELECT " . pick('percentile_disc(' . rand() . ')', 'mode()') . ' WITHIN GROUP (' . order_by($key) . "), count(DISTINCT $other->{sql}), array_agg($source->{ids}[0] $total) FROM $source->{from}$group) d (x, n, l)",
		"SELECT percentile_cont(ARRAY[0.1, " . rand() . "]) WITHIN GROUP (ORDER BY $source->{ids}[0] % 100 * 1.5) AS s, count(DISTINCT $key->{sql}) AS n, array_agg(DISTINCT $source->{ids}[0]) AS l FROM $source->{from}$group"
		  . ' HAVING count(*) > ' . below(3),
		"SELECT rank($key->{constant}) WITHIN GROUP (" . order_by($key) . ") AS s FROM $source->{from}$group",
		values_of($source, $key)));
}

# Aggregates of one and the same value, of all rows or of groups.
sub values_of
{
	my ($source, $key) = @_;
	my $number = pick('1.5', "interval '1 hour'") . " * nullif($source->{ids}[0] % " . between(2, 500) . ', 1)';
	my $canonical = canonical($key->{type}, $key->{collation}, 'x');
	my $fraction = pick(rand(), '0', '1', 'NULL', '(SELECT 0.25)', '1.25');
	my $fractions = pick("ARRAY[$fraction, 0.5]", "ARRAY[[0, NULL], [$fraction, 0.75]]", "'{}'::float8[]", 'NULL::float8[]');
	my $direction = pick('', ' DESC');
	my $grouped = chance(0.6);
	my $tail = $grouped ? ' GROUP BY ' . join(', ', map { $_->{sql} } draw_plain_keys($source, 2)) : '';

	$tail .= pick('', '', ' HAVING count(*) > ' . below($grouped ? 5 : 300));
	return pick(
		"SELECT count(DISTINCT $key->{sql}) AS s, count(*), count($key->{sql}) + 1 AS n FROM $source->{from}$tail",
		"SELECT $canonical AS s, n, (SELECT array_agg($canonical) FROM unnest(l) x) AS v FROM "
		  . "(SELECT percentile_disc($fraction) WITHIN GROUP (" . order_by($key) . "), count(*), percentile_disc($fractions) WITHIN GROUP (" . order_by($key)
		  . ") FROM $source->{from}$tail) d (x, n, l)",
		"SELECT percentile_cont($fraction) WITHIN GROUP (ORDER BY $number$direction) AS s, percentile_cont($fractions) WITHIN GROUP (ORDER BY $number$direction) AS v, "
		  . "count($number), count(DISTINCT $number) AS n FROM $source->{from}$tail");
}

# An aggregate of the same result in any order.
sub other_aggregate
{
	my ($id) = @_;
	return pick("sum($id)", "avg($id)", "max($id)", "min($id % 7)", "sum(${id}::numeric / 3)", "stddev(${id}::bigint)", "bool_or($id % 5 = 0)", "max(md5(${id}::text) COLLATE \"C\")",
		"bit_xor($id)", "count($id % 3 = 0)");
}

# Aggregates of several values, or of one value in several orders, of all rows
# or of groups, and others beside.
sub several_values
{
	my ($tables) = @_;
	my $source = draw_source($tables);
	my $grouped = chance(0.5);
	my $tail = $grouped ? ' GROUP BY ' . join(', ', map { $_->{sql} } draw_plain_keys($source, 2)) : '';
	my $filter = chance(0.3) ? " WHERE $source->{ids}[0] % " . between(2, 9) . ' > 0' : '';
	# only one thing may fail, as core and the node come to errors in different orders
	my $wrong = chance(0.05);
	my (@aggregates, @results);

	foreach my $i (1 .. between(2, 4))
	{
		my $key = draw_key($source, plain => $wrong || $i > 1);
		my $fraction = pick(rand(), '0', '1', '0.5', '0.5', 'NULL', '(SELECT 0.25)');
		my $number = pick('1.5', "interval '1 hour'") . " * nullif($source->{ids}[0] % " . between(2, 500) . ', 1)';
		my $canonical = canonical($key->{type}, $key->{collation}, "v$i");

		$fraction = '1.25' if $wrong && $i == 1;
		my ($aggregate, $result) = @{ pick(
			[ "count(DISTINCT $key->{sql})", "v$i" ],
			[ "count(DISTINCT $key->{sql})", "v$i" ],
			[ "count($key->{sql})", "v$i" ],
			[ "percentile_disc($fraction) WITHIN GROUP (" . order_by($key) . ')', $canonical ],
			[ "percentile_disc($fraction) WITHIN GROUP (" . order_by($key) . ')', $canonical ],
			[ "percentile_disc(ARRAY[$fraction, 0.75]) WITHIN GROUP (" . order_by($key) . ')', "(SELECT array_agg($canonical) FROM unnest(v$i) v$i)" ],
			[ "percentile_cont($fraction) WITHIN GROUP (ORDER BY $number" . pick('', ' DESC') . ')', "v$i" ],
			[ 'count(*)', "v$i" ],
			[ other_aggregate($source->{ids}[0]), "v$i" ]) };
		$aggregate .= " FILTER (WHERE $source->{ids}[0] % " . between(2, 9) . ' > ' . below(3) . ')' if chance(0.3);
		push @aggregates, $aggregate;
		push @results, "$result AS r$i";
	}
	$tail .= ' HAVING count(*) > ' . below($grouped ? 5 : 300) if chance(0.3);
	return digest_of_set('SELECT ' . join(', ', @results) . ' FROM (SELECT ' . join(', ', @aggregates) . " FROM $source->{from}$filter$tail) d ("
		  . join(', ', map { "v$_" } 1 .. @aggregates) . ')');
}

# SQL functions and loops of PL/pgSQL, to the end or not.
sub function
{
	my ($tables) = @_;
	my $source = limited($tables->{ pick('t', 'u', 'p') }, 'a', 500);
	my @keys = draw_keys($source, 3);
	my $order = total_order($source, @keys);
	my $stop = between(1, 50);

	return "BEGIN;\n" . pick(
		"CREATE FUNCTION sorted(part integer) RETURNS SETOF integer LANGUAGE sql STABLE AS \$\$ SELECT a.id FROM $source->{from} WHERE a.g >= part $order \$\$;\n",
		"CREATE FUNCTION sorted(part integer) RETURNS SETOF integer LANGUAGE sql VOLATILE ROWS 7 AS \$\$ SELECT a.id FROM $source->{from} WHERE a.g >= part $order \$\$;\n",
		"CREATE FUNCTION sorted(part integer) RETURNS SETOF integer LANGUAGE plpgsql AS \$\$ BEGIN RETURN QUERY SELECT a.id FROM $source->{from} WHERE a.g >= part $order; END \$\$;\n",
		<<"SQL") . <<"SQL";
CREATE FUNCTION sorted(part integer) RETURNS SETOF integer LANGUAGE plpgsql AS \$\$
DECLARE
	c SCROLL CURSOR (which integer) FOR SELECT a.id FROM $source->{from} WHERE a.g >= which $order;
	i integer;
BEGIN
	FOR r IN c(part) LOOP
		RETURN NEXT r.id;
		EXIT WHEN r.id % $stop = 0;
	END LOOP;
	OPEN c(part);
	FETCH LAST FROM c INTO i;
	RETURN NEXT i;
	FETCH PRIOR FROM c INTO i;
	RETURN NEXT i;
	MOVE ABSOLUTE $stop FROM c;
	FETCH RELATIVE -1 FROM c INTO i;
	RETURN NEXT i;
	CLOSE c;
END \$\$;
SQL
SELECT count(*), md5(string_agg(s::text, ',')) FROM sorted(0) s;
SELECT g, (SELECT sum(n * s) FROM sorted(g) WITH ORDINALITY AS f(s, n)) FROM generate_series(1, 4) g;
ROLLBACK;
SQL
}

# Rows that are locked or changed in an order.
sub changed
{
	my ($tables) = @_;
	my $table = $tables->{ pick('t', 'u') };
	my $source = limited($table, 'a', 300);
	my $order = total_order({ %$source, ids => [ 'a.id' ] }, draw_keys($source, 2));
	my $limit = chance(0.5) ? ' LIMIT ' . between(1, 100) : '';
	my $name = $table->{name};

	return 'serial', "BEGIN;\n" . pick(
		"SELECT count(*), md5(string_agg(r, '|')) FROM (SELECT q.id::text r, row_number() OVER () n FROM (SELECT a.id FROM $name a WHERE a.g < 4 $order$limit FOR UPDATE) q) w;\n",
		"WITH changed AS (UPDATE $name c SET g = s.n FROM (SELECT a.id, row_number() OVER ($order) n FROM $source->{from}$limit) s WHERE c.id = s.id RETURNING c.id, c.g, s.n) "
		  . "SELECT count(*), sum(hashtextextended(changed::text, 0)::numeric) FROM changed;\n",
		"WITH gone AS (DELETE FROM $name c USING (SELECT a.id FROM $source->{from} $order OFFSET 3) s WHERE c.id = s.id RETURNING c.id) SELECT count(*), sum(id) FROM gone;\n"
		  . "SELECT count(*), sum(id) FROM $name;\n",
		"INSERT INTO $name (id, g) SELECT -a.id, row_number() OVER ($order) FROM $source->{from}$limit;\n"
		  . "SELECT sum(id), sum(g * (id % 1000)) FROM $name;\n",
		"MERGE INTO $name c USING (SELECT a.id, row_number() OVER ($order) n FROM $source->{from}$limit) s ON c.id = s.id WHEN MATCHED AND n % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET g = n;\n"
		  . "SELECT count(*), sum(g * (id % 1000)) FROM $name;\n") . "ROLLBACK;\n";
}

# Btree indexes and clustered tables, which are read in their order.
sub indexed
{
	my ($tables) = @_;
	my $table = limited($tables->{ pick('t', 'u', 'p') }, 'a', chance(0.1) ? 30000 : 3000);
	my @keys = draw_plain_keys($table, 3);
	$_->{order} =~ s/ USING [<>]// foreach @keys;
	my @expressions = map { $_->{sql} =~ s/^a\.//r } @keys;
	my $list = join ', ', map { $expressions[$_] . $keys[$_]{order} } 0 .. $#keys;
	my $kind = pick('TEMPORARY', 'UNLOGGED', '');
	my $parallel = $kind ne 'TEMPORARY' && chance(0.4);
	my $part = chance(0.2) ? ' WHERE g > 2' : '';
	my $digest = "SELECT count(*), md5(string_agg(r, '|')) FROM (SELECT q.id::text r, row_number() OVER () n FROM (SELECT id FROM indexed";
	my $script = "BEGIN;\nSET LOCAL synchronize_seqscans = off;\n";

	$script .= "SET LOCAL min_parallel_table_scan_size = 0;\nSET LOCAL maintenance_work_mem = '128MB';\n" if $parallel;
	$script .= "SET LOCAL maintenance_work_mem = '1MB';\n" if chance(0.15);
	$script .= "CREATE $kind TABLE indexed AS SELECT * FROM $table->{from};\n";
	$script .= 'CREATE ' . pick('', '', 'UNIQUE ') . "INDEX ordered ON indexed ($list, id)" . pick('', '', ' INCLUDE (g)') . pick('', '', ' WITH (deduplicate_items = off)') . "$part;\n";
	$script .= "DELETE FROM indexed WHERE id % 5 = 0;\nREINDEX TABLE indexed;\n" if chance(0.2);
	$script .= "SELECT bt_index_parent_check('ordered', true, true);\n" if has_amcheck() && chance(0.7);
	$script .= "SET LOCAL enable_seqscan = off;\n$digest$part ORDER BY $list, id) q) w;\n";
	$script .= "SET LOCAL enable_seqscan = on;\nSET LOCAL max_parallel_workers_per_gather = 0;\nCLUSTER indexed USING ordered;\n$digest) q) w;\n" if $part eq '' && chance(0.3);
	return ('serial', $script . "ROLLBACK;\n");
}

# Sorts over sorts, appended and merged.
sub nested
{
	my ($tables) = @_;
	my $source = table_source($tables->{ pick('t', 'p') }, 'a');
	my $inner = total_order($source, draw_keys($source, 2));
	my @keys = draw_keys($source, 2);
	my $outer = total_order($source, @keys);
	my $columns = "a.id, a.g" . join('', map { ', ' . $_->{sql} } grep { $_->{sql} ne 'a.g' } @{ $source->{columns} });
	my $size = $source->{size};

	return digest_of_sequence(pick(
		"SELECT a.id FROM (SELECT $columns FROM $source->{from} $inner LIMIT " . between(0, $size) . ") a $outer",
		"SELECT a.id, a.n FROM (SELECT $columns, row_number() OVER ($inner) AS n FROM $source->{from}) a $outer",
		"SELECT a.id, a.branch FROM ((SELECT $columns, 1 AS branch FROM $source->{from} $outer) UNION ALL (SELECT $columns, 2 FROM $source->{from} WHERE a.g > 2 $outer)) a $outer, branch",
		"WITH a AS MATERIALIZED (SELECT $columns FROM $source->{from} $inner OFFSET 2), b AS (SELECT * FROM a " . total_order($source, draw_keys($source, 1)) . ") SELECT a.id FROM a JOIN b USING (id) $outer"));
}

# Kinds of queries, each with a weight by which it is drawn.
my @kinds = (
	[ 24, \&ordered ], [ 16, \&ordered_totally ], [ 3, \&with_ties ], [ 8, \&collated ], [ 9, \&distinct ], [ 9, \&set_operation ], [ 9, \&grouped ], [ 5, \&grouped_by_sets ], [ 10, \&window ], [ 8, \&window_of_first_rows ], [ 8, \&first_rows_of_groups ],
	[ 9, \&merge_join ], [ 8, \&cursor ], [ 6, \&prepared ], [ 7, \&subplan ], [ 2, \&recursive ], [ 6, \&stored ], [ 3, \&copied ], [ 7, \&aggregated ], [ 4, \&several_values ],
	[ 4, \&function ], [ 4, \&changed ], [ 4, \&indexed ], [ 6, \&nested ]);

# Draws a query on these tables; returns the script, and whether the two sides
# would be in each other's way if they ran it at the same time.
sub draw_query
{
	my ($tables) = @_;
	my $total = 0;
	$total += $_->[0] foreach @kinds;
	my $drawn = below($total);
	foreach my $kind (@kinds)
	{
		$drawn -= $kind->[0];
		next if $drawn >= 0;
		my @script = $kind->[1]->($tables);
		return (pop @script, scalar @script);
	}
}

# ---- settings

my %known_settings;

my @planner_settings = qw(
	enable_hashagg enable_hashjoin enable_nestloop enable_mergejoin enable_material enable_incremental_sort enable_indexscan enable_bitmapscan
	enable_indexonlyscan enable_memoize enable_partitionwise_join enable_partitionwise_aggregate enable_gathermerge enable_presorted_aggregate
	enable_group_by_reordering enable_distinct_reordering parallel_leader_participation);

my @parallel_settings = (
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'min_parallel_index_scan_size = 0',
	'max_parallel_workers_per_gather = 2', 'gpusort.get_shared_row_cost = 0');

# A size of memory in between; small sizes are as likely as large ones.
sub draw_memory
{
	my ($least, $greatest, $unit) = @_;
	return quoted(int($least * ($greatest / $least)**rand()) . $unit);
}

# Limits of all memory that belongs to no single query, as SQL.
sub draw_server_caps
{
	return 'ALTER SYSTEM SET gpusort.device_memory = ' . pick(1, 2, 5, 20, 90) . ";\n"
	  . 'ALTER SYSTEM SET gpusort.staging_memory_limit = ' . draw_memory(16, 64, 'MB') . ";\n";
}

# The settings for a query, as SQL, with this chance of parallel workers, and with limits of all memory if these are
# wanted. Settings that not every server has are set only if they are among "known".
sub draw_settings
{
	my ($known, $parallel, $caps, @devices) = @_;
	%known_settings = map { $_ => 1 } @$known;
	my @settings;

	# most plans that sort have a rival that hashes
	push @settings, 'enable_hashagg = off' if chance(0.7);
	push @settings, map { "$_ = " . pick('on', 'off') } pick_some(pick(0, 0, 1, 2, 4), @planner_settings);
	my $is_parallel = chance($parallel);
	push @settings, @parallel_settings if $is_parallel;
	# so that workers run the consumers of sorted rows
	push @settings, 'cpu_tuple_cost = 1', 'parallel_tuple_cost = 0.1' if $is_parallel && chance(0.5);
	push @settings, 'gpusort.gather_rows = on' if $is_parallel && chance(0.7);
	push @settings, map { "$_ = regress" } 'debug_parallel_query', 'force_parallel_mode' if chance(0.06);
	push @settings, 'work_mem = ' . pick(qw('64kB' '1MB')) if chance(0.1);
	push @settings, 'gpusort.work_mem = ' . pick(qw('64kB' '100kB' '1MB')) if chance(0.15);
	push @settings, 'work_mem = ' . draw_memory(64, 16384, 'kB'), 'gpusort.work_mem = ' . pick(-1, draw_memory(64, 16384, 'kB')),
	  'maintenance_work_mem = ' . draw_memory(1024, 16384, 'kB')
	  if $caps;
	push @settings, 'gpusort.host_sort_row_cost = ' . pick(0, 1) if chance(0.2);
	# aggregates that would sort have their input sorted
	push @settings, 'cpu_operator_cost = 1' if chance(0.2);
	push @settings, 'gpusort.device = ' . pick(@devices);
	# the comparison by itself has to notice what verifying would notice
	push @settings, 'gpusort.verify = off' if chance(0.3);
	push @settings, 'gpusort.algorithm = ' . pick(qw(quicksort radix bitonic)) if chance(0.3);
	push @settings, 'cursor_tuple_fraction = 1.0' if chance(0.5);
	push @settings, 'hash_mem_multiplier = 1.0' if chance(0.1);
	return join '', map { "SET $_;\n" } grep { /^(\S+)/ && ($1 =~ /^gpusort/ || $known_settings{$1}) } @settings;
}

1;
