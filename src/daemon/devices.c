/*-------------------------------------------------------------------------
 *
 * devices.c
 *	  The devices that jobs go to: their memory, and the queue for it.
 *
 * A job goes to one device, and stays there as long as the device has room for
 * it.  Before it begins it reserves what its first keys need, on the device
 * with the least memory reserved, or of two alike on the one with fewer jobs.
 * It reserves more as its keys come.  Nothing is reserved for the rows that
 * the planner expects: it may be wrong, and the rows may take any time to
 * come.  If no device has room for the first keys of a job, the job waits in a
 * queue, of which there is one for all devices.  The first job of the queue
 * takes the device that has room for it first, and none overtakes it.
 *
 * A job that needs more gets it at once or not at all: a job that has memory
 * never waits for memory, so no two jobs wait for each other.  (admission.c
 * decides what a job does without more.)  As long as a device has other jobs,
 * none grows into the last part of its memory, which is left for jobs that
 * begin.  Jobs with idle clients give way to those that wait, see shortage.c.
 * Once a job has sorted it keeps memory for its order, and for its keys if it
 * has several parts, and gives back the rest.
 *
 * Other processes use the devices too.  So the driver is asked how much memory
 * of a device jobs may have, which takes a part of a millisecond.  The answer
 * counts for some time, in which it may become wrong.  If a job then does not
 * get what it has reserved, its backend sorts.  Memory that no job has needed
 * of late goes back to the driver.
 *
 * The jobs of a role have a limit of memory on all devices together.  A job
 * that would exceed the limit is not queued, since others would wait behind it
 * for nothing.
 *
 * A device whose job has failed gets no jobs for a while, if another device
 * can do them; then it is tried again.  The last device is never left out: its
 * jobs would have nowhere else to go, and a backend whose job fails sorts by
 * itself.  An error that only a new process can cure is another matter, see
 * connection.c.
 *
 *-------------------------------------------------------------------------
 */
#include "devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "clock.h"
#include "peak.h"
#include "report.h"
#include "shortage.h"

/* One part in this many of a device is left to jobs that begin. */
#define PART_TO_BEGIN	8

/* How often a waiting job looks whether its client still wants it. */
#define CANCEL_CHECK_NANOSECONDS	50000000

/* How long the answer of a driver about its memory counts. */
#define TRUE_MICROSECONDS	50000

/* Device memory that is kept for the next job, which need not be large. */
#define KEPT_BYTES			(UINT64_C(64) << 20)

/* Times are in microseconds. */
typedef struct Device
{
	DeviceInfo	info;
	DeviceState state;			/* state at the start; out_until has failures */
	DeviceError reason;			/* the last reason why it was not ready */
	uint64_t	share;			/* bytes that jobs may use */
	uint64_t	total;			/* bytes that jobs can use, as far as is known */
	uint64_t	asked_at;		/* time of the last question; 0 to ask anew */
	bool		is_asked;		/* a thread is asking the driver now */
	uint64_t	reserved;		/* bytes that jobs have */
	Peak		peak;			/* peak of reserved */
	bool		may_keep;		/* the driver may have given more than
								 * KEPT_BYTES */
	uint32_t	jobs;			/* jobs that have memory */
	uint32_t	sorting;		/* jobs that sort now */
	uint64_t	sorting_since;	/* time since which any job sorts */
	uint64_t	busy_microseconds;	/* time in which any job sorted, up to
									 * sorting_since */
	uint64_t	sorts;			/* sorts done */
	uint64_t	out_until;		/* time before which the device gets no jobs */
} Device;

/* A job in the queue; lives on its thread's stack. */
typedef struct Waiter
{
	struct Waiter *next;
} Waiter;

static const Engine *engine;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Device devices[MAX_DEVICES];
static int	ndevices;
static Waiter *first_waiter;

/* Is this entry of a list the device? */
static bool
is_entry(const ListedDevice *entry, int number)
{
	if (entry->number >= 0)
		return entry->number == number;
	return strcasecmp(entry->name, devices[number].info.uuid) == 0;
}

static bool
is_wanted(const DeviceList *wanted, int number)
{
	for (int i = 0; i < wanted->count; i++)
	{
		if (is_entry(&wanted->entries[i], number))
			return true;
	}
	return wanted->is_all;
}

/*
 * If the list names slices, CUDA has only the devices of the list, in the
 * order of the list, and tells of which GPU each is a slice.
 */
