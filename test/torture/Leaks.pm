# What may be left of a round when all of its sessions have ended: crashes in the log, wrong indexes, files, processes, descriptors, shared
# memory, slots, memory of the device. Each check returns its findings, a line for each.
package Leaks;
use strict;
use warnings;
use Time::HiRes 'sleep';
use Session;
use Server;
use Exporter 'import';

our @EXPORT = qw(crashes_in_log wrong_indexes things_left);

use constant {
	# what is about to end may take this long on a busy machine
	SECONDS_TO_SETTLE => 60,
	# rings that gpusortd keeps for the jobs to come
	KEPT_RING_BYTES => 256 << 20,
	# the server's own statistics grow
	MOST_SEGMENTS => 12,
	MOST_DESCRIPTORS => 64
};

# ---- crashes

# PostgreSQL's own failure when its postmaster is killed: a leader that ends while it waits for its workers waits for the disk, and ends
# once more.
my $own_of_postmaster_death = qr/TRAP: .*"!IsTransactionOrTransactionBlock\(\)".*File: "pgstat\.c"/;

# PostgreSQL's own failure in an index on bpchar: values that differ in trailing spaces are equal, but this assertion denies it if a page
# begins between them.
my $own_of_bpchar = qr/TRAP: .*keepnatts == _bt_keep_natts_fast.*PID: (\d+)/;

# PostgreSQL's own failure in a worker whose leader ends between two steps of the worker's start: the worker has joined the leader's lock
# group, and then does not find what the leader had for its session.
my $own_of_late_worker = qr/ERROR:  could not attach to per-session DSM segment$/;

