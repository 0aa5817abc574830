/*-------------------------------------------------------------------------
 *
 * lineage_test.cc
 *	  Tests of the algorithms of bench/lineage/ on the emulator.
 *
 *-------------------------------------------------------------------------
 */
#include "lineage_test.h"

int
main()
{
	bool		good = true;

	return good ? 0 : 1;
}
