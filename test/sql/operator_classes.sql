-- Operator classes that have the operators of others, but comparators of their
-- own: an index is built by its comparator. And operator classes that are
-- created between planning and execution.
SET client_min_messages = warning;
SET gpusort.min_rows = 0;
CREATE SCHEMA operator_classes;
SET search_path = operator_classes, public;

CREATE TABLE numbers AS SELECT i FROM generate_series(1, 3000) i;
CREATE FUNCTION compare_reversely(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT -btint4cmp($1, $2)';
CREATE OPERATOR CLASS reverse_ops FOR TYPE int USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_reversely(int, int);

-- the index has to find its rows
SET enable_seqscan = off;
CREATE INDEX ON numbers (i reverse_ops);
SELECT count(*) FROM numbers WHERE i = 5;
DROP INDEX numbers_i_idx;
CREATE INDEX ON numbers ((i % 10), i reverse_ops DESC);
SELECT count(*) FROM numbers WHERE i % 10 = 3 AND i = 13;
RESET enable_seqscan;

-- the comparator's error is raised, though by the keys the comparator is not
-- needed
CREATE FUNCTION compare_or_raise(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	IF $1 = 500 OR $2 = 500 THEN
		RAISE 'no comparison of 500';
	END IF;
	RETURN btint4cmp($1, $2);
END $$;
CREATE OPERATOR CLASS raising_ops FOR TYPE int USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_or_raise(int, int);
CREATE UNIQUE INDEX ON numbers ((i % 3), i raising_ops);

-- other indexes are still taken over
CREATE FUNCTION built_by_gpusort(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := (SELECT value FROM gpusort_stats WHERE name = 'indexes_host');
BEGIN
	EXECUTE statement;
	RETURN (SELECT value FROM gpusort_stats WHERE name = 'indexes_host') - before;
END $$;
SET gpusort.device = host;
SELECT built_by_gpusort('CREATE INDEX ON numbers (i)');
SELECT built_by_gpusort('CREATE INDEX ON numbers (i reverse_ops)');
SELECT built_by_gpusort('CREATE INDEX ON numbers ((i::text), i)');
SELECT built_by_gpusort('CREATE INDEX ON numbers ((i::text), i reverse_ops)');
RESET gpusort.device;

-- A type may get a default class after planning. Its values are compared as
-- planned, but as elements of arrays by the new class.
CREATE TYPE letter AS ENUM ('a', 'b', 'c');
CREATE TABLE letters AS
	SELECT i, (enum_range(NULL::letter))[i % 3 + 1] AS l, ARRAY[(enum_range(NULL::letter))[i % 3 + 1], 'b'] AS ls
	FROM generate_series(1, 1000) i;
CREATE FUNCTION compare_letters(letter, letter) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT -enum_cmp($1, $2)';
BEGIN;
DECLARE by_letter CURSOR FOR SELECT l, i FROM letters ORDER BY l, i;
DECLARE by_letters CURSOR FOR SELECT ls, i FROM letters ORDER BY ls, i;
DECLARE by_number CURSOR FOR SELECT i FROM letters ORDER BY i % 7, ls, i;
CREATE OPERATOR CLASS letter_ops DEFAULT FOR TYPE letter USING btree AS
	OPERATOR 1 < (anyenum, anyenum), OPERATOR 2 <= (anyenum, anyenum), OPERATOR 3 = (anyenum, anyenum),
	OPERATOR 4 >= (anyenum, anyenum), OPERATOR 5 > (anyenum, anyenum),
	FUNCTION 1 compare_letters(letter, letter);
FETCH 2 FROM by_letter;
FETCH 2 FROM by_letters;
FETCH 2 FROM by_number;
ROLLBACK;

-- each type has one of PostgreSQL's own orderings, besides orderings by bytes
SELECT opcintype::regtype AS type, array_agg(DISTINCT opfname ORDER BY opfname) AS families
FROM pg_opclass JOIN pg_opfamily f ON f.oid = opcfamily
WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree') AND f.oid < 12000
GROUP BY opcintype HAVING count(DISTINCT f.oid) > 1 ORDER BY opcintype;

DROP SCHEMA operator_classes CASCADE;
