# Workers that help the leader while it emits rows, or makes pages of an index: they merge runs part by part, or gather rows in memory. They
# are disturbed: by a leader that ends early or begins again while workers wait for room, by the end of any process, by errors, by a lack of
# memory. Each time the result is right or there is one clear error, and no shared memory, no file and no worker is left.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use HeldQueries;

my $node = GpusortCluster->new('main');
$node->init;
# segments that are files in the data directory can be counted
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.device = host
gpusort.gather_rows = on
dynamic_shared_memory_type = mmap
max_worker_processes = 16
max_parallel_workers = 12
parallel_setup_cost = 0
parallel_tuple_cost = 0
gpusort.get_shared_row_cost = 0
min_parallel_table_scan_size = 0
enable_incremental_sort = off
enable_material = off
enable_hashjoin = off
restart_after_crash = on
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', HeldQueries::PASS_FUNCTION . HeldQueries::ARRIVE_FUNCTION . <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t WITH (parallel_workers = 2) AS
SELECT i id, hashint4(i) k, md5(i::text) txt, repeat('x', i % 200) pad FROM generate_series(1, 240000) i;
VACUUM ANALYZE t;
SQL

my $held = HeldQueries->new($node, 'streamed');
my $arrived = HeldQueries::ARRIVED;
my $sorted = "SELECT * FROM t WHERE $arrived ORDER BY k, id OFFSET 0";
my $digest = sub { my ($condition, $rows) = (@_, $sorted); return "SELECT count(*), sum(hash_record_extended(s, n)) FROM (SELECT s, row_number() OVER () n FROM ($rows) s WHERE $condition) d;\n" };
# The leader is held at its first row, before it has read what workers have sent. Only the first of the rows in order ask for the door.
my $passed = 'CASE WHEN k < -2147000000 THEN pass(id) ELSE id END > 0';
my $query = $digest->($passed);
my $stock = "SET gpusort.enable = off;\nSET max_parallel_workers_per_gather = 0;\n";
my $native = $node->safe_psql('postgres', "$stock$query");
my $idle_segments = $node->segments;

# Checks that nothing is left of shared memory, temporary files and workers.
sub check_left
{
	my ($what) = @_;
	my ($segments, @files, $workers);
	for (1 .. 100)
	{
		$segments = $node->segments;
		@files = glob $node->data_dir . '/base/pgsql_tmp/*';
		$workers = $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'");
		last if $segments <= $idle_segments && !@files && $workers == 0;
		select undef, undef, undef, 0.1;
	}
	is("$segments @files $workers", "$idle_segments  0", "$what: no shared memory, no file and no worker is left");
}

# Tells how the leader and this many workers executed a query, of t's rows unless it is given.
sub plan_of
{
	my ($settings, $workers, $rows) = (@_, $sorted);
	my $session = $held->start_with_all("$settings\nEXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $rows;\n", $workers);
	$held->finish($session);
	return $session->{err} . $session->{out};
}

my %help = (merge => [ "SET work_mem = '8MB';\n", qr/merge of \d+ runs in \d+ streamed parts/ ], gather => [ "SET work_mem = '200MB';\n", qr/Rows Gathered By Workers: \d+/ ]);

#
# Any number of workers
#

foreach my $name (sort keys %help)
{
	my ($memory, $shown) = @{ $help{$name} };
	foreach my $workers (1 .. 8)
	{
		my $settings = "${memory}ALTER TABLE t SET (parallel_workers = $workers); SET max_parallel_workers_per_gather = 8;\n";
		is($node->safe_psql('postgres', $settings . $digest->('true')), $native, "$name, $workers workers");
		# with more than four workers all rows are in shared memory
		next if $name eq 'merge' && ($workers == 1 || $workers > 4);
		like(plan_of($settings, $workers), $shown, 'they help while the leader emits');
	}
}
$node->safe_psql('postgres', 'ALTER TABLE t SET (parallel_workers = 2)');
check_left('any number of workers');

# more runs than memory has room for, with all entries of their indexes
$node->safe_psql('postgres', <<'SQL');
CREATE UNLOGGED TABLE wide WITH (parallel_workers = 2) AS SELECT i id, hashint4(i) k, repeat('x', 1000) pad FROM generate_series(1, 435000) i;
ANALYZE wide;
SQL
my $wide = "SELECT * FROM wide WHERE $arrived ORDER BY k, id OFFSET 0";
my $little_memory = "SET work_mem = '3MB';\n";
my $many_runs = qr/merge of 1[4-9]\d runs in \d+ parts/;
like(plan_of($little_memory, 2, $wide), $many_runs, 'many runs');
is($node->safe_psql('postgres', $little_memory . $digest->('true', $wide)), $node->safe_psql('postgres', $stock . $digest->('true', $wide)), 'and their rows');
$node->safe_psql('postgres', 'DROP TABLE wide');
check_left('many runs');

