#!/usr/bin/perl
# Compares the results of random queries with their results without gpusort.
#
# usage: perl test/differential/compare.pl [OPTION...]
#	--queries N		how many queries, by default 10000
#	--seed N		where to begin; drawn and printed if it is not given
#	--jobs N		how many pairs of sessions, by default one
#	--device NAME	host: sorts are done in the backend; cuda: by gpusortd;
#					both, the default: some so, some so, some as auto has it
#	--encoding NAME	that of the database, by default UTF8
#	--locale NAME	its locale, by default the server's, with another
#					encoding C; icu:NAME for one of ICU
#	--parallel N	how many of a hundred queries may have parallel workers at
#					no cost, by default 12
#	--caps			all memory has limits, drawn for each query, and with
#					ALTER SYSTEM for gpusortd and its devices in each round;
#					what is lost when gpusortd starts anew may be warned of
#	--large N		how many rounds go on one that has a table of a hundred
#					thousand rows, by default 50
#	--database NAME	what it is called, by default gpusort_differential; one
#					that is there is replaced
#	--round N		only this round, or
#	--query N		only this query of it: to repeat what failed
# Takes the server of the PG* environment, which must have gpusort, and makes a database of its own on it.
# Needs nothing but psql and the smallest Perl.
# A round draws tables of any types, and queries on them. Each query runs in two sessions at once: in one
# gpusort is off; in the other it is forced, and verifies its orders. All output, errors too, has to be the
# same. Every query is drawn from seed, round and number alone, so each can be repeated by itself.
# Prints a line for each round, as TAP, and for a query that differs the tables, the query and both
# outputs. It is a failure, too, if gpusort has sorted much less than it should have.
use strict;
use warnings;
use Fcntl ':flock';
use Getopt::Long;
use lib $0 =~ m{^(.*)/} ? $1 : '.';
use Draw;
use Session;
use Tables;
use Types;
use Queries;

use constant {
	QUERIES_OF_ROUND => 50,
	QUERIES_OF_LARGE_ROUND => 10,
	# a query ends after the first time, then has the second if it ended so with gpusort only, and a session is given
	# up after the third
	STATEMENT_SECONDS => 60,
	LONG_STATEMENT_SECONDS => 240,
	PATIENCE_SECONDS => 300,
	# a job that has found this many failures ends
	MOST_FAILURES => 5,
	# gpusort sorts about once for a query; below this something is wrong
	LEAST_SORTS_OF_QUERY => 0.3,
	# and this often together with parallel workers, where these cost nothing
	LEAST_TOGETHER_OF_PARALLEL => 0.05,
	# and this often for consumers in all workers
	LEAST_IN_PARTS_OF_PARALLEL => 0.01,
	SHOWN_LINES => 60
};

my %options = (queries => 10000, jobs => 1, device => 'both', encoding => 'UTF8', parallel => 12, caps => 0, large => 50, database => 'gpusort_differential');
GetOptions(\%options, 'queries=i', 'seed=i', 'jobs=i', 'device=s', 'encoding=s', 'locale=s', 'parallel=i', 'caps', 'large=i', 'database=s', 'round=i', 'query=i') && !@ARGV
  && $options{device} =~ /^(host|cuda|both)$/ && (!defined $options{query} || defined $options{round}) && $options{large} > 0
  or die "usage: see the head of $0\n";
$options{seed} //= time() % 1000000;

my @always = ('jit=off', 'timezone=UTC', 'statement_timeout=' . STATEMENT_SECONDS . 's', 'extra_float_digits=1');
my @native = (@always, 'gpusort.enable=off');
my @forced = (@always, 'gpusort.enable=on', 'gpusort.min_rows=0', 'gpusort.verify=on');
my @settings_known;

$| = 1;
binmode STDOUT;
main();

