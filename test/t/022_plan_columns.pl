# The numbers by which the nodes of a plan name columns, after gpusort has rewritten the plan.
# src/planner/plan_columns.c touches only certain nodes. This test compares the fields that are known of
# these nodes with the server's headers, so that no field of a new PostgreSQL is overlooked. Then the
# module in test/plan_walk follows each number in plans of all kinds, before and after the rewriting.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $pg_config = $ENV{PG_CONFIG} // 'pg_config';

# ---- the fields of nodes

my $source = slurp_file("$FindBin::RealBin/../../src/planner/plan_columns.c");
chomp(my $headers = `$pg_config --includedir-server`);
my $plannodes = slurp_file("$headers/nodes/plannodes.h") =~ s{/\*.*?\*/}{}gsr;

# The known fields, of all majors. First the fields with expressions whose columns are renumbered, then
# arrays of column numbers that are renumbered, or that belong to a child whose columns stay, then all
# others, which have no numbers of columns that change.
my %expressions = map { $_ => 1 } qw(Plan.targetlist Plan.qual);
my %renumbered = map { $_ => 1 } qw(Limit.uniqColIdx GatherMerge.sortColIdx WindowAgg.partColIdx WindowAgg.ordColIdx);
my %of_child = map { $_ => 1 } qw(Group.grpColIdx Agg.grpColIdx);
my %others = (
	Plan => 'type disabled_nodes startup_cost total_cost plan_rows plan_width parallel_aware parallel_safe async_capable plan_node_id lefttree righttree initPlan extParam allParam',
	Scan => 'plan scanrelid',
	Join => 'plan jointype inner_unique joinqual',
	# its expressions have no columns
	Limit => 'plan limitOffset limitCount limitOption uniqNumCols uniqOperators uniqCollations',
	GatherMerge => 'plan num_workers rescan_param numCols sortOperators collations nullsFirst initParam',
	# the offsets have no columns; run conditions have columns of the node itself, and for EXPLAIN those of
	# tables
	WindowAgg => 'plan winname winref partNumCols partOperators partCollations ordNumCols ordOperators ordCollations frameOptions startOffset endOffset runCondition runConditionOrig'
	  . ' startInRangeFunc endInRangeFunc inRangeColl inRangeAsc inRangeNullsFirst topWindow',
	Result => 'plan resconstantqual result_type relids',
	SeqScan => 'scan',
	SampleScan => 'scan tablesample',
	IndexScan => 'scan indexid indexqual indexqualorig indexorderby indexorderbyorig indexorderbyops indexorderdir',
	IndexOnlyScan => 'scan indexid indexqual recheckqual indexorderby indextlist indexorderdir',
	BitmapHeapScan => 'scan bitmapqualorig',
	TidScan => 'scan tidquals',
	TidRangeScan => 'scan tidrangequals',
	SubqueryScan => 'scan subplan scanstatus',
	FunctionScan => 'scan functions funcordinality',
	ValuesScan => 'scan values_lists',
	TableFuncScan => 'scan tablefunc',
	CteScan => 'scan ctePlanId cteParam',
	NamedTuplestoreScan => 'scan enrname',
	WorkTableScan => 'scan wtParam',
	NestLoop => 'join nestParams',
	MergeJoin => 'join skip_mark_restore mergeclauses mergeFamilies mergeCollations mergeStrategies mergeReversals mergeNullsFirst',
	HashJoin => 'join hashclauses hashoperators hashcollations hashkeys',
	Group => 'plan numCols grpOperators grpCollations',
	Agg => 'plan aggstrategy aggsplit numCols grpOperators grpCollations numGroups transitionSpace aggParams groupingSets chain',
	Gather => 'plan num_workers rescan_param single_copy invisible initParam');
my %known;
foreach my $struct (keys %others)
{
	$known{"$struct.$_"} = 1 foreach split / /, $others{$struct};
}
%known = (%known, %expressions, %renumbered, %of_child);

