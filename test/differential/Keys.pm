# Sources from which queries read, and keys by which they sort.
# A source can follow FROM. It has columns, and expressions that together tell its rows apart. A key
# is an expression over a source with a direction, and with what a check of an order by it needs.
package Keys;
use strict;
use warnings;
use Draw;
use Types;
use Exporter 'import';

our @EXPORT = qw(draw_source draw_key draw_keys draw_plain_keys order_by total_order is_out_of_order output_columns table_source limited draw_first_rows);

# More rows than this from a join would take too long.
use constant MOST_PAIRS => 20000;

# The type of rows and arrays of any types; equal values may have any text.
my $record = { name => 'record', canonical => '(%s IS NULL)::text' };

# Expressions over a kind of type, and their type if it is another. Some fail for some values; then
# both sides have to fail.
my %expressions = (
	any => [
		[ 'coalesce(%s, %c)' ], [ 'nullif(%s, %c)' ], [ 'CASE WHEN %i % 3 = 0 THEN %s END' ], [ 'CASE WHEN %i % 3 > 0 THEN %s ELSE %c END' ],
		[ '(%s IS NULL)', 'boolean' ], [ '(%s)::text', 'text' ], [ '(%s > %c)', 'boolean' ], [ 'greatest(%s, %c)' ],
		[ 'ROW(%s, %i % 3)', 'record' ], [ '%r', 'record' ], [ 'ARRAY[%s, %c]', 'record' ] ],
	boolean => [ [ '(NOT %s)' ] ],
	integer => [ [ '(- %s)' ], [ '(%s % 7)' ], [ '(%s / 2)' ], [ 'abs(%s)' ], [ '(%s + 1)' ], [ '(10 / (%s - 1))', 'bigint' ], [ '(%s & 3)' ], [ '%s::numeric', 'numeric' ] ],
	numeric => [ [ '(- %s)' ], [ '(%s / 3)' ], [ 'round(%s, 1)' ], [ '(%s * 1.10)' ], [ '%s::double precision', 'double precision' ], [ 'sign(%s)' ] ],
	float => [ [ '(- %s)' ], [ '(%s * 2)' ], [ '(%s / 3)' ], [ '(1 / %s)' ], [ '%s::numeric', 'numeric' ] ],
	string => [
		[ 'lower(%s)' ], [ 'upper(%s)' ], [ 'length(%s)', 'integer' ], [ 'left(%s, 2)' ], [ 'reverse(%s)' ], [ "(%s || 'x')" ], [ "('common prefix ' || %s)" ],
		[ 'substr(%s, 2)' ], [ 'md5(%s)' ], [ "convert_to(%s, 'UTF8')", 'bytea' ], [ '%s::character(5)', 'bpchar' ], [ '%s::name', 'name' ], [ 'repeat(%s, 40)' ] ],
	'padded string' => [ [ 'lower(%s)', 'text' ], [ 'length(%s)', 'integer' ], [ "(%s || 'x')", 'text' ] ],
	name => [ [ '%s::text', 'text' ] ],
	date => [ [ '(%s + 1)' ], [ "(%s - '2000-01-01'::date)", 'integer' ], [ '%s::timestamp', 'timestamp' ] ],
	time => [ [ "(%s + '1 hour'::interval)" ], [ '%s::interval', 'interval' ] ],
	timestamp => [ [ "(%s + '1 day'::interval)" ], [ "date_trunc('month', %s)" ], [ '%s::date', 'date' ] ],
	interval => [ [ '(- %s)' ], [ '(%s * 2)' ], [ 'justify_interval(%s)' ] ],
	'integer array' => [ [ 'array_append(%s, 1)' ], [ 'array_length(%s, 1)', 'integer' ], [ '%s[1]', 'integer' ] ],
	bytea => [ [ 'length(%s)', 'integer' ], [ q{(%s || '\x00')} ], [ q{('\x00' || %s)} ] ]);

sub sources_columns
{
	my ($alias, $table) = @_;
	return (
		{ sql => "$alias.g", type => type_named('integer'), pool => [ "'3'" ] },
		map { { sql => "$alias.$_->{name}", type => $_->{type}, collation => $_->{collation}, pool => $_->{pool} } } @{ $table->{columns} });
}

