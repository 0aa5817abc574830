# The server that is tortured: a cluster of its own, started and stopped as the
# rounds want it, its processes as the kernel shows them, and its log.
package Server;
use strict;
use warnings;
use POSIX ':sys_wait_h';
use Time::HiRes qw(sleep time);
use Draw;

use constant PATIENCE_SECONDS => 120;

sub new
{
	my ($class, $directory) = @_;
	return bless {
		directory => $directory, data => "$directory/data", log => "$directory/log", small => "$directory/small",
		owner => $$, child => 0, log_position => 0 }, $class;
}

# The prefix that runs a command as a user who may run a server.
sub as_server_user
{
	return $> == 0 ? ('setpriv', '--reuid=nobody', '--regid=' . getgrgid((getpwnam('nobody'))[3]), '--clear-groups', 'env', 'HOME=/nonexistent') : ();
}

# Runs a command and returns its status and what it prints.
sub run_command
{
	my (@command) = @_;
	open(my $output, '-|', 'sh', '-c', 'exec "$@" 2>&1 </dev/null', 'sh', @command) or die "sh: $!";
	my $text = join '', <$output>;
	close $output;
	return ($?, $text);
}

sub must_run
{
	my ($status, $text) = run_command(@_);
	die "this failed: @_\n$text" if $status;
}

sub make
{
	my ($self) = @_;
	must_run(as_server_user(), 'initdb', '-D', $self->{data}, '-U', 'postgres', '-A', 'trust', '--no-sync', '--locale=C.UTF-8', '--encoding=UTF8');
	# huge pages are left to a TAP test that may run at the same time
	append($self->{data} . '/postgresql.conf', <<"CONF");
listen_addresses = ''
unix_socket_directories = '$self->{directory}'
fsync = off
huge_pages = off
max_wal_size = 2GB
log_line_prefix = '%m [%p] %e %a '
log_min_messages = warning
log_lock_waits = on
gpusort.daemon_engine = host
include_if_exists = 'round.conf'
CONF
}

sub append
{
	my ($file, $text) = @_;
	open(my $handle, '>>', $file) or die "$file: $!";
	print $handle $text;
	close $handle;
}

# The whole file, or the part behind a position; nothing if there is no such file.
sub read_text
{
	my ($file, $position) = @_;
	open(my $handle, '<', $file) or return '';
	seek $handle, $position, 0 if $position;
	local $/;
	return scalar <$handle> // '';
}

# ---- starting and stopping

# Settings that a server has from its start to its end. The library is the one with the gpusortd of
# tests.
sub draw_weather
{
	my ($library) = @_;
	my %weather = (
		shared_preload_libraries => 'gpusort',
		autovacuum => pick('on', 'off'),
		dynamic_shared_memory_type => pick('posix', 'posix', 'mmap', 'sysv'),
		min_dynamic_shared_memory => pick('0', '0', '1MB', '32MB'),
		shared_buffers => pick('1MB', '16MB', '128MB'),
		max_worker_processes => pick(2, 8, 8, 16),
		max_files_per_process => pick(64, 1000, 1000),
		max_connections => 20,
		wal_level => 'replica',
		'gpusort.staging_memory_limit' => pick('16MB', '100MB', '1GB'),
		'gpusort.device_memory' => pick(90, 90, 50, 1));
	# then each session loads gpusort, and the first that wants the launcher starts it
	@weather{ 'shared_preload_libraries', 'session_preload_libraries' } = ('', 'gpusort') if chance(0.2);

	# freed memory gets bytes that no text has
	my %environment = (MALLOC_PERTURB_ => between(0xf8, 0xff));
	if (chance(0.3))
	{
		$environment{GPUSORTD_HOST_DEVICES} = pick('100,50', '3', '20,20,20');
		$environment{GPUSORTD_HOST_FAULT} = 1 if $environment{GPUSORTD_HOST_DEVICES} =~ /,/ && chance(0.5);
		$weather{$_} =~ s/^gpusort$/$library/ foreach grep { /_preload_/ } keys %weather;
	}
	return { settings => \%weather, environment => \%environment };
}

sub set_weather
{
	my ($self, $weather) = @_;
	my %settings = %{ $weather->{settings} };
	$self->{environment} = $weather->{environment};
	open(my $file, '>', "$self->{data}/round.conf") or die "round.conf: $!";
	print $file map { "$_ = '$settings{$_}'\n" } sort keys %settings;
	close $file;
}

# Starts the server; returns whether it comes up. Prints the end of its log if not.
sub start
{
	my ($self) = @_;
	do
	{
		return 1 if $self->launch;
	} while ($self->remove_left_file || $self->was_killed);
	print map { "# $_\n" } last_lines($self->{log}, 20);
	return 0;
}

# An unlogged relation whose transaction is rolled back leaves an empty file. If the WAL then has
# the relation but not the end of its transaction, recovery wants to make that file, and fails. This
# is PostgreSQL's own fault, so the file goes.
sub remove_left_file
{
	my ($self) = @_;
	my ($file) = join("\n", last_lines($self->{log}, 20)) =~ /.*FATAL: +could not create file "(base\/\d+\/\d+)": File exists/s;
	return defined $file && -z "$self->{data}/$file" && unlink "$self->{data}/$file";
}