static void
name_slice(const DeviceList *wanted, int number)
{
	if (wanted->has_slices && number < wanted->count)
		memcpy(devices[number].info.uuid, wanted->entries[number].name,
			   DEVICE_UUID_SIZE);
}

static bool
exists(const ListedDevice *entry)
{
	for (int number = 0; number < ndevices; number++)
	{
		if (is_entry(entry, number))
			return true;
	}
	return false;
}

/* Says which devices cannot be used though they are wanted. */
static void
report_missing(const DeviceList *wanted)
{
	for (int i = 0; i < wanted->count; i++)
	{
		if (!exists(&wanted->entries[i]))
			report("log there is no device %s", wanted->entries[i].name);
	}
	for (int number = 0; number < ndevices; number++)
	{
		if (devices[number].state == DEVICE_UNUSABLE)
			report("log device %d, %s, cannot be used: %s", number,
				   devices[number].info.name, devices[number].reason.text);
	}
}

/* Reads a device's description, and makes the device ready if it is wanted. */
static void
start_device(int number, const DeviceList *wanted, int memory_percent)
{
	Device	   *device = &devices[number];
	bool		is_described = engine->describe(number, &device->info,
												&device->reason);

	name_slice(wanted, number);
	device->state = is_wanted(wanted, number) ? DEVICE_UNUSABLE : DEVICE_UNUSED;
	if (is_described && device->state != DEVICE_UNUSED &&
		engine->start(number, &device->reason))
	{
		device->state = DEVICE_READY;
		device->share = device->info.memory_bytes / 100 * memory_percent;
		device->total = device->share;
	}
}

bool
devices_start(const Engine *used_engine, const DeviceList *wanted,
			  int memory_percent, DeviceError *error)
{
	bool		is_any_ready = false;

	engine = used_engine;
	ndevices = engine->count(error);
	if (ndevices == 0)
		return false;
	if (ndevices > MAX_DEVICES)
		ndevices = MAX_DEVICES;
	snprintf(error->text, sizeof(error->text), "there is no device %s",
			 wanted->text);
	for (int number = 0; number < ndevices; number++)
	{
		start_device(number, wanted, memory_percent);
		if (devices[number].state == DEVICE_READY)
			is_any_ready = true;
		else if (devices[number].state == DEVICE_UNUSABLE)
			snprintf(error->text, sizeof(error->text), "%.63s: %.180s",
					 devices[number].info.name, devices[number].reason.text);
	}
	if (is_any_ready)
		report_missing(wanted);
	return is_any_ready;
}

void
devices_name(char *names, size_t size)
{
	size_t		length = 0;

	names[0] = '\0';
	for (int number = 0; number < ndevices && length < size; number++)
	{
		if (devices[number].state == DEVICE_READY)
			length += snprintf(names + length, size - length, "%s%s",
							   length > 0 ? ", " : "",
							   devices[number].info.name);
	}
}

size_t
devices_name_one(int number, char *name, size_t size)
{
	if (ndevices == 1)
		return snprintf(name, size, "%s", devices[number].info.name);
	return snprintf(name, size, "%s, device %d", devices[number].info.name,
					number);
}

int
devices_count(void)
{
	return ndevices;
}

/* Does the device get jobs?  With the mutex held. */
static bool
is_in(const Device *device)
{
	return device->state == DEVICE_READY &&
		(device->out_until == 0 || device->out_until <= microseconds_now());
}

void
devices_describe(int number, Message *message)
{
	const Device *device = &devices[number];

	pthread_mutex_lock(&mutex);
	message->kind = MSG_DEVICE;
	message->u.device.number = number;
	message->u.device.state = device->state;
	if (device->state == DEVICE_READY && !is_in(device))
		message->u.device.state = DEVICE_FAILED;
	message->u.device.memory_bytes = device->info.memory_bytes;
	message->u.device.reserved_bytes = device->reserved;
	message->u.device.jobs = device->jobs;
	message->u.device.sorts = device->sorts;
	message->u.device.busy_microseconds = device->busy_microseconds;
	if (device->sorting > 0)
		message->u.device.busy_microseconds +=
			microseconds_now() - device->sorting_since;
	message->u.device.capability_major = device->info.capability_major;
	message->u.device.capability_minor = device->info.capability_minor;
	message->u.device.driver_version = device->info.driver_version;
	snprintf(message->u.device.name, sizeof(message->u.device.name), "%s",
			 device->info.name);
	snprintf(message->u.device.uuid, sizeof(message->u.device.uuid), "%s",
			 device->info.uuid);
	snprintf(message->u.device.reason, sizeof(message->u.device.reason), "%s",
			 device->reason.text);
	pthread_mutex_unlock(&mutex);
}

