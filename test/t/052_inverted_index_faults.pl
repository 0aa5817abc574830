# Builds of GIN indexes that are disturbed: by errors of operator classes, by cancels, by a lack of files, by other sessions that
# build or change rows. An index that is built is right, also on a standby and after a crash, and a build that fails leaves nothing
# behind.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use GinIndexes;

my $node = GpusortCluster->new('main');
$node->init(allows_streaming => 1);
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.device = host
min_parallel_table_scan_size = 0
autovacuum = off
fsync = off
CONF
$node->start;
my $major = $node->pg_version->major;
$node->safe_psql('postgres', "CREATE EXTENSION $_") foreach qw(gpusort amcheck);
$node->safe_psql('postgres', GinIndexes::sql());
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (i int, note int, item text) WITH (parallel_workers = 2, fillfactor = 80);
INSERT INTO t SELECT i, 0, i || ' ' || i % 10 || ' 0' FROM generate_series(1, 12000) i;
-- chains of rows, which an index knows by their first places
UPDATE t SET note = 1 WHERE i % 3 = 0;
VACUUM ANALYZE t;
-- one of the keys is too long for a page
CREATE TABLE long WITH (parallel_workers = 2) AS SELECT i, ARRAY[CASE i WHEN 900 THEN
	(SELECT string_agg(md5(j::text), '') FROM generate_series(1, 200) j) ELSE md5(i::text) END] keys FROM generate_series(1, 1000) i;
SET gpusort.enable = off;
SET max_parallel_maintenance_workers = 0;
CREATE INDEX reference ON t USING gin (item scripted_ops);
SQL

# How builds are tried: with this number of workers, and with memory for all rows or for few.
my $little = $major >= 18 ? '64kB' : '1MB';
my @ways;
foreach my $workers (0, 2)
{
	foreach my $memory ('64MB', $little)
	{
		push @ways,
		  {
			name => "$workers workers, $memory",
			workers => $workers,
			settings => "SET max_parallel_maintenance_workers = $workers;\nSET maintenance_work_mem = '$memory';\n"
			  . ($memory eq $little ? "SET gpusort.work_mem = '64kB';\n" : '') };
	}
}

# What a build that failed has left of its index, in the catalogs and on disk; and the next one, which is as ever.
my $left = <<'SQL';
CHECKPOINT;
SELECT count(*) FROM pg_class WHERE relname = 'built';
SELECT count(*) FROM pg_ls_dir('base/' || (SELECT oid FROM pg_database WHERE datname = current_database())) f
	WHERE f ~ '^\d+$' AND pg_filenode_relation(0, f::oid) IS NULL AND f::oid NOT IN (SELECT relfilenode FROM pg_class);
SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false);
SQL
my $next = <<'SQL';
CREATE INDEX built ON t USING gin (item scripted_ops);
SELECT gin_difference('reference', 'built');
DROP INDEX built;
SQL
my $nothing_left = "0\n0\n0\n";

# SQL: builds an index of items that at some row are others.
sub build_with
{
	my ($row, $item) = @_;
	return "CREATE INDEX built ON t USING gin ((CASE WHEN $row THEN $item ELSE item END) scripted_ops);\n";
}

