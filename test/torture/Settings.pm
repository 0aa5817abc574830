# Random values of the settings on which a query's plan and its sorts depend. The server is asked
# for these settings and their ranges, so that a new setting is drawn too.
package Settings;
use strict;
use warnings;
use Draw;
use Exporter 'import';

our @EXPORT = qw(learn_settings draw_planner_settings draw_gpusort_settings);

# No sort depends on them, or a query would take too long.
my %left_out = map { $_ => 1 } qw(gpusort.enable jit jit_above_cost jit_inline_above_cost jit_optimize_above_cost default_statistics_target
  geqo_pool_size geqo_generations seq_page_cost);

my (@planner, @gpusort);

# Asks a session for the settings.
sub learn_settings
{
	my ($session) = @_;
	my @rows = map { [ split /\|/, $_, -1 ] } split /\n/, $session->run(<<'SQL');
LOAD 'gpusort';
SELECT name, vartype, min_val, max_val, boot_val, array_to_string(enumvals, ','), coalesce(unit, '') FROM pg_settings
WHERE (category LIKE 'Query Tuning%' OR name LIKE 'gpusort.%') AND context = 'user' ORDER BY name COLLATE "C";
SQL
	foreach my $row (grep { !$left_out{ $_->[0] } } @rows)
	{
		my %setting;
		@setting{qw(name type least most normal names unit)} = @$row;
		push @{ $setting{name} =~ /^gpusort/ ? \@gpusort : \@planner }, \%setting;
	}
	die 'there are no settings' unless @planner && @gpusort;
}

# A value not too far from the usual one, now and then at the ends of the range.
sub draw_value
{
	my ($setting) = @_;
	my ($least, $most, $normal) = @$setting{qw(least most normal)};
	return pick('on', 'off') if $setting->{type} eq 'bool';
	return pick(split /,/, $setting->{names}) if $setting->{type} eq 'enum';
	return pick($least, $most) if chance(0.1) && $setting->{name} !~ /collapse_limit|geqo/;
	my $value = ($normal > 0 ? $normal : 1) * 10**(rand(6) - 3);
	$value = int($value) if $setting->{type} eq 'integer';
	# what is less than the least size, but for -1, is refused
	return -1 if $setting->{name} eq 'gpusort.work_mem' && $value < 64;
	return $value < $least ? $least : $value > $most ? $most : $value;
}

sub draw_some
{
	my ($count, @settings) = @_;
	return map { "SET $_->{name} = " . quoted(draw_value($_)) . ";\n" } pick_some($count, @settings);
}

# Parallel plans wherever there can be one.
my @parallel = map { "SET $_;\n" } 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'min_parallel_index_scan_size = 0',
  'max_parallel_workers_per_gather = 2', 'gpusort.get_shared_row_cost = 0', 'gpusort.gather_rows = on';

sub draw_planner_settings
{
	return join '', draw_some(pick(0, 1, 3, 6, 12), grep { $_->{name} =~ /^enable_/ } @planner), draw_some(pick(0, 0, 1, 3), @planner),
	  chance(0.3) ? 'SET enable_hashagg = off;' . "\n" : (), chance(0.3) ? @parallel : (),
	  chance(0.2) ? 'SET work_mem = ' . pick("'64kB'", "'256kB'", "'1MB'") . ";\n" : (),
	  chance(0.1) ? 'SET maintenance_work_mem = ' . pick("'1MB'", "'4MB'", "'1GB'") . ";\n" : ();
}

sub draw_gpusort_settings
{
	return join '', 'SET gpusort.min_rows = ' . pick(0, 0, 0, 0, 100) . ";\n", 'SET gpusort.device = ' . pick('host', 'cuda', 'cuda', 'auto') . ";\n",
	  draw_some(pick(0, 0, 1, 3, 6), grep { $_->{name} !~ /min_rows|device$/ } @gpusort);
}

1;
