-- Values that are drawn: types, functions, and in the table "drawn" an expression for each type.  The enum
-- "disorderly" has to be there, with the values 000 to 300; types of extensions are left out where there are none.
CREATE TYPE bytewise_range AS RANGE (subtype = text, collation = "C");
CREATE TYPE collated_range AS RANGE (subtype = text);
CREATE TYPE pattern_range AS RANGE (subtype = text, subtype_opclass = text_pattern_ops);
CREATE TYPE disorderly_range AS RANGE (subtype = disorderly);
CREATE TYPE range_range AS RANGE (subtype = numrange);
CREATE DOMAIN range_domain AS numrange;
CREATE DOMAIN numbers AS int[];
CREATE TYPE inner_type AS (x int, gone int, s text, d numeric);
CREATE TYPE row_range AS RANGE (subtype = inner_type);
CREATE TYPE jsonb_range AS RANGE (subtype = jsonb);
ALTER TYPE inner_type DROP ATTRIBUTE gone;
CREATE DOMAIN inner_domain AS inner_type;
CREATE TYPE outer_type AS (x int, i inner_type, j jsonb, e disorderly, a inner_type[], s text COLLATE "C");
CREATE TYPE deep_type AS (b bool, n numbers[], r numrange, j jsonb);
CREATE FUNCTION pick(VARIADIC list anyarray) RETURNS anyelement LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() > 0.1 THEN list[1 + floor(random() * cardinality(list))::int] END $$;
CREATE FUNCTION drawn_bounds() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT (ARRAY['[]', '[)', '(]', '()'])[1 + floor(random() * 4)::int] $$;
CREATE FUNCTION drawn_number() RETURNS numeric LANGUAGE sql VOLATILE AS $$
	SELECT pick(VARIADIC ARRAY[0, 1, 1.0, 1.00, 100, 1e2, -1, 1.5, -1.5, 1e30, 1e-30, 'NaN', 'Infinity', '-Infinity', 12345678.9, 9999, 10000]::numeric[]) $$;
CREATE FUNCTION drawn_range() RETURNS numrange LANGUAGE sql VOLATILE AS $$
	SELECT numrange(least(a, b), greatest(a, b), drawn_bounds()) FROM (SELECT drawn_number() a, drawn_number() b) d $$;
CREATE FUNCTION drawn_row() RETURNS inner_type LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() > 0.1 THEN ROW(pick(1, 2, -1), pick('', 'a', 'A', 'b', 'ab', 'a b', 'é', repeat('long', 3000)), drawn_number())::inner_type END $$;
CREATE FUNCTION drawn_scalar() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT pick('null'::jsonb, 'true', 'false', '0', '-0.0', '1', '1.0', '1e2', '100', '-1.5', '12345678901234567890.5', '""', '"a"', '"A"', '"b"', '"ab"', '"a b"', '"é"',
		to_jsonb(repeat('long ', 40)), to_jsonb(repeat('long ', 40) || 'a'), to_jsonb(repeat('Long ', 40))) $$;
CREATE FUNCTION drawn_list() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(jsonb_agg(drawn_scalar()), '[]') FROM generate_series(1, floor(random() * 4)::int) $$;
CREATE FUNCTION drawn_object(inside jsonb) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(jsonb_object_agg((ARRAY['a', 'b', 'aa', 'id', 'ID', 'name', '', 'é'])[1 + floor(random() * 8)::int], CASE WHEN random() < 0.7 THEN drawn_scalar() ELSE inside END), '{}')
	FROM generate_series(1, floor(random() * 4)::int) $$;
CREATE FUNCTION drawn_document() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT CASE floor(random() * 6)::int WHEN 0 THEN drawn_scalar() WHEN 1 THEN drawn_list()
		WHEN 2 THEN drawn_object('[]') WHEN 3 THEN drawn_object(drawn_list())
		WHEN 4 THEN drawn_object(drawn_object('{}')) ELSE jsonb_build_array(drawn_object(drawn_list()), drawn_object('[]'), drawn_list()) END $$;
CREATE DOMAIN common_document AS jsonb;
CREATE FUNCTION drawn_common() RETURNS common_document LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.7 THEN jsonb_build_object('a', long, 'b', drawn_scalar()) ELSE jsonb_build_array(long, drawn_scalar()) END
	FROM (SELECT pick(a, a, a, a, a, a, a, a, a || 'a', a || 'A', upper(a), 'b' || a, repeat('é', 100), 'long') long FROM (SELECT repeat('long ', 40) a) s) s $$;
