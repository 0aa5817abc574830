# scripts/advise: which sorts of statements would be taken over, and why others would not, for given
# statements and for those of pg_stat_statements. Nothing is executed.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init(allows_streaming => 1);
$node->configure('max_parallel_workers_per_gather = 0');
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i k, i / 2000 ten, md5(i::text) s, to_tsvector('simple', i::text) words FROM generate_series(1, 20000) i;
ANALYZE t;
CREATE SEQUENCE executed;
SQL

# Which server is asked.
my $asked = $node;

# Calls scripts/advise; returns its exit status, what it prints, and errors.
sub advise
{
	my (@arguments) = @_;
	my ($out, $err) = ('', '');
	local $ENV{PGHOST} = $asked->host;
	local $ENV{PGPORT} = $asked->port;
	local $ENV{PGDATABASE} = 'postgres';
	IPC::Run::run([ "$FindBin::RealBin/../../scripts/advise", @arguments ], '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

# A test: a line of a table has these, in turn.
sub line_is
{
	my ($out, $what, @parts) = @_;
	my $pattern = join('.*', map { quotemeta } @parts);
	like($out, qr/^.*$pattern.*$/m, $what);
}

# ---- given statements

my ($status, $out, $err) = advise(
	'SELECT k FROM t ORDER BY s',
	'SELECT k FROM t WHERE k > $1 ORDER BY s, k',
	'SELECT row_number() OVER (ORDER BY s) FROM t',
	'SELECT k FROM t ORDER BY words',
	'SELECT k FROM t WHERE k < $1 ORDER BY words',
	"INSERT INTO t SELECT nextval('executed') FROM t ORDER BY k DESC",
	"SELECT count(DISTINCT md5(s)) FROM t",
	'SELECT mode() WITHIN GROUP (ORDER BY words) FROM t',
	'SELECT s, count(*) FROM t GROUP BY s ORDER BY s',
	'SELECT 1');
is($status, 0, 'all can be judged') or diag($out, $err);
like($out, qr/^Install gpusort: by the planner's costs it saves \d\d % of their cost without a GPU, and \d\d % with one\.$/m, 'the sentence for all of them');
line_is($out, 'groups', 't.s (20000 rows)', 'GROUP BY s');
line_is($out, 'a sort', ' %', ' %', 't.s (20000 rows)', 'SELECT k FROM t ORDER BY s');
line_is($out, 'with a parameter', ' %', ' %', 't.s, t.k (6667 rows)', 'k > $1');
line_is($out, 'a window, whose cost the planner does not know', ' %', ' %', 't.s (20000 rows)', 'OVER');
line_is($out, 'of a statement that writes', ' %', ' %', 't_1.k DESC (20000 rows)', 'INSERT');
line_is($out, 'a sort within an aggregate', '(20000 rows)', 'count(DISTINCT md5');
line_is($out, 'a type without keys', 't.words: there are no keys for the type tsvector', 'FROM t ORDER BY words');
line_is($out, 'with a parameter too',
	't.words: ' . ($node->pg_version < 16 ? 'PostgreSQL 15 does not say why' : 'there are no keys for the type tsvector'), 'k < $1');
line_is($out, 'a sort of which costs do not tell', '(ORDER BY words): sorted inside the aggregate', 'SELECT mode()');
like($out, qr/^Statements without a sort: 1$/m, 'a statement without');
like($out, qr/20000 rows.*6667 rows/s, 'the most promising ones come first');

# the memory of a large sort
($status, $out) = advise('SELECT g, md5(g::text) FROM generate_series(1, 1000000) g ORDER BY g');
like($out, qr/; set gpusort\.work_mem = '\d+MB', so that the largest sort needs no files\.$/m, 'a setting to change');
($status, $out) = advise('SELECT 1', 'SELECT k FROM t WHERE k = 1');
like($out, qr/^There is no reason to install gpusort for these statements: .* 0 % of their cost without a GPU, and 0 % with one\.$/m, 'nothing to gain');

# of workers, whose rows pass through nodes that have no keys
{
	local $ENV{PGOPTIONS} = '-c max_parallel_workers_per_gather=2 -c min_parallel_table_scan_size=0 -c parallel_setup_cost=0 -c parallel_tuple_cost=0';
	($status, $out) = advise('SELECT s, count(DISTINCT k) FROM t GROUP BY s');
	line_is($out, 'groups by workers', ' %', ' rows)', 'GROUP BY s');
	unlike($out, qr/\|  \(/, 'only sorts are shown');
}

# ---- rows that come in order, which PostgreSQL sorts quickly

($status, $out) = advise(
	'SELECT k FROM t ORDER BY k',
	'SELECT k + 1 FROM t ORDER BY k, s',
	'SELECT row_number() OVER (ORDER BY k) FROM t',
	'SELECT a.k FROM t a JOIN (VALUES (1), (2)) few ON a.ten = few.column1 ORDER BY a.k',
	'SELECT k FROM t ORDER BY k DESC',
	'SELECT k FROM t ORDER BY ten, s',
	'SELECT k FROM (SELECT k, s FROM t OFFSET 0) x ORDER BY s');
like($out, qr/^ \? +\|.* t\.k \(20000 rows\).* SELECT k FROM t ORDER BY k$/m, 'no gain is promised without a GPU');
like($out, qr/^ \? +\|.* t\.k, t\.s .* SELECT k \+ 1/m, 'nor by a unique column and another');
like($out, qr/^ \? +\|.* OVER /m, 'nor of a window');
like($out, qr/^\?: taken over, with a gain that the planner's costs do not tell$/m, 'which is explained');
like($out, qr/^ \? +\|.* a\.k .* JOIN /m, 'nor above a join, which keeps the order');
like($out, qr/^ \d+ % .* ORDER BY k DESC$/m, 'the other way round they do not come in order');
like($out, qr/^ \d+ % .* ORDER BY ten, s$/m, 'nor within few values');
like($out, qr/^ \d+ % .* x ORDER BY s$/m, 'nor by what is no column of a table');

# ---- statements that cannot be judged

($status, $out) = advise('SELEC 1', 'SELECT 1; DROP TABLE t', 'SELECT 1; SELECT $1; DROP TABLE t', 'DROP TABLE t', 'COMMIT', 'ANALYZE SELECT 1',
	"SELECT '; k", 'SELECT k FROM t ORDER BY k');
is($status, 2, 'some cannot be judged');
like($out, qr/syntax error.*SELEC 1$/m, 'a syntax error');
line_is($out, 'several commands', 'these are several commands', 'SELECT 1; DROP TABLE t');
line_is($out, 'several of which one has a parameter', 'there is no parameter $1', 'SELECT 1; SELECT $1; DROP');
like($out, qr/syntax error.*\| DROP TABLE t$/m, 'no query');
line_is($out, 'a string without its end', 'unterminated quoted string', "SELECT '; k");
line_is($out, 'others are judged all the same', 't.k (20000 rows)', 'SELECT k FROM t ORDER BY k');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 20000, 'nothing was executed');
is($node->safe_psql('postgres', 'SELECT is_called FROM executed'), 'f', 'not even a nextval()');

my $file = PostgreSQL::Test::Utils::tempdir . '/statements';
append_to_file($file, "SELECT k\nFROM t ORDER BY s;\n\nSELECT ';' FROM t ORDER BY k DESC;\n");
($status, $out) = advise('-f', $file);
is($status, 0, 'a file');
line_is($out, 'its first statement', 't.s (20000 rows)', 'SELECT k FROM t ORDER BY s');
line_is($out, 'and its second', 't.k DESC (20000 rows)', "SELECT ';'");

# ---- the index builds of a restore

$node->safe_psql('postgres', <<'SQL');
CREATE DATABASE shop;
\c shop
CREATE TABLE few AS SELECT i FROM generate_series(1, 10) i;
CREATE TABLE "Odd name" (id bigint PRIMARY KEY, s text COLLATE "C", words tsvector, n name);
INSERT INTO "Odd name" SELECT i, md5(i::text), to_tsvector('simple', i::text), i FROM generate_series(1, 5000) i;
CREATE INDEX the_hash ON "Odd name" USING hash (s);
CREATE INDEX the_words ON "Odd name" (words);
CREATE INDEX the_gin ON "Odd name" USING gin (words);
CREATE INDEX the_pattern ON "Odd name" (s text_pattern_ops DESC, lower(s)) INCLUDE (words);
CREATE INDEX the_names ON "Odd name" (n) WHERE id > 7;
CREATE INDEX the_few ON few (i);
ANALYZE;
SQL
my $dump = PostgreSQL::Test::Utils::tempdir . '/shop';
$node->command_ok([ 'pg_dump', '--format=custom', "--file=$dump", 'shop' ], 'an archive');
$node->command_ok([ 'pg_dump', "--file=$dump.sql", 'shop' ], 'a dump in SQL');
my $sentence = "A restore gains: gpusort takes over %s of 7 index builds, and by the planner's costs saves N %% of the sorts for B-trees " .
	"without a GPU, and N %% with one; ";

($status, $out, $err) = advise('--restore', $dump);
is($status, 0, 'an archive is judged') or diag($err);
line_is($out, 'a primary key', '"Odd name_pkey"', '"Odd name"', '| ?', ' %', ' %', 'MB');
line_is($out, 'another order', 'the_pattern', '| ?', ' %', ' %', 'MB');
line_is($out, 'names', 'the_names', '| ?', ' %', ' %', 'MB');
line_is($out, 'a GIN index', 'the_gin', '| ?', '| ?', '| ?', '| ?');
line_is($out, 'another access method', 'the_hash', 'PostgreSQL builds hash indexes itself');
line_is($out, 'a type without keys', 'the_words', 'there are no keys for the type tsvector');
like($out, qr/_pkey.*the_few.*the_gin/s, 'in the order of the dump');
like($out =~ s/\d+ %/N %/gr, qr/^\Q${\ sprintf($sentence, 5)}\Eset maintenance_work_mem = '\d+MB' .* The dump does not tell its rows: /m, 'its sentence');

($status, $out, $err) = advise('--restore', "$dump.sql");
is($status, 0, 'SQL is judged') or diag($err);
line_is($out, 'whose rows are counted', '"Odd name_pkey"', '| 5000 ', ' %', ' %', 'MB');
line_is($out, 'a small table', 'the_few', '| 10 ', 'fewer rows are expected than gpusort.min_rows');
like($out =~ s/\d+ %/N %/gr, qr/^\Q${\ sprintf($sentence, 4)}\Emaintenance_work_mem, 64MB, is enough for the largest B-tree\.$/m, 'its sentence');

append_to_file("$dump.sql", "CREATE INDEX ON public.few USING nothing (i);\n");
($status, $out, $err) = advise('--restore', "$dump.sql");
is($status, 2, 'a command that fails');
like($err, qr/commands of the dump failed.*access method "nothing" does not exist/s, 'which is shown');
append_to_file("$dump.sql", "\\connect postgres\n");
($status, $out, $err) = advise('--restore', "$dump.sql");
is($status, 1, 'a dump of several databases');
like($err, qr/the dump makes databases/, 'which the error says');
is((advise('--restore', "$dump.none"))[0], 1, 'no such file');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname LIKE 'gpusort_advise%'"), 0, 'no database is left behind');

# ---- other ends of the script

is((advise('-f'))[0], 1, 'no file');
is((advise('--restore'))[0], 1, 'no dump');
is((advise('-x'))[0], 1, 'an option that there is not');
($status, $out, $err) = advise();
is($status, 1, 'without pg_stat_statements');
like($err, qr/the extension pg_stat_statements.* is not in this database/, 'which the error says');

# ---- statements of pg_stat_statements

SKIP:
{
	my $is_there = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'");
	skip 'pg_stat_statements is not installed', 18 unless $is_there;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements, gpusort'");
	$node->restart;
	$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA "other Schema";
CREATE EXTENSION pg_stat_statements SCHEMA "other Schema";
SELECT count(*) FROM (SELECT s FROM t WHERE k > 10 ORDER BY s OFFSET 0) s;
SELECT count(*) FROM (SELECT s FROM t WHERE k > 20 ORDER BY s OFFSET 0) s;
SELECT count(*) FROM (SELECT s FROM t ORDER BY words OFFSET 0) s;
SELECT percentile_cont(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY k) FROM t;
SELECT 'in' FROM t WHERE k IN (1, 2, 3) ORDER BY s;
SELECT 'not in' FROM t WHERE k NOT IN (1, 2, 3) ORDER BY s;
SELECT 'any', k FROM t WHERE k <> ALL (ARRAY[1, 2, 3]) ORDER BY s LIMIT 1;
SELECT timestamp with time zone '2026-11-27', date '2026-11-27', interval '1' day, k FROM t ORDER BY s LIMIT 1;
CREATE TABLE made AS SELECT k FROM t ORDER BY s;
SELECT min(k) FROM (SELECT k FROM made ORDER BY k + 1 OFFSET 0) s;
DROP TABLE made;
CREATE TABLE made AS SELECT k FROM t ORDER BY s;
ANALYZE made;
SELECT min(k) FROM (SELECT k FROM made ORDER BY k + 1 OFFSET 0) s;
CREATE TABLE gone AS SELECT k FROM t;
SELECT max(k) FROM (SELECT k FROM gone ORDER BY k + 1 OFFSET 0) s;
DROP TABLE gone;
CREATE INDEX ON made (k);
COPY (SELECT k FROM t ORDER BY s) TO '/dev/null';
CREATE ROLE reader LOGIN;
GRANT USAGE ON SCHEMA "other Schema" TO reader;
SQL
	advise();
	($status, $out, $err) = advise();
	is($status, 0, 'pg_stat_statements') or diag($err);
	line_is($out, 'both calls', ' 2 | ', ' %', 't.s (6667 rows)', 'SELECT count(*)');
	like($out, qr/^ +1 \|.*t\.words: /m, 'one that is left');
	unlike($out, qr/advise/, 'its own queries are left out');
	like($out, qr/^\w.*: by the planner's costs it saves \d+ % of their \d+ seconds without a GPU, and \d+ % with one/m, 'the sentence for all');
	line_is($out, 'an array of constants', 'percentile_cont($1) WITHIN GROUP', '| SELECT percentile_cont(');
	line_is($out, 'a list of several', 't.s', 'SELECT $1 FROM t WHERE k IN ($');
	line_is($out, 'one of which all rows but these are wanted', ' %', 't.s (19', 'SELECT $1 FROM t WHERE k NOT IN ($');
	line_is($out, 'an array that an operator tells the type of', ' %', 't.s (19', 'SELECT $1, k FROM t WHERE k <> ALL (ARRAY[$');
	line_is($out, 'constants behind their types', ' %', 't.s (20000 rows)', 'SELECT timestamp with time zone $');
	line_is($out, 'a table that was made anew', ' 2 | ', ' %', 'made.k + $', '| SELECT min(k)');
	is(scalar(() = $out =~ /SELECT min\(k\)/g), 1, 'whose statement has one line');
	line_is($out, 'a table that is gone', 'relation "gone" does not exist', '| SELECT max(k)');
	line_is($out, 'a table from a query', 'only queries are judged', '| CREATE TABLE made AS SELECT');
	line_is($out, 'an index', 'only queries are judged', '| CREATE INDEX ON made (k)');
	line_is($out, 'rows that are copied', 'only queries are judged', '| COPY (SELECT');
	unlike($out, qr/DROP|ROLE|GRANT/, 'what does not sort is left out');

	local $ENV{PGUSER} = 'reader';
	($status, $out, $err) = advise();
	line_is($out, 'of others', 'only members of pg_read_all_stats can read it', '<insufficient privilege>') or diag($out, $err);
}

# ---- on a replica, which sorts as well

$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->backup('backup');
$asked = GpusortCluster->new('replica');
$asked->init_from_backup($node, 'backup', has_streaming => 1);
$asked->start;
$node->wait_for_catchup($asked);
($status, $out, $err) = advise('SELECT k FROM t ORDER BY s');
is($status, 0, 'a replica') or diag($err);
line_is($out, 'its sort', ' %', ' %', 't.s (20000 rows)', 'SELECT k');
$asked->safe_psql('postgres', 'SELECT count(*) FROM (SELECT k FROM t ORDER BY s OFFSET 0) s');
cmp_ok($asked->counter('sorts_device') + $asked->counter('sorts_host'), '>=', 1, 'which it does by itself');

$asked->stop;
$node->stop;
done_testing();
