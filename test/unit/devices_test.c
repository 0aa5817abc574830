/*-------------------------------------------------------------------------
 *
 * devices_test.c
 *	  Tests of how gpusortd chooses devices, and of the queue for them.
 *
 * The engine of this test only has devices.  The test moves time on, so that
 * it need not wait until a device that has failed gets jobs again.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/daemon/devices.h"
#include "../gpusortd/hooks.h"

#define TEST_SUBJECT		"devices"
#include "test_report.h"

/* Bytes that jobs may have of each device; twice as many of the first one. */
#define BYTES			UINT64_C(1000)
#define NDEVICES		4

/* How long anything that should happen may take, and something is watched. */
#define PATIENCE_MS		30000
#define QUIET_MS		200

/* No client is idle here. */
int
test_idle_milliseconds(void)
{
	return PATIENCE_MS;
}

/* Takes the place of the C library's. */
static volatile time_t seconds_ahead = 0;

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int			result = (int) syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_MONOTONIC)
		now->tv_sec += seconds_ahead;
	return result;
}


/*
 * The engine: its last device cannot be used.  In some tests other processes use
 * the devices, too.
 */

/* Bytes that jobs may have of each device; twice as many of the first one. */
static uint64_t device_bytes = BYTES;

/* What jobs could have of each device, if its driver is asked. */
static atomic_ullong memory_left = UINT64_MAX;
static atomic_int questions;

/* The last call that gave memory back, and how often it was called. */
static int	released_device;
static uint64_t kept_bytes;
static int	releases;

static bool
test_memory(int number, uint64_t *bytes, DeviceError *error)
{
	(void) number;
	(void) error;
	questions++;
	*bytes = memory_left;
	return true;
}

static void
test_release(int number, uint64_t kept)
{
	released_device = number;
	kept_bytes = kept;
	releases++;
}

static int
test_count(DeviceError *error)
{
	(void) error;
	return NDEVICES;
}

static bool
test_describe(int number, DeviceInfo *info, DeviceError *error)
{
	(void) error;
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "name %d", number);
	snprintf(info->uuid, sizeof(info->uuid),
			 "GPU-0a0b0c0d-0000-1111-2222-00000000000%d", number);
	info->memory_bytes = number == 0 ? 4 * device_bytes : 2 * device_bytes;
	return true;
}

static bool
test_start(int number, DeviceError *error)
{
	if (number < NDEVICES - 1)
		return true;
	snprintf(error->text, sizeof(error->text), "it is broken");
	return false;
}

static Engine test_engine = {
	.name = "test",
	.count = test_count,
	.describe = test_describe,
	.start = test_start
};

/* Lets the drivers be asked, and gives memory back to them. */
static void
share_devices(void)
{
	test_engine.memory = test_memory;
	test_engine.release = test_release;
}

static bool
start(const char *wanted, DeviceError *error)
{
	DeviceList	list;

	return device_list_read(wanted, &list) &&
		devices_start(&test_engine, &list, 50, error);
}


/*
 * Jobs
 */

static const Owner anyone = {.limit = UINT64_MAX};

static bool
could_have(uint64_t bytes, uint64_t for_part)
{
	Demand		demand = {bytes, for_part};

	return devices_could_have(demand);
}

static bool
never(void *argument)
{
	(void) argument;
	return false;
}

/* Reserves memory for a job of a role, on this device; -1 for none. */
static Reservation
reserve_for(Owner owner, uint64_t bytes, int device)
{
	Reservation reservation;

	(void) devices_reserve(owner, bytes, &reservation);
	if (reservation.device != device)
		wrong("%llu bytes are reserved on device %d instead of %d",
			  (unsigned long long) bytes, reservation.device, device);
	return reservation;
}

/* The same for a role without a limit. */
static Reservation
reserve(uint64_t bytes, int device)
{
	return reserve_for(anyone, bytes, device);
}

static Message
describe(int number)
{
	Message		message;

	devices_describe(number, &message);
	return message;
}

