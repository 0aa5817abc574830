/*-------------------------------------------------------------------------
 *
 * test_icu_keys.h
 *	  Sort keys put together from those of characters against ICU's own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_ICU_KEYS_H
#define TEST_ICU_KEYS_H

#include "keys/icu_keys.h"

/*
 * If this is a collation of ICU, makes its keys learn characters, which
 * otherwise takes more strings than a test has.
 */
extern void test_learn_icu_keys(Oid collation);

/* Is the first level of a string's key put together, without ICU? */
extern bool test_put_together(IcuKeys *keys, const char *string, Size size);

/* Are keys still put together, none having turned out wrong? */
extern bool test_is_learning(const IcuKeys *keys);

#endif							/* TEST_ICU_KEYS_H */