sub table_source
{
	my ($table, $alias, $from) = @_;
	return { from => $from // "$table->{name} $alias", columns => [ sources_columns($alias, $table) ], ids => [ "$alias.id" ], size => $table->{size},
		rows => [ $alias ] };
}

# A table, or only as many of its rows as an expensive query can bear.
sub limited
{
	my ($table, $alias, $most) = @_;
	my $source = table_source($table, $alias);
	return $source if $table->{size} <= $most;
	my $step = int($table->{size} / $most) + 1;
	$source->{from} = "(SELECT * FROM $table->{name} WHERE id % $step = 0) $alias";
	$source->{size} = $most;
	return $source;
}

sub draw_join
{
	my ($tables) = @_;
	my $left = limited($tables->{ pick('t', 't', 'p') }, 'a', 2000);
	my $right = limited($tables->{u}, 'b', 2000);
	my $condition = $left->{size} * $right->{size} > MOST_PAIRS ? 'a.id = b.id' : pick('a.g = b.g', 'a.id = b.id', 'a.g < b.g', 'true');
	return {
		from => "$left->{from} " . pick('JOIN', 'JOIN', 'LEFT JOIN') . " $right->{from} ON $condition",
		columns => [ shuffled(@{ $left->{columns} }, @{ $right->{columns} }) ],
		ids => [ 'a.id', 'b.id' ], size => MOST_PAIRS, rows => [ 'a', 'b' ] };
}

# The first rows of a table in an order, with its columns in an order, too. Returns the order of the
# rows as well.
sub draw_first_rows
{
	my ($table) = @_;
	my $columns = join ', ', shuffled('id', 'g', map { $_->{name} } @{ $table->{columns} });
	my $key = draw_key(table_source($table, 'a'));
	my $order = "ORDER BY $key->{sql}$key->{order}";
	my $count = between(1, $table->{size} + 1);
	my $rows = "SELECT $columns FROM $table->{name} a $order";

	# only the rows decide which of them have equal keys
	return ("($rows FETCH FIRST $count ROWS WITH TIES) a", $order) if chance(0.6);
	return ("($rows, id OFFSET " . between(0, 5) . pick(" LIMIT $count", " FETCH FIRST $count ROWS WITH TIES") . ') a', $order);
}

# Something to read from, under the alias a (and b).
sub draw_source
{
	my ($tables) = @_;
	my $table = $tables->{ pick('t', 't', 't', 'u', 'p') };
	my $source = table_source($table, 'a');
	push @{ $source->{columns} }, { sql => 'a.ctid', type => type_named('tid'), pool => [ "'(0,1)'" ] } if chance(0.03);
	return $source if chance(0.55) || $source->{columns}[-1]{sql} eq 'a.ctid';
	return draw_join($tables) if chance(0.35);
	if (chance(0.1))
	{
		$source->{from} = "(SELECT *, generate_series(1, g) AS s FROM $table->{name}) a";
		$source->{ids} = [ 'a.id', 'a.s' ];
		$source->{size} *= 2;
		return $source;
	}
	if (chance(0.2))
	{
		my @names = map { $_->{name} } @{ $table->{columns} };
		my ($first, $second) = map { join ', ', "id * 2::bigint + $_ AS id", 'g', @names } 0, 1;
		$source->{from} = "(SELECT $first FROM $table->{name} UNION ALL SELECT $second FROM $table->{name} WHERE g > 1) a";
		$source->{size} *= 2;
		return $source;
	}
	if (chance(0.3))
	{
		($source->{from}) = draw_first_rows($table);
		return $source;
	}
	$source->{from} = pick(
		"(SELECT * FROM $table->{name} WHERE g <> 2) a", "(SELECT * FROM $table->{name} OFFSET 0) a", "(TABLE $table->{name} ORDER BY g, id DESC) a",
		"(SELECT * FROM $table->{name} WHERE id % 7 = 1 AND g = 1) a", "ONLY $table->{name} a");
	return $source;
}

