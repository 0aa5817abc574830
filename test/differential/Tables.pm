# The tables of a round: their definitions, and the commands that make them.
#
# All have the columns id, which is unique, and g, which has few values; the
# others are of any types.  "t" and "u" are tables, u with some of its columns
# like those of t; "p" is like t, in partitions.
package Tables;
use strict;
use warnings;
use Draw;
use Types;
use Exporter 'import';

our @EXPORT = qw(draw_tables);

sub draw_column
{
	my ($name) = @_;
	# the most common types are worth more draws than others
	my $type = chance(0.3) ? type_named(pick('integer', 'bigint', 'text', 'text', 'numeric', 'double precision', 'timestamp')) : pick(all_types());
	my $column = { name => $name, type => $type };
	$column->{collation} = pick(collations_of($type)) if $type->{collatable} && chance(0.75);
	return $column;
}

# What a column's values are drawn from, and how.
sub draw_values
{
	my ($column) = @_;
	my $type = $column->{type};
	my @edges = @{ $type->{edges} };
	my @pool = pick_some(pick(1, 3, 8, scalar @edges), @edges);

	push @pool, map { $type->{random}->() } 1 .. pick(0, 2, 20, 60) if $type->{random};
	$column->{pool} = [ shuffled(@pool) ];
	$column->{spread_share} = $type->{spread} ? pick(0, 0, 50, 100) : 0;
	$column->{null_share} = pick(0, 0, 0, 5, 20, chance(0.2) ? 100 : 60);
	$column->{distribution} = pick('uniform', 'uniform', 'skewed', 'sorted', 'reversed', 'nearly sorted', 'organ pipe', 'constant');
	$column->{seed} = below(1000000);
}

# How many rows a table has.  Few make a query quick, and most faults need no more.
sub draw_size
{
	my ($large) = @_;
	return between(50000, 120000) if $large;
	return pick(0, 1, 2, 3) if chance(0.1);
	return between(4, 60) if chance(0.35);
	return between(60, 400) if chance(0.8);
	return between(400, 5000);
}

# From 0 up to below 1, by the row number i of "size" rows: where in the pool,
# and for spread values in their range, the value of this row is.
sub position
{
	my ($column, $size) = @_;
	my $random = "((hashint8extended(i, $column->{seed}) & 1048575) / 1048576.0)";
	my $sorted = "((i - 1) / $size.0)";
	return {
		'uniform' => $random,
		'skewed' => "power($random, 4)",
		'sorted' => $sorted,
		'reversed' => "(($size - i) / $size.0)",
		'nearly sorted' => "CASE WHEN hashint8(i + $column->{seed}) % 50 = 0 THEN $random ELSE $sorted END",
		'organ pipe' => "(abs($size - 2 * i) / ($size + 1.0))",
		'constant' => '0.5' }->{ $column->{distribution} };
}

sub value_of_row
{
	my ($column, $size) = @_;
	my $count = @{ $column->{pool} };
	my $value = "pools.$column->{name}\[1 + floor($count * " . position($column, $size) . ')::integer]';

	if ($column->{spread_share} > 0)
	{
		my $h = $column->{distribution} eq 'uniform' ? "hashint8extended(i, $column->{seed})"
		  : '(' . position($column, $size) . ' * 18000000000000000000 - 9000000000000000000)::bigint';
		my $spread = $column->{type}{spread} =~ s/\bh\b/$h/gr;
		$value = $column->{spread_share} == 100 ? "($spread)::text"
		  : "CASE WHEN hashint8extended(i, $column->{seed} + 1) & 1 = 0 THEN ($spread)::text ELSE $value END";
	}
	$value = "CASE WHEN abs(hashint8extended(i, $column->{seed} + 2) % 100) < $column->{null_share} THEN NULL ELSE $value END" if $column->{null_share} > 0;
	return "($value)::$column->{type}{sql}";
}

sub column_definition
{
	my ($column) = @_;
	return "$column->{name} $column->{type}{sql}" . ($column->{collation} ? " COLLATE $column->{collation}" : '');
}

