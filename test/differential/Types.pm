# The types that columns may have, with values at their edges, and the
# collations of those that have one.
#
# A value is written as an SQL expression of type text, of which the type's
# own input makes a value.  A type has
#	sql			how it is written in a column's definition
#	kind		what expressions of Keys.pm it fits
#	edges		values that are often drawn
#	random		a function that draws another value
#	spread		an SQL expression of the bigint h that makes values as many
#				and, where that is simple, in the order of h
#	canonical	an SQL pattern that gives equal values the same text; left out
#				where equal values have the same text anyway
#	collatable	it has a collation; with "deterministic", one of those only
#	long		some values are too long for an index
package Types;
use strict;
use warnings;
use Draw;
use Exporter 'import';

our @EXPORT = qw(all_types type_named definitions collations_of is_nondeterministic canonical has_amcheck);

# The text of equal values of type interval, numeric and so on is not always
# the same.
my $canonical_interval = "coalesce((((extract(year from %s) * 12 + extract(month from %s)) * 30 + extract(day from %s)) * 86400"
  . ' + extract(hour from %s) * 3600 + extract(minute from %s) * 60 + extract(second from %s))::text, %s::text)';

sub literals { return map { quoted($_) } @_; }

sub digits
{
	my ($count) = @_;
	return join '', map { below(10) } 1 .. $count;
}

sub random_integer
{
	my ($bits) = @_;
	my $size = between(1, $bits - 1);
	return quoted((chance(0.5) ? '-' : '') . int(rand(2**$size)));
}

sub random_numeric
{
	my $sign = chance(0.4) ? '-' : '';
	return quoted($sign . digits(between(1, 4)) . '.' . digits(between(0, 2))) if chance(0.4);
	return quoted($sign . digits(between(1, 30)) . '.' . digits(between(0, 30))) if chance(0.6);
	return quoted($sign . digits(between(1, 5)) . 'e' . between(-300, 300));
}

sub random_float
{
	my ($exponent) = @_;
	return quoted((rand() - 0.5) * 10**between(-$exponent, $exponent));
}

sub random_hexadecimal
{
	my ($length) = @_;
	return join '', map { sprintf '%x', below(16) } 1 .. $length;
}

sub random_bits
{
	my ($length) = @_;
	return join '', map { below(2) } 1 .. $length;
}

sub random_date { return sprintf '%04d-%02d-%02d', between(1, 9999), between(1, 12), between(1, 28); }

sub random_time
{
	return sprintf '%02d:%02d:%02d.%06d', below(24), below(60), below(60), pick(0, below(1000000));
}

sub random_zone { return sprintf '%s%02d:%02d', pick('+', '-'), below(15), pick(0, 30, below(60)); }

# Strings about which collations are known to disagree, and lengths around those of key words and of
# whole keys.
my @words = (
	'', ' ', '  ', 'a', 'A', 'b', 'B', 'aa', 'aA', 'Aa', 'ab', 'a b', 'a-b', 'a_b', 'a.b', 'a,b', 'co-op', 'coop', 'CO-OP', 'coop ',
	'a ', 'a  ', ' a', 'z', 'Z', 'zebra', 'Zebra', '9', '10', '010', 'a9', 'a10', 'a010', '-1', '0', '~', '!', '_', '"', "'", '\\', '%',
	"\t", "a\n", "a\tb", "\x01", "\x7f", 'resume', 'Resume', 'aaaaaaa', 'aaaaaaaa', 'aaaaaaaaa', 'aaaaaaab', 'null', 'NULL');
my @latin_words = ("r\xe9sum\xe9", "R\xe9sum\xe9", "\xe4", "\xc4", "\xdf", "Stra\xdfe", 'Strasse', "\xe6", "\xe5", "\xff", "\xd8");
my @unicode_words = (
	"re\x{301}sume\x{301}", "a\x{308}", "\x{1c6}", "\x{1c5}", "\x{3b1}", "\x{391}", "\x{3c2}", "\x{3c3}", "\x{430}", "\x{4e00}",
	"\x{3042}", "\x{30a2}", "\x{ff71}", "\x{ac00}", "\x{627}", "\x{5d0}", "\x{e000}", "\x{ffff}", "\x{10000}", "\x{1f600}",
	"\x{10ffff}", "a\x{200b}b", "a\x{ad}b", "\x{2010}", "\x{fb01}", 'fi', "I\x{307}", "\x{130}", "\x{131}");