#
# Disturbed while workers wait for room
#

# Starts a script whose leader is held at its first row, and waits until a worker has filled its memory.
sub start_without_room
{
	my ($script) = @_;
	$held->shut_doors(2);
	my $session = $held->start_with_all($script, 2);
	my ($leader) = $held->wait_for(1, 0, 'Lock');
	my ($worker) = $held->wait_for(0, 1, 'Extension');
	return ($session, $leader, $worker);
}

my ($session, $leader, $worker);
my $first = "SELECT count(s) FROM (SELECT s FROM ($sorted) s WHERE $passed LIMIT 3) l;\n";
my $again = "SELECT string_agg((SELECT s::text FROM ($sorted) s WHERE $passed AND k > x LIMIT 1)::text, ' ') FROM (VALUES (-2000000000), (0), (1000000)) v(x);\n";
my $native_again = $node->safe_psql('postgres', "$stock$again");
my $joined = "SELECT count(*), sum(s.id), count(s) FROM (VALUES (1), (2)) v(x) LEFT JOIN ($sorted) s ON $passed;\n";
my $native_joined = $node->safe_psql('postgres', "$stock$joined");

foreach my $name (sort keys %help)
{
	my ($memory) = @{ $help{$name} };
	my $finish = sub { my ($script) = @_; ($session) = start_without_room($memory . $script); $held->finish($session) };

	$finish->($query);
	is($session->{err} . $session->{out}, "$native\n", "$name: workers wait for room");
	check_left($name);

	$finish->($first . $query);
	is($session->{err} . $session->{out}, "3\n$native\n", "$name: the leader ends early");
	check_left($name);

	$finish->($again . $query);
	is($session->{err} . $session->{out}, "$native_again\n$native\n", "$name: the leader begins again, before it has read all rows");
	check_left($name);

	$finish->($joined);
	is($session->{err} . $session->{out}, "$native_joined\n", "$name: and after the last row");
	check_left($name);

	$finish->("SELECT count(s), sum(1 / (pass(id) - id)) FROM ($sorted) s;\n" . $query);
	like($session->{err}, qr/^ERROR:  division by zero$/m, "$name: an error above the sort");
	is($session->{out}, "$native\n", 'and the next one is right');
	check_left($name);

	foreach my $function ('pg_cancel_backend', 'pg_terminate_backend')
	{
		foreach my $whose ('leader', 'worker')
		{
			($session, $leader, $worker) = start_without_room($memory . $query x 2);
			$node->safe_psql('postgres', "SELECT $function(" . ($whose eq 'leader' ? $leader : $worker) . ')');
			$held->finish($session);
			like($session->{err}, qr/^(ERROR|FATAL):  (canceling statement|terminating (connection|background worker "parallel worker"))/m, "$name: $function of the $whose");
			is($session->{out}, $function eq 'pg_terminate_backend' && $whose eq 'leader' ? '' : "$native\n", 'and the next one is right');
			check_left($name);
		}
	}

	# at any time
	my $script = "\\set VERBOSITY terse\n$memory";
	foreach my $i (1 .. 50)
	{
		$script .= "SET statement_timeout = " . (5 * $i) . ";\n" . ($i % 2 ? $digest->('true') : $again) . "RESET statement_timeout;\n";
	}
	my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	is(join("\n", grep { !/canceling statement due to statement timeout/ } split /\n/, $err), '', "$name can be cancelled at any time");
	is(join("\n", grep { $_ ne $native && $_ ne $native_again } split /\n/, $out), '', 'and what is not is right');
	check_left($name);
}

#
# Builds of indexes, whose leader makes pages of the parts
#

