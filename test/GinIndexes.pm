# What tests of GIN index builds share: the functions and operator classes of test/gin_contents in
# SQL, and the comparison of two indexes.
package GinIndexes;

use strict;
use warnings;
use GpusortCluster;

# SQL: compares indexes that have been built over the same rows. A result is empty if there is no difference.
use constant COMPARISON => <<'SQL';
-- The indexes with pages: those of partitions, or the index itself.
CREATE FUNCTION leaves_of(index regclass) RETURNS SETOF regclass LANGUAGE sql AS $$
	SELECT oid FROM pg_class WHERE oid = index AND relkind = 'i'
	UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = index
$$;

-- The first entry that two indexes do not have in common, as a line. Columns "by_group" may have keys that are equal and not the
-- same; there any of the keys may stand for all.
CREATE FUNCTION leaf_difference(a regclass, b regclass, by_group int[], numbers bool) RETURNS text LANGUAGE sql
SET gpusort.enable = off SET max_parallel_workers_per_gather = 0 SET enable_mergejoin = off AS $$
	SELECT format('%s entry %s: %s and %s', a, place, left(l.entry, 300), left(r.entry, 300))
	FROM (SELECT ordinality place, "column", category, tids, "column" = ANY (by_group) OR key_bytes IS NULL any_key, key_bytes, e::text entry
			FROM gin_contents(a, numbers) WITH ORDINALITY e) l
		FULL JOIN (SELECT ordinality place, "column", category, tids, key_bytes, e::text entry
			FROM gin_contents(b, numbers) WITH ORDINALITY e) r USING (place)
	WHERE (l."column", l.category, l.tids) IS DISTINCT FROM (r."column", r.category, r.tids)
		OR (NOT l.any_key AND l.key_bytes IS DISTINCT FROM r.key_bytes)
	ORDER BY place LIMIT 1
$$;

CREATE FUNCTION gin_difference(a regclass, b regclass, by_group int[] DEFAULT '{}', numbers bool DEFAULT true) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN count(*) = 0 OR count(ia.indexrelid) <> count(*) OR count(ib.indexrelid) <> count(*)
		THEN format('%s and %s are not of the same tables', a, b)
		ELSE coalesce(string_agg(leaf_difference(ia.indexrelid, ib.indexrelid, by_group, numbers), '; '), '') END
	FROM (SELECT i.* FROM pg_index i, leaves_of(a) leaf WHERE indexrelid = leaf) ia
		FULL JOIN (SELECT i.* FROM pg_index i, leaves_of(b) leaf WHERE indexrelid = leaf) ib USING (indrelid)
$$;

-- Which rows of a table a condition finds by its indexes and without.
CREATE FUNCTION found_difference(tab regclass, condition text) RETURNS text LANGUAGE plpgsql
SET gpusort.enable = off SET max_parallel_workers_per_gather = 0 SET enable_indexscan = off AS $$
DECLARE
	query text := format('SELECT count(*) n, md5(string_agg(i::text, '' '' ORDER BY i)) rows FROM %s WHERE %s', tab, condition);
	line text;
	plan text := '';
	by_index record;
	without record;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	EXECUTE query INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE query INTO without;
	-- conditions that contradict each other need no index
	RETURN CASE WHEN plan !~ 'Bitmap Index Scan|One-Time Filter: false' THEN 'no index is scanned: ' || condition
		WHEN by_index IS DISTINCT FROM without THEN format('%s: %s rows, not %s', condition, by_index.n, without.n)
		ELSE 'found ' || by_index.n END;
END $$;
SQL

# SQL: the functions and operator classes of the modules in this directory.
sub functions_of
{
	my ($directory) = @_;
	my $sql = <<"SQL";
CREATE FUNCTION gin_contents(index regclass, numbers bool DEFAULT true)
	RETURNS TABLE ("column" int2, category int, key text, key_bytes bytea, tids tid[], in_posting_tree bool)
	AS '$directory/gin_contents' LANGUAGE C STRICT;
CREATE FUNCTION gin_shape(index regclass, numbers bool DEFAULT true, OUT entry_levels bigint, OUT entry_inner bigint, OUT entry_leaves bigint,
	OUT posting_trees bigint, OUT posting_levels bigint, OUT posting_inner bigint, OUT posting_leaves bigint, OUT deleted bigint, OUT new bigint)
	AS '$directory/gin_contents' LANGUAGE C STRICT;
CREATE FUNCTION scripted_extract(text, internal, internal) RETURNS internal
	AS '$directory/gin_classes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION scripted_extract_query(int, internal, int2, internal, internal, internal, internal) RETURNS internal
	AS '$directory/gin_classes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION scripted_consistent(internal, int2, int, int, internal, internal, internal, internal) RETURNS bool
	AS '$directory/gin_classes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
SQL
	# keys are compared by their last digits first, or by their absolute values
	my %classes = (scripted_ops => [ '', '@#', '!@#' ], scripted_absolute_ops => [ '_absolute', '@##', '!@##' ]);
	foreach my $class (sort keys %classes)
	{
		my ($suffix, $has, $lacks) = @{ $classes{$class} };
		$sql .= <<"SQL";
CREATE FUNCTION scripted_compare$suffix(int, int) RETURNS int AS '$directory/gin_classes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION scripted_has$suffix(text, int) RETURNS bool AS '$directory/gin_classes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION scripted_lacks$suffix(text, int) RETURNS bool AS '$directory/gin_classes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR $has (FUNCTION = scripted_has$suffix, LEFTARG = text, RIGHTARG = int);
CREATE OPERATOR $lacks (FUNCTION = scripted_lacks$suffix, LEFTARG = text, RIGHTARG = int);
CREATE OPERATOR CLASS $class FOR TYPE text USING gin AS
	OPERATOR 1 $has (text, int), OPERATOR 2 $lacks (text, int),
	FUNCTION 1 scripted_compare$suffix(int, int), FUNCTION 2 scripted_extract(text, internal, internal),
	FUNCTION 3 scripted_extract_query(int, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 scripted_consistent(internal, int2, int, int, internal, internal, internal, internal), STORAGE int;
SQL
	}
	return $sql;
}

# SQL: all of it, of modules that are built once for all tests.
sub sql
{
	my $directory = GpusortCluster::build_once('gin_contents', 'PG_CONFIG=' . ($ENV{PG_CONFIG} // 'pg_config'));
	return functions_of($directory) . COMPARISON;
}

1;
