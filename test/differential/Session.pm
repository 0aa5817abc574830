# A psql that stays, and what it prints for a script: results and messages in
# the order in which they came.
package Session;
use strict;
use warnings;
use IPC::Open3;

# The line that ends the output of a script.
my $END = 'end of the script';

sub new
{
	my ($class, $database, @settings) = @_;
	my $self = bless {}, $class;
	local $ENV{PGOPTIONS} = join ' ', map { s/([\\ ])/\\$1/gr } map { ('-c', $_) } @settings;
	local $ENV{PGCLIENTENCODING} = 'UTF8';

	# no third handle: messages go where results go
	$self->{pid} = open3($self->{in}, $self->{out}, undef, 'psql', '-XAtq', '-d', $database);
	$self->{in}->autoflush(1);
	return $self;
}

sub send
{
	my ($self, $script) = @_;
	local $SIG{PIPE} = 'IGNORE';
	print { $self->{in} } "$script\n\\echo $END\n";
}

# Returns what psql has printed for the script that was sent. If psql ends, or is silent for this
# many seconds, the text says so, and the session cannot be used any more.
sub receive
{
	my ($self, $patience) = @_;
	my $text = '';
	while ($text !~ s/(^|\n)\Q$END\E\n$/$1/)
	{
		my $readable = '';
		vec($readable, fileno($self->{out}), 1) = 1;
		if (!select($readable, undef, undef, $patience))
		{
			kill 'KILL', $self->{pid};
			$text .= "nothing came for $patience seconds\n";
			$self->{lost} = 1;
			last;
		}
		next if sysread($self->{out}, $text, 65536, length $text);
		$text .= "the session has ended\n";
		$self->{lost} = 1;
		last;
	}
	$text =~ s/^psql:<stdin>:\d+: //mg;
	# chance decides which process comes to an error first; more context may follow
	$text =~ s/^(CONTEXT:  |)parallel worker\n(?=(SQL |PL\/pgSQL )?)/$2 ? $1 : ''/mge;
	return $text;
}

sub run
{
	my ($self, $script, $patience) = @_;
	$self->send($script);
	return $self->receive($patience // 600);
}

sub is_lost { return $_[0]->{lost}; }

sub end
{
	my ($self) = @_;
	close $self->{in};
	close $self->{out};
	waitpid($self->{pid}, 0);
}

1;
