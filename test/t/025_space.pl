# The temporary files of sorts, compared with those of PostgreSQL's own sort; what errors leave behind; and what an idle
# session keeps.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
work_mem = '1MB'
maintenance_work_mem = '1MB'
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
dynamic_shared_memory_type = mmap
autovacuum = off
# once a session has loaded LLVM, it keeps it, and LLVM takes 10 MB
jit = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL' . GpusortCluster::HELD_FUNCTION);
CREATE EXTENSION gpusort;
CREATE TABLE narrow AS SELECT i id, hashint4(i) k FROM generate_series(1, 100000) i;
CREATE TABLE wide WITH (parallel_workers = 2) AS
	SELECT i id, hashint4(i) k, md5(i::text) txt, repeat('x', 100 + i % 50) pad, nullif(i % 3, 0) gap FROM generate_series(1, 60000) i;
CREATE TABLE small AS SELECT * FROM wide WHERE id <= 2000;
ANALYZE narrow, wide, small;
SQL
$node->wait_until_ready('gpusortd gets ready');

# ---- idle sessions; the end of the test looks at the session that is idle

my $sort = 'SELECT count(s) FROM (SELECT * FROM wide ORDER BY txt OFFSET 0) s;';
my $memory = "SELECT (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\\s+(\\d+)'))[1]::int / 1024,"
  . " (SELECT sum(total_bytes) / 1048576 > 8 FROM pg_backend_memory_contexts WHERE name = 'gpusort blocks of rows');";
my $session = "SET gpusort.min_rows = 0; SET work_mem = '64MB';";
# an error ends all timeouts
my $idle = $node->start_psql('idle', "$session $sort SELECT 1/0; $memory\n\\! sleep 61\n$memory $sort");

my ($before, $after) = map { [ split /\|/ ] } grep { /\|/ } split /\n/, $node->safe_psql('postgres', "$session $sort $memory DISCARD ALL; $memory $session $sort");
is($before->[1], 't', 'a session keeps memory of its sort');
cmp_ok($after->[0], '<', $before->[0] - 7, 'DISCARD ALL gives it back to the system');
is($after->[1], 'f', 'it is free');

# What the sorts of one statement free lies between memory of other sorts; the last sort has an error.
my $many = join ' UNION ALL ', map { "(SELECT count(*), sum(1 / (id - \$1)) FROM (SELECT * FROM wide ORDER BY (k + $_) % $_, txt OFFSET 0) s)" } 1001 .. 1025;
my ($code, $output) = $node->psql('postgres', "$session SET client_min_messages = fatal; $memory PREPARE many (int) AS SELECT sum(count) FROM ($many) u;"
	  . " EXECUTE many (0); $memory EXECUTE many (5); $memory BEGIN; EXECUTE many (5); ROLLBACK; $memory DISCARD ALL; $memory", on_error_stop => 0);
my ($first, @later) = map { /^(\d+)\|/ } split /\n/, $output;
cmp_ok($later[0], '<', $first + 48, 'a statement of many sorts leaves little memory with its session');
cmp_ok($later[1], '<', $first + 48, 'nor one with an error');
cmp_ok($later[2], '<', $first + 48, 'in a transaction that goes on');
cmp_ok($later[3], '<', $first + 12, 'and DISCARD ALL gives that back');

# ---- temporary files

# Bytes in temporary files of the statements.
sub files_of
{
	my ($statements) = @_;
	my ($code, $output, $log) = $node->psql('postgres', "SET log_temp_files = 0; SET client_min_messages = log; $statements");
	is($code, 0, 'they succeed') or diag($log);
	my $sum = 0;
	$sum += $1 while $log =~ /^(?:psql:\S+ )?LOG:  temporary file: .* size (\d+)$/mg;
	return $sum;
}

