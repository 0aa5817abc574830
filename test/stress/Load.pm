# Sessions that sort all the while, for programs that disturb them: a database with rows to sort, queries
# with their answers, and any number of sessions, each a process that notes what it has seen.
package Load;
use strict;
use warnings;
# beside this directory
use lib (__FILE__ =~ m{^(.*)/} ? $1 : '.') . '/../differential';
use Session;

use constant {
	# a session, or a gpusortd that does not get ready, is given up after this time
	PATIENCE_SECONDS => 300,
	READY_SECONDS => 60
};

# database	made anew
# sessions	how many
# seed		of what is drawn in them
# settings	of them
sub new
{
	my ($class, %load) = @_;
	return bless { %load, failures => {} }, $class;
}

# Seconds, by a clock that only goes forward.
sub now
{
	open my $file, '<', '/proc/uptime' or die "/proc/uptime: $!";
	return (split / /, <$file>)[0];
}

sub pause { select(undef, undef, undef, $_[0]); }

sub median { return (sort { $a <=> $b } @_)[ @_ / 2 ]; }

sub failure
{
	my ($self, $what) = @_;
	print "not ok - $what\n" if ++$self->{failures}{$what} <= 3;
}

sub failures
{
	my ($self) = @_;
	my $count = 0;
	$count += $_ foreach values %{ $self->{failures} };
	return $count;
}

# The server's answer to a single script.
sub ask
{
	my ($self, $script) = @_;
	my $answer = $self->{admin}->run($script, PATIENCE_SECONDS);
	die "the server says: $answer" if $self->{admin}->is_lost || $answer =~ /^(ERROR|FATAL)/m;
	chomp $answer;
	return $answer;
}

sub counter
{
	my ($self, $name) = @_;
	return $self->ask("SELECT value FROM gpusort_stats WHERE name = '$name';");
}

