# Sort keys under collations of ICU, against ICU's own keys and comparisons.
# A property test by the module in test/encoders, which is built from the product's own
# sources. It takes random strings under the collations of pg_collation, and under others with
# attributes drawn at random. Their keys have to equal ICU's in every byte, and trusted keys have to
# be in the order of ICU's comparisons. The result holds for the server's release of ICU, which the
# test prints.
#
#	ICU_ORDERS_SEED=n     repeats a run
#	ICU_ORDERS_STRINGS=n  strings under each collation, of which there are some
#	                      then: all of pg_collation, and 2000 with attributes.
#	                      With 1000 it takes some minutes.
# Then sorts and index builds of strings whose keys ICU's comparison contradicts. Their results must
# be PostgreSQL's own.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'a server without ICU' unless GpusortCluster::has_icu();

my $seed = $ENV{ICU_ORDERS_SEED} // time;
my $all = defined $ENV{ICU_ORDERS_STRINGS};
my $nstrings = $ENV{ICU_ORDERS_STRINGS} // 200;
note "ICU_ORDERS_SEED=$seed";
srand($seed);

my $module = GpusortCluster::encoders_module;

my $node = GpusortCluster->new('main');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->configure(<<'CONF');
gpusort.min_rows = 0
gpusort.device = host
CONF
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION gpusort;
	CREATE EXTENSION amcheck;
	CREATE FUNCTION check_icu_order(oid, bigint, int) RETURNS bigint[] AS '$module' LANGUAGE C STRICT;
	CREATE FUNCTION find_contradictions(oid, bigint, int) RETURNS text[] AS '$module' LANGUAGE C STRICT;
	CREATE FUNCTION check_icu_fallback(oid) RETURNS void AS '$module' LANGUAGE C STRICT;
	CREATE FUNCTION icu_version() RETURNS text AS '$module' LANGUAGE C STRICT});
my $version = $node->pg_version;
my $icu = $node->safe_psql('postgres', 'SELECT icu_version()');
note "ICU $icu";

my $ncreated = 0;

