# Index builds that are disturbed: by cancels in each phase, by the loss of gpusortd, by a lack of
# disk, by other sessions that change the table. An index that is built is right, and a build that
# fails leaves nothing behind.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.device = cuda
# gpusortd is stopped for as long as a test takes
gpusort.daemon_timeout = 0
max_parallel_maintenance_workers = 0
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION amcheck;

-- A build that comes to this row waits for the door to be open.
CREATE FUNCTION wait_at(i int, place int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF i = place THEN
		PERFORM pg_advisory_xact_lock_shared(1);
	END IF;
	RETURN hashint4(i);
END $$;

CREATE TABLE t AS SELECT i id, hashint4(i) k, md5(i::text) COLLATE "C" txt FROM generate_series(1, 20000) i;
VACUUM ANALYZE t;
SQL
$node->safe_psql('postgres', GpusortCluster::HELD_FUNCTION);

$node->wait_until_ready('gpusortd is ready');

# If a test fails, a gpusortd that it has stopped must not stay.
my $daemon = $node->daemon_pid;
END { kill 'CONT', $daemon if $daemon }

# Stops gpusortd, each thread of which stops when it runs next.
sub stop_daemon
{
	kill 'STOP', $daemon;
	foreach my $thread (glob "/proc/$daemon/task/*/status")
	{
		sleep 0.01 until (eval { slurp_file($thread) } // 'State: T') =~ /^State:\s+T/m;
	}
}

#
# Builds that are ended, in each phase
# A build waits at some row, then goes on with gpusortd stopped. It is ended in one of the two waits.
my %phases = (
	'collecting' => { place => 15000, shown => 'building index: scanning table' },
	'asking for staging memory' => { place => 1, stop => 1, shown => 'building index: scanning table' },
	'sorting' => { place => 20000, stop => 1, shown => 'building index: sorting live tuples' });

my $door = $node->background_psql('postgres');

sub wait_for_build
{
	my ($wait_event_type) = @_;
	my $waiting = "application_name = 'builder' AND query LIKE 'CREATE INDEX%wait_at%' AND state = 'active' AND "
	  . "wait_event_type = '$wait_event_type'";
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE $waiting")
	  or die "no build that waits for $wait_event_type";
	return $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $waiting");
}

# What a build that was ended has left of its index, in the catalogs and on disk.
my $left = "SELECT count(*) FROM pg_class WHERE relname = 'built';
SELECT count(*) FROM pg_ls_dir('base/' || (SELECT oid FROM pg_database WHERE datname = current_database())) f
	WHERE f ~ '^\\d+\$' AND pg_filenode_relation(0, f::oid) IS NULL
		AND f::oid NOT IN (SELECT relfilenode FROM pg_class);
SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false);
";

# Starts a session that gets stuck in this phase, and then goes on.
sub start_build
{
	my ($phase, $statement_timeout) = @_;
	$door->query_safe('SELECT pg_advisory_lock(1)');
	my $session = $node->start_psql('builder', <<"SQL");
CREATE INDEX built ON t (k);
DROP INDEX built;
BEGIN; SELECT held(); ROLLBACK;
CHECKPOINT;
SET statement_timeout = $statement_timeout;
CREATE INDEX built ON t (wait_at(id, $phases{$phase}{place}));
RESET statement_timeout;
\\! kill -CONT $daemon
BEGIN; SELECT held(); ROLLBACK;
CHECKPOINT;
$left
CREATE INDEX built ON t (k);
SELECT bt_index_parent_check('built', true, true);
DROP INDEX built;
SQL
	my $backend = wait_for_build('Lock');
	stop_daemon() if $phases{$phase}{stop};
	$door->query_safe('SELECT pg_advisory_unlock(1)') if $phases{$phase}{stop};
	wait_for_build('Extension') if $phases{$phase}{stop};
	return ($session, $backend);
}

sub check_went_on
{
	my ($session, $phase, $error) = @_;
	$session->{handle}->finish;
	$door->query_safe('SELECT pg_advisory_unlock_all()');
	is($session->{err}, "ERROR:  $error\n", "while $phase: $error");
	my ($held_before, $held_after, @left) = split /\n/, $session->{out};
	is($held_after, $held_before, 'the backend keeps nothing');
	is("@left", '0 0 0', 'nothing is left of the index, and the next one is built');
}

foreach my $phase (sort keys %phases)
{
	my ($session, $backend) = start_build($phase, '0');
	is($node->safe_psql('postgres', 'SELECT phase FROM pg_stat_progress_create_index'),
		$phases{$phase}{shown}, "while $phase: the progress is shown");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
	check_went_on($session, $phase, 'canceling statement due to user request');

	($session) = start_build($phase, "'4s'");
	check_went_on($session, $phase, 'canceling statement due to statement timeout');

	($session, $backend) = start_build($phase, '0');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
	ok( $node->poll_query_until(
			'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'builder'"),
		"while $phase: the session is terminated");
	kill 'CONT', $daemon;
	$door->query_safe('SELECT pg_advisory_unlock_all()');
	eval { $session->{handle}->finish };
	is($node->safe_psql('postgres', "CHECKPOINT; $left"), "0\n0\n0", 'nothing is left');
}

# Cancels builds on this table at any time; nothing else may go wrong.
sub check_cancels
{
	my ($table, $what, $work_mem) = @_;
	my $script = "\\set VERBOSITY terse\nSET client_min_messages = error;\nSET gpusort.work_mem = '$work_mem';\n";
	$script .= "SET statement_timeout = " . (3 * $_) . ";\nCREATE INDEX built ON $table (txt);\nRESET statement_timeout;\n"
	  . "DROP INDEX IF EXISTS built;\n"
	  foreach (1 .. 40);
	my ($status, $out, $err) = $node->psql('postgres', "$script CHECKPOINT;\n$left", on_error_stop => 0);
	is(join("\n", grep { !/canceling statement due to statement timeout/ } split /\n/, $err), '', "$what can be cancelled at any time");
	is($out, "0\n0\n0", 'and nothing is left of any');
}

check_cancels('t', 'builds', -1);
check_cancels('t', 'builds that go through files', '64kB');

#
# gpusortd lost
# Starts a build that waits at this row, and then checks the index.
sub start_checked_build
{
	my ($place) = @_;
	$door->query_safe('SELECT pg_advisory_lock(1)');
	my $session = $node->start_psql('builder', <<"SQL");
CREATE INDEX built ON t (wait_at(id, $place), txt);
SELECT bt_index_parent_check('built', true, true);
DROP INDEX built;
SQL
	wait_for_build('Lock');
	return $session;
}

sub check_built
{
	my ($session, $what) = @_;
	$session->{handle}->finish;
	is($session->{err}, "WARNING:  gpusort: sorting without the device\n", "gpusortd is killed while $what, which is a warning");
	is($session->{out}, "\n", 'and the index is built');
	$node->wait_until_ready('gpusortd is back');
	$daemon = $node->daemon_pid;
}

my $faults = $node->counter('device_faults');
my $session = start_checked_build(15000);
kill 'KILL', $daemon;
$door->query_safe('SELECT pg_advisory_unlock(1)');
check_built($session, 'rows are collected');

$session = start_checked_build(20000);
stop_daemon();
$door->query_safe('SELECT pg_advisory_unlock(1)');
wait_for_build('Extension');
kill 'KILL', $daemon;
check_built($session, 'it sorts');
is($node->counter('device_faults'), $faults + 2, 'both are counted');

#
# Files, when the rows exceed the memory
#

my $natively = $node->counter('indexes_native');
my $spilled = $node->counter('indexes_spilled');
my ($status, $out, $err) = $node->psql('postgres', <<"SQL", on_error_stop => 0);
\\set VERBOSITY terse
SET maintenance_work_mem = '1MB';
SET temp_file_limit = '512kB';
CREATE INDEX built ON t (txt) WHERE id > 0;
CHECKPOINT;
$left
RESET temp_file_limit;
CREATE INDEX built ON t (txt) WHERE id > 0;
SELECT bt_index_parent_check('built', true, true);
DROP INDEX built;
SQL
like($err, qr/^\S+ ERROR:  temporary file size exceeds "?temp_file_limit"? \(512kB\)$/, 'a build exceeds temp_file_limit');
is($out, "0\n0\n0\n", 'nothing is left, and with room enough it is built');
is($node->counter('indexes_spilled'), $spilled + 1, 'through files');

# What the log says of files, and where the files are.
$node->safe_psql('postgres', "SET allow_in_place_tablespaces = on; CREATE TABLESPACE apart LOCATION ''");
sub check_files
{
	my ($table, $what) = @_;
	my $logged = -s $node->logfile;
	$node->safe_psql('postgres', <<"SQL");
SET temp_tablespaces = apart;
SET log_temp_files = 0;
SET gpusort.work_mem = '256kB';
CREATE INDEX built ON $table (txt);
SELECT bt_index_parent_check('built', true, true);
DROP INDEX built;
SQL
	my @files = slurp_file($node->logfile, $logged) =~ /LOG:  temporary file: path "(.*?)", size \d+/g;
	ok(@files > 0, "$what is logged");
	is(join("\n", grep { !m{^pg_tblspc/} } @files), '', 'and in the tablespace for temporary files');
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_tablespace t, pg_ls_dir('pg_tblspc/' || t.oid, true, false) d,
		pg_ls_dir('pg_tblspc/' || t.oid || '/' || d || '/pgsql_tmp', true, false) WHERE spcname = 'apart'"), '0', 'where nothing is left');
	is($node->counter('indexes_spilled'), ++$spilled + 1, 'of a build with files');
}
check_files('t', 'a file');

# The device is lost: a run is sorted in the process, or if there is no room for that PostgreSQL builds the index.
foreach my $place (3000, 20000)
{
	$door->query_safe('SELECT pg_advisory_lock(1)');
	my $small = $node->start_psql('builder', <<"SQL");
SET gpusort.work_mem = '256kB';
CREATE INDEX built ON t (wait_at(id, $place), txt);
SELECT bt_index_parent_check('built', true, true);
DROP INDEX built;
SQL
	wait_for_build('Lock');
	kill 'KILL', $daemon;
	$door->query_safe('SELECT pg_advisory_unlock(1)');
	check_built($small, "some rows are in files");
}

#
# Parallel workers that are disturbed
#

$node->safe_psql('postgres', <<'SQL');
ALTER FUNCTION wait_at PARALLEL SAFE;
CREATE TABLE p WITH (parallel_workers = 2) AS SELECT * FROM t;
VACUUM ANALYZE p;
SQL

# Starts a build one of whose processes waits at this row; returns the leader and the process that waits.
sub start_parallel_build
{
	my ($place) = @_;
	$door->query_safe('SELECT pg_advisory_lock(1)');
	my $session = $node->start_psql('builder', <<"SQL");
SET max_parallel_maintenance_workers = 2;
CREATE INDEX built ON p (wait_at(id, $place), txt);
SELECT bt_index_parent_check('built', true, true);
DROP INDEX built;
SQL
	my $waiting = "FROM pg_stat_activity WHERE application_name = 'builder' AND query LIKE 'CREATE INDEX%wait_at%' AND wait_event_type = 'Lock'";
	$node->poll_query_until('postgres', "SELECT count(*) = 1 $waiting") or die 'no build that waits';
	return ($session, split /\|/, $node->safe_psql('postgres', "SELECT coalesce(leader_pid, pid), pid $waiting"));
}

# Lets the build go on.
sub finish_parallel_build
{
	my ($session) = @_;
	$door->query_safe('SELECT pg_advisory_unlock_all()');
	eval { $session->{handle}->finish };
}

foreach my $place (1, 12000)
{
	my $workers = $node->counter('index_workers');
	my ($leader, $waiting);
	($session) = start_parallel_build($place);
	finish_parallel_build($session);
	is($session->{err} . $session->{out}, "\n", "a process waits at row $place: the index is built");
	is($node->counter('index_workers'), $workers + 2, 'by two workers and their leader');

	($session, $leader) = start_parallel_build($place);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($leader)");
	finish_parallel_build($session);
	like($session->{err}, qr/^ERROR:  canceling statement due to user request$/m, 'it is cancelled');
	is($node->safe_psql('postgres', "CHECKPOINT; $left"), "0\n0\n0", 'and nothing is left');

	($session, $leader, $waiting) = start_parallel_build($place);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($waiting)");
	finish_parallel_build($session);
	like($session->{err}, qr/^(ERROR|FATAL):  terminating (connection|background worker "parallel worker") due to administrator command$/m, 'the process is terminated');
	is($node->safe_psql('postgres', "CHECKPOINT; $left"), "0\n0\n0", 'and nothing is left');

	($session) = start_parallel_build($place);
	kill 'KILL', $daemon;
	finish_parallel_build($session);
	like($session->{err}, qr/^(WARNING:  gpusort: sorting without the device\n)?$/, 'gpusortd is killed');
	is($session->{out}, "\n", 'and the index is built');
	$node->wait_until_ready('gpusortd is back');
	$daemon = $node->daemon_pid;
}

$node->safe_psql('postgres', 'ALTER SYSTEM SET max_parallel_maintenance_workers = 2; SELECT pg_reload_conf()');
check_cancels('p', 'builds with workers', -1);
check_cancels('p', 'builds with workers that write files', '256kB');

# Workers that are terminated while they collect, wait for the order, and make leaves; or sort and write files.
foreach my $work_mem (-1, '256kB')
{
	$session = $node->start_psql('builder', "SET client_min_messages = error;\nSET gpusort.work_mem = '$work_mem';\n"
		  . "CREATE INDEX built ON p (txt);\nDROP INDEX IF EXISTS built;\n" x 40 . "CHECKPOINT;\n$left");
	while ($session->{handle}->pump_nb, $session->{handle}->pumpable)
	{
		$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker'");
	}
	$session->{handle}->finish;
	my @errors = grep { /ERROR|FATAL/ } split /\n/, $session->{err};
	ok(@errors > 0, "workers are terminated at any time (work_mem $work_mem)");
	is(join("\n", grep { !/terminating background worker "parallel worker" due to administrator command/ } @errors), '', 'of which builds fail');
	is($session->{out}, "0\n0\n0\n", 'and nothing is left of any');
}

# The files of workers.
$spilled = $node->counter('indexes_spilled') - 1;
my $with_files = $node->counter('index_workers');
check_files('p', 'what workers and leader write');
is($node->counter('index_workers'), $with_files + 2, 'by two workers and their leader');
($status, $out, $err) = $node->psql('postgres', <<"SQL", on_error_stop => 0);
\\set VERBOSITY terse
SET gpusort.work_mem = '256kB';
SET temp_file_limit = '128kB';
CREATE INDEX built ON p (txt);
CHECKPOINT;
$left
SQL
like($err, qr/^\S+ ERROR:  temporary file size exceeds "?temp_file_limit"? \(128kB\)$/, 'which exceed temp_file_limit');
is($out, "0\n0\n0", 'and nothing is left');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET max_parallel_maintenance_workers; SELECT pg_reload_conf()');

#
# Other sessions
# A snapshot that still sees rows that are deleted, or updated in place and elsewhere. The index has some of these rows, and
# they do not count as duplicates.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE u (id int, k int, note int) WITH (fillfactor = 70);
INSERT INTO u SELECT i, hashint4(i), 0 FROM generate_series(1, 20000) i;
SQL
my $old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM u;');
$node->safe_psql('postgres', <<'SQL');
UPDATE u SET note = note + 1 WHERE id % 3 = 0;
DELETE FROM u WHERE id % 5 = 0;
INSERT INTO u SELECT i, hashint4(i), 1 FROM generate_series(5, 20000, 5) i;
UPDATE u SET k = k + 1 WHERE id % 7 = 0;
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE UNIQUE INDEX u_id ON u (id);
CREATE INDEX u_k ON u (k) INCLUDE (note);
SELECT bt_index_parent_check('u_id', true, true), bt_index_parent_check('u_k', true, true);
SQL
is($old->query_safe('SET enable_seqscan = off; SELECT count(*), sum(note) FROM u WHERE id > 0;'),
	'20000|0', 'a snapshot that is older than the index sees what it saw');
$old->query_safe('COMMIT');
$old->quit;
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*), count(DISTINCT id) FROM u WHERE id > 0;'),
	'20000|20000', 'and others see the rows of today');

