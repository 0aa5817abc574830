-- Whose Sort, gpusort's or PostgreSQL's, a query has at the top.
CREATE FUNCTION sorted_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Sort  \(|GpuSort' THEN
			RETURN CASE WHEN line ~ 'GpuSort' THEN 'gpusort' ELSE 'PostgreSQL' END;
		END IF;
	END LOOP;
	RETURN 'none';
END $$;
-- What a statement returns, and what it should return, if the two differ.
CREATE FUNCTION differs(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
	expected text;
BEGIN
	EXECUTE format('SELECT s::text FROM (%s) s', statement) INTO found;
	SET LOCAL gpusort.enable = off;
	EXECUTE format('SELECT s::text FROM (%s) s', statement) INTO expected;
	SET LOCAL gpusort.enable = on;
	RETURN CASE WHEN found IS DISTINCT FROM expected THEN format('%s, not %s', found, expected) END;
END $$;
