# Parallel queries that are held at doors. A door is an advisory lock of a session. There is a door for workers, one for leaders, and one
# at the beginning for all processes, so that no process comes too late to have rows.
package HeldQueries;
use strict;
use warnings;

# SQL: lets the leader through when door 2 is open, workers when door 1 is.
use constant PASS_FUNCTION => <<'SQL';
CREATE FUNCTION pass(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF current_setting('my.leader', true) = pg_backend_pid()::text THEN
		PERFORM pg_advisory_xact_lock_shared(2);
	ELSE
		PERFORM pg_advisory_xact_lock_shared(1);
	END IF;
	RETURN i;
END $$;
SQL

# SQL: lets all processes through when door 3 is open.
use constant ARRIVE_FUNCTION => <<'SQL';
CREATE FUNCTION arrive(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 0.0001 AS $$
BEGIN
	PERFORM pg_advisory_xact_lock_shared(3);
	RETURN i;
END $$;
SQL

# A condition on the column "id" of scanned rows, which all rows fulfil. It holds a process at door 3, at its first row whose id is a
# multiple of a hundred.
use constant ARRIVED => 'CASE WHEN id % 100 = 0 THEN public.arrive(id) ELSE id END IS NOT NULL';

# Makes doors on this cluster; the sessions that are held have this name.
sub new
{
	my ($class, $node, $name) = @_;
	my $self = bless { node => $node, name => $name }, $class;
	$self->make_doors;
	return $self;
}

# Makes the session for the locks; to be called again after a restart. The session's timeout begins anew with each query.
sub make_doors
{
	my ($self) = @_;
	$self->{doors} = $self->{node}->background_psql('postgres');
	$self->{doors}->set_query_timer_restart;
}

# Shut or open these doors.
sub shut_doors { return $_[0]->query('lock', @_[ 1 .. $#_ ]); }
sub open_doors { return $_[0]->query('unlock', @_[ 1 .. $#_ ]); }

sub query
{
	my ($self, $function, @doors) = @_;
	$self->{doors}->query_safe('SELECT ' . join(', ', map { "pg_advisory_$function($_)" } @doors));
}

# Ends the session for the locks.
sub end
{
	my ($self) = @_;
	$self->{doors}->quit;
}

# Starts a session with a script, to go on by itself.
sub start
{
	my ($self, $script) = @_;
	return $self->{node}->start_psql($self->{name}, "SELECT FROM set_config('my.leader', pg_backend_pid()::text, false);\n$script");
}

# Waits until this many leaders and workers of the sessions wait for an event of this type; returns their process ids, of leaders only if
# there are to be some. The session for the locks looks: it is there, and psql would take longer to start. Who has just got a lock may still be
# shown as waiting.
sub wait_for
{
	my ($self, $leaders, $workers, $wait_event_type) = @_;
	my $sessions = "FROM pg_stat_activity a WHERE application_name = '$self->{name}'";
	my $waiting = "$sessions AND wait_event_type ~ '$wait_event_type'"
	  . " AND (wait_event_type <> 'Lock' OR EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND NOT granted))";
	return split /\n/, $self->{doors}->query_safe(<<"SQL");
DO \$\$
BEGIN
	LOOP
		PERFORM pg_sleep(0.02), pg_stat_clear_snapshot();
		EXIT WHEN (SELECT count(*) FILTER (WHERE leader_pid IS NULL) >= $leaders AND count(leader_pid) >= $workers $waiting);
		IF clock_timestamp() > now() + interval '2 minutes' THEN
			RAISE 'never so: $leaders leaders and $workers workers wait for $wait_event_type, but: %',
				(SELECT string_agg(row(pid, leader_pid, state, wait_event_type, wait_event, query)::text, ' ') $sessions);
		END IF;
	END LOOP;
END \$\$;
SELECT pid $waiting AND ($leaders > 0 OR leader_pid IS NOT NULL) ORDER BY leader_pid NULLS FIRST, pid;
SQL
}

# Opens all doors, and waits until a session has ended.
sub finish
{
	my ($self, $session) = @_;
	$self->{doors}->query_safe('SELECT pg_advisory_unlock_all()');
	eval { $session->{handle}->finish };
}

# Starts a script whose first query scans under the condition ARRIVED. Lets its processes go on when all of them have begun.
sub start_with_all
{
	my ($self, $script, $workers) = @_;
	$self->shut_doors(3);
	my $session = $self->start($script);
	$self->wait_for(1, $workers, 'Lock');
	$self->open_doors(3);
	return $session;
}

# Starts a query, and waits until each process has got its first row. Returns the session, the leader and the workers.
sub start_at_first_rows
{
	my ($self, $script) = @_;
	$self->shut_doors(1, 2);
	my $session = $self->start($script);
	return ($session, $self->wait_for(1, 2, 'Lock'));
}

# The same. Then waits until the workers have sent all of their rows while the leader is still held, or the other way round.
sub start_with_late_leader
{
	my ($self, $script) = @_;
	my ($session, $leader, $worker) = $self->start_at_first_rows($script);
	$self->open_doors(1);
	$self->wait_for(0, 2, 'Extension');
	return ($session, $leader, $worker);
}

sub start_with_late_workers
{
	my ($self, $script) = @_;
	my ($session, $leader, $worker) = $self->start_at_first_rows($script);
	$self->open_doors(2);
	$self->wait_for(1, 0, 'Extension');
	return ($session, $leader, $worker);
}

1;