# The commands that make a table and fill it.
sub make_table
{
	my ($table) = @_;
	my ($name, $size) = ($table->{name}, $table->{size});
	my @columns = @{ $table->{columns} };
	my @first = @columns;
	my $later = @columns > 1 && chance(0.3) ? pop @first : undef;
	my $dropped = chance(0.3);
	my $id = pick('i', "$size + 1 - i", '(i * 48271::bigint % 2147483647)::integer');
	my @definitions = ('id integer NOT NULL', 'g integer', map { column_definition($_) } @first);
	my $sql = '';

	splice @definitions, between(0, 2), 0, 'dropped text' if $dropped;
	$sql .= "CREATE TABLE $name (" . join(', ', @definitions) . ')';
	if ($table->{partitions})
	{
		my @parts = map { "${name}_$_" } 1 .. 3;
		my @bounds = $table->{partitions} eq 'hash' ? map { "WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2
		  : $table->{partitions} eq 'range' ? ('FROM (MINVALUE) TO (1)', 'FROM (1) TO (3)', 'FROM (3) TO (MAXVALUE)') : ('IN (0, 1)', 'IN (2, 3, NULL)', 'IN (4, 5)');
		$sql .= " PARTITION BY $table->{partitions} (" . ($table->{partitions} eq 'hash' ? 'id' : 'g') . ");\n";
		$sql .= "CREATE TABLE $parts[$_] PARTITION OF $name FOR VALUES $bounds[$_];\n" foreach 0 .. 2;
	}
	else
	{
		$sql .= (chance(0.3) ? ' WITH (toast_tuple_target = 128)' : '') . ";\n";
	}
	$sql .= "ALTER TABLE $name DROP COLUMN dropped;\n" if $dropped;
	foreach my $column (@first)
	{
		$sql .= "ALTER TABLE $name ALTER COLUMN $column->{name} SET STORAGE " . pick('EXTERNAL', 'MAIN') . ";\n"
		  if ($column->{type}{kind} // '') =~ /^(string|padded string|bytea)$/ && chance(0.2);
	}

	$sql .= "INSERT INTO $name SELECT $id, abs(hashint8extended(i, 7) % 6)" . join('', map { ",\n\t" . value_of_row($_, $size) } @first);
	$sql .= "\nFROM generate_series(1, $size) i";
	$sql .= ",\n(SELECT " . join(",\n\t", map { 'ARRAY[' . join(', ', @{ $_->{pool} }) . "]::text[] AS $_->{name}" } @first) . ' OFFSET 0) pools' if @first;
	$sql .= ";\n";

	# rows that were there before a column have its first default in no place of their own
	$sql .= "ALTER TABLE $name ADD COLUMN " . column_definition($later) . (chance(0.5) && $later->{pool}[0] !~ /SELECT/ ? " DEFAULT ($later->{pool}[0])::$later->{type}{sql}" : '') . ";\n" if $later;

	foreach my $column (grep { !$_->{type}{long} } @columns)
	{
		$sql .= "CREATE INDEX ON $name ($column->{name}" . pick('', ' DESC', ' NULLS FIRST', ', id') . ");\n" if chance(0.12);
	}
	$sql .= "CREATE UNIQUE INDEX ON $name (id);\n" if chance(0.4) && !$table->{partitions};
	$sql .= "ANALYZE $name;\n" if chance(0.7);
	return $sql;
}

# Draws the tables; returns them and the commands that make them.
sub draw_tables
{
	my ($large) = @_;
	my @columns = map { draw_column("c$_") } 1 .. between(3, 7);
	my @alike = @columns[ 0 .. between(0, $#columns) ];
	my @others = map { draw_column("d$_") } 1 .. between(1, 3);
	my $size = draw_size($large);

	draw_values($_) foreach @columns, @others;
	my @tables = (
		{ name => 't', size => $size, columns => \@columns },
		# of its values, those of the columns like t's are much the same
		{ name => 'u', size => $large ? between(100, 1000) : draw_size(0), columns => [ (map { { %$_, seed => below(1000000) } } @alike), @others ] },
		{ name => 'p', size => draw_size(0), columns => [ map { { %$_, seed => below(1000000) } } @columns ], partitions => pick('hash', 'range', 'list') });
	my %tables = map { $_->{name} => $_ } @tables;

	return (\%tables, join '', map { make_table($_) } @tables);
}

1;
