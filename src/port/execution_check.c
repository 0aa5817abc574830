/*-------------------------------------------------------------------------
 *
 * execution_check.c
 *	  Whether a role may execute a function.
 *
 * Core's nodes check this when they begin.  So do the nodes that call the
 * functions in their place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "port/compat.h"
#include "port/execution_check.h"

void
check_execution(Oid function, Oid role, ObjectType type)
{
	AclResult	result;

	if (!OidIsValid(function))
		return;
	result = function_aclcheck(function, role);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, type, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}