sub main
{
	my $rounds = int(($options{queries} + QUERIES_OF_ROUND - 1) / QUERIES_OF_ROUND);
	my @rounds = defined $options{round} ? ($options{round}) : (1 .. $rounds);

	print "# seed $options{seed}\n";
	make_database();
	my %before = counters();
	my %done = run_jobs(@rounds);
	my %after = counters();

	my $sorts = 0;
	foreach my $name (sort keys %after)
	{
		my $count = $after{$name} - $before{$name};
		$sorts += $count if $name eq 'sorts_host' || $name eq 'sorts_device';
		print "# $name $count\n" if $count > 0 && $name !~ /microseconds|bytes/;
	}
	my $enough = defined $options{round} || $sorts >= $done{queries} * LEAST_SORTS_OF_QUERY;
	print $enough ? 'ok' : 'not ok', " - gpusort has sorted $sorts times\n";
	if ($options{device} eq 'cuda' && !defined $options{round})
	{
		# sorts without rows, or of rows in order, never get to gpusortd: 12, 28 and 36% with three seeds
		my $most = $after{sorts_host} - $before{sorts_host} < $sorts / 2;
		print $most ? 'ok' : 'not ok', " - most of them in gpusortd\n";
		$enough &&= $most;
	}
	if (!defined $options{round})
	{
		my $together = $after{sorts_together} - $before{sorts_together};
		my $often = $together >= int($done{queries} * $options{parallel} / 100 * LEAST_TOGETHER_OF_PARALLEL);
		print $often ? 'ok' : 'not ok', " - $together times together with parallel workers\n";
		my $in_parts = $after{sorts_in_parts} - $before{sorts_in_parts};
		my $consumed = $in_parts >= int($done{queries} * $options{parallel} / 100 * LEAST_IN_PARTS_OF_PARALLEL);
		print $consumed ? 'ok' : 'not ok', " - $in_parts times for consumers in all of them\n";
		$enough &&= $often && $consumed;
	}
	print "# $done{queries} queries, of which $done{errors} are errors on both sides, $done{failures} failures, seed $options{seed}\n";
	exit($done{failures} || !$enough || $done{broken} ? 1 : 0);
}

# A session that only asks.
sub ask
{
	my ($database, $script) = @_;
	my $session = Session->new($database, 'gpusort.enable=off');
	my $answer = $session->run($script);
	$session->end;
	die "the server says: $answer" if $session->is_lost || $answer =~ /^(ERROR|FATAL)/m;
	return $answer;
}

# Makes the database anew, and waits until gpusortd is up if it is to be used.
sub make_database
{
	my $database = $options{database};
	my $maintained = $ENV{PGDATABASE} // 'postgres';
	my $name = $options{locale} // ($options{encoding} eq 'UTF8' ? '' : 'C');
	my $locale = $name =~ /^icu:(.*)/ ? " LOCALE_PROVIDER icu ICU_LOCALE '$1'" : $name ? " LOCALE '$name'" : '';

	ask($maintained, "SET client_min_messages = error;\nDROP DATABASE IF EXISTS $database;\n"
		  . "CREATE DATABASE $database TEMPLATE template0 ENCODING '$options{encoding}'$locale;");
	# types, and functions that check an index, each only if there is such a module
	ask($database, "CREATE EXTENSION $_;") foreach 'gpusort', split /\n/,
	  ask($database, "SELECT name FROM pg_available_extensions WHERE name IN ('amcheck', 'citext', 'hstore', 'isn', 'ltree') ORDER BY name;");
	@settings_known = split /\n/, ask($database, 'SELECT name FROM pg_settings;');
	wait_for_devices() unless $options{device} eq 'host';
}

sub wait_for_devices
{
	for (1 .. 600)
	{
		my $states = ask($options{database}, 'SELECT state FROM gpusort_devices;');
		return if $states =~ /^ready$/m;
		die 'there is no gpusortd: ' . ask($options{database}, 'SELECT state, reason FROM gpusort_devices;') unless $states =~ /^(starting|failed)$/m;
		select(undef, undef, undef, 0.1);
	}
	die "gpusortd does not start\n";
}

# Draws how much memory gpusortd may use, for which it starts anew.
sub draw_caps
{
	ask($options{database}, draw_server_caps() . "SELECT pg_reload_conf();");
	wait_for_devices() unless $options{device} eq 'host';
}

sub counters { return map { split /\|/ } split /\n/, ask($options{database}, 'SELECT * FROM gpusort_stats;'); }