my %shapes = (
	'narrow rows' => 'SELECT k FROM narrow ORDER BY k, id',
	'wide rows' => 'SELECT * FROM wide ORDER BY k',
	'a cursor that scrolls' => 'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM wide ORDER BY k; MOVE ALL IN c; MOVE BACKWARD ALL IN c; COMMIT',
	'narrow rows that scroll' => 'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM narrow ORDER BY k; MOVE ALL IN c; COMMIT',
	'rows with NULLs that scroll' => 'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT gap, txt FROM wide ORDER BY txt; MOVE ALL IN c; COMMIT',
	'a cursor that is held' => 'BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM wide ORDER BY k; COMMIT; CLOSE c',
	'marks' => "SET enable_hashjoin = off; SET enable_nestloop = off; SELECT count(*) FROM wide a JOIN wide b ON a.txt = b.txt COLLATE \"C\"",
	'sorting again' => 'SELECT count(*) FROM generate_series(1, 3) g, LATERAL (SELECT * FROM wide WHERE id > g ORDER BY k OFFSET 0) s WHERE s.id > 0',
	'reading again' => 'SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off;'
	  . ' SELECT count(*) FROM generate_series(1, 2) g LEFT JOIN (SELECT * FROM wide ORDER BY k OFFSET 0) s ON s.id < g',
	'windows' => 'SELECT count(*) OVER (ORDER BY k), sum(id) OVER (ORDER BY id DESC), pad FROM wide',
	'an index' => 'CREATE INDEX i ON wide (txt); DROP INDEX i',
	'a unique index' => 'CREATE UNIQUE INDEX i ON wide (txt, id); DROP INDEX i');

# keys are kept with rows under such a collation, unless files have a limit
$shapes{'rows by a collation'} = 'SET temp_file_limit = \'1GB\'; SELECT * FROM wide ORDER BY txt COLLATE "en-x-icu"' if GpusortCluster::has_icu();

foreach my $name (sort keys %shapes)
{
	foreach my $memory ('64kB', '1MB', '4MB')
	{
		# before PostgreSQL 18 the least maintenance_work_mem is more
		next if $memory eq '64kB' && $name =~ /index/;
		my $setting = $name =~ /index/ ? 'maintenance_work_mem' : 'work_mem';
		my $settings = "SET $setting = '$memory'; $shapes{$name}";
		my $native = files_of("SET gpusort.enable = off; $settings");
		foreach my $device ($memory eq '1MB' && $name =~ /scrolls|wide/ ? ('host', 'cuda') : 'host')
		{
			my $spilled = $node->counter('sorts_spilled');
			my $ours = files_of("SET gpusort.device = $device; $settings");
			my $what = "$name, with $memory on $device";
			if ($native == 0)
			{
				pass("$what: PostgreSQL's own does not need files");
				next;
			}
			cmp_ok($ours, '<=', $native * 1.03 + 16384, "$what: no more files than PostgreSQL's own");
			cmp_ok($node->counter('sorts_spilled'), '>', $spilled, "$what: gpusort has spilled")
				if $ours > 0 && $name !~ /index/;
		}
	}
}

# with a limit that is just enough for PostgreSQL's own
my $native = files_of("SET gpusort.enable = off; $shapes{'a cursor that scrolls'}");
foreach my $enable ('off', 'on')
{
	my $limit = int($native * 1.03 / 1024);
	is($node->psql('postgres', "SET temp_file_limit = $limit; SET gpusort.enable = $enable; $shapes{'a cursor that scrolls'}"), 0,
		"a cursor that scrolls, with a limit for files, gpusort $enable");
}

# Parallel workers write files for their leader, which merges some of them before the last merge.
sub highest_use
{
	my ($enable) = @_;
	my $directory = $node->data_dir . '/base/pgsql_tmp';
	my $session = $node->start_psql('builder', <<"SQL");
SET gpusort.enable = $enable;
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
CREATE INDEX i ON large (txt);
DROP INDEX i;
SQL
	my $highest = 0;
	while ($session->{handle}->pumpable)
	{
		my $used = 0;
		$used += -s $_ // 0 foreach glob "$directory/* $directory/*/*";
		$highest = $used if $used > $highest;
		$session->{handle}->pump_nb;
		sleep 0.002;
	}
	$session->{handle}->finish;
	is($session->{err}, '', 'the index is built');
	return $highest;
}
$node->safe_psql('postgres', "CREATE TABLE large WITH (parallel_workers = 2) AS SELECT md5(i::text) txt FROM generate_series(1, 300000) i");
my $native_use = highest_use('off');
cmp_ok(highest_use('on'), '<=', $native_use * 1.1, 'an index built with workers takes no more files at a time');

# ---- errors

# Every spilled sort fails, with one error.
foreach my $device ('host', 'cuda')
{
	my ($code, $output, $error) = $node->psql('postgres', "SET temp_file_limit = 0; SET gpusort.device = $device; $shapes{'wide rows'}");
	like($error, qr/^psql:<stdin>:1: ERROR:  temporary file size exceeds "?temp_file_limit"? \(0kB\)$/, "no files are allowed, on $device");
}

