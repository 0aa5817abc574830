# What the outputs of a statement say: whether there is an error that what was done to the statement
# explains, and whether two outputs are the same.
package Comparison;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(cleaned canonical_output differ_by_ties is_lost_to_crash is_excused);

# An output without messages about a lost device, which is no fault.
sub cleaned
{
	my ($output) = @_;
	$output =~ s/^WARNING: +gpusort: .*\n(?:(?:DETAIL|HINT): .*\n)*//mg;
	# a session gets this message when its statement has ended
	$output =~ s/^WARNING: +terminating connection due to immediate shutdown command\n//mg;
	# it is not determined which duplicate, or too large row, is found first, nor where a row is
	$output =~ s/^(ERROR: +index row (?:size|requires)) \d+/$1 .../mg;
	$output =~ s/^(DETAIL: +Key \(.*)=\(.*\) is duplicated\.$/$1 is duplicated./mg;
	$output =~ s/^(DETAIL: +Index row references tuple )\(\d+,\d+\)/$1(...)/mg;
	$output =~ s/^LINE \d+: .*\n *\^\n//mg;
	return $output;
}

# The part of an output that has to be the same: all of it, or its lines in any order.
sub canonical_output
{
	my ($output, $class) = @_;
	# if several rows have no value, any of them may be the first
	$output =~ s/^(ERROR: +)(?:division by zero|.*\bout of range\b.*)/$1no such value/mg;
	return $output if $class eq 'sequence';
	return join "\n", sort split /\n/, $output, -1;
}

# Whether two outputs have the same rows, in sequences that one ORDER BY may give: some column is
# the same from the first row to the last.
sub differ_by_ties
{
	my ($one, $other) = @_;
	return 0 if canonical_output($one, 'set') ne canonical_output($other, 'set');
	my @one = map { [ split /\|/, $_, -1 ] } split /\n/, $one, -1;
	my @other = map { [ split /\|/, $_, -1 ] } split /\n/, $other, -1;
	foreach my $column (0 .. $#{ $one[0] })
	{
		return 1 unless grep { ($one[$_][$column] // '') ne ($other[$_][$column] // '') } 0 .. $#one;
	}
	return 0;
}

# Whether a session was lost because of another session or of the server. Then the log of the server
# has to have the reason.
sub is_lost_to_crash
{
	return $_[0] =~ /server closed the connection|because of crash of another server process|the session has ended|connection to server .* failed|terminated by administrator|the database system is (?:starting|shutting|in recovery|not yet)|due to administrator command|due to unexpected postmaster exit|no connection to the server/;
}

# Whether an output has one of these errors.
sub is_excused
{
	my ($output, @errors) = @_;
	return scalar grep { $output =~ /^(?:ERROR|FATAL|WARNING|psql).*$_/m } grep { defined } @errors;
}

1;