static void
enqueue(Waiter *waiter)
{
	Waiter	  **link = &first_waiter;

	while (*link != NULL)
		link = &(*link)->next;
	waiter->next = NULL;
	*link = waiter;
}

static void
dequeue(Waiter *waiter)
{
	Waiter	  **link = &first_waiter;

	while (*link != waiter)
		link = &(*link)->next;
	*link = waiter->next;
	pthread_cond_broadcast(&changed);
}

/* Waits, with the mutex held, for a change or until it is time to look. */
static void
wait_for_change(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += CANCEL_CHECK_NANOSECONDS;
	if (deadline.tv_nsec >= 1000000000)
	{
		deadline.tv_sec++;
		deadline.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&changed, &mutex, &deadline);
}

/* Is it time to ask a device's driver how much memory jobs may have? */
static bool
is_to_be_asked(const Device *device)
{
	return engine->memory != NULL && device->state == DEVICE_READY &&
		!device->is_asked &&
		(device->asked_at == 0 ||
		 microseconds_now() - device->asked_at >= TRUE_MICROSECONDS);
}

/*
 * Asks a device's driver how much memory jobs may have, if it is time.
 * Releases the mutex meanwhile, as nobody knows how long the driver takes.
 */
static void
look_at_memory(int number)
{
	Device	   *device = &devices[number];
	DeviceError ignored;
	uint64_t	bytes;
	bool		is_known;

	if (!is_to_be_asked(device))
		return;
	device->is_asked = true;
	pthread_mutex_unlock(&mutex);
	is_known = engine->memory(number, &bytes, &ignored);
	pthread_mutex_lock(&mutex);
	device->is_asked = false;
	device->asked_at = microseconds_now();
	if (!is_known)
		return;
	if (bytes > device->total)
		pthread_cond_broadcast(&changed);
	device->total = bytes < device->share ? bytes : device->share;
}

/* The same for all devices. */
static void
look_at_all_memory(void)
{
	for (int number = 0; number < ndevices; number++)
		look_at_memory(number);
}

/*
 * Bytes that a device has left; 0 if other processes have taken what jobs have
 * reserved.  This function and those below are called with the mutex held.
 */
static uint64_t
left_of(const Device *device)
{
	return device->total > device->reserved ?
		device->total - device->reserved : 0;
}

/* The same for new jobs: 0 if the device gets no jobs. */
static uint64_t
available(const Device *device)
{
	return is_in(device) ? left_of(device) : 0;
}

/*
 * The same for a job that has begun, and counts as "jobs" of the device's
 * jobs.
 */
static uint64_t
available_to_grow(const Device *device, uint32_t jobs)
{
	uint64_t	kept = 0;
	uint64_t	left = left_of(device);

	if (device->jobs > jobs || first_waiter != NULL)
		kept = device->total / PART_TO_BEGIN;
	return left > kept ? left - kept : 0;
}

static bool
has_device(const Reservation *reservations, int count, int number)
{
	for (int i = 0; i < count; i++)
	{
		if (reservations[i].device == number)
			return true;
	}
	return false;
}

/*
 * The device with most memory that has none of these reservations; -1 if none.
 */
static int
largest(const Reservation *beside, int count)
{
	int			best = -1;

	for (int number = 0; number < ndevices; number++)
	{
		if (is_in(&devices[number]) && !has_device(beside, count, number) &&
			(best < 0 || devices[number].total > devices[best].total))
			best = number;
	}
	return best;
}

/*
 * Could a job have all that it needs, if it was the only one?  From one
 * device, or in parts from as few devices as together have it.
 */
static bool
is_possible(Demand demand)
{
	Reservation parts[MAX_PARTS] = {NO_RESERVATION};
	uint64_t	missing = demand.bytes;

	for (int count = 0; count < MAX_PARTS; count++)
	{
		int			number = largest(parts, count);

		if (number < 0)
			return false;
		if (missing <= devices[number].total)
			return true;
		if (demand.for_part == 0 || devices[number].total <= demand.for_part)
			return false;
		missing += demand.for_part - devices[number].total;
		parts[count].device = number;
	}
	return false;
}

bool
devices_could_have(Demand demand)
{
	bool		possible;

	pthread_mutex_lock(&mutex);
	look_at_all_memory();
	possible = is_possible(demand);
	pthread_mutex_unlock(&mutex);
	return possible;
}

