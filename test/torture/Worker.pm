# One of the processes that run statements in a round. Each statement runs first without gpusort, undisturbed,
# then with gpusort, and may be disturbed. If nothing excuses another answer, both answers have to be the same.
# The statement, its settings and its disturbance are all drawn from seed, round, worker and number, before any
# of it runs.
package Worker;
use strict;
use warnings;
use Digest::MD5 'md5_hex';
use Fcntl ':flock';
use Time::HiRes qw(sleep time);
use Draw;
use Session;
use Tables;
use Queries;
use Server;
use Settings;
use RegressFiles;
use Builds;
use Sabotage;
use Comparison;

use constant {
	STATEMENT_SECONDS => 20,
	# a session that is silent for longer hangs
	PATIENCE_SECONDS => 90,
	# if a statement takes less than this without gpusort, a timeout with gpusort is not due to its work
	QUICK_SECONDS => 2,
	# how often an answer is fetched again before another answer counts as wrong
	CONFIRMATIONS => 6,
	# how often a statement that others have disturbed is tried again
	ATTEMPTS => 20,
	SHOWN_LINES => 40
};

my @always = ('jit=off', 'timezone=UTC', 'extra_float_digits=1', 'client_min_messages=notice', 'statement_timeout=' . STATEMENT_SECONDS . 's');
my %sides = (
	native => [ 'torture', 'gpusort.enable=off', 'application_name=native' ],
	reversed => [ 'reversed', 'gpusort.enable=off', 'application_name=native' ],
	shuffled => [ 'shuffled', 'gpusort.enable=off', 'application_name=native' ],
	forced => [ 'torture', 'gpusort.enable=on', 'application_name=forced' ]);

sub new
{
	my ($class, %self) = @_;
	my $self = bless { %self, sessions => {}, backends => {}, sums => { statements => 0, compared => 0, excused => 0, differences => 0, leaks => 0 } }, $class;
	$self->{schema} = "w$self->{number}";
	return $self;
}

# ---- sessions

# The session of that side, made anew if the last session was lost.
sub session
{
	my ($self, $side) = @_;
	my $session = $self->{sessions}{$side};
	return $session if $session && !$session->is_lost;
	$session->end if $session;

	my ($database, @settings) = @{ $sides{$side} };
	my $end = time() + Server::PATIENCE_SECONDS;
	while (1)
	{
		$session = Session->new($database, @always, @settings);
		$self->{sessions}{$side} = $session;
		my $answer = $session->run('SELECT pg_backend_pid();');
		($self->{backends}{$side}) = $answer =~ /^(\d+)$/m;
		return $session if $self->{backends}{$side} && !$session->is_lost;
		die "the server does not come back: $answer" if time() > $end;
		$self->{server}->hurry_shutdown if $answer =~ /is shutting down/ && time() > $end - Server::PATIENCE_SECONDS / 2;
		$session->end;
		sleep 0.3;
	}
}

# What a side prints for a script when nothing is done to it, and how long that takes; undef if others disturb
# it all the time.
sub undisturbed
{
	my ($self, $side, $script) = @_;
	foreach (1 .. ATTEMPTS)
	{
		my $session = $self->session($side);
		my $began = time();
		my $output = $session->run("$script\nDISCARD ALL;", PATIENCE_SECONDS);
		my $duration = time() - $began;
		next if $session->is_lost || is_lost_to_crash($output);
		return (cleaned($output), $duration);
	}
	return ();
}

# What gpusort's side prints while it is disturbed.
sub disturbed
{
	my ($self, $script, $sabotage, $duration) = @_;
	my $session = $self->session('forced');
	my $out = fileno $session->{out};
	my $is_done = sub { my $readable = ''; vec($readable, $out, 1) = 1; return select($readable, undef, undef, 0) > 0 };

	$session->send("$script\nDISCARD ALL;");
	sabotage($sabotage, $self->{number}, $self->{server}, $self->{backends}{forced}, $duration, $is_done,
		sub { $self->session('native')->run("SET search_path = $self->{schema};\n$_[0]") }) if $sabotage;
	my $output = $session->receive(PATIENCE_SECONDS);
	undo();
	leave_transaction($session) if $output =~ /ERROR/;
	return cleaned($output);
}

# A timeout may have cancelled the end of the script as well, and on a busy machine this attempt, too.
sub leave_transaction
{
	my ($session) = @_;
	foreach (1 .. 20)
	{
		return if $session->is_lost || $session->run("ROLLBACK;\nSET statement_timeout = 0;\nDISCARD ALL;", PATIENCE_SECONDS) !~ /ERROR/;
	}
}

# ---- a round

