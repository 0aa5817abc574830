# What is done to a statement while it runs: cancels, signals to the processes that take part in it,
# and resources that run out. The action and its time are drawn. The time is a part of the
# statement's own time, so that every phase of the statement has its turn.
# An action belongs to a group, which says what errors it may cause. What is done to gpusortd must
# cause none: the answer has to be right.
package Sabotage;
use strict;
use warnings;
use Time::HiRes qw(sleep time);
use Draw;
use Server;
use Exporter 'import';

our @EXPORT = qw(draw_sabotage sabotage undo was_full full_error signals_since kills_made);

# a file gets the time of the kernel's last tick
use constant TICK_SECONDS => 0.01;

my %errors = (
	cancel => qr/canceling statement due to (?:user request|statement timeout|lock timeout)/,
	worker => qr/canceling statement due to user request|due to administrator command|lost connection to parallel worker|parallel worker failed to initialize/,
	backend => qr/due to administrator command/,
	launcher => qr/^$/,
	daemon => qr/^$/,
	postmaster => qr/due to administrator command/,
	memory => qr/out of memory|Cannot allocate memory|could not (?:map|resize|create|fork)/,
	files => qr/Too many open files|out of file descriptors|insufficient|could not (?:open|dup|create|receive|epoll)/i,
	full => qr/No space left on device|wrote only \d+ of \d+ bytes/);

# weight, group, action. Signals that end a process are as likely as signals after which it goes on.
my @actions = (
	[ 8, 'cancel', 'INT to backend', sub { signal('INT', $_[0]{backend}) } ],
	[ 5, 'cancel', 'statement_timeout', undef ],
	[ 4, 'cancel', 'lock_timeout', sub { lock_tables($_[0]) } ],
	[ 6, 'daemon', 'KILL to gpusortd', sub { signal('KILL', $_[0]{server}->daemons) } ],
	[ 3, 'daemon', 'SEGV to gpusortd', sub { signal('SEGV', $_[0]{server}->daemons) } ],
	[ 2, 'daemon', 'TERM to gpusortd', sub { signal('TERM', $_[0]{server}->daemons) } ],
	[ 5, 'daemon', 'STOP and CONT to gpusortd', sub { stop_for_a_while($_[0], $_[0]{server}->daemons) } ],
	[ 3, 'daemon', 'STOP to gpusortd', sub { stop_to_the_end($_[0], $_[0]{server}->daemons) } ],
	[ 4, 'daemon', 'little memory for gpusortd', sub { limit($_[0], 'as', $_) foreach $_[0]{server}->daemons } ],
	[ 3, 'daemon', 'few descriptors for gpusortd', sub { limit($_[0], 'nofile', $_) foreach $_[0]{server}->daemons } ],
	[ 4, 'daemon', 'other settings for gpusortd', \&reload ],
	[ 3, 'worker', 'TERM to parallel workers', sub { signal('TERM', workers($_[0])) } ],
	[ 2, 'worker', 'INT to parallel workers', sub { signal('INT', workers($_[0])) } ],
	[ 2, 'worker', 'KILL to a parallel worker', sub { signal('KILL', (workers($_[0]))[0]) } ],
	[ 1, 'worker', 'SEGV to a parallel worker', sub { signal('SEGV', (workers($_[0]))[0]) } ],
	[ 3, 'none', 'STOP and CONT to parallel workers', sub { stop_for_a_while($_[0], workers($_[0])) } ],
	[ 4, 'backend', 'TERM to backend', sub { signal('TERM', $_[0]{backend}) } ],
	[ 2, 'backend', 'KILL to backend', sub { signal('KILL', $_[0]{backend}) } ],
	[ 1, 'backend', 'SEGV to backend', sub { signal('SEGV', $_[0]{backend}) } ],
	[ 2, 'none', 'STOP and CONT to backend', sub { stop_for_a_while($_[0], $_[0]{backend}) } ],
	[ 2, 'launcher', 'TERM to launcher', sub { signal('TERM', $_[0]{server}->launchers) } ],
	[ 1, 'launcher', 'KILL to launcher', sub { signal('KILL', $_[0]{server}->launchers) } ],
	[ 2, 'launcher', 'STOP and CONT to launcher', sub { stop_for_a_while($_[0], $_[0]{server}->launchers) } ],
	[ 1, 'postmaster', 'KILL to postmaster', sub { signal('KILL', $_[0]{server}->postmaster) } ],
	[ 1, 'postmaster', 'QUIT to postmaster', sub { signal('QUIT', $_[0]{server}->postmaster) } ],
	[ 1, 'postmaster', 'INT to postmaster', sub { signal('INT', $_[0]{server}->postmaster) } ],
	[ 1, 'none', 'STOP and CONT to postmaster', sub { stop_for_a_while($_[0], $_[0]{server}->postmaster) } ],
	[ 4, 'memory', 'little memory for backend', sub { limit($_[0], 'as', $_[0]{backend}) } ],
	[ 3, 'files', 'few descriptors for backend', sub { limit($_[0], 'nofile', $_[0]{backend}) } ],
	[ 5, 'full', 'full disk', sub { fill($_[0], $_[0]{server}{small}) }, 'mounts' ],
	[ 4, 'full', 'full /dev/shm', sub { fill($_[0], '/dev/shm') }, 'mounts' ]);