# Makes collations, each given by its locale, rules, and whether it is
# deterministic; returns the names of those that ICU has.
sub create_collations
{
	my $first = $ncreated + 1;
	my $script = "SET client_min_messages = error;\n";
	foreach (@_)
	{
		my ($locale, $rules, $deterministic) = @$_;
		$ncreated++;
		$deterministic //= 'true';
		$script .= qq{CREATE COLLATION "random $ncreated" (provider = icu, locale = '$locale', deterministic = $deterministic}
		  . ($rules eq '' ? '' : ", rules = '$rules'") . ");\n";
	}
	$node->psql('postgres', $script, on_error_stop => 0);
	my %made = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT collname FROM pg_collation');
	return map { $made{"random $_"} ? "random $_" : undef } $first .. $ncreated;
}

# Checks random strings under some collations, each given as its name and its definition. A session
# takes only some of them, as it keeps what it learns of a collation. Returns the sums of what
# check_icu_order() counts.
sub check_collations
{
	my ($strings, @collations) = @_;
	my @sums = (0, 0, 0, 0);
	my @failed;
	while (my @some = splice(@collations, 0, 50))
	{
		my $script = join '', map { my $number = int(rand(2**31)); qq{SELECT check_icu_order('"$_->[0]"'::regcollation, $number, $strings);\n} } @some;
		my ($stdout, $stderr);
		$node->psql('postgres', $script, stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
		foreach my $line (split /\n/, $stdout)
		{
			my @counts = $line =~ /(\d+)/g;
			$sums[$_] += $counts[$_] foreach 0 .. 3;
		}
		push @failed, $stderr . join(', ', map { "$_->[0]: $_->[1]" } @some) if $stderr ne '';
	}
	is("@failed", '', 'keys are those of ICU, and in its order where they are trusted');
	note sprintf '%d pairs, %d trusted, %d strings put together, %d contradicted', @sums;
	return @sums;
}

# All collations that there are, or some of them.
my @predefined = split /\n/,
  $node->safe_psql('postgres', "SELECT collname FROM pg_collation WHERE collprovider = 'i' AND collencoding IN (-1, 6) ORDER BY collname");
my @drawn = $all ? @predefined : map { $predefined[ rand @predefined ] } 1 .. 100;
my @sums = check_collations($nstrings, map { [ $_, 'predefined' ] } @drawn);
cmp_ok($sums[1], '>', $sums[0] / 5, 'many keys are trusted');
cmp_ok($sums[2], '>', $sums[0] / 2, 'and many are put together');

# Attributes in the locale's name, in the rules and in both, each with other parts that a locale may
# have.
my @locales = map { s/-x-icu$//r } grep { !/-u-|^unicode$/ } @predefined;
my @attributes = (
	[ 'ka-shifted', 'ka-noignore' ], [ 'ks-level1', 'ks-level2', 'ks-level3', 'ks-level4', 'ks-identic' ],
	[ 'kc-true', 'kc-false' ], [ 'kf-upper', 'kf-lower', 'kf-false' ], ['kb-true'], ['kn-true'], [ 'kk-true', 'kk-false' ],
	[ 'kr-grek-digit-latn', 'kr-arab-zzzz-punct', 'kr-hang-hira' ], [ 'kv-punct', 'kv-symbol', 'kv-currency' ]);
my @types = qw(phonebk trad search searchjl eor emoji standard pinyin stroke compat dict phonetic zhuyin big5han unihan);
my @rules = (
	'& z < abcd <<< abCD & x < q & e = \'\'-\'\' & \'\'0\'\' < a1', '& n < ng <<< Ng & k < q', '& a < b|c & d < ᄀ|ᄀ', '& ᄁ = ᄀ|ᄀ',
	'[backwards 2]', '[alternate shifted]', '[numericOrdering on]', '[strength I]', '[normalization on]', '[caseLevel on]',
	'[caseFirst upper]', '[reorder Grek digit]', '& ae << ä & o << ö');
my @attributed;
foreach my $number (1 .. ($all ? 2000 : 60))
{
	my %chosen = map { my @values = @$_; ($values[0] => $values[ rand @values ]) } grep { rand() < 0.25 } @attributes;
	my $locale = (rand() < 0.3 ? 'und' : $locales[ rand @locales ]) . '-u';
	$locale .= '-co-' . $types[ rand @types ] if rand() < 0.4;
	$locale .= '-' . join('-', sort values %chosen) if %chosen;
	$locale =~ s/-u$//;
	my $rules = $version >= 16 && rand() < 0.2 ? $rules[ rand @rules ] : '';
	push @attributed, [ $locale, $rules ];
}
my @names = create_collations(@attributed);
my @made = grep { defined $names[$_] } 0 .. $#attributed;
cmp_ok(scalar(@made), '>', @attributed / 2, 'collations are made');
check_collations($nstrings, map { [ $names[$_], "@{ $attributed[$_] }" ] } @made);

# Characters that have joined in another way than by their code points.
my @joining = ([ 'ko-u-co-searchjl-kk-false', '' ], [ 'ko-u-co-searchjl', '' ], $version >= 16 ? [ 'und', '& q < ᄀ|ᄀ & x < ᄉ|ᄉ' ] : ());
check_collations($all ? 10 * $nstrings : 1500, map { [ $_, 'joining' ] } create_collations(@joining));

# Attributes under which keys are trusted, wherever the attributes come from.
my @trusted_of = map { [ $_, '', 1 ] }
  qw(en da-DK ja cs und-u-kc und-u-kf-upper und-u-kf-lower und-u-ks-level1 und-u-ks-level2 und-u-ks-level4 und-u-kr-grek-digit-latn fr-CA-u-kb-false);
push @trusted_of, map { [ $_, '', 0 ] } qw(fr-CA und-u-kb und-u-ka-shifted und-u-ks-identic und-u-kn und-u-kk th vi);
# before 19 PostgreSQL sets the strength anew
my $doubtful = qr/backwards|shifted|numeric|normalization/;
$doubtful = qr/$doubtful|strength I/ if $version >= '19devel';
push @trusted_of, map { [ 'en', $_, $_ !~ $doubtful ] } @rules if $version >= 16;
my @counts = split /\n/, $node->safe_psql('postgres', join ';',
	map { qq{SELECT (check_icu_order('"$_"'::regcollation, $seed, 50))[2]} } create_collations(map { [ @$_[ 0, 1 ] ] } @trusted_of));
foreach my $number (0 .. $#trusted_of)
{
	my ($locale, $rules, $trusted) = @{ $trusted_of[$number] };
	ok($trusted ? $counts[$number] > 0 : $counts[$number] == 0, "keys under $locale $rules: " . ($trusted ? 'trusted' : 'doubtful'));
}
is($node->safe_psql('postgres', q{SELECT check_icu_fallback('"en-x-icu"'::regcollation)}), '', 'if a key is wrong ICU makes all others');


# Pairs of strings, in hexadecimal code points, about which the keys and the comparisons of ICU 72
# disagree.
my %known = (
	'fr-CA' => [ [ '61 308 fffe 61', '61 fffe 61 301' ] ],
	'und-u-kk' => [
		[ '345 3ac', '345 1ac9 1fb3' ], [ '651 640 16ff0', '651 16ff0' ], [ 'f74', 'f74 1e00c f81' ], [ '64a 652 1e000', '64a 1e000 652' ] ],
	'th' => [ [ '2013', '2013 640 64e' ], [ '3000 640 650', '3000' ], [ '28 ff9e 309e', '28 309e' ] ],
	'vi' => [ [ '3099 16ff0 ec8', '3099 16ff0 110ba' ], [ '61 1e000 17d2', '61 1e000 1980' ] ],
	'und-u-kn' => [ [ 'ff10', 'ff10 ff10' ], [ '32 ff10 30', '32 ff10' ], [ '30 32 30 2460 966', '30 32 30 966 2460' ] ],
	'bo' => [ [ 'f40 f71 16ff0 f74', 'f40 f71 15fe6 f74' ] ],

	# trusted but for such strings
	'sv' => [ [ '41 16ff0 30a', '41 235c' ] ],
	'hu' => [ [ '6f 16ff0 308', '6f 235c' ] ],
	'nb' => [ [ '1e72 16ff0 e40 308', '1e72 16ff0 308' ] ],
	'zh-u-co-pinyin' => [ [ '6e', '6e 16ff0 341' ], [ '75', '75 16ff0 341' ] ]);
$known{$_} //= [] foreach qw(und-u-ka-shifted und-u-ka-shifted-ks-level4 und-u-ks-identic und-u-ka-shifted-kb ar-u-ka-shifted ko-u-kn);

sub string
{
	return join '', map { sprintf '\\+%06x', hex $_ } split / /, $_[0];
}

# Runs SQL with gpusort and without; returns both outputs and errors.
sub both
{
	my ($script) = @_;
	return map {
		my ($stdout, $stderr);
		$node->psql('postgres', "SET gpusort.enable = $_; SET gpusort.enable_index_build = $_; SET gpusort.verify = off; SET enable_hashagg = off; $script",
			stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
		# the error may name another of several equal rows, and pages are new each time
		"$stdout\n$stderr" =~ s/psql:<stdin>:\d+: //gr =~ s/^DETAIL:.*\n?//gmr
	} 'on', 'off';
}

my $contradicted = 0;
foreach my $locale (sort keys %known)
{
	foreach my $deterministic ('true', 'false')
	{
		my ($name) = create_collations([ $locale, '', $deterministic ]);
		my $known = join ', ', map { sprintf "U&'%s', U&'%s'", map { string($_) } @$_ } @{ $known{$locale} };

		# each pair by itself, in either order of its rows; equal strings as well
		$node->safe_psql('postgres', qq{
			SET enable_hashjoin = off;
			SET enable_mergejoin = off;
			DROP TABLE IF EXISTS pairs, unlike;
			CREATE TABLE pairs AS
			SELECT ((n - 1) / 2) * 2 + r AS g, s FROM generate_series(0, 1) r,
				unnest(find_contradictions('"$name"'::regcollation, $seed, 5000) || ARRAY[$known]::text[]) WITH ORDINALITY u (s, n)
			ORDER BY r, CASE r WHEN 0 THEN n ELSE -n END;
			CREATE TABLE unlike AS
			SELECT * FROM pairs a WHERE NOT EXISTS (SELECT FROM pairs b WHERE a.g = b.g AND a.ctid <> b.ctid AND a.s = b.s COLLATE "$name");
			ANALYZE pairs, unlike});
		my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM pairs');
		my $before = $node->counter('indexes_native');
		my ($with, $without) = both(qq{
			CREATE INDEX pairs_index ON pairs (g, s COLLATE "$name");
			SELECT bt_index_check('pairs_index', true);
			DROP INDEX pairs_index;
			CREATE INDEX pairs_index ON pairs (g DESC, s COLLATE "$name" DESC);
			SELECT bt_index_check('pairs_index', true);
			DROP INDEX pairs_index;
			SELECT g, s FROM pairs ORDER BY g, s COLLATE "$name", s COLLATE "C";
			SELECT count(*) FROM (SELECT DISTINCT g, s COLLATE "$name" FROM pairs) d;
			SELECT count(*), sum(n * n) FROM (SELECT count(*) n FROM pairs GROUP BY g, s COLLATE "$name") d;
			CREATE UNIQUE INDEX pairs_index ON pairs (g, s COLLATE "$name");
			DROP INDEX pairs_index;
			CREATE UNIQUE INDEX unlike_index ON unlike (g, s COLLATE "$name");
			SELECT bt_index_check('unlike_index', true);
			DROP INDEX unlike_index});
		is($with, $without, "$rows rows in pairs under $locale, " . ($deterministic eq 'true' ? 'deterministic' : 'nondeterministic'));
		$contradicted++ if $node->counter('indexes_native') > $before;
	}
}
note "$contradicted collations have had index builds left to PostgreSQL";
cmp_ok($contradicted, '>', 0, 'orders were found to be contradicted');


# Such strings among many others, which come later: in memory and in files, in one process and
# several. No other string sorts between the two of a pair, since ICU 72 would compare in a circle.
my %few = ('hu-x-icu' => $known{hu}, 'zh-Hans-CN-x-icu' => $known{'zh-u-co-pinyin'}, 'fr-CA-x-icu' => $known{'fr-CA'}, 'th-x-icu' => $known{th});
foreach my $name (sort keys %few)
{
	my $strings = join ', ', map { sprintf "(U&'%s'), (U&'%s')", map { string($_) } @$_ } @{ $few{$name} };
	$node->safe_psql('postgres', qq{
		DROP TABLE IF EXISTS many;
		CREATE TABLE many AS
		SELECT i, 0 AS g, md5(i::text) AS s FROM generate_series(1, 20000) i;
		INSERT INTO many SELECT 20000 + row_number() OVER (), 0, s || repeat(x, 10) FROM (VALUES $strings) v (s), unnest(ARRAY['', 'z']) x;
		ALTER TABLE many SET (parallel_workers = 2);
		ANALYZE many});
	foreach my $settings (
		"SET gpusort.work_mem = '64MB'", "SET gpusort.work_mem = '256kB'",
		"SET max_parallel_maintenance_workers = 2; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET gpusort.work_mem = '64MB'")
	{
		# PostgreSQL compares by the second column, and has no keys for it
		my ($with, $without) = both(qq{
			$settings;
			SELECT md5(string_agg(i::text, ' ')) FROM (SELECT i FROM many ORDER BY g, s COLLATE "$name", i OFFSET 0) o;
			CREATE INDEX many_index ON many (g, s COLLATE "$name");
			SELECT bt_index_check('many_index', true);
			DROP INDEX many_index});
		unlike($without, qr/ERROR/, "order of some among many under $name: $settings");
		ok($with eq $without, 'is the same with gpusort');
	}
}

# Jamo and syllables that join, in enough strings that characters are learned. A wrong key of these
# was once an error of the query.
my ($jamo) = create_collations([ 'ko-u-co-searchjl', '' ]);
$node->safe_psql('postgres', q{
	CREATE TABLE jamo AS
	SELECT i, CASE WHEN i < 24000 THEN chr(12354 + i * 7 % 80) || i ELSE translate(left(md5(i::text), 1 + i % 4), '0123456789abcdef', 'ᄀ가ᄀ각ᄉ사ᄉ산ᄀ가ᄀ가ᄉ사가사') END AS s
	FROM generate_series(1, 30000) i});
my ($with, $without) = both(qq{SELECT i FROM jamo ORDER BY s COLLATE "$jamo", i});
ok($with eq $without, 'jamo and syllables join');

$node->stop;
done_testing();