my @alphabets = ([ 'a' .. 'c' ], [ 'a' .. 'z', 'A' .. 'Z', '0' .. '9', ' ', '-', '_' ], [ 'a', 'b', 'A', 'B', '-', ' ' ]);
my @latin_alphabet = ('a', 'A', 'b', 'e', 'o', 's', ' ', map { chr } 0xa1 .. 0xff);
my @unicode_alphabet = (
	'a', 'A', 'e', ' ', "\x{301}", "\x{308}", "\x{327}", "\x{e9}", "\x{200b}", "\x{200d}", "\x{ad}", map { chr } 0x100 .. 0x17f, 0x3b1 .. 0x3c9,
	0x430 .. 0x44f, 0x5d0 .. 0x5ea, 0x627 .. 0x63a, 0xe01 .. 0xe2e, 0x3041 .. 0x3096, 0x4e00 .. 0x4e20, 0xac00 .. 0xac20, 0x1f600 .. 0x1f610);
my @long_words = (
	(map { ("repeat('a', $_)", "repeat('a', $_) || 'b'") } 15, 16, 120, 126, 127, 128, 129, 136, 500),
	"repeat('ab', 1500)", "repeat('ab', 1500) || 'c'", "repeat('x', 9000)", "'b' || repeat(' ', 300)", "'b' || repeat(' ', 300) || 'c'",
	"(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 150) i)",
	"(SELECT string_agg(md5(i::text), '') || 'z' FROM generate_series(1, 150) i)");

sub random_word
{
	my $alphabet = pick(@alphabets);
	my $prefix = chance(0.2) ? 'common' x between(1, 4) : '';
	return quoted($prefix . join '', map { pick(@$alphabet) } 1 .. between(0, pick(4, 4, 10, 10, 40, 150)));
}

my (@types, %types, @collations, %nondeterministic, $definitions, $has_amcheck);

sub add_type
{
	my (%type) = @_;
	$type{sql} //= $type{name};
	push @types, \%type;
	$types{ $type{name} } = \%type;
}

# Adds a domain, an array or the like, which has all but name and values from another type.
sub add_like
{
	my ($name, $base, %changes) = @_;
	add_type(%{ $types{$base} }, name => $name, sql => $name, %changes);
}

