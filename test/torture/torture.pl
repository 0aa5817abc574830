#!/usr/bin/perl
# Maltreats a server with gpusort, and looks whether it can be broken.
#
# usage: perl test/torture/torture.pl [OPTION...]
#	--directory NAME	where the cluster is made; empty, and of the user who runs the server
#	--library NAME		the library with the gpusortd of test/gpusortd beside it
#	--source NAME		src/test/regress of the server's version
#	--major N			which that is
#	--minutes N			how long
#	--seed N			where to begin; drawn and printed if it is not given
#	--jobs N			how many statements at once, by default 2
#	--round R[:W:S]		only this round, or only statement S of its worker W
#
# Called by scripts/torture, which prepares all that.  With TORTURE_LOG in the
# environment, the log of each round and the signals that were sent are left in
# files of that name.
# A round starts the server anew, with settings of its own. Some workers run statements (Worker.pm),
# and disturb them (Sabotage.pm). When they have ended, the log is searched for crashes that no
# worker has caused, all indexes are checked, and leaks are looked for (Leaks.pm). All of this is
# drawn from the seed; the machine decides when exactly it happens.
#
# Prints a line for each of these checks, as TAP, and a line with sums at the end.
use strict;
use warnings;
use Getopt::Long;
use POSIX ':sys_wait_h';
use Time::HiRes qw(sleep time);
my $here;
BEGIN { $here = $0 =~ m{^(.*)/} ? $1 : '.'; }
use lib "$here/../differential", $here;
use Draw;
use Session;
use Types;
use Server;
use Settings;
use RegressFiles;
use Worker;
use Leaks;
use Standby;

use constant {
	STATEMENTS_OF_ROUND => 40,
	# how many of PostgreSQL's test files are loaded, by the time there is
	FILES_OF_SHORT_RUN => 8,
	FILES_OF_LONG_RUN => 100,
	LONG_MINUTES => 15,
	# how many rounds have a standby
	STANDBY_SHARE => 0.15,
	# of a line of a backtrace
	SHOWN_CHARACTERS => 160,
	# sizes of what can be filled
	SMALL_DISK => '48m',
	SHARED_MEMORY => '256m'
};

my %options = (minutes => 3, jobs => 2);
GetOptions(\%options, 'directory=s', 'library=s', 'source=s', 'major=i', 'minutes=f', 'seed=i', 'jobs=i', 'round=s') && !@ARGV && $options{directory} && $options{library} && $options{source} && $options{major}
  or die "usage: see the head of $0\n";
$options{seed} //= time() % 1000000;
my $run = $$;
my $server = Server->new($options{directory});
my $mounts = 0;
my $tests = 0;
my $cores = 0;
my %sums = (rounds => 0, statements => 0, compared => 0, excused => 0, kills => 0, crashes => 0, differences => 0, leaks => 0);

# Nothing stays, however this ends.
END { $server->stop('immediate') if $server && $$ == $run && $server->postmaster; }
$SIG{$_} = sub { exit 1 } foreach 'INT', 'TERM', 'HUP';
$| = 1;
main();

sub main
{
	print "# seed $options{seed}\n";
	my $end = time() + 60 * $options{minutes};
	$mounts = make_mounts();
	$server->make;
	start_draws("$options{seed} files");
	make_databases(choose_files($options{source}, $options{minutes} < LONG_MINUTES ? FILES_OF_SHORT_RUN : FILES_OF_LONG_RUN));
	my ($first, $worker, $statement) = defined $options{round} ? split(/:/, $options{round}) : (1);
	for (my $round = $first; time() < $end || $round == $first; $round++)
	{
		last unless run_round($round, $end, $worker, $statement);
		last if defined $options{round};
	}
	print "# $sums{compared} answers compared, $sums{excused} errors that were brought about, seed $options{seed}\n";
	print "1..$tests\n";
	print "$sums{rounds} rounds, $sums{statements} statements, $sums{kills} kills, $sums{crashes} crashes, $sums{differences} differences, $sums{leaks} leaks\n";
	$? = $sums{crashes} + $sums{differences} + $sums{leaks} ? 1 : 0;
	exit $?;
}

# Prints one more line of TAP, and counts the findings under this name.
sub verdict
{
	my ($name, $sum, @found) = @_;
	$sums{$sum} += @found if $sum;
	$tests++;
	print map({ "# $_\n" } map { split /\n/ } @found), @found ? 'not ok' : 'ok', " $tests - $name\n";
}

