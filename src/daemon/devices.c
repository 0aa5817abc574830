/*-------------------------------------------------------------------------
 *
 * devices.c
 *	  The devices that jobs go to: their memory, and the queue for it.
 *
 * A job goes to one device, and stays there as long as that has room for it.  It
 * reserves what its first keys need before it begins, on the device of which
 * the least memory is reserved, of two alike the one with fewer jobs, and more
 * as its keys come.  What the planner expects reserves nothing: it may be
 * wrong, and the rows may take as long as they like.  If no device has room for
 * first keys, jobs wait in the order of arrival, all in one queue: the first
 * one takes whichever device has room for it first, and none overtakes it.
 *
 * A job that needs more either gets that at once or not at all: a job that has
 * memory never waits for memory, so no jobs can wait for each other.  (Without
 * more it makes do with a sort in place, then goes on on another device, and
 * then has idle jobs give way, which connection.c decides.)  The last part of a device's memory is not for
 * jobs to grow into as long as there are others, so that there is room for
 * those that begin.  Jobs whose clients are idle give way to those that wait,
 * see shortage.c.  Once a job has sorted it gives back all but what its order
 * takes, and its keys if it has several parts.
 *
 * A device whose job has failed gets no others for a while, if there is
 * another one that could do them; then it is tried again.  The last one is
 * never left out: its jobs would have nowhere else to go, and backends do
 * without it when they fail.  An error that only a new process can cure is
 * another matter, see connection.c.
 *
 *-------------------------------------------------------------------------
 */
#include "devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "report.h"
#include "shortage.h"

/* More than any machine has. */
#define MAX_DEVICES		64

/* What part of a device jobs leave to those that begin. */
#define PART_TO_BEGIN	8

/* How often a waiting job looks whether it is still wanted. */
#define CANCEL_CHECK_NANOSECONDS	50000000

typedef struct Device
{
	DeviceInfo	info;
	DeviceState state;			/* DEVICE_FAILED is found by out_until */
	DeviceError reason;			/* why it is not ready, or was not last time */
	uint64_t	total;			/* bytes that all its jobs may use */
	uint64_t	reserved;
	uint32_t	jobs;
	uint32_t	sorting;		/* of those, the ones that sort */
	uint64_t	sorting_since;	/* if there are any */
	uint64_t	busy_microseconds;
	uint64_t	sorts;			/* done */
	uint64_t	out_until;		/* no jobs before this, in microseconds */
} Device;

/* A job in the queue; lives on its thread's stack. */
typedef struct Waiter
{
	struct Waiter *next;
} Waiter;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Device devices[MAX_DEVICES];
static int	ndevices;
static Waiter *first_waiter;

/* Takes the first number off a list of such, as "0,2". */
static int
next_listed(const char **list)
{
	char	   *end;
	long		number = strtol(*list, &end, 10);

	*list = *end == ',' ? end + 1 : end;
	return number < MAX_DEVICES ? (int) number : MAX_DEVICES;
}

static bool
is_wanted(const char *wanted, int number)
{
	if (strcmp(wanted, "all") == 0)
		return true;
	while (*wanted != '\0')
	{
		if (next_listed(&wanted) == number)
			return true;
	}
	return false;
}

/* Says which devices cannot be used though they are wanted. */
static void
report_missing(const char *wanted)
{
	while (*wanted != '\0' && strcmp(wanted, "all") != 0)
	{
		const char *number = wanted;

		if (next_listed(&wanted) >= ndevices)
			report("log there is no device %.*s",
				   (int) strspn(number, "0123456789"), number);
	}
	for (int number = 0; number < ndevices; number++)
	{
		if (devices[number].state == DEVICE_UNUSABLE)
			report("log device %d, %s, cannot be used: %s", number,
				   devices[number].info.name, devices[number].reason.text);
	}
}

/* Finds out about a device, and makes it ready if it is wanted. */
static void
start_device(const Engine *engine, int number, const char *wanted,
			 int memory_percent)
{
	Device	   *device = &devices[number];

	device->state = is_wanted(wanted, number) ? DEVICE_UNUSABLE : DEVICE_UNUSED;
	if (engine->describe(number, &device->info, &device->reason) &&
		device->state != DEVICE_UNUSED &&
		engine->start(number, &device->reason))
	{
		device->state = DEVICE_READY;
		device->total = device->info.memory_bytes / 100 * memory_percent;
	}
}