/* True if one device has less load than the other. */
static bool
has_less_load(const Device *device, const Device *other)
{
	return device->reserved != other->reserved ?
		device->reserved < other->reserved : device->jobs < other->jobs;
}

/*
 * The device with the least load of those with that much left; -1 if none has.
 */
static int
one_with_least_load(uint64_t bytes)
{
	Device	   *best = NULL;

	for (int number = 0; number < ndevices; number++)
	{
		Device	   *device = &devices[number];

		if (is_in(device) && bytes <= available(device) &&
			(best == NULL || has_less_load(device, best)))
			best = device;
	}
	return best != NULL ? (int) (best - devices) : -1;
}

/* May the role have that much more? */
static bool
may_have(Owner owner, uint64_t bytes)
{
	uint64_t	has = roles_bytes(owner.role);

	return has <= owner.limit && bytes <= owner.limit - has;
}

bool
devices_may_have(Owner owner, uint64_t bytes)
{
	bool		may;

	pthread_mutex_lock(&mutex);
	may = may_have(owner, bytes);
	pthread_mutex_unlock(&mutex);
	return may;
}

/* Notes that a job has these bytes more. */
static void
add_reserved(const Reservation *reservation, uint64_t bytes)
{
	Device	   *device = &devices[reservation->device];

	reservation->role->bytes += bytes;
	device->reserved += bytes;
	peak_note(&device->peak, device->reserved);
	device->may_keep = true;
}

/* Gives a job, or a part of it, memory of a device; false if number is -1. */
static bool
grant(int number, Owner owner, uint64_t bytes, Reservation *reservation)
{
	Role	   *role;

	*reservation = NO_RESERVATION;
	if (number < 0 || !may_have(owner, bytes) ||
		(role = roles_use(owner.role)) == NULL)
		return false;
	reservation->device = number;
	reservation->bytes = bytes;
	reservation->owner = owner;
	reservation->role = role;
	add_reserved(reservation, bytes);
	devices[number].jobs++;
	return true;
}

bool
devices_reserve(Owner owner, uint64_t bytes, Reservation *reservation)
{
	bool		granted = false;

	*reservation = NO_RESERVATION;
	pthread_mutex_lock(&mutex);
	if (first_waiter == NULL)
		granted = grant(one_with_least_load(bytes), owner, bytes, reservation);
	pthread_mutex_unlock(&mutex);
	return granted;
}

bool
devices_wait(Owner owner, uint64_t bytes, bool (*cancelled) (void *),
			 void *argument, Reservation *reservation)
{
	Demand		demand = {.bytes = bytes};
	Waiter		self;
	bool		granted;

	*reservation = NO_RESERVATION;
	shortage_begin(SCARCE_DEVICE_MEMORY);
	pthread_mutex_lock(&mutex);
	enqueue(&self);
	for (;;)
	{
		look_at_all_memory();
		granted = first_waiter == &self &&
			grant(one_with_least_load(bytes), owner, bytes, reservation);
		if (granted || !is_possible(demand) ||
			!may_have(owner, bytes) || cancelled(argument))
			break;
		wait_for_change();
	}
	dequeue(&self);
	pthread_mutex_unlock(&mutex);
	shortage_end(SCARCE_DEVICE_MEMORY);
	return granted;
}

bool
devices_add(Owner owner, const Reservation *reservations, int count,
			uint64_t bytes, Reservation *added)
{
	uint64_t	most = 0;
	int			best = -1;
	bool		granted;

	pthread_mutex_lock(&mutex);
	look_at_all_memory();
	for (int number = 0; number < ndevices; number++)
	{
		const Device *device = &devices[number];
		uint64_t	left = is_in(device) ? available_to_grow(device, 0) : 0;

		if (left > most && bytes <= left &&
			!has_device(reservations, count, number))
		{
			best = number;
			most = left;
		}
	}
	granted = grant(best, owner, bytes, added);
	pthread_mutex_unlock(&mutex);
	return granted;
}

bool
devices_grow(Reservation *reservation, uint64_t bytes)
{
	Device	   *device = &devices[reservation->device];
	bool		granted;

	pthread_mutex_lock(&mutex);
	look_at_memory(reservation->device);
	granted = bytes <= available_to_grow(device, 1) &&
		may_have(reservation->owner, bytes);
	if (granted)
	{
		add_reserved(reservation, bytes);
		reservation->bytes += bytes;
	}
	pthread_mutex_unlock(&mutex);
	return granted;
}