my $context;
my $kills = 0;

sub kills_made { return $kills; }

# Draws what is done to a statement, or undef.  With "mounts", the directories
# that can be filled are the server's own.
sub draw_sabotage
{
	my ($share, $mounts) = @_;
	return undef unless chance($share);
	my $total = 0;
	$total += $_->[0] foreach @actions;
	my $drawn = below($total);
	foreach my $action (@actions)
	{
		my ($weight, $group, $name, $act, $needs) = @$action;
		$drawn -= $weight;
		next if $drawn >= 0;
		my %sabotage = (group => $group, name => $name, act => $act, share => rand(1.1), pause => pick(0.05, 0.3, 1, 3), left => pick(0, 0, 1, 3, 10), errors => $errors{$group});
		return undef if $needs && !$mounts;
		return \%sabotage;
	}
}

# The beginning of a script that makes the action meet it.
sub preparation
{
	my ($sabotage, $duration) = @_;
	return "SET statement_timeout = " . (1 + int(1000 * $duration * $sabotage->{share})) . ";\n" if $sabotage->{name} eq 'statement_timeout';
	return "SET lock_timeout = " . int(1000 * $sabotage->{pause}) . ";\n" if $sabotage->{name} eq 'lock_timeout';
	return "SET temp_tablespaces = small;\nSET default_tablespace = small;\n" if $sabotage->{name} eq 'full disk';
	return '';
}

# Disturbs the statement that a backend has just been sent, and that takes "duration" by itself.
# "is_done" says whether the statement has ended, and "other" runs commands in another session.
sub sabotage
{
	my ($sabotage, $worker, $server, $backend, $duration, $is_done, $other) = @_;
	$context = { worker => $worker, server => $server, backend => $backend, is_done => $is_done, other => $other, end => time() + $duration, %$sabotage, undo => [] };
	return unless $sabotage->{act};
	sleep $duration * $sabotage->{share};
	$sabotage->{act}->($context);
}

