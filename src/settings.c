/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The settings and their descriptions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"

#include "common/device.h"
#include "common/device_list.h"
#include "common/protocol.h"
#include "port/compat.h"
#include "settings.h"

bool		gpusort_enable = true;
bool		gpusort_enable_sort = true;
bool		gpusort_enable_windows = true;
bool		gpusort_enable_aggregates = true;
bool		gpusort_enable_index_build = true;
bool		gpusort_enable_costs = true;
int			gpusort_device = DEVICE_AUTO;
int			gpusort_min_rows = 2000;
int			gpusort_work_mem = -1;
int			gpusort_algorithm = DEVICE_SORT_AUTO;
bool		gpusort_verify = false;
int			gpusort_gather_rows = GATHER_AUTO;
int			gpusort_daemon_engine = ENGINE_AUTO;
char	   *gpusort_device_list;
int			gpusort_staging_memory_limit = 1024;
int			gpusort_device_memory = 90;
int			gpusort_device_memory_limit = -1;
int			gpusort_daemon_timeout = 2500;
double		gpusort_key_word_cost = 0.0025;
double		gpusort_host_sort_row_cost = 0.01;
double		gpusort_get_shared_row_cost = 0.018;
double		gpusort_hash_row_cost = 0.025;

static const struct config_enum_entry device_options[] = {
	{"auto", DEVICE_AUTO, false},
	{"cuda", DEVICE_CUDA, false},
	{"host", DEVICE_HOST, false},
	{NULL, 0, false}
};

static const struct config_enum_entry engine_options[] = {
	{"auto", ENGINE_AUTO, false},
	{"cuda", ENGINE_CUDA, false},
	{"host", ENGINE_HOST, false},
	{NULL, 0, false}
};

static const struct config_enum_entry gather_options[] = {
	{"auto", GATHER_AUTO, false},
	{"on", GATHER_ON, false},
	{"off", GATHER_OFF, false},
	{NULL, 0, false}
};

static const struct config_enum_entry algorithm_options[] = {
	{"auto", DEVICE_SORT_AUTO, false},
	{"quicksort", DEVICE_SORT_QUICKSORT, false},
	{"radix", DEVICE_SORT_RADIX, false},
	{"bitonic", DEVICE_SORT_BITONIC, false},
	{NULL, 0, false}
};

/*
 * The largest value of a cost: more than anything takes.  With the most rows
 * that the planner can expect, 1e100, costs are still far from infinite.  With
 * infinite costs the planner finds no plan.
 */
#define LARGEST_COST	1e6

/*
 * The value of gpusort.work_mem in bytes; -1 stands for the value of another
 * setting.
 */
static Size
memory_limit(int other_setting)
{
	int			kilobytes = gpusort_work_mem >= 0 ? gpusort_work_mem :
		other_setting;

	return (Size) kilobytes * 1024;
}

Size
gpusort_memory_limit(void)
{
	return memory_limit(work_mem);
}

Size
gpusort_index_memory_limit(void)
{
	return memory_limit(maintenance_work_mem);
}

uint64
gpusort_role_limit(void)
{
	return gpusort_device_memory_limit < 0 ? PG_UINT64_MAX :
		(uint64) gpusort_device_memory_limit << 20;
}

const char *
gpusort_engine_name(void)
{
	return engine_options[gpusort_daemon_engine].name;
}

/* gpusort.work_mem is -1, or at least the least value of work_mem. */
static bool
check_work_mem(int *value, void **extra, GucSource source)
{
	if (*value == -1 || *value >= 64)
		return true;
	GUC_check_errdetail("It must be -1, for the value of work_mem or maintenance_work_mem, or at least 64kB.");
	return false;
}

/* gpusort.devices is "all" or a list of numbers or of UUIDs. */
static bool
check_devices(char **value, void **extra, GucSource source)
{
	DeviceList	list;

	if (device_list_read(*value, &list))
		return true;
	GUC_check_errdetail("It must be \"all\", or a list either of device numbers, as \"0,1\", or of UUIDs, which begin with \"GPU-\" or \"MIG-\".");
	return false;
}

/* The settings that not everyone may change. */
static const struct
{
	const char *name;
	GucContext	context;
}			restricted_settings[] = {
	{"gpusort.daemon_engine", PGC_SIGHUP},
	{"gpusort.devices", PGC_SIGHUP},
	{"gpusort.staging_memory_limit", PGC_SIGHUP},
	{"gpusort.device_memory", PGC_SIGHUP},
	{"gpusort.device_memory_limit", PGC_SUSET},
	{"gpusort.daemon_timeout", PGC_SIGHUP}
};

/*
 * Raises an error if the client has given this setting in its connection, but
 * may not.  If the library is preloaded, the server itself does that.  If the
 * library is loaded later, the server has let the client's value replace the
 * value of the configuration or of the role.  Now it would drop the client's
 * value, with a warning, but not bring the other value back.  So anyone could
 * get rid of a limit.
 */
static void
refuse_setting_of_client(const char *name, GucContext context)
{
	struct config_generic *given = find_setting(name);

	if (given == NULL || given->reset_source != PGC_S_CLIENT)
		return;
	if (context != PGC_SUSET)
		ereport(ERROR,
				(errcode(ERRCODE_CANT_CHANGE_RUNTIME_PARAM),
				 errmsg("parameter \"%s\" cannot be changed now", name)));
	if (pg_parameter_aclcheck(name, given->reset_srole, ACL_SET) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to set parameter \"%s\"", name)));
}

