# Settings that not everyone may change, given before the library is loaded: by the connection, by a
# role for itself, by its database, by a session. As with a preloaded library, none of these values
# takes effect, and no limit of the role or the configuration gets lost.
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
shared_preload_libraries = ''
session_preload_libraries = 'gpusort'
gpusort.daemon_timeout = 7s
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE ROLE ordinary LOGIN;
CREATE ROLE trusted LOGIN;
CREATE ROLE chief SUPERUSER LOGIN;
GRANT SET ON PARAMETER gpusort.device_memory_limit TO trusted;
ALTER ROLE ordinary SET gpusort.device_memory_limit = '100MB';
ALTER ROLE trusted SET gpusort.device_memory_limit = '100MB';
CREATE DATABASE own OWNER ordinary;
SQL
my @settings = split /\n/, $node->safe_psql('postgres', "SELECT name FROM pg_settings WHERE name ~ '^gpusort\\.' AND context <> 'user'");
cmp_ok(scalar(@settings), '>=', 6, 'there are such settings');

# Returns what psql prints for a script under a role, with an option of the connection.
sub ask_as
{
	my ($role, $option, $script) = @_;
	local $ENV{PGOPTIONS} = $option;
	# not by standard input, which is closed where there is no session
	my ($out, $err) = run_command([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-U', $role, map { ('-c', $_) } split(/; */, $script) ]);
	return $out . ($err =~ /((?:ERROR|FATAL|WARNING):.*)/ ? $1 : '');
}

my $limits = 'SHOW gpusort.device_memory_limit; SHOW gpusort.daemon_timeout';

sub check_connections
{
	my ($how) = @_;
	foreach my $setting (@settings)
	{
		my $value = $node->safe_psql('postgres', "SELECT setting FROM pg_settings WHERE name = '$setting'");
		foreach my $name ($setting, uc $setting)
		{
			like(ask_as('ordinary', "-c $name=$value", $limits),
				qr/^FATAL:  (permission denied to set parameter|parameter) "$setting"( cannot be changed now)?$/i, "$how, $name of an ordinary role is refused");
		}
	}
	like(ask_as('chief', '-c gpusort.daemon_timeout=1', $limits), qr/^FATAL:  parameter "gpusort.daemon_timeout" cannot be changed now$/,
		"$how, even a superuser may not change what is the server's");
	is(ask_as('ordinary', '-c gpusort.min_rows=5', "$limits; SHOW gpusort.min_rows"), "100MB\n7s\n5", "$how, what anyone may change is changed");
	is(ask_as('chief', '-c gpusort.device_memory_limit=5', $limits), "5MB\n7s", "$how, a superuser's limit is");
	is(ask_as('trusted', '-c gpusort.device_memory_limit=5', $limits), "5MB\n7s", "$how, so is that of a role that may set it");
}

check_connections('by session_preload_libraries');

# with a library that is loaded by its first function
$node->append_conf('postgresql.conf', "session_preload_libraries = ''");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('session_preload_libraries') = ''");
my $load = 'SELECT count(*) > 0 FROM gpusort_stats;';
like(ask_as('ordinary', '-c gpusort.device_memory_limit=-1', "$load SELECT count(*) FROM pg_settings WHERE name ~ '^gpusort'"), qr/^0ERROR:  permission denied to set parameter "gpusort.device_memory_limit"$/,
	'the library is not loaded into a connection with such a setting');
like(ask_as('ordinary', '', "SET gpusort.device_memory_limit = -1; $load $limits"), qr/^t\n100MB\n7sWARNING:  permission denied/, "a session's is dropped");
like(ask_as('ordinary', '-c gpusort.device_memory_limit=-1', "SET gpusort.device_memory_limit = 5; $load"), qr/^ERROR:  permission denied/, 'which does not hide that of the connection');
like(ask_as('ordinary', '', "ALTER ROLE ordinary SET gpusort.device_memory_limit = -1"), qr/^ERROR:  permission denied/, 'a role cannot keep one for itself');
like(ask_as('ordinary', '', "SET gpusort.device_memory_limit = -1; ALTER ROLE ordinary SET gpusort.device_memory_limit FROM CURRENT"), qr/^ERROR:  permission denied/, 'nor that of its session');
like(ask_as('ordinary', '', "ALTER DATABASE own SET gpusort.device_memory_limit = -1"), qr/^ERROR:  permission denied/, 'nor for its database');
like(ask_as('ordinary', '', "CREATE FUNCTION pg_temp.f() RETURNS text LANGUAGE sql SET gpusort.device_memory_limit = -1 AS 'SELECT current_setting(''gpusort.device_memory_limit'')'; $load SELECT pg_temp.f()"),
	qr/ERROR:  permission denied/, 'nor for a function');

# the same with a server that knows the settings from the beginning
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort'");
$node->restart;
check_connections('preloaded');

$node->stop;
done_testing();