sub run_round
{
	my ($self, $only) = @_;
	$self->{only} = $only;
	my $name = "$self->{seed} $self->{round} $self->{number}";

	start_draws("$name tables");
	my ($tables, $commands) = draw_tables(chance(0.2));
	($self->{tables}, $self->{commands}) = ($tables, $commands);
	$self->undisturbed('native', "DROP SCHEMA IF EXISTS $self->{schema} CASCADE;\nCREATE SCHEMA $self->{schema};\nSET statement_timeout = 0;\n"
		  . "SET search_path = $self->{schema}, types, public;\n$commands") or die 'the tables could not be made';
	foreach my $statement ($only ? $only : 1 .. $self->{statements})
	{
		last if time() > $self->{until};
		start_draws("$name $statement");
		$self->{statement} = $statement;
		$self->run_statement($self->draw_statement);
		$self->{sums}{statements}++;
		last if $self->{sums}{differences} >= 5;
	}
	$self->look_at_own_session;
	$_->end foreach values %{ $self->{sessions} };
	return (%{ $self->{sums} }, kills => kills_made());
}

# Draws all of a statement: see run_statement().
sub draw_statement
{
	my ($self) = @_;
	my $kind = pick(('file') x 9, ('query') x 6, ('build') x 3, 'reindex', 'large rows', ('ties') x 2);
	my %statement = (kind => $kind, search_path => "$self->{schema}, types, public");

	if ($kind eq 'file')
	{
		$statement{query} = draw_file_query();
		$statement{search_path} = "$statement{query}{schema}, public";
		$statement{script} = "BEGIN;\n$statement{query}{sql};\nROLLBACK;\n";
	}
	elsif ($kind eq 'query')
	{
		my ($script) = draw_query($self->{tables});
		my $settings = draw_settings($self->{settings_known}, 0.3, 0, 'host', 'cuda', 'auto');
		# settings of gpusort are for one side only
		$statement{own} = join '', map { "$_\n" } grep { /gpusort/ } split /\n/, $settings;
		$statement{script} = join('', map { "$_\n" } grep { !/gpusort/ } split /\n/, $settings) . $script =~ s/\{enable\}/on/gr =~ s/^SET gpusort\.enable = on;\n//mgr;
	}
	$statement{script} = draw_build($self->{tables}) if $kind eq 'build';
	$statement{script} = draw_reindex(chance(0.5) ? pick('t', 'u') : pick('public.tenk1', 'public.onek', 'public.road')) if $kind eq 'reindex';
	$statement{script} = draw_large_rows() if $kind eq 'large rows';
	$statement{script} = draw_with_ties($self->{tables}) if $kind eq 'ties';

	$statement{planner} = draw_planner_settings();
	$statement{control} = draw_planner_settings();
	$statement{own} = ($statement{own} // '') . draw_gpusort_settings();
	# the log gets the plan with the figures of each node; only Leaks.pm reads it there
	$statement{own} .= "LOAD 'auto_explain';\nSET auto_explain.log_min_duration = 0;\nSET auto_explain.log_analyze = on;\n"
	  . "SET auto_explain.log_nested_statements = on;\nSET auto_explain.log_verbose = " . pick('on', 'off') . ";\nSET auto_explain.log_format = " . pick('text', 'json') . ";\n"
	  if chance(0.2);
	$statement{sabotage} = draw_sabotage($self->{sabotage_share}, $self->{mounts});
	return \%statement;
}

# A script of a statement for one side.
sub script_of
{
	my ($statement, @settings) = @_;
	return join '', "SET search_path = $statement->{search_path};\n", @settings, $statement->{script};
}

sub run_statement
{
	my ($self, $statement) = @_;
	my $reference = $statement->{kind} eq 'file' ? $self->reference_of_file($statement) : $self->reference_of_drawn($statement) or return;
	my $sabotage = $statement->{sabotage};
	my $preparation = $sabotage ? Sabotage::preparation($sabotage, $reference->{duration}) : '';
	my $script = script_of($statement, $statement->{planner}, $statement->{own}, $preparation);
	my $began = time();

	@$self{ 'script', 'began' } = ($script, $began);
	# for somebody who looks at a crash
	$self->session('forced');
	Server::append("$self->{server}{directory}/statements", "$self->{backends}{forced} $self->{round}:$self->{number}:$self->{statement}\n");
	$self->report($self->shown($statement, $reference)) if $self->{only};
	my ($backend, $log_size) = ($self->{backends}{forced}, $self->{server}->log_size);
	my $output = $self->disturbed($script, $sabotage, $reference->{duration});

	return $self->check_build($statement) if $statement->{kind} eq 'build' && $output eq $reference->{output} && $output !~ /ERROR/;
	if ($output =~ /^nothing came for/m)
	{
		$self->fail($statement, 'does not end, and is not to be cancelled', $reference, $output);
		kill 'TERM', $self->{backends}{forced};
		return;
	}
	if (is_lost_to_crash($output) || is_excused($output, $sabotage ? $sabotage->{errors} : (), qr/deadlock detected|could not obtain lock/)
		|| (was_full($self->{server}, $began) && is_excused($output, full_error())))
	{
		$self->{sums}{excused}++;
		return;
	}
	if (is_excused($output, qr/due to statement timeout/))
	{
		return if $reference->{duration} > QUICK_SECONDS || $self->{server}->has_waited($backend, $log_size);
		my ($again, $duration) = $self->undisturbed('native', script_of($statement, $statement->{planner}));
		$self->fail($statement, "takes longer than " . STATEMENT_SECONDS . " seconds, without gpusort $duration", $reference, $output)
		  if defined $duration && $duration < QUICK_SECONDS && $again !~ /statement timeout/;
		return;
	}
	$self->{sums}{compared}++ if $reference->{class} ne 'none';
	return if same($output, $reference) || $self->is_undetermined($statement, $reference, $output);
	my ($again) = $self->undisturbed('forced', $script);
	$self->fail($statement, 'has another answer' . (same($again // '', $reference) ? ', but not when it is run again' : ''), $reference, $output);
}

sub same
{
	my ($output, $reference) = @_;
	return 1 if $reference->{class} eq 'none';
	return canonical_output($output, $reference->{class}) eq canonical_output($reference->{output}, $reference->{class});
}

# ---- what the answer has to be

# For a query of PostgreSQL's tests it is unknown how much of its answer is determined. That is the part that
# stays the same when all rows lie elsewhere and the planner has other settings: the sequence of the rows, the
# rows, or nothing. The sequence counts only if the query asks for one.
sub reference_of_file
{
	my ($self, $statement) = @_;
	my $file = "$self->{server}{directory}/classes/" . md5_hex("$statement->{query}{schema} $statement->{query}{sql}");
	my ($class, $duration, $output) = Server::read_text($file) =~ /^(\w+) (\S+)\n(.*)\z/s;

	if (!defined $class)
	{
		($output, $duration) = $self->undisturbed('native', script_of($statement));
		my ($other) = $self->undisturbed('reversed', script_of($statement, $statement->{control}));
		return undef unless defined $output && defined $other;
		$class = $output eq $other && $statement->{query}{sql} =~ /\bORDER\s+BY\b/i ? 'sequence' : 'set';
		$class = 'none' if $output =~ /statement timeout/ || !same($other, { output => $output, class => $class });
		write_reference($file, $class, $duration, $output);
	}
	return { file => $file, class => $class, duration => $duration, output => $output };
}

# Renamed when it is complete, since the other workers read it too.
sub write_reference
{
	my ($file, $class, $duration, $output) = @_;
	unlink "$file.$$";
	Server::append("$file.$$", "$class $duration\n$output");
	rename "$file.$$", $file or die "$file: $!";
}

# The generators draw what has one answer.
sub reference_of_drawn
{
	my ($self, $statement) = @_;
	my ($output, $duration) = $self->undisturbed('native', script_of($statement, $statement->{planner}));
	return undef if !defined $output || $output =~ /statement timeout/;
	return { class => 'sequence', duration => $duration, output => $output };
}

# Whether the answer changes without gpusort, too. If so, less of it is compared from now on.
sub is_undetermined
{
	my ($self, $statement, $reference, $output) = @_;
	# any of the rows with equal values may be shown, but PostgreSQL's own sort always shows the same
	return 1 if $statement->{kind} eq 'file' && $statement->{query}{sql} =~ /\bDISTINCT\s+ON\b/i;
	# any of its peers may come first in a window; rows that are not in a table lie the same way in all
	# databases
	return 1
	  if $statement->{kind} eq 'file' && $statement->{query}{sql} =~ /\b(?:OVER|WINDOW)\b/i && $statement->{query}{sql} =~ /\bgenerate_series\b|\bVALUES\b|\bUNION\s+ALL\s+SELECT\b/i;
	my @settings = ($statement->{planner}, '', map { draw_planner_settings() } 3 .. CONFIRMATIONS);
	my @others = grep { defined } map { ($self->undisturbed(pick('native', $statement->{kind} eq 'file' ? ('reversed', 'shuffled') : ()), script_of($statement, $_)))[0] } @settings;

	# PostgreSQL's tests do not order by everything that they show in an order
	if ($statement->{kind} eq 'file' && differ_by_ties($output, $reference->{output}))
	{
		$reference->{class} = 'set';
		write_reference(@$reference{qw(file class duration output)});
	}
	# answers that a timeout has cut off
	@others = grep { !/statement timeout/ } @others;
	while (grep { !same($_, $reference) } @others)
	{
		$reference->{class} = $reference->{class} eq 'sequence' && $statement->{kind} eq 'file' ? 'set' : 'none';
		write_reference(@$reference{qw(file class duration output)}) if $reference->{file};
	}
	return same($output, $reference);
}

# Checks that PostgreSQL finds nothing wrong with an index that gpusort has built.
sub check_build
{
	my ($self, $statement) = @_;
	my $check = "SET search_path = $self->{schema}, types, public;\nSET statement_timeout = 0;\n"
	  . "SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indisvalid AND indexrelid IN (SELECT 'built'::regclass UNION ALL SELECT relid FROM pg_partition_tree('built')) "
	  . "AND (SELECT relkind = 'i' FROM pg_class WHERE oid = indexrelid);\n";
	my $began = time();
	my ($found) = $self->undisturbed('native', $check);
	# another worker may fill what the check needs, too
	if (defined $found && was_full($self->{server}, $began) && is_excused($found, full_error()))
	{
		$self->{sums}{excused}++;
		return;
	}
	$self->{sums}{compared}++;
	if (defined $found && $found =~ /ERROR/)
	{
		my ($made, $own) = (($self->undisturbed('native', script_of($statement)))[0], ($self->undisturbed('native', $check))[0]);
		$self->fail($statement, 'has built an index that is wrong', { output => $own // '' }, $found) unless !defined $own || $own =~ /ERROR/;
		return;
	}
	# some stay until the end of the round
	$self->undisturbed('native', "SET search_path = $self->{schema};\nALTER INDEX built RENAME TO kept_$self->{statement};\n") if $statement->{script} !~ /UNIQUE/;
}

# What the backend holds when it has nothing to do.
sub look_at_own_session
{
	my ($self) = @_;
	$self->undisturbed('forced', 'SELECT 1;');
	my $backend = $self->{backends}{forced};
	my @found = grep { /memfd:/ } map { readlink // () } glob "/proc/$backend/fd/*";
	push @found, Server::read_text("/proc/$backend/maps") =~ /^(.*memfd:.*)$/mg;
	# blocks for rows, and what is known of collations, stay for the next sort
	push @found, grep { /\|/ } split /\n/, $self->session('forced')->run(<<'SQL');
SELECT name, sum(total_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'gpusort%' GROUP BY name
HAVING sum(total_bytes) > CASE name WHEN 'gpusort ICU keys' THEN 64 WHEN 'gpusort blocks of rows' THEN 17 ELSE 0 END * 1048576;
SQL
	return unless @found;
	$self->report("# An idle session of worker $self->{number} in round $self->{round} holds:\n", map { "#   $_\n" } @found);
	$self->{sums}{leaks} += @found;
}

# ---- what is shown

# What a statement is, and what is done to it.
sub shown
{
	my ($self, $statement, $reference) = @_;
	my $sabotage = $statement->{sabotage};
	return ('# Done to it: ' . ($sabotage ? sprintf('%s after %.3f s', $sabotage->{name}, $sabotage->{share} * ($reference->{duration} // 0)) : 'nothing') . "\n",
		$statement->{kind} =~ /file|large/ || $self->{has_shown_tables}++ ? () : ("# The tables of this worker:\n", commented($self->{commands})),
		"# The statement:\n", commented($self->{script}));
}

sub fail
{
	my ($self, $statement, $what, $reference, $output) = @_;
	my $query = $statement->{query} ? "query $statement->{query}{name} of PostgreSQL's tests" : $statement->{kind};

	$self->{sums}{differences}++;
	$self->report("# Statement $self->{statement} of worker $self->{number} in round $self->{round}, $query, $what.\n",
		"# To repeat it: scripts/torture -m $self->{major} -s $self->{seed} -r $self->{round}:$self->{number}:$self->{statement}\n",
		$self->shown($statement, $reference), map({ "# Signal to $_\n" } signals_since($self->{server}, $self->{began} - STATEMENT_SECONDS)),
		"# Without gpusort:\n", commented(first_lines($reference->{output})), "# With it:\n", commented(first_lines($output)));
}

sub commented { return $_[0] =~ s/\n*$/\n/r =~ s/^/#   /mgr; }

sub first_lines
{
	my @lines = split /\n/, $_[0], -1;
	return join "\n", @lines <= SHOWN_LINES ? @lines : (@lines[ 0 .. SHOWN_LINES - 1 ], '...');
}

# Prints something long in one piece.
sub report
{
	my ($self, @text) = @_;
	open my $lock, '<', $0 or die "$0: $!";
	flock $lock, LOCK_EX or die "flock: $!";
	print @text;
	STDOUT->flush;
	close $lock;
}

1;
