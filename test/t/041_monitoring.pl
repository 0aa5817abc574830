# Prometheus and Grafana, by the commands of docs/views.md. prometheus-postgres-exporter exports
# everything that the views of gpusort have, even without a device. The dashboard asks only for names
# among these.
use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use FindBin;
use lib "$FindBin::RealBin/..";
use DocumentCommands;
use GpusortCluster;
use HeldQueries;

my $contrib = "$FindBin::RealBin/../../contrib";
my $dashboard = decode_json(slurp_file("$contrib/grafana-dashboard.json"));
my @expressions = map { $_->{expr} } map { @{ $_->{targets} } } @{ $dashboard->{panels} };
cmp_ok(scalar @expressions, '>', 10, 'the dashboard is in JSON, with queries');
my %ids = map { ($_->{id} => 1) } @{ $dashboard->{panels} };
is(scalar keys %ids, scalar @{ $dashboard->{panels} }, 'each of its panels has a number of its own');

my $exporter;

SKIP:
{
	skip 'prometheus-postgres-exporter is not installed', 1 if system('command -v prometheus-postgres-exporter >/dev/null') != 0;

	my $node = GpusortCluster->new('main');
	$node->init;
	$node->configure("gpusort.min_rows = 0\nautovacuum = off");
	$node->start;

	my $address = '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port();
	my $document = DocumentCommands->new(
		'docs/views.md',
		qr/(host=\S+)/ => sub { 'host=' . $node->host . ' port=' . $node->port },
		qr/(contrib\S+)/ => sub { "$FindBin::RealBin/../../$_[0] --web.listen-address=$address" });
	$node->safe_psql('postgres', $document->commands('In the database that the exporter asks'));
	# the exporter's own queries must not sort between two looks at the counters
	$node->safe_psql('postgres', 'ALTER ROLE prometheus SET gpusort.enable = off');
	$node->wait_until_ready('gpusortd is ready');
	$node->safe_psql('postgres', HeldQueries::PASS_FUNCTION . <<'SQL');
CREATE TABLE t AS SELECT i AS id, hashint4(i) AS k FROM generate_series(1, 20000) i;
SELECT count(*) FROM (SELECT k FROM t ORDER BY k OFFSET 0) s;
SET gpusort.device = 'cuda';
SELECT count(*) FROM (SELECT k FROM t ORDER BY k OFFSET 0) s;
SET gpusort.work_mem = '64kB';
SELECT count(*) FROM (SELECT k FROM t ORDER BY k OFFSET 0) s;
CREATE INDEX ON t (k);
CREATE DATABASE other;
\c other
SET gpusort.device = 'host';
SELECT count(*) FROM (SELECT hashint4(i) AS k FROM generate_series(1, 20000) i ORDER BY k OFFSET 0) s;
SQL

	my $log = '';
	$exporter = IPC::Run::start([ 'bash', '-c', 'exec env ' . $document->commands('The exporter') ], '>&', \$log);

	# All metrics of gpusort: their values, by name and labels in the order of the alphabet.
	my $scrape = sub {
		foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
		{
			my $answer = HTTP::Tiny->new->get("http://$address/metrics");
			return { $answer->{content} =~ /^(gpusort_\S+(?:\{.*\})?) (\S+)$/mg } if $answer->{success};
			sleep 0.1;
		}
		die "no answer from the exporter: $log";
	};
	# The metrics of this name: their values, by the value of a label.
	my $by_label = sub {
		my ($metrics, $name, $label) = @_;
		return { map { (/^$name\{.*\b$label="(.*?)"/ ? ($1 => 0 + $metrics->{$_}) : ()) } keys %$metrics };
	};
	my $of_query = sub {
		my %values = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql('postgres', $_[0]);
		$_ += 0 foreach values %values;
		return \%values;
	};

	# a sort that has been waiting for some seconds
	my $held = HeldQueries->new($node, 'sorter');
	$held->shut_doors(2);
	my $session = $held->start('SET max_parallel_workers_per_gather = 0; SELECT count(*) FROM (SELECT k FROM t WHERE id < 10000 OR pass(id) > 0 ORDER BY k OFFSET 0) s');
	my ($pid) = $held->wait_for(1, 0, 'Lock');
	$node->poll_query_until('postgres', "SELECT query_start < clock_timestamp() - interval '5 seconds' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not wait';

	my $metrics = $scrape->();
	my $counters = $of_query->('SELECT * FROM gpusort_stats');
	is_deeply($by_label->($metrics, 'gpusort_stats_total', 'name'), $counters, 'it has all counters of gpusort_stats');
	cmp_ok($counters->{sorts_device}, '>', 0, 'and some of them have counted');
	my %columns = (ready => "(state = 'ready')::int", memory_bytes => 'memory', memory_used_bytes => 'memory_used', jobs => 'jobs',
		sorts_total => 'sorts', busy_seconds_total => 'busy_microseconds / 1e6::float8');
	foreach my $column (sort keys %columns)
	{
		my $expected = $of_query->("SELECT device, $columns{$column} FROM gpusort_devices");
		is_deeply($by_label->($metrics, "gpusort_devices_$column", 'device'), $expected, "gpusort_devices: $column");
	}
	is_deeply($by_label->($metrics, 'gpusort_progress_processes', 'phase'), { 'taking rows' => 1 }, 'gpusort_progress: processes');
	is_deeply($by_label->($metrics, 'gpusort_progress_processes', 'kind'), { 'sort' => 1 }, 'by kind');
	foreach my $column ('rows_put', 'rows_expected', 'rows_emitted', 'runs_written')
	{
		my $expected = $of_query->("SELECT pid, coalesce($column, 0) FROM gpusort_progress");
		is_deeply($by_label->($metrics, "gpusort_long_sorts_$column", 'pid'), $expected, "gpusort_progress of a long sort: $column");
	}
	is_deeply($by_label->($metrics, 'gpusort_long_sorts_rows_put', 'pid'), { $pid => 8192 }, 'which has put rows');
	foreach my $column ('sorts_device', 'sorts_host', 'sorts_native', 'sorts_spilled', 'rows', 'bytes', 'indexes')
	{
		my $expected = $of_query->("SELECT datname, $column FROM gpusort_stat_database");
		is(join(' ', sort keys %$expected), 'other postgres', 'two databases');
		is_deeply($by_label->($metrics, "gpusort_stat_database_${column}_total", 'datname'), $expected, "gpusort_stat_database: $column");
	}
	cmp_ok($by_label->($metrics, 'gpusort_stat_database_sorts_spilled_total', 'datname')->{postgres}, '>', 0, 'with sorts that have spilled');

	# the queries of the dashboard, those of its list of servers included
	foreach my $expression (@expressions, map { $_->{query} } grep { $_->{type} eq 'query' } @{ $dashboard->{templating}{list} })
	{
		while ($expression =~ /\b(gpusort_\w+)(?:\{.*?\bname=~"(.*?)".*?\})?/g)
		{
			my ($name, $pattern) = ($1, $2);
			isnt(scalar(grep { /^$name\{/ } keys %$metrics), 0, "the dashboard asks for a metric: $expression");
			my $names = $by_label->($metrics, $name, 'name');
			# each alternative is one or more counters
			foreach my $alternative (expand($pattern // ''))
			{
				ok(scalar(grep { /^(?:$alternative)$/ } keys %$names), "and a counter: $alternative");
			}
		}
	}

	# a sort that has ended, and one that has not been running for long
	$held->finish($session);
	$held->shut_doors(2);
	$session = $held->start('SET max_parallel_workers_per_gather = 0; SELECT count(*) FROM (SELECT k FROM t WHERE pass(id) > 0 ORDER BY k OFFSET 0) s');
	$held->wait_for(1, 0, 'Lock');
	$metrics = $scrape->();
	is_deeply($by_label->($metrics, 'gpusort_progress_processes', 'phase'), { 'taking rows' => 1 }, 'a process sorts');
	is_deeply($by_label->($metrics, 'gpusort_long_sorts_rows_put', 'pid'), {}, 'which has not for long');
	$held->finish($session);
	$held->end;
	is_deeply($by_label->($scrape->(), 'gpusort_progress_processes', 'phase'), {}, 'none sorts');

	# without a device
	$node->append_conf('postgresql.conf', 'gpusort.daemon_engine = cuda');
	$node->reload;
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gpusort_devices WHERE state = 'unusable'") or die 'gpusortd has a device';
	is_deeply($by_label->($scrape->(), 'gpusort_devices_ready', 'device'), { '' => 0 }, 'no device is ready where there is none');

	$exporter->kill_kill;
	undef $exporter;
	unlike($log, qr/gpusort/, 'the exporter has nothing to say about them');
	$document->all_taken(qr{^(?!.*exporter)});
	$node->stop;
}

# The alternatives of a pattern of the dashboard, at the top level and in one pair of parentheses.
sub expand
{
	my ($pattern) = @_;
	return map { "$1$_$3" } split /\|/, $2 if $pattern =~ /^(.*)\((.*)\)(.*)$/;
	return split /\|/, $pattern;
}

done_testing();

END
{
	# also if the test has ended early
	my $status = $?;
	$exporter->kill_kill if $exporter;
	$? = $status;
}
