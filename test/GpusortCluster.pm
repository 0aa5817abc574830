# A PostgreSQL cluster as the TAP tests need it: with gpusortd, its counters, and sessions that go
# on by themselves.
package GpusortCluster;

use strict;
use warnings;
use parent 'PostgreSQL::Test::Cluster';
use Cwd qw(abs_path);
use Exporter 'import';
use FindBin;
# no other functions, or they would be taken for methods
use PostgreSQL::Test::Utils qw(append_to_file run_log slurp_file system_or_bail);
use Test::More import => ['ok'];
use Time::HiRes qw(sleep);

our @EXPORT = qw(status_of);

# SQL: the number of sockets, files of shared memory and rings that a backend has.
use constant HELD_FUNCTION => <<'SQL';
CREATE FUNCTION held() RETURNS bigint LANGUAGE plpgsql SET work_mem = '4MB' AS $$
BEGIN
	CREATE TEMP TABLE descriptors (line text);
	-- some are gone while they are listed
	COPY descriptors FROM PROGRAM 'ls -l /proc/$PPID/fd; true' WITH (DELIMITER E'\x01');
	RETURN (SELECT count(*) FROM descriptors WHERE line ~ 'socket:|memfd:') +
		(SELECT count(*) FROM regexp_split_to_table(pg_read_file('/proc/self/maps', 0, 1000000), E'\n') l
			WHERE l ~ 'gpusort ring');
END $$;
SQL

# SQL: lets a query wait at one of its rows until the table has its name.
use constant WAIT_FUNCTION => <<'SQL';
CREATE TABLE go_on (who text);
CREATE FUNCTION wait_at(i int, place int, who text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	WHILE i = place AND NOT EXISTS (SELECT FROM go_on g WHERE g.who = wait_at.who) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN hashint4(i);
END $$;
SQL

# SQL: all pages of an index, without the place in the log of their last change, and without the
# checksum, which includes it.
use constant PAGES_FUNCTION => <<'SQL';
CREATE EXTENSION pageinspect;
CREATE FUNCTION pages(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(substring(get_raw_page(index::text, block::int) FROM 11), ''))
	FROM generate_series(0, pg_relation_size(index) / current_setting('block_size')::int - 1) block
$$;
SQL

# SQL: a random string of characters of an alphabet, of any length up to the longest.
use constant RANDOM_TEXT_FUNCTION => <<'SQL';
CREATE FUNCTION random_text(alphabet text, longest int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(string_agg(substr(alphabet, 1 + floor(random() * length(alphabet))::int, 1), ''), '')
	FROM generate_series(1, floor(random() * (longest + 1))::int)
$$;
SQL

# Returns what the kernel says of a process; nothing if there is no such process.
sub status_of
{
	my ($pid, $name) = @_;
	my $status = eval { slurp_file("/proc/$pid/status") } // '';
	return $status =~ /^\Q$name\E:\s+(\w+)/m ? $1 : '';
}

# Adds settings to those that a cluster with gpusort has in these tests.
sub configure
{
	my ($self, $settings) = @_;
	$self->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'gpusort'
gpusort.daemon_engine = host
gpusort.verify = on
$settings
CONF
}

# Whether the server has ICU. A server without ICU may still list a collation of ICU.
sub has_icu { return `pg_config --configure` !~ /--without-icu/; }

# Makes a link to the installed library in this directory, to be loaded in its place. To the server
# both are the same library, but gpusortd is searched for beside the link.
sub link_library
{
	my ($directory) = @_;
	my $pkglibdir = `pg_config --pkglibdir`;
	chomp $pkglibdir;
	my $library = "$pkglibdir/gpusort.so";
	my $link = "$directory/gpusort.so";
	if ((readlink($link) // '') ne $library)
	{
		unlink $link;
		symlink($library, $link) or die "symlink: $!";
	}
	return "$directory/gpusort";
}

# Builds, once for all tests, what the Makefile of a directory of test/ makes.
# Returns the directory of the result.
sub build_once
{
	my ($name, @variables) = @_;
	my $directory = "$PostgreSQL::Test::Utils::tmp_check/$name";
	mkdir $directory;
	$directory = abs_path($directory);
	# another test may be at it
	system_or_bail('flock', $directory, 'make', '-s', '-C', $directory, '-f', "$FindBin::RealBin/../$name/Makefile", @variables);
	return $directory;
}

# The same with the gpusortd for tests, see test/gpusortd.
sub library_with_test_gpusortd { return link_library(build_once('gpusortd')); }

# The module with the product's key encoders, see test/encoders.
sub encoders_module { return build_once('encoders', 'PG_CONFIG=' . ($ENV{PG_CONFIG} // 'pg_config')) . '/test_key_encoders'; }

# The process of the cluster's gpusortd, 0 if there is none.
sub daemon_pid
{
	my ($self) = @_;
	foreach my $process (glob '/proc/[0-9]*')
	{
		my $working = readlink("$process/cwd") // next;
		my $executed = readlink("$process/exe") // next;
		# also if another gpusortd has been installed since
		return $1 if $working eq $self->data_dir && $executed =~ m{/gpusortd( \(deleted\))?$} && $process =~ /(\d+)$/;
	}
	return 0;
}

# The process of the launcher, which is the parent of gpusortd's guard.
sub launcher_pid
{
	my ($self) = @_;
	return status_of(status_of($self->daemon_pid, 'PPid'), 'PPid');
}

# A test: gpusortd gets ready to sort.
sub wait_until_ready
{
	my ($self, $what) = @_;
	ok($self->poll_query_until('postgres', "SELECT count(*) = 1 FROM gpusort_devices WHERE state = 'ready'"), $what);
}

# Waits until the server accepts sessions again; false if it does not in time. poll_query_until()
# does not suffice: psql may have ended before it gets the query.
sub wait_until_up
{
	my ($self) = @_;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if run_log([ 'pg_isready', '-q', '-h', $self->host, '-p', $self->port ]);
		sleep 0.1;
	}
	return 0;
}

# Returns a counter of gpusort_stats.
sub counter
{
	my ($self, $name) = @_;
	return $self->safe_psql('postgres', "SELECT value FROM gpusort_stats WHERE name = '$name'");
}

# The number of segments of dynamic shared memory, of the type "mmap", beside memory set aside.
sub segments
{
	my ($self) = @_;
	return scalar(() = glob $self->data_dir . '/pg_dynshmem/mmap.*');
}

# Compares random queries on the cluster, with options of compare.pl; returns
# its exit status, and what it prints.
sub compare_random
{
	my ($self, @options) = @_;
	my $output = '';
	local $ENV{PGHOST} = $self->host;
	local $ENV{PGPORT} = $self->port;
	local $ENV{PGDATABASE} = 'postgres';
	IPC::Run::run([ 'perl', "$FindBin::RealBin/../differential/compare.pl", @options ], '>', \$output, '2>&1');
	return ($? >> 8, $output);
}

# Starts psql with a script, to go on by itself, as an application of this name. The result has its
# output in "out" and "err", and its process in "handle".
sub start_psql
{
	my ($self, $name, $script) = @_;
	my %session = (name => $name, out => '', err => '');
	my $file = PostgreSQL::Test::Utils::tempdir . '/script';
	append_to_file($file, "\\set VERBOSITY terse\nSET application_name = '$name';\n$script");
	$session{handle} = IPC::Run::start([ 'psql', '-XAtq', '-d', $self->connstr('postgres') ],
		'<', $file, '>', \$session{out}, '2>', \$session{err});
	return \%session;
}

1;
