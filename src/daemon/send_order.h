/*-------------------------------------------------------------------------
 *
 * send_order.h
 *	  The order of a job, from the devices through the ring to the client.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_SEND_ORDER_H
#define GPUSORTD_SEND_ORDER_H

#include "job.h"

/* Sends the order of a sorted job, as chunks of the ring become free. */
extern bool send_order(Job *job);

/* MSG_ORDER_TAKEN: notes that the client has given back a chunk. */
extern bool send_order_take_back(Job *job, const Message *message);

/* May the client be reading a chunk of the order? */
static inline bool
send_order_is_read(const Job *job)
{
	return job->sent != job->returned;
}

#endif							/* GPUSORTD_SEND_ORDER_H */
