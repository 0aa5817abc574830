/*-------------------------------------------------------------------------
 *
 * wrong.h
 *	  What gpusortd has to do wrong.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEST_WRONG_H
#define GPUSORT_TEST_WRONG_H

#include <stdbool.h>

/* Does the file "wrong" in the working directory say so just now? */
extern bool does_wrong(const char *what);

#endif							/* GPUSORT_TEST_WRONG_H */
