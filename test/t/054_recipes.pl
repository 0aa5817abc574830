# The commands of docs/recipes.md do what it says. pg_upgrade goes to a cluster of the same major, as a test has only one.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use DocumentCommands;
use GpusortCluster;

my $directory = PostgreSQL::Test::Utils::tempdir_short;
my $recipes = DocumentCommands->new('docs/recipes.md', qr{(/opt/gpusort)} => sub { "$directory/extras" });

my $node = GpusortCluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "gpusort.daemon_engine = host\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE shop');

chomp(my $bin = `pg_config --bindir`);
chomp(my $library_directory = `pg_config --pkglibdir`);
chomp(my $shared_directory = `pg_config --sharedir`);
my $has_statements = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'");

sub run_sql
{
	my ($name, %options) = @_;
	my $commands = $recipes->commands($name);
	# without the contrib module, another library that every server has
	$commands =~ s/pg_stat_statements/plpgsql/g unless $has_statements;
	return ($options{on} // $node)->safe_psql('shop', $commands, extra_params => $options{parameters} // []);
}

# A test: a block of commands in sh succeeds, in a directory with a short path, for sockets.  Returns what it prints.
sub run_sh
{
	my ($name, %environment) = @_;
	my ($out, $err) = ('', '');
	local @ENV{ keys %environment } = values %environment;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATA} = $node->data_dir;
	ok(IPC::Run::run([ 'bash', '-e', '-c', "cd '$directory'\n" . $recipes->commands($name) ], '<', \undef, '>', \$out, '2>', \$err), $name)
	  or diag($out, $err);
	return $out;
}

my $is_loaded = "SELECT count(*) FROM pg_settings WHERE name = 'gpusort.enable'";
my $libraries = 'SHOW shared_preload_libraries';
my @as_table = ('--pset', 'format=aligned', '--pset', 'tuples_only=off', '--pset', 'footer=off');

#
# Preloading
#

