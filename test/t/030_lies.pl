# Backends do not believe gpusortd. A gpusortd that lies now and then (test/gpusortd/lies.c) costs
# them jobs, but no result, no process and no memory.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/..";
use GpusortCluster;

my $seed = $ENV{GPUSORTD_LIES} // time;
note "GPUSORTD_LIES=$seed";
$ENV{GPUSORTD_LIES} = $seed;

my $library = GpusortCluster::library_with_test_gpusortd;
my $node = GpusortCluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$library'
gpusort.daemon_engine = host
gpusort.verify = on
gpusort.min_rows = 0
gpusort.work_mem = '64MB'
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort;' . GpusortCluster::HELD_FUNCTION . <<'SQL');
CREATE TABLE r AS SELECT hashint4(i) k, repeat(chr(65 + i % 23), 1 + i % 90) || i % 5000 t FROM generate_series(1, 20000) i;
CREATE TABLE many AS SELECT hashint4(i) k FROM generate_series(1, 300000) i;
ANALYZE;
SQL

# Queries, one on each line.
my $queries = <<'SQL';
SELECT count(*), md5(string_agg(k::text, ',')) FROM (SELECT k FROM r ORDER BY k OFFSET 0) s;
SELECT count(*), md5(string_agg(t, ',')) FROM (SELECT t FROM r ORDER BY t COLLATE "C" DESC OFFSET 0) s;
SELECT count(*), sum(n % 1000 * k) FROM (SELECT k, row_number() OVER (ORDER BY k) n FROM many) s;
SET gpusort.work_mem = '512kB';
SELECT count(*), md5(string_agg(t, ',')) FROM (SELECT t, k FROM r ORDER BY k, t OFFSET 0) s;
RESET gpusort.work_mem;
BEGIN;
CREATE INDEX ON r (t COLLATE "C", k);
SET LOCAL enable_seqscan = off;
SET LOCAL enable_sort = off;
SELECT count(*), md5(string_agg(t, ',')) FROM (SELECT t FROM r ORDER BY t COLLATE "C", k OFFSET 0) s;
ROLLBACK;
SELECT count(*) < 4 FROM gpusort_devices;
SQL
my $native = $node->safe_psql('postgres', "SET gpusort.enable = off;\n$queries");
$node->wait_until_ready('gpusortd runs');

my $rounds = 8;
my @sessions = map { $node->start_psql("session $_", <<"SQL") } 1 .. 3;
SET client_min_messages = error;
SET gpusort.device = cuda;
BEGIN; SELECT held(); ROLLBACK;
@{[ $queries x $rounds ]}
BEGIN; SELECT held(); ROLLBACK;
SQL
foreach my $session (@sessions)
{
	$session->{handle}->finish;
	my @lines = split /\n/, $session->{out};
	my $held_before = shift @lines;
	my $held_after = pop @lines;
	is($session->{err}, '', "$session->{name}: no error");
	is(join("\n", @lines), join("\n", ($native) x $rounds), 'all answers are right');
	is($held_after, $held_before, 'and the backend keeps nothing');
}

# Each kind of message that gpusortd sends is sent as each other kind.
my $file = $node->data_dir . '/lie';
$queries = <<'SQL';
SELECT md5(string_agg(k::text, ',')) FROM (SELECT k FROM r ORDER BY k OFFSET 0) s;
SET gpusort.work_mem = '512kB';
SELECT md5(string_agg(t, ',')) FROM (SELECT t, k FROM r ORDER BY k, t OFFSET 0) s;
RESET gpusort.work_mem;
SELECT count(*) < 4 FROM gpusort_devices;
SQL
$native = $node->safe_psql('postgres', "SET gpusort.enable = off;\n$queries");
my ($sent, $said) = ('QUEUED|WELCOME|KEYS_TAKEN|SORTED|ORDER|DEVICE|END_OF_LIST', 0);
my @kinds = slurp_file("$FindBin::RealBin/../../src/common/protocol.h") =~ /^\tMSG_(\w+)/mg;
my $script = "SET client_min_messages = error; SET gpusort.device = cuda;\n";
foreach my $kind (grep { $kinds[ $_ - 1 ] =~ /^($sent)$/ } 1 .. @kinds)
{
	$script .= "\\! echo $kind $_ > $file\n$queries" for grep { $_ != $kind } 0 .. @kinds + 1;
	$said += @kinds + 1;
}
my ($status, $out, $err) = $node->psql('postgres', $script);
is($err, '', 'no error, whatever a message is said to be');
is($out, join("\n", ($native) x $said), 'and all answers are right');
unlink $file;

cmp_ok($node->counter('device_faults'), '>', 0, 'gpusortd has lied');
cmp_ok($node->counter('sorts_device'), '>', 0, 'and has sorted');
unlike(slurp_file($node->logfile), qr/terminated by signal|exited with|TRAP/, 'no process has crashed');

$node->stop;
done_testing();
