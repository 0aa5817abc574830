# Sorting under collations that do not order by bytes.
# Locales of libc: strxfrm() makes the keys, and strcoll() has the last word. First the locales as
# they are, in two encodings; then with a strxfrm() that is wrong about some strings. Even then the
# rows must come in the order of strcoll(), sorted natively.
#
# Collations of ICU, with enough strings that most keys are made without ICU.
use strict;
use warnings;
use Cwd qw(abs_path);
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

plan skip_all => 'a server without ICU' unless GpusortCluster::has_icu();

# The locales are made here, but not every machine has their sources.
my $directory = abs_path(PostgreSQL::Test::Utils::tempdir);
foreach my $locale ('en_US.UTF-8', 'hu_HU.UTF-8', 'de_DE.ISO-8859-1')
{
	my ($language, $charmap) = split /\./, $locale;
	plan skip_all => "localedef cannot make $locale"
	  if system("localedef -i $language -f $charmap '$directory/$locale' >/dev/null 2>&1") != 0;
}
$ENV{LOCPATH} = $directory;

my $node = GpusortCluster->new('main');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->configure(<<'CONF');
gpusort.min_rows = 0
work_mem = '64MB'
CONF
$node->start;

# Words, phrases that begin alike, many equal strings, NULLs, and strings longer than those that are
# given to libc as a whole.
my $schema = <<'SQL';
CREATE EXTENSION gpusort;
CREATE TABLE words AS
SELECT i AS id, i % 7 AS grp,
	CASE WHEN i % 100 <> 0 THEN translate(md5(i::text), '0123456789', 'ghi jkl-MN') END AS random,
	(ARRAY['cote', 'Cote', 'coté', 'côte', 'de luge', 'de-luge', 'deluge', 'Straße', 'Strasse', ''])[i % 10 + 1]
		|| CASE WHEN i % 3 = 0 THEN i % 50 ELSE 0 END AS few,
	'https://www.example.com/' || CASE WHEN i % 2 = 0 THEN 'Ärger' ELSE 'arg' END || i % 1000 AS url,
	repeat(CASE WHEN i % 2 = 0 THEN 'long ' ELSE 'Long-' END, CASE WHEN i % 300 < 2 THEN 2000 ELSE i % 200 END) || i AS long
FROM generate_series(1, 3000) i;
ANALYZE words;
SQL

# Sorts in this process and through gpusortd, and compares with the native one.
sub check
{
	my ($database, $order, $collation, $method) = @_;
	my $query = "SELECT * FROM words ORDER BY $order, id";
	$query =~ s/COLLATE/COLLATE "$collation"/g;
	my $native = $node->safe_psql($database, "SET gpusort.enable = off; $query");
	foreach my $device ('host', 'cuda')
	{
		my $result = $node->safe_psql($database, "SET gpusort.device = $device; $query");
		my $plan = $node->safe_psql($database, "SET gpusort.device = $device; EXPLAIN (ANALYZE, TIMING OFF) $query");
		ok($result eq $native, "ORDER BY $order, $collation on $device");
		like($plan, qr/\(GpuSort\).*Sort Method: $method/s, 'as it is to be sorted');
	}
	return;
}

my @orders = (
	'random COLLATE', 'random COLLATE DESC NULLS LAST', 'few COLLATE', 'few COLLATE DESC, random COLLATE',
	'grp, url COLLATE', 'url COLLATE, few COLLATE DESC', 'long COLLATE', 'random::char(40) COLLATE', 'left(url, 60)::name COLLATE DESC');

$node->safe_psql('postgres', <<"SQL");
$schema
CREATE COLLATION english (provider = libc, locale = 'en_US.UTF-8');
CREATE COLLATION hungarian (provider = libc, locale = 'hu_HU.UTF-8');
CREATE DATABASE latin1 TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'de_DE.ISO-8859-1';
SQL
$node->safe_psql('latin1', $schema);
$node->wait_until_ready('gpusortd is ready');

foreach my $order (@orders)
{
	# Either method is possible, as this library's strxfrm() is right or wrong.
	check('postgres', $order, $_, '\S+ ?\S*') foreach 'english', 'hungarian';
	check('latin1', $order, 'default', '\S+ ?\S*');
}


# Indexes, whose keys several processes may make. Each process sees other rows: one sees few that
# begin alike, another many.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION amcheck;
CREATE TYPE mood AS ENUM ('sad', 'happy');
ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy';
CREATE TABLE many AS
SELECT i, CASE WHEN i % 1000 = 0 THEN NULL WHEN i > 40000 THEN 'all of them begin alike ' || i % 5000 ELSE md5(i::text) END AS t,
	(enum_range(NULL::mood))[i % 3 + 1] AS m