sub add_numbers
{
	my ($major) = @_;
	add_type(name => 'boolean', kind => 'boolean', edges => [ literals('true', 'false') ], random => sub { pick("'t'", "'f'") });
	add_type(name => 'smallint', kind => 'integer', edges => [ literals(0, 1, -1, 255, 256, -32768, 32767) ],
		random => sub { random_integer(16) }, spread => '((h >> 16) % 32768)');
	add_type(name => 'integer', kind => 'integer', edges => [ literals(0, 1, -1, 65535, -2147483648, 2147483647) ],
		random => sub { random_integer(32) }, spread => '(h % 2147483648)');
	add_type(name => 'bigint', kind => 'integer', edges => [ literals(0, 1, -1, '-9223372036854775808', '9223372036854775807', 4294967296) ],
		random => sub { random_integer(53) }, spread => 'h');
	add_type(name => 'oid', edges => [ literals(0, 1, 2147483647, 2147483648, 4294967295) ],
		random => sub { quoted(below(2**pick(4, 16, 32))) }, spread => 'abs(h % 4294967296)');
	add_type(name => 'regtype', edges => [ literals('integer', 'text', 'bigint', 'boolean', '0') ], random => sub { quoted(between(100000, 100100)) });
	foreach my $float ([ 'real', '3.4028235e38', '1e-45', 30 ], [ 'double precision', '1.7976931348623157e308', '5e-324', 300 ])
	{
		my ($name, $greatest, $least, $exponent) = @$float;
		add_type(name => $name, kind => 'float', canonical => '(%s + 0)::text',
			edges => [ literals('0', '-0', 'NaN', 'Infinity', '-Infinity', $greatest, "-$greatest", $least, "-$least", '1', '-1', '0.1') ],
			random => sub { random_float(pick(2, $exponent)) }, spread => '(h::double precision / 1e10)');
	}
	add_type(name => 'numeric', kind => 'numeric', canonical => 'trim_scale(%s)::text',
		edges => [
			literals('NaN', 'Infinity', '-Infinity', '0', '0.00', '1', '1.0', '1.000', '-1', '-1.0', '9999', '10000', '9999.9999',
				'99990000', '99999999999999.99', '99999999999999.990', '-99999999999999.99', '0.0001', '0.00001', '-0.0001', '1e-200',
				'-1e-200', '1e244', '1e248', '1e252', '-1e248', '1e-244', '1e-248', '1e3000', '-1e3000', '1e-3000',
				'123456789012345678901234567890.123456789', '123456789012345678901234567890.1234567890',
				'12345678901234567890123456789012345678901234567890123456789012345678901234567890'),
			map { "'1' || repeat('0', $_) || '.5'" } 80, 250, 600 ],
		random => \&random_numeric, spread => '(h::numeric / 10000)');
	foreach my $numeric ([ 'numeric(14,2)', 14, 2 ], [ 'numeric(38,10)', 38, 10 ], [ 'numeric(4,-2)', 4, 0 ])
	{
		my ($name, $precision, $scale) = @$numeric;
		my $nines = '9' x ($precision - $scale) . ($scale > 0 ? '.' . '9' x $scale : '');
		add_like($name, 'numeric', edges => [ literals('NaN', 0, 1, -1, 100, $nines, "-$nines") ],
			random => sub { quoted((chance(0.5) ? '-' : '') . digits(between(1, $precision - $scale)) . '.' . digits($scale)) },
			spread => $precision > 20 ? '(h::numeric / 10000)' : $scale > 0 ? '(h::numeric % 999999999999) / 100' : '(h % 9999) * 100');
	}
	add_type(name => 'money', edges => [ literals('0', '-92233720368547758.08', '92233720368547758.07', '1.23', '-0.01') ],
		random => sub { quoted(digits(between(1, 14)) . '.' . digits(2)) }, spread => '(h % 1000000000)::money');
	add_type(name => 'xid8', edges => [ literals(0, 1, '18446744073709551615', '9223372036854775808') ],
		random => sub { quoted(below(2**pick(8, 40))) }, spread => 'abs(h / 2)');
	add_type(name => 'pg_lsn', edges => [ literals('0/0', '0/1', '1/0', 'FFFFFFFF/FFFFFFFF', '80000000/0') ],
		random => sub { quoted(sprintf '%X/%X', below(2**32), below(2**32)) }, spread => q{('0/0'::pg_lsn + abs(h / 2)::numeric)});
	add_type(name => 'tid', edges => [ literals('(0,0)', '(0,1)', '(1,0)', '(4294967295,65535)', '(2147483648,32768)') ],
		random => sub { quoted('(' . below(2**pick(3, 32)) . ',' . below(2**pick(3, 16)) . ')') },
		spread => "format('(%s,%s)', abs(h / 65536 % 4294967296), abs(h % 65536))");
}

