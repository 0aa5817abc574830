# System calls that every job needs, forbidden to the whole server as by the seccomp profile of a
# container. gpusortd says what it lacks and is not ready, and sorts go on without it.
use strict;
use warnings;
use POSIX qw(uname);
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

use constant { EPERM => 1, ENOSYS => 38, PR_SET_NO_NEW_PRIVS => 38, SECCOMP_SET_MODE_FILTER => 1 };

my %calls_of_machine = (
	x86_64 => { prctl => 157, seccomp => 317, memfd_create => 319, sendmsg => 46 },
	aarch64 => { prctl => 167, seccomp => 277, memfd_create => 279, sendmsg => 211 });
my $calls = $calls_of_machine{ (uname)[4] } or plan skip_all => 'the numbers of system calls are not known';

# Makes a system call fail in this process and its children.
sub forbid
{
	my ($call, $error) = @_;
	# struct sock_filter: the operation, two jumps, a constant
	my $filter = join '', map { pack 'SCCL', @$_ }[ 0x20, 0, 0, 0 ],    # load the number of the call
	  [ 0x15, 0, 1, $calls->{$call} ],                                  # is it this one?
	  [ 0x06, 0, 0, 0x00050000 | $error ],                              # the error
	  [ 0x06, 0, 0, 0x7fff0000 ];                                       # allowed
	# struct sock_fprog
	my $program = pack 'S x![P] P', length($filter) / 8, $filter;
	return syscall($calls->{prctl}, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
	  && syscall($calls->{seccomp}, SECCOMP_SET_MODE_FILTER, 0, $program) == 0;
}

# Runs code in a child, with a call forbidden; returns whether that has worked.
sub run_forbidden
{
	my ($call, $error, $code) = @_;
	my $child = fork // die "fork: $!";
	POSIX::_exit(forbid($call, $error) && $code->() ? 0 : 1) if $child == 0;
	waitpid $child, 0;
	return $? == 0;
}

plan skip_all => 'system calls cannot be forbidden' unless run_forbidden('memfd_create', EPERM, sub { return 1; });

my $node = GpusortCluster->new('main');
$node->init;
$node->configure(<<'CONF');
gpusort.min_rows = 0
max_parallel_workers_per_gather = 0
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->wait_until_ready('with all calls gpusortd is ready');
my $sort = "SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT hashint4(i) k FROM generate_series(1, 200000) i ORDER BY k) s";
my $expected = $node->safe_psql('postgres', "SET gpusort.enable = off; $sort");
is($node->safe_psql('postgres', "SET gpusort.device = cuda; $sort"), $expected, 'and sorts');
$node->stop;

my $profile = 'the seccomp profile of the server or its container may forbid it';
my @cases = (
	[ 'memfd_create', EPERM, "could not make staging memory of 16 MB: memfd_create: Operation not permitted, $profile" ],
	[ 'memfd_create', ENOSYS, "could not make staging memory of 16 MB: memfd_create: Function not implemented, $profile" ],
	[ 'sendmsg', EPERM, "could not pass staging memory to a client: sendmsg: Operation not permitted, $profile" ]);
foreach my $case (@cases)
{
	my ($call, $error, $reason) = @$case;
	my $log = -s $node->logfile;
	ok( run_forbidden($call, $error, sub { return run_log([ 'pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, 'start' ]); }),
		"without $call, error $error, the server starts");
	$node->_update_pid(1);
	ok($node->poll_query_until('postgres', 'SELECT state, reason FROM gpusort_devices', "unusable|$reason"), 'gpusort_devices says why gpusortd is unusable');
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY default\nSET gpusort.device = cuda; $sort");
	is($out, $expected, 'sorts are right');
	like($err, qr/WARNING:  gpusort: sorting without the device\n.*DETAIL:  \Q$reason\E\.$/m, 'and say why they are done by the backends');
	is($node->safe_psql('postgres', $sort), $expected, 'also where no device is asked for');
	my $told = () = slurp_file($node->logfile, $log) =~ /LOG:  gpusort: no usable device, sorting on the host\n.*DETAIL:  \Q$reason\E\.\n/g;
	is($told, 1, 'the log says it once');
	unlike(slurp_file($node->logfile, $log), qr/gpusortd is ready/, 'and never that gpusortd is ready');
	$node->stop;
}
done_testing();
