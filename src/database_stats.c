/*-------------------------------------------------------------------------
 *
 * database_stats.c
 *	  Counters of each database.
 *
 * Each database with counters has a place in shared memory.  A process looks
 * for the place of its database once, before it counts for the first time, and
 * keeps it: a database that is dropped has no processes.  Places of dropped
 * databases are freed when another database needs a place.
 *
 * The places exist from the beginning, so counting cannot fail.  If there are
 * more databases than places, the last databases have no counters.
 *
 * At shutdown the server writes the counters to a file, and reads them when it
 * starts again.  The file stays until something is counted, so that a start
 * that fails loses nothing.  Then it is removed, so that a crash ends all
 * counters, like those of PostgreSQL.  From 18 on the counters could be a kind
 * of PostgreSQL's own statistics.  They are not: if a server finds such a kind
 * in its file, but not the library that has registered the kind, it drops the
 * statistics of all kinds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "database_stats.h"

#define PLACES		1024

#define TRANCHE		"gpusort databases"

#define FILE_NAME	PGSTAT_STAT_PERMANENT_DIRECTORY "/gpusort.stat"

/* Changes when the contents of the file change. */
#define FILE_LAYOUT 0x20261123

typedef struct DatabasePlace
{
	Oid			database;		/* InvalidOid: free; under the lock */
	pg_atomic_uint64 reset;		/* a TimestampTz; 0: there was none */
	pg_atomic_uint64 counters[DATABASE_STATISTICS];
} DatabasePlace;

typedef struct SharedPlaces
{
	bool		file_is_current;	/* it has all that is counted; under the
									 * lock */
	DatabasePlace places[PLACES];
} SharedPlaces;

/* The file begins with this; a DatabaseStats of each database follows. */
typedef struct FileHeader
{
	uint32		layout;
	uint32		databases;
} FileHeader;

static LWLock *lock;			/* for the databases of the places */
static SharedPlaces *shared;	/* NULL: not in shared_preload_libraries */
static DatabasePlace *places;	/* its places, or NULL */
static DatabasePlace *own_place;	/* of this process's database, or NULL */
static bool has_looked;			/* for it */

void
database_stats_request(void)
{
	RequestAddinShmemSpace(sizeof(SharedPlaces));
	RequestNamedLWLockTranche(TRANCHE, 1);
}

/* Copies the counters of a place; false if it is free. */
static bool
copy_place(DatabasePlace *place, DatabaseStats *copy)
{
	memset(copy, 0, sizeof(*copy));
	copy->database = place->database;
	copy->reset = (TimestampTz) pg_atomic_read_u64(&place->reset);
	for (int i = 0; i < DATABASE_STATISTICS; i++)
		copy->counters[i] = pg_atomic_read_u64(&place->counters[i]);
	return OidIsValid(copy->database);
}

/* Initializes all places: those of the file's databases, and the free ones. */
static void
init_places(const DatabaseStats *stats, uint32 databases)
{
	const DatabaseStats none = {0};

	for (uint32 i = 0; i < PLACES; i++)
	{
		const DatabaseStats *source = i < databases ? &stats[i] : &none;

		places[i].database = source->database;
		pg_atomic_init_u64(&places[i].reset, (uint64) source->reset);
		for (int j = 0; j < DATABASE_STATISTICS; j++)
			pg_atomic_init_u64(&places[i].counters[j], source->counters[j]);
	}
}

/*
 * Reads the file into an array of all places, and sets *databases to the
 * number of databases in it; false if the file is of no use.
 */
static bool
read_file(FILE *file, DatabaseStats *stats, uint32 *databases)
{
	FileHeader	header;

	if (fread(&header, sizeof(header), 1, file) == 1 &&
		header.layout == FILE_LAYOUT && header.databases <= PLACES &&
		fread(stats, sizeof(*stats), header.databases, file) == header.databases)
	{
		*databases = header.databases;
		return true;
	}
	if (ferror(file))
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", FILE_NAME)));
	else
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("ignoring invalid data in file \"%s\"", FILE_NAME)));
	return false;
}

/* Reads the counters that the last shutdown has written. */
static void
load_places(void)
{
	DatabaseStats *stats = palloc(PLACES * sizeof(DatabaseStats));
	uint32		databases = 0;
	FILE	   *file = AllocateFile(FILE_NAME, PG_BINARY_R);

	shared->file_is_current = false;
	if (file != NULL)
	{
		shared->file_is_current = read_file(file, stats, &databases);
		FreeFile(file);
		if (!shared->file_is_current)
			unlink(FILE_NAME);
	}
	else if (errno != ENOENT)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", FILE_NAME)));
	init_places(stats, databases);
	pfree(stats);
}

/* Writes all places in use to the file; false if that has failed. */
static bool
write_file(FILE *file)
{
	FileHeader	header = {.layout = FILE_LAYOUT};
	DatabaseStats stats;

	for (int i = 0; i < PLACES; i++)
		header.databases += OidIsValid(places[i].database);
	if (fwrite(&header, sizeof(header), 1, file) != 1)
		return false;
	for (int i = 0; i < PLACES; i++)
	{
		if (copy_place(&places[i], &stats) &&
			fwrite(&stats, sizeof(stats), 1, file) != 1)
			return false;
	}
	return true;
}

/*
 * At the end of the postmaster, when all other processes have ended.  Does not
 * take the lock, as a process that was killed may have held it.
 */
static void
save_places(int code, Datum unused)
{
	const char *temporary = FILE_NAME ".tmp";
	FILE	   *file;
	bool		written;

	/* after a crash the memory may contain anything */
	if (code != 0 || shared->file_is_current)
		return;
	file = AllocateFile(temporary, PG_BINARY_W);
	written = file != NULL && write_file(file);
	if (file != NULL && FreeFile(file) != 0)
		written = false;
	if (written)
		(void) durable_rename(temporary, FILE_NAME, LOG);
	else
	{
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", temporary)));
		unlink(temporary);
	}
}

void
database_stats_make(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	shared = ShmemInitStruct(TRANCHE, sizeof(SharedPlaces), &found);
	places = shared->places;
	if (!found)
	{
		load_places();
		on_shmem_exit(save_places, (Datum) 0);
	}
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Returns the place of a database, or a free place for InvalidOid; NULL if
 * there is none.
 */
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
 * Empties the places of databases that have been dropped.  Looks at the
 * catalog without holding the lock.
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

/*
 * Removes the file before something is counted, since a start after a crash
 * would take it for current.
 */
static void
remove_file(void)
{
	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (shared->file_is_current)
		(void) durable_unlink(FILE_NAME, LOG);
	shared->file_is_current = false;
	LWLockRelease(lock);
}

/* Finds the place of this process's database, or takes one for it. */
static void
find_own_place(void)
{
	remove_file();
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
			pg_atomic_write_u64(&own_place->reset, 0);
			set_to_zero(own_place);
			/* last, as save_places() ignores the lock */
			own_place->database = MyDatabaseId;
		}
	}
	LWLockRelease(lock);
}

/* True if this process's database has a place. */
static bool
has_place(void)
{
	if (!has_looked && places != NULL && OidIsValid(MyDatabaseId))
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
	return places != NULL ? PLACES : 0;
}

bool
database_stats_read(int place, DatabaseStats *copy)
{
	bool		taken;

	LWLockAcquire(lock, LW_SHARED);
	taken = copy_place(&places[place], copy);
	LWLockRelease(lock);
	return taken;
}