sub add_times
{
	my ($major) = @_;
	add_type(name => 'date', kind => 'date', edges => [ literals('infinity', '-infinity', '4713-01-01 BC', '5874897-12-31', '2000-01-01', '1999-12-31') ],
		random => sub { quoted(random_date()) }, spread => "('2000-01-01'::date + (h % 1000000)::integer)");
	add_type(name => 'time', kind => 'time', edges => [ literals('00:00', '24:00', '23:59:59.999999', '12:00') ],
		random => sub { quoted(random_time()) }, spread => "('00:00'::time + (h % 86400000000) * '1 microsecond'::interval)");
	add_type(name => 'time with time zone',
		edges => [ literals('00:00+00', '12:00+00', '13:00+01', '11:00-01', '24:00+00', '24:00-15:59', '00:00+15:59', '23:59:59.999999-15:59', '12:00+00:00:01') ],
		random => sub { quoted(random_time() . random_zone()) });
	foreach my $name ('timestamp', 'timestamp with time zone')
	{
		add_type(name => $name, kind => 'timestamp',
			edges => [
				literals('infinity', '-infinity', '4713-01-01 00:00:00 BC', '294276-12-31 23:59:59.999999',
					'2000-01-01', '1999-12-31 23:59:59.999999', '2024-03-31 02:30') ],
			random => sub { quoted(random_date() . ' ' . random_time()) },
			spread => "('2000-01-01'::$name + (h % 1000000000000000) * '1 microsecond'::interval)");
	}
	add_type(name => 'interval', kind => 'interval', canonical => $canonical_interval,
		edges => [
			literals('0', '1 day', '24 hours', '30 days', '1 month', '720 hours', '-1 month', '-30 days', '1 month -30 days', '1 year', '360 days',
				'12 months 1 microsecond', '178000000 years', '-178000000 years', '2147483647 months 2147483647 days', '-2147483648 months',
				'1 microsecond', '-1 microsecond', '2147483647 days', '2562047788 hours', '-2562047788 hours'),
			$major >= 17 ? literals('infinity', '-infinity') : () ],
		random => sub { quoted(between(-100, 100) . pick(' hours', ' days', ' months', ' years', ' microseconds')) },
		spread => "((h % 1000000000000000) * '1 microsecond'::interval)");
}