FROM generate_series(1, 60000) i;
SQL
foreach my $columns (
	't COLLATE "und-x-icu"', 't COLLATE english', 'm, t COLLATE hungarian DESC', 'lower(t) COLLATE "und-x-icu", m',
	'(ARRAY[t]) COLLATE english', '(ARRAY[m]), i')
{
	# on each device, with memory for all rows and, sorted by each process for itself, for some
	foreach my $device ('host', 'cuda')
	{
		foreach my $memory ('-1', '1MB')
		{
			my $settings = "SET gpusort.device = $device; SET gpusort.work_mem = '$memory'";
			my $workers = $node->counter('index_workers');
			my $spilled = $node->counter('indexes_spilled');

			is( $node->safe_psql(
					'postgres', qq{
					$settings;
					SET max_parallel_maintenance_workers = 2;
					SET min_parallel_table_scan_size = 0;
					SET maintenance_work_mem = '256MB';
					CREATE INDEX many_index ON many ($columns);
					SELECT bt_index_parent_check('many_index', true, true) IS NOT NULL;
					DROP INDEX many_index}),
				't',
				"an index on ($columns), built in parallel: $settings");

			# Processes cannot share the keys of enums. On a busy machine all workers may come when all rows are taken.
			my $shared = $columns !~ /\bm\b/ || $node->counter('index_workers') == $workers;
			is($node->counter('indexes_spilled') - $spilled, $memory eq '-1' && $shared ? 0 : 1, 'which wrote files only where it had to');
		}
	}
}
cmp_ok($node->counter('index_workers'), '>', 0, 'parallel workers took part');


# Under ICU, rows of all kinds, enough of them that all characters are learned half way, and names
# with numbers that need longer keys only from there on.
if ($node->safe_psql('postgres', "SELECT count(*) > 0 FROM pg_collation WHERE collprovider = 'i'") eq 't')
{
	my %collations = (
		'en' => "locale = 'en'",
		'da' => "locale = 'da'",
		'cs' => "locale = 'cs'",
		'ja' => "locale = 'ja'",
		'th' => "locale = 'th'",
		'fr-CA' => "locale = 'fr-CA'",
		'numbers' => "locale = 'en-u-kn'",
		'punctuation later, capitals first' => "locale = 'en-u-ka-shifted-kf-upper'",
		'no case' => "locale = 'und-u-ks-level2', deterministic = false",
		'only letters' => "locale = 'de-u-ks-level1-ka-shifted', deterministic = false");
	$collations{'rules'} = q{locale = 'en', rules = '& n < ng <<< Ng & k < q'}
	  if $node->pg_version >= 16;

	$node->safe_psql('postgres', q{
		CREATE TABLE strings AS
		SELECT i, CASE i % 10
			WHEN 0 THEN md5(i::text)
			WHEN 1 THEN initcap(translate(md5(i::text), '0123456789', 'ghijklmnop')) || ' ' || i % 50
			WHEN 2 THEN left(translate(md5(i::text), '0123456789', 'äÅßéñÿlnsg'), 1 + i % 12)
			WHEN 3 THEN left(translate(md5(i::text), '0123456789abcdef', 'АбвгдеЖзийклмнё '), 1 + i % 9)
			WHEN 4 THEN left(translate(md5(i::text), '0123456789abcdef', 'あいうアイーゝ々日本語中国。ab'), 1 + i % 7)
			WHEN 5 THEN left(translate(md5(i::text), '0123456789abcdef', 'aAeEoO' || U&'\0301\0308\030a\0323\0327' || 'cCnN-'), 1 + i % 9)
			WHEN 6 THEN left(translate(md5(i::text), '0123456789abcdef', 'เแโกขคงาะ' || U&'\0E48' || 'ωάΣς' || U&'\+01F600\200D'), 1 + i % 9)
			WHEN 7 THEN (ARRAY['co-op', 'coop', 'CO-OP', 'Coop', 'co op', 'chalk', 'cz', 'angst', 'ångström', 'aalborg', 'Zürich'])[i % 11 + 1]
			WHEN 8 THEN left(md5(i::text), 3) || repeat(CASE i % 4 WHEN 0 THEN '' WHEN 2 THEN 'x' ELSE 'X' END, i % 40)
			ELSE 'the value that half of them have' END AS s,
			'name' || i AS name
		FROM generate_series(1, 60000) i;
		ANALYZE strings;});
	foreach my $name (sort keys %collations)
	{
		$node->safe_psql('postgres', qq{
			SET client_min_messages = error;
			CREATE COLLATION "icu $name" (provider = icu, $collations{$name})});
		foreach my $order ('s COLLATE, i', 's COLLATE DESC NULLS LAST, i DESC', 'i % 10 = 2 DESC, left(s, 4) COLLATE, s COLLATE, i', 'name COLLATE')
		{
			my $query = "SELECT md5(string_agg(i::text, ' ')) FROM (SELECT i FROM strings ORDER BY $order OFFSET 0) o";
			$query =~ s/COLLATE/COLLATE "icu $name"/g;
			my $native = $node->safe_psql('postgres', "SET gpusort.enable = off; $query");
			foreach my $device ('host', 'cuda')
			{
				is($node->safe_psql('postgres', "SET gpusort.device = $device; $query"),
					$native, "ORDER BY $order, ICU, $name, on $device");
			}
		}
	}
	like(
		$node->safe_psql('postgres', 'EXPLAIN (ANALYZE, TIMING OFF) SELECT i FROM strings ORDER BY s COLLATE "icu en"'),
		qr/\(GpuSort\).*Sort Method: radix sort/s, 'and they are sorted by keys');
}


