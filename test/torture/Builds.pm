# Statements beside the queries of the generators: builds of indexes that stay and are checked at
# the end of the round, tables with rows too large for an index, results cut off with ties, and
# plans that EXPLAIN ANALYZE shows.
package Builds;
use strict;
use warnings;
use Draw;
use Keys;
use Exporter 'import';

our @EXPORT = qw(draw_build draw_reindex draw_large_rows draw_with_ties);

# An index on a table of the generator, as a script, and the index.
sub draw_build
{
	my ($tables) = @_;
	my $table = table_source($tables->{ pick('t', 't', 'u', 'p') }, 'a');
	my ($name) = $table->{from} =~ /^(\w+)/;
	my @keys = draw_plain_keys($table, 3);
	$_->{order} =~ s/ USING [<>]// foreach @keys;
	my $list = join ', ', map { $_->{sql} =~ s/^a\.//r . $_->{order} } @keys;
	my $concurrently = $name ne 'p' && chance(0.25) ? ' CONCURRENTLY' : '';
	my $unique = chance(0.2) ? ' UNIQUE' : '';
	my $script = "SET client_min_messages = warning;\nDROP INDEX IF EXISTS built;\n";

	$list .= ', id' if $unique && ($name eq 'p' || chance(0.5));
	$list .= ', g' if $unique && $name eq 'p';
	$script .= "SET min_parallel_table_scan_size = 0;\nSET max_parallel_maintenance_workers = " . pick(1, 2, 4) . ";\n" if chance(0.5);
	$script .= 'SET maintenance_work_mem = ' . quoted(pick('1MB', '2MB', '64MB')) . ";\n" if chance(0.7);
	$script .= "UPDATE $name SET g = g WHERE id % 5 = 0;\n" if chance(0.3);
	$script .= "BEGIN;\nDELETE FROM $name WHERE id % 7 = 0;\nROLLBACK;\n" if chance(0.2);
	$script .= "CREATE$unique INDEX$concurrently built ON $name ($list)" . pick('', '', ' INCLUDE (g)') . pick('', '', ' WITH (deduplicate_items = off)', ' WITH (fillfactor = 30)')
	  . pick('', '', '', ' WHERE g > 2') . ";\n";
	return $script;
}

# Rebuilds indexes of PostgreSQL's tests and of earlier builds.
sub draw_reindex
{
	my ($name) = @_;
	my $concurrently = chance(0.3) ? ' CONCURRENTLY' : '';
	return "SET client_min_messages = error;\n" . (chance(0.5) ? "SET min_parallel_table_scan_size = 0;\n" : '') . "REINDEX TABLE$concurrently $name;\n";
}

# Rows, some of them too large for an index, some dead but seen by an older snapshot.
sub draw_large_rows
{
	my $unique = pick('', ' UNIQUE');
	my $fate = pick('DELETE FROM large', "DELETE FROM large WHERE i % 2 = 0", "UPDATE large SET t = left(t, 10)", 'SELECT');
	return "SET client_min_messages = error;\nBEGIN;\nCREATE " . pick('TEMPORARY ', '') . "TABLE large (i integer, t text);\n"
	  . "INSERT INTO large SELECT i, (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, " . pick(10, 60, 84, 85, 100) . ") j) FROM generate_series(1, " . pick(1, 10, 300) . ") i;\n"
	  . pick('', "DECLARE c CURSOR FOR SELECT * FROM large;\n") . "$fate;\n" . pick('', "SET LOCAL min_parallel_table_scan_size = 0;\n") . "CREATE$unique INDEX ON large (t);\nROLLBACK;\n";
}

# A Limit with ties, whose sort has columns that are taken or dropped above.
sub draw_with_ties
{
	my ($tables) = @_;
	my $source = chance(0.5) ? draw_source($tables) : table_source($tables->{ pick('t', 'u') }, 'a');
	my @keys = chance(0.5) ? draw_keys($source, 2) : draw_plain_keys($source, 2);
	my $order = order_by(@keys);
	my @columns = shuffled(pick_some(3, map { $_->{sql} } @{ $source->{columns} }), chance(0.7) ? map { $_->{sql} } @keys : ());
	# a whole table with its columns in another order
	@columns = shuffled('a.id', map { $_->{sql} } @{ $source->{columns} }) if $source->{from} =~ /^\w+ a$/ && chance(0.5);
	my $columns = join ', ', map { "$columns[$_] AS o$_" } 0 .. $#columns;
	my $offset = chance(0.3) ? ' OFFSET ' . between(0, $source->{size}) : '';
	my $query = "SELECT $columns FROM $source->{from} $order$offset FETCH FIRST " . between(1, $source->{size} + 1) . ' ROWS WITH TIES';
	my $counted = "SELECT *, count(*) OVER () n FROM ($query) q";

	return "SELECT n FROM ($counted LIMIT 3) r;\n" if chance(0.2);
	# the number of rows is the same, whichever rows come; without an offset the rows are the same,
	# too
	return 'SELECT count(*), max(n), ' . ($offset ? 'count(r.*)' : 'sum(hashtextextended(r::text, 0)::numeric)') . ' FROM (' . pick("$counted OFFSET 0", $counted, "SELECT *, 1 n FROM ($query) q") . ") r;\n";
}

1;
