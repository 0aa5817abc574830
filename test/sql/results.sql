-- Results: for every type, direction and place of NULLs the order is that of the native sort, in this process and through gpusortd.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';

-- A digest of a query's rows in their order; the query should select only its sort columns.
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, chr(10))), '''') FROM (%s) q', query)
	INTO result;
	RETURN result;
END $$;

CREATE FUNCTION uses_gpusort(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line LIKE '%(GpuSort)%' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;

-- Empty if the query is taken over, and its order is the native one.
CREATE FUNCTION fault(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	native text;
	device text;
BEGIN
	IF NOT uses_gpusort(query) THEN
		RETURN 'not taken over: ' || query;
	END IF;
	PERFORM set_config('gpusort.enable', 'off', true);
	native := digest(query);
	PERFORM set_config('gpusort.enable', 'on', true);
	FOREACH device IN ARRAY ARRAY['host', 'cuda'] LOOP
		PERFORM set_config('gpusort.device', device, true);
		IF digest(query) <> native THEN
			RETURN 'wrong order on ' || device || ': ' || query;
		END IF;
	END LOOP;
	RETURN NULL;
END $$;

-- Equal values may be written in different ways; this selects a column so that they are not.
CREATE FUNCTION shown(sort_column text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN sort_column IN ('f4', 'f8') THEN sort_column || ' + 0'
		WHEN sort_column IN ('num', 'a') THEN 'trim_scale(' || sort_column || ')'
		WHEN sort_column = 'iv' THEN 'justify_interval(iv)'
		ELSE sort_column END
$$;
-- The same for many queries: texts as far as they differ, since it takes long to write the longest ones.
CREATE FUNCTION shown_in_short(sort_column text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE sort_column WHEN 't' THEN 'left(t, 400), octet_length(t)' ELSE shown(sort_column) END
$$;

CREATE DOMAIN amount AS numeric(12, 3);
CREATE TABLE samples (
	id int, b bool, i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, d date, ts timestamp, tz timestamptz,
	u uuid, t text COLLATE "C", v varchar(50) COLLATE "C", c char(20) COLLATE "C", n name, num numeric,
	a amount, j jsonb);

-- random values with many duplicates
SELECT setseed(0.5);
INSERT INTO samples
SELECT i, random() < 0.5, (random() * 100)::int2 - 50, (random() * 1000)::int4 - 500, (random() * 1e18)::int8 - 5e17::int8,
	(random() * 4e9)::int8::oid, random() * 10 - 5, random() * 1e10 - 5e9, date '2000-01-01' + (random() * 10000)::int,
	timestamp '2000-01-01' + random() * interval '30 years', timestamptz '2000-01-01' + random() * interval '30 years',
	md5((i % 997)::text)::uuid, md5((i % 1009)::text), left(md5((i % 503)::text), i % 20), left(md5((i % 211)::text), i % 5),
	'name ' || i % 1013, (random() * 1e6)::numeric(20, 5) - 500000, (random() * 1e6)::numeric(12, 3),
	to_jsonb(i % 7)
FROM generate_series(1, 5000) i;

-- the edges of each type
INSERT INTO samples (id, i2, i4, i8, o, f4, f8, d, ts, tz, t, v, c, n, num, a)
VALUES
	(6001, -32768, -2147483648, -9223372036854775808, 0, '-Infinity', '-Infinity', '-infinity', '-infinity', '-infinity', '', '', '', '', '-Infinity', -999999999.999),
	(6002, 32767, 2147483647, 9223372036854775807, 4294967295, 'Infinity', 'Infinity', 'infinity', 'infinity', 'infinity', repeat('z', 500), repeat('z', 50), 'zzz   ', repeat('z', 63), 'Infinity', 999999999.999),
	(6003, 0, 0, 0, 1, 'NaN', 'NaN', '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC', 'a', 'a ', 'a ', 'a', 'NaN', 0),
	(6004, -1, -1, -1, 2, '-0', '-0', '5874897-12-31', '294276-12-31', '294276-12-31', 'a ', 'a', 'a', 'A', 0, 0.001),
	(6005, 1, 1, 1, 3, 0, 0, '2000-01-01', '2000-01-01', '2000-01-01', 'ab', 'é', 'é', 'é', -0.00000000000000000001, -0.001),
	(6006, NULL, NULL, NULL, NULL, 1e-45, 5e-324, NULL, NULL, NULL, 'é', '€', '€', '€', 1e100, NULL),
	(6007, 2, 2, 2, 4, -1e-45, -5e-324, '1999-12-31', '1999-12-31', '1999-12-31', '€', '😀', '😀', '😀', -1e100, 1),
	(6008, 3, 3, 3, 5, 3.4e38, 1.7e308, '2000-01-02', '2000-01-02', '2000-01-02', NULL, NULL, NULL, NULL, 1.0, 1.5),
	(6009, 4, 4, 4, 6, -3.4e38, -1.7e308, '2000-01-03', '2000-01-03', '2000-01-03', 'A', 'A', 'A', 'B', 1.00, 1.50),
	(6010, 5, 5, 5, 7, 1, 1, '2000-01-04', '2000-01-04', '2000-01-04', 'a', 'a', 'a', 'b', 12345678901234567890.12345678901234567890, 2);
-- numerics of all sizes
INSERT INTO samples (id, num)
SELECT 7000 + i, (CASE i % 3 WHEN 0 THEN -1 ELSE 1 END) * ((i * 7919 % 10007)::numeric / 13) * 10::numeric ^ (i % 80 - 40)
FROM generate_series(1, 1000) i;
-- texts that share more than a key holds, and some that are compressed or stored apart
INSERT INTO samples (id, t) SELECT 9000 + i, repeat('common beginning ', 20) || (i * 7919 % 503) FROM generate_series(1, 1000) i;
INSERT INTO samples (id, t, c) SELECT 11000 + i, repeat(md5((i % 5)::text), 3000 * (i % 3)), 'pad' FROM generate_series(1, 60) i;
ALTER TABLE samples ALTER t SET STORAGE EXTERNAL;
INSERT INTO samples (id, t) SELECT 12000 + i, (i % 7) || repeat(md5((i % 5)::text), 300) FROM generate_series(1, 50) i;
ANALYZE samples;

-- one column
SELECT fault FROM unnest('{b,i2,i4,i8,o,f4,f8,d,ts,tz,u,t,v,c,n,num,a}'::text[]) sort_column,
	unnest('{ASC,DESC}'::text[]) direction, unnest('{FIRST,LAST}'::text[]) nulls,
	fault(format('SELECT %s FROM samples ORDER BY %s %s NULLS %s', shown(sort_column), sort_column, direction, nulls))
WHERE fault IS NOT NULL;

-- and of the other types, with NULLs and unusual values, and without
CREATE TYPE mood AS ENUM ('sad', 'happy');
ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy';
CREATE DOMAIN address AS inet;
CREATE TABLE others (
	id int, ch "char", mo money, tm time, tt timetz, iv interval, md mood, ip inet, ci cidr, ad address, m macaddr,
	m8 macaddr8, rt regtype, x xid8, l pg_lsn, td tid, by bytea, bt bit(12), vb varbit);
INSERT INTO others
SELECT i, (i % 256 - 128)::"char", (random() * 1000)::numeric(6, 2)::money, time '00:00' + random() * interval '24 hours',
	((time '00:00' + random() * interval '24 hours')::text || to_char(i % 25 - 12, 'SG00'))::timetz,
	(random() * 100)::int * interval '1 day' + (i % 25) * interval '1 hour', (ARRAY['sad', 'happy'])[i % 2 + 1]::mood,
	set_masklen(inet '10.0.0.0' + i % 400, 20 + i % 13), network(set_masklen(inet '10.255.0.0' - i % 400, 20 + i % 13)),
	inet '192.168.0.0' + i % 1000, left(md5((i % 997)::text), 12)::macaddr, left(md5((i % 1009)::text), 16)::macaddr8,
	(i % 503)::oid::regtype, (random() * 1e18)::int8::text::xid8, pg_lsn '0/0' + (random() * 1e18)::int8::numeric,
	format('(%s,%s)', i % 211, i % 223)::tid, decode(left(md5((i % 499)::text), i % 8 * 2), 'hex'), (i % 4096)::bit(12),
	substring((i % 1013)::bit(32), i % 33)
FROM generate_series(1, 3000) i;
INSERT INTO others (id, mo, tm, tt, iv, md, ip, ci, ad, by, vb)
VALUES
	(4001, '-92233720368547758.08', '00:00', '00:00+15:59:59', '-178000000 years', 'ok', '0.0.0.0/0', '0.0.0.0/0', '::', '', ''),
	(4002, '92233720368547758.07', '24:00', '24:00-15:59:59', '178000000 years', 'ok', '255.255.255.255/0', '::/0', '::1', '\x00', '0'),
	(4003, '-0.01', '00:00:00.000001', '12:00+00', '1 month', 'sad', '::/0', '2001:db8::/32', '2001:db8::1/64', '\x0000', repeat('0', 57)::varbit),
	(4004, '0', '23:59:59.999999', '13:00+01', '30 days', 'happy', 'ffff::/16', '2001:db8::/33', '2001:db8::2/64', '\x01', repeat('1', 57)::varbit),
	(4005, NULL, NULL, timetz '12:00+00' AT TIME ZONE interval '1000 hours', '720 hours', NULL, NULL, NULL, NULL, NULL, NULL);
ANALYZE others;
SELECT fault FROM unnest('{ch,mo,tm,tt,iv,md,ip,ci,ad,m,m8,rt,x,l,td,by,bt,vb}'::text[]) sort_column,
	unnest('{3000,5000}'::int[]) last, unnest('{ASC NULLS FIRST,DESC NULLS LAST}'::text[]) direction,
	fault(format('SELECT %s FROM others WHERE id <= %s ORDER BY %s %s', shown(sort_column), last, sort_column, direction))
WHERE fault IS NOT NULL;
-- and as domains
CREATE SCHEMA domains;
DO $$
DECLARE
	of record;
BEGIN
	FOR of IN SELECT attname, format_type(atttypid, atttypmod) AS type_name FROM pg_attribute
		WHERE attrelid = 'others'::regclass AND attnum > 0
	LOOP
		EXECUTE format('CREATE DOMAIN domains.%s AS %s', of.attname, of.type_name);
	END LOOP;
END $$;
SELECT fault FROM unnest('{ch,mo,tm,tt,iv,md,ip,ci,ad,m,m8,rt,x,l,td,by,bt,vb}'::text[]) sort_column,
	fault(format('SELECT (%s)::domains.%s FROM others ORDER BY %2$s::domains.%2$s DESC NULLS LAST', shown(sort_column), sort_column))
WHERE fault IS NOT NULL;
SELECT fault('SELECT md, bt, ip, by, justify_interval(iv), vb, id FROM others ORDER BY md DESC, bt, ip DESC, by, iv, vb DESC, id');

-- arrays
CREATE TABLE arrays AS SELECT i, ARRAY[i % 7, nullif(i % 5, 0)] || CASE WHEN i % 3 = 0 THEN ARRAY[i] END a,
	CASE WHEN i % 50 > 0 THEN ARRAY[[i % 11, i % 2], [0, 1]] END b, ARRAY[left(md5(i::text), i % 3), md5(i::text)] c,
	(ARRAY['happy', 'sad', 'ok'])[1:i % 4]::mood[] d, ARRAY[(i % 100)::amount] e, string_to_array(left(md5(i::text), i % 20), 'a') f
FROM generate_series(1, 3000) i;
ANALYZE arrays;
SELECT fault FROM unnest('{a,b,c,d,e,f}'::text[]) sort_column, unnest('{ASC NULLS FIRST,DESC NULLS LAST}'::text[]) direction,
	fault(format('SELECT %s, i FROM arrays ORDER BY %1$s %s, i', sort_column, direction))
WHERE fault IS NOT NULL;
SELECT fault('SELECT f COLLATE "en-x-icu", c COLLATE "C", d, a FROM arrays ORDER BY f COLLATE "en-x-icu" DESC, c COLLATE "C", d, a');
DROP TABLE arrays;

-- two columns, of which the second may be of any type
SELECT count(DISTINCT t) = count(DISTINCT (left(t, 400), octet_length(t))) AS differ_in_short FROM samples WHERE t IS NOT NULL;
SELECT fault FROM unnest('{b,i2,f8,t,v,c,num}'::text[]) one, unnest('{i8,t,num,n,j,u}'::text[]) two,
	unnest('{ASC,DESC}'::text[]) direction_one, unnest('{ASC NULLS FIRST,DESC NULLS LAST}'::text[]) direction_two,
	fault(format('SELECT %s, %s AS second FROM samples ORDER BY %s %s, %s %s', shown_in_short(one), shown_in_short(two), one, direction_one, two, direction_two))
WHERE fault IS NOT NULL;

-- many columns, more than a key holds
SELECT fault('SELECT b, i2, d, u, v, c, n, t, trim_scale(num), ts, f8 + 0, id FROM samples ORDER BY b, i2 DESC, d, u DESC, v, c, n DESC, t, num, ts, f8, id');
SELECT fault('SELECT u, u2, u3, u4, u5, u6, u7, u8, u9, id FROM (SELECT *, u u2, u u3, u u4, u u5, u u6, u u7, u u8, u u9 FROM samples) s ORDER BY b, u, u2, u3, u4, u5, u6, u7, u8, u9, id DESC');

-- operators that order by bytes under any collation
SELECT fault('SELECT t COLLATE "en-x-icu" FROM samples ORDER BY t COLLATE "en-x-icu" USING ~>~');
SELECT fault('SELECT c COLLATE "en-x-icu", id FROM samples ORDER BY c COLLATE "en-x-icu" USING ~<~ NULLS FIRST, id');

-- collations that do not order by bytes; under some of them different strings are equal
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION by_number (provider = icu, locale = 'en-u-ka-shifted-kn');
SELECT fault FROM unnest('{t,v,c,n}'::text[]) sort_column, unnest('{en-x-icu,und-x-icu,by_number,ignoring_case}'::text[]) name,
	unnest('{ASC NULLS FIRST,DESC NULLS LAST}'::text[]) direction,
	fault(format(CASE name WHEN 'ignoring_case' THEN 'SELECT lower(%s) FROM samples ORDER BY %1$s COLLATE %I %s'
		ELSE 'SELECT %s FROM samples ORDER BY %1$s COLLATE %I %s' END, sort_column, name, direction))
WHERE fault IS NOT NULL;
SELECT fault('SELECT b, v COLLATE "en-x-icu", i4, t COLLATE "en-x-icu", id FROM samples ORDER BY b, v COLLATE "en-x-icu" DESC, i4, t COLLATE "en-x-icu", id');
SELECT fault('SELECT ''common to all '' || i % 7 || repeat(''x'', i % 60) COLLATE "en-x-icu", i FROM generate_series(1, 5000) i ORDER BY 1, 2');
SELECT fault('SELECT CASE WHEN i < 3000 THEN md5(i::text) WHEN i % 100 > 0 THEN repeat(''x'', 20) || i END COLLATE "en-x-icu" FROM generate_series(1, 5000) i ORDER BY 1');
SELECT fault('SELECT DISTINCT lower(v) COLLATE "en-x-icu" FROM samples ORDER BY 1');

-- C.UTF-8, expressions, numbers of rows
SELECT fault('SELECT t COLLATE "C.utf8" FROM samples ORDER BY t COLLATE "C.utf8" DESC');
SELECT fault('SELECT i4 % 10, upper(v COLLATE "C") FROM samples ORDER BY i4 % 10, upper(v COLLATE "C")');
SELECT fault FROM unnest('{0,1,2,3,100,1023,1024,1025,30000}'::int[]) n,
	fault(format('SELECT i %% 13, i FROM generate_series(1, %s) i ORDER BY i %% 13, -i', n))
WHERE fault IS NOT NULL;

-- distributions for which sorts have been slow or wrong, beyond one batch of keys
SELECT fault FROM unnest('{i,-i,i*0,i%2,(i*7919::int8)%600001,abs(300000-i),(i*7919::int8)%600001+0.5}'::text[]) expression,
	fault(format('SELECT hash_array_extended(array_agg(k), 0) FROM (SELECT %s k FROM generate_series(1, 600000) i ORDER BY 1) numbers', expression))
WHERE fault IS NOT NULL;

-- The first keys are made without room for NULLs and for long numbers. All are made again when one comes late.
SELECT fault('SELECT CASE WHEN i < 120000 THEN i % 1000 END k FROM generate_series(1, 120000) i ORDER BY 1');
SELECT fault('SELECT CASE WHEN i < 120000 THEN (i % 1000)::numeric ELSE 1e-30 END k FROM generate_series(1, 120000) i ORDER BY 1');
SELECT fault('SELECT CASE WHEN i < 120000 THEN (i % 1000)::numeric ELSE 1e-30 END k, nullif(i, 110000) FROM generate_series(1, 120000) i ORDER BY 1, 2 DESC');

SET client_min_messages = warning;
DROP SCHEMA domains CASCADE;
DROP TABLE samples, others;
DROP DOMAIN amount, address;
DROP COLLATION ignoring_case, by_number;
DROP TYPE mood;
DROP FUNCTION fault, uses_gpusort, digest, shown, shown_in_short;
