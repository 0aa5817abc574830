# The pages that are written for an index. With any definition and any rows they are the pages that PostgreSQL itself writes, and all
# of them are on disk, in the log and on a standby.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use HeldQueries;

my $settings = <<'CONF';
shared_preload_libraries = 'gpusort'
gpusort.min_rows = 0
gpusort.device = host
gpusort.verify = on
max_parallel_maintenance_workers = 2
maintenance_work_mem = '64MB'
autovacuum = off
CONF

my $node = GpusortCluster->new('main');
$node->init(allows_streaming => 1, extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', $settings);
$node->start;
$node->safe_psql('postgres', GpusortCluster::PAGES_FUNCTION);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION amcheck;

-- Builds an index without gpusort and with it, and compares them; an error, of which there must be the same, is a result too.
CREATE FUNCTION built(definition text, enable text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
BEGIN
	PERFORM set_config('gpusort.enable', enable, true);
	EXECUTE definition;
	PERFORM bt_index_parent_check('built', true, true);
	message := pages('built');
	DROP INDEX built;
	RETURN message;
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	-- of several duplicates any may be reported
	RETURN message || ': ' || regexp_replace(detail, '=\(.*\) is', '=(...) is');
END $$;
SQL

#
# Random definitions of indexes on random rows, of which some have been updated and deleted
# Another seed gives another run; a failure tells the seed.
my $seed = $ENV{GPUSORT_TEST_SEED} // 1;
srand($seed);

sub one_of { return $_[ int rand @_ ] }

sub random_type
{
	my $values = one_of(1, 2, 5, 50, 1000, 1000000);
	my $number = "(hashint8extended(i, $values + " . int(rand 1000) . ") % $values)";
	my $text = one_of("md5(($number)::text)", "($number)::text", "repeat('ab', ($number % 300)::int)",
		"repeat(md5(($number)::text), 1 + (abs($number) % 20)::int)");
	my ($type, $value) = @{ one_of(
			[ 'int', "$number" ], [ 'bigint', "$number * 1000000007" ], [ 'smallint', "$number % 30000" ],
			[ 'numeric', "round($number / 7.0, (abs($number) % 4)::int)" ], [ 'float8', "$number / 3.0" ],
			[ 'text COLLATE "C"', $text ], [ 'varchar COLLATE "C"', $text ], [ 'char(12) COLLATE "C"', "left($text, 12)" ],
			[ 'bool', "$number > 0" ], [ 'date', "date '2000-01-01' + ($number % 10000)::int" ],
			[ 'timestamptz', "timestamptz '2000-01-01' + $number * interval '1 s'" ], [ 'uuid', "md5(($number)::text)::uuid" ]) };
	$value = "CASE WHEN i % " . (2 + int rand 20) . " > 0 THEN $value END" if rand() < 0.3;
	return ($type, $value);
}

sub random_definition
{
	my @columns = map { "c$_" } 0 .. 3;
	my @keys = map { one_of(@columns, '(i % 100)', '(c0 IS NULL)') . one_of('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') }
	  1 .. 1 + int rand 3;
	my $unique = one_of('', '', 'UNIQUE');
	push @keys, 'i' if $unique && rand() < 0.7;
	return "CREATE $unique INDEX built ON r (" . join(', ', @keys) . ')'
	  . (rand() < 0.2 ? ' INCLUDE (' . one_of(@columns) . ')' : '')
	  . ($unique && rand() < 0.3 ? ' NULLS NOT DISTINCT' : '')
	  . one_of('', '', ' WITH (fillfactor = ' . (10 + int rand 91) . ')', ' WITH (deduplicate_items = off)')
	  . one_of('', '', ' WHERE i % 3 > 0', ' WHERE c1 IS NOT NULL');
}

my $natively = $node->counter('indexes_native');
my $by_host = $node->counter('indexes_host');
my @differences;
my %results;
foreach my $table (1 .. 8)
{
	my @types = map { [random_type()] } 0 .. 3;
	my $rows = one_of(1, 100, 3000, 10000);
	my $script = "CREATE TABLE r (i int" . join('', map { ", c$_ $types[$_][0]" } 0 .. 3) . ") WITH (fillfactor = 80, parallel_workers = "
	  . one_of(0, 2, 2) . ");\n"
	  . "INSERT INTO r SELECT i" . join('', map { ", $types[$_][1]" } 0 .. 3) . " FROM generate_series(1, $rows) i;\n";
	$script .= "DELETE FROM r WHERE i % 11 = 0;\n" if rand() < 0.5;
	$script .= "VACUUM r;\nINSERT INTO r SELECT * FROM r WHERE i % 4 = 0;\n" if rand() < 0.3;
	# updates of no indexed column make HOT chains, others new rows
	$script .= "UPDATE r SET c" . int(rand 4) . " = NULL WHERE i % 5 = 0;\n" if rand() < 0.7;
	foreach (1 .. 8)
	{
		my $definition = random_definition();
		# in the transaction that deleted rows they are dead to the unique check only
		my $deletes = rand() < 0.2 ? 'DELETE FROM r WHERE i % 13 = 1; INSERT INTO r SELECT * FROM r WHERE i % 13 = 2;' : '';
		# memory for all rows, or for some, with the others in files
		my $work_mem = one_of(-1, -1, '64kB', '300kB');
		$script .= "SET gpusort.work_mem = '$work_mem'; BEGIN; $deletes SELECT a IS NOT DISTINCT FROM b, a, b, \$d\$$definition\$d\$ FROM "
		  . "built(\$d\$$definition\$d\$, 'off') a, built(\$d\$$definition\$d\$, 'on') b; ROLLBACK;\n";
	}
	foreach my $line (split /\n/, $node->safe_psql('postgres', $script . 'DROP TABLE r;'))
	{
		my ($equal, $result) = split /\|/, $line;
		push @differences, $line unless $equal eq 't';
		$results{ $result =~ /could not create unique index/ ? 'not unique' : $result =~ /^\d+ \w+$/ ? 'built' : 'too large' }++;
	}
}
is(join("\n", @differences), '', "with seed $seed all pages are PostgreSQL's own");
ok($results{built} > 30 && $results{'not unique'} > 0, 'of indexes that can be built and that cannot');
ok($node->counter('indexes_host') >= $by_host + $results{built}, 'which gpusort had built')
  and is($node->counter('indexes_native'), $natively, 'and not given to PostgreSQL');
ok($node->counter('index_workers') > 0, 'with parallel workers and without');
ok($node->counter('indexes_spilled') > 0, 'and some through files');

# Workers that have begun before the leader goes on make leaves beside it.
my $arrived = HeldQueries::ARRIVED;
my $large = "'CREATE INDEX built ON many (i, t) WHERE $arrived'";
$node->safe_psql('postgres', HeldQueries::ARRIVE_FUNCTION . <<'SQL');
CREATE TABLE many WITH (parallel_workers = 2) AS
SELECT id, id % 70000 i, repeat('x', id % 50) COLLATE "C" t FROM generate_series(1, 200000) id;
SQL
my $native = $node->safe_psql('postgres', "SELECT built($large, 'off')");
my $by_workers = $node->counter('index_worker_pages');
my $held = HeldQueries->new($node, 'builder');
my $session = $held->start_with_all("SELECT built($large, 'on');\n", 2);
$held->finish($session);
$held->end;
is($session->{err} . $session->{out}, "$native\n", 'large indexes are the same');
cmp_ok($node->counter('index_worker_pages'), '>', $by_workers, 'with leaves that workers made');

# Members leave the same common prefix out of keys, as they find it. Some rows do not have it, everywhere in the table or only
# late.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE alike WITH (parallel_workers = 2) AS
SELECT i, t COLLATE "C" t, t COLLATE "en-x-icu" icu, convert_to(t, 'UTF8') b, CASE WHEN i < 25000 THEN t END COLLATE "C" gaps
FROM (SELECT i, CASE WHEN i % 100 = 99 THEN md5(i::text) WHEN i > 20000 AND i % 3 = 0 THEN repeat('pq', 150) || i ELSE repeat('p', 150) || hashint4(i) % 5000 END t
	FROM generate_series(1, 30000) i) s;
ANALYZE alike;
SQL
my $index_workers = $node->counter('index_workers');
foreach my $keys ('t', 't DESC, i', 'b', 'gaps NULLS FIRST', 'i % 3, t, b', 'icu, i', '(ARRAY[t, i::text])', 't COLLATE "en-x-icu", t')
{
	my $definition = 'CREATE INDEX built ON alike (' . ($keys =~ s/^i % 3/(i % 3)/r) . ')';
	is($node->safe_psql('postgres', "SELECT a = b FROM built('$definition', 'off') a, built('$definition', 'on') b"),
		't', "keys that begin alike: $keys");
}
is($node->counter('index_workers'), $index_workers + 16, 'with two workers each');

#
# What arrives on disk and on a standby
#

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;

# Builds indexes that are logged, and notes their pages.
sub build_logged
{
	return $node->safe_psql('postgres', <<'SQL');
CREATE TABLE logged AS SELECT i, md5((i % 5000)::text) COLLATE "C" t, lpad(i::text, 500) COLLATE "C" wide FROM generate_series(1, 20000) i;
CREATE INDEX logged_i ON logged (i);
CREATE INDEX logged_t ON logged (t);
CREATE INDEX logged_wide ON logged (wide);
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM logged;
CREATE INDEX unlogged_t ON unlogged (t);
SELECT pages('logged_i'), pages('logged_t'), pages('logged_wide');
SQL
}

# Where pages are empty a standby has zeros.
my $checks = "SELECT bt_index_parent_check(index, true, true) FROM unnest(ARRAY['logged_i', 'logged_t', 'logged_wide']::regclass[]) index";
my $sizes = "SELECT string_agg(pg_relation_size(index)::text, ' ') FROM unnest(ARRAY['logged_i', 'logged_t', 'logged_wide']::regclass[]) index";
my $logged = build_logged();
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $sizes), $node->safe_psql('postgres', $sizes), 'a standby has the same indexes');
is($standby->psql('postgres', $checks =~ s/bt_index_parent_check\(index, true, true\)/bt_index_check(index, true)/r), 0, 'which are whole');
is( $standby->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*), max(i) FROM logged WHERE t >= '0'"),
	'20000|20000', 'and used there');