static void
check_state(int number, DeviceState state, const char *reason)
{
	Message		message = describe(number);

	if (message.u.device.state != state)
		wrong("device %d has state %u", number, message.u.device.state);
	if (reason != NULL && strcmp(message.u.device.reason, reason) != 0)
		wrong("device %d has the reason \"%s\"", number,
			  message.u.device.reason);
}

/* A job that waits, in a thread. */
typedef struct Waiting
{
	pthread_t	thread;
	Owner		owner;
	uint64_t	bytes;
	Reservation reservation;
	atomic_bool is_cancelled;
	atomic_bool is_done;
	bool		granted;
} Waiting;

static bool
is_cancelled(void *argument)
{
	return ((Waiting *) argument)->is_cancelled;
}

static void *
wait_in_turn(void *argument)
{
	Waiting    *waiting = argument;

	waiting->granted = devices_wait(waiting->owner, waiting->bytes,
									is_cancelled, waiting,
									&waiting->reservation);
	waiting->is_done = true;
	return NULL;
}

/* Lets a job of a role wait, behind those before. */
static void
begin_waiting_for(Owner owner, Waiting *waiting, uint64_t bytes)
{
	memset(waiting, 0, sizeof(Waiting));
	waiting->owner = owner;
	waiting->bytes = bytes;
	pthread_create(&waiting->thread, NULL, wait_in_turn, waiting);
	usleep(QUIET_MS * 1000);
	if (waiting->is_done)
		wrong("a job of %llu bytes does not wait",
			  (unsigned long long) bytes);
}

static void
begin_waiting(Waiting *waiting, uint64_t bytes)
{
	begin_waiting_for(anyone, waiting, bytes);
}

/* Waits for its end; -1 if it was not granted anything. */
static int
end_waiting(Waiting *waiting)
{
	for (int i = 0; i < PATIENCE_MS && !waiting->is_done; i++)
		usleep(1000);
	if (!waiting->is_done)
	{
		wrong("a job of %llu bytes waits for too long",
			  (unsigned long long) waiting->bytes);
		waiting->is_cancelled = true;
	}
	pthread_join(waiting->thread, NULL);
	return waiting->granted ? waiting->reservation.device : -1;
}


/*
 * The tests, each in a process of its own
 */

static void
test_start_all(void)
{
	DeviceError error;
	char		names[100];

	if (!start("all", &error))
		wrong("it does not start: %s", error.text);
	devices_name(names, sizeof(names));
	if (strcmp(names, "name 0, name 1, name 2") != 0)
		wrong("they are called \"%s\"", names);
	devices_name_one(1, names, sizeof(names));
	if (strcmp(names, "name 1, device 1") != 0)
		wrong("one is called \"%s\"", names);
	check_state(0, DEVICE_READY, NULL);
	check_state(2, DEVICE_READY, NULL);
	check_state(3, DEVICE_UNUSABLE, "it is broken");
	if (!could_have(2 * BYTES, 0) ||
		could_have(2 * BYTES + 1, 0))
		wrong("a job may have more or less than there is");
	conclude("starts all that can be used");
}

static void
test_start_some(void)
{
	DeviceError error;
	Reservation reservations[3];

	if (!start("2,1,77", &error))
		wrong("it does not start: %s", error.text);
	check_state(0, DEVICE_UNUSED, NULL);
	check_state(1, DEVICE_READY, NULL);
	check_state(2, DEVICE_READY, NULL);
	check_state(3, DEVICE_UNUSED, NULL);
	reservations[0] = reserve(BYTES, 1);
	reservations[1] = reserve(BYTES, 2);
	reservations[2] = reserve(1, -1);
	for (int i = 0; i < 3; i++)
		devices_release(&reservations[i]);
	conclude("uses only those that are wanted");
}

static void
test_start_none(void)
{
	DeviceError error;

	if (start("3", &error) || strcmp(error.text, "name 3: it is broken") != 0)
		wrong("with a broken one: %s", error.text);
	if (start("4,14", &error) ||
		strcmp(error.text, "there is no device 4,14") != 0)
		wrong("with none that exists: %s", error.text);
	conclude("says why none is left");
}