# Makes the database with this many rows, and finds the answer of each query.
sub make_database
{
	my ($self, $engine, $rows) = @_;
	$self->{admin} = Session->new($ENV{PGDATABASE} // 'postgres', 'client_min_messages=error');
	$self->ask("DROP DATABASE IF EXISTS $self->{database};\nCREATE DATABASE $self->{database};");
	$self->ask("ALTER SYSTEM SET gpusort.daemon_engine = $engine; SELECT pg_reload_conf();");
	$self->{admin}->end;
	$self->{admin} = Session->new($self->{database}, 'client_min_messages=error', 'gpusort.enable=off', 'work_mem=256MB', 'jit=off');
	name_index($self->{admin}, 0);
	$self->ask('CREATE EXTENSION gpusort;');
	$self->ask("CREATE TABLE t AS SELECT i id, hashint8(i) % 100000 k, md5((i % 50000)::text) txt FROM generate_series(1, $rows) i; VACUUM ANALYZE t; CHECKPOINT;");
	$self->wait_for_daemon or die "gpusortd does not start\n";
	$_->{answer} = $self->ask($_->{sql}) foreach @{ $self->{queries} };
}

sub end
{
	my ($self) = @_;
	$self->ask('ALTER SYSTEM RESET gpusort.daemon_engine; SELECT pg_reload_conf();');
	$self->{admin}->end;
}

sub wait_for_daemon
{
	my ($self) = @_;
	my $end = now() + READY_SECONDS;
	while (now() < $end)
	{
		my $state = $self->ask('SELECT state FROM gpusort_devices LIMIT 1;');
		return 1 if $state eq 'ready';
		$self->start_daemon_now if $state eq 'failed';
		pause(0.02);
	}
	return 0;
}

# A gpusortd that has not lasted is started again after some time, but at once when the configuration is
# loaded again.
sub start_daemon_now { $_[0]->ask('SELECT pg_reload_conf();'); }

# The digest of all rows in an order.
sub ordered { return "SELECT md5(string_agg(id::text, ',')) FROM (SELECT id FROM t ORDER BY $_[0]) s;"; }

# Queries that sort in these ways, each with a name and its statements, which
# leave nothing behind.
sub use_queries
{
	my ($self, $rows, @names) = @_;
	my $in_parallel = 'SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0;';
	my $by_index = 'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off;';
	my %sql = (
		'numbers' => ordered('k, id'),
		'strings' => ordered('txt COLLATE "C" DESC, id'),
		'files' => 'SET LOCAL gpusort.work_mem = ' . int(1024 + $rows / 100) . '; ' . ordered('k, id'),
		'parallel' => "$in_parallel SET LOCAL max_parallel_workers_per_gather = 2; " . ordered('k, id'),
		'many' => "SELECT md5(string_agg(ids, ',' ORDER BY g)) FROM generate_series(1, 10) g, LATERAL (SELECT string_agg(id::text, ',') ids FROM (SELECT id FROM t WHERE id % 10 + 1 = g ORDER BY txt COLLATE \"C\", id OFFSET 0) s) l;",
		'index' => "SET LOCAL max_parallel_maintenance_workers = 0; CREATE INDEX :own ON t (k, id); $by_index " . ordered('k, id'),
		'parallel index' => "$in_parallel SET LOCAL max_parallel_maintenance_workers = 2; CREATE INDEX :own ON t (txt COLLATE \"C\", id); $by_index " . ordered('txt COLLATE "C", id'));
	@names = sort keys %sql unless @names;
	$self->{queries} = [ map { { name => $_, sql => "BEGIN; $sql{$_} ROLLBACK;" } } @names ];
}

# Each session's index has a name of its own, or one would wait for another's transaction.
sub name_index
{
	my ($session, $number) = @_;
	$session->run("\\set own index_$number");
}

sub new_session
{
	my ($self, $number) = @_;
	my $session = Session->new($self->{database}, @{ $self->{settings} });
	$session->{number} = $number;
	name_index($session, $number);
	return $session;
}

# Replaces a session by a new one. If it is in the middle of a query, its client is killed.
sub reconnect
{
	my ($self, $session) = @_;
	kill 'KILL', $session->{pid};
	$session->end;
	%$session = %{ $self->new_session($session->{number}) };
}

# Starts all sessions, each with this to do; gather() has what they note.
sub in_sessions
{
	my ($self, $work) = @_;
	my @outputs;
	foreach my $number (1 .. $self->{sessions})
	{
		pipe(my $reader, my $writer) or die "pipe: $!";
		my $process = fork() // die "fork: $!";
		if ($process == 0)
		{
			close $reader;
			srand($self->{seed} * 1000 + $number);
			my $session = $self->new_session($number);
			print $writer "end\n" if $work->($session, $writer);
			$session->end;
			close $writer;
			# without the END blocks of the parent
			require POSIX;
			POSIX::_exit(0);
		}
		close $writer;
		push @outputs, [ $reader, $process ];
	}
	return \@outputs;
}

# What the sessions have noted, by its kind; failures are counted.
sub gather
{
	my ($self, $outputs) = @_;
	my %noted;
	foreach (@$outputs)
	{
		my ($output, $process) = @$_;
		my $complete = 0;
		while (my $line = <$output>)
		{
			chomp $line;
			my ($kind, @noted) = split /\t/, $line;
			if ($kind eq 'failure') { $self->failure($noted[0]); }
			elsif ($kind eq 'end') { $complete = 1; }
			else { push @{ $noted{$kind} }, \@noted; }
		}
		$self->failure('a session has broken off') unless $complete;
		waitpid($process, 0);
	}
	return \%noted;
}

# Checks whether the answer to a query was right, and notes it if not. False if the session cannot go on.
sub check_answer
{
	my ($session, $writer, $query, $answer) = @_;
	chomp $answer;
	return 1 if $answer eq $query->{answer};
	$answer =~ s/\s+/ /g;
	print $writer "failure\t$query->{name}: ", substr($answer, 0, 300), "\n";
	return !$session->is_lost;
}

1;