# Undoes actions that would go on otherwise.
sub undo
{
	$_->() foreach reverse @{ $context->{undo} // [] };
	$context = {};
}

# ---- signals

sub signal
{
	my ($signal, @processes) = @_;
	return if starts_recovery($signal) && -e "$context->{server}{small}/filler";
	foreach my $process (grep { $_ } @processes)
	{
		# before the signal is sent, or the log would be ahead
		Server::append("$context->{server}{directory}/kills", sprintf("%d %s at %.3f by worker %d\n", $process, $signal, time(), $context->{worker} // 0));
		$kills += kill $signal, $process;
	}
}

# Whether the server has to recover after this signal. Recovery on a full disk is PostgreSQL's own, and
# ends the server: it writes whole pages of relations that may have been dropped since.
sub starts_recovery
{
	my ($signal) = @_;
	return $context->{group} ne 'daemon' && $signal =~ /^(?:KILL|SEGV|QUIT)$/;
}

# The parallel workers of the backend; there may be none yet.
sub workers
{
	my ($context) = @_;
	my @workers;
	do
	{
		@workers = $context->{server}->workers_of($context->{backend});
		return @workers if @workers || $context->{is_done}->();
		sleep 0.002;
	} while (time() < $context->{end} + 0.5);
	return ();
}

sub stop_to_the_end
{
	my ($context, @processes) = @_;
	push @{ $context->{undo} }, sub { kill 'CONT', grep { $_ } @processes };
	signal('STOP', @processes);
}

sub stop_for_a_while
{
	my ($context, @processes) = @_;
	return unless grep { $_ } @processes;
	signal('STOP', @processes);
	sleep $context->{pause};
	kill 'CONT', grep { $_ } @processes;
}

# ---- locks

# Another session locks the tables, if it can, and has a snapshot.
sub lock_tables
{
	my ($context) = @_;
	push @{ $context->{undo} }, sub { $context->{other}->("ROLLBACK;\nDISCARD ALL;") };
	$context->{other}->("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1;\nLOCK TABLE t, u, p IN ROW EXCLUSIVE MODE NOWAIT;");
	$kills++;
}

# ---- resources

# A limit little above what a process has now.
sub limit
{
	my ($context, $resource, $process) = @_;
	return unless $process;
	my $used = $resource eq 'nofile' ? scalar(() = glob "/proc/$process/fd/*")
	  : Server::read_text("/proc/$process/status") =~ /^VmSize:\s+(\d+)/m ? $1 * 1024 : return;
	my $most = $used + ($resource eq 'nofile' ? $context->{left} : $context->{left} << 20);
	my ($status, $old) = Server::run_command('prlimit', '--pid', $process, "--$resource", '--noheadings', '--raw', '--output', 'SOFT');
	chomp $old;
	push @{ $context->{undo} }, sub { Server::run_command('prlimit', '--pid', $process, "--$resource=$old:") };
	Server::run_command('prlimit', '--pid', $process, "--$resource=$most:");
	$kills++;
}

sub reload
{
	my ($context) = @_;
	Server::append("$context->{server}{data}/round.conf",
		"gpusort.staging_memory_limit = '" . pick('16MB', '100MB', '1GB') . "'\ngpusort.device_memory = " . pick(1, 50, 90) . "\n");
	signal('HUP', $context->{server}->postmaster);
}

# Fills a directory that has a memory of its own, but for a few MB.
sub fill
{
	my ($context, $directory) = @_;
	my ($server, $filler) = ($context->{server}, "$directory/filler");
	my ($status, $free) = Server::run_command('df', '--output=avail', '-k', $directory);
	my $kilobytes = ($free =~ /(\d+)\s*$/ ? $1 : 0) - $context->{left} * 1024;
	return if $kilobytes <= 0;
	# the memory goes back before the name, so that there is room when no name is left
	push @{ $context->{undo} }, sub { truncate $filler, 0; note_full($server); unlink $filler };
	note_full($server);
	Server::run_command('fallocate', '-l', "${kilobytes}K", $filler);
	$kills++;
}

# All signals that were sent since then, by whichever worker.
sub signals_since
{
	my ($server, $since) = @_;
	return grep { / at (\S+)/ && $1 >= $since } split /\n/, Server::read_text("$server->{directory}/kills");
}

# The errors of a full disk.
sub full_error { return $errors{full}; }

sub note_full { Server::append("$_[0]{directory}/full", "\n"); }

# Whether something was full since then, by whichever worker.
sub was_full
{
	my ($server, $since) = @_;
	return 1 if grep { -e "$_/filler" } $server->{small}, '/dev/shm';
	return ((Time::HiRes::stat("$server->{directory}/full"))[9] // 0) >= $since - TICK_SECONDS;
}

1;
