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

/* Seconds in which a device that has failed gets no jobs, beside others. */
#define OUT_SECONDS		60

/* Devices on which one job can have memory, at the most. */
#define MAX_PARTS		8

/*
 * The owner of a job: a role of the server, and the limit of all jobs of the role
 * together, as the job knows it.
 */
typedef struct Owner
{
	uint32_t	role;			/* OID of the role */
	uint64_t	limit;			/* bytes, UINT64_MAX for none */
} Owner;

/* Memory of a device that is reserved for a job, or for a part of one. */
typedef struct Reservation
{
	int			device;			/* number of the device, -1 for none */
	uint64_t	bytes;
	Owner		owner;
	Role	   *role;
} Reservation;

#define NO_RESERVATION	((Reservation) {.device = -1})

/*
 * Makes devices ready: those of the list (device_list.h), or with "all" every
 * device that can be used.  Jobs may use memory_percent of the memory of each
 * device, or what other processes leave of it if that is less.  Returns false,
 * with the reason in "error", if no device is ready then.  To be called once,
 * before the first job.
 */
extern bool devices_start(const Engine *engine, const DeviceList *wanted,
						  int memory_percent, DeviceError *error);

/* Writes the names of the devices that are ready, size bytes at the most. */
extern void devices_name(char *names, size_t size);

/*
 * Writes the name of one device, with its number if there are several.  Returns
 * the length, as snprintf() does.
 */
extern size_t devices_name_one(int number, char *name, size_t size);

/* The number of devices, in use or not, and the description of one. */
extern int	devices_count(void);
extern void devices_describe(int number, Message *message);

/*
 * A demand for memory of one device or, if no device has that much, of several
 * devices, with "for_part" more on each beyond the first.
 */
typedef struct Demand
{
	uint64_t	bytes;
	uint64_t	for_part;		/* bytes; 0: the job cannot be divided */
} Demand;

/* Could the demand be met now if there was no other job? */
extern bool devices_could_have(Demand demand);

/* Does the limit of the role allow that many bytes more? */
extern bool devices_may_have(Owner owner, uint64_t bytes);

/*
 * Reserves memory for a new job, on the device with the least load.  False if
 * there is too little memory, or if other jobs wait.
 */
extern bool devices_reserve(Owner owner, uint64_t bytes,
							Reservation *reservation);

/*
 * The same, but waits behind the jobs that came before.  Calls "cancelled" now
 * and then, and returns false if "cancelled" returns true.  Returns false at
 * once if no device could ever have that much memory, or if the role's limit
 * is exceeded.
 */
extern bool devices_wait(Owner owner, uint64_t bytes,
						 bool (*cancelled) (void *), void *argument,
						 Reservation *reservation);

/*
 * Reserves more bytes for a job that has begun, or returns false.  Leaves memory
 * for jobs that begin, unless the job is the only one.  Never waits.
 */
extern bool devices_grow(Reservation *reservation, uint64_t bytes);

/*
 * Reserves memory for another part of a job that has begun, or returns false.
 * The device is the one with most memory left of those where the job has no part.
 * Never waits.
 */
extern bool devices_add(Owner owner, const Reservation *reservations,
						int count, uint64_t bytes, Reservation *added);

/*
 * Jobs with idle clients, whose memory may come free.  The first function
 * tells whether there are any.  The second waits for a moment, in which one
 * gives way.
 */
extern bool devices_are_held_idle(void);
extern void devices_have_idle_give_way(void);

/* Gives back all but "kept" bytes. */
extern void devices_shrink(Reservation *reservation, uint64_t kept);

/* Gives back all bytes, if there are any: the end of a reservation. */
extern void devices_release(Reservation *reservation);

/* Note the beginning and the end of a job's sort, for the statistics. */
extern void devices_begin_sort(const Reservation *reservation);
extern void devices_end_sort(const Reservation *reservation, bool sorted);

/*
 * True if another device than the reservation's has this many bytes left.
 */
extern bool devices_other_has(const Reservation *reservation, uint64_t bytes);

/*
 * Notes that a job did not get the memory that it had reserved, as other
 * processes have taken it since the driver was asked last.
 */
extern void devices_note_full(const Reservation *reservation);

/*
 * Gives back to the driver the memory that no job has needed for "delay"
 * microseconds, except some for the next job.  Returns the microseconds until
 * there may be more to give back, or UINT64_MAX if there is no more until
 * another job has come.
 */
extern uint64_t devices_release_idle(uint64_t delay);

/*
 * Notes that a device has made a job fail: it gets no jobs for OUT_SECONDS, if
 * there is another device.
 */
extern void devices_blame(const Reservation *reservation, const char *reason);

#endif							/* GPUSORTD_DEVICES_H */
