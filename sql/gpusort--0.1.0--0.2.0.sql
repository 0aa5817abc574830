-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION gpusort UPDATE TO '0.2.0'" to load this file. \quit

CREATE FUNCTION gpusort_progress(
	OUT pid integer,
	OUT datid oid,
	OUT kind text,
	OUT phase text,
	OUT rows_put bigint,
	OUT rows_expected bigint,
	OUT runs_written bigint,
	OUT rows_emitted bigint,
	OUT device text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION gpusort_progress() IS 'sorts and index builds that gpusort is at';

CREATE VIEW gpusort_progress AS
	SELECT s.pid, s.datid, d.datname, s.kind, s.phase, s.rows_put, s.rows_expected,
		s.runs_written, s.rows_emitted, s.device
	FROM gpusort_progress() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.datid;

COMMENT ON VIEW gpusort_progress IS 'sorts and index builds that gpusort is at';

GRANT SELECT ON gpusort_progress TO PUBLIC;