bool
devices_start(const Engine *engine, const char *wanted, int memory_percent,
			  DeviceError *error)
{
	bool		is_any_ready = false;

	ndevices = engine->count(error);
	if (ndevices == 0)
		return false;
	if (ndevices > MAX_DEVICES)
		ndevices = MAX_DEVICES;
	snprintf(error->text, sizeof(error->text), "there is no device %s",
			 wanted);
	for (int number = 0; number < ndevices; number++)
	{
		start_device(engine, number, wanted, memory_percent);
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

/*
 * What a device has left for jobs.  This and what follows, with the mutex held.
 */
static uint64_t
available(const Device *device)
{
	return is_in(device) ? device->total - device->reserved : 0;
}

/* The same for jobs that have begun, of which this device has some or none. */
static uint64_t
available_to_grow(const Device *device, uint32_t jobs)
{
	uint64_t	kept = 0;
	uint64_t	left = device->total - device->reserved;

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

/* The largest device beside those; -1 if there is none. */
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
 * Could a job have all that it needs, if it was the only one: of one device, or
 * in parts of as few as together have it?
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
	possible = is_possible(demand);
	pthread_mutex_unlock(&mutex);
	return possible;
}

/* Has the one device less load than the other? */
static bool
has_less_load(const Device *device, const Device *other)
{
	return device->reserved != other->reserved ?
		device->reserved < other->reserved : device->jobs < other->jobs;
}

/* The device with the least load that has so much left; -1 if none has. */
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

/* Notes what a job, or a part of it, has. */
static void
note_reserved(const Reservation *reservation)
{
	devices[reservation->device].reserved += reservation->bytes;
	devices[reservation->device].jobs++;
}

/* Reserves memory if there is enough. */
static bool
reserve(uint64_t bytes, Reservation *reservation)
{
	*reservation = (Reservation) {one_with_least_load(bytes), bytes};
	if (reservation->device < 0)
	{
		*reservation = NO_RESERVATION;
		return false;
	}
	note_reserved(reservation);
	return true;
}

bool
devices_reserve(uint64_t bytes, Reservation *reservation)
{
	bool		granted = false;

	*reservation = NO_RESERVATION;
	pthread_mutex_lock(&mutex);
	if (first_waiter == NULL)
		granted = reserve(bytes, reservation);
	pthread_mutex_unlock(&mutex);
	return granted;
}

bool
devices_wait(uint64_t bytes, bool (*cancelled) (void *), void *argument,
			 Reservation *reservation)
{
	Waiter		self;
	bool		granted;

	*reservation = NO_RESERVATION;
	shortage_begin(SCARCE_DEVICE_MEMORY);
	pthread_mutex_lock(&mutex);
	enqueue(&self);
	for (;;)
	{
		granted = first_waiter == &self && reserve(bytes, reservation);
		if (granted || !is_possible((Demand) {bytes, 0}) || cancelled(argument))
			break;
		wait_for_change();
	}
	dequeue(&self);
	pthread_mutex_unlock(&mutex);
	shortage_end(SCARCE_DEVICE_MEMORY);
	return granted;
}

bool
devices_add(const Reservation *reservations, int count, uint64_t bytes,
			Reservation *added)
{
	uint64_t	most = 0;

	*added = NO_RESERVATION;
	pthread_mutex_lock(&mutex);
	for (int number = 0; number < ndevices; number++)
	{
		const Device *device = &devices[number];
		uint64_t	left = is_in(device) ? available_to_grow(device, 0) : 0;

		if (left > most && bytes <= left &&
			!has_device(reservations, count, number))
		{
			*added = (Reservation) {number, bytes};
			most = left;
		}
	}
	if (added->device >= 0)
		note_reserved(added);
	pthread_mutex_unlock(&mutex);
	return added->device >= 0;
}

bool
devices_grow(Reservation *reservation, uint64_t bytes)
{
	Device	   *device = &devices[reservation->device];
	bool		granted;

	pthread_mutex_lock(&mutex);
	granted = bytes <= available_to_grow(device, 1);
	if (granted)
	{
		device->reserved += bytes;
		reservation->bytes += bytes;
	}
	pthread_mutex_unlock(&mutex);
	return granted;
}

bool
devices_have_idle_give_way(void)
{
	if (shortage_idle(SCARCE_DEVICE_MEMORY) == 0)
		return false;
	shortage_begin(SCARCE_DEVICE_MEMORY);
	pthread_mutex_lock(&mutex);
	wait_for_change();
	pthread_mutex_unlock(&mutex);
	shortage_end(SCARCE_DEVICE_MEMORY);
	return true;
}

/* Gives back all but so many bytes, with the mutex held. */
static void
shrink(Reservation *reservation, uint64_t kept)
{
	devices[reservation->device].reserved -= reservation->bytes - kept;
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

/* Is there a device beside this one with so much left?  With the mutex held. */
static bool
other_has(int number, uint64_t bytes)
{
	for (int other = 0; other < ndevices; other++)
	{
		if (other != number && is_in(&devices[other]) &&
			bytes <= devices[other].total - devices[other].reserved)
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