static void
test_load(void)
{
	DeviceError error;
	Reservation large;
	Reservation small[4];

	(void) start("all", &error);
	large = reserve(2 * BYTES, 0);
	small[0] = reserve(100, 1);
	small[1] = reserve(300, 2);
	small[2] = reserve(100, 1);
	small[3] = reserve(700, 1);

	/* 900 bytes and 300 */
	devices_shrink(&small[3], 100);
	devices_release(&small[0]);
	devices_release(&large);

	/* 0, 200 and 300 bytes, and 0, 2 and 1 jobs */
	large = reserve(250, 0);
	devices_release(&small[2]);
	small[0] = reserve(50, 1);
	small[2] = reserve(150, 1);
	if (!devices_grow(&small[1], 700) || devices_grow(&small[1], 1))
		wrong("the only job of a device does not get what that has");
	if (!devices_grow(&small[0], 1000 - 300 - 125) ||
		devices_grow(&small[0], 1))
		wrong("a job does not leave an eighth of a device to others");
	devices_shrink(&small[0], 50);
	if (!devices_other_has(&small[1], 700) ||
		!devices_other_has(&small[1], 1750) ||
		devices_other_has(&small[1], 1751))
		wrong("what others have is wrong");
	devices_release(&large);
	for (int i = 0; i < 4; i++)
		devices_release(&small[i]);
	for (int number = 0; number < 3; number++)
	{
		if (describe(number).u.device.reserved_bytes != 0 ||
			describe(number).u.device.jobs != 0)
			wrong("device %d is left with something", number);
	}

	/* as much memory, but jobs that have none */
	large = reserve(0, 0);
	small[0] = reserve(0, 1);
	small[1] = reserve(0, 2);
	small[2] = reserve(0, 0);
	conclude("takes the one with the least load");
}

static void
test_busy_time(void)
{
	DeviceError error;
	Reservation first;
	Reservation second;

	(void) start("1", &error);
	first = reserve(10, 1);
	second = reserve(10, 1);
	devices_begin_sort(&first);
	seconds_ahead += 2;
	devices_begin_sort(&second);
	seconds_ahead += 3;
	devices_end_sort(&first, true);
	seconds_ahead += 5;
	devices_end_sort(&second, false);
	seconds_ahead += 7;
	if (describe(1).u.device.busy_microseconds / 1000000 != 10 ||
		describe(1).u.device.sorts != 1)
		wrong("%llu microseconds, %llu sorts",
			  (unsigned long long) describe(1).u.device.busy_microseconds,
			  (unsigned long long) describe(1).u.device.sorts);
	devices_begin_sort(&first);
	seconds_ahead += 1;
	if (describe(1).u.device.busy_microseconds / 1000000 != 11)
		wrong("it does not count the time of a sort under way");
	conclude("counts the time in which a device sorts");
}

static void
test_queue(void)
{
	DeviceError error;
	Reservation holders[3];
	Reservation small;
	Waiting		jobs[4];

	(void) start("all", &error);
	holders[0] = reserve(2 * BYTES, 0);
	holders[1] = reserve(BYTES - 10, 1);
	holders[2] = reserve(BYTES - 10, 2);
	begin_waiting(&jobs[0], 500);
	begin_waiting(&jobs[1], 5);
	begin_waiting(&jobs[2], 2 * BYTES);
	begin_waiting(&jobs[3], 5);
	if (devices_reserve(anyone, 5, &small))
		wrong("a job has overtaken those that wait");

	/*
	 * the first job goes to the device that is free, and then all up to the
	 * third
	 */
	devices_release(&holders[2]);
	if (end_waiting(&jobs[0]) != 2 || end_waiting(&jobs[1]) != 2)
		wrong("the first jobs are not on the free device");
	usleep(QUIET_MS * 1000);
	if (jobs[3].is_done)
		wrong("a small job has overtaken a large one");
	devices_release(&holders[1]);
	usleep(QUIET_MS * 1000);
	if (jobs[2].is_done || jobs[3].is_done)
		wrong("a large job is on a device that is too small");
	devices_release(&holders[0]);
	if (end_waiting(&jobs[2]) != 0 || end_waiting(&jobs[3]) < 0)
		wrong("the last jobs have not begun");
	conclude("lets jobs wait in order, for any device");
}