$standby->stop;

$node->stop('immediate');
$node->start;
is($node->psql('postgres', $checks), 0, 'indexes are whole after a crash');
is($node->safe_psql('postgres', "SELECT bt_index_parent_check('unlogged_t', true), count(*) FROM unlogged"),
	'|0', 'and those of unlogged tables empty');
$node->safe_psql('postgres', 'INSERT INTO unlogged SELECT * FROM logged; REINDEX TABLE unlogged');
my $unlogged = $node->safe_psql('postgres', "SELECT pages('unlogged_t')");
$node->restart;
is($node->safe_psql('postgres', "SELECT pages('unlogged_t')"), $unlogged, 'and as they were after a restart');

#
# A dump, restored into another database
#

my $file = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
$node->command_ok([ 'pg_dump', '--file', $file, '-d', $node->connstr('postgres') ], 'the database is dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
my $built = $node->counter('indexes_host');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr('restored') ], 'and restored');
cmp_ok($node->counter('indexes_host'), '>', $built + 2, 'with indexes that gpusort builds');
my $all_valid = "SELECT count(*), sum(CASE WHEN bt_index_parent_check(indexrelid, true, true) IS NOT NULL THEN 1 ELSE 0 END) FROM pg_index
	WHERE indisvalid AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r')";
is($node->safe_psql('restored', $all_valid), $node->safe_psql('postgres', $all_valid), 'all of which are whole');
is($node->safe_psql('restored', "SELECT pages('logged_i'), pages('logged_t'), pages('logged_wide')"), $logged, 'and the same');
$node->safe_psql('postgres', 'DROP DATABASE restored');

#
# Without logging, where PostgreSQL does without
#

$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
$node->restart;
$node->safe_psql('postgres', 'DROP TABLE logged, unlogged');
my $before = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
my $new = $node->safe_psql('postgres', <<'SQL');
BEGIN;
CREATE TABLE logged AS SELECT i, md5((i % 5000)::text) COLLATE "C" t, lpad(i::text, 500) COLLATE "C" wide FROM generate_series(1, 20000) i;
CREATE INDEX logged_i ON logged (i);
CREATE INDEX logged_t ON logged (t);
CREATE INDEX logged_wide ON logged (wide);
COMMIT;
SELECT pages('logged_i'), pages('logged_t'), pages('logged_wide');
SQL
is($new, $logged, 'with wal_level = minimal the pages are the same');
cmp_ok($node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$before'::pg_lsn"), '<', 2000000, 'and are not logged');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', "SELECT pages('logged_i'), pages('logged_t'), pages('logged_wide')"), $new, 'but there after a crash');
is($node->psql('postgres', $checks), 0, 'and whole');

$node->stop;
done_testing();
