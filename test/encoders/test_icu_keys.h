/*-------------------------------------------------------------------------
 *
 * test_icu_keys.h
 *	  Sort keys put together from those of characters against ICU's own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_ICU_KEYS_H
#define TEST_ICU_KEYS_H

/*
 * If this is a collation of ICU, has its characters be learned, which
 * otherwise takes more strings than a test has.
 */
extern void test_learn_icu_keys(Oid collation);

#endif							/* TEST_ICU_KEYS_H */
