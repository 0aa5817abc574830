-- A digest of a query's rows, in their order.
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('WITH q AS MATERIALIZED (%s) SELECT count(*) || '' '' || md5(string_agg(int8send(hashtextextended(q::text, 0)), '''')) FROM q', query)
	INTO result;
	RETURN result;
END $$;
