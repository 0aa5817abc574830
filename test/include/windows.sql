-- The lines of a query's plan, without what depends on the version: names and optimized frames, and lines of WindowAgg.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	above text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF above !~ 'WindowAgg' OR line !~ '^ *Window: ' THEN
			RETURN NEXT replace(regexp_replace(line, '\mw\d*\M', 'w', 'g'), ' ROWS UNBOUNDED PRECEDING', '');
		END IF;
		above := line;
	END LOOP;
END $$;

-- Does a query also call nextval('calls') as often without gpusort, and give the same rows?
CREATE SEQUENCE calls;
CREATE FUNCTION same_calls(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text := 'SELECT count(*) || '' '' || sum(hashtextextended(q::text, 0)::numeric) FROM (' || query || ') q';
	with_it text;
	without text;
BEGIN
	PERFORM setval('calls', 1);
	EXECUTE digest INTO with_it;
	with_it := with_it || ' ' || nextval('calls');
	PERFORM set_config('gpusort.enable', 'off', true);
	PERFORM setval('calls', 1);
	EXECUTE digest INTO without;
	without := without || ' ' || nextval('calls');
	PERFORM set_config('gpusort.enable', 'on', true);
	RETURN CASE WHEN with_it = without THEN 'same' ELSE with_it || ' and not ' || without END;
END $$;
