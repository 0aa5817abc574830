/*-------------------------------------------------------------------------
 *
 * database_stats.c
 *	  Counters of each database.
 *
 * Each database that something is counted of has a place in shared memory.  A
 * process looks for that of its database once, before it counts for the first
 * time, and keeps it: there is no process of a database that is dropped.  Places
 * of dropped databases are emptied when one is wanted for another database.
 *
 * As the places are there from the beginning, counting cannot fail.  Of more
 * databases than places those that come last are not counted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "database_stats.h"

#define PLACES		1024

#define TRANCHE		"gpusort databases"

typedef struct DatabasePlace
{
	Oid			database;		/* InvalidOid: free; under the lock */
	pg_atomic_uint64 reset;		/* a TimestampTz; 0: there was none */
	pg_atomic_uint64 counters[DATABASE_STATISTICS];
} DatabasePlace;

static shmem_request_hook_type previous_shmem_request_hook;
static bool preloaded;			/* in shared_preload_libraries */
static LWLock *lock;			/* for the databases of the places */
static DatabasePlace *places;
static DatabasePlace *own_place;	/* of this process's database, or NULL */
static bool has_looked;			/* for it */

static void
request_places(void)
{
	if (previous_shmem_request_hook != NULL)
		previous_shmem_request_hook();
	RequestAddinShmemSpace(PLACES * sizeof(DatabasePlace));
	RequestNamedLWLockTranche(TRANCHE, 1);
}

void
database_stats_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	preloaded = true;
	previous_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_places;
}

/* Finds the places, making them if this is the first process to; false: none. */
static bool
find_places(void)
{
	bool		found;

	if (places != NULL || !preloaded)
		return places != NULL;
	lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	places = ShmemInitStruct(TRANCHE, PLACES * sizeof(DatabasePlace), &found);
	for (int i = 0; i < PLACES && !found; i++)
	{
		places[i].database = InvalidOid;
		pg_atomic_init_u64(&places[i].reset, 0);
		for (int j = 0; j < DATABASE_STATISTICS; j++)
			pg_atomic_init_u64(&places[i].counters[j], 0);
	}
	LWLockRelease(AddinShmemInitLock);
	return true;
}

/* The place of a database, or with InvalidOid a free one; NULL: there is none. */
static DatabasePlace *
find_place(Oid database)
{
	for (int i = 0; i < PLACES; i++)
	{
		if (places[i].database == database)
			return &places[i];
	}
	return NULL;
}

static void
set_to_zero(DatabasePlace *place)
{
	for (int i = 0; i < DATABASE_STATISTICS; i++)
		pg_atomic_write_u64(&place->counters[i], 0);
}

/*
 * Empties the places of databases that have been dropped.  The catalog is not
 * looked at under the lock.
 */
static void
forget_dropped(void)
{
	Oid		   *databases = palloc(PLACES * sizeof(Oid));

	LWLockAcquire(lock, LW_SHARED);
	for (int i = 0; i < PLACES; i++)
		databases[i] = places[i].database;
	LWLockRelease(lock);

	for (int i = 0; i < PLACES; i++)
	{
		if (!OidIsValid(databases[i]) ||
			SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(databases[i])))
			continue;
		LWLockAcquire(lock, LW_EXCLUSIVE);
		if (places[i].database == databases[i])
			places[i].database = InvalidOid;
		LWLockRelease(lock);
	}
	pfree(databases);
}

/* Finds the place of this process's database, or takes one for it. */
static void
find_own_place(void)
{
	LWLockAcquire(lock, LW_SHARED);
	own_place = find_place(MyDatabaseId);
	LWLockRelease(lock);
	if (own_place != NULL)
		return;

	forget_dropped();
	LWLockAcquire(lock, LW_EXCLUSIVE);
	own_place = find_place(MyDatabaseId);
	if (own_place == NULL)
	{
		own_place = find_place(InvalidOid);
		if (own_place != NULL)
		{
			own_place->database = MyDatabaseId;
			pg_atomic_write_u64(&own_place->reset, 0);
			set_to_zero(own_place);
		}
	}
	LWLockRelease(lock);
}

/* Has this process's database a place? */
static bool
has_place(void)
{
	if (!has_looked && find_places() && OidIsValid(MyDatabaseId))
	{
		find_own_place();
		has_looked = true;
	}
	return own_place != NULL;
}

void
database_stats_count(DatabaseStatistic statistic, uint64 amount)
{
	if (has_place())
		pg_atomic_fetch_add_u64(&own_place->counters[statistic], amount);
}

void
database_stats_reset(void)
{
	if (!has_place())
		return;
	set_to_zero(own_place);
	pg_atomic_write_u64(&own_place->reset, (uint64) GetCurrentTimestamp());
}

int
database_stats_places(void)
{
	return find_places() ? PLACES : 0;
}

bool
database_stats_read(int place, DatabaseStats *copy)
{
	DatabasePlace *source = &places[place];

	LWLockAcquire(lock, LW_SHARED);
	copy->database = source->database;
	copy->reset = (TimestampTz) pg_atomic_read_u64(&source->reset);
	for (int i = 0; i < DATABASE_STATISTICS; i++)
		copy->counters[i] = pg_atomic_read_u64(&source->counters[i]);
	LWLockRelease(lock);
	return OidIsValid(copy->database);
}