static void
test_cancel(void)
{
	DeviceError error;
	Reservation holder;
	Reservation none;
	Waiting		jobs[2];

	(void) start("1", &error);
	holder = reserve(BYTES - 10, 1);
	begin_waiting(&jobs[0], 500);
	begin_waiting(&jobs[1], 5);
	jobs[0].is_cancelled = true;
	if (end_waiting(&jobs[0]) != -1 || end_waiting(&jobs[1]) != 1)
		wrong("the wrong job has begun");
	devices_release(&holder);
	if (devices_wait(anyone, BYTES + 1, never, NULL, &none))
		wrong("a job has more than there is");
	conclude("notices when a job that waits is given up");
}

static void
test_failure(void)
{
	DeviceError error;
	Reservation first;
	Reservation second;
	Reservation third;

	(void) start("1,2", &error);
	first = reserve(10, 1);
	devices_blame(&first, "it burns");
	check_state(1, DEVICE_FAILED, "it burns");
	second = reserve(BYTES, 2);
	third = reserve(1, -1);
	if (devices_other_has(&second, 1))
		wrong("a device that has failed has memory");

	/* the last one stays */
	devices_blame(&second, "it drowns");
	check_state(2, DEVICE_READY, NULL);
	devices_release(&second);
	second = reserve(20, 2);

	seconds_ahead += OUT_SECONDS - 2;
	check_state(1, DEVICE_FAILED, NULL);
	seconds_ahead += 3;
	check_state(1, DEVICE_READY, NULL);
	third = reserve(20, 1);
	devices_blame(&second, "it drowns");
	check_state(2, DEVICE_FAILED, "it drowns");
	devices_release(&first);
	devices_release(&second);
	devices_release(&third);
	conclude("leaves out a device that has failed, for a while");
}

/* A job that waits for a device that fails must not wait for ever. */
static void
test_failure_while_waiting(void)
{
	DeviceError error;
	Reservation large;
	Waiting		job;

	(void) start("0,1", &error);
	large = reserve(2 * BYTES, 0);
	begin_waiting(&job, BYTES + 1);
	devices_blame(&large, "it burns");
	if (end_waiting(&job) != -1)
		wrong("it is granted on device %d", job.reservation.device);
	devices_release(&large);
	conclude("lets no job wait for a device that has failed");
}

/* Devices 0 to 2 have 2000, 1000 and 1000 bytes. */
static void
test_several(void)
{
	DeviceError error;
	Reservation holder;
	Reservation none;

	(void) start("all", &error);
	holder = reserve(1500, 0);
	if (!could_have(3000 - 7, 7) ||
		!could_have(4000 - 14, 7) ||
		could_have(4000 - 13, 7) ||
		!could_have(2000, 0) ||
		could_have(2001, 0))
		wrong("all devices together have more or less than they have");
	if (could_have(2001, 1000))
		wrong("a part takes all of a device");
	if (devices_reserve(anyone, 2001, &none))
		wrong("a job has more than a device");
	devices_blame(&holder, "it burns");
	if (could_have(2000 - 6, 7) ||
		!could_have(2000 - 7, 7))
		wrong("a device that has failed is counted");
	devices_release(&holder);
	conclude("knows what all devices together have");
}

