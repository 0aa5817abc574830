/*-------------------------------------------------------------------------
 *
 * devices.h
 *	  The devices that jobs go to: their memory, and the queue for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_DEVICES_H
#define GPUSORTD_DEVICES_H

#include "../common/device_list.h"
#include "../common/protocol.h"
#include "engine.h"
#include "roles.h"

/* How long a device that has failed gets no jobs if there are others. */
#define OUT_SECONDS		60

/* Devices that one job can have memory of. */
#define MAX_PARTS		8

/*
 * Whose a job is, and bytes that all jobs of that role may have together for it
 * to get more.
 */
typedef struct Owner
{
	uint32_t	role;
	uint64_t	limit;			/* bytes, UINT64_MAX for none */
} Owner;

/* What a job, or a part of it, has: some of the memory of a device. */
typedef struct Reservation
{
	int			device;			/* number of the device, -1 for none */
	uint64_t	bytes;
	Owner		owner;
	Role	   *role;
} Reservation;

#define NO_RESERVATION	((Reservation) {.device = -1})

/*
 * Makes the listed devices ready.  Jobs may use so many percent of the memory of
 * each, or what other processes leave of it.  False if no device is ready then,
 * with the reason in "error".  Once, before the first job.
 */
extern bool devices_start(const Engine *engine, const DeviceList *wanted,
						  int memory_percent, DeviceError *error);

/* Writes the names of the devices that are ready. */
extern void devices_name(char *names, size_t size);

/*
 * Writes how one device is called where there may be several.  Returns the
 * length, as snprintf() does.
 */
extern size_t devices_name_one(int number, char *name, size_t size);

/* The number of devices, in use or not, and how one is. */
extern int	devices_count(void);
extern void devices_describe(int number, Message *message);

/*
 * What a job needs: so much memory of one device; or, if no device has that, of
 * several, on each beyond the first with "for_part" more; if that is 0 it
 * cannot be divided.
 */
typedef struct Demand
{
	uint64_t	bytes;
	uint64_t	for_part;
} Demand;

/* Could it be met just now if there was no other job? */
extern bool devices_could_have(Demand demand);

/* May the role have so much more, wherever it is? */
extern bool devices_may_have(Owner owner, uint64_t bytes);

/*
 * Reserves memory for a new job, on the device with the least load.  False if
 * there is too little memory, or if others wait.
 */
extern bool devices_reserve(Owner owner, uint64_t bytes,
							Reservation *reservation);

/*
 * The same, waiting behind the jobs that came before.  Asks "cancelled" now
 * and then, and returns false if that is true; also false, at once, if there
 * could never be so much, or the role may not have it.
 */
extern bool devices_wait(Owner owner, uint64_t bytes,
						 bool (*cancelled) (void *), void *argument,
						 Reservation *reservation);

/*
 * Reserves more for a job that has begun, or returns false; something is left
 * for jobs that begin unless it is the only one.  Never waits.
 */
extern bool devices_grow(Reservation *reservation, uint64_t bytes);

/*
 * Reserves memory for another part of a job that has begun, on the device that
 * has most left of those that it has not, or returns false.  Never waits.
 */
extern bool devices_add(Owner owner, const Reservation *reservations,
						int count, uint64_t bytes, Reservation *added);

/*
 * If there are jobs with idle clients, has the first of them give way; false if
 * there are none.  Waits for that for a moment.
 */
extern bool devices_have_idle_give_way(void);

/* Gives back all but so many bytes. */
extern void devices_shrink(Reservation *reservation, uint64_t kept);

/* Ends a job's reservation, if it has one. */
extern void devices_release(Reservation *reservation);

/* A job sorts from now on; and does no more. */
extern void devices_begin_sort(const Reservation *reservation);
extern void devices_end_sort(const Reservation *reservation, bool sorted);

/* Does another device have so much memory left? */
extern bool devices_other_has(const Reservation *reservation, uint64_t bytes);

/*
 * A job did not get what it had reserved: others have taken it since the driver
 * was asked last.
 */
extern void devices_note_full(const Reservation *reservation);

/*
 * Gives back to the driver what no job has needed for so long, in microseconds,
 * but for a little for the next one.  Returns how long it is until there may be
 * more to give back, UINT64_MAX as long as there is no other job.
 */
extern uint64_t devices_release_idle(uint64_t delay);

/*
 * A job has failed, and its device is to blame: it gets no others for some
 * time, if there is another device.
 */
extern void devices_blame(const Reservation *reservation, const char *reason);

#endif							/* GPUSORTD_DEVICES_H */
