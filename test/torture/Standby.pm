# A standby of a round's server, with wal_consistency_checking: it compares each page that it has replayed
# with the primary's, and ends when they differ. At the end of the round it must have the same rows, and
# indexes that are good in PostgreSQL's eyes.
package Standby;
use strict;
use warnings;
use Leaks;
use Server;
use Exporter 'import';

our @EXPORT = qw(make_standby check_standby);

my %of_primary = (wal_consistency_checking => 'all', wal_keep_size => '2GB');

# The settings with which a primary has to be started.
sub settings { return \%of_primary; }

sub make_standby
{
	my ($server) = @_;
	my $standby = Server->new("$server->{directory}/standby");
	Server::run_command('rm', '-rf', $standby->{directory});
	Server::must_run(Server::as_server_user(), 'mkdir', '-m', '700', $standby->{directory});
	# as the user who runs the server, who has to own the files
	Server::must_run(Server::as_server_user(), "PGHOST=$server->{directory}", 'PGUSER=postgres', 'pg_basebackup', '-D', $standby->{data}, '-R', '-c', 'fast', '--no-sync',
		'-T', "$server->{small}=$standby->{small}");
	unlink "$standby->{data}/round.conf";
	Server::append("$standby->{data}/postgresql.conf",
		"unix_socket_directories = '$standby->{directory}'\nmax_connections = 100\nmax_worker_processes = 32\nmax_wal_senders = 20\nwal_retrieve_retry_interval = 200ms\nallow_in_place_tablespaces = on\n");
	$standby->start or die 'the standby does not start';
	return $standby;
}

# Waits until the standby has what the server has; ends it, and returns what is
# wrong with it.
sub check_standby
{
	my ($server, $standby) = @_;
	my @found;
	my $written = Leaks::ask('torture', 'SELECT pg_current_wal_insert_lsn();') =~ s/\n//r;
	my %digests = Leaks::digest_of_tables();
	{
		local $ENV{PGHOST} = $standby->{directory};
		my $replayed = Server::wait_until(sub { Leaks::ask('torture', "SELECT pg_last_wal_replay_lsn() >= '$written';") eq "t\n" });
		push @found, 'the standby does not replay what the server has written' unless $replayed;
		# a function in an index of PostgreSQL's tests asks for a transaction id, and a standby has none
		push @found, grep { !/during recovery/ } Leaks::indexes_with_errors('bt_index_check(%s, true)') if $replayed;
		my %replayed = $replayed ? Leaks::digest_of_tables() : ();
		push @found, map { "the standby has other rows: $replayed{$_} instead of $digests{$_}" } grep { defined $digests{$_} && $replayed{$_} ne $digests{$_} } sort keys %replayed;
		push @found, 'the standby has few of the tables' if $replayed && keys %replayed < keys(%digests) / 2;
	}
	$standby->stop('fast') or push @found, 'the standby does not stop';
	push @found, grep { /TRAP:|PANIC:|inconsistent page|was terminated by signal/ } split /\n/, $standby->new_log;
	push @found, map { "  $_" } @found ? Server::last_lines($standby->{log}, 10) : ();
	return @found;
}

1;
