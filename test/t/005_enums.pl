# An enum to which another session adds values during a sort by it. The keys made so far do not fit
# those of the new values.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
work_mem = '64MB'
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE EXTENSION dblink');
$node->wait_until_ready('gpusortd is ready');

# place(i) is the i-th value to be sorted. At the 500th another session adds values between the two
# of the enum. They are more than there are numbers between the two, so that all values get new
# numbers. From then on the new values come.
my $connection = 'host=' . $node->host . ' port=' . $node->port . ' dbname=postgres';
my $make_type = <<"SQL";
DROP TYPE IF EXISTS place CASCADE;
CREATE TYPE place AS ENUM ('first', 'last');
CREATE FUNCTION place(i int, with_nulls bool) RETURNS place LANGUAGE plpgsql VOLATILE AS \$\$
BEGIN
	IF i = 500 AND cardinality(enum_range(NULL::place)) = 2 THEN
		PERFORM dblink_exec('$connection',
			(SELECT string_agg(format('ALTER TYPE place ADD VALUE ''between %s'' BEFORE ''last''', n), ';' ORDER BY n)
			FROM generate_series(1, 60) n));
	END IF;
	RETURN CASE WHEN i % 7 = 1 AND with_nulls THEN NULL WHEN i % 3 = 0 THEN 'first' WHEN i < 500 THEN 'last'
		ELSE 'between ' || 1 + i % 60 END;
END \$\$;
SQL

foreach my $device ('host', 'cuda')
{
	# With NULLs the numbers of the values have been read before, without NULLs they have not.
	foreach my $with_nulls ('true', 'false')
	{
		my $query = "SELECT place FROM (SELECT place(i, $with_nulls) FROM generate_series(1, 1000) i OFFSET 0) s ORDER BY place";
		$node->safe_psql('postgres', $make_type);
		like($node->safe_psql('postgres', "EXPLAIN $query"), qr/GpuSort/, 'there is a GpuSort in the plan');
		my $result = $node->safe_psql('postgres', "SET gpusort.device = $device; $query");
		is($node->safe_psql('postgres', 'SELECT cardinality(enum_range(NULL::place))'), 62, 'the enum has grown meanwhile');
		ok($result eq $node->safe_psql('postgres', "SET gpusort.enable = off; $query"),
			"which makes no difference ($device, " . ($with_nulls eq 'true' ? 'with NULLs)' : 'without NULLs)'));
	}
}

$node->stop;
done_testing();
