-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

CREATE FUNCTION gpusort_devices(
	OUT device integer,
	OUT name text,
	OUT uuid text,
	OUT memory bigint,
	OUT capability text,
	OUT driver text,
	OUT state text,
	OUT reason text,
	OUT memory_used bigint,
	OUT jobs integer,
	OUT sorts bigint,
	OUT busy_microseconds bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpusort_devices() IS 'devices that gpusortd sees';

CREATE VIEW gpusort_devices AS
	SELECT device, name, uuid, memory, capability, driver, state, reason,
		memory_used, jobs, sorts, busy_microseconds
	FROM gpusort_devices();

COMMENT ON VIEW gpusort_devices IS 'devices that gpusortd sees';

CREATE FUNCTION gpusort_stats(
	OUT name text,
	OUT value bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION gpusort_stats() IS 'what gpusort has done since the server started';

CREATE VIEW gpusort_stats AS SELECT name, value FROM gpusort_stats();

COMMENT ON VIEW gpusort_stats IS 'what gpusort has done since the server started';

GRANT SELECT ON gpusort_devices, gpusort_stats TO PUBLIC;