bool
devices_are_held_idle(void)
{
	return shortage_idle(SCARCE_DEVICE_MEMORY) > 0;
}

void
devices_have_idle_give_way(void)
{
	shortage_begin(SCARCE_DEVICE_MEMORY);
	pthread_mutex_lock(&mutex);
	wait_for_change();
	pthread_mutex_unlock(&mutex);
	shortage_end(SCARCE_DEVICE_MEMORY);
}

/* Gives back all but "kept" bytes, with the mutex held. */
static void
shrink(Reservation *reservation, uint64_t kept)
{
	devices[reservation->device].reserved -= reservation->bytes - kept;
	reservation->role->bytes -= reservation->bytes - kept;
	reservation->bytes = kept;
	pthread_cond_broadcast(&changed);
}

void
devices_shrink(Reservation *reservation, uint64_t kept)
{
	pthread_mutex_lock(&mutex);
	shrink(reservation, kept);
	pthread_mutex_unlock(&mutex);
}

void
devices_release(Reservation *reservation)
{
	if (reservation->device < 0)
		return;
	pthread_mutex_lock(&mutex);
	shrink(reservation, 0);
	roles_leave(reservation->role);
	devices[reservation->device].jobs--;
	pthread_mutex_unlock(&mutex);
	*reservation = NO_RESERVATION;
}

void
devices_begin_sort(const Reservation *reservation)
{
	Device	   *device = &devices[reservation->device];

	pthread_mutex_lock(&mutex);
	if (device->sorting++ == 0)
		device->sorting_since = microseconds_now();
	pthread_mutex_unlock(&mutex);
}

void
devices_end_sort(const Reservation *reservation, bool sorted)
{
	Device	   *device = &devices[reservation->device];

	pthread_mutex_lock(&mutex);
	if (--device->sorting == 0)
		device->busy_microseconds += microseconds_now() - device->sorting_since;
	if (sorted)
		device->sorts++;
	pthread_mutex_unlock(&mutex);
}

/* Is there another device with that much left?  With the mutex held. */
static bool
other_has(int number, uint64_t bytes)
{
	for (int other = 0; other < ndevices; other++)
	{
		if (other != number && is_in(&devices[other]) &&
			bytes <= left_of(&devices[other]))
			return true;
	}
	return false;
}

bool
devices_other_has(const Reservation *reservation, uint64_t bytes)
{
	bool		has;

	pthread_mutex_lock(&mutex);
	has = other_has(reservation->device, bytes);
	pthread_mutex_unlock(&mutex);
	return has;
}

void
devices_note_full(const Reservation *reservation)
{
	pthread_mutex_lock(&mutex);
	devices[reservation->device].asked_at = 0;
	pthread_mutex_unlock(&mutex);
}

/* The same as devices_release_idle() for one device. */
static uint64_t
release_idle(int number, uint64_t delay)
{
	Device	   *device = &devices[number];
	uint64_t	now = microseconds_now();
	uint64_t	left = UINT64_MAX;
	uint64_t	needed;
	bool		ends = false;

	pthread_mutex_lock(&mutex);
	if (device->may_keep)
	{
		ends = peak_ends(&device->peak, device->reserved, now, delay, &needed);
		device->may_keep = !ends || needed > 0;
		if (device->may_keep)
			left = device->peak.since + delay - now;
	}
	pthread_mutex_unlock(&mutex);
	if (ends)
		engine->release(number, needed > KEPT_BYTES ? needed : KEPT_BYTES);
	return left;
}

uint64_t
devices_release_idle(uint64_t delay)
{
	uint64_t	least = UINT64_MAX;

	for (int number = 0; number < ndevices && engine->release != NULL; number++)
	{
		uint64_t	left = release_idle(number, delay);

		if (left < least)
			least = left;
	}
	return least;
}

void
devices_blame(const Reservation *reservation, const char *reason)
{
	Device	   *device = &devices[reservation->device];
	bool		is_news = false;

	pthread_mutex_lock(&mutex);
	if (other_has(reservation->device, 0))
	{
		is_news = is_in(device);
		device->out_until = microseconds_now() +
			OUT_SECONDS * UINT64_C(1000000);
		snprintf(device->reason.text, sizeof(device->reason.text), "%s",
				 reason);
	}
	pthread_mutex_unlock(&mutex);
	if (is_news)
		report("log device %d, %s, has failed and gets no sorts for %d seconds: %s",
			   reservation->device, device->info.name, OUT_SECONDS, reason);
}
