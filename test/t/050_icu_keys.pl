# Sort keys that are put together from those of characters, compared with ICU's own byte by byte. The collations have rules that differ in
# everything that matters here, and in the strings any character may stand beside any other. The module in test/encoders, built from
# the product's own sources, compares the keys. ICU_KEYS_SEED repeats a run.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'a server without ICU' unless GpusortCluster::has_icu();

my $seed = $ENV{ICU_KEYS_SEED} // time;
note "ICU_KEYS_SEED=$seed";
srand($seed);

my $module = GpusortCluster::encoders_module;

my $node = GpusortCluster->new('main');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->start;
$node->safe_psql('postgres', qq{
	CREATE FUNCTION check_icu_keys(text, oid) RETURNS int AS '$module' LANGUAGE C STRICT;} . GpusortCluster::RANDOM_TEXT_FUNCTION);

sub characters
{
	my (@ranges) = @_;
	return '(SELECT string_agg(chr(c), \'\') FROM (VALUES ' . join(', ', map { "($_->[0], $_->[1])" } @ranges)
	  . ') r (a, z), generate_series(a, z) c)';
}
my $ascii = characters([ 32, 126 ]);
my @strings_by_kind = (
	# the strings, the percentage that need not go to ICU in English, and the query that makes them
	[ 'pairs of ASCII', 99, q{SELECT chr(a) || chr(b) FROM generate_series(1, 127) a, generate_series(1, 127) b} ],
	[ 'ASCII', 98, "SELECT random_text($ascii, 20) FROM generate_series(1, 500)" ],
	[ 'words', 99, q{SELECT initcap(random_text('abcdefghijklmnopqrstuvwxyz', 9) || ' ' || random_text('abcdefghijklmnopqrstuvwxyz -.', 12))
		FROM generate_series(1, 500)} ],
	[ 'letters that join', 95, q{SELECT random_text('aAcCdDgGhHjJlLnNsStTyYzZ', 10) FROM generate_series(1, 1000)} ],
	[ 'long strings', 90, q{SELECT random_text('abcdefghij klmnopqrstuvwxyzABC', 150) FROM generate_series(1, 100)} ],
	[ 'Latin', 90, 'SELECT random_text(' . characters([ 97, 122 ], [ 192, 591 ]) . ', 12) FROM generate_series(1, 1000)' ],
	[ 'Greek and Cyrillic', 80, 'SELECT random_text(' . characters([ 97, 122 ], [ 900, 906 ], [ 910, 929 ], [ 931, 1154 ], [ 1162, 1327 ]) . ', 12)
		FROM generate_series(1, 1000)' ],
	[ 'combining marks', 0, q{SELECT random_text('aAcCeElLoOuU' || U&'\0301\0300\0308\030a\0327\0323\00b7\0387\00e4\00e9\1eb9\01d6\0418\0438\0306', 10)
		FROM generate_series(1, 1000)} ],
	[ 'kana and Han', 80, 'SELECT random_text(' . characters([ 12353, 12438 ], [ 12441, 12543 ], [ 20000, 20200 ], [ 97, 100 ]) . ', 8)
		FROM generate_series(1, 1000)' ],
	[ 'Hangul', 90, 'SELECT random_text(' . characters([ 44032, 44300 ], [ 97, 100 ]) . q{ || U&'\1100\1161\11a8', 8) FROM generate_series(1, 500)} ],
	[ 'Thai and Lao', 30, 'SELECT random_text(' . characters([ 3585, 3642 ], [ 3647, 3675 ], [ 3713, 3773 ], [ 97, 100 ]) . ', 8)
		FROM generate_series(1, 1000)' ],
	[ 'Hebrew to Malayalam', 30, 'SELECT random_text(' . characters([ 1425, 3455 ], [ 97, 100 ]) . ', 6) FROM generate_series(1, 1000)' ],
	[ 'emoji and punctuation', 30, "SELECT random_text($ascii"
		. q{ || U&'\+01F600\+01F468\200D\+01F3FB\FE0F\2013\2014\2026\20ac\00a3\2019\00ab\fffd\fffe\ffff\007f\0001\00ad', 10)
		FROM generate_series(1, 1000)} ],
	[ 'each character of the basic plane', 60, q{SELECT chr(c) || following FROM generate_series(1, 65535) c,
		unnest(ARRAY['', chr(97 + c % 26)]) following WHERE c NOT BETWEEN 55296 AND 57343 AND (c < 12000 OR c % 13 = 0)} ],
	[ 'any characters', 60, q{SELECT string_agg(chr(CASE WHEN c BETWEEN 55296 AND 57343 THEN 97 ELSE c END), '')
		FROM (SELECT n, 32 + (random() * 65000)::int c FROM generate_series(1, 2000) n, generate_series(1, 5)) c GROUP BY n} ]);
my %icu_collations = map { $_ => "locale = '$_'" } (
	'en', 'sv', 'da', 'cs', 'es-u-co-trad', 'hu', 'hr', 'lt', 'de-u-co-phonebk', 'fr-CA', 'ja', 'ko', 'zh', 'th', 'vi', 'ru', 'ar', 'si',
	'und-u-co-emoji', 'en-u-kn', 'en-u-kf-upper', 'en-u-ka-shifted', 'und-u-kk', 'und-u-kc-ks-level1', 'und-u-ks-level1', 'und-u-ks-level2',
	'und-u-ks-level4', 'und-u-ks-level4-ka-shifted', 'und-u-ks-identic', 'und-u-kr-grek-digit-latn');
if ($node->pg_version >= 16)
{
	# longer and longer sequences that begin alike, of which only the longest joins; characters of one weight
	$icu_collations{'with rules'} = q{locale = 'en', rules = $$& z < abcd <<< abCD & x < q & e = '-' & '0' < a1$$};
	$icu_collations{'with rules, Danish'} = q{locale = 'da', rules = '[caseFirst off][backwards 2] & n < ng'};
}
$node->safe_psql('postgres', join ';', 'SELECT setseed(' . rand() . ')', map { "CREATE TABLE kind_$_ AS SELECT s FROM ($strings_by_kind[$_][2]) k (s)" } 0 .. $#strings_by_kind);
foreach my $name (sort keys %icu_collations)
{
	my ($stdout, $stderr);
	$node->safe_psql('postgres', qq{
		SET client_min_messages = error;
		CREATE COLLATION "keys $name" (provider = icu, $icu_collations{$name})});
	$node->psql('postgres', qq{SELECT check_icu_keys('SELECT s FROM kind_' || n, '"keys $name"'::regcollation) FROM generate_series(0, $#strings_by_kind) n},
		stdout => \$stdout, stderr => \$stderr);
	is($stderr, '', "keys of all kinds of strings under ICU's $name are as ICU has them");

	my @not_left = split /\n/, $stdout;
	foreach my $number ($stderr eq '' ? 0 .. $#strings_by_kind : ())
	{
		my ($kind, $at_least) = @{ $strings_by_kind[$number] };
		cmp_ok($not_left[$number], '>=', $name eq 'en' ? $at_least : 75, "and few of $kind are left to ICU") if $name eq 'en' || $kind eq 'words';
	}
}

$node->stop;
done_testing();