/* A job that has begun gets another part wherever most is left. */
static void
test_another_part(void)
{
	DeviceError error;
	Reservation parts[3];
	Reservation other;

	(void) start("all", &error);
	parts[0] = reserve(2000, 0);
	other = reserve(100, 1);
	if (!devices_add(anyone, parts, 1, 1000, &parts[1]) || parts[1].device != 2 ||
		parts[1].bytes != 1000)
		wrong("the second part is on device %d", parts[1].device);

	/* an eighth beside those of another job is for jobs that begin */
	if (devices_add(anyone, parts, 2, 776, &parts[2]) || parts[2].device != -1)
		wrong("a part has more than is left");
	if (!devices_add(anyone, parts, 2, 775, &parts[2]) || parts[2].device != 1)
		wrong("the third part is on device %d", parts[2].device);
	devices_release(&other);
	if (devices_add(anyone, parts, 3, 1, &other) || other.device != -1)
		wrong("a job has two parts on device %d", other.device);
	for (int i = 0; i < 3; i++)
		devices_release(&parts[i]);
	if (describe(0).u.device.jobs + describe(1).u.device.jobs +
		describe(2).u.device.jobs != 0)
		wrong("jobs are left");
	conclude("has another part for a job on another device");
}

/* As long as a job waits, others do not take what it waits for. */
static void
test_growth_while_waiting(void)
{
	DeviceError error;
	Reservation holder;
	Waiting		job;

	(void) start("1", &error);
	holder = reserve(800, 1);
	begin_waiting(&job, 300);
	if (devices_grow(&holder, 200) || !devices_grow(&holder, 75))
		wrong("it grows as if no job waited");
	devices_shrink(&holder, 700);
	if (end_waiting(&job) != 1)
		wrong("the job that waited has not begun");
	devices_release(&holder);
	devices_release(&job.reservation);
	if (describe(1).u.device.reserved_bytes != 0)
		wrong("the device is left with something");
	conclude("leaves memory to a job that waits");
}

#define UUID(number)	"GPU-0a0b0c0d-0000-1111-2222-00000000000" #number
#define SLICE(number)	"MIG-0a0b0c0d-0000-1111-2222-00000000000" #number

