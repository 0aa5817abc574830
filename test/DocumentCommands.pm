# The commands of a document in docs/, so that a test runs what readers are told.
#
# They are its blocks in SQL and in sh, each of which begins with a comment that
# is its name.  A block without a language that follows is what is shown of their
# results.  What differs between a reader's servers and a test's, such as the
# host, is replaced.
package DocumentCommands;

use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils qw(slurp_file);
use Test::More import => ['is'];

# Takes the name of a file in docs/, and pairs of a pattern and a function that
# makes its replacement of what the pattern has captured.
sub new
{
	my ($class, $document, @replacements) = @_;
	my $text = slurp_file("$FindBin::RealBin/../../docs/$document");
	my %self = (document => $document, commands => {}, shown => {}, taken => {});
	while ($text =~ /^```(?:sql|sh)\n(?:--|#) ([^\n]*)\n(.*?)^```\n(?:\n```\n(.*?)^```$)?/msg)
	{
		my ($name, $commands) = ($1, $2);
		$self{shown}{$name} = $3;
		die "$document has several blocks '$name'" if $self{commands}{$name};
		for (my $i = 0; $i < @replacements; $i += 2)
		{
			my ($pattern, $replace) = @replacements[ $i, $i + 1 ];
			$commands =~ s/$pattern/$replace->($1)/ge;
		}
		$self{commands}{$name} = $commands;
	}
	# what has no name would not be run
	my $blocks = () = $text =~ /^```(?:sql|sh)$/mg;
	is(scalar keys %{ $self{commands} }, $blocks, "$document: each block of commands has a name");
	return bless \%self, $class;
}

# The block of this name.
sub commands
{
	my ($self, $name) = @_;
	$self->{taken}{$name} = 1;
	return $self->{commands}{$name} // die "$self->{document} has no block '$name'";
}

# A test: lines are those that the document shows behind the block of this name,
# as far as it does: a line with "..." stands for the rest.
sub is_shown
{
	my ($self, $name, $lines) = @_;
	my $shown = $self->{shown}{$name} =~ s/^ //gmr;
	chomp($shown);
	$lines = substr($lines, 0, length $shown) if $shown =~ s/^ *\.\.\.\z//m;
	is($lines, $shown, "$self->{document} shows what becomes of '$name'");
}

# A test: all have been taken, but those with names that a script by hand tries.
sub all_taken
{
	my ($self, $by_hand) = @_;
	my @left = grep { !$self->{taken}{$_} && !($by_hand && /$by_hand/) } sort keys %{ $self->{commands} };
	is(join(', ', @left), '', "$self->{document}: all commands were tried");
}

1;
