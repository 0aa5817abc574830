/*-------------------------------------------------------------------------
 *
 * roles.c
 *	  The device memory of all jobs of a role of the server.
 *
 * A role has an entry only as long as it has jobs.  So there are no more roles
 * than jobs, whatever clients say.
 *
 *-------------------------------------------------------------------------
 */
#include "roles.h"

#include <stddef.h>
#include <stdlib.h>

static Role *roles;

/* The pointer to the role, or the place where that would be. */
static Role **
find_link(uint32_t id)
{
	Role	  **link = &roles;

	while (*link != NULL && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

uint64_t
roles_bytes(uint32_t id)
{
	const Role *role = *find_link(id);

	return role != NULL ? role->bytes : 0;
}

Role *
roles_use(uint32_t id)
{
	Role	  **link = find_link(id);

	if (*link == NULL)
	{
		*link = calloc(1, sizeof(Role));
		if (*link == NULL)
			return NULL;
		(*link)->id = id;
	}
	(*link)->users++;
	return *link;
}

void
roles_leave(Role *role)
{
	Role	  **link = find_link(role->id);

	if (--role->users > 0)
		return;
	*link = role->next;
	free(role);
}
