# The commands and settings of README.md, docs/explain.md, docs/faq.md, docs/failures.md, docs/is-a-gpu-worth-it.md,
# docs/memory.md, docs/settings.md and docs/views.md do what the documents say, and print what the documents show.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use DocumentCommands;
use GpusortCluster;

my $checkout = "$FindBin::RealBin/../..";
my $readme = DocumentCommands->new(
	'README.md',
	qr/^(huge_pages = )on$/m => sub { "$_[0]try" },
	qr/^(min_dynamic_shared_memory = )4GB$/m => sub { "$_[0]256MB" });
my $explain = DocumentCommands->new('docs/explain.md');
my $faq = DocumentCommands->new('docs/faq.md');
my $failures = DocumentCommands->new('docs/failures.md');
my $memory = DocumentCommands->new('docs/memory.md');
my $views = DocumentCommands->new('docs/views.md');
my $worth = DocumentCommands->new('docs/is-a-gpu-worth-it.md', qr/(pg_sleep\(10\))/ => sub { 'pg_sleep(0.1)' });

my $node = GpusortCluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "gpusort.daemon_engine = host\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE shop');

# Returns what a block of commands in SQL prints.
sub run_sql
{
	my ($document, $name, $before, @options) = @_;
	return $node->safe_psql('shop', ($before // '') . $document->commands($name), extra_params => \@options);
}

# A test: a block of commands in sh succeeds, in the checkout.  Returns what it prints.
sub run_sh
{
	my ($document, $name) = @_;
	my ($out, $err) = ('', '');
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	ok(IPC::Run::run([ 'bash', '-e', '-c', "cd '$checkout'\n" . $document->commands($name) ], '<', \undef, '>', \$out, '2>', \$err), $name)
	  or diag($err);
	return $out;
}

# Lines without times, sizes and numbers of rows; from PostgreSQL 18 on EXPLAIN ANALYZE has further lines.
sub without_figures
{
	my ($lines) = @_;
	$lines =~ s/^ *(?:Buffers|Planning):.*\n//gm;
	$lines =~ s/(rows=\d+)\.00/$1/g;
	return $lines =~ s/\d+\.\d+|\d+(?= kB)|\d+(?= runs)/N/gr;
}

# The same of a table of psql.
sub without_widths { return $_[0] =~ s/^ +| +$//gmr =~ s/[-+]*-\+-[-+]*/-/gr =~ s/\d+/N/gr =~ s/ +/ /gr; }

my @with_header = ('--pset', 'format=aligned', '--pset', 'tuples_only=off', '--pset', 'footer=off');

#
# Getting started
#

my $loaded = $faq->commands('Whether it is loaded');
is($node->safe_psql('shop', $loaded), '', 'it is not loaded');
run_sql($readme, 'For one database');
is($node->safe_psql('shop', $loaded), 'on', 'it is, in one database');
is($node->safe_psql('postgres', $loaded), '', 'and in no other');
my $of_server = $readme->commands('For the whole server, in postgresql.conf');
$node->append_conf('postgresql.conf', $of_server);
$node->restart;
is($node->safe_psql('postgres', $loaded), 'on', 'then in all of the server');
run_sql($readme, 'In each database that should have the views, as a superuser');
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->wait_until_ready('gpusortd has started');
run_sql($readme, 'Memory for sorts; or raise work_mem itself');
is($node->safe_psql('shop', 'SHOW gpusort.work_mem'), '1GB', 'the memory for sorts');
like(run_sql($faq, 'The devices'), qr/^0\|gpusortd \(host\)\|ready\|$/, 'the devices');

like(run_sql($worth, 'How busy the devices are, in percent'), qr/^0\|0\.\d$/m, 'how busy they are');

#
# What EXPLAIN says
#

$readme->is_shown('A sort', run_sql($readme, 'A sort', 'SET gpusort.device = host;'), \&without_figures);

# from 18 on this is a line of the node, before 18 a line below the plan
my $refused = run_sql($explain, 'A sort by a type without keys');
my @refusals = ('A sort by a type without keys', 'Why Not GpuSort: Sort by ((orders.name)::tsvector): there are no keys for the type tsvector');
@refusals = reverse @refusals if $node->pg_version < 18;
$explain->is_shown($refusals[0], $node->pg_version < 18 ? $refused =~ s/.*^(?=Why Not)//msr : $refused);

$explain->is_shown('Different pairs', run_sql($explain, 'Different pairs'));

my @ways = run_sql($worth, 'The same statement three ways') =~ /(GpuSort|Execution Time)/g;
is("@ways", 'Execution Time GpuSort Execution Time GpuSort Execution Time', 'one statement three ways');

my $spilled = $node->safe_psql('shop', <<'SQL');
SET gpusort.device = host;
SET gpusort.work_mem = '4MB';
SET max_parallel_workers_per_gather = 0;
EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM orders ORDER BY placed;
SQL
$memory->is_shown('Sort Method: radix sort, merge of 40 runs', join("\n", $spilled =~ /^( *(?:Sort Method|Disk):.*)/gm), \&without_figures);

#
# What sorts
#

SKIP:
{
	my @blocks = ([ $readme, 'What sorts' ], [ $faq, 'What sorts, of all statements' ], [ $faq, 'What sorts, of one statement' ], [ $worth, 'What your statements would gain' ]);
	my $is_there = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'");
	unless ($is_there)
	{
		$_->[0]->commands($_->[1]) foreach @blocks;
		skip 'pg_stat_statements is not installed', 8;
	}
	$node->append_conf('postgresql.conf', $of_server =~ s/'gpusort'/'pg_stat_statements, gpusort'/r);
	$node->restart;
	$node->safe_psql('shop', 'CREATE EXTENSION pg_stat_statements; SELECT count(*) FROM (SELECT FROM orders ORDER BY name OFFSET 0) o');
	my ($of_all, $of_one) = (qr/orders\.name \(\d+ rows/, qr/orders\.amount \(\d+ rows/);
	my %expected = (
		'What sorts' => qr/$of_all.*$of_one/s,
		'What sorts, of all statements' => $of_all,
		'What sorts, of one statement' => $of_one,
		'What your statements would gain' => qr/$of_all.*by the planner's costs/s);
	like(run_sh(@$_), $expected{ $_->[1] }, "$_->[1]: the sorts") foreach @blocks;
}

#
# A sort under way, and gpusortd that is killed
#

$node->wait_until_ready('gpusortd is ready');
$node->safe_psql('shop', GpusortCluster::WAIT_FUNCTION);
my $session = $node->start_psql('sorter', <<'SQL');
\connect shop
SET gpusort.device = cuda;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM (SELECT FROM orders WHERE id <= 200000 ORDER BY wait_at(id, 20000, 'sorter') OFFSET 0) o;
SQL
$node->poll_query_until('shop', "SELECT count(*) = 1 FROM gpusort_progress WHERE rows_put > 0") or die 'no sort is under way';
$views->is_shown('Sorts under way', run_sql($views, 'Sorts under way', '', @with_header), \&without_widths);

my $log = -s $node->logfile;
kill 'KILL', $node->daemon_pid || die 'there is no gpusortd';
$node->wait_for_log(qr/gpusort: gpusortd was terminated/, $log);
$node->safe_psql('shop', "INSERT INTO go_on VALUES ('sorter')");
$session->{handle}->finish;
is($session->{out}, "200000\n", 'a sort goes on without gpusortd');
$node->wait_for_log(qr/gpusort: gpusortd is ready/, $log);
my @lines = slurp_file($node->logfile, $log) =~ /\b((?:LOG|WARNING):  gpusort: .*|DETAIL: .*)/g;
$failures->is_shown('LOG:  gpusort: gpusortd was terminated by signal 9: Killed', join("\n", @lines), sub { return join "\n", sort split /\n/, $_[0]; });

#
# Memory
#

$node->safe_psql('postgres', 'CREATE ROLE reporting');
run_sql($memory, 'For one role');
is($node->safe_psql('postgres', "SELECT rolconfig FROM pg_roles WHERE rolname = 'reporting'"), '{gpusort.device_memory_limit=4GB}', 'the memory of a role');

my $set_aside = 'sysctl vm.nr_hugepages: for this and shared_buffers, in pages of 2 MB';
$node->append_conf('postgresql.conf', $readme->commands($set_aside));
$node->restart;
is($node->safe_psql('postgres', 'SHOW min_dynamic_shared_memory'), '256MB', 'memory is set aside');
$node->stop;

#
# Without a device
#

{
	local $ENV{CUDA_VISIBLE_DEVICES} = '';
	$node->append_conf('postgresql.conf', 'gpusort.daemon_engine = cuda');
	$node->start;
}
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gpusort_devices WHERE state = 'unusable'") or die 'gpusortd has a device';
my ($reason) = run_sql($views, 'No device') =~ /\|(.+)/;
$views->is_shown('No device', run_sql($views, 'No device', '', @with_header),
	sub { return without_widths($_[0] =~ s/\Q$reason\E|No NVIDIA driver is installed/(a reason)/r); });

#
# The settings
# The default of each setting in the tables of a document, and who can set it.
sub settings_of
{
	my ($document) = @_;
	my %settings;
	my $text = slurp_file("$checkout/$document");
	while ($text =~ /^\| `(gpusort\.\w+)` \| `([^`]*)` \| (?:(anyone|superuser|server) \|)?/mg)
	{
		$settings{$1} = { default => $2, who => $3 // 'anyone' };
	}
	return \%settings;
}

# The server converts the defaults' units.
my $settings = settings_of('docs/settings.md');
$node->append_conf('postgresql.conf', join("\n", map { "$_ = '$settings->{$_}{default}'" } sort keys %$settings));
$node->restart;
is($node->safe_psql('postgres', <<'SQL'), join("\n", map { "$_|$settings->{$_}{who}|t" } sort keys %$settings), 'docs/settings.md: all settings, who can set them, and their defaults');
SELECT name, CASE context WHEN 'user' THEN 'anyone' WHEN 'superuser' THEN 'superuser' WHEN 'sighup' THEN 'server' END, setting = boot_val
FROM pg_settings WHERE name LIKE 'gpusort.%' ORDER BY name COLLATE "C";
SQL
my $few = settings_of('README.md');
is($few->{$_}{default}, $settings->{$_}{default}, "README.md: the default of $_") foreach sort keys %$few;

#
# Columns and counters
#

my $text = slurp_file("$checkout/docs/views.md");
my @names = split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT attname FROM pg_attribute WHERE attrelid::regclass::text IN ('gpusort_devices', 'gpusort_progress', 'gpusort_stat_database') AND attnum > 0
UNION SELECT name FROM gpusort_stats;
SQL
is(join(', ', grep { $text !~ /`$_`/ } @names), '', 'docs/views.md has all columns and counters');

#
# All of it
#

$_->all_taken foreach $readme, $faq, $failures, $memory, $worth;
# the other refusal is shown for other majors
$explain->all_taken(qr/^\Q$refusals[1]\E$/);
# 041 takes the exporter
$views->all_taken(qr/exporter/);
$node->stop;
done_testing();
