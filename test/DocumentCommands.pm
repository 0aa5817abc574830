# The commands of a document, so that a test runs what the document tells its readers.
# A command is a block in SQL, in sh or in conf (for postgresql.conf) that begins with a comment:
# the block's name. A block without a language right behind it shows the command's result; elsewhere
# its name is its first line. Whatever differs between a reader's servers and those of a test, like
# the host, is replaced. Blocks in sh without a comment are for scripts/check_documents.
package DocumentCommands;

use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils qw(slurp_file);
use Test::More import => ['is'];

# Takes the path of a document in the checkout, and pairs of a pattern and a function, which makes
# the replacement from what the pattern has captured.
sub new
{
	my ($class, $document, @replacements) = @_;
	my $text = slurp_file("$FindBin::RealBin/../../$document");
	my %self = (document => $document, commands => {}, shown => {}, taken => {}, compared => {});
	my ($name, $end) = ('', 0);
	while ($text =~ /^```(\w*)\n([^\n]*\n)(.*?)^```\n/msg)
	{
		my ($language, $first, $lines, $start) = ($1, $2, $3, $-[0]);
		if ($language eq '')
		{
			($name) = $first =~ /(\S.*)/ unless $name ne '' && substr($text, $end, $start - $end) eq "\n";
			die "$document shows '$name' twice" if $self{shown}{$name};
			$self{shown}{$name} = $first . $lines;
			$name = '';
		}
		elsif (($name) = $first =~ /^(?:--|#) (.*)/)
		{
			die "$document has several blocks '$name'" if $self{commands}{$name};
			for (my $i = 0; $i < @replacements; $i += 2)
			{
				my ($pattern, $replace) = @replacements[ $i, $i + 1 ];
				$lines =~ s/$pattern/$replace->($1)/ge;
			}
			$self{commands}{$name} = $lines;
		}
		else
		{
			$name = '';
		}
		$end = pos $text;
	}
	return bless \%self, $class;
}

# The block of this name.
sub commands
{
	my ($self, $name) = @_;
	$self->{taken}{$name} = 1;
	return $self->{commands}{$name} // die "$self->{document} has no block '$name'";
}

# A test: lines are those that the document shows behind the block of this name. A line with "..."
# stands for the rest. A function can make lines equal that differ each time.
sub is_shown
{
	my ($self, $name, $lines, $same) = @_;
	$same //= sub { return $_[0]; };
	my $shown = $self->{shown}{$name} // die "$self->{document} shows nothing of '$name'";
	$self->{compared}{$name} = 1;
	$shown = $same->($shown =~ s/^ //gmr);
	$lines = $same->($lines);
	chomp($shown, $lines);
	$lines = substr($lines, 0, length $shown) if $shown =~ s/^ *\.\.\.\z//m;
	is($lines, $shown, "$self->{document} shows what becomes of '$name'");
}

# A test: all blocks have been taken, and all results that are shown have been compared, except
# those with names that another test takes.
sub all_taken
{
	my ($self, $others) = @_;
	my @left = grep { !$self->{taken}{$_} } keys %{ $self->{commands} };
	push @left, grep { !$self->{compared}{$_} } keys %{ $self->{shown} };
	@left = grep { !($others && /$others/) } @left;
	is(join(', ', sort @left), '', "$self->{document}: all commands were tried, and what they show");
}

1;