$node->safe_psql('postgres', "CREATE EXTENSION amcheck;\n" . GpusortCluster::PAGES_FUNCTION);
my $build = "SET max_parallel_maintenance_workers = 2;\nSET maintenance_work_mem = '12MB';\n";
my %pages;
foreach my $columns ('(txt COLLATE "C")', '(k, txt) INCLUDE (pad)', '(txt COLLATE "C" DESC, pad)')
{
	my $create = ($columns =~ /pad/ ? "SET maintenance_work_mem = '24MB';\n" : '') . "CREATE INDEX built ON t $columns WHERE $arrived;\n";
	$pages{$columns} = $node->safe_psql('postgres', "${build}SET gpusort.enable = off;\n$create SELECT pages('built');\nDROP INDEX built;");
	my $built = $held->start_with_all("${build}SET client_min_messages = debug1;\n$create RESET client_min_messages;\n"
		  . "SELECT pages('built');\nSELECT bt_index_parent_check('built', true, true);\nDROP INDEX built;\n", 2);
	$held->finish($built);
	my ($out, $err) = @$built{qw(out err)};
	like($err, qr/gpusort: merging \d+ runs in \d+ streamed parts/, "$columns: workers merge while the leader makes pages");
	is($out, "$pages{$columns}\n\n", 'and the pages are right');
}
my $unique = "CREATE UNIQUE INDEX built ON t ((id / 2), txt COLLATE \"C\");\n";
is($node->safe_psql('postgres', "$build${unique}SELECT bt_index_parent_check('built', true, true);\nDROP INDEX built;"), '', 'a unique index');
my (undef, $built_out, $built_err) = $node->psql('postgres', "${build}CREATE UNIQUE INDEX built ON t (substr(txt, 1, 4), (repeat(txt, 3)::bpchar = pad), (repeat('-', 60)));");
like($built_err, qr/could not create unique index "built"/, 'and one of rows that are not');

# at any time
my $builds = "\\set VERBOSITY terse\n$build";
foreach my $i (1 .. 40)
{
	$builds .= "SET statement_timeout = " . (8 * $i) . ";\nCREATE INDEX ON t (txt COLLATE \"C\");\nRESET statement_timeout;\n";
}
(undef, $built_out, $built_err) = $node->psql('postgres', $builds, on_error_stop => 0);
is(join("\n", grep { !/canceling statement due to statement timeout/ } split /\n/, $built_err), '', 'builds can be cancelled at any time');
# the condition of the index of these pages holds for all rows, and is not in the pages
my $right = $pages{'(txt COLLATE "C")'};
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass AND pages(indexrelid::regclass) <> '$right'"), '0', 'and those that are not are right');
check_left('builds');

#
# A leader that waits, then does not, then waits once more
# Rows for which a stream has no room go as empty ones, so that workers are far ahead. A slice has 14 rows, and a period 224. The leader
# waits for its consumer's sleep, is busy for three periods, sleeps again, and reads the rest without a delay.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large WITH (parallel_workers = 4) AS SELECT i id FROM generate_series(1, 3000) i;
ANALYZE large;
CREATE FUNCTION slow(id integer) RETURNS boolean PARALLEL RESTRICTED LANGUAGE plpgsql AS $$
BEGIN
	IF id / 224 IN (3, 4, 5) THEN
		FOR i IN 1 .. 20000 LOOP END LOOP;
	ELSIF id / 224 < 9 AND id % 8 = 0 THEN
		PERFORM pg_sleep(0.01);
	END IF;
	RETURN true;
END
$$;
SQL
my $uneven = "SELECT id, repeat(chr(97 + id % 26), 70000) r FROM large WHERE $arrived ORDER BY id OFFSET 0";
my $settings = "SET work_mem = '200MB';\nSET max_parallel_workers_per_gather = 4;\nSET statement_timeout = '60s';\n";
like(plan_of($settings, 4, "SELECT count(s.r) FROM ($uneven) s WHERE slow(id)"), qr/Rows Gathered By Workers: \d+/, 'workers gather rows for a leader that waits now and then');
is($node->safe_psql('postgres', $settings . $digest->('slow(id)', $uneven)), $node->safe_psql('postgres', $stock . $digest->('true', $uneven)), 'and it does not wait for what nobody has');
check_left('a leader that waits now and then');

# A lack of memory
# the files of runs are smaller than the segment of a stream
my $postmaster = $node->safe_psql('postgres', "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
system_or_bail('prlimit', '--pid', $postmaster, '--fsize=8000000:');
like(plan_of("SET work_mem = '8MB';", 2), qr/merge of \d+ runs in \d+ parts/, 'parts go to files without shared memory');
is($node->safe_psql('postgres', "SET work_mem = '8MB';" . $digest->('true')), $native, 'and the rows are right');
system_or_bail('prlimit', '--pid', $postmaster, '--fsize=unlimited:');
check_left('memory that cannot be had');

#
# A worker that is killed takes the server down, and nothing stays
#

($session, $leader, $worker) = start_without_room("SET work_mem = '8MB';\n$query");
kill 'KILL', $worker;
eval { $session->{handle}->finish };
eval { $held->end };
ok($node->wait_until_up, 'a worker is killed, and the server comes up again');
is($node->safe_psql('postgres', $digest->('true')), $native, 'the next one is right');
check_left('a worker is killed');

$node->stop;
done_testing();
