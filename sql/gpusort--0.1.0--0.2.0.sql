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

CREATE FUNCTION gpusort_stat_database(
	OUT datid oid,
	OUT sorts_device bigint,
	OUT sorts_host bigint,
	OUT sorts_native bigint,
	OUT sorts_spilled bigint,
	OUT rows bigint,
	OUT bytes bigint,
	OUT indexes bigint,
	OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION gpusort_stat_database() IS 'what gpusort has done in each database';

CREATE VIEW gpusort_stat_database AS
	SELECT s.datid, d.datname, s.sorts_device + s.sorts_host + s.sorts_native AS sorts, s.sorts_device, s.sorts_host,
		s.sorts_native, s.sorts_spilled, s.rows, s.bytes, s.indexes, s.stats_reset
	FROM gpusort_stat_database() s JOIN pg_catalog.pg_database d ON d.oid = s.datid;

COMMENT ON VIEW gpusort_stat_database IS 'what gpusort has done in each database';

CREATE FUNCTION gpusort_stat_database_reset()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION gpusort_stat_database_reset() IS 'resets what gpusort_stat_database has of the present database';

REVOKE ALL ON FUNCTION gpusort_stat_database_reset() FROM PUBLIC;

GRANT SELECT ON gpusort_progress, gpusort_stat_database TO PUBLIC;
