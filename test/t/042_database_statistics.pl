# gpusort_stat_database: each database counts its own sorts and index builds and no others, and together they count all. Then what
# a reset, the end of a database, a restart and a crash do to the counters.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use Time::HiRes qw(sleep);
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 10000
gpusort.device = host
work_mem = 64MB
max_parallel_workers_per_gather = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
gpusort.get_shared_row_cost = 0
min_parallel_table_scan_size = 0
autovacuum = off
restart_after_crash = on
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE ROLE alice LOGIN');
$node->wait_until_ready('gpusortd is ready');

sub make_database
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t WITH (parallel_workers = 2) AS SELECT i AS id, hashint4(i) AS k, repeat(md5(i::text), 4) AS txt FROM generate_series(1, 20000) i;
VACUUM ANALYZE t;
SQL
}
make_database($_) foreach 'here', 'there';

sub shown
{
	my ($columns, $database) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM gpusort_stat_database WHERE datname = '$database'");
}
use constant COUNTS => 'sorts, sorts_device, sorts_host, sorts_native, sorts_spilled, rows, indexes';
my $sort = 'SELECT count(*) FROM (SELECT * FROM t ORDER BY txt OFFSET 0) s;';

is(shown(COUNTS, 'here'), '', 'a database in which nothing was sorted is not listed');
$node->safe_psql('here', $sort);
is(shown(COUNTS, 'here'), '1|0|1|0|0|20000|0', 'a sort');
cmp_ok(shown('bytes', 'here'), '>', 20000 * 128, 'its memory');
is(shown(COUNTS, 'there'), '', 'none in another database');

$node->safe_psql('there', "SET gpusort.device = cuda; $sort");
is(shown(COUNTS, 'there'), '1|1|0|0|0|20000|0', 'a sort on the device');
$node->safe_psql('here', "SET gpusort.work_mem = '1MB'; $sort");
is(shown(COUNTS, 'here'), '2|0|2|0|1|40000|0', 'a sort that has spilled');
$node->safe_psql('here', "SET plan_cache_mode = force_generic_plan; PREPARE p AS $sort EXPLAIN EXECUTE p; SET gpusort.enable_sort = off; EXECUTE p");
is(shown(COUNTS, 'here'), '3|0|2|1|1|40000|0', 'a sort that went native');
$node->safe_psql('here', 'CREATE INDEX ON t (k); SET gpusort.device = cuda; CREATE INDEX ON t (txt)');
is(shown(COUNTS, 'here'), '3|0|2|1|1|40000|2', 'index builds');
$node->safe_psql('there', "SET gpusort.min_rows = 0; SET max_parallel_workers_per_gather = 2; $sort");
is(shown('sorts_host, rows', 'there'), '1|40000', 'a sort with workers');

# all databases, of which none has been dropped
foreach my $name ('sorts_device', 'sorts_host', 'sorts_native', 'sorts_spilled', 'rows', 'bytes')
{
	is($node->safe_psql('postgres', "SELECT sum($name) FROM gpusort_stat_database"), $node->counter($name), "$name of all databases");
}
is($node->safe_psql('postgres', 'SELECT sum(indexes) FROM gpusort_stat_database'), $node->counter('indexes_host') + $node->counter('indexes_device'), 'indexes of all databases');
is($node->safe_psql('postgres', "SELECT datid = (SELECT oid FROM pg_database WHERE datname = 'here') FROM gpusort_stat_database WHERE datname = 'here'"), 't', 'by number and name');

# reset
my ($status, $out, $err) = $node->psql('here', 'SET SESSION AUTHORIZATION alice; SELECT sorts > 0, stats_reset FROM gpusort_stat_database WHERE datname = current_database(); SELECT gpusort_stat_database_reset()');
is($out, 't|', 'everyone may look');
like($err, qr/ERROR:  permission denied for function gpusort_stat_database_reset/, 'not everyone may reset');
my $there = shown(COUNTS, 'there');
$node->safe_psql('here', 'SELECT gpusort_stat_database_reset()');
is(shown(COUNTS . ", bytes, stats_reset BETWEEN now() - interval '5 minutes' AND now()", 'here'), '0|0|0|0|0|0|0|0|t', 'a database is reset');
is(shown(COUNTS . ', stats_reset', 'there'), "$there|", 'another one is not');
$node->safe_psql('here', $sort);
is(shown(COUNTS, 'here'), '1|0|1|0|0|20000|0', 'and it counts again');

# dropped databases make room
my $oid = shown('datid', 'here');
$node->safe_psql('postgres', 'DROP DATABASE here');
is(shown(COUNTS, 'here'), '', 'a database is dropped');
make_database('elsewhere');
$node->safe_psql('elsewhere', $sort);
is(shown(COUNTS . ', stats_reset', 'elsewhere'), '1|0|1|0|0|20000|0|', 'a new one begins with nothing');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpusort_stat_database() WHERE datid = $oid"), 0, 'in the place of the old one');
is(shown(COUNTS, 'there'), $there, 'others keep theirs');

# many sessions at once, beside others that reset another database
my $before = shown('rows', 'there');
my @sessions = map {
	$node->start_psql("session $_", ($_ > 6 ? "\\c elsewhere\n" : "\\c there\n") . ($_ > 6 ? "SELECT gpusort_stat_database_reset() \\g /dev/null\n" : "$sort\n") x 20)
} 1 .. 8;
$_->{handle}->finish foreach @sessions;
is(join('', map { $_->{err} } @sessions), '', 'sessions at once');
is(shown('rows', 'there'), $before + 6 * 20 * 20000, 'each of their sorts is counted');
is(shown(COUNTS, 'elsewhere'), '0|0|0|0|0|0|0', 'none where they are reset');

