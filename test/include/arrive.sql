-- Makes all processes of a query begin before any goes on, however busy the machine is. Each process waits at the first row for which it
-- calls arrive(): a worker until the leader has come, and the leader until this many workers have come. A process shows that it has come by
-- an advisory lock with the number of the query. The leader holds its lock until the end of the transaction.
CREATE FUNCTION arrive(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 0.0001 AS $$
DECLARE
	workers int := current_setting('my.workers');
	number int := current_setting('my.query');
BEGIN
	IF workers = 0 OR EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = number AND objid = 2) THEN
		RETURN true;
	ELSIF current_setting('my.leader') = pg_backend_pid()::text THEN
		WHILE (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = number AND objid = 1) < workers LOOP
			PERFORM pg_sleep(0.001);
		END LOOP;
		PERFORM pg_advisory_xact_lock_shared(number, 2);
	ELSE
		PERFORM pg_advisory_xact_lock_shared(number, 1);
		WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = number AND objid = 2) LOOP
			PERFORM pg_sleep(0.001);
		END LOOP;
	END IF;
	RETURN true;
END $$;
-- Sets how many workers the next query will have; with 0 nobody waits.
CREATE FUNCTION expect_workers(workers int) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('my.workers', workers::text, false), set_config('my.query', (current_setting('my.query')::int + 1)::text, false)
$$;
SELECT set_config('my.leader', pg_backend_pid()::text, false) IS NULL, set_config('my.workers', '0', false), set_config('my.query', '0', false) \g /dev/null
-- for a worker that never comes
SET statement_timeout = '5min';