CREATE TABLE drawn (type text PRIMARY KEY, expression text);
INSERT INTO drawn VALUES
	('int4range', $$pick('empty'::int4range, '(,)', '[1,5)', '[1,6)', '[1,)', '(,5)', '[2,3)')$$),
	('numrange', $$CASE WHEN random() < 0.1 THEN 'empty'::numrange ELSE drawn_range() END$$),
	('tstzrange', $$tstzrange(pick('2000-01-01'::timestamptz, '-infinity'), pick('2000-01-02'::timestamptz, 'infinity'), drawn_bounds())$$),
	('bytewise_range', $$pick('empty'::bytewise_range, '(,)', '[a,b)', '(a,b)', '[a,b]', '(A,b]', '[A,)', '[é,)')$$),
	('collated_range', $$pick('empty'::collated_range, '(,)', '[a,b)', '(a,b)', '[a,b]', '(,B]', '[A,)', '[é,)', '[a b,)')$$),
	('pattern_range', $$pick('empty'::pattern_range, '(,)', '[a,b)', '(a,b)', '[a,b]', '(,B]', '[A,)', '[é,)')$$),
	('disorderly_range', $$pick('empty'::disorderly_range, '[100,200)', '[000,150]', '(,250)', '(300,)')$$),
	('range_range', $$CASE WHEN random() < 0.1 THEN 'empty' ELSE range_range('empty', drawn_range(), drawn_bounds()) END$$),
	('nummultirange', $$CASE WHEN random() < 0.1 THEN '{}' ELSE nummultirange(drawn_range(), drawn_range(), drawn_range()) END$$),
	('numrange[]', $$ARRAY[drawn_range(), drawn_range()]$$),
	('nummultirange[]', $$ARRAY[nummultirange(drawn_range(), drawn_range()), nummultirange(drawn_range())]$$),
	('range_domain', $$drawn_range()::range_domain$$),
	('inner_type', $$drawn_row()$$),
	('inner_domain', $$drawn_row()::inner_domain$$),
	('outer_type', $$ROW(pick(1, 2), drawn_row(), drawn_document(), pick('100'::disorderly, '150'), ARRAY[drawn_row(), drawn_row()], 'é')$$),
	('deep_type', $$ROW(pick(true, false), ARRAY[pick('{1}'::numbers, '{1,2}', '{}')], drawn_range(), drawn_document())$$),
	('row_range', $$CASE WHEN random() < 0.1 THEN 'empty' ELSE row_range(ROW(-10, 'a', 1), drawn_row(), drawn_bounds()) END$$),
	('jsonb', $$drawn_document()$$),
	('common_document', $$drawn_common()$$),
	('jsonb_range', $$CASE WHEN random() < 0.1 THEN 'empty' ELSE jsonb_range('[]', drawn_document(), '(]') END$$),
	('inner_type[]', $$CASE WHEN random() < 0.1 THEN '{}' ELSE ARRAY[drawn_row(), drawn_row()] END$$),
	('numbers[]', $$ARRAY[pick('{1}'::numbers, '{1,2}', '{}', '{NULL}'), pick('{3}'::numbers, '[0:0]={3}')]$$),
	('jsonb[]', $$ARRAY[drawn_document(), drawn_document()]$$);

-- of extensions
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'ltree') THEN
		CREATE EXTENSION ltree;
		CREATE FUNCTION drawn_path() RETURNS ltree LANGUAGE sql VOLATILE AS $$
			SELECT coalesce(string_agg(coalesce(pick('a', 'b', 'ab', 'A', 'a_b', '1', 'aa', repeat('x', 100), repeat('x', 101)), 'b1'), '.'), '')::ltree
			FROM generate_series(1, floor(random() * 5)::int) $$;
		INSERT INTO drawn VALUES ('ltree', 'drawn_path()'), ('ltree[]', 'ARRAY[drawn_path(), pick(drawn_path())]');
	END IF;
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'hstore') THEN
		CREATE EXTENSION hstore;
		CREATE FUNCTION drawn_pairs() RETURNS hstore LANGUAGE sql VOLATILE AS $$
			SELECT coalesce(hstore(array_agg(coalesce(pick(''::text, 'a', 'b', 'ab', 'id', 'é'), 'A')), array_agg(pick('', 'a', 'ab', 'b', '1', 'é', repeat('x', 100), repeat('x', 40000)))), '')
			FROM generate_series(1, floor(random() * 4)::int) $$;
		INSERT INTO drawn VALUES ('hstore', 'drawn_pairs()');
	END IF;
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'isn') THEN
		CREATE EXTENSION isn;
		-- the question mark is the check digit
		CREATE FUNCTION drawn_publication() RETURNS isbn13 LANGUAGE sql VOLATILE AS $$
			SELECT ('978' || lpad(floor(random() * 10 ^ (1 + floor(random() * 9)))::bigint::text, 9, '0') || '?')::isbn13 $$;
		INSERT INTO drawn VALUES ('isbn13', 'drawn_publication()'), ('isbn', 'drawn_publication()::isbn'), ('ean13', 'drawn_publication()'),
			('upc', $$(lpad(floor(random() * 1e11)::bigint::text, 11, '0') || '?')::upc$$);
	END IF;
END $do$;