# a restart, with a database fewer
$node->safe_psql('elsewhere', $sort);
$node->safe_psql('there', 'SELECT gpusort_stat_database_reset();' . $sort x 3);
make_database('dropped');
$node->safe_psql('dropped', $sort);
$oid = shown('datid', 'dropped');
$node->safe_psql('postgres', 'DROP DATABASE dropped');
my $all = 'SELECT * FROM gpusort_stat_database ORDER BY datid';
my $shown = $node->safe_psql('postgres', $all);
like($shown, qr/\|there\|3\|0\|3\|0\|0\|60000\|\d+\|0\|\d{4}-/, 'counters, with a reset');
my $file = $node->data_dir . '/pg_stat/gpusort.stat';
$node->stop;
ok(-f $file, 'a file has them while the server is down');
my $content = slurp_file($file);

# starts that fail: by a setting, by a file, and by a kill while the server waits for its log to be recovered
my $conf = slurp_file($node->data_dir . '/postgresql.conf');
sub write_conf
{
	my ($lines) = @_;
	unlink $node->data_dir . '/postgresql.conf';
	append_to_file($node->data_dir . '/postgresql.conf', $conf . $lines);
}
write_conf("unix_socket_directories = '/nonexistent'\n");
is($node->start(fail_ok => 1), 0, 'a start without a place for its socket');
write_conf("hba_file = '/nonexistent'\n");
is($node->start(fail_ok => 1), 0, 'a start without pg_hba.conf');
my $waits = $node->data_dir . '/waits';
write_conf("restore_command = 'touch \"$waits\"; exec sleep 1000'\n");
append_to_file($node->data_dir . '/recovery.signal', '');
run_log([ 'pg_ctl', '-W', '-D', $node->data_dir, '-l', $node->logfile, 'start' ]);
for (my $i = 0; !-e $waits && $i < 10 * $PostgreSQL::Test::Utils::timeout_default; $i++)
{
	sleep 0.1;
}
ok(-e $waits, 'a start that waits');
my @processes = map { m{^/proc/(\d+)} && (readlink($_) // '') eq $node->data_dir ? $1 : () } glob '/proc/[0-9]*/cwd';
kill 'KILL', @processes;
sleep 0.1 while kill 0, @processes;
unlink $node->data_dir . '/recovery.signal';
write_conf('');
$node->start;
is($node->safe_psql('postgres', $all), $shown, 'they outlive a restart, and starts that fail');
ok(-f $file, 'which leave the file');
$node->safe_psql('there', $sort);
ok(!-e $file, 'as long as nothing is counted');
is(shown(COUNTS, 'there'), '4|0|4|0|0|80000|0', 'and they go on');
make_database('another');
$node->safe_psql('another', $sort);
is(shown(COUNTS . ', stats_reset', 'another'), '1|0|1|0|0|20000|0|', 'a new database begins with nothing');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpusort_stat_database() WHERE datid = $oid"), 0, 'in the place of the one dropped before');

# a crash
my $offset = -s $node->logfile;
kill 'KILL', $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
$node->wait_for_log(qr/all server processes terminated; reinitializing/, $offset);
ok($node->wait_until_up, 'the server has crashed');
is($node->safe_psql('postgres', $all), '', 'a crash ends all');
$node->safe_psql('there', $sort);
is(shown(COUNTS . ', stats_reset', 'there'), '1|0|1|0|0|20000|0|', 'and they begin anew');
$node->restart;
is(shown(COUNTS . ', stats_reset', 'there'), '1|0|1|0|0|20000|0|', 'which outlives a restart');

# files that are not of this kind
foreach my $bad ('', 'x', substr($content, 0, -1), substr($content, 0, 8), "\0" x length $content, pack('LL', unpack('L', $content), 1025) . "\0" x 100000)
{
	$node->stop;
	open my $handle, '>:raw', $file or die "$file: $!";
	print $handle $bad;
	close $handle;
	$offset = -s $node->logfile;
	$node->start;
	is($node->safe_psql('postgres', $all), '', 'a file of ' . length($bad) . ' bytes is of no use');
	like(slurp_file($node->logfile, $offset), qr{LOG:  ignoring invalid data in file "pg_stat/gpusort.stat"}, 'says the log');
}
$node->safe_psql('there', $sort);
mkdir "$file.tmp" or die "$file.tmp: $!";
$offset = -s $node->logfile;
$node->restart;
like(slurp_file($node->logfile, $offset), qr{LOG:  could not write file "pg_stat/gpusort.stat.tmp": Is a directory}, 'a file that cannot be written');
is($node->safe_psql('postgres', $all), '', 'then they begin anew');
rmdir "$file.tmp" or die "$file.tmp: $!";

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
($status, $out, $err) = $node->psql('there', "LOAD 'gpusort'; $sort SELECT * FROM gpusort_stat_database", on_error_stop => 0);
is($out, 20000, 'without the preloaded library there are sorts');
like($err, qr/ERROR:  gpusort must be loaded via "shared_preload_libraries"/, 'and the view tells what it needs');

$node->stop;
done_testing();