# Whether another worker has killed the server while it started.
sub was_killed
{
	my ($self) = @_;
	return read_text("$self->{directory}/kills") =~ /^$self->{launched} /m;
}

sub launch
{
	my ($self) = @_;
	my @limit = $> == 0 ? ('prlimit', '--core=unlimited:unlimited') : ();
	my @command = (@limit, as_server_user(), 'postgres', '-D', $self->{data});

	$self->reap;
	my $process = fork() // die "fork: $!";
	if ($process == 0)
	{
		@ENV{ keys %{ $self->{environment} } } = values %{ $self->{environment} };
		POSIX::setsid();
		open STDIN, '<', '/dev/null';
		open STDOUT, '>>', $self->{log};
		open STDERR, '>&', \*STDOUT;
		exec @command or POSIX::_exit(1);
	}
	$self->{child} = $self->{launched} = $process;
	return wait_until(sub { $self->reap; return !$self->{child} || accepts() }) && $self->{child};
}

# A postmaster that has ended exists until its parent, this process, waits for it, and its successor
# sees it until then.
sub reap
{
	my ($self) = @_;
	$self->{child} = 0 if $self->{child} && waitpid($self->{child}, WNOHANG) != 0;
}

sub last_lines
{
	my ($file, $count) = @_;
	my @lines = split /\n/, read_text($file);
	return @lines > $count ? @lines[ -$count .. -1 ] : @lines;
}

sub stop
{
	my ($self, $mode) = @_;
	$self->continue_all;
	my ($status) = run_command(as_server_user(), 'pg_ctl', '-D', $self->{data}, '-m', $mode, '-w', '-t', PATIENCE_SECONDS, 'stop');
	$self->reap;
	return $status == 0;
}

# A fast shutdown during the recovery after a crash waits for ever, for a checkpointer that is told
# nothing. This is PostgreSQL's own fault, so the shutdown becomes immediate.
sub hurry_shutdown
{
	my ($self) = @_;
	my $pid = $self->postmaster or return;
	my $last = (grep { /\[$pid\].*LOG: +(?:.*reinitializing|database system is ready)/ } split /\n/, read_text($self->{log}))[-1] // '';
	kill 'QUIT', $pid if $last =~ /reinitializing/;
}

# The postmaster's process, 0 if there is none.
sub postmaster
{
	my ($self) = @_;
	$self->reap if $self->{owner} == $$;
	my ($pid) = read_text("$self->{data}/postmaster.pid") =~ /^(\d+)/;
	return $pid && (readlink("/proc/$pid/cwd") // '') eq $self->{data} ? $pid : 0;
}

sub wait_until
{
	my ($condition, $seconds) = @_;
	my $end = time() + ($seconds // PATIENCE_SECONDS);
	until ($condition->())
	{
		return 0 if time() > $end;
		sleep 0.05;
	}
	return 1;
}

# Whether the server accepts a session.
sub accepts
{
	my ($status) = run_command('psql', '-XAtqc', 'SELECT 1');
	return $status == 0;
}

# ---- processes

# All processes of the cluster, as [ pid, name ]. The name is empty while a process ends, and still
# has memory of the server.
sub processes
{
	my ($self) = @_;
	my @found;
	foreach my $process (glob '/proc/[0-9]*')
	{
		my $working = readlink("$process/cwd") // next;
		next if $working ne $self->{data};
		my $what = read_text("$process/cmdline") =~ s/\0+/ /gr =~ s/^postgres: | +$//gr;
		push @found, [ $1, $what ] if $process =~ /(\d+)$/;
	}
	return @found;
}

sub processes_like
{
	my ($self, $pattern) = @_;
	return map { $_->[0] } grep { $_->[1] =~ $pattern } $self->processes;
}

sub daemons { return $_[0]->processes_like(qr{/gpusortd( |$)}); }
sub launchers { return $_[0]->processes_like(qr/^gpusort launcher/); }
sub workers_of { return $_[0]->processes_like(qr/^parallel worker for PID $_[1]\b/); }

sub continue_all
{
	my ($self) = @_;
	kill 'CONT', map { $_->[0] } $self->processes;
}

# ---- the log

# The lines that the log has got since the last call.
sub new_log
{
	my ($self) = @_;
	my $text = $self->log_since($self->{log_position});
	$self->{log_position} += length $text;
	return $text;
}

sub log_size { return -s $_[0]{log} // 0; }

# The lines that the log has got since it had that size.
sub log_since { return read_text($_[0]{log}, $_[1]); }

# Whether a process has waited for another session's lock or snapshot since then,
# for longer than deadlock_timeout.
sub has_waited
{
	my ($self, $process, $size) = @_;
	return $self->log_since($size) =~ /\bprocess $process still waiting for /;
}

1;
