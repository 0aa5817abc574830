-- The first row that is not in its place, if any; the query returns the numbers of rows in an order.
CREATE FUNCTION wrong_place(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
	expected bigint[];
	found bigint[];
	numbers text := format('SELECT array_agg(number) FROM (%s OFFSET 0) s (number)', query);
BEGIN
	EXECUTE numbers INTO found;
	SET LOCAL gpusort.enable = off;
	EXECUTE numbers INTO expected;
	SET LOCAL gpusort.enable = on;
	SELECT min(i) INTO result FROM generate_subscripts(expected, 1) i WHERE found[i] IS DISTINCT FROM expected[i];
	RETURN result;
END $$;