# Makes directories that can be full without harm to others. This process has to be allowed to
# mount, and only it sees its mounts, see scripts/torture.
sub make_mounts
{
	my ($uid, $gid) = (stat $options{directory})[ 4, 5 ];
	mkdir $server->{small};
	chown $uid, $gid, $server->{small};
	mkdir "$options{directory}/classes";
	foreach my $mount ([ SMALL_DISK, $server->{small}, "uid=$uid,gid=$gid,mode=700" ], [ SHARED_MEMORY, '/dev/shm', 'mode=1777' ])
	{
		my ($size, $where, $mode) = @$mount;
		my ($status) = $ENV{TORTURE_MAY_MOUNT} ? Server::run_command('mount', '-t', 'tmpfs', '-o', "size=$size,$mode", 'tmpfs', $where) : 1;
		next unless $status;
		print "# no disk is full in this run: that takes root, and a mount namespace\n";
		return 0;
	}
	return 1;
}

# ---- databases

sub ask
{
	my ($database, $script) = @_;
	my $session = Session->new($database, 'gpusort.enable=off', 'client_min_messages=error');
	my $answer = $session->run($script);
	die "the server says: $answer" if $session->is_lost;
	$session->end;
	return $answer;
}

# Makes a database with what the workers need, and copies in which all rows lie elsewhere.
sub make_databases
{
	my @files = @_;
	$server->set_weather({ settings => { shared_preload_libraries => 'gpusort', shared_buffers => '128MB', autovacuum => 'off' }, environment => {} });
	$server->start or die 'the server does not start';
	ask('postgres', "CREATE DATABASE torture TEMPLATE template0;\nCREATE TABLESPACE small LOCATION '$server->{small}';\n");
	ask('torture', "CREATE EXTENSION gpusort;\nCREATE EXTENSION amcheck;\n");
	{
		local @ENV{ 'PG_ABS_SRCDIR', 'PG_LIBDIR', 'PG_DLSUFFIX' } = ($options{source}, $options{source}, '.so');
		ask('torture', Server::read_text("$options{source}/sql/test_setup.sql"));
	}
	my $session = Session->new('torture', 'gpusort.enable=off', 'client_min_messages=error');
	my $queries = load_files($session, $options{source}, @files);
	learn_settings($session);
	$options{settings_known} = [ split /\n/, $session->run('SELECT name FROM pg_settings;') ];
	$session->run("CREATE SCHEMA types;\nSET search_path = types, public;\n");
	definitions($session, $options{major}, 'UTF8');
	$session->end;
	copy_database('reversed', 'ctid DESC');
	copy_database('shuffled', 'hashtext(ctid::text)');
	print "# $queries queries of PostgreSQL's tests: @files\n";
	$server->stop('fast') or die 'the server does not stop';
	$server->new_log;
}

# Makes a copy in which the rows of each table lie in that order, if possible; otherwise they stay
# as they are.
sub copy_database
{
	my ($name, $order) = @_;
	ask('postgres', "CREATE DATABASE $name TEMPLATE torture;\n");
	ask($name, <<"SQL");
SET session_replication_role = replica;
DO \$\$
DECLARE
	t record;
	columns text;
BEGIN
	FOR t IN SELECT oid::regclass AS name, oid FROM pg_class WHERE relkind = 'r' AND relpersistence = 'p' AND oid >= 16384 LOOP
		SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
		BEGIN
			EXECUTE format('CREATE TEMPORARY TABLE kept AS SELECT * FROM ONLY %s ORDER BY $order', t.name);
			EXECUTE format('DELETE FROM ONLY %s', t.name);
			EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM kept', t.name, columns, columns);
			DROP TABLE kept;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
END \$\$;
VACUUM ANALYZE;
SQL
}

# ---- rounds

