/*-------------------------------------------------------------------------
 *
 * roles.h
 *	  The device memory of all jobs of a role of the server.
 *
 * The functions take no lock: they are called under the lock of devices.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_ROLES_H
#define GPUSORTD_ROLES_H

#include <stdint.h>

/* A role with jobs. */
typedef struct Role
{
	struct Role *next;
	uint32_t	id;				/* OID of the role */
	uint32_t	users;			/* reservations that use the entry */
	uint64_t	bytes;			/* bytes that the role's jobs have */
} Role;

/* Bytes that the jobs of a role have. */
extern uint64_t roles_bytes(uint32_t id);

/* Begin and end of the use of a role's entry; NULL if there is no memory. */
extern Role *roles_use(uint32_t id);
extern void roles_leave(Role *role);

#endif							/* GPUSORTD_ROLES_H */