# A unique index is not checked anew when its table is rewritten, with rows that only the snapshots of other sessions see.
$old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE rewritten (id int UNIQUE) WITH (parallel_workers = 2);
INSERT INTO rewritten SELECT i FROM generate_series(1, 20000) i;
DELETE FROM rewritten WHERE id % 5 = 0;
INSERT INTO rewritten SELECT i FROM generate_series(5, 20000, 5) i;
SQL
my $rewriting_workers = $node->counter('index_workers');
is( $node->safe_psql('postgres', <<'SQL'), '20000', 'a unique index is whole after its table is rewritten with dead rows');
SET max_parallel_maintenance_workers = 2;
VACUUM FULL rewritten;
SELECT bt_index_parent_check('rewritten_id_key', true, true) \g /dev/null
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM rewritten WHERE id > 0;
SQL
is($node->counter('index_workers'), $rewriting_workers + 2, 'by parallel workers');
$old->query_safe('COMMIT');
$old->quit;
$node->safe_psql('postgres', 'DROP TABLE rewritten');

# Changes while an index is built concurrently.
my $workers = $node->counter('index_workers');
$node->safe_psql('postgres', 'ALTER TABLE u SET (parallel_workers = 2)');
my $changes = $node->start_psql('builder', <<'SQL');
DO $$
BEGIN
	FOR i IN 1 .. 2000 LOOP
		UPDATE u SET note = note + 1, k = CASE WHEN i % 2 = 0 THEN k + 1 ELSE k END WHERE id = i * 7;
		DELETE FROM u WHERE id = i * 3 + 1;
		INSERT INTO u VALUES (i * 3 + 1, i, 0), (100000 + i, i, 0);
		COMMIT;
		EXIT WHEN EXISTS (SELECT FROM pg_class WHERE relname = 'enough');
	END LOOP;