# usage: draw_key($source, plain => 1)
# Plain keys are columns of the source as they are.
sub draw_key
{
	my ($source, %options) = @_;
	my $column = pick(@{ $source->{columns} });
	my $constant = '(' . pick(@{ $column->{pool} }) . ")::$column->{type}{sql}";
	my %key = (sql => $column->{sql}, type => $column->{type}, collation => $column->{collation}, constant => $constant);
	my $kind = $column->{type}{kind} // '';

	if (!$options{plain} && chance(0.25))
	{
		my ($pattern, $result) = @{ pick(@{ $expressions{ $expressions{$kind} && chance(0.7) ? $kind : 'any' } }) };
		my %parts = ('%s' => $column->{sql}, '%c' => $constant, '%i' => $source->{ids}[0], '%r' => pick(@{ $source->{rows} }));

		$key{sql} = $pattern =~ s/(%[scir])/$parts{$1}/gr;
		if ($result)
		{
			$key{type} = $result eq 'record' ? $record : type_named($result);
			# a cast to another string keeps the collation
			delete $key{collation} unless $result =~ /^(text|bpchar|name)$/;
		}
	}
	if ($key{type}{collatable} && chance($key{sql} eq $column->{sql} ? 0.2 : 0.4))
	{
		$key{collation} = pick(collations_of($key{type}));
		$key{sql} = "$key{sql} COLLATE $key{collation}";
	}
	$key{descending} = chance(0.4);
	$key{nulls_first} = $key{descending};
	$key{order} = $key{descending} ? ' DESC' : pick('', ' ASC');
	$key{order} = $key{descending} ? ' USING >' : ' USING <' if !$options{plain} && chance(0.05);
	if (chance(0.4))
	{
		$key{nulls_first} = chance(0.5);
		$key{order} .= $key{nulls_first} ? ' NULLS FIRST' : ' NULLS LAST';
	}
	return \%key;
}

sub draw_keys
{
	my ($source, $most) = @_;
	return map { draw_key($source) } 1 .. ($most ? between(1, $most) : pick(1, 1, 1, 2, 2, 3, 4, 6));
}

# Keys without an operator, for PARTITION BY, GROUP BY and indexes: columns, some with another
# collation.
sub draw_plain_keys
{
	my ($source, $most) = @_;
	return map { draw_key($source, plain => 1) } 1 .. between(1, $most);
}

sub order_by { return 'ORDER BY ' . join(', ', map { $_->{sql} . $_->{order} } @_); }

# An order by which no two rows are equal.
sub total_order
{
	my ($source, @keys) = @_;
	my @ids = map { { sql => $_, order => pick('', '', ' DESC') } } @{ $source->{ids} };

	foreach my $key (@keys)
	{
		$key->{order} = pick(' USING ~<~', ' USING ~>~') if ($key->{type}{kind} // '') =~ /^(string|padded string)$/ && chance(0.05);
	}
	return order_by(@keys, @ids);
}

# An SQL expression: does the row with the keys k1, k2 ... come before the one
# ahead of it, with p1, p2 ...?
sub is_out_of_order
{
	my (@keys) = @_;
	my $expression = 'false';

	for (my $i = @keys; $i >= 1; $i--)
	{
		my $key = $keys[ $i - 1 ];
		my $wrong = $key->{descending} ? '<' : '>';
		my ($null_before, $null_after) = $key->{nulls_first} ? ('false', 'true') : ('true', 'false');

		# num_nulls() because a row of NULLs is not NULL but IS NULL says so
		$expression = "CASE WHEN p$i IS NOT DISTINCT FROM k$i THEN $expression"
		  . " WHEN num_nulls(p$i) = 1 THEN $null_before WHEN num_nulls(k$i) = 1 THEN $null_after ELSE p$i $wrong k$i END";
	}
	return $expression;
}

# Columns of a result: those that tell the rows apart, and some others.
sub output_columns
{
	my ($source) = @_;
	my $rows = $source->{rows};
	my @columns = map { $_->{sql} } pick_some(pick(0, 1, 2, 4), @{ $source->{columns} });
	push @columns, pick(@$rows) . ' AS whole' if chance(0.1);
	push @columns, map { "nullif(a.g, $_ % 5)" } 1 .. 150 if chance(0.02);
	my $number = 0;
	return join ', ', map { / AS / ? $_ : "$_ AS o" . ++$number } shuffled(@{ $source->{ids} }, @columns);
}

1;