# The crashes in this part of the log that nobody here has caused, whether the postmaster has ended or not.
sub crashes_in_log
{
	my ($server, $log, $postmaster_died) = @_;
	my %signals = (KILL => 9, SEGV => 11, TERM => 15, QUIT => 3, INT => 2);
	my (%made, @found);
	$made{ $_->[0] }{ $signals{ $_->[1] } // 0 } = 1 foreach map { [ split / / ] } split /\n/, Server::read_text("$server->{directory}/kills");
	my $impatient = $log =~ /issuing SIGKILL to recalcitrant children|sending SIGKILL to children/;
	my %daemon_signals = map { $_ => 1 } map { keys %$_ } values %made;
	my %statements = map { split / / } split /\n/, Server::read_text("$server->{directory}/statements");
	my @lines = split /\n/, $log;

	my ($process, %printed, %excused) = (0);

	foreach my $number (0 .. $#lines)
	{
		my $line = $lines[$number];
		$process = $1 if $line =~ /^\S+ \S+ \S+ \[(\d+)\] /;
		# with the statement and how to repeat it
		my $detail = ($lines[ $number + 1 ] // '') =~ /DETAIL: +(Failed process was running.*)/ ? "; $1" : '';
		$detail .= "; repeat with -r $statements{$1}" if $line =~ /PID:? (\d+)/ && $statements{$1};
		if ($line =~ $own_of_bpchar)
		{
			$excused{$1} = 1;
		}
		elsif ($line =~ /\(PID (\d+)\) was terminated by signal (\d+)/)
		{
			push @found, $line . $detail unless $made{$1}{$2} || $excused{$1} || ($2 == 9 && $impatient) || $2 == 6 && $impatient;
		}
		elsif ($line =~ /gpusortd was terminated by signal (\d+)/)
		{
			push @found, $line . $detail unless $daemon_signals{$1} || $1 == 9;
		}
		elsif ($line =~ /[\x7f\xf8-\xff]{4}/)
		{
			push @found, "freed memory is printed by process $process: " . substr($line =~ s/[^ -~]/?/gr, 0, 100) . ($statements{$process} ? "; repeat with -r $statements{$process}" : '')
			  unless $printed{$process}++;
		}
		# an internal error of a session is a difference, unless there is one without gpusort too
		elsif ($line =~ /TRAP:|PANIC:|gpusort: (?:rows are out of order|the order is not)|\bXX00[12]\b|\bXX000 (?!psql )/)
		{
			push @found, $line . $detail unless $postmaster_died && $line =~ $own_of_postmaster_death || $line =~ $own_of_late_worker || $line =~ /Too many open files|Cannot allocate memory|No space left on device|out of memory|indexes that are wrong|cannot reindex invalid index/;
		}
	}
	return @found;
}

# ---- indexes

sub ask
{
	my ($database, $script) = @_;
	my $session = Session->new($database, 'gpusort.enable=off', 'application_name=checks', 'client_min_messages=warning');
	my $answer = $session->run($script);
	$session->end;
	return $answer;
}

# The B-tree indexes of the database that stay, by their numbers.
sub indexes
{
	return split /\n/, ask('torture', <<'SQL');
SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'btree' AND i.indisvalid AND c.relkind = 'i' AND c.relpersistence = 'p' AND t.relkind IN ('r', 'm') AND c.oid >= 16384 ORDER BY 1;
SQL
}

# The indexes with which amcheck finds something wrong, in lines "number: what".
sub indexes_with_errors
{
	my ($check) = @_;
	my @indexes = indexes();
	my ($index, @found) = ('none');

	return "none: the indexes cannot be listed: @indexes" if grep { !/^\d+$/ } @indexes;
	foreach my $line (split /\n/, ask('torture', join '', map { "SELECT $_;\nSELECT " . sprintf($check, $_) . ";\n" } @indexes))
	{
		$index = $1 if $line =~ /^(\d+)$/;
		push @found, "$index: $line" if $line =~ /^(?:ERROR|FATAL)|session has ended/;
	}
	return @found;
}

# The wrong ones among all indexes that the workers, and PostgreSQL's own tests, have built. An index that PostgreSQL itself builds
# wrongly, too, does not count.
sub wrong_indexes
{
	my @found;
	foreach my $wrong (indexes_with_errors('bt_index_parent_check(%s, true, true)'))
	{
		my ($index) = $wrong =~ /^(\d+): /;
		my $own = $index ? ask('torture', "SET search_path = types, public;\nDO \$\$ BEGIN EXECUTE format('REINDEX INDEX %s', $index\::regclass); END \$\$;\n"
			  . "SELECT bt_index_parent_check($index, true, true);\n") : '';
		push @found, ($index ? ask('torture', "SELECT pg_get_indexdef($index);") =~ s/\n/: /r : '') . $wrong unless $own =~ /ERROR/;
	}
	return @found;
}

# The number of rows and a digest of each table, by its name.
sub digest_of_tables
{
	my $tables = ask('torture', <<'SQL');
SELECT format('SELECT %L, count(*), sum(hashtextextended(t::text, 0)::numeric) FROM ONLY %s t;', oid::regclass, oid::regclass) FROM pg_class
WHERE relkind = 'r' AND relpersistence = 'p' AND oid >= 16384 ORDER BY oid;
SQL
	return map { /^(\S+\|)/ ? ($1 => $_) : () } split /\n/, ask('torture', $tables);
}

# ---- what is left

# Descriptors of a process, by what they are.
sub descriptors { return map { readlink // () } glob "/proc/$_[0]/fd/*"; }

sub temporary_files
{
	my ($server) = @_;
	return grep { !m{/filler$} } map { glob "$_/*" } "$server->{data}/base/pgsql_tmp", glob("$server->{small}/*/pgsql_tmp"), glob("$server->{data}/pg_tblspc/*/PG_*/pgsql_tmp");
}

# Everything that should be gone, after some time in which it may go.
sub things_left
{
	my ($server, $mounts) = @_;
	my @found;
	Server::wait_until(sub { @found = look_for_things($server, $mounts); return !@found }, SECONDS_TO_SETTLE);
	return @found;
}

sub look_for_things
{
	my ($server, $mounts) = @_;
	my @found = map { "file $_" } temporary_files($server);
	my @daemons = $server->daemons;
	my $usual = qr/^(?:$|\S*postgres |checkpointer|background writer|walwriter|autovacuum|logical replication launcher|stats|archiver|walsummarizer|io worker|slotsync|gpusort launcher|startup|walsender|\S*gpusortd)/;

	push @found, map { "process $_->[0], $_->[1]" } grep { $_->[1] !~ $usual } $server->processes;
	push @found, scalar(@daemons) . ' processes of gpusortd' if @daemons > 1;
	push @found, scalar($server->launchers) . ' launchers' if (() = $server->launchers) > 1;

	# gpusortd has to sort again, whatever was done to it
	my $answer = ask('torture', "LOAD 'gpusort';\nSET gpusort.enable = on;\nSET gpusort.min_rows = 0;\nSET gpusort.device = cuda;\nSET client_min_messages = error;\n"
		  . "SELECT count(*) FROM (SELECT i FROM generate_series(1, 100) i ORDER BY i % 7, -i) s;\nSELECT string_agg(DISTINCT state, ' '), coalesce(sum(jobs), 0), coalesce(sum(memory_used), 0), string_agg(DISTINCT reason, ' ') FROM gpusort_devices;\n"
		  . "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker';\nSELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND locktype = 'relation' AND pid NOT IN (SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%');\n"
		  . "SELECT CASE WHEN current_setting('shared_preload_libraries') ~ 'gpusort' THEN (SELECT count(*) FROM gpusort_progress) ELSE 0 END;\n");
	my ($rows, $device, $workers, $locks, $sorts) = split /\n/, $answer;
	push @found, 'no answer: ' . $answer =~ s/\n/ /gr unless ($rows // '') eq '100' && defined $sorts;
	push @found, "gpusortd is \"$device\"" unless ($device // '') =~ /^(?:failed )?ready(?: failed)?\|0\|0\|/;
	push @found, "$workers parallel workers" if $workers;
	push @found, "$locks locks" if $locks;
	push @found, "$sorts sorts in gpusort_progress" if $sorts;

	foreach my $daemon (@daemons)
	{
		my @held = descriptors($daemon);
		my $bytes = 0;
		my %seen;
		$bytes += -s $_ // 0 foreach grep { (readlink // '') =~ /memfd:/ } glob "/proc/$daemon/fd/*";
		push @found, "gpusortd holds $bytes bytes of rings" if $bytes > KEPT_RING_BYTES + (64 << 20);
		push @found, 'gpusortd has ' . @held . ' descriptors' if @held > MOST_DESCRIPTORS;
		push @found, 'gpusortd is connected' if (() = grep { /^socket:/ } @held) > 2;
	}
	foreach my $process ($server->postmaster, $server->launchers)
	{
		my $held = () = descriptors($process);
		push @found, "process $process has $held descriptors" if $held > MOST_DESCRIPTORS;
	}
	my @segments = (glob("$server->{data}/pg_dynshmem/*"), $mounts ? glob('/dev/shm/PostgreSQL.*') : ());
	push @found, scalar(@segments) . ' segments of shared memory' if @segments > MOST_SEGMENTS;
	return @found;
}

1;