END $$;
SQL
($status, $out, $err) = $node->psql('postgres', <<'SQL');
SET max_parallel_maintenance_workers = 2;
CREATE INDEX CONCURRENTLY u_k_note ON u (k, note);
REINDEX INDEX CONCURRENTLY u_k_note;
RESET max_parallel_maintenance_workers;
REINDEX INDEX CONCURRENTLY u_id;
CREATE TABLE enough ();
SQL
is($err, '', 'indexes are built concurrently while rows change');
$changes->{handle}->finish;
is($changes->{err}, '', 'which goes on');
is($node->psql('postgres', "SELECT bt_index_parent_check('u_k_note', true, true), bt_index_parent_check('u_id', true, true), bt_index_parent_check('u_k', true, true)"),
	0, 'and have all of them');
is($node->counter('index_workers'), $workers + 4, 'with parallel workers and without');

# A server that is killed after a build, or during one.
$session = start_checked_build(15000);
$node->safe_psql('postgres', 'REINDEX TABLE u; CREATE INDEX ON t (txt)');
$node->stop('immediate');
eval { $session->{handle}->finish };
$node->start;
is($node->safe_psql('postgres', "SELECT string_agg(relname, ' ' ORDER BY relname), count(bt_index_parent_check(oid, true, true))
	FROM pg_class WHERE relkind = 'i' AND oid >= 16384 AND relnamespace = 'public'::regnamespace"),
	't_txt_idx u_id u_k u_k_note|4', 'after a crash, there are the indexes whose building had ended');

$node->stop;
done_testing();
