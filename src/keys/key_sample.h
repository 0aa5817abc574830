/*-------------------------------------------------------------------------
 *
 * key_sample.h
 *	  Samples of truncated keys, which show whether keys had better be longer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_SAMPLE_H
#define GPUSORT_KEY_SAMPLE_H

#include "postgres.h"

typedef struct KeySample KeySample;

/* Begins in the current memory context. */
extern KeySample *key_sample_begin(void);

/*
 * Takes a truncated key.  Returns false if too many keys are equal, and so
 * should be longer.
 */
extern bool key_sample_take(KeySample *sample, const uint64_t *words,
							int nwords);

extern void key_sample_end(KeySample *sample);

#endif							/* GPUSORT_KEY_SAMPLE_H */
