# The C library overwrites freed memory. EXPLAIN ANALYZE, by itself and by auto_explain, then shows sorts whose
# memory is freed; and sorts end before their last row.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use PostgreSQL::Test::Utils;
use Test::More;

# glibc sets freed bytes to this value
$ENV{MALLOC_PERTURB_} = 165;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
shared_preload_libraries = 'gpusort, auto_explain'
gpusort.min_rows = 0
work_mem = '64MB'
max_parallel_workers_per_gather = 2
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
gpusort.get_shared_row_cost = 0
enable_incremental_sort = off
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_timing = off
auto_explain.log_nested_statements = on
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t WITH (parallel_workers = 2) AS SELECT i id, hashint4(i) k, md5(i::text) txt FROM generate_series(1, 20000) i;
CREATE TABLE few AS SELECT i id FROM generate_series(1, 3) i;
ANALYZE;
SQL
$node->wait_until_ready('gpusortd gets ready');

my @texts = qr/Sort Method: (none, rows in order|none, each run in order|(radix sort|quicksort|external merge|external sort)( \(native\))?)(, merge of \d+ runs( by gpusortd| in \d+ (streamed )?parts)?( that more memory would spare)?)?$/;
push @texts, qr/Device: (host|gpusortd \(host\))$/;

# Each text in a plan about how it was sorted has to be one of the known ones.
sub check_texts
{
	my ($plan, $least, $what) = @_;
	my @lines = grep { /Sort Method:|Device:/ } split /\n/, $plan;
	my @wrong = grep { my $line = $_; !grep { $line =~ $_ } @texts } @lines;
	cmp_ok(scalar @lines, '>=', $least, "$what: it is told");
	is("@wrong", '', "$what: in words");
}

my %queries = (
	'together' => 'SELECT * FROM t ORDER BY k, id',
	'with a limit' => 'SELECT * FROM (SELECT * FROM t ORDER BY k, id OFFSET 0) s LIMIT 15000',
	'again' => 'SELECT * FROM few, LATERAL (SELECT * FROM t WHERE t.id > few.id ORDER BY k, t.id OFFSET 0) s',
	'merged' => 'SET enable_hashjoin = off; SET enable_nestloop = off; SELECT count(*) FROM t a JOIN t b USING (k)',
	'by windows' => 'SELECT rank() OVER (ORDER BY k) FROM t',
	'in a function' => 'SELECT f FROM f()');
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION f() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint := 0;
	r record;
BEGIN
	FOR r IN SELECT * FROM t ORDER BY k, id LOOP
		n := n + 1;
		EXIT WHEN n > 10000;
	END LOOP;
	BEGIN
		PERFORM txt::int FROM (SELECT * FROM t ORDER BY k, id OFFSET 0) s;
	EXCEPTION WHEN invalid_text_representation THEN
		NULL;
	END;
	RETURN n;
END $$;
SQL

foreach my $device ('host', 'cuda')
{
	foreach my $memory ('64kB', '64MB')
	{
		foreach my $name (sort keys %queries)
		{
			my $log = -s $node->logfile;
			my $settings = "SET gpusort.device = $device; SET work_mem = '$memory'; SET jit = off;";
			my ($before, $query) = $queries{$name} =~ /^(.*; )?(.*)$/;
			my $plan = $node->safe_psql('postgres',
				$settings . ($before // '') . "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, VERBOSE) $query");
			my $what = "$name, on $device with $memory";
			check_texts($plan, $name eq 'in a function' ? 0 : 1, $what);
			check_texts(slurp_file($node->logfile, $log), 1, "$what, by auto_explain");
		}
	}
}

my $leader = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $queries{together}");
like($leader, qr/Parallel Custom Scan \(GpuSort\)/, 'a leader and its workers sort together');

# cursors: held beyond the end of their transaction; left in the middle, by the end of it or by an error
is( $node->safe_psql('postgres', <<'SQL'), "1\n20000\n3\n2", 'cursors');
SET work_mem = '64kB';
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT row_number() OVER (ORDER BY k, id) FROM t;
DECLARE scrolled SCROLL CURSOR FOR SELECT row_number() OVER (), * FROM (SELECT * FROM t ORDER BY k, id OFFSET 0) s;
FETCH scrolled \g /dev/null
COMMIT;
FETCH held;
MOVE ALL held;
BEGIN;
DECLARE scrolled SCROLL CURSOR FOR SELECT * FROM t ORDER BY k, id;
SELECT count(*) FROM t;
MOVE LAST IN scrolled;
SAVEPOINT s;
DECLARE other SCROLL CURSOR FOR SELECT * FROM t ORDER BY txt;
MOVE 10000 IN other;
ROLLBACK TO s;
MOVE BACKWARD 10 IN scrolled;
ROLLBACK;
CLOSE held;
BEGIN;
DECLARE marked SCROLL CURSOR FOR SELECT row_number() OVER (), k FROM (SELECT k FROM few, t WHERE few.id = t.id ORDER BY k OFFSET 0) s;
MOVE ALL IN marked;
SELECT count(*) FROM few;
FETCH PRIOR FROM marked \gset last_
FETCH PRIOR FROM marked \gset
SELECT :row_number;
COMMIT;
SQL

unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|terminated by signal/, 'nothing has crashed');
$node->stop;
done_testing();
