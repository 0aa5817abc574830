-- Functions that examine a query whose groups the leader and its workers consume.
CREATE FUNCTION in_parts() RETURNS bigint LANGUAGE sql AS
	$$ SELECT value FROM gpusort_stats WHERE name = 'sorts_in_parts' $$;

-- Is the query's result the same as without gpusort: with several workers, with
-- one, with none that starts, and without a leader that takes part?
CREATE FUNCTION examine(query text, node text DEFAULT 'GpuSortGroups') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	variant text;
	before bigint;
	counted bigint;
	different bigint;
	line text;
	planned bool;
	result text := 'same';
BEGIN
	PERFORM set_config('gpusort.enable', 'off', true);
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	EXECUTE 'CREATE TEMP TABLE stock AS ' || query;
	PERFORM set_config('gpusort.enable', 'on', true);
	PERFORM set_config('max_parallel_workers_per_gather', '8', true);
	FOREACH variant IN ARRAY '{workers,"no workers","no leader"}'::text[] LOOP
		PERFORM set_config('max_parallel_workers', CASE variant WHEN 'no workers' THEN '0' ELSE '8' END, true);
		PERFORM set_config('parallel_leader_participation', CASE variant WHEN 'no leader' THEN 'off' ELSE 'on' END, true);
		planned := false;
		FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
			planned := planned OR line ~ node;
		END LOOP;
		IF NOT planned THEN
			result := 'not planned';
		END IF;
		before := in_parts();
		EXECUTE 'CREATE TEMP TABLE ours AS ' || query;
		counted := in_parts() - before;
		SELECT count(*) INTO different
		FROM ((TABLE ours EXCEPT ALL TABLE stock) UNION ALL (TABLE stock EXCEPT ALL TABLE ours)) d;
		DROP TABLE ours;
		IF different > 0 THEN
			result := format('%s other rows: %s', different, variant);
			EXIT;
		ELSIF planned AND (counted > 0) = (variant = 'no workers') THEN
			result := format('%s sorts in slices: %s', counted, variant);
			EXIT;
		END IF;
	END LOOP;
	DROP TABLE stock;
	RETURN result;
END $$;