# The files and the memory of a backend after this many errors, each caught by a function.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION fail(query text, times int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	failed int := 0;
BEGIN
	FOR i IN 1 .. times LOOP
		BEGIN
			EXECUTE query;
		EXCEPTION WHEN OTHERS THEN
			failed := failed + 1;
		END;
	END LOOP;
	RETURN failed;
END $$;
CREATE FUNCTION files() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_ls_tmpdir() $$;
CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'gpusort%' OR name IN ('TopMemoryContext', 'PortalContext', 'SPI Proc')
$$;
SQL
my %failures = (
	'while rows are put' => [ 3000, 'SELECT 1/(id - 500) x, k FROM small ORDER BY x, k' ],
	'while rows are put on the device' => [ 100, 'SELECT 1/(id - 15000) x, k FROM wide WHERE id <= 15000 ORDER BY x, k', 'cuda' ],
	'while rows are emitted' => [ 1000, 'SELECT count(1/(1000 - row)) FROM (SELECT row_number() OVER (ORDER BY k) row FROM small) s' ],
	'with runs in files' => [ 300, 'SELECT 1/(id - 2000) x, pad FROM small ORDER BY x, pad' ],
	'while runs are merged' => [ 300, 'SELECT count(1/(1000 - row)) FROM (SELECT row_number() OVER (ORDER BY k) row, pad FROM small) s WHERE pad > \'\'' ],
	'for want of files' => [ 1000, 'SELECT * FROM small ORDER BY k, pad' ],
	'in an index build' => [ 1000, 'CREATE UNIQUE INDEX ON small (pad)' ]);
foreach my $name (sort keys %failures)
{
	my ($times, $query, $device) = @{ $failures{$name} };
	my $segments = $node->segments;
	my $result = $node->safe_psql('postgres', <<"SQL");
SET work_mem = '@{[ $name =~ /runs|files/ ? '64kB' : '4MB' ]}';
SET temp_file_limit = @{[ $name =~ /for want/ ? 0 : -1 ]};
SET gpusort.device = @{[ $device // 'host' ]};
SELECT fail(\$\$$query\$\$, 20) \\gset
SELECT memory() AS before \\gset
SELECT held() AS before_held \\gset
SELECT fail(\$\$$query\$\$, $times);
DROP TABLE descriptors;
SELECT held() - :before_held, files(), memory() - :before < 200000;
SQL
	is($result, "$times\n0|0|t", "$times errors, $name, leave nothing behind");
	is($node->segments, $segments, "$name: nor segments");
}

# ---- too little shared memory

# A leader that cannot make large segments does without them. Each attempt is an error of core, which is caught.
my $shared = <<'SQL';
SET work_mem = '16MB';
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.get_shared_row_cost = 0;
SET gpusort.gather_rows = on;
PREPARE used AS SELECT used_bytes FROM pg_backend_memory_contexts WHERE name = 'TopMemoryContext';
SELECT count(s) FROM (SELECT * FROM wide ORDER BY txt OFFSET 0) s;
SELECT pg_backend_pid() AS pid \gset
\setenv LIMITED :pid
-- it writes nothing else meanwhile, above all no WAL
\! prlimit --pid $LIMITED --fsize=500000:
SELECT fail('SELECT * FROM wide WHERE id <= 15000 ORDER BY txt', 10) \gset
EXECUTE used \gset before_
SELECT fail('SELECT * FROM wide WHERE id <= 15000 ORDER BY txt', 100);
EXECUTE used \gset
\! prlimit --pid $LIMITED --fsize=unlimited:
SELECT :used_bytes - :before_used_bytes < 2000;
SQL
my $together = $node->counter('sorts_together');
is($node->safe_psql('postgres', $shared), "60000\n0\nt", 'segments that cannot be made leave nothing behind');
cmp_ok($node->counter('sorts_together'), '>=', $together + 100, 'the processes have sorted together');

# ---- the minute of the idle session has not passed yet, or has by now

$idle->{handle}->finish;
($before, $after) = map { [ split /\|/ ] } grep { /\|/ } split /\n/, $idle->{out};
is($before->[1], 't', 'an idle session keeps memory of its sort');
cmp_ok($after->[0], '<', $before->[0] - 7, 'after a minute its pages go back to the system');
like($idle->{out}, qr/60000\n$/, 'it goes on to sort');
like($idle->{err}, qr/^(psql:\S+ )?ERROR:  division by zero$/, 'without another error');

unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|terminated by signal|leak/, 'nothing has crashed or leaked');
$node->stop;
done_testing();
