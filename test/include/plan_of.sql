-- The nodes of a plan, from the top, and the lines of gpusort's nodes that all versions have; with the numbers of a run if the query is
-- run.
CREATE FUNCTION plan_of(query text, run bool DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF, TIMING OFF, SUMMARY OFF%s) %s', CASE WHEN run THEN ', ANALYZE' END, query) LOOP
		line := regexp_replace(line, ' \(actual.*', '');
		IF line !~ 'Window: |Storage: |Workers Planned|Buffers: |Planning:' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;
