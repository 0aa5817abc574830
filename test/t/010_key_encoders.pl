
# Sort keys against PostgreSQL's own comparators.
# The module in test/encoders, built from the product's own sources, compares every two rows of a query by their
# keys and by their values, in both layouts. It raises an error where the two comparisons differ. This file has the
# values: the edges of each type and random values, as they come from expressions and as they are stored, under
# collations and encodings of all kinds. ENCODER_SEED repeats a run.

use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{ENCODER_SEED} // time;
note "ENCODER_SEED=$seed";
srand($seed);

my $module = GpusortCluster::encoders_module;

# Locales of libc that differ in how they sort, where they can be made.
my $locales = abs_path(PostgreSQL::Test::Utils::tempdir);
my %made_locale;
foreach my $locale ('en_US.UTF-8', 'hu_HU.UTF-8', 'de_DE.ISO-8859-1')
{
	my ($language, $charmap) = split /\./, $locale;
	$made_locale{$locale} = 1
	  if system("localedef -i $language -f $charmap '$locales/$locale' >/dev/null 2>&1") == 0;
}
note 'locales: ' . join(' ', sort keys %made_locale);
$ENV{LOCPATH} = $locales;

my $node = PostgreSQL::Test::Cluster->new('encoders');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->start;
my $version =
  $node->safe_psql('postgres', "SHOW server_version_num") / 10000;

