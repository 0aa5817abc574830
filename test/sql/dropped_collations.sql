-- A plan may outlive a collation. If the session has compared by it before,
-- PostgreSQL still does.
SET client_min_messages = warning;
SET gpusort.min_rows = 0;
SET plan_cache_mode = force_generic_plan;
CREATE SCHEMA dropped_collations;
SET search_path = dropped_collations;

CREATE TABLE words AS SELECT i, (i * 7919 % 1000)::text AS w FROM generate_series(1, 1000) i;
CREATE COLLATION of_icu (provider = icu, locale = 'en-u-kn-true');
CREATE COLLATION of_libc (provider = libc, locale = 'C.UTF-8');
CREATE COLLATION bytes (provider = libc, locale = 'C');
PREPARE by_icu AS SELECT w FROM words ORDER BY w COLLATE of_icu OFFSET 997;
PREPARE by_libc AS SELECT w FROM words ORDER BY w COLLATE of_libc OFFSET 997;
PREPARE by_bytes AS SELECT w FROM words ORDER BY w COLLATE bytes OFFSET 997;
PREPARE by_number AS SELECT w FROM words ORDER BY i / 100, w COLLATE of_icu OFFSET 997;
-- comparing two values makes the session know the collations
SELECT 'a' < 'b' COLLATE of_icu, 'a' < 'b' COLLATE of_libc, 'a' < 'b' COLLATE bytes;
EXECUTE by_icu;
EXECUTE by_libc;
EXECUTE by_bytes;
EXECUTE by_number;

BEGIN;
DECLARE by_icu CURSOR FOR SELECT w FROM words ORDER BY w COLLATE of_icu;
DECLARE by_libc CURSOR FOR SELECT w FROM words ORDER BY w COLLATE of_libc;
DECLARE by_bytes CURSOR FOR SELECT w FROM words ORDER BY w COLLATE bytes;
DECLARE by_number CURSOR FOR SELECT w FROM words ORDER BY i / 100, w COLLATE of_icu;
DROP COLLATION of_icu, of_libc, bytes;
FETCH 3 FROM by_icu;
FETCH 3 FROM by_libc;
FETCH 3 FROM by_bytes;
FETCH 3 FROM by_number;
COMMIT;

DROP SCHEMA dropped_collations CASCADE;