# Runs the rounds, each in one of the jobs, and returns the sums of what they did.
sub run_jobs
{
	my @rounds = @_;
	my $jobs = @rounds < $options{jobs} ? @rounds : $options{jobs};
	my %sums = (queries => 0, failures => 0, errors => 0, broken => 0);
	my @outputs;

	foreach my $job (0 .. $jobs - 1)
	{
		pipe(my $reader, my $writer) or die "pipe: $!";
		my $process = fork() // die "fork: $!";
		if ($process == 0)
		{
			close $reader;
			my %done = run_job($job, grep { $_ % $jobs == $job % $jobs } @rounds);
			print $writer join(' ', %done), "\n";
			close $writer;
			exit 0;
		}
		close $writer;
		push @outputs, $reader;
	}
	foreach my $output (@outputs)
	{
		my %done = split / /, (<$output> // '') =~ s/\n//r;
		$sums{broken}++ unless %done;
		$sums{$_} += $done{$_} foreach keys %done;
	}
	print "not ok - a job has broken off\n" if $sums{broken};
	1 while wait() != -1;
	return %sums;
}

# Each job has its own schema, whose types and tables no other sees.
sub run_job
{
	my ($job, @rounds) = @_;
	my $schema = "job_$job";
	my $native = Session->new($options{database}, @native, "search_path=$schema,public");
	my %sides = (native => $native);
	my %done = (queries => 0, failures => 0, errors => 0);
	my ($major) = int($native->run('SHOW server_version_num;') / 10000);

	$native->run("CREATE SCHEMA $schema;");
	definitions($native, $major, $options{encoding});
	$sides{forced} = Session->new($options{database}, @forced, "search_path=$schema,public");
	foreach my $round (@rounds)
	{
		my $failures = $done{failures};
		run_round($round, \%sides, \%done);
		print $done{failures} == $failures ? 'ok' : 'not ok', " - round $round of seed $options{seed}\n";
		last if $done{failures} >= MOST_FAILURES;
		foreach my $side ('native', 'forced')
		{
			next unless $sides{$side}->is_lost;
			$sides{$side}->end;
			# the server may have to recover first
			sleep 5;
			$sides{$side} = Session->new($options{database}, $side eq 'native' ? @native : @forced, "search_path=$schema,public");
		}
	}
	show_first_columns($sides{forced}) if $job == 0 && !$done{failures};
	$_->end foreach values %sides;
	return %done;
}

# Says by which first columns sorts are taken over, and by which they are not.
sub show_first_columns
{
	my ($session) = @_;
	my %names = (1 => [], 0 => []);
	my @columns = map { [ $_->{name}, "NULL::$_->{sql}" ] } all_types();

	push @columns, map { [ "text COLLATE $_", "NULL::text COLLATE $_" ] } collations_of(type_named('text'));
	foreach my $column (@columns)
	{
		my $plan = $session->run("EXPLAIN (COSTS OFF) SELECT FROM (VALUES ($column->[1]), (NULL)) v (x) ORDER BY x;");
		push @{ $names{ $plan =~ /GpuSort/ ? 1 : 0 } }, $column->[0];
	}
	report('# taken over by: ' . join(', ', @{ $names{1} }) . "\n# native by: " . join(', ', @{ $names{0} }) . "\n");
}

sub run_round
{
	my ($round, $sides, $done) = @_;
	my $large = $round % $options{large} == 0;
	my $name = "$options{seed} $round";

	start_draws($name);
	my ($tables, $commands) = draw_tables($large);
	my $messages = $sides->{native}->run("DROP TABLE IF EXISTS t, u, p;\n$commands") =~ s/^NOTICE.*\n//mgr;
	if ($messages ne '')
	{
		report("# The tables of round $round could not be made.\n", commented("$messages\n$commands"));
		$done->{failures}++;
		return;
	}
	draw_caps() if $options{caps};
	my $queries = $large ? QUERIES_OF_LARGE_ROUND : QUERIES_OF_ROUND;
	foreach my $query (defined $options{query} ? ($options{query}) : (1 .. $queries))
	{
		start_draws("$name $query");
		my $settings = draw_settings(\@settings_known, $options{parallel} / 100, $options{caps}, devices());
		my ($script, $serial) = draw_query($tables);
		my ($native, $forced) = outputs($sides, $settings . $script, $serial);

		# near the limit chance decides which side reaches it; far beyond, the second attempt tells a query that hangs
		($native, $forced) = outputs($sides, 'SET statement_timeout = ' . LONG_STATEMENT_SECONDS * 1000 . ";\n$settings$script", $serial)
		  if is_timed_out($forced) && !is_timed_out($native);
		$done->{queries}++;
		# what takes too long without gpusort alone has nothing to be compared with
		next if is_timed_out($native) && !is_timed_out($forced);
		$done->{errors}++ if $native =~ /^ERROR/m;
		my $problem = $sides->{native}->is_lost || $sides->{forced}->is_lost ? 'a session is lost'
		  : $native ne $forced ? 'the outputs differ' : $native =~ /out of order: [1-9]/ ? 'rows are out of order even natively' : undef;
		next unless $problem;
		$done->{failures}++;
		show_failure($round, $query, $problem, $commands, $settings . $script, $native, $forced);
		return if $sides->{native}->is_lost || $sides->{forced}->is_lost;
	}
}

# The devices to draw from. The draw is made in any case, so that the rest of a query is the same with each
# device.
sub devices
{
	return $options{device} eq 'both' ? ('host', 'cuda', 'auto') : ($options{device}) x 3;
}

# What the two sides print for a script.
sub outputs
{
	my ($sides, $script, $serial) = @_;
	my %outputs;

	foreach my $side ('native', 'forced')
	{
		my $enable = $side eq 'native' ? 'off' : 'on';
		$sides->{$side}->send($script =~ s/\{enable\}/$enable/gr . "DISCARD ALL;");
		$outputs{$side} = $sides->{$side}->receive(PATIENCE_SECONDS) if $serial;
	}
	foreach my $side ('native', 'forced')
	{
		$outputs{$side} //= $sides->{$side}->receive(PATIENCE_SECONDS);
		# if several rows have no value, any of them may be the first
		$outputs{$side} =~ s/^(ERROR: +)(?:division by zero|.*\bout of range\b.*)/$1no such value/mg;
		# a sort went on without gpusortd, which had to start anew
		$outputs{$side} =~ s/^WARNING: +gpusort: .*\n(?:DETAIL: .*\n)?//mg if $options{caps};
		# a table that parallel workers fill has its rows elsewhere each time
		$outputs{$side} =~ s/^(DETAIL: +Index row references tuple )\(\d+,\d+\)/$1(...)/mg;
	}
	return @outputs{ 'native', 'forced' };
}

sub is_timed_out { return $_[0] =~ /^ERROR: +canceling statement due to statement timeout/m ? 1 : 0; }

sub commented { return $_[0] =~ s/\n*$/\n/r =~ s/^/#   /mgr; }

sub show_failure
{
	my ($round, $query, $problem, $commands, $script, $native, $forced) = @_;
	my $repeat = join ' ', map { $_ ne 'caps' ? "--$_ $options{$_}" : $options{caps} ? '--caps' : () } grep { $_ ne 'round' && $_ ne 'query' && $_ ne 'jobs' && $_ ne 'queries' && $_ ne 'database' } sort keys %options;

	report("# Query $query of round $round: $problem.\n#\n# To repeat it: test/differential/compare.pl $repeat --round $round --query $query\n#\n",
	  "# The tables:\n", commented($commands), "# The query:\n", commented($script),
	  "# Its output without gpusort:\n", commented(first_lines($native)), "# With gpusort:\n", commented(first_lines($forced)));
}

# Prints something long in one piece, whatever other jobs print.
sub report
{
	open my $lock, '<', $0 or die "$0: $!";
	flock $lock, LOCK_EX or die "flock: $!";
	print @_;
	close $lock;
}

sub first_lines
{
	my @lines = split /\n/, $_[0];
	return join "\n", @lines <= SHOWN_LINES ? @lines : (@lines[ 0 .. SHOWN_LINES - 1 ], '...');
}
