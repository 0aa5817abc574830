-- Settings: their defaults, and the values that they refuse.
\pset format unaligned
SELECT name, setting, unit, context, vartype, min_val, max_val, enumvals
FROM pg_settings WHERE name LIKE 'gpusort.%' AND name NOT IN ('gpusort.verify', 'gpusort.daemon_engine')
ORDER BY name;
\pset format aligned
SELECT name FROM pg_settings WHERE name LIKE 'gpusort.%' AND category = 'Developer Options' ORDER BY name;

SET gpusort.device = 'tpu';
SET gpusort.min_rows = -1;
SET gpusort.work_mem = 63;
SET gpusort.work_mem = '1MB';
SET gpusort.algorithm = 'bogosort';
SET gpusort.staging_memory_limit = '16MB';
SET gpusort.device_memory_limit = '2GB';
SHOW gpusort.device_memory_limit;
RESET gpusort.device_memory_limit;
SET gpusort.unknown = 1;
SHOW gpusort.work_mem;
RESET gpusort.work_mem;

-- The devices of gpusortd and the counters can be seen.
DO $$
BEGIN
	FOR i IN 1 .. 600 LOOP
		IF EXISTS (SELECT FROM gpusort_devices WHERE state = 'ready') THEN
			RETURN;
		END IF;
		PERFORM pg_sleep(0.05);
	END LOOP;
	RAISE 'gpusortd is not ready';
END $$;
SELECT device, name, memory > 0 AS has_memory, state, reason FROM gpusort_devices;
SELECT name FROM gpusort_stats ORDER BY name COLLATE "C";