# The fields of a struct, with their types.
sub fields_of
{
	my ($struct) = @_;
	my ($body) = $plannodes =~ /^typedef struct $struct\n\{\n(.*?)^\} $struct;/ms;
	my %fields;

	foreach my $line (split /;/, ($body // '') =~ s/pg_node_attr\((?:[^()]|\([^()]*\))*\)//gr)
	{
		$fields{$2} = $1 if $line =~ /^\s*(.*?)(\w+)\s*$/s;
	}
	return %fields;
}

my %nodes = map { $_ => 1 } $source =~ /^\t\tcase T_(\w+):/mg;
is_deeply([ grep { !$others{$_} } sort keys %nodes ], [], 'all nodes that are touched are known');
is(scalar(grep { $nodes{$_} } qw(Limit GatherMerge WindowAgg SeqScan Agg)), 5, 'and found in the source');
foreach my $struct ('Plan', 'Scan', 'Join', sort keys %nodes)
{
	my %fields = fields_of($struct);
	cmp_ok(scalar keys %fields, '>', 0, "$struct is in the header");
	is_deeply([ grep { !$known{"$struct.$_"} } sort keys %fields ], [], "all of its fields are known");
	foreach my $field (sort grep { $fields{$_} =~ /AttrNumber/ } keys %fields)
	{
		like($source, $renumbered{"$struct.$field"} ? qr/->$field\b/ : qr//, "$struct.$field is renumbered, or of a child that stays");
		ok($renumbered{"$struct.$field"} || $of_child{"$struct.$field"}, 'which is said here');
	}
}

# ---- their meaning

my $build = abs_path(PostgreSQL::Test::Utils::tempdir);
system_or_bail('make', '-s', '-C', $build, '-f', "$FindBin::RealBin/../plan_walk/Makefile", "PG_CONFIG=$pg_config");

my $node = GpusortCluster->new('main');
$node->init(extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$build/plan_walk, gpusort'
gpusort.daemon_engine = host
gpusort.device = host
gpusort.min_rows = 0
# the walk knows the nodes that are in a plan before, WindowAggs among them
gpusort.enable_windows = off
gpusort.enable_aggregates = off
gpusort.verify = on
CONF
$node->start;

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t WITH (parallel_workers = 2) AS SELECT 'k' || (i % 10) AS k, (i * 7919) % 1000 + 1 AS a, i + 1000 AS b, md5(i::text) AS x FROM generate_series(1, 3000) i;
ANALYZE t;
SQL

# The results of queries of all kinds, checked by the module and by comparison.
my $sources = join ', ', map { "('$_')" } 't', '(SELECT b, a, k, x FROM t ORDER BY k, a FETCH FIRST 1000 ROWS WITH TIES) t',
  '(SELECT b, a, k, x FROM t ORDER BY x COLLATE "POSIX" OFFSET 3 FETCH FIRST 1000 ROWS WITH TIES) t', '(SELECT b, x, k, a FROM t ORDER BY a LIMIT 2000) t';
my $outputs = join ', ', map { "('$_')" } 'b, x', '*, count(*) OVER (PARTITION BY k) n', 'x, rank() OVER (PARTITION BY k ORDER BY a) r', 'k, sum(b) OVER (ORDER BY a ROWS 3 PRECEDING) s', 'DISTINCT x, a';
my $orders = join ', ', map { "('$_')" } '', 'ORDER BY x COLLATE "POSIX"', 'ORDER BY x COLLATE "POSIX" FETCH FIRST 700 ROWS WITH TIES', 'ORDER BY a, x COLLATE "POSIX" OFFSET 10', 'ORDER BY k COLLATE "POSIX" DESC, b LIMIT 2000';
my ($status, $out, $err);
foreach my $workers (0, 2)
{
	($status, $out, $err) = $node->psql('postgres', <<"SQL");
SET max_parallel_workers_per_gather = $workers;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_hashagg = off;
DO \$\$
DECLARE
	query text;
BEGIN
	FOR query IN SELECT format('SELECT %s FROM %s %s', o, s, e) FROM (VALUES $outputs) o (o), (VALUES $sources) s (s), (VALUES $orders) e (e) WHERE o !~ 'DISTINCT' OR e !~ 'COLLATE' LOOP
		EXECUTE query;
	END LOOP;
END \$\$;
SQL
	is($status, 0, "all columns mean what they meant, with $workers workers") or diag($err);
}
cmp_ok($node->counter('sorts_host'), '>', 100, 'in plans with sorts of gpusort');

($status, $out) = $node->compare_random('--seed', 22, '--queries', 250, '--device', 'host');
is($status, 0, 'so they do in random queries') or diag($out);

$node->stop;
done_testing();