static void
test_lists(void)
{
	static const char *const good[] = {
		"all", "0", "0,2", " 3 , 1 ", "9999", UUID(1), UUID(1) ", " SLICE(2),
		"GPU-ABCDEFab-0123-4567-89aB-cdefABCDEF01"
	};
	static const char *const bad[] = {
		"", "none", "all,0", "0,,1", "0,", ",0", "0 1", "-1", "99999",
		"0," UUID(1), UUID(1) ",0", UUID(1) "0", UUID(1) " " UUID(2),
		"GPU-0a0b0c0d", "gpu-0a0b0c0d-0000-1111-2222-000000000001",
		"0a0b0c0d-0000-1111-2222-000000000001",
		"GPU-0a0b0c0d-0000-1111-2222-00000000000g",
		"GPU-0a0b0c0d00000-1111-2222-000000000001",
		"MIG-GPU-0a0b0c0d-0000-1111-2222-000000000001/1/0"
	};

	DeviceList	list;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
	{
		if (!device_list_read(good[i], &list))
			wrong("\"%s\" is refused", good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
	{
		if (device_list_read(bad[i], &list))
			wrong("\"%s\" is not refused", bad[i]);
	}
	conclude("tells lists of devices from others");
}

static void
test_start_by_uuid(void)
{
	DeviceError error;

	if (!start("GPU-0A0B0C0D-0000-1111-2222-000000000002," UUID(0) "," UUID(7),
			   &error))
		wrong("it does not start: %s", error.text);
	check_state(0, DEVICE_READY, NULL);
	check_state(1, DEVICE_UNUSED, NULL);
	check_state(2, DEVICE_READY, NULL);
	check_state(3, DEVICE_UNUSED, NULL);
	if (strcmp(describe(1).u.device.uuid, UUID(1)) != 0)
		wrong("a UUID is \"%s\"", describe(1).u.device.uuid);
	conclude("uses those that are wanted by their UUIDs");
}

/* CUDA shows only the listed devices, in their order. */
static void
test_start_slices(void)
{
	DeviceError error;

	if (!start(SLICE(9) "," UUID(8) "," SLICE(7), &error))
		wrong("it does not start: %s", error.text);
	check_state(0, DEVICE_READY, NULL);
	check_state(1, DEVICE_READY, NULL);
	check_state(2, DEVICE_READY, NULL);
	if (strcmp(describe(0).u.device.uuid, SLICE(9)) != 0 ||
		strcmp(describe(1).u.device.uuid, UUID(8)) != 0 ||
		strcmp(describe(2).u.device.uuid, SLICE(7)) != 0)
		wrong("slices are called by other names");
	conclude("uses slices of devices");
}

/* Time passes in which a driver is not asked again. */
static void
forget_answers(void)
{
	seconds_ahead++;
}

static void
test_neighbour(void)
{
	DeviceError error;
	Reservation holder;
	Reservation none;

	share_devices();
	(void) start("1", &error);
	memory_left = 600;
	if (!could_have(600, 0) ||
		could_have(601, 0))
		wrong("jobs have what others have");
	if (questions != 1)
		wrong("the driver was asked %d times", questions);
	holder = reserve(500, 1);
	forget_answers();

	/* others take what the job has reserved, and more */
	memory_left = 300;
	if (devices_grow(&holder, 1) || could_have(301, 0))
		wrong("a job grows where there is nothing");
	if (devices_reserve(anyone, 1, &none))
		wrong("a job begins where there is nothing");
	if (devices_other_has(&holder, 0))
		wrong("another device has appeared");
	devices_release(&holder);
	holder = reserve(300, 1);
	devices_release(&holder);

	/* and give it back */
	memory_left = 5000;
	forget_answers();
	if (!could_have(1000, 0) ||
		could_have(1001, 0))
		wrong("jobs do not have their share again");
	conclude("leaves to others what they have");
}

static void
test_wrong_answer(void)
{
	DeviceError error;
	Reservation job;

	share_devices();
	(void) start("1", &error);
	(void) could_have(1, 0);
	job = reserve(1000, 1);
	memory_left = 10;
	if (!could_have(1000, 0))
		wrong("the driver is asked each time");
	devices_note_full(&job);
	if (could_have(11, 0))
		wrong("the driver is not asked when it should be");
	check_state(1, DEVICE_READY, NULL);
	devices_release(&job);
	conclude("asks a driver again that others have taken memory from");
}

static void
test_waiting_beside_neighbour(void)
{
	DeviceError error;
	Reservation holder;
	Waiting		jobs[2];

	share_devices();
	(void) start("1", &error);
	holder = reserve(800, 1);
	begin_waiting(&jobs[0], 300);
	begin_waiting(&jobs[1], 100);

	/* the first one could never have it any longer */
	memory_left = 150;
	if (end_waiting(&jobs[0]) != -1)
		wrong("it is granted what others have");
	usleep(QUIET_MS * 1000);
	if (jobs[1].is_done)
		wrong("the next one does not wait");

	/* they give back more than there was when it began to wait */
	memory_left = 901;
	if (end_waiting(&jobs[1]) != 1)
		wrong("it does not notice that others have gone");
	devices_release(&jobs[1].reservation);
	devices_release(&holder);
	conclude("lets no job wait for what others have");
}

/* Checks what went back to the driver of device 1, and when to look again. */
static void
check_release(const char *when, int expected_releases, uint64_t expected_kept,
			  int expected_seconds)
{
	uint64_t	left = devices_release_idle(5000000);
	int			seconds = left == UINT64_MAX ? -1 :
		(int) ((left + 999999) / 1000000);

	if (releases != expected_releases ||
		(releases > 0 && (released_device != 1 || kept_bytes != expected_kept)))
		wrong("%s: the release %d of device %d has kept %llu bytes", when,
			  releases, released_device, (unsigned long long) kept_bytes);
	if (seconds != expected_seconds)
		wrong("%s: look again in %d seconds", when, seconds);
}

static void
test_release_idle(void)
{
	const uint64_t little = UINT64_C(64) << 20;
	DeviceError error;
	Reservation large;
	Reservation small;

	share_devices();
	device_bytes = UINT64_C(1000) << 20;
	(void) start("1", &error);
	check_release("before the first job", 0, 0, -1);
	large = reserve(UINT64_C(400) << 20, 1);
	check_release("at the first look", 1, UINT64_C(400) << 20, 5);
	devices_release(&large);
	seconds_ahead += 3;
	check_release("soon after the job", 1, UINT64_C(400) << 20, 2);

	/* it was needed in this period, but not in the next one */
	small = reserve(UINT64_C(100) << 20, 1);
	seconds_ahead += 3;
	check_release("at the end of a period", 2, UINT64_C(400) << 20, 5);
	seconds_ahead += 6;
	check_release("with a small job", 3, UINT64_C(100) << 20, 5);
	devices_release(&small);
	seconds_ahead += 6;
	check_release("after that", 4, UINT64_C(100) << 20, 5);
	seconds_ahead += 6;
	check_release("without any job", 5, little, -1);
	seconds_ahead += 60;
	check_release("much later", 5, little, -1);
	small = reserve(10, 1);
	devices_release(&small);
	check_release("with another job", 6, little, 5);
	seconds_ahead += 6;
	check_release("without one again", 7, little, -1);
	conclude("gives back what was not needed for a while");
}

static void
test_roles(void)
{
	const Owner limited = {.role = 7,.limit = 500};
	const Owner other = {.role = 8,.limit = 500};
	const Owner unlimited = {.role = 7,.limit = UINT64_MAX};
	DeviceError error;
	Reservation jobs[4];
	Waiting		waiting;

	(void) start("0,1", &error);
	if (!devices_may_have(limited, 500) || devices_may_have(limited, 501))
		wrong("a role may have another amount than its limit");
	jobs[0] = reserve_for(limited, 300, 0);
	jobs[1] = reserve_for(limited, 200, 1);
	jobs[2] = reserve_for(limited, 1, -1);
	if (devices_grow(&jobs[1], 1) || devices_may_have(limited, 1) ||
		devices_add(limited, jobs, 1, 1, &jobs[2]))
		wrong("a role has more than its limit");
	jobs[2] = reserve_for(other, 500, 1);
	devices_shrink(&jobs[0], 200);
	if (!devices_grow(&jobs[1], 100) || devices_grow(&jobs[1], 1))
		wrong("a role has another amount after one of its jobs has shrunk");

	/* what counts is the limit of who asks */
	jobs[3] = reserve_for(unlimited, 10, 0);
	if (devices_may_have(limited, 0))
		wrong("a role with more than its limit may have something");
	devices_release(&jobs[3]);

	/* nobody waits behind a job that may not begin */
	if (devices_wait(limited, 1, never, NULL, &jobs[3]))
		wrong("a job begins that may not");
	devices_release(&jobs[0]);
	jobs[0] = reserve(2000, 0);
	jobs[3] = reserve(200, 1);
	begin_waiting_for(limited, &waiting, 200);
	devices_release(&jobs[0]);
	if (end_waiting(&waiting) != 0)
		wrong("a job that may begin does not");
	devices_release(&waiting.reservation);
	for (int i = 1; i < 4; i++)
		devices_release(&jobs[i]);
	if (roles_bytes(7) != 0 || roles_bytes(8) != 0)
		wrong("a role is left with something");
	conclude("bounds what the jobs of a role have");
}

/* Runs a test in a process of its own, for devices are started only once. */
static void
in_process(void (*test) (void))
{
	pid_t		child;
	int			status = -1;

	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		test();
		exit(failures > 0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		failures++;
}

int
main(void)
{
	in_process(test_start_all);
	in_process(test_start_some);
	in_process(test_start_none);
	in_process(test_load);
	in_process(test_busy_time);
	in_process(test_queue);
	in_process(test_cancel);
	in_process(test_failure);
	in_process(test_failure_while_waiting);
	in_process(test_several);
	in_process(test_another_part);
	in_process(test_growth_while_waiting);
	in_process(test_lists);
	in_process(test_start_by_uuid);
	in_process(test_start_slices);
	in_process(test_neighbour);
	in_process(test_wrong_answer);
	in_process(test_waiting_beside_neighbour);
	in_process(test_release_idle);
	in_process(test_roles);
	return failures > 0;
}
