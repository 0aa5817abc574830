/*-------------------------------------------------------------------------
 *
 * roles.h
 *	  What the jobs of a role of the server have together.
 *
 * Without a lock of its own: devices.c has one.
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
	uint32_t	id;
	uint32_t	users;			/* reservations that use it */
	uint64_t	bytes;			/* bytes that the role's jobs have */
} Role;

/* Bytes that the jobs of a role have. */
extern uint64_t roles_bytes(uint32_t id);

/* The role, to be left again; NULL without memory. */
extern Role *roles_use(uint32_t id);
extern void roles_leave(Role *role);

#endif							/* GPUSORTD_ROLES_H */
