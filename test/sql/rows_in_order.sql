-- Rows that come in order already, under a collation whose keys take long to make.
SET gpusort.min_rows = 0;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
CREATE TABLE words AS SELECT i id, md5(i::text) word FROM generate_series(1, 5000) i;
CREATE TABLE sorted AS SELECT row_number() OVER (ORDER BY word COLLATE "en-x-icu", id) place, id, word FROM words;

-- How an order is made, and the first row that is not in its place, if any.
CREATE FUNCTION method(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Sort Method' THEN
			RETURN (regexp_match(line, 'Sort Method: (.*?)(?:  |$)'))[1];
		END IF;
	END LOOP;
END $$;
CREATE FUNCTION wrong_place(rows text, sort text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
	expected bigint[];
	found bigint[];
	query text := format('SELECT array_agg(place) FROM (SELECT place FROM (%s) r ORDER BY %s OFFSET 0) s', rows, sort);
BEGIN
	EXECUTE query INTO found;
	SET LOCAL gpusort.enable = off;
	EXECUTE query INTO expected;
	SET LOCAL gpusort.enable = on;
	SELECT min(i) INTO result FROM generate_subscripts(expected, 1) i WHERE found[i] IS DISTINCT FROM expected[i];
	RETURN result;
END $$;

SELECT rows, sort, method(format('SELECT * FROM (%s) r ORDER BY %s', rows, sort)), wrong_place(rows, sort)
FROM (VALUES
	('SELECT * FROM sorted ORDER BY place OFFSET 0', 'word COLLATE "en-x-icu", id'),
	('SELECT * FROM sorted ORDER BY place DESC OFFSET 0', 'word COLLATE "en-x-icu" DESC, id DESC'),
	('SELECT * FROM sorted ORDER BY place DESC OFFSET 0', 'word COLLATE "en-x-icu", id'),
	('SELECT * FROM sorted WHERE place = 1', 'word COLLATE "en-x-icu"'),
	('SELECT least(place, 1) place, id, left(word, 0) word FROM sorted', 'word COLLATE "en-x-icu", place'),
	('SELECT place, id, nullif(word, word) word FROM sorted ORDER BY place OFFSET 0', 'word COLLATE "en-x-icu", place'),
	('SELECT * FROM (TABLE sorted UNION ALL SELECT 6000, 6000, NULL ORDER BY 1 OFFSET 0) o', 'word COLLATE "en-x-icu", id'),
	('SELECT * FROM (TABLE sorted UNION ALL SELECT 6000, 6000, NULL ORDER BY 1 OFFSET 0) o', 'word COLLATE "en-x-icu" NULLS FIRST, id'),
	('SELECT * FROM (TABLE sorted UNION ALL SELECT 6000, 6000, '''' ORDER BY 1 OFFSET 0) o', 'word COLLATE "en-x-icu", id'),
	-- keys of bytes are made in any case
	('SELECT * FROM sorted ORDER BY place OFFSET 0', 'word COLLATE "C", id')) cases (rows, sort);

-- there is no sort left to do, but a memory limit
SET gpusort.work_mem = '64kB';
SELECT method('SELECT * FROM unnest((SELECT array_agg(word ORDER BY place) FROM sorted)) word ORDER BY word COLLATE "en-x-icu"') ~ '^none, rows in order, merge of' AS in_runs;
RESET gpusort.work_mem;

-- back and forth
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT place FROM (SELECT * FROM sorted ORDER BY place OFFSET 0) r ORDER BY word COLLATE "en-x-icu", id;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 2500 FROM c;
COMMIT;
DROP TABLE words, sorted;
DROP FUNCTION method, wrong_place;
