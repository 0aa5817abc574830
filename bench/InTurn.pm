# Runs statements without gpusort and with it in turn, in one session, on the server of the PG* environment, and compares the least time of
# each side. A ratio is stock's time by gpusort's: below 1 gpusort is slower.
package InTurn;
use strict;
use warnings;
use List::Util qw(max min);
# beside this directory
use lib (__FILE__ =~ m{^(.*)/} ? $1 : '.') . '/../test/differential';
use Session;

use constant {
	BAR => 0.95,
	# a statement of this time is not slowed down by what gpusort does before a plan of PostgreSQL's own begins
	SHORT_MS => 1,
	# of a case that is measured once more: throughout a session the places of memory and of workers can favour a side, and the least of
	# few short times is chance
	AGAIN_SESSIONS => 3,
	AGAIN_MS => 1000,
	AGAIN_REPEATS => 30,
	# no statement takes longer
	PATIENCE_SECONDS => 3600
};

# setup			commands with which a session begins
# repeats		how often each side runs
# of_processor	compare processor times of the backend, which is on this machine
sub new
{
	my ($class, %turns) = @_;
	return bless { %turns, cases => 0, failed => 0 }, $class;
}

sub session { return Session->new($ENV{PGDATABASE} // 'postgres', 'client_min_messages=warning'); }

# Returns what a new psql prints for a script.
sub ask
{
	my ($script) = @_;
	my $session = session();
	my $answer = $session->run($script, PATIENCE_SECONDS);
	$session->end;
	chomp $answer;
	return $answer;
}

# Does what ask() does, but dies on an error.
sub ask_or_die
{
	my $answer = ask($_[0]);
	die "$answer\n" if is_error($answer);
	return $answer;
}

sub is_error { return $_[0] =~ /^(?:ERROR|FATAL|PANIC|nothing came|the session)/m; }

# gpusortd takes a moment to start a device.
sub wait_for_devices
{
	foreach (1 .. 120)
	{
		return if ask("SELECT count(*) FROM gpusort_devices WHERE state = 'starting';") eq '0';
		select undef, undef, undef, 0.5;
	}
}

sub print_head
{
	my ($about) = @_;
	print '# ', ask('SELECT version();'), "\n# ", ask("SELECT string_agg(name || ' ' || state, ', ') FROM gpusort_devices;"), ", $about\n";
	printf "%-52s %10s %10s %6s\n", 'milliseconds', 'stock', 'gpusort', 'ratio';
}

# The processor time that a session's backend has taken, in milliseconds.
sub processor_time
{
	my ($session) = @_;
	$session->{backend} //= $session->run('SELECT pg_backend_pid();') =~ s/\n//r;
	open my $file, '<', "/proc/$session->{backend}/schedstat" or die "/proc/$session->{backend}/schedstat: $!\n";
	my ($nanoseconds) = split ' ', <$file>;
	return $nanoseconds / 1e6;
}

# Returns how long a statement took: as psql measures it, results included; or its planning alone, as EXPLAIN tells it; or its processor
# time.
sub time_of
{
	my ($self, $session, $case) = @_;
	my $start = $self->{of_processor} ? processor_time($session) : undef;
	my $output = $session->run(
		$case->{planning} ? "EXPLAIN (SUMMARY) $case->{statement};" : "\\timing on\n\\o /dev/null\n$case->{statement};\n\\o\n\\timing off", PATIENCE_SECONDS);
	die substr($output, 0, 500) . "\n" if is_error($output);
	return processor_time($session) - $start if defined $start;
	my $time = 0;
	$time += $1 while $output =~ /^(?:Planning )?Time: ([\d.]+) ms/mg;
	return $time;
}

# Returns the least time of each side, of "count" runs after one to warm up.
sub least_times
{
	my ($self, $case, $count) = @_;
	my $session = session();
	my %least;

	$session->run("LOAD 'gpusort'; $self->{setup}");
	foreach my $repeat (0 .. $count)
	{
		# neither side always comes after the other
		foreach my $enable ($repeat % 2 ? ('off', 'on') : ('on', 'off'))
		{
			# a plan made on one side is not for the other
			my $output = $session->run("DEALLOCATE ALL;\nSET gpusort.enable = $enable;\n$case->{before}", PATIENCE_SECONDS);
			die "$output\n" if is_error($output);
			my $time = $self->time_of($session, $case);
			$least{$enable} = $time if $repeat > 0 && (!defined $least{$enable} || $time < $least{$enable});
		}
	}
	$session->end;
	return @least{ 'off', 'on' };
}

# Does what least_times() does, but in several sessions, with more repeats of short statements.
sub least_times_of_sessions
{
	my ($self, $case, $repeats, $time) = @_;
	my $count = max($repeats, min(AGAIN_REPEATS, int(AGAIN_MS / $time)));
	my @times = map { [ $self->least_times($case, $count) ] } 1 .. AGAIN_SESSIONS;
	return map { my $side = $_; min map { $_->[$side] } @times } 0, 1;
}

# Returns whether a statement has the same plan on both sides, one of PostgreSQL's own. Then gpusort has no part in the statement's time,
# except for the little before the plan begins. False for statements that EXPLAIN does not take.
sub has_same_plan
{
	my ($self, $case) = @_;
	return 0 if $case->{planning} || $case->{statement} =~ /;/;
	my $session = session();
	my %plans;

	$session->run("LOAD 'gpusort'; $self->{setup}");
	foreach my $enable ('off', 'on')
	{
		$session->run("DEALLOCATE ALL;\nSET gpusort.enable = $enable;\n$case->{before}", PATIENCE_SECONDS);
		$plans{$enable} = $session->run("EXPLAIN (COSTS OFF) $case->{statement};");
	}
	$session->end;
	return $plans{on} eq $plans{off} && $plans{on} !~ /GpuSort/ && !is_error($plans{on});
}

# Prints the line of a case. A case has a name, what comes before it on each side, and a statement; only the planning of the statement
# counts if the case says so. A case below the bar is measured once more, in several sessions, and the second ratio counts. A case that is
# not short and has the same plan on both sides does not count as slower. Returns the ratio, undef if the case has failed.
sub compare
{
	my ($self, $case) = @_;
	my $repeats = $case->{repeats} // $self->{repeats};
	my ($stock, $own) = eval { $self->least_times($case, $repeats) };
	($stock, $own) = eval { $self->least_times_of_sessions($case, $repeats, $own) } if !$@ && $stock / $own < BAR;
	return $self->fail($case->{name}, $@) if $@;
	my $ratio = $stock / $own;
	my $is_noise = $ratio < BAR && $own >= SHORT_MS && $self->has_same_plan($case);
	printf "%-52s %10.3f %10.3f %6.2f%s\n", $case->{name}, $stock, $own, $ratio, $ratio >= BAR ? '' : $is_noise ? ' the same plan' : ' slower';
	$self->{cases}++;
	return $ratio if $is_noise;
	$self->{failed}++ if $ratio < BAR;
	$self->{worst} = { name => $case->{name}, ratio => $ratio } if !$self->{worst} || $ratio < $self->{worst}{ratio};
	return $ratio;
}

sub fail
{
	my ($self, $name, $why) = @_;
	chomp $why;
	print "$name failed: $why\n";
	$self->{cases}++;
	$self->{failed}++;
	return undef;
}

# Prints the last line, and returns the exit status.
sub report
{
	my ($self) = @_;
	printf "%d cases, %d slower or failed, the worst %s: %.2f\n", $self->{cases}, $self->{failed}, $self->{worst}{name} // 'none', $self->{worst}{ratio} // 0;
	return $self->{failed} > 0 ? 1 : 0;
}

1;