# A test: this build fails with this error alone, and leaves nothing.
sub check_fails
{
	my ($way, $build, $error, $what) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY terse\n$way->{settings}$build RESET statement_timeout;\n$left$next", on_error_stop => 0);
	my @errors = grep { /ERROR|FATAL|PANIC|WARNING/ } split /\n/, $err;
	is(scalar @errors, 1, "$what ($way->{name}): one error");
	like($errors[0] // '', qr/ERROR:  $error$/, 'which is the right one');
	is($out, $nothing_left, 'nothing is left, and the next index is like the others');
}

#
# Errors of the operator class, and cancels
#

foreach my $way (@ways)
{
	check_fails($way, build_with("i = $_", "'error'"), 'an item has no keys that can be extracted', "no keys of row $_") foreach 1, 9000, 12000;
	check_fails($way, build_with('i = 9000', "'1 2000000666'"), 'a key cannot be compared', 'keys of an item are not compared');
	check_fails($way, build_with('i = 9000', "'2000000666'"), 'a key cannot be compared', 'keys of items are not compared');
	check_fails($way, "CREATE INDEX built ON long USING gin (keys);\n", 'index row size \d+ exceeds maximum \d+ for index "built"', 'a key is too long');
	check_fails($way, 'SET statement_timeout = 500; ' . build_with('i % 10 = 0', "item || ' sleep'"),
		'canceling statement due to statement timeout', 'a build is slow');

	# at any time
	my $builds = join '', map { "SET statement_timeout = " . 6 * $_ . ";\nCREATE INDEX built ON t USING gin (item scripted_ops);\n"
		  . "RESET statement_timeout;\nDROP INDEX IF EXISTS built;\n" } 1 .. 25;
	my ($status, $out, $err) = $node->psql('postgres', "SET client_min_messages = error;\n$way->{settings}$builds$left$next", on_error_stop => 0);
	is(join("\n", grep { /ERROR|FATAL|PANIC/ && !/canceling statement due to statement timeout/ } split /\n/, $err), '',
		"builds can be cancelled at any time ($way->{name})");
	like($err, qr/canceling statement due to statement timeout/, 'and are');
	is($out, $nothing_left, 'of which nothing is left');
}

#
# Files
#

foreach my $way (@ways)
{
	foreach my $limit ('0', '64kB', '512kB')
	{
		my ($status, $out, $err) = $node->psql('postgres', <<"SQL", on_error_stop => 0);
\\set VERBOSITY terse
$way->{settings}
SET temp_file_limit = '$limit';
CREATE INDEX built ON t USING gin (item scripted_ops);
\\if :ERROR
$left
\\else
SELECT 'built', gin_difference('reference', 'built');
DROP INDEX built;
\\endif
RESET temp_file_limit;
$next
SQL
		my @errors = grep { /ERROR|FATAL|PANIC|WARNING/ } split /\n/, $err;
		note("temp_file_limit = $limit, $way->{name}: " . ($errors[0] // 'no error'));
		like("@errors", qr/^(\S+ ERROR:  temporary file size exceeds "?temp_file_limit"? \($limit(kB)?\))?$/, "temp_file_limit = $limit ($way->{name}): no other error");
		is($out, @errors ? $nothing_left : "built|\n", 'and the index is whole, or nothing is left of it');
	}
}

#
# Other sessions
#

# An item with the word "wait" is not ready before the door is open.
my $door = $node->background_psql('postgres');

sub shut_door { $door->query_safe('SELECT pg_advisory_lock(1)') }
sub open_door { $door->query_safe('SELECT pg_advisory_unlock_all()') }

# Lets through who waits, and shuts the door when their transactions have ended.
sub let_through { $door->query_safe('SELECT pg_advisory_unlock_all(), pg_advisory_lock(1)') }

# Waits until so many sessions of this name wait at the door, in this phase of the build.
sub wait_for_builders
{
	my ($name, $count, $phase) = @_;
	$node->poll_query_until('postgres', <<"SQL") or die "$name does not wait";
SELECT count(*) = $count FROM pg_stat_activity a JOIN pg_stat_progress_create_index p ON p.pid = coalesce(a.leader_pid, a.pid)
WHERE application_name LIKE '$name%' AND wait_event = 'advisory' AND phase ~ '$phase'
SQL
}

# A test: the session has gone on to its end, without an error.
sub check_went_on
{
	my ($session, $expected, $what) = @_;
	eval { $session->{handle}->finish };
	is("$session->{err}$session->{out}", $expected, $what);
}

# The door is there for one of the rows.
my $waiting = "(CASE i WHEN 9000 THEN item || ' wait' ELSE item END) scripted_ops";

foreach my $way (@ways)
{
	shut_door();
	my @sessions = map { $node->start_psql("builder $_", <<"SQL") } 1, 2;
$way->{settings}
CREATE INDEX built_$_ ON t USING gin ($waiting);
SELECT gin_difference('reference', 'built_$_');
DROP INDEX built_$_;
SQL
	wait_for_builders('builder', 2, '^building index');
	open_door();
	check_went_on($_, "\n", "two sessions build at once ($way->{name}): $_->{name}") foreach @sessions;

	# one of them is ended
	shut_door();
	my $good = $node->start_psql('builder 1', <<"SQL");
$way->{settings}
CREATE INDEX built_1 ON t USING gin ($waiting);
SELECT gin_difference('reference', 'built_1');
DROP INDEX built_1;
SQL
	my $ended = $node->start_psql('builder 2', $way->{settings} . build_with('i = 9000', "'wait'"));
	wait_for_builders('builder', 2, '^building index');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'builder 2' AND leader_pid IS NULL");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'builder 2'");
	open_door();
	check_went_on($good, "\n", 'a builder is terminated, and the other one goes on');
	eval { $ended->{handle}->finish };
	is($node->safe_psql('postgres', $left) . "\n", $nothing_left, 'and nothing is left of the former');
}

#
# Rows that change while an index is built concurrently
#

my @conditions = ('@# 7', '@# 1000000', '@# 9000', '!@# 0', '@# 100', '@# 101', '@# 102', '@# 5010');
# two rows whose keys wait for the door
my $changed_key = "CASE WHEN i IN (9000, 20000000) THEN item || ' wait' ELSE item END";

# Changes rows: in place and elsewhere, with other keys, and with none.
sub change_rows
{
	my ($stage) = @_;
	$node->safe_psql('postgres', <<"SQL");
INSERT INTO c SELECT i, $stage, i || ' 10$stage 1000000' FROM generate_series(12001 + 1000 * $stage, 12500 + 1000 * $stage) i;
UPDATE c SET note = note + 1 WHERE i % 7 = $stage;
UPDATE c SET item = item || ' 10$stage null' WHERE i % 11 = $stage;
DELETE FROM c WHERE i % 13 = $stage;
UPDATE c SET item = '' WHERE i % 17 = $stage;
UPDATE c SET item = NULL WHERE i % 19 = $stage;
BEGIN;
INSERT INTO c SELECT i, -1, '-1' FROM generate_series(1, 100) i;
ROLLBACK;
SQL
}

foreach my $way (@ways)
{
	foreach my $statement ('CREATE INDEX CONCURRENTLY built ON c USING gin', 'REINDEX INDEX CONCURRENTLY built')
	{
		my $fastupdate = $way->{workers} == 0 ? 'on' : 'off';
		my $definition = "(($changed_key) scripted_ops) WITH (fastupdate = $fastupdate)";
		$node->safe_psql('postgres', "CREATE TABLE c (LIKE t) WITH (parallel_workers = 2, fillfactor = 80); INSERT INTO c SELECT * FROM t");
		$node->safe_psql('postgres', "CREATE INDEX built ON c USING gin $definition") if $statement =~ /^REINDEX/;
		shut_door();
		my $session = $node->start_psql('builder', $way->{settings} . $statement . ($statement =~ /^CREATE/ ? " $definition" : '') . ";\n");
		wait_for_builders('builder', 1, '^building index');
		change_rows(0);
		# a row that the first scan does not see, and at which the second one waits; an index that is there already waits now
		my $late = "INSERT INTO c VALUES (20000000, 0, '1000000 1');\n";
		my $inserting;
		if ($statement =~ /^CREATE/) { $node->safe_psql('postgres', $late) }
		else
		{
			$inserting = $node->start_psql('inserter', $late);
			$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'inserter' AND wait_event = 'advisory'")
			  or die 'the inserter does not wait';
		}
		let_through();
		$inserting->{handle}->finish if $inserting;
		wait_for_builders('builder', 1, '^index validation: scanning table');
		change_rows(1);
		open_door();
		check_went_on($session, '', "rows change during $statement ($way->{name})");
		change_rows(2);
		is($node->safe_psql('postgres', "SELECT indisvalid, indisready FROM pg_index WHERE indexrelid = 'built'::regclass"), 't|t', 'the index is valid');
		my $found = join "\n", map { $node->safe_psql('postgres', "SELECT found_difference('c', \$q\$($changed_key) $_\$q\$)") } @conditions;
		is(join("\n", grep { !/^found [1-9]/ } split /\n/, $found), '', 'and finds all rows');
		is( $node->safe_psql('postgres', <<"SQL"), "\n0", 'and has no other ones');
SET gpusort.enable = off;
VACUUM c;
CREATE INDEX built_then ON c USING gin $definition;
SELECT gin_clean_pending_list('built') \\g /dev/null
VACUUM c;
@{[ $major >= 18 ? "SELECT gin_index_check('built');" : "SELECT '';" ]}
-- an entry stays when its last row is gone
SELECT count(*) FROM (SELECT "column", category, key_bytes, tids FROM gin_contents('built', false) WHERE tids <> '{}') a
	FULL JOIN (SELECT "column", category, key_bytes, tids FROM gin_contents('built_then')) b
	ON (a.column, a.category, a.tids) = (b.column, b.category, b.tids) AND a.key_bytes IS NOT DISTINCT FROM b.key_bytes
WHERE a.column IS NULL OR b.column IS NULL;
SQL
		$node->safe_psql('postgres', 'DROP TABLE c');
	}
}

# Rows that the transaction itself has changed, some of which others still see.
my $old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
foreach my $way (@ways)
{
	is( $node->safe_psql('postgres', <<"SQL"), "\n", "rows that the same transaction has changed ($way->{name})");
$way->{settings}
BEGIN;
UPDATE t SET note = note + 1 WHERE i % 5 = 0;
UPDATE t SET item = item || ' 5' WHERE i % 7 = 0;
DELETE FROM t WHERE i % 11 = 0;
INSERT INTO t SELECT i, 0, '11 ' || i FROM generate_series(1, 2000) i;
SAVEPOINT s;
UPDATE t SET item = 'null' WHERE i % 3 = 0;
ROLLBACK TO s;
SET LOCAL gpusort.enable = off;
CREATE INDEX built_core ON t USING gin (item scripted_ops);
SET LOCAL gpusort.enable = on;
CREATE INDEX built ON t USING gin (item scripted_ops);
SELECT gin_difference('built_core', 'built');
REINDEX INDEX built;
SELECT gin_difference('built_core', 'built');
ROLLBACK;
SQL
}
$old->query_safe('COMMIT');
$old->quit;
$door->quit;

#
# What arrives on a standby and on disk
#

# the standby compares each page that it has replayed
$node->append_conf('postgresql.conf', "wal_consistency_checking = 'all'\nwal_keep_size = '2GB'\n");
$node->reload;
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;

my $build_all = <<'SQL';
CREATE TABLE logged WITH (parallel_workers = 2) AS SELECT i, ARRAY[0, i % 100, i] a, md5((i % 500)::text) || repeat('x', i % 900) txt FROM generate_series(1, 30000) i;
SET maintenance_work_mem = '1MB';
SET max_parallel_maintenance_workers = 0;
CREATE INDEX logged_a ON logged USING gin (a);
CREATE INDEX logged_words ON logged USING gin ((ARRAY[txt, left(txt, 3)]), a);
SET max_parallel_maintenance_workers = 2;
CREATE INDEX logged_parallel ON logged USING gin (a, (ARRAY[txt])) WHERE i % 3 > 0;
CREATE INDEX CONCURRENTLY logged_concurrently ON logged USING gin (a);
REINDEX INDEX logged_words;
CREATE TABLE nothing (a int[]);
CREATE INDEX logged_nothing ON nothing USING gin (a);
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM logged;
CREATE INDEX unlogged_a ON unlogged USING gin (a);
SQL
my $digests = "SELECT relname, count(c), md5(string_agg(c::text, '')) FROM pg_class LEFT JOIN gin_contents(oid) c ON true WHERE relname ~ '^logged_' GROUP BY 1 ORDER BY 1";
my $count = $node->counter('indexes_inverted');
$node->safe_psql('postgres', $build_all);
# before 18 a concurrent build is PostgreSQL's own
is($node->counter('indexes_inverted') - $count, $major >= 18 ? 7 : 6, 'gpusort builds indexes');
my $logged = $node->safe_psql('postgres', $digests);
is(scalar(() = $logged =~ /^logged_\w+\|[1-9]/gm), 4, 'whose changes are logged') or diag($logged);
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $digests), $logged, 'a standby has the same');
is($standby->safe_psql('postgres', "SELECT found_difference('logged', \$q\$a OPERATOR(pg_catalog.@>) '{7}'\$q\$)"), 'found 300', 'which are used there');
unlike(slurp_file($standby->logfile), qr/inconsistent page|PANIC|FATAL:  (?!the database system)/, 'and whose pages are consistent');
$standby->stop;

$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $digests), $logged, 'and after a crash');
is($node->safe_psql('postgres', "SELECT count(*) FROM gin_contents('unlogged_a', false)"), '0', 'the index of an unlogged table is empty then');

# Without logging, where PostgreSQL does without
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\nwal_consistency_checking = ''\n");
$node->restart;
my $before = $node->safe_psql('postgres', 'DROP TABLE logged, unlogged, nothing; SELECT pg_current_wal_insert_lsn()');
$node->safe_psql('postgres', 'BEGIN; ' . ($build_all =~ s/CONCURRENTLY//r) . 'COMMIT;');
is($node->safe_psql('postgres', $digests), $logged, 'with wal_level = minimal indexes are the same');
my $size = $node->safe_psql('postgres', "SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname ~ '^logged_'");
cmp_ok($node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$before'::pg_lsn"), '<', $size / 4, 'and are not logged');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $digests), $logged, 'but there after a crash');

$node->stop;
done_testing();