# Returns whether it makes sense to go on.
sub run_round
{
	my ($round, $end, $only_worker, $only_statement) = @_;
	start_draws("$options{seed} $round");
	my $weather = Server::draw_weather($options{library});
	my $sabotage_share = pick(0, 0.3, 0.6, 0.9);
	my $standby = chance(STANDBY_SHARE);

	$weather->{settings} = { %{ $weather->{settings} }, %{ Standby::settings() } } if $standby;
	$server->set_weather($weather);
	print "# round $round: ", join(', ', map { my $part = $_; map { "$_=$weather->{$part}{$_}" } sort keys %{ $weather->{$part} } } 'settings', 'environment'), "\n";
	unlink "$options{directory}/kills", "$options{directory}/statements";
	if (!$server->start)
	{
		verdict("round $round: the server starts", 'crashes', 'it does not');
		return 0;
	}
	$standby &&= make_standby($server);
	my (@readers, %workers);
	foreach my $number (defined $only_worker ? $only_worker : 1 .. $options{jobs})
	{
		pipe(my $reader, my $writer) or die "pipe: $!";
		my $process = fork() // die "fork: $!";
		if ($process == 0)
		{
			close $reader;
			my $worker = Worker->new(seed => $options{seed}, major => $options{major}, round => $round, number => $number, server => $server, mounts => $mounts,
				settings_known => $options{settings_known}, statements => STATEMENTS_OF_ROUND, until => $end, sabotage_share => $sabotage_share);
			my %done = $worker->run_round($only_statement);
			print $writer join(' ', %done), "\n";
			close $writer;
			POSIX::_exit(0);
		}
		close $writer;
		$workers{$process} = 1;
		push @readers, $reader;
	}
	my $postmaster_died = keep_server(\%workers);
	my $broken = 0;
	my %done = (statements => 0, kills => 0, differences => 0, leaks => 0);
	foreach my $reader (@readers)
	{
		my %one = split / /, (<$reader> // '') =~ s/\n//r;
		$broken++ unless %one;
		$done{$_} += $one{$_} foreach keys %one;
	}
	$sums{$_} += $done{$_} foreach grep { $_ ne 'leaks' } keys %done;
	$sums{rounds}++;
	verdict("round $round: $done{statements} statements, $done{kills} kills", 'crashes', ('a worker has broken off') x $broken);
	verdict("round $round: the answers are right", undef, ("differences: $done{differences}") x !!$done{differences});
	check($round, $done{leaks}, $standby, $postmaster_died);
	return 1;
}

# Waits for the workers, and starts the server again when they have ended it; returns whether they
# have.
sub keep_server
{
	my ($workers) = @_;
	my $ended = 0;
	while (%$workers)
	{
		delete $workers->{$_} foreach grep { waitpid($_, WNOHANG) != 0 } keys %$workers;
		if (!$server->postmaster)
		{
			$ended = 1;
			# what the server leaves has to go by itself
			my @left;
			my $gone = Server::wait_until(sub { @left = $server->processes; return !@left }, 60);
			if (!$gone)
			{
				verdict('nothing outlives the postmaster', 'leaks', map { "process $_->[0], $_->[1]" } @left);
				kill 'KILL', map { $_->[0] } @left;
			}
			$server->start or last;
		}
		# or the next core would replace it
		rename "$server->{data}/core", "$server->{data}/core." . ++$cores if -e "$server->{data}/core";
		sleep 0.1;
	}
	return $ended;
}

sub check
{
	my ($round, $leaks, $standby, $postmaster_died) = @_;
	$server->continue_all;
	$server->start unless $server->postmaster;
	verdict("round $round: nothing else has crashed", 'crashes', 'the server accepts no sessions') unless Server::wait_until(\&Server::accepts);
	my @wrong = wrong_indexes();
	verdict("round $round: the indexes are right", 'differences', @wrong);
	verdict("round $round: the standby is like it", 'differences', check_standby($server, $standby)) if $standby;
	my @left = things_left($server, $mounts);
	verdict("round $round: nothing is left", 'leaks', @left, ("of $leaks sessions") x !!$leaks);
	$server->stop('fast') or verdict("round $round: the server stops", 'leaks', 'it does not');
	my $log = $server->new_log;
	my @crashes = crashes_in_log($server, $log, $postmaster_died);
	print map { "# $_\n" } backtraces() if @crashes;
	verdict("round $round: no crash", 'crashes', @crashes);
	Server::append("$ENV{TORTURE_LOG}.$round", $log . Server::read_text("$server->{directory}/kills")) if $ENV{TORTURE_LOG};
	# the postmaster's process ends a moment after its file has gone
	my @processes;
	Server::wait_until(sub { $server->reap; @processes = $server->processes; return !@processes }, 10);
	verdict("round $round: no process is left", 'leaks', map { "process $_->[0], $_->[1]" } @processes) if @processes;
	kill 'KILL', map { $_->[0] } @processes;
	unlink glob "$server->{data}/core*";
}

# Backtraces of processes that have left a core, if there is a debugger, unless a signal from here
# has ended them.
sub backtraces
{
	my @lines;
	my ($status, $binary) = Server::run_command('sh', '-c', 'command -v postgres');
	chomp $binary;
	foreach my $core (glob "$server->{data}/core*")
	{
		my ($status, $text) = Server::run_command('gdb', '-batch', '-ex', 'print $_siginfo.si_code', '-ex', 'bt 25', $binary, $core);
		next if $text =~ /^\$1 = 0$/m || $text !~ /generated by `postgres/;
		push @lines, map { "  " . substr($_, 0, SHOWN_CHARACTERS) } grep { /^#|^\$|^Core was|^Program term|^\[New LWP/ } split /\n/, $text;
	}
	return @lines;
}