# Spoils libc's sort keys of strings that begin with "zzz": these keys come before all others.
open my $source, '>', "$directory/spoil.c" or die $!;
print $source <<'C';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <string.h>

static size_t
spoil(char *key, const char *string, size_t size, size_t length)
{
	if (strncmp(string, "zzz", 3) == 0 && length < size)
		key[0] = 2;
	return length;
}

size_t
strxfrm_l(char *key, const char *string, size_t size, locale_t locale)
{
	static size_t (*original) (char *, const char *, size_t, locale_t);

	if (original == NULL)
		original = dlsym(RTLD_NEXT, "strxfrm_l");
	return spoil(key, string, size, original(key, string, size, locale));
}

size_t
strxfrm(char *key, const char *string, size_t size)
{
	static size_t (*original) (char *, const char *, size_t);

	if (original == NULL)
		original = dlsym(RTLD_NEXT, "strxfrm");
	return spoil(key, string, size, original(key, string, size));
}
C
close $source;
system_or_bail('cc', '-shared', '-fPIC', '-o', "$directory/spoil.so", "$directory/spoil.c", '-ldl');
$node->stop;
{
	local $ENV{LD_PRELOAD} = "$directory/spoil.so";
	$node->start;
}
$node->wait_until_ready('gpusortd is ready');

# One such row among the others, at either end of the order or alone.
foreach my $database ('postgres', 'latin1')
{
	my $collation = $database eq 'postgres' ? 'english' : 'default';

	check($database, 'few COLLATE', $collation, 'radix sort');
	$node->safe_psql($database, "INSERT INTO words VALUES (5000, 3, 'zzzebra', 'zzzebra', 'zzzebra', 'zzzebra')");
	my $log_position = -s $node->logfile;
	my $before = $node->counter('sorts_native');
	check($database, $_, $collation, '\S+ \(native\)') foreach @orders[ 0 .. 3 ], $orders[5], $orders[7];
	is($node->counter('sorts_native') - $before, 24, 'these sorts are counted as native ones');
	like(
		slurp_file($node->logfile, $log_position),
		qr/LOG:  gpusort: falling back to PostgreSQL's sort\n.*DETAIL:  Sort keys contradict comparisons/,
		'and the log says why');
	check($database, "(CASE id WHEN 1 THEN 'zzy' WHEN 5000 THEN random ELSE 'zz' END) COLLATE", $collation, '\S+ \(native\)');

	# rows that are asked for again, and backward
	is( $node->safe_psql(
			$database, qq{
			BEGIN;
			DECLARE c SCROLL CURSOR FOR SELECT id FROM words ORDER BY random COLLATE "$collation" NULLS FIRST, id;
			FETCH LAST FROM c;
			FETCH FIRST FROM c;}),
		$node->safe_psql(
			$database, qq{
			SET gpusort.enable = off;
			(SELECT id FROM words ORDER BY random COLLATE "$collation" NULLS FIRST, id OFFSET 3000 LIMIT 1)
			UNION ALL
			(SELECT id FROM words ORDER BY random COLLATE "$collation" NULLS FIRST, id LIMIT 1)}),
		'a cursor goes both ways');

	# an index, also when the row is among those in files
	foreach my $work_mem (-1, '64kB')
	{
		my $natively = $node->counter('indexes_native');
		$node->safe_psql($database, qq{
			CREATE EXTENSION IF NOT EXISTS amcheck;
			SET gpusort.work_mem = '$work_mem';
			CREATE INDEX words_random ON words (random COLLATE "$collation", id);
			SELECT bt_index_check('words_random', true);});
		my $indexed = qq{SET enable_seqscan = off; SET enable_sort = off; SELECT count(*), min(id) FROM words WHERE random = 'zzzebra' COLLATE "$collation"};
		is($node->safe_psql($database, $indexed), '1|5000', 'an index has the row in its place');
		is($node->counter('indexes_native'), $natively + 1, 'as it is built natively');
		$node->safe_psql($database, "DROP INDEX words_random");
	}
	$node->safe_psql($database, "DELETE FROM words WHERE id = 5000");
	check($database, $orders[0], $collation, 'radix sort');
}

$node->stop;
done_testing();
