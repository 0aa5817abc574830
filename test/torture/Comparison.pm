# What the outputs of a statement say: whether something is the matter that has
# to do with what was done to it, and whether two are the same.
package Comparison;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(cleaned canonical_output differ_by_ties is_lost_to_crash is_excused);

# Without what is said of a device that was lost, which is no fault.
sub cleaned
{
	my ($output) = @_;
	$output =~ s/^WARNING: +gpusort: .*\n(?:(?:DETAIL|HINT): .*\n)*//mg;
	# a session hears of that when its statement is through
	$output =~ s/^WARNING: +terminating connection due to immediate shutdown command\n//mg;
	# which duplicate, or row too large, is found first is not determined, nor where a row is
	$output =~ s/^(ERROR: +index row (?:size|requires)) \d+/$1 .../mg;
	$output =~ s/^(DETAIL: +Key \(.*)=\(.*\) is duplicated\.$/$1 is duplicated./mg;
	$output =~ s/^(DETAIL: +Index row references tuple )\(\d+,\d+\)/$1(...)/mg;
	$output =~ s/^LINE \d+: .*\n *\^\n//mg;
	return $output;
}

# What has to be the same: all of an output, or its lines in any order.
sub canonical_output
{
	my ($output, $class) = @_;
	# of several rows of which no value can be had, any one may be the first
	$output =~ s/^(ERROR: +)(?:division by zero|.*\bout of range\b.*)/$1no such value/mg;
	return $output if $class eq 'sequence';
	return join "\n", sort split /\n/, $output, -1;
}

# Whether two outputs have the same rows, in sequences that may be that of one
# ORDER BY: a column is the same from the first row to the last.
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

# A session was lost to what happened to another one, or to the server: of that
# its log has to know the reason.
sub is_lost_to_crash
{
	return $_[0] =~ /server closed the connection|because of crash of another server process|the session has ended|connection to server .* failed|terminated by administrator|the database system is (?:starting|shutting|in recovery|not yet)|due to administrator command|due to unexpected postmaster exit|no connection to the server/;
}

# Any of these errors, where they may be.
sub is_excused
{
	my ($output, @errors) = @_;
	return scalar grep { $output =~ /^(?:ERROR|FATAL|WARNING|psql).*$_/m } grep { defined } @errors;
}

1;
