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

/* Sends the order of a job that has been sorted. */
extern bool send_order(Job *job);

/* MSG_ORDER_TAKEN: takes back a chunk of the order. */
extern bool send_order_take_back(Job *job, const Message *message);

/* May the client be reading what is in the ring? */
static inline bool
send_order_is_read(const Job *job)
{
	return job->sent != job->returned;
}

#endif							/* GPUSORTD_SEND_ORDER_H */
