-- Does a query give the same rows without gpusort?  Its orders have to be total.  Shows how many nodes of
-- this kind its plan has, too.
CREATE FUNCTION same(query text, node text DEFAULT :'node') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text := 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q';
	nodes int := 0;
	line text;
	with_it text;
	without text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		nodes := nodes + (line ~ node)::int;
	END LOOP;
	EXECUTE digest INTO with_it;
	PERFORM set_config('gpusort.enable', 'off', true);
	EXECUTE digest INTO without;
	PERFORM set_config('gpusort.enable', 'on', true);
	RETURN nodes || ' ' || CASE WHEN with_it = without THEN 'same' ELSE with_it || ' and not ' || without END;
END $$;