sub add_networks_and_bits
{
	add_type(name => 'uuid', edges => [ literals('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
			'80000000-0000-0000-0000-000000000000', '00000000-0000-0000-8000-000000000000', '00000000-0000-0001-0000-000000000000') ],
		random => sub { quoted(random_hexadecimal(32)) }, spread => 'md5(h::text)');
	add_type(name => 'bytea', long => 1, kind => 'bytea',
		edges => [ literals('\x', '\x00', '\x0000', '\xff', '\xffff', '\x00ff', '\xff00', '\x0001', '\x01', '\x80', '\x0000000000000000', '\x000000000000000000'),
			"'\\x' || repeat('00', 128)", "'\\x' || repeat('00', 129)", "'\\x' || repeat('ab', 126)", "'\\x' || repeat('ab', 126) || '00'",
			"'\\x' || repeat('ab', 3000)", "'\\x' || repeat('ab', 3000) || '01'" ],
		random => sub { quoted('\x' . random_hexadecimal(2 * between(0, pick(3, 20, 150)))) },
		spread => q{('\x' || lpad(to_hex(h), 16, '0'))});
	my @networks = ('0.0.0.0/0', '10.0.0.0/8', '10.0.0.0/16', '10.0.0.0', '255.255.255.255', '128.0.0.0/1', '::/0', '::', '::1', 'fe80::/10',
		'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db8::/32', '2001:db8::/64', '::ffff:1.2.3.4');
	add_type(name => 'cidr', edges => [ literals(@networks) ],
		random => sub { quoted(chance(0.7) ? join('.', map { below(256) } 1 .. 4) : '2001:db8::' . random_hexadecimal(4)) });
	add_type(name => 'inet', edges => [ literals(@networks, '10.0.0.1/8', '10.0.0.2/8', '10.0.0.1/16', '10.0.0.1/32', '10.1.0.1/8', '2001:db8::1/64', '2001:db8::1/32') ],
		random => sub { quoted(chance(0.7) ? join('.', map { below(pick(3, 256)) } 1 .. 4) . '/' . between(0, 32) : '2001:db8::' . random_hexadecimal(4) . '/' . between(0, 128)) },
		spread => "('0.0.0.0'::inet + abs(h % 4294967296))");
	add_type(name => 'macaddr', edges => [ literals('00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '80:00:00:00:00:00', '00:00:00:80:00:00', '00:00:01:00:00:00') ],
		random => sub { quoted(random_hexadecimal(12)) }, spread => 'left(md5(h::text), 12)');
	add_type(name => 'macaddr8', edges => [ literals('00:00:00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff:ff:ff', '80:00:00:00:00:00:00:00', '00:00:00:00:80:00:00:00') ],
		random => sub { quoted(random_hexadecimal(16)) }, spread => 'left(md5(h::text), 16)');
	add_type(name => 'bit varying', long => 1,
		edges => [ literals('', '0', '1', '00', '01', '000', '0000000', '00000000', '000000000', '1111111', '11111111', '111111110'),
			"repeat('0', 1000)", "repeat('0', 1001)", "repeat('01', 1010)", "repeat('1', 30000)" ],
		random => sub { quoted(random_bits(between(0, pick(5, 20, 200)))) }, spread => 'h::bit(64)::text');
	add_type(name => 'bit(11)', edges => [ literals('00000000000', '11111111111', '10000000000', '00000000001') ],
		random => sub { quoted(random_bits(11)) }, spread => 'h::bit(11)::text');
}

sub add_strings
{
	my ($encoding) = @_;
	my @all_words = @words;
	if ($encoding eq 'UTF8' || $encoding eq 'LATIN1')
	{
		push @all_words, @latin_words;
		push @alphabets, \@latin_alphabet;
	}
	if ($encoding eq 'UTF8')
	{
		push @all_words, @unicode_words;
		push @alphabets, \@unicode_alphabet;
	}
	utf8::encode($_) foreach @all_words, @latin_alphabet, @unicode_alphabet;

	add_type(name => 'text', kind => 'string', collatable => 1, long => 1, edges => [ literals(@all_words), @long_words ],
		random => \&random_word, spread => q{(CASE WHEN h % 2 = 0 THEN 'shared by many' ELSE '' END || md5(h::text))});
	add_like('varchar', 'text');
	add_like('varchar(7)', 'text', long => 0, edges => [ literals(@all_words) ]);
	add_like('character(9)', 'text', kind => 'padded string', long => 0, edges => [ literals(@all_words) ]);
	add_like('character(300)', 'text', kind => 'padded string');
	add_like('bpchar', 'text', kind => 'padded string', canonical => "rtrim(%s::text, ' ')");
	add_like('name', 'text', long => 0, edges => [ literals(@all_words), "repeat('a', 62)", "repeat('a', 63)" ], kind => 'name');
	add_like('"char"', 'text', long => 0, kind => 'char', collatable => 0,
		edges => [ literals('', 'a', 'A', 'z', '~', ' ', "\x01", "\x7f", $encoding eq 'UTF8' ? "\xc3\xa9" : ()) ],
		random => sub { quoted(pick('a' .. 'z', 0 .. 9)) }, spread => 'chr(1 + abs(h % 126)::integer)');
}

# A document of at most this many levels, with few different names and values.
sub random_document
{
	my ($levels) = @_;
	my $kind = $levels > 0 ? below(5) : 0;

	return '[' . join(', ', map { random_document($levels - 1) } 1 .. between(0, 3)) . ']' if $kind == 4;
	return '{' . join(', ', map { '"' . pick('a', 'b', 'aa', 'id', 'name') . '": ' . random_document($levels - 1) } 1 .. between(0, 3)) . '}' if $kind >= 2;
	return pick('null', 'true', 'false', '""', '"a"', '"A"', '"ab"', '"a b"', '1.0', between(-3, 3), between(-3, 3) / 2);
}

# Adds types that have to be made, or that have no encoder of their own.
sub add_made
{
	my ($major, $encoding, %has) = @_;
	add_type(name => 'mood', edges => [ literals('sad', 'ok', 'happy', 'furious', 'numb', 'glad') ], random => sub { pick("'sad'", "'ok'", "'glad'") });
	add_type(name => 'pair', edges => [ literals('(,)', '(1,)', '(,a)', '(1,a)', '(1,b)', '(2,a)', '(-1,"")') ],
		random => sub { quoted('(' . between(-3, 3) . ',' . pick('a' .. 'e') . ')') });
	add_like('positive', 'integer', edges => [ literals(1, 2, 2147483647) ], random => sub { quoted(between(1, 1000)) }, spread => '(1 + abs(h % 2147483647))');
	add_like('amount', 'numeric');
	add_like('small_amount', 'numeric(14,2)');
	add_like('code', 'text', kind => 'domain', collatable => 0);
	add_like('note', 'text', kind => 'domain', collatable => 1);
	add_like('span', 'interval', kind => 'domain');
	add_type(name => 'integer[]', kind => 'integer array', edges => [ literals('{}', '{1}', '{1,2}', '{2,1}', '{NULL}', '{1,NULL}', '{{1,2},{3,4}}', '[0:1]={1,2}', '{2147483647}'),
			"'{' || repeat('1,', 100) || '2}'", "'{' || repeat('1,', 100) || '3}'" ],
		random => sub { quoted('{' . join(',', map { between(-2, 2) } 1 .. between(0, 5)) . '}') });
	add_type(name => 'text[]', collatable => 1,
		edges => [ literals('{}', '{a}', '{A}', '{a,b}', '{NULL}', '{""}', '{a,NULL}', '{{a},{b}}', '[2:3]={a,b}', '{aaaaaaaa}', '{aaaaaaaa,b}', '{aaaaaaaab}'),
			"'{' || repeat('a', 130) || '}'", "'{' || repeat('a,', 130) || 'b}'", "'{' || repeat('a,', 130) || 'c}'", "'{' || repeat('a', 130) || ',b}'" ],
		random => sub { quoted('{' . join(',', map { pick('a' .. 'c', 'A', 'NULL', 'aab') } 1 .. between(0, 5)) . '}') });
	add_like('note[]', 'text[]');
	add_type(name => 'numeric[]', canonical => '(%s IS NULL)::text', edges => [ literals('{}', '{1}', '{1.0}', '{1.00,2}', '{NaN}', '{NULL}', '{Infinity}', '{-Infinity,1}', '{1e200}', '{{1,2}}', '{1,2}') ],
		random => sub { quoted('{' . join(',', map { between(-2, 2) . pick('', '.0', '.5') } 1 .. between(0, 4)) . '}') });
	add_type(name => 'double precision[]', canonical => '(%s IS NULL)::text', edges => [ literals('{}', '{0}', '{-0}', '{NaN}', '{-Infinity}', '{NULL,1}', '{1,NULL}', '{{0},{-0}}') ],
		random => sub { quoted('{' . join(',', map { between(-3, 3) / 2 } 1 .. between(0, 20)) . '}') });
	add_type(name => 'mood[]', edges => [ literals('{}', '{sad}', '{sad,ok}', '{NULL}', '{furious}', '{glad,numb,happy}') ],
		random => sub { quoted('{' . join(',', map { pick('sad', 'ok', 'glad', 'numb') } 1 .. between(0, 3)) . '}') });
	add_type(name => 'pair[]', edges => [ literals('{}', '{"(1,a)"}', '{"(1,a)","(2,b)"}', '{NULL}') ],
		random => sub { quoted('{' . join(',', map { '"(' . between(-2, 2) . ',' . pick('a' .. 'c') . ')"' } 1 .. between(0, 3)) . '}') });
	add_type(name => 'int4range', edges => [ literals('empty', '(,)', '[1,1]', '[1,2]', '[1,)', '(,1]', '[2,5)') ],
		random => sub { my $from = between(-5, 5); quoted("[$from," . ($from + below(5)) . ']') });
	add_type(name => 'int4multirange', edges => [ literals('{}', '{[1,2)}', '{[1,2),[5,7)}', '{(,)}') ],
		random => sub { my $from = between(-5, 5); quoted("{[$from," . ($from + below(5)) . ']}') });
	add_type(name => 'tsrange', edges => [ literals('empty', '(,)', '[2000-01-01,2000-01-02)', '(2000-01-01,2000-01-02]') ],
		random => sub { quoted('[' . random_date() . ',)') });
	# equal values may look different
	add_type(name => 'jsonb', canonical => '(%s IS NULL)::text',
		edges => [ literals('null', 'true', 'false', '1', '1.0', '-1', '""', '"a"', '"A"', '"aB"', '[]', '{}', '[1]', '[1.0]', '[1, 2]', '[[]]', '[null]', '{"a": 1}', '{"a": 2}',
				'{"b": 1}', '{"aa": 1}', '{"a": {"b": [1, {"c": "x"}]}}', '{"a": {"b": [1, {"d": "x"}]}}', '{"a": 1, "b": "word", "c": null}'),
			"'[\"' || repeat('a', 200) || '\", 1]'", "'[\"' || repeat('a', 200) || '\", 2]'" ],
		random => sub { quoted(random_document(3)) });
	add_type(name => 'nested', canonical => '(%s IS NULL)::text',
		edges => [ literals('(,,)', '(,,{})', '("(1,a)",,)', '("(1,b)","[]",)', '("(1,a)","{""a"": 1}","{""[1,3)""}")', '("(1,a)","{""a"": 1.0}","{empty,""[1,3)""}")') ],
		random => sub { my $document = random_document(2) =~ s/"/""/gr; quoted('("(' . between(-2, 2) . ',' . pick('a' .. 'c') . ')","' . $document . '",{})') });
	add_type(name => 'oidvector', edges => [ literals('', '1', '1 2', '2 1', '4294967295') ], random => sub { quoted(join ' ', map { below(5) } 1 .. between(0, 4)) });
	add_type(name => 'tsvector', edges => [ literals('', 'a', 'a b', 'a:1 b:2', 'b') ], random => sub { quoted(join ' ', map { pick('a' .. 'e') } 1 .. 3) });
	if ($has{citext})
	{
		# = and < of citext do not agree about strings that are equal under such a collation
		add_like('citext', 'text', kind => 'domain', canonical => 'lower(%s::text COLLATE "default")', deterministic => 1);
	}
	$has_amcheck = $has{amcheck};
	if ($has{ltree})
	{
		add_type(name => 'ltree', edges => [ literals('', 'a', 'a.b', 'a.a', 'b', 'ab', 'aB', 'a_b', '1'), "repeat('a', 130)", "repeat('a', 130) || '.b'", "repeat('a.', 70) || 'b'" ],
			random => sub { quoted(join '.', map { pick('a' .. 'c', 'ab') } 1 .. between(1, 4)) });
		add_type(name => 'ltree[]', edges => [ literals('{}', '{a}', '{a,a.b}', '{a.b}', '{NULL}') ], random => sub { quoted('{' . join(',', map { pick('a' .. 'c') . '.' . pick('a' .. 'c') } 1 .. between(0, 3)) . '}') });
	}
	if ($has{hstore})
	{
		add_type(name => 'hstore', long => 1, edges => [ literals('', '""=>""', '""=>NULL', 'a=>""', 'a=>NULL', '""=>a', 'a=>b', 'ab=>""', 'a=>"", b=>""', 'a=>NULL, b=>""'),
				"'a=>' || repeat('x', 126)", "'a=>' || repeat('x', 130)", "'a=>' || repeat('x', 130) || ', b=>1'", "'a=>' || repeat('x', 9000)" ],
			random => sub { quoted(join ', ', map { pick('a', 'b', 'ab', 'id') . '=>' . pick('NULL', '""', 'a', 'ab', between(0, 20)) } 1 .. between(0, 3)) });
	}
	if ($has{isn})
	{
		# the question mark stands for the check digit
		my %start = (ean13 => '4', isbn13 => '978', isbn => '978', ismn13 => '9790', ismn => '9790', issn13 => '977', issn => '977', upc => '0');
		foreach my $name (sort keys %start)
		{
			my $number = sub { quoted($start{$name} . $_[0] x (12 - length $start{$name}) . '?') };
			add_type(name => $name, edges => [ $number->(0), $number->(1) ], random => sub { $number->(below(10)) });
		}
	}
	$definitions .= <<'SQL';
-- labels in another order than that of their numbers
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'furious' BEFORE 'sad';
ALTER TYPE mood ADD VALUE 'numb' AFTER 'sad';
ALTER TYPE mood ADD VALUE 'glad' BEFORE 'happy';
CREATE TYPE pair AS (number integer, word text);
CREATE TYPE nested AS (pair pair, document jsonb, ranges int4range[]);
CREATE DOMAIN whole AS integer;
CREATE DOMAIN positive AS whole CHECK (VALUE > 0);
CREATE DOMAIN amount AS numeric;
CREATE DOMAIN small_amount AS numeric(14,2);
CREATE DOMAIN code AS text COLLATE "C";
CREATE DOMAIN note AS text;
CREATE DOMAIN span AS interval;
SQL
}

# Collations that the server may have; those that it cannot make are left out.
my @made_collations = (
	[ 'any_case', "provider = icu, locale = 'und-u-ks-level2', deterministic = false", 1 ],
	[ 'any_accent', "provider = icu, locale = 'und-u-ks-level1', deterministic = false", 1 ],
	[ 'equivalent', "provider = icu, locale = 'und', deterministic = false", 1 ],
	[ 'by_number', "provider = icu, locale = 'en-u-kn-true'" ],
	[ 'upper_first', "provider = icu, locale = 'en-u-kf-upper'" ],
	[ 'no_punctuation', "provider = icu, locale = 'en-u-ka-shifted'" ],
	[ 'german_phone_book', "provider = icu, locale = 'de-u-co-phonebk'" ],
	[ 'libc_english', "provider = libc, locale = 'en_US.UTF-8'" ],
	[ 'libc_german', "provider = libc, locale = 'de_DE.UTF-8'" ],
	[ 'libc_czech', "provider = libc, locale = 'cs_CZ.UTF-8'" ],
	[ 'libc_latin1', "provider = libc, locale = 'de_DE.ISO-8859-1'" ]);

# Finds out which types and collations the server has, and makes the others.
sub definitions
{
	my ($session, $major, $encoding) = @_;
	my %has = map { $_ => 1 } split /\n/, $session->run("SELECT extname FROM pg_extension;");

	$definitions = '';
	add_numbers($major);
	add_times($major);
	add_networks_and_bits();
	add_strings($encoding);
	add_made($major, $encoding, %has);
	my $messages = $session->run($definitions);
	die "the types could not be made: $messages" if $messages =~ /ERROR/;

	foreach my $collation (@made_collations)
	{
		my ($name, $definition, $nondeterministic) = @$collation;
		# a missing locale is an error, a locale that ICU does not know a warning
		next if $session->run("CREATE COLLATION $name ($definition); SELECT 'a' < 'b' COLLATE $name;") =~ /ERROR|WARNING/;
		push @collations, $name;
		$nondeterministic{$name} = 1 if $nondeterministic;
	}
	# a server without ICU lists one of its collations all the same
	push @collations, grep { $session->run("SELECT 'a' < 'b' COLLATE $_;") !~ /ERROR/ } map { qq("$_") } split /\n/, $session->run(<<'SQL');
SELECT collname FROM pg_collation WHERE collnamespace = 'pg_catalog'::regnamespace
AND collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))
AND collname IN ('C', 'POSIX', 'C.utf8', 'ucs_basic', 'pg_c_utf8', 'unicode', 'en-x-icu', 'und-x-icu', 'sv-x-icu', 'ja-x-icu', 'pg_unicode_fast')
ORDER BY collname COLLATE "C";
SQL
}

sub all_types { return @types; }
sub type_named { return $types{ $_[0] }; }
sub has_amcheck { return $has_amcheck; }

# The collations that columns of a type can have.
sub collations_of
{
	my ($type) = @_;
	return grep { !$type->{deterministic} || !$nondeterministic{$_} } @collations;
}


sub is_nondeterministic { return $nondeterministic{ $_[0] // '' }; }

# An expression that has the same text for values that are equal.
sub canonical
{
	my ($type, $collation, $expression) = @_;
	my $pattern = $type->{canonical} // '%s::text';

	# of strings that may be equal under such a collation only their presence is compared
	$pattern = '(%s IS NULL)::text' if is_nondeterministic($collation);
	return $pattern =~ s/%s/$expression/gr;
}

1;