my $other = $has_statements ? 'pg_stat_statements' : 'plpgsql';
$node->safe_psql('postgres', "ALTER SYSTEM SET shared_preload_libraries = '$other'");
$node->restart;
is(run_sql('Which libraries are preloaded'), $other, 'the old list');
run_sql('The old list, and gpusort');
my $shown = run_sql('What the next start will read', parameters => \@as_table);
$recipes->is_shown('What the next start will read', $shown, sub { return $_[0] =~ s/^ +| +$//gmr; }) if $has_statements;
$node->restart;
is($node->safe_psql('postgres', $libraries), "$other, gpusort", 'both are preloaded');
is($node->safe_psql('postgres', $is_loaded), 1, 'gpusort is loaded');

# the list in one pair of quotes
$node->safe_psql('postgres', "ALTER SYSTEM SET shared_preload_libraries = '$other, gpusort'");
$node->stop;
ok(!$node->start(fail_ok => 1), 'a list in one pair of quotes keeps the server from starting');
like(slurp_file($node->logfile), qr/could not access file "\Q$other\E, gpusort"/, 'as the log says');
run_sh('Start without preloaded libraries');
is($node->safe_psql('postgres', $libraries), '', 'it starts without libraries');
run_sql('The old list, and gpusort');
system_or_bail('pg_ctl', 'stop', '-s', '-w', '-D', $node->data_dir);
$node->start;
is($node->safe_psql('postgres', $libraries), "$other, gpusort", 'and the list can be mended');

#
# A restore without the extension
#

$node->safe_psql('shop', 'CREATE EXTENSION gpusort; CREATE TABLE restored (i int)');
run_sh('Restore without the extension');
is($node->safe_psql('shop_restored', "SELECT to_regclass('restored'), (SELECT count(*) FROM pg_extension WHERE extname = 'gpusort')"), 'restored|0', 'without it');
$node->safe_psql('postgres', 'DROP DATABASE shop_restored');
$node->safe_psql('shop', 'DROP EXTENSION gpusort; DROP TABLE restored');

#
# A standby
#

$node->safe_psql('shop', <<'SQL');
CREATE EXTENSION gpusort;
ALTER DATABASE shop SET gpusort.work_mem = '1GB';
ALTER DATABASE shop SET session_preload_libraries = 'gpusort';
SQL
my $standby = GpusortCluster->new('standby');
run_sh('Make a standby', STANDBY_DATA => $standby->data_dir);
$standby->append_conf('postgresql.conf', 'port = ' . $standby->port . "\nunix_socket_directories = '" . $standby->host . "'");
$standby->start;
is($standby->safe_psql('shop', 'SHOW gpusort.work_mem'), '1GB', 'settings of databases are on the standby');
run_sql('On the standby', on => $standby);
$standby->poll_query_until('postgres', "SELECT current_setting('gpusort.work_mem') = '512MB'") or die 'not reloaded';
is($node->safe_psql('postgres', 'SHOW gpusort.work_mem'), '-1', 'its own settings stay there');
$standby->stop;

# without the library
$standby->append_conf('postgresql.auto.conf', "shared_preload_libraries = ''");
$standby->start;
is($standby->safe_psql('postgres', $is_loaded), 0, 'a standby need not preload the library');
$standby->stop;

#
# pg_upgrade
#

my $new = GpusortCluster->new('new');
my %places = (OLD_BIN => $bin, NEW_BIN => $bin, OLD_DATA => $node->data_dir, NEW_DATA => $new->data_dir);
my $has_checksums = $node->safe_psql('postgres', 'SHOW data_checksums') eq 'on';
$node->append_conf('postgresql.conf', "huge_page_size = 2MB\nmin_dynamic_shared_memory = 256MB");
my $bytes = $node->safe_psql('postgres', "SELECT pg_size_bytes(current_setting('shared_buffers')) + 256 * 2^20");
$node->stop;
{
	# with what initdb is told in these tests
	my $initdb = "$directory/initdb";
	append_to_file($initdb, "#!/bin/sh\nexec '$bin/initdb' -A trust -N "
		  . ($has_checksums ? '-k' : $node->pg_version >= 18 ? '--no-data-checksums' : '') . " \"\$@\" >/dev/null\n");
	chmod 0755, $initdb;
	run_sh('Make the new cluster', %places, NEW_BIN => $directory);
}
like(run_sh('Check, and upgrade', %places), qr/Upgrade Complete/, 'the upgrade is done');
$new->append_conf('postgresql.conf', 'port = ' . $new->port . "\nunix_socket_directories = '" . $new->host . "'\nlisten_addresses = ''");
$new->start;
run_sql('In each database that has the extension', on => $new);
is($new->safe_psql('shop', 'SHOW gpusort.work_mem'), '1GB', 'settings are carried over');
is($new->safe_psql('shop', "SELECT value FROM gpusort_stats WHERE name = 'sorts_host'"), 0, 'and so is the extension');
$new->stop;

#
# Containers, and huge pages
#

like(run_sh('The shared memory of a container'), qr{/dev/shm$}m, 'the shared memory');
chomp(my $pages = run_sh('Huge pages'));
cmp_ok($pages, '>', $bytes / 2**21, "$pages huge pages");
cmp_ok($pages, '<', $bytes / 2**21 * 1.25, 'which are not many more than the rule says');
$node->append_conf('postgresql.conf', 'min_dynamic_shared_memory = 0');
$node->start;
$node->poll_query_until('shop', "SELECT state = 'ready' FROM gpusort_devices") or die 'gpusortd is not ready';
is(run_sql('What sorts lack'), 'ready|', 'nothing is missing');

#
# Removing it
#

my $what = run_sql('What loads gpusort');
like($what, qr/^shared_preload_libraries\|\Q$other\E, gpusort$/m, 'the list of the server is shown');
like($what, qr/^shop\|\|.*session_preload_libraries=/m, 'and the settings of a database');
run_sql('Take it out');
$node->restart;
is(run_sql('What loads gpusort'), '', 'then there is nothing left');
is($node->safe_psql('shop', $is_loaded), 0, 'and gpusort is not loaded');
$node->stop;

#
# A directory of its own
#

SKIP:
{
	my $settings = $recipes->commands('In postgresql.conf of PostgreSQL 18');
	skip 'there is no extension_control_path', 3 if $node->pg_version < 18;
	my ($libraries, $scripts) = ("$directory/extras/lib/postgresql", "$directory/extras/share/postgresql/extension");
	system_or_bail('mkdir', '-p', $libraries, $scripts);
	system_or_bail('bash', '-c', "cp $library_directory/gpusort* $libraries && cp $shared_directory/extension/gpusort* $scripts");
	$node->append_conf('postgresql.auto.conf', $settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
	$node->wait_until_ready('gpusortd is ready');
	like($node->safe_psql('postgres', "SELECT pg_read_file('/proc/self/maps', 0, 1000000)"), qr{\Q$libraries\E/gpusort\.so}, 'the library is loaded from a directory of its own');
	is(readlink('/proc/' . $node->daemon_pid . '/exe'), "$libraries/gpusortd", 'and gpusortd is beside it');
	$node->stop;
}

$recipes->all_taken($has_statements ? undef : qr/^What the next/);
done_testing();
