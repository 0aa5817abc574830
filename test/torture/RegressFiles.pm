# Statements of PostgreSQL's own regression tests.
# The statements of a file that make tables, types, functions and rows run once. Its queries are then drawn one by one, in
# any order, each in a transaction that is rolled back. DROPs and transactions of a file do not run, so that there is more
# to query. A file has a schema of its own.
package RegressFiles;
use strict;
use warnings;
use Draw;
use Server;
use Exporter 'import';

our @EXPORT = qw(choose_files load_files draw_file_query);

# Files in which there is something to sort; the first ones are always taken.
my @first = qw(select select_distinct_on join window limit);
my @files = qw(aggregates arrays btree_index case cluster collate collate.icu.utf8 collate.utf8 create_index create_view date domain enum equivclass
  float8 generated_virtual groupingsets hash_part identity incremental_sort index_including indexing inherit insert int8 interval join_hash
  matview memoize multirangetypes numeric oid partition_aggregate partition_join partition_prune plancache portals rangefuncs rangetypes rowsecurity
  rowtypes select_distinct select_having select_implicit select_into select_parallel select_views stats_ext strings subselect timestamp timestamptz
  tsrf tuplesort union updatable_views uuid varchar with without_overlaps write_parallel);

# Functions whose results differ each time, or between two sessions.
my $changing = qr/\b(?:random|now|clock_timestamp|statement_timestamp|timeofday|current_(?:time|timestamp|date|setting)|localtime|pg_\w*stat\w*|pg_settings
  |pg_backend_pid|ctid|xmin|xmax|tableoid|txid_\w+|pg_locks|pg_sleep|version|nextval|currval|lastval|setval|set_config|pg_cursors|pg_prepared_statements|oid
  |gen_random_uuid|uuidv[47]|pg_\w*size\w*|advisory\w*|lo_\w+|pg_notify|dblink|pg_terminate\w*|pg_cancel\w*|pg_reload\w*|pg_promote|pg_switch\w*|pg_rotate\w*
  |pg_read\w*|pg_ls\w*|current_database|regclass|inet_client\w*|pg_control\w*|brin_\w+|'now'|'today'|'yesterday'|'tomorrow')\b/xi;

my @queries;

# The functions of a file that show a plan, or how it was executed, and functions that call these: their answer is open.
sub functions_of_plans
{
	my @definitions = map { /^CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\s+(?:\w+\.)?(\w+)/i ? [ $1, $_ ] : () } @_;
	my $of_plans = qr/\bexplain\b/i;
	my %names;
	while (my @found = grep { !$names{ $_->[0] } && $_->[1] =~ $of_plans } @definitions)
	{
		$names{ $_->[0] } = 1 foreach @found;
		$of_plans = join '|', map { "\\b$_\\b" } sort keys %names;
	}
	return $of_plans;
}

sub choose_files
{
	my ($source, $count) = @_;
	return grep { -e "$source/sql/$_.sql" } @first, pick_some($count, @files);
}

# The statements of a file, as psql would divide them. Commands of psql are left out, with a statement that such a command
# ends.
sub statements_of
{
	my ($text) = @_;
	my (@found, $statement);
	my $depth = 0;

	$statement = '';
	while ($text =~ /\G(
		--[^\n]* | \/\*.*?\*\/ | (?:[eE])'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" |
		\$(\w*)\$.*?\$\2\$ | \\[^\n]* | [A-Za-z_0-9]+ | \s+ | . )/gxs)
	{
		my $token = $1;
		if ($token =~ /^(--|\/\*)/) { next; }
		if ($token =~ /^\\/)
		{
			# \; joins statements, and what ends one makes it another
			$statement = '';
			next;
		}
		if ($token eq ';' && $depth <= 0)
		{
			push @found, $statement =~ s/^\s+|\s+$//gr if $statement =~ /\S/;
			# rows follow
			$text =~ /\G.*?\n\\\.\n/gcs && pop @found if $statement =~ /^\s*COPY\b.*\bFROM\s+STDIN\b/is;
			$statement = '';
			next;
		}
		$depth++ if $token eq '(' || $token =~ /^BEGIN$/i && $statement =~ /FUNCTION|PROCEDURE/i;
		$depth-- if $token eq ')' || $token =~ /^END$/i && $statement =~ /\bBEGIN\s+ATOMIC/i;
		$statement .= $token;
	}
	return grep { !/:['"]?[a-z_]+['"]?/ || /::/ } @found;
}

sub is_query
{
	my ($statement) = @_;
	return $statement =~ /^\(*\s*(?:SELECT|WITH|VALUES|TABLE)\b/i && $statement !~ /\b(?:INTO|INSERT|UPDATE|DELETE|MERGE)\b/i && $statement !~ $changing;
}

sub makes_something
{
	my ($statement) = @_;
	return 0 if $statement =~ /\b(?:ROLE|USER|TABLESPACE|DATABASE|EVENT\s+TRIGGER|SUBSCRIPTION|PUBLICATION|SERVER|UNLOGGED\s+SEQUENCE)\b/i;
	return $statement =~ /^(?:CREATE|INSERT|UPDATE|DELETE|ALTER\s+TABLE|ANALYZE|VACUUM|CLUSTER|DO|REFRESH|WITH\b.*\bINSERT|SELECT\b.*\bINTO)\b/is;
}

# Makes what the files make in the database; returns how many queries there are.
sub load_files
{
	my ($session, $source, @names) = @_;
	@queries = ();
	foreach my $name (@names)
	{
		my $schema = 'f_' . $name =~ s/\W/_/gr;
		my @statements = statements_of(Server::read_text("$source/sql/$name.sql"));
		my $script = "CREATE SCHEMA $schema;\nSET search_path = $schema, public;\nSET statement_timeout = '20s';\n";
		foreach my $statement (grep { makes_something($_) } @statements)
		{
			# a temporary table is one of a session
			my $made = $statement =~ s/^(CREATE\s+(?:OR\s+REPLACE\s+)?)(?:(?:LOCAL\s+|GLOBAL\s+)?TEMP(?:ORARY)?|UNLOGGED)\s+(?=TABLE|VIEW|SEQUENCE|RECURSIVE)/$1/ir
			  =~ s/\bON\s+COMMIT\s+(?:DROP|DELETE\s+ROWS|PRESERVE\s+ROWS)//ir =~ s/\bpg_temp\.//gr;
			$script .= "$made;\n";
		}
		$session->run($script . "RESET ALL;\n");
		my $number = 0;
		my $of_plans = functions_of_plans(@statements);
		push @queries, map { { name => "$name " . ++$number, schema => $schema, sql => $_ } } grep { is_query($_) && !/$of_plans/ } @statements;
	}
	return scalar @queries;
}

sub draw_file_query { return pick(@queries); }

1;
