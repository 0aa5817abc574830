/*-------------------------------------------------------------------------
 *
 * script.h
 *	  What an input of the fuzzers says: a list of actions.
 *
 * An action is a byte, the kind of the action modulo the number of kinds, and
 * its operands.  Operands are read as they are needed, and are zero beyond the
 * end of the input.  So every input is a script, and a changed input mostly
 * does something similar.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_FUZZ_SCRIPT_H
#define GPUSORT_FUZZ_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a client of gpusortd does.  The actions of the first half keep to
 * protocol.h, if the client is in a state for them.
 */
typedef enum ClientAction
{
	CLIENT_HELLO,				/* shape, flags, algorithm, expected rows */
	CLIENT_KEYS,				/* how many, and which kind */
	CLIENT_RUN,
	CLIENT_TAKE_ORDER,			/* gives back the oldest chunk of the order */
	CLIENT_LIST_DEVICES,
	CLIENT_YIELD,				/* lets gpusortd go on */

	CLIENT_CHANGED_MESSAGE,		/* the last one again, with other bytes */
	CLIENT_ANY_MESSAGE,			/* of any length, with descriptors or without */
	CLIENT_WRITE,				/* to the ring, now */
	CLIENT_RACE,				/* the same, but while gpusortd is at work */
	CLIENT_LEAVE,				/* hangs up */
	CLIENT_LEAVE_LATER,			/* the same, while gpusortd is at work */
	CLIENT_FILE,				/* changes the file of the ring */

	OTHERS_MEMORY,				/* other jobs take or release device memory */
	ENGINE_FAILURE,				/* a later call of the engine fails */
	TIME_PASSES,
	CLIENT_ACTIONS				/* how many there are */
} ClientAction;

/* Kinds of keys that CLIENT_KEYS makes. */
typedef enum KeyKind
{
	KEYS_RANDOM,
	KEYS_FEW,
	KEYS_ASCENDING,
	KEYS_EQUAL,
	KEY_KINDS
} KeyKind;

typedef struct Script
{
	const uint8_t *next;
	const uint8_t *end;
} Script;

static inline bool
script_is_over(const Script *script)
{
	return script->next >= script->end;
}

/* The next operand, of nbytes bytes; the first byte is the lowest. */
static inline uint64_t
script_number(Script *script, int nbytes)
{
	uint64_t	number = 0;

	for (int i = 0; i < nbytes && script->next < script->end; i++)
		number |= (uint64_t) *script->next++ << (8 * i);
	return number;
}

/* The same, below a limit that is not 0. */
static inline uint64_t
script_below(Script *script, int nbytes, uint64_t limit)
{
	return script_number(script, nbytes) % limit;
}

#endif							/* GPUSORT_FUZZ_SCRIPT_H */