/* One of the planner's costs. */
static void
define_cost(const char *name, const char *description, double *value)
{
	DefineCustomRealVariable(name, description, NULL,
							 value, *value, 0, LARGEST_COST,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}

void
settings_define(void)
{
	/*
	 * first, since a library that has defined settings cannot be loaded again
	 */
	for (int i = 0; i < lengthof(restricted_settings); i++)
		refuse_setting_of_client(restricted_settings[i].name,
								 restricted_settings[i].context);

	DefineCustomBoolVariable("gpusort.enable",
							 "Enables sorting by gpusort.",
							 "Off, every plan is made and run as without the extension.",
							 &gpusort_enable, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.enable_sort",
							 "Enables taking over Sort nodes of plans.",
							 NULL,
							 &gpusort_enable_sort, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.enable_windows",
							 "Enables evaluating window functions where rows are sorted.",
							 NULL,
							 &gpusort_enable_windows, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.enable_aggregates",
							 "Enables evaluating aggregates of groups, and DISTINCT, where rows are sorted.",
							 NULL,
							 &gpusort_enable_aggregates, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.enable_index_build",
							 "Enables taking over builds of B-tree and GIN indexes.",
							 NULL,
							 &gpusort_enable_index_build, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.enable_costs",
							 "Enables choosing plans by what sorts of gpusort cost.",
							 "Off, plans are chosen by the costs of PostgreSQL's own sorts.",
							 &gpusort_enable_costs, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.device",
							 "Chooses what sorts.",
							 "\"auto\" takes the GPU where there is one and the rows are enough to gain, "
							 "\"cuda\" takes gpusortd for any number of rows, "
							 "\"host\" sorts in the backend.",
							 &gpusort_device, DEVICE_AUTO, device_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.min_rows",
							"Sorts and index builds of fewer estimated rows are left to PostgreSQL.",
							NULL,
							&gpusort_min_rows, 2000, 0, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.work_mem",
							"Memory for one sort or index build.",
							"-1 takes the value of work_mem, for an index build that of maintenance_work_mem.",
							&gpusort_work_mem, -1, -1, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB,
							check_work_mem, NULL, NULL);
	DefineCustomEnumVariable("gpusort.algorithm",
							 "Chooses how the device sorts.",
							 "\"auto\" takes the fastest that is known for the input.",
							 &gpusort_algorithm, DEVICE_SORT_AUTO,
							 algorithm_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.verify",
							 "Checks the order of all rows that are emitted.",
							 "Each row is compared with the one before it; an error is raised if they are out of order.",
							 &gpusort_verify, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.gather_rows",
							 "Has parallel workers gather sorted rows for their leader while that emits them.",
							 "\"auto\" does so of many rows, by workers enough that have a processor each.",
							 &gpusort_gather_rows, GATHER_AUTO,
							 gather_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.daemon_engine",
							 "Chooses what gpusortd sorts with.",
							 "\"auto\" is \"cuda\" where there is a usable device, and no gpusortd otherwise; "
							 "\"host\" lets the whole path be used without a GPU.",
							 &gpusort_daemon_engine, ENGINE_AUTO,
							 engine_options,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.devices",
							   "Devices that gpusortd uses.",
							   "\"all\" takes each that can be used; otherwise a list of their numbers or UUIDs.",
							   &gpusort_device_list, "all",
							   PGC_SIGHUP, GUC_LIST_INPUT, check_devices, NULL, NULL);
	DefineCustomIntVariable("gpusort.staging_memory_limit",
							"Memory through which all sorts together exchange keys and order with gpusortd.",
							"It is pinned for the device. Where it is in use, further sorts are done by their backends.",
							&gpusort_staging_memory_limit, 1024, RING_MB, MAX_KILOBYTES / 1024,
							PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.device_memory",
							"Percentage of the memory of a device that may be used.",
							"It is less where other processes use the device.",
							&gpusort_device_memory, 90, 1, 100,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.device_memory_limit",
							"Device memory that all sorts of the role may use at the same time.",
							"Further ones are done by their backends. -1 is no limit.",
							&gpusort_device_memory_limit, -1, -1, MAX_KILOBYTES / 1024,
							PGC_SUSET, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.daemon_timeout",
							"Time after which a gpusortd that does not answer is killed and started anew.",
							"A query waits no more than a second longer for it. 0 waits for any time.",
							&gpusort_daemon_timeout, 2500, 0, 3600000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	define_cost("gpusort.key_word_cost",
				"Sets the planner's estimate of the cost of each further 8 bytes of a row's key.",
				&gpusort_key_word_cost);
	define_cost("gpusort.host_sort_row_cost",
				"Sets the planner's estimate of the cost of sorting a row's key where no GPU does it.",
				&gpusort_host_sort_row_cost);
	define_cost("gpusort.get_shared_row_cost",
				"Sets the planner's estimate of the cost of emitting a sorted row of a parallel worker.",
				&gpusort_get_shared_row_cost);
	define_cost("gpusort.hash_row_cost",
				"Sets the planner's estimate of what looking up a row in a hash table costs more with each doubling of the table beyond 2 MB.",
				&gpusort_hash_row_cost);
	/* users need neither of them */
	find_setting("gpusort.algorithm")->group = DEVELOPER_OPTIONS;
	find_setting("gpusort.verify")->group = DEVELOPER_OPTIONS;
	MarkGUCPrefixReserved("gpusort");
}