# Returns what check_sort_keys() says of queries, or its errors; all in one session. A query comes with its options.
sub checks
{
	my ($database, @queries) = @_;
	my $flags =
	  sub { 'ARRAY[' . join(',', map { $_ ? 'true' : 'false' } @_) . ']::bool[]' };
	my $script = '';

	foreach (@queries)
	{
		my ($query, %option) = @$_;
		$script .= sprintf(
			'SELECT verdict_on_sort_keys($query$%s$query$, %s, %s, %s);' . "\n",
			$query,
			$flags->(@{ $option{descending} // [] }),
			$flags->(@{ $option{nulls_first} // [] }),
			"ARRAY["
			  . join(',', map { "'$_'" } @{ $option{operators} // [] })
			  . "]::regoperator[]");
	}

	my ($stdout, $stderr);
	$node->psql($database, $script, stdout => \$stdout, stderr => \$stderr);
	# A server that crashes cannot say why, and nothing may cause a warning.
	my @verdicts = $stderr eq '' ? split(/\n/, $stdout) : ($stderr) x @queries;

	foreach my $i (0 .. $#queries)
	{
		my (undef, %option) = @{ $queries[$i] };

		# What processes share counts only where a caller asks for it.
		$verdicts[$i] =~ s/; shared: [^;]*// unless $option{shared};

		# Keys that libc makes may be wrong now and then.
		$verdicts[$i] =~ s/; wrong (\d+) of (\d+)$/$1 <= 0.02 * $2 ? '' : $&/e;
	}
	return @verdicts;
}

sub check
{
	my ($database, $query, %option) = @_;
	return (checks($database, [ $query, %option ]))[0];
}

# Checks a query of one column in both directions, with NULLs at either end, by the operators for both directions if
# these are given.
sub check_column
{
	my ($database, $query, $expected, $name, @operators) = @_;
	my @ways = ([ 0, 0 ], [ 0, 1 ], [ 1, 0 ], [ 1, 1 ]);
	my @verdicts = checks($database,
		map { [ $query, descending => [ $_->[0] ], nulls_first => [ $_->[1] ],
				operators => @operators ? [ $operators[ $_->[0] ] ] : [] ] } @ways);

	foreach my $i (0 .. $#ways)
	{
		my ($descending, $nulls_first) = @{ $ways[$i] };

		like($verdicts[$i], $expected,
			"$name, "
			  . ($descending ? 'descending' : 'ascending')
			  . ($nulls_first ? ', nulls first' : ', nulls last'));
	}
	return;
}

# Enums whose values have been made in order, and otherwise.
my $enums = q{
	CREATE TYPE orderly AS ENUM ('first', 'second', 'third');
	ALTER TYPE orderly ADD VALUE 'fourth';
	CREATE TYPE disorderly AS ENUM ('100', '200', '300');
	ALTER TYPE disorderly ADD VALUE '400';
	ALTER TYPE disorderly ADD VALUE '150' BEFORE '200';
	ALTER TYPE disorderly ADD VALUE '000' BEFORE '100';
	ALTER TYPE disorderly ADD VALUE '250' AFTER '200';
	ALTER TYPE disorderly ADD VALUE '500';
	CREATE TYPE crowded AS ENUM ('first', 'last');
};
# more values between two others than there are numbers between these
$enums .= sprintf "ALTER TYPE crowded ADD VALUE 'v%02d' BEFORE 'last';\n", $_
  foreach 0 .. 79;

my $functions = qq{
	CREATE FUNCTION check_sort_keys(text, bool[], bool[], regoperator[]) RETURNS text
		AS '$module' LANGUAGE C STRICT;
	CREATE FUNCTION verdict_on_sort_keys(text, bool[], bool[], regoperator[]) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		detail text;
	BEGIN
		RETURN check_sort_keys(\$1, \$2, \$3, \$4);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		RETURN replace('ERROR: ' || SQLERRM || ': ' || detail, chr(10), ' ');
	END \$\$;
	CREATE FUNCTION sort_key_obstacle(regtype, oid, oid) RETURNS text
		AS '$module' LANGUAGE C STRICT;
};

$node->safe_psql('postgres', $functions . GpusortCluster::RANDOM_TEXT_FUNCTION . $enums);


# ----------
# Each type: its edges, and random values, stored and not
# ----------

my %edges = (
	bool => [qw(true false)],
	int2 => [qw(0 1 -1 127 128 -128 -129 255 256 32767 -32768)],
	int4 => [
		qw(0 1 -1 255 256 65535 65536 -65536 -65537 16777216
		  2147483647 -2147483648)
	],
	int8 => [
		qw(0 1 -1 255 256 2147483647 2147483648 -2147483648 -2147483649
		  4294967296 -4294967296 9223372036854775807 -9223372036854775808)
	],
	oid => [qw(0 1 255 256 2147483647 2147483648 4294967295)],
	float4 => [
		qw(0 -0 1 -1 1e-45 -1e-45 1.17549435e-38 3.4028235e38
		  -3.4028235e38 Infinity -Infinity NaN 1.0000001)
	],
	float8 => [
		qw(0 -0 1 -1 5e-324 -5e-324 2.2250738585072014e-308
		  1.7976931348623157e308 -1.7976931348623157e308 Infinity -Infinity
		  NaN 1.0000000000000002)
	],
	date => [
		'infinity', '-infinity', '4713-01-01 BC', '5874897-12-31',
		'2000-01-01', '1999-12-31', '2000-01-02', '0001-01-01',
		'0001-12-31 BC'
	],
	timestamp => [
		'infinity', '-infinity',
		'4713-01-01 00:00:00 BC', '294276-12-31 23:59:59.999999',
		'2000-01-01 00:00:00', '1999-12-31 23:59:59.999999',
		'2000-01-01 00:00:00.000001'
	],
	timestamptz => [
		'infinity', '-infinity',
		'4713-01-01 00:00:00 BC', '294276-12-31 23:59:59.999999+00',
		'2000-01-01 00:00:00+00', '2000-01-01 02:00:00+02',
		'1999-12-31 23:59:59.999999+00'
	],
	uuid => [
		'00000000-0000-0000-0000-000000000000',
		'ffffffff-ffff-ffff-ffff-ffffffffffff',
		'00000000-0000-0000-8000-000000000000',
		'00000000-0000-0001-0000-000000000000',
		'80000000-0000-0000-0000-000000000000',
		'00000000-0000-0000-0000-000000000001'
	],
	one_char => [ '', 'a', 'b', 'A', ' ', '~', chr(1), chr(127) ],
	money => [
		qw(0 0.01 -0.01 1 -1 92233720368547758.07 -92233720368547758.08
		  21474836.47 21474836.48 -21474836.48 -21474836.49)
	],
	time => [
		qw(00:00:00 00:00:00.000001 00:00:01 11:59:59.999999 12:00:00
		  23:59:59.999999 24:00:00)
	],
	timetz => [
		qw(00:00:00+00 00:00:00.000001+00 12:00:00+00 13:00:00+01 11:00:00-01
		  12:00:00+00:00:01 23:59:59.999999+00 24:00:00+00 00:00:00+15
		  00:00:00+15:59:59 00:00:00-15:59:59 24:00:00+15:59:59
		  24:00:00-15:59:59 23:00:00-02 01:00:00+00 03:00:00+02)
	],
	# one length in many ways; then the edges of the fields, of what fits the
	# compact layout, and of 64 bits of microseconds
	interval => [
		'0', '1 microsecond', '-1 microsecond', '1 month', '30 days',
		'720 hours', '29 days 24:00:00', '2 months -30 days', '1 year',
		'360 days', '-1 month', '-30 days', '-31 days 24:00:00', '1 day',
		'24 hours', '23:59:59.999999', '-1 day', '-24 hours',
		'-24 hours -1 microsecond', '1 day -1 microsecond',
		'-1 day 1 microsecond', '2147483647 days', '-2147483647 days',
		'178956970 years 7 months', '-178956970 years -8 months',
		'2562047788:00:54.775806', '-2562047788:00:54.775807',
		'178956970 years 7 months 2147483647 days 2562047788:00:54.775806',
		'-178956970 years -8 months -2147483647 days -2562047788:00:54.775807',
		'67108863 days 23:59:59.999999', '67108864 days',
		'-67108864 days', '-67108864 days -1 microsecond',
		'106751991 days 04:00:54.775807', '106751991 days 04:00:54.775808',
		'-106751991 days -04:00:54.775808', '-106751991 days -04:00:54.775809'
	],
	inet => [
		qw(0.0.0.0/0 0.0.0.0/1 0.0.0.0 0.0.0.1/0 128.0.0.0/0 128.0.0.0/1
		  255.255.255.255/0 255.255.255.255 255.255.255.255/31
		  64.0.0.0/4 66.0.0.0/4 67.255.255.255/4 68.0.0.0/4 68.0.0.0/5
		  67.255.255.255/5 68.0.0.0/6 71.255.255.255/6
		  10.0.0.0/8 10.0.0.0/7 10.0.0.0/9 10.0.0.0 10.0.0.1/8 10.0.0.1/9
		  10.1.0.0/16 10.1.2.3 10.1.2.3/31 10.1.2.3/24 10.1.2.2/31 10.1.3.0/24
		  ::/0 ::1/0 :: ::1 8000::/0 8000::/1 ::/1 ::/63 ::/64 ::/65
		  ::8000:0:0:0/64 ::8000:0:0:0/65 0:0:0:1::/64 0:0:0:1::/63
		  ::ffff:10.1.2.3 2001:db8::/32 2001:db8::1/32 2001:db8::1/64
		  2001:db8::1/120 2001:db8::1 2001:db8:0:1::/64
		  2001:db8:0:0:ffff:ffff:ffff:ffff/64 2001:db8:8000::/33
		  2001:db8:8000::/32 2001:db8::/33
		  ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/0
		  ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127
		  ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff)
	],
	cidr => [
		qw(0.0.0.0/0 0.0.0.0/1 0.0.0.0/32 128.0.0.0/1 10.0.0.0/8 10.0.0.0/9
		  10.0.0.0/32 10.128.0.0/9 255.255.255.255/32 255.255.255.254/31
		  ::/0 ::/1 ::/64 ::/128 8000::/1 2001:db8::/32 2001:db8::/33
		  2001:db8:8000::/33 2001:db8::/128 ffff::/16 ::1/128)
	],
	macaddr => [
		qw(00:00:00:00:00:00 00:00:00:00:00:01 00:00:00:00:01:00
		  00:00:00:01:00:00 00:00:01:00:00:00 00:01:00:00:00:00
		  01:00:00:00:00:00 7f:ff:ff:ff:ff:ff 80:00:00:00:00:00
		  ff:ff:ff:ff:ff:ff 00:00:00:80:00:00)
	],
	macaddr8 => [
		qw(00:00:00:00:00:00:00:00 00:00:00:00:00:00:00:01
		  00:00:00:00:80:00:00:00 00:00:00:01:00:00:00:00
		  7f:ff:ff:ff:ff:ff:ff:ff 80:00:00:00:00:00:00:00
		  ff:ff:ff:ff:ff:ff:ff:ff 08:00:2b:01:02:03)
	],
	bytea => [
		map { "\\x$_" }
		  ('', qw(00 0000 0001 0002 00ff 01 0100 0101 0102 0200 02 0201 ff ffff
			7f 80 fe 0203040506070809 0203040506070800 0203040506070801
			020304050607080900 020304050607080901 0203040506070809ff
			0203040506070802 ffffffffffffffff ffffffffffffffff00
			0000000000000000 0101010101010101 000000000000000000
			00000000000000 80818283848586 8081828384858600))
	],
	varbit => [
		'', qw(0 1 00 01 10 11 0000000 00000000 000000000 00000001 000000010
		  1000000 10000000 100000000 1000000000000000 11111111 111111110
		  0000000000000000), map({ ('0' x $_, '1' x $_, '1' . '0' x $_) } 54 .. 66)
	],
	bit24 => [ map { sprintf '%024b', $_ } 0, 1, 255, 256, 65536, 16777215 ],
	orderly => [qw(first second third fourth)],
	disorderly => [qw(000 100 150 200 250 300 400 500)],
	crowded => [ 'first', 'last', map { sprintf 'v%02d', $_ } 0 .. 79 ],
	xid8 => [
		qw(0 1 3 4294967295 4294967296 9223372036854775807
		  9223372036854775808 18446744073709551615)
	],
	pg_lsn => [
		qw(0/0 0/1 0/FFFFFFFF 1/0 7FFFFFFF/FFFFFFFF 80000000/0
		  FFFFFFFF/FFFFFFFF)
	],
	tid => [
		'(0,0)', '(0,1)', '(0,65535)', '(1,0)', '(1,1)', '(65535,0)',
		'(65536,0)', '(2147483647,32768)', '(2147483648,1)',
		'(4294967295,65535)'
	],
	regclass => [qw(pg_class pg_type pg_attribute)],
	numeric => [
		qw(0 0.00 -0.0 1 1.0 1.00 -1 -1.0 9999 10000 10001 9999.9999
		  0.0001 0.00001 -0.00001 0.00010001 99999999.99999999
		  9999999999999999 99999999999999990000 1e16 10000000000000001
		  -9999999999999999 -10000000000000001 12345.6789 -12345.6789
		  1.00010001 1.000100010001 1.0001000100010001 1.0001000100010001000
		  -1.000100010001 -1.0001000100010001
		  1e243 1e244 1e247 1e248 -1e247 -1e248 9e251 1e252 1e256
		  1e-241 1e-244 1e-245 1e-248 1e-249 -1e-244 -1e-245 -1e-248 -1e-249
		  1.5e248 -1.5e248 1.5e-249 -1.5e-249
		  1e255 1e260 -1e260 1e-256 1e-260 -1e-260
		  1e1000 -1e1000 1e1100 1e2000 1e2100 1e40000 -1e40000 1e-1000 1e-1100
		  1e-2000 -1e-2000 1e-9000 1e-16380
		  1e131068 -1e131068 1e131071 1e-16383 -1e-16383
		  NaN Infinity -Infinity)
	],
);

push @{ $edges{interval} }, 'infinity', '-infinity' if $version >= 17;

# How a type is written, if that is not its name here.
my %written = (one_char => '"char"', bit24 => 'bit(24)');

my %random = (
	bool => 'random() < 0.5',
	int2 => '(random() * 65535 - 32768)::int2',
	int4 => '(random() * 4294967295 - 2147483648)::int4',
	int8 => '((random() - 0.5) * 10.0 ^ (random() * 18))::int8',
	oid => '(random() * 4294967295)::int8::oid',
	float4 => '((random() - 0.5) * 10.0 ^ (random() * 60 - 30))::float4',
	float8 => '(random() - 0.5) * 10.0 ^ (random() * 600 - 300)',
	date => q{'2000-01-01'::date + ((random() - 0.5) * 1000000)::int4},
	timestamp => q{'2000-01-01'::timestamp
		+ (random() - 0.5) * interval '5000 years'},
	timestamptz => q{'2000-01-01'::timestamptz
		+ (random() - 0.5) * interval '1 year'},
	uuid => 'md5(random()::text)::uuid',
	one_char => q{((random() * 255)::int4 - 128)::"char"},
	money => '((random() - 0.5) * 10.0 ^ (random() * 14))::numeric::money',
	time => q{'00:00'::time + random() * interval '24 hours'},
	timetz => q{('00:00+00'::timetz + random() * interval '24 hours')
		AT TIME ZONE ((random() * 6 - 3)::int4 * interval '1 hour')},
	interval => q{make_interval(months => (random() * 4 - 2)::int4,
		days => (random() * 100 - 50)::int4,
		hours => (random() * 1000 - 500)::int4)
		+ (random() * 5)::int4 * interval '1 microsecond'},
	inet => q{set_masklen('10.0.0.0'::inet + (random() * 2 ^ (random() * 27))::int8,
		(random() * 32)::int4)},
	cidr => q{network(set_masklen(('2001:db8::'::inet
		+ (random() * 2 ^ (random() * 62))::int8), (random() * 128)::int4))},
	macaddr => q{left(md5(random()::text), 12)::macaddr},
	macaddr8 => q{left(md5(random()::text), 16)::macaddr8},
	bytea => q{substr(decode(md5(random()::text) || repeat('00', (random() * 4)::int4)
		|| repeat('01', (random() * 4)::int4) || repeat('ff', (random() * 100)::int4)
		|| md5(random()::text), 'hex'), 1 + (random() * 16)::int4)},
	varbit => q{substring((random() * 1000000000)::int8::bit(64)
		|| (random() * 1000000000)::int8::bit(64),
		20 + (random() * 50)::int4, (random() * 100)::int4)},
	bit24 => '(random() * 10000)::int4::bit(24)',
	orderly => q{('{first,second,third,fourth}'::orderly[])[1 + floor(random() * 4)]},
	disorderly => q{(enum_range(NULL::disorderly))[1 + floor(random() * 8)]},
	crowded => q{(enum_range(NULL::crowded))[1 + floor(random() * 82)]},
	xid8 => '(random() * 10.0 ^ (random() * 18))::int8::text::xid8',
	pg_lsn => q{'0/0'::pg_lsn + (random() * 10.0 ^ (random() * 18))::int8},
	tid => q{format('(%s,%s)', (random() * 4294967295)::int8,
		(random() * 3)::int4)::tid},
	regclass => '(random() * 4294967295)::int8::regclass',
	numeric => q{round((random() - 0.5)::numeric
		* 10::numeric ^ (random() * 40 - 10)::int, (random() * 20)::int)},
);

# Strings: every length around those of the loads, of the longest name and of
# the longest key, first and last characters, blanks at the end, and neighbours of blank and
# of the terminator.
my $strings = q{
	SELECT unnest(ARRAY['', ' ', '  ', 'a', 'a ', 'a  ', E'a\t', E'a\x01', 'a!',
		'ab', 'A', 'b', E'\x01', E'\x01\x01', E'\x7f', chr(128), chr(255),
		chr(2047), chr(2048), chr(55295), chr(57344), chr(65535), chr(65536),
		chr(1114111), 'a' || chr(1114111)])
	UNION ALL
	SELECT repeat('x', n) || tail
	FROM generate_series(0, 34) n, unnest(ARRAY['', 'a', 'b', ' ', '  ']) tail
	UNION ALL
	SELECT repeat('n', n) || tail
	FROM generate_series(56, 64) n, unnest(ARRAY['', 'a', 'b']) tail
	UNION ALL
	SELECT repeat('y', n) || tail
	FROM generate_series(120, 136) n, unnest(ARRAY['', 'a', ' ']) tail
};
my $random_strings = q{
	SELECT random_text('ab ', 12) FROM generate_series(1, 100)
	UNION ALL
	SELECT random_text('a' || chr(1) || chr(233) || chr(8364) || chr(128512), 40)
	FROM generate_series(1, 100)
};
my %string_type = (
	text => 'text',
	varchar => 'varchar',
	bpchar => 'bpchar',
	name => 'name',
	char140 => 'char(140)');

# Each type gets a table v_<type> with a column v.
sub make_values
{
	my ($database) = @_;
	my $sql = "SELECT setseed(" . rand() . ");\n";

	foreach my $type (sort keys %edges)
	{
		my $written = $written{$type} // $type;

		$sql .=
			"CREATE TABLE v_$type AS SELECT unnest(ARRAY['"
		  . join("','", @{ $edges{$type} })
		  . "'])::$written AS v;\n"
		  . "INSERT INTO v_$type"
		  . " SELECT $random{$type} FROM generate_series(1, 200);\n"
		  . "INSERT INTO v_$type VALUES (NULL), (NULL);\n";
	}
	foreach my $name (sort keys %string_type)
	{
		$sql .=
			"CREATE TABLE v_$name AS"
		  . " SELECT v::$string_type{$name} AS v"
		  . " FROM ($strings UNION ALL $random_strings) AS strings (v);\n"
		  . "INSERT INTO v_$name VALUES (NULL), (NULL);\n";
	}

	# a NaN with the sign set is equal to the others
	$sql .= "INSERT INTO v_float4 VALUES (- 'NaN'::float4);\n";
	$sql .= "INSERT INTO v_float8 VALUES (- 'NaN'::float8);\n";

	# addresses of the other family, networks of all lengths
	$sql .= "INSERT INTO v_inet SELECT set_masklen('2001:db8::'::inet"
	  . " + (random() * 2 ^ (random() * 62))::int8, (random() * 128)::int4)"
	  . " FROM generate_series(1, 200);\n";
	$sql .= "INSERT INTO v_inet SELECT set_masklen(v, length)"
	  . " FROM unnest('{10.77.130.211,245.178.125.44}'::inet[]) v,"
	  . " generate_series(0, 32) length;\n";
	$sql .= "INSERT INTO v_inet SELECT set_masklen(v, length)"
	  . " FROM unnest('{4d82:d3b2:7d2c:92f5::8a75:31,b27d:2cd3:824d::}'::inet[]) v,"
	  . " generate_series(0, 128) length;\n";
	$sql .= "INSERT INTO v_cidr SELECT network(v) FROM v_inet"
	  . " WHERE random() < 0.3;\n";

	# zones beyond those that can be written, around the edge of the compact
	# layout, and as far as they go
	$sql .= "INSERT INTO v_timetz SELECT v AT TIME ZONE (hours * interval '1 hour')"
	  . " FROM (SELECT v FROM v_timetz LIMIT 16) AS few, unnest(ARRAY[150, 151, 152, 153, 154, 595000]"
	  . " || ARRAY[-150, -151, -152, -153, -154, -595000]) AS hours;\n";
	$node->safe_psql($database, $sql);
	return;
}
make_values('postgres');

my %words = (
	bool => [ 1, 1 ],
	int2 => [ 1, 1 ],
	int4 => [ 1, 1 ],
	int8 => [ 1, 2 ],
	oid => [ 1, 1 ],
	float4 => [ 1, 1 ],
	float8 => [ 1, 2 ],
	date => [ 1, 1 ],
	timestamp => [ 1, 2 ],
	timestamptz => [ 1, 2 ],
	uuid => [ 2, 3 ],
	one_char => [ 1, 1 ],
	money => [ 1, 2 ],
	time => [ 1, 2 ],
	timetz => [ 1, 2 ],
	interval => [ 1, 2 ],
	bytea => [ 0, 0 ],
	varbit => [ 1, 0 ],
	bit24 => [ 1, 0 ],
	orderly => [ 1, 1 ],
	disorderly => [ 1, 1 ],
	crowded => [ 1, 1 ],
	inet => [ 1, 0 ],
	cidr => [ 1, 0 ],
	macaddr => [ 1, 1 ],
	macaddr8 => [ 1, 2 ],
	xid8 => [ 1, 2 ],
	pg_lsn => [ 1, 2 ],
	tid => [ 1, 1 ],
	regclass => [ 1, 1 ],
	numeric => [ 1, 0 ],
);

# types with values that the compact layout refuses
my %choosy = map { $_ => 1 } qw(numeric timetz interval inet cidr varbit
	disorderly crowded);

foreach my $type (sort keys %edges)
{
	my $refused = $choosy{$type} ? '\d+' : '2';
	my $truncated = $type eq 'bytea' ? '\d+' : '0';

	check_column(
		'postgres',
		"SELECT v FROM v_$type",
		qr/^compact: words $words{$type}[0], refused $refused, truncated $truncated; general: words $words{$type}[1], refused 0,/,
		$type);
}
foreach my $name (sort keys %string_type)
{
	check_column(
		'postgres',
		"SELECT v FROM v_$name",
		qr/^compact: words 0, refused 2, truncated \d+; general: words 0, refused 0,/,
		"$name, default collation C");
}

# Values as expressions make them: with headers of four bytes, and not compressed.
like(check('postgres', "SELECT v FROM v_inet UNION ALL SELECT v + 0 FROM v_inet"),
	qr/^compact/, 'inet of both header lengths');
like(check('postgres', "SELECT v FROM v_text UNION ALL SELECT v || '' FROM v_text"),
	qr/^compact/, 'text of both header lengths');
like(check('postgres', "SELECT v FROM v_bytea UNION ALL SELECT v || '' FROM v_bytea"),
	qr/^compact/, 'bytea of both header lengths');
like(check('postgres', "SELECT v FROM v_varbit UNION ALL SELECT v || '' FROM v_varbit"),
	qr/^compact/, 'varbit of both header lengths');
like(check('postgres', "SELECT v FROM v_numeric UNION ALL SELECT v + 0 FROM v_numeric"),
	qr/^compact/, 'numeric of both header lengths');


# ----------
# What fits
# ----------

is( check(
		'postgres', q{
		SELECT v::numeric(14, 2) FROM (VALUES
			('999999999999.99'), ('-999999999999.99'), ('0.01'), ('-0.01'),
			('100000000000.01'), ('0'), ('NaN'), ('12345678.9')) AS l (v)}),
	'compact: words 1, refused 0, truncated 0; general: words 0, refused 0, truncated 0; columns 1 of 1',
	'every numeric(14, 2) fits the compact layout');
is( check(
		'postgres', q{
		SELECT v::numeric FROM (VALUES ('10000000000000001'), ('1e248'),
			('1e-248'), ('1'), ('Infinity'), ('-Infinity')) AS l (v)}),
	'compact: words 1, refused 3, truncated 0; general: words 0, refused 0, truncated 0; columns 1 of 1',
	'other numerics do not');
is( check(
		'postgres', q{
		SELECT v::timetz FROM (VALUES ('00:00+15:59:59'), ('24:00-15:59:59'))
			AS l (v)}),
	'compact: words 1, refused 0, truncated 0; general: words 2, refused 0, truncated 0; columns 1 of 1',
	'every timetz that can be written fits');
is( check(
		'postgres', q{
		SELECT timetz '00:00+00' AT TIME ZONE v::interval
		FROM (VALUES ('150 hours'), ('200 hours'), ('-200 hours')) AS l (v)}),
	'compact: words 1, refused 2, truncated 0; general: words 2, refused 0, truncated 0; columns 1 of 1',
	'farther zones do not');
is( check(
		'postgres', q{
		SELECT v::interval FROM (VALUES ('183000 years'), ('-183000 years'),
			('67108863 days 23:59:59.999999'), ('67108864 days'),
			('-67108864 days'), ('-67108864 days -1 microsecond')) AS l (v)}),
	'compact: words 1, refused 2, truncated 0; general: words 2, refused 0, truncated 0; columns 1 of 1',
	'intervals of up to 183000 years fit');
is( check(
		'postgres', q{
		SELECT v::inet FROM (VALUES ('0.0.0.0/0'), ('255.255.255.255'),
			('255.255.255.255/6'), ('3.255.255.255/0'), ('255.255.255.255/5'),
			('4.0.0.0/0'), ('::1')) AS l (v)}),
	'compact: words 1, refused 3, truncated 0; general: words 0, refused 0, truncated 0; columns 1 of 1',
	'IPv4 addresses fit, in large networks the first of them');
is( check('postgres', "SELECT repeat('1', n)::varbit FROM generate_series(50, 60) n"),
	'compact: words 1, refused 4, truncated 0; general: words 0, refused 0, truncated 0; columns 1 of 1',
	'bit strings of up to 56 bits fit');
is( check(
		'postgres', q{
		SELECT decode(repeat(byte, n), 'hex') FROM generate_series(60, 64) n,
			unnest(ARRAY['00', '01']) byte}),
	'compact: words 0, refused 0, truncated 2; general: words 0, refused 0, truncated 2; columns 1 of 1',
	'bytes that are escaped take twice the room');
is( check('postgres', "SELECT repeat('x', n) FROM generate_series(120, 135) n"),
	'compact: words 0, refused 0, truncated 8; general: words 0, refused 0, truncated 9; columns 1 of 1',
	'strings are truncated where the key ends');
is( check(
		'postgres',
		'SELECT '
		  . join(', ', ('v') x 8)
		  . ' FROM v_uuid WHERE v IS NOT NULL LIMIT 50'),
	'compact: words 16, refused 0, truncated 0; general: words 16, refused 0, truncated 50; columns 8 of 8',
	'a key of fixed width as long as can be, and one that is longer');
is( check(
		'postgres',
		'SELECT '
		  . join(', ', ("'00000000-0000-0000-0000-000000000000'::uuid") x 8)
		  . ', v FROM v_uuid WHERE v IS NOT NULL LIMIT 50'),
	'compact: words 16, refused 0, truncated 50; general: words 16, refused 0, truncated 50; columns 9 of 9',
	'a column beyond the end of the key');


# ----------
# Keys that several processes make for one sort
# ----------

# Processes find in turn, and agree on, what keys leave out and how long sort keys are. Then other rows come.
my $long = q{(repeat('p', 150) || hashint4(n))};
foreach my $case (
	[ 'texts', "SELECT $long COLLATE \"C\"", 0 ],
	[ 'bytes', "SELECT convert_to($long, 'UTF8')", 0 ],
	[ 'bytes that are escaped', "SELECT decode(repeat('01', 150), 'hex') || int4send(n)", 0 ],
	[ 'arrays', "SELECT ARRAY[$long COLLATE \"C\", 'b']", 0 ],
	[ 'second elements of arrays', "SELECT ARRAY['b', $long COLLATE \"C\"]", 0 ],
	[ 'arrays of bytes', "SELECT ARRAY[convert_to($long, 'UTF8')]", 0 ],
	[ 'several columns', "SELECT n % 3, $long COLLATE \"C\", convert_to(repeat('q', 150) || n, 'UTF8')", 0 ],
	[ 'rows without the prefix', "SELECT CASE WHEN n > 700 AND n % 100 = 99 THEN repeat(md5(n::text), 8) ELSE $long END COLLATE \"C\"", 3 ],
	[ 'rows with its beginning', "SELECT left($long, CASE WHEN n % 3 = 0 THEN n % 150 ELSE 1000 END) COLLATE \"C\"", 0 ],
	[ 'a second prefix', "SELECT repeat(CASE WHEN n < 500 THEN 'p' ELSE 'pq' END, 150) || n::text COLLATE \"C\"", 501 ],
	[ 'NULLs that come late', "SELECT CASE WHEN n <> 700 THEN $long END COLLATE \"C\"", 0 ])
{
	my ($name, $query, $truncated) = @$case;

	like(check('postgres', "$query FROM generate_series(1, 1000) n", shared => 1),
		qr/; shared: changes [1-9]\d*, truncated $truncated;/, "shared keys: $name");
}


# ----------
# Arrays
# ----------

# arrays of all shapes that a few elements can have, and with bounds of their own
my $shapes = q{
	SELECT v FROM (VALUES ('{}'), ('{A}'), ('{B}'), ('{A,A}'), ('{A,B}'), ('{B,A}'), ('{NULL}'), ('{NULL,A}'), ('{A,NULL}'),
		('{NULL,NULL}'), ('{{A},{A}}'), ('{{A,A}}'), ('{{A,B}}'), ('{{A},{B}}'), ('{{{A,B}}}'), ('[0:1]={A,B}'),
		('[2:3]={A,B}'), ('[-1:0]={A,B}'), ('[2:2][1:2]={{A,B}}'), ('[1:1][0:1]={{A,B}}'), ('{A,B,A}'), ('{A,B,NULL}'),
		('{A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A}'),
		('{A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,A,B,C,B}')) l (v)
};
my %elements = (
	bool => [qw(f t t)],
	int2 => [qw(-1 1 300)],
	int4 => [qw(-1 1 100000)],
	int8 => [qw(-5000000000 0 5000000000)],
	float8 => [qw(-1.5 NaN 0)],
	numeric => [qw(-1.50001 1e200 0)],
	text => [qw(a ab b)],
	'char(3)' => [ 'a', '"a "', 'b' ],
	bytea => [qw("\\\\x00" "\\\\x0000" "\\\\x01")],
	uuid => [ map { sprintf '%08d-0000-0000-0000-000000000000', $_ } 1 .. 3 ],
	timestamptz => [ '"2000-01-01 00:00+00"', 'infinity', '"2024-01-01 00:00+02"' ],
	interval => [ '"1 month"', '"30 days"', '"-1000000 years"' ],
	inet => [qw(10.0.0.0/8 10.0.0.1 ::1)],
	varbit => [qw(1 10 0)],
	orderly => [qw(first third second)],
	disorderly => [qw(300 150 000)],
	regclass => [qw(pg_class pg_type 1)]);
foreach my $element (sort keys %elements)
{
	my $values = $shapes;
	my ($a, $b, $c) = @{ $elements{$element} };
	$values =~ s/\b([ABC])\b(?=[^()]*'\))/$1 eq 'A' ? $a : $1 eq 'B' ? $b : $c/ge;

	# expressions, and rows of a table, which have short headers
	$node->safe_psql('postgres', qq{
		CREATE TABLE arrays AS SELECT v::${element}[] AS v FROM ($values) s;
		INSERT INTO arrays VALUES (NULL);});
	check_column(
		'postgres',
		"SELECT v FROM arrays UNION ALL SELECT v::${element}[] FROM ($values) s",
		qr/^compact: words 0, refused \d+, truncated \d+; general: words 0, refused 0, truncated \d+; columns 1 of 1$/,
		"arrays of $element");
	$node->safe_psql('postgres', 'DROP TABLE arrays');
}
check_column('postgres', q{
	SELECT array_append(ARRAY[n % 3], CASE WHEN n % 5 > 0 THEN n % 7 END) FROM generate_series(1, 100) n
	UNION ALL SELECT array_fill(n % 3, ARRAY[3000 + n]) FROM generate_series(1, 10) n},
	qr/^compact: words 0, refused 0, truncated 10; .* columns 1 of 1$/,
	'arrays as expressions make them');
$node->safe_psql('postgres', q{
	CREATE DOMAIN small AS int4 CHECK (VALUE < 100);
	CREATE DOMAIN smalls AS small[];
	CREATE TABLE stored AS SELECT array_fill(n % 3, ARRAY[5000]) || n AS v, ARRAY[n % 3, -n]::smalls AS d, '1 2'::int2vector AS i
	FROM generate_series(1, 20) n;});
check_column('postgres', 'SELECT v FROM stored', qr/^compact: words 0, .* columns 1 of 1$/, 'compressed arrays');
like(check('postgres', 'SELECT d, v, i, d FROM stored'), qr/^compact: words 0, .* columns 4 of 4$/, 'domains of arrays and over them');


# ----------
# Values with parts
# ----------

# Drawn from few values for each part, so that many have the first parts in common.
# The keys of these types depend on numbers that a process reads.
my %of_one_process = map { $_ => 1 } qw(disorderly_range outer_type);

# The types of a database and v_parts, with a column for each of them.
my @drawn;

sub make_parts
{
	my ($database, $rows) = @_;
	my %expressions;

	$node->safe_psql($database, slurp_file("$FindBin::RealBin/../encoders/drawn_values.sql"));
	%expressions = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql($database, 'SELECT type, expression FROM drawn');
	@drawn = sort keys %expressions;
	$node->safe_psql($database, 'SELECT setseed(' . rand() . '); CREATE TABLE v_parts AS SELECT '
		  . join(', ', map { "$expressions{$_}::$_ AS \"$_\"" } @drawn)
		  . " FROM generate_series(1, $rows)");
	return;
}

# Checks all types, with values as they are stored and as expressions make them.
sub check_parts
{
	my ($database) = @_;
	my @verdicts = checks($database,
		map { my $query = "SELECT \"$_\" FROM v_parts"; ([ $query, shared => 1 ], [ $query, descending => [1], nulls_first => [1] ]) } @drawn);

	foreach my $type (@drawn)
	{
		my $shared = $of_one_process{$type} ? '' : '; shared: .*';

		like(shift @verdicts,
			qr/^compact: words \d, refused \d+, truncated \d+; general: words \d, refused 0, truncated \d+$shared; columns 1 of 1$/,
			"$database: $type");
		like(shift @verdicts,
			qr/^compact: words \d, .* columns 1 of 1$/,
			"$database: $type, descending");
	}
	return;
}
make_parts('postgres', 300);
check_parts('postgres');

# Whole rows, with a column that old rows do not store; records whose types, one or several, only the rows tell.
$node->safe_psql('postgres', q{
	CREATE TABLE whole_rows AS SELECT n % 3 i, CASE WHEN n % 7 > 0 THEN n % 5 END gone, jsonb j, inner_type c FROM (SELECT *, row_number() OVER () n FROM v_parts) v LIMIT 200;
	ALTER TABLE whole_rows DROP gone, ADD late int DEFAULT 7, ADD later text;
	INSERT INTO whole_rows SELECT i, j, c, i * 7, 'x' FROM whole_rows LIMIT 100});
like(check('postgres', 'SELECT w FROM whole_rows w', shared => 1),
	qr/^compact: words 0, refused 0, .*; shared: .*; columns 1 of 1$/, 'whole rows');
foreach my $case (
	[ 'ROW(i, j, c)', qr/\d+/, 'one row type' ],
	[ 'ROW()', qr/0/, 'no columns' ],
	[ 'ROW(i, ROW(late, j), c)', qr/\d+/, 'records in records' ],
	[ 'ARRAY[ROW(i, j), ROW(late, c)]', qr/300/, 'arrays of them' ],
	[ 'CASE i WHEN 0 THEN ROW(0, j) WHEN 1 THEN ROW(1, c, 1) ELSE ROW(2) END', qr/300/, 'several row types' ],
	[ 'CASE WHEN late = 7 THEN ROW(1, 2) ELSE ROW(2, 3, j) END', qr/300/, 'several row types, of which one begins another' ],
	[ 'ROW(i, point(1, 1))', qr/300/, 'a column without an order' ])
{
	my ($record, $truncated, $name) = @$case;

	like(check('postgres', "SELECT $record FROM whole_rows ORDER BY late", descending => [$_]),
		qr/^; general: words 0, refused 0, truncated $truncated; columns 1 of 1$/, "records: $name")
	  foreach 0, 1;
}
is( $node->safe_psql('postgres', q{
	SELECT sort_key_obstacle('inner_type', '<(record,record)'::regoperator, 0), sort_key_obstacle('inner_type', '*<(record,record)'::regoperator, 0),
		sort_key_obstacle('record', '*>(record,record)'::regoperator, 0)}),
	'none|operator|operator', 'no keys for records by their bytes');

# Documents whose names come from another document than the first one of the table.
like(
	check('postgres', q{
			SELECT v FROM (SELECT jsonb v FROM v_parts UNION ALL SELECT jsonb || '{"zzz": 1}' FROM v_parts WHERE jsonb_typeof(jsonb) = 'object'
			UNION ALL SELECT jsonb || '[[]]' FROM v_parts WHERE jsonb_typeof(jsonb) = 'array') s ORDER BY md5(v::text)}, descending => [1]),
	qr/^compact: words 0, .* columns 1 of 1$/, 'documents in another order');

# containers with numbers of elements and pairs that have a code of their own, and with more; long strings
like(
	check('postgres', q{
		SELECT (SELECT jsonb_agg(i % 2) FROM generate_series(1, n) i) FROM unnest('{77,78,79,80,81,300}'::int[]) n
		UNION ALL SELECT (SELECT jsonb_object_agg('k' || i, i % 2) FROM generate_series(1, n) i) FROM unnest('{157,158,159,160,161,300}'::int[]) n
		UNION ALL SELECT to_jsonb(repeat('x', n)) FROM generate_series(100, 140) n
		UNION ALL SELECT jsonb_build_object('k', repeat('x', 100000 + n)) FROM generate_series(1, 3) n
		UNION ALL SELECT jsonb_build_object(repeat('k', n), 1, 'k', jsonb_build_object(repeat('k', 10 * n), n % 3)) FROM generate_series(300, 0, -7) n
		UNION ALL SELECT (repeat('[', n) || repeat(']', n))::jsonb FROM generate_series(1, 300, 7) n}),
	qr/^compact: words 0, refused 0, .* columns 1 of 1$/, 'documents of many elements, long strings and many levels');
like(
	check('postgres', q{
		SELECT jsonb_build_object('alike', repeat('same', 100), 'number', CASE WHEN n > 500 AND n % 100 < 10 THEN -1 ELSE n END) FROM generate_series(1, 1000) n}, shared => 1),
	qr/^compact: words 0, refused 0, truncated 0; .* shared: changes 1, truncated \d\d; columns 1 of 1$/,
	'documents that begin alike');

# Keys are short if the first parts tell values apart, and become longer if not.
like(
	check('postgres', q{SELECT jsonb_build_object('id', n / CASE WHEN n < 12 THEN 2 ELSE 1 END, 'text', repeat(md5(n::text), 2)) FROM generate_series(1, 500) n}),
	qr/^compact: words 0, refused 0, truncated 500; general: words 0, refused 0, truncated 500; columns 1 of 1$/,
	'documents that their first values tell apart');
like(
	check('postgres', q{SELECT jsonb_build_object('id', n % 50, 'text', repeat('x', 40) || md5(n::text)) FROM generate_series(1, 500) n}),
	qr/^compact: words 0, refused 0, truncated 0; general: words 0, refused 0, truncated 0; columns 1 of 1$/,
	'documents that tie in their first values');

# A long string that many documents have is not written, in whatever order documents come.
my $common_string = q{jsonb_build_object('a', CASE WHEN n % 3 < 2 THEN repeat('same', 100) WHEN n % 2 = 0 THEN n || repeat('other', 100) ELSE 'z' || n || repeat('other', 100) END, 'number', n)};
like(
	check('postgres', "SELECT $common_string FROM generate_series(3, 1000) n"),
	qr/^compact: words 0, refused 0, truncated 3\d\d; general: words 0, refused 0, truncated 3\d\d; columns 1 of 1$/,
	'documents with a common string');

# a long common prefix is left out
like(
	check(
		'postgres', q{
		SELECT numrange(repeat('7', 400)::numeric + CASE WHEN n > 500 AND n % 100 < 10 THEN -1e100 ELSE 0 END, repeat('7', 400)::numeric + n)
		FROM generate_series(1, 1000) n}, shared => 1),
	qr/^compact: words 0, refused 0, truncated \d\d; .* shared: changes 1, truncated \d\d; columns 1 of 1$/,
	'ranges with long bounds that begin alike');
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION backward(int4, int4) RETURNS int4 IMMUTABLE LANGUAGE sql AS 'SELECT btint4cmp($2, $1)';
	CREATE OPERATOR CLASS backward_ops FOR TYPE int4 USING btree AS
		OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 backward(int4, int4);
	CREATE TYPE backward_range AS RANGE (subtype = int4, subtype_opclass = backward_ops)});
is( $node->safe_psql('postgres', q{
	SELECT sort_key_obstacle('backward_range', '<(anyrange,anyrange)'::regoperator, 0),
		sort_key_obstacle('backward_range[]', '<(anyarray,anyarray)'::regoperator, 0)}),
	'type|type', 'bounds in another order than that of their type have no keys');


# ----------
# Values that are not stored flat
# ----------

$node->safe_psql(
	'postgres', q{
	CREATE TABLE toasted (
		plain text,
		compressed text,
		blanks char(9000),
		external_blanks char(9000),
		digits numeric,
		compressed_digits numeric,
		bytes bytea,
		compressed_bytes bytea,
		bits varbit,
		compressed_bits varbit);
	ALTER TABLE toasted
		ALTER plain SET STORAGE EXTERNAL,
		ALTER external_blanks SET STORAGE EXTERNAL,
		ALTER digits SET STORAGE EXTERNAL,
		ALTER bytes SET STORAGE EXTERNAL,
		ALTER bits SET STORAGE EXTERNAL,
		ALTER compressed_digits SET STORAGE EXTENDED;
	INSERT INTO toasted
	SELECT repeat('e', n) || d || repeat('f', 4000),
		repeat('c', n) || d || repeat('g', 8000),
		repeat('b', n) || CASE d WHEN 1 THEN '' WHEN 2 THEN repeat(' ', 4000) || 'x'
			ELSE 'x' END,
		repeat('b', n) || CASE d WHEN 1 THEN '' WHEN 2 THEN repeat(' ', 4000) || 'x'
			ELSE 'x' END,
		(repeat('7', n) || d || repeat('3', 6000))::numeric / 10 ^ (2 * n)::numeric,
		(repeat('7', n) || d || repeat('0', 12000) || '1')::numeric,
		decode(repeat('e0', n) || '0' || d || repeat('f0', 4000), 'hex'),
		decode(repeat('c0', n) || '0' || d || repeat('00', 8000), 'hex'),
		repeat('1', 8 * n)::varbit || d::bit(8) || repeat('1', 20001 - d)::varbit,
		repeat('1', 8 * n)::varbit || d::bit(8) || repeat('0', 80001 - d)::varbit
	FROM generate_series(100, 140, 4) n, generate_series(1, 3) d;
});
is( $node->safe_psql(
		'postgres', q{
		SELECT bool_and(pg_column_size(plain) > 4000),
			bool_and(pg_column_size(compressed) < 1000),
			bool_and(pg_column_size(blanks) < 1000),
			bool_and(pg_column_size(external_blanks) >= 9000),
			bool_and(pg_column_size(digits) > 2500),
			bool_and(pg_column_size(compressed_digits) < 1000),
			bool_and(pg_column_size(bytes) > 4000),
			bool_and(pg_column_size(compressed_bytes) < 1000),
			bool_and(pg_column_size(bits) > 2000),
			bool_and(pg_column_size(compressed_bits) < 1000),
			pg_relation_size((SELECT reltoastrelid FROM pg_class
				WHERE oid = 'toasted'::regclass)) > 0
		FROM toasted}),
	't|t|t|t|t|t|t|t|t|t|t',
	'values are external and compressed');
foreach my $column (
	qw(plain compressed blanks external_blanks digits compressed_digits
	bytes compressed_bytes bits compressed_bits))
{
	check_column('postgres', "SELECT $column FROM toasted",
		qr/^compact: .* columns 1 of 1$/,
		"toasted: $column");
}
like(
	check(
		'postgres',
		'SELECT left(plain, 3), compressed_digits, plain, compressed FROM toasted'),
	qr/^compact: words 0, refused 33, .* columns 4 of 4$/,
	'toasted: several columns');


# ----------
# Several columns
# ----------

$node->safe_psql(
	'postgres', 'SELECT setseed(' . rand() . ');' . q{
	CREATE DOMAIN positive AS int8 CHECK (VALUE >= 0);
	CREATE DOMAIN short_string AS varchar(5);
	CREATE DOMAIN shorter_string AS short_string NOT NULL;
	CREATE DOMAIN amount AS numeric(14, 2);
	CREATE DOMAIN place AS disorderly;
	CREATE TABLE several AS
	SELECT random() < 0.5 AS a_bool,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int2 - 1::int2 END AS a_int2,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int4 - 1 END AS a_int4,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int8 - 1 END AS a_int8,
		CASE WHEN random() < 0.8 THEN (random() * 2 - 1)::numeric(2, 1)::float4 END AS a_float4,
		CASE WHEN random() < 0.8 THEN (random() * 2 - 1)::numeric(2, 1)::float8 END AS a_float8,
		CASE WHEN random() < 0.8 THEN '2024-02-28'::date + (random() * 3)::int4 END AS a_date,
		CASE WHEN random() < 0.8 THEN lpad(to_hex((random() * 3)::int), 32, '0')::uuid END AS a_uuid,
		CASE WHEN random() < 0.8 THEN random_text('ab ', 4) END AS a_text,
		CASE WHEN random() < 0.8 THEN random_text('ab ', 4)::char(6) END AS a_bpchar,
		CASE WHEN random() < 0.8 THEN random_text('ab', 2)::name END AS a_name,
		CASE WHEN random() < 0.8 THEN repeat('z', (random() * 90)::int) || random_text('ab', 1) END AS long_text,
		CASE WHEN random() < 0.8 THEN (random() * 4 - 2)::numeric(3, 1) END AS a_numeric,
		CASE WHEN random() < 0.8 THEN (random() * 4 - 2)::numeric(30, 1) * 10::numeric ^ (random() * 30)::int END AS long_numeric,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int8::positive END AS a_positive,
		random_text('ab ', 3)::shorter_string AS a_string,
		CASE WHEN random() < 0.8 THEN (random() * 3)::amount END AS an_amount,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int4::"char" END AS a_char,
		CASE WHEN random() < 0.8 THEN (random() * 3 - 1)::numeric(2, 1)::money END AS a_money,
		CASE WHEN random() < 0.8 THEN '12:00'::time + (random() * 3)::int4 * interval '1 hour' END AS a_time,
		CASE WHEN random() < 0.8 THEN timetz '12:00+00' AT TIME ZONE ((random() * 3)::int4 * interval '1 hour') END AS a_timetz,
		CASE WHEN random() < 0.8 THEN (random() * 3 - 1)::int4 * interval '1 month' END AS an_interval,
		CASE WHEN random() < 0.8 THEN (random() * 3 - 1)::int4 * interval '100000 years' END AS a_long_interval,
		CASE WHEN random() < 0.8 THEN set_masklen('10.0.0.0'::inet + (random() * 3)::int4, 30 + (random() * 2)::int4) END AS an_inet,
		CASE WHEN random() < 0.8 THEN set_masklen('2001:db8::'::inet + (random() * 3)::int4, 126 + (random() * 2)::int4) END AS a_long_inet,
		CASE WHEN random() < 0.8 THEN network(set_masklen('10.0.0.0'::inet, 8 + (random() * 3)::int4)) END AS a_cidr,
		CASE WHEN random() < 0.8 THEN lpad(to_hex((random() * 3)::int), 12, '0')::macaddr END AS a_macaddr,
		CASE WHEN random() < 0.8 THEN lpad(to_hex((random() * 3)::int), 16, '0')::macaddr8 END AS a_macaddr8,
		CASE WHEN random() < 0.8 THEN decode(repeat('00', (random() * 2)::int4) || repeat('01', (random() * 2)::int4), 'hex') END AS a_bytea,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int4::bit(5) END AS a_bit,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int4::bit(60)::varbit || '0' END AS a_varbit,
		CASE WHEN random() < 0.8 THEN (enum_range(NULL::orderly))[1 + floor(random() * 4)] END AS an_enum,
		CASE WHEN random() < 0.8 THEN (enum_range(NULL::disorderly))[1 + floor(random() * 8)]::place END AS a_place,
		CASE WHEN random() < 0.8 THEN (random() * 3)::int4::text::xid8 END AS an_xid8,
		CASE WHEN random() < 0.8 THEN '0/0'::pg_lsn + (random() * 3)::int4 END AS an_lsn,
		CASE WHEN random() < 0.8 THEN format('(%s,%s)', (random() * 2)::int4, (random() * 2)::int4)::tid END AS a_tid
	FROM generate_series(1, 300);
});
my @columns = split /\n/,
  $node->safe_psql('postgres',
	q{SELECT attname FROM pg_attribute WHERE attrelid = 'several'::regclass
		AND attnum > 0 ORDER BY attnum});
my @cases;
foreach my $case (1 .. 150)
{
	my @chosen = map { $columns[ int(rand(@columns)) ] } 1 .. 2 + int(rand(5));
	my @descending = map { int(rand(2)) } @chosen;
	my @nulls_first = map { int(rand(2)) } @chosen;
	my $ncolumns = @chosen;

	# every other case without NULLs, so that the compact layout is tried
	my $where = '';
	$where = ' WHERE ' . join(' AND ', map { "$_ IS NOT NULL" } @chosen)
	  if $case % 2 == 0;

	push @cases, {
		query => [
			'SELECT ' . join(', ', @chosen) . ' FROM several' . $where,
			descending => \@descending,
			nulls_first => \@nulls_first ],
		expected => qr/^compact: .* columns $ncolumns of $ncolumns$/,
		name => "columns @chosen, descending @descending, nulls first @nulls_first"
		  . ($where ne '' ? ', no nulls' : '') };
}
my @verdicts = checks('postgres', map { $_->{query} } @cases);
like(shift @verdicts, $_->{expected}, $_->{name}) foreach @cases;

like(
	check(
		'postgres',
		q{SELECT a_int2, a_text::tsvector, a_int4 FROM several},
		descending => [ 1, 0, 0 ]),
	qr/^compact: words 1, .*; general: words 1, .*; columns 1 of 3$/,
	'keys end before a column that cannot be encoded');


# ----------
# Collations and encodings
# ----------

my ($libc) = (`getconf GNU_LIBC_VERSION 2>/dev/null` // '') =~ /^glibc (\d+\.\d+)/;
my $libc_bytewise = 0;
if (defined $libc)
{
	my ($major, $minor) = split /\./, $libc;
	$libc_bytewise = $major > 2 || $minor >= 35;
}

# collations of the server by provider and locale
my $list = q{SELECT quote_ident(collname)
	FROM pg_collation WHERE collencoding IN (-1, 6) AND };
my @bytewise = ('"C"', '"POSIX"');
my @other = split /\n/, $node->safe_psql('postgres',
	"$list collname IN ('und-x-icu', 'en-x-icu', 'en_US', 'en_US.utf8', 'unicode')"
	. (GpusortCluster::has_icu() ? '' : " AND collprovider <> 'i'"));
my @c_utf8 = split /\n/,
  $node->safe_psql('postgres', "$list collprovider = 'c' AND collcollate ~* '^C.utf-?8\$'");

push @{ $libc_bytewise ? \@bytewise : \@other }, @c_utf8;
push @bytewise, '"pg_c_utf8"' if $version >= 17;
push @bytewise, '"pg_unicode_fast"' if $version >= 18;
push @bytewise, '"ucs_basic"';

my $obstacle = sub {
	my ($type, $operator, $collation) = @_;
	return $node->safe_psql('postgres',
		"SELECT sort_key_obstacle('$type', '$operator'::regoperator, $collation)");
};
my $oid = sub { return "'$_[0]'::regcollation" };

foreach my $collation (@bytewise)
{
	foreach my $name (sort keys %string_type)
	{
		check_column('postgres', "SELECT v COLLATE $collation FROM v_$name",
			qr/^compact/, "$name collate $collation");
	}
	is($obstacle->('text', '<(text,text)', $oid->($collation)),
		'none', "collation $collation is ordered by bytes");
}
is($obstacle->('text', '<(text,text)', 0), 'collation', 'no collation');

# Others have sort keys.
if (grep { /icu/ } @other)
{
	$node->safe_psql(
		'postgres', q{
		CREATE COLLATION nondeterministic
			(provider = icu, locale = 'en-u-ks-level2', deterministic = false);
		CREATE COLLATION punctuation_later
			(provider = icu, locale = 'en-u-ka-shifted-kf-upper-kn', deterministic = true)});
	push @other, 'nondeterministic', 'punctuation_later';
}
foreach my $locale (grep { /UTF-8/ } sort keys %made_locale)
{
	$node->safe_psql('postgres',
		"CREATE COLLATION \"$locale\" (provider = libc, locale = '$locale')");
	push @other, "\"$locale\"";
}
$node->safe_psql('postgres', 'CREATE EXTENSION citext');

# strings of ordinary length, most of which differ in few characters, and strings that differ only late or in what
# counts little
my $usual_strings = q{
	SELECT random_text('abcdefghijklmnopqrstuvwxyz', 14) FROM generate_series(1, 150)
	UNION ALL
	SELECT 'common to many' || random_text('ab-' || chr(224) || chr(225) || chr(768) || ' AB', 5)
	FROM generate_series(1, 150)
	UNION ALL
	SELECT repeat('long', 30 + n % 3) || random_text('ab', 2) FROM generate_series(1, 20) n
	UNION ALL
	SELECT s FROM unnest('{cs,csz,cz,ccs,ccsz,dzs,ddzs,de luge,de-luge,deluge,de Luge,DE LUGE,10,9,1,01,cote,coté,côte,côté}'::text[]) s
	UNION ALL
	SELECT repeat(chr(768), n * 10) || 'a' FROM generate_series(1, 3) n
};
foreach my $collation (@other)
{
	foreach my $name (sort keys %string_type)
	{
		check_column('postgres', "SELECT v COLLATE $collation FROM v_$name",
			qr/^compact: words 0, .* columns 1 of 1$/,
			"$name collate $collation");
	}
	foreach my $type (qw(text citext text[]))
	{
		check_column(
			'postgres',
			'SELECT ' . ($type eq 'text[]' ? "ARRAY[left(s, 1), s]" : "s::$type") . " COLLATE $collation FROM ($usual_strings) strings (s)",
			qr/^compact: words 0, .* columns 1 of 1$/,
			"usual strings as $type collate $collation");
	}
	like(
		check(
			'postgres',
			"SELECT n % 5, s COLLATE $collation, n, left(s, 9) COLLATE $collation"
			  . " FROM (SELECT s, row_number() OVER () n FROM ($usual_strings) strings (s)) s",
			descending => [ 0, 1, 1, 0 ]),
		qr/^compact: words 0, .* columns 4 of 4$/,
		"several columns, two of them collate $collation");
	check_column('postgres', "SELECT $_ COLLATE $collation FROM toasted",
		qr/^compact: words 0, .* columns 1 of 1$/,
		"toasted: $_ collate $collation")
	  foreach qw(plain compressed);
	is($obstacle->('text', '<(text,text)', $oid->($collation)),
		'none', "collation $collation is no obstacle");
}

# All attributes that ICU takes, and scripts for which it has rules.
my $mixed_scripts = q{
	SELECT random_text('aAbBcC-'' .,' || U&'\00e4\00c4\0301\0308\030a\0327', 10) FROM generate_series(1, 60)
	UNION ALL
	SELECT random_text(U&'\0e40\0e41\0e01\0e02\0e32\0e33\0e48\0e49 a', 8) FROM generate_series(1, 30)
	UNION ALL
	SELECT random_text(U&'\ac00\ac01\1100\1161\11a8\4e00\4e8c\9fa5\3042\30a2\30fc\309d\3099', 8) FROM generate_series(1, 40)
	UNION ALL
	SELECT random_text('0123456789' || U&'\0660\0967 -.', 12) FROM generate_series(1, 30)
	UNION ALL
	SELECT random_text(U&'\0415\0435\0301\0448\05d0\05b0\0627\064e\0915\094d\0937', 8) FROM generate_series(1, 40)
	UNION ALL
	SELECT random_text(U&'\FFFD\FFFE\FFFF\+01F600\+010000\+10FFFF\200D\0001\007F\E000', 6) FROM generate_series(1, 40)
};
my @icu_locales = (grep { /icu/ } @other) ? (
	'fr-CA', 'th', 'ko', 'ja', 'zh', 'hu', 'da-u-kf-upper', 'de-u-co-phonebk', 'und-u-kb', 'und-u-kc', 'und-u-kn',
	'und-u-ks-identic', 'und-u-ks-level1', 'und-u-ks-level4-ka-shifted', 'und-u-kc-ks-level1', 'und-u-kr-grek-digit-latn')
  : ();
my @icu_mixed = map { my $locale = $_; map { { locale => $locale, deterministic => $_, name => "$locale $_" } } 'true', 'false' } @icu_locales;
$node->safe_psql('postgres', join '', "SET client_min_messages = error;\n",
	map { "CREATE COLLATION \"$_->{name}\" (provider = icu, locale = '$_->{locale}', deterministic = $_->{deterministic});\n" } @icu_mixed);
@verdicts = checks('postgres', map { ["SELECT s COLLATE \"$_->{name}\" FROM ($mixed_scripts) strings (s)"] } @icu_mixed);
like(shift @verdicts,
	qr/^compact: words 0, .* columns 1 of 1$/,
	"mixed scripts under ICU's $_->{locale}" . ($_->{deterministic} eq 'true' ? '' : ', nondeterministic'))
  foreach @icu_mixed;

# Pattern operators order by bytes under any collation.
foreach my $collation (@other)
{
	foreach my $type (qw(text varchar bpchar))
	{
		my $operand = $type eq 'bpchar' ? 'bpchar' : 'text';

		check_column(
			'postgres',
			"SELECT v COLLATE $collation FROM v_$type",
			qr/^compact/,
			"$type collate $collation, by pattern operators",
			"~<~($operand,$operand)",
			"~>~($operand,$operand)");
	}
}

# Databases by their default collation and encoding.
my @databases = (
	[ 'latin1', "ENCODING 'LATIN1' LOCALE 'C'" ],
	[ 'sql_ascii', "ENCODING 'SQL_ASCII' LOCALE 'POSIX'" ]);
push @databases, [ 'libc_c_utf8', "ENCODING 'UTF8' LOCALE 'C.UTF-8'" ]
  if @c_utf8;
push @databases, [ 'libc_utf8', "ENCODING 'UTF8' LOCALE 'en_US.UTF-8'" ]
  if $made_locale{'en_US.UTF-8'};
push @databases, [ 'libc_latin1', "ENCODING 'LATIN1' LOCALE 'de_DE.ISO-8859-1'" ]
  if $made_locale{'de_DE.ISO-8859-1'};
push @databases,
  [
	'icu', "ENCODING 'UTF8' LOCALE_PROVIDER icu LOCALE 'C' ICU_LOCALE 'en'" ],
  [
	'icu_latin1', "ENCODING 'LATIN1' LOCALE_PROVIDER icu LOCALE 'C' ICU_LOCALE 'de'" ]
  if grep { /icu/ } @other;
push @databases,
  [
	'builtin_c_utf8',
	"ENCODING 'UTF8' LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'" ]
  if $version >= 17;

foreach my $database (@databases)
{
	my ($name, $options) = @$database;

	$node->safe_psql('postgres',
		"CREATE DATABASE $name TEMPLATE template0 $options");
	$node->safe_psql($name, $functions);
	is( $node->safe_psql(
			$name,
			q{SELECT sort_key_obstacle('text', '<(text,text)'::regoperator, 100)}),
		'none',
		"default collation of database $name");

	# all bytes, some of which no locale knows
	my $values = $name =~ /latin1|sql_ascii/ ?
	  q{SELECT c || t FROM (SELECT chr(n) FROM generate_series(1, 255) n) b (c),
		unnest(ARRAY['', 'a', chr(1), chr(255)]) t} :
	  q{SELECT chr(n) || t FROM generate_series(1, 50000, 499) n,
		unnest(ARRAY['', 'a', chr(1), chr(255), chr(66000)]) t};

	foreach my $type (qw(text bpchar name))
	{
		check_column($name, "SELECT v::$type FROM ($values) AS s (v)",
			qr/^compact/, "database $name, $type");
	}

	# citext is lowered by the database's collation, and sorted by the given one; its comparisons take long, so a
	# third of the values has to do
	my $some = "SELECT v FROM ($values) AS s (v) WHERE abs(hashtext(v) % 3) = " . int(rand(3));
	$node->safe_psql($name, 'CREATE EXTENSION citext');
	is( $node->safe_psql(
			$name,
			q{SELECT sort_key_obstacle('citext', '<(citext,citext)'::regoperator, 100)}),
		'none',
		"citext under the default collation of database $name");
	check_column($name,
		"SELECT v::citext FROM ($some) AS s (v)",
		qr/^compact: words 0, .* columns 1 of 1/, "database $name, citext");
	check_column($name,
		"SELECT v::citext COLLATE \"C\" FROM ($some UNION ALL SELECT 'x' || upper(v) FROM ($some) AS t (v)) AS s (v)",
		qr/^compact: words 0, .* columns 1 of 1/, "database $name, citext collate C");

	$node->safe_psql($name, $enums);
	make_parts($name, 150);
	check_parts($name);
}


check_column('postgres', "SELECT $_\::citext FROM toasted",
	qr/^compact: words 0, .* columns 1 of 1/, "citext, toasted: $_")
  foreach qw(plain compressed);
check_column(
	'postgres',
	"SELECT v::citext FROM ($random_strings UNION ALL SELECT random_text('aAbB ', 4) FROM generate_series(1, 200)) AS s (v)",
	qr/^compact: words 0, .* columns 1 of 1/, 'citext');
$node->safe_psql('postgres', 'CREATE DOMAIN short_citext AS citext CHECK (length(VALUE) < 9)');
is($obstacle->('short_citext', '<(citext,citext)', $oid->('"C"')),
	'none', 'domain over citext');
is($obstacle->('citext', '~<~(citext,citext)', $oid->('"C"')),
	'operator', 'citext by its own pattern operators');


# ----------
# Types of other extensions
# ----------

my %has = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT extname FROM pg_extension');

SKIP:
{
	skip 'no ltree', 1 unless $has{ltree};

	# labels of all letters that labels may have, many labels, long ones, and long common prefixes
	check_column(
		'postgres', q{
		SELECT ltree(v) FROM (SELECT chr(n) FROM generate_series(48, 122) n WHERE chr(n) ~ '[0-9A-Za-z_]'
			UNION ALL SELECT rtrim(repeat('a.', n), '.') FROM generate_series(60, 75) n
			UNION ALL SELECT rtrim(repeat('a.', 30000), '.') || random_text('ab', 3) FROM generate_series(1, 5)
			UNION ALL SELECT repeat('a', n) || random_text('ab', 2) FROM generate_series(120, 140) n) s (v)},
		qr/^compact: words 0, .* columns 1 of 1/, 'paths');
	check_column(
		'postgres', q{SELECT ltree(rtrim(repeat('Alike.', 100), '.') || '.' || CASE n WHEN 700 THEN 'A' ELSE 'b' END || n) FROM generate_series(1, 1000) n},
		qr/^compact: words 0, refused 0, truncated 1;/, 'paths that begin alike');

	# only the type that the extension makes has keys
	$node->safe_psql(
		'postgres', q{
		CREATE SCHEMA other;
		CREATE TYPE other.ltree;
		CREATE FUNCTION other.input(cstring) RETURNS other.ltree LANGUAGE internal IMMUTABLE STRICT AS 'textin';
		CREATE FUNCTION other.output(other.ltree) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
		CREATE TYPE other.ltree (input = other.input, output = other.output);
		CREATE FUNCTION other.less(other.ltree, other.ltree) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'bytealt';
		CREATE FUNCTION other.ltree_cmp(other.ltree, other.ltree) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'byteacmp';
		CREATE OPERATOR other.< (FUNCTION = other.less, LEFTARG = other.ltree, RIGHTARG = other.ltree);
		CREATE OPERATOR CLASS other.ltree_ops DEFAULT FOR TYPE other.ltree USING btree AS OPERATOR 1 other.<, FUNCTION 1 other.ltree_cmp(other.ltree, other.ltree)});
	is($obstacle->('ltree', '<(ltree,ltree)', 0), 'none', 'the type of the extension');
	is($obstacle->('other.ltree', 'other.<(other.ltree,other.ltree)', 0), 'type', 'another one of its name');
	$node->safe_psql('postgres', 'ALTER EXTENSION ltree ADD TYPE other.ltree');
	is($obstacle->('other.ltree', 'other.<(other.ltree,other.ltree)', 0), 'type', 'one that the extension was given');
}

SKIP:
{
	skip 'no hstore', 1 unless $has{hstore};
	check_column(
		'postgres', q{
		SELECT v::hstore FROM (SELECT '' UNION ALL SELECT unnest(ARRAY['""=>""', '""=>NULL', 'a=>""', 'a=>NULL', '""=>a', 'a=>b', 'ab=>""', 'ab=>NULL', '""=>ab', 'a=>"", b=>""', 'a=>NULL, b=>""', 'a=>"", b=>NULL'])
			UNION ALL SELECT format('a=>%s', repeat('x', n)) FROM unnest('{125,126,127,128,32765,32766,32767,32768}'::int[]) n
			UNION ALL SELECT format('ax=>%s', repeat('x', n - 1)) FROM unnest('{125,126,127,128,32765,32766,32767,32768}'::int[]) n
			UNION ALL SELECT (SELECT string_agg(format('%s=>%s', i, CASE WHEN random() < 0.5 THEN '""' ELSE 'NULL' END), ',') FROM generate_series(1, 60) i) FROM generate_series(1, 20)) s (v)},
		qr/^compact: words 0, .* columns 1 of 1/, 'pairs');

	# values as versions before 9.0 stored them on little-endian machines
	$node->safe_psql('postgres', 'CREATE CAST (bytea AS hstore) WITHOUT FUNCTION');
	check_column(
		'postgres', q{
		SELECT v FROM (SELECT unnest(ARRAY['\x00000000', '\x0100000001000100000000006162', '\x01000000010000000000000061', '\x0100000001000080020000006162', '\x0100000001000100010000006162', '\x0100000000000100000000007a']::bytea[])::hstore
			UNION ALL SELECT unnest('{"a=>b", "a=>\"\"", "a=>NULL", "b=>c", "z=>a"}'::hstore[])) s (v)},
		qr/^compact: words 0, .* columns 1 of 1/, 'pairs of an old version')
	  if unpack('C', pack('S', 1)) == 1;
}

SKIP:
{
	skip 'no isn', 1 unless $has{isn};
	foreach my $type (qw(ean13 isbn13 ismn13 issn13 isbn ismn issn upc))
	{
		is($obstacle->($type, "<($type,$type)", 0), 'none', $type);
		is($obstacle->($type, '>(isbn,ean13)', 0), 'operator', "$type by an operator of two types");
	}
}


# ----------
# Types and operators
# ----------

is($obstacle->('int4', '<(int4,int4)', 0), 'none', 'default ordering');
is($obstacle->('int4', '>(int4,int4)', 0), 'none', 'its reverse');
is($obstacle->('int4', '<=(int4,int4)', 0), 'operator', 'not an ordering');
is($obstacle->('int4', '<(int8,int8)', 0), 'operator', "another type's");
is($obstacle->('int4', '<(int4,int8)', 0), 'operator', 'of two types');
is($obstacle->('varchar', '<(text,text)', $oid->('"C"')),
	'none', 'varchar sorts as text');
is($obstacle->('regtype', '<(oid,oid)', 0), 'none', 'regtype sorts as oid');
is($obstacle->('bpchar', '<(text,text)', $oid->('"C"')),
	'operator', 'bpchar does not');
is($obstacle->('text', '~<~(text,text)', 0), 'none', 'pattern operator');
is($obstacle->('text', '~>~(text,text)', 0), 'none', 'its reverse');
is($obstacle->('text', '~<=~(text,text)', 0), 'operator', 'not an ordering');
is($obstacle->('bpchar', '~<~(bpchar,bpchar)', 0), 'none', 'for bpchar');
is($obstacle->('bpchar', '~<~(text,text)', 0), 'operator', "bpchar as text");
is($obstacle->('shorter_string', '<(text,text)', $oid->('"C"')),
	'none', 'domain over a domain');
is($obstacle->('int4[]', '<(anyarray,anyarray)', 0), 'none', 'array');
is($obstacle->('text[]', '<(anyarray,anyarray)', 0), 'collation', 'array of text, no collation');
is($obstacle->('tsvector[]', '<(anyarray,anyarray)', 0), 'type', 'array of an unknown type');
is($obstacle->('int4range[]', '<(anyarray,anyarray)', 0), 'none', 'array of ranges');
is($obstacle->('oidvector', '<(oidvector,oidvector)', 0), 'type', 'oidvector');
is($obstacle->('tsvector', '<(tsvector,tsvector)', 0), 'type', 'unknown type');

$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION reverse_cmp(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE
		AS 'SELECT btint4cmp($2, $1)';
	CREATE OPERATOR <# (FUNCTION = int4gt, LEFTARG = int4, RIGHTARG = int4);
	CREATE OPERATOR CLASS reverse_ops FOR TYPE int4 USING btree AS
		OPERATOR 1 <#, FUNCTION 1 reverse_cmp(int4, int4);
});
is($obstacle->('int4', '<#(int4,int4)', 0), 'operator', 'custom ordering');


$node->stop;
done_testing();
