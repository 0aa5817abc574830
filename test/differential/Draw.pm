# Random draws that can be repeated. All draws come from the one generator of this process. It is
# started anew from the name of each table set and of each query, so a query is the same whether or
# not others were drawn before.
package Draw;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(start_draws below between chance pick pick_some shuffled quoted);

# Starts the generator from a name, by way of its FNV-1a hash.
sub start_draws
{
	my ($name) = @_;
	my $hash = 2166136261;
	$hash = (($hash ^ $_) * 16777619) & 0xffffffff foreach unpack 'C*', $name;
	srand($hash);
	# the first values of seeds that are close are close too
	rand() for 1 .. 10;
}

sub below { return int(rand($_[0])); }

sub between
{
	my ($least, $greatest) = @_;
	return $least + int(rand($greatest - $least + 1));
}

sub chance { return rand() < $_[0]; }

sub pick { return $_[int(rand(@_))]; }

sub shuffled
{
	my @list = @_;
	for (my $i = $#list; $i > 0; $i--)
	{
		my $j = int(rand($i + 1));
		@list[ $i, $j ] = @list[ $j, $i ];
	}
	return @list;
}

# That many of a list, or all of it where it is shorter, in any order.
sub pick_some
{
	my ($count, @list) = @_;
	@list = shuffled(@list);
	return @list[ 0 .. ($count < @list ? $count : scalar @list) - 1 ];
}

# A string as an SQL literal.
sub quoted
{
	my ($string) = @_;
	$string =~ s/'/''/g;
	return "'$string'";
}

1;
