/*-------------------------------------------------------------------------
 *
 * daemon_test_devices.h
 *	  Devices of little memory.
 *
 * To be included after daemon_test.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DAEMON_TEST_DEVICES_H
#define GPUSORT_DAEMON_TEST_DEVICES_H

/* The bytes of all jobs of a gpusortd started with --device-memory=1. */
static uint64_t
budget_bytes(const Daemon *daemon)
{
	Message		message = {.kind = MSG_LIST_DEVICES};
	Client		client;
	uint64_t	bytes = 0;

	if (connect_client(daemon, &client) && send_message(&client, &message) &&
		receive_kind(&client, &message, MSG_DEVICE))
		bytes = message.u.device.memory_bytes / 100;
	hang_up(&client);
	return bytes;
}

/*
 * Rows that take "times" the memory of one device.  The host engine takes 9
 * bytes for a word of a key, 9 for its end, and 16 for a row.
 */
static uint64_t
rows_for_devices(const Daemon *daemon, uint32_t fixed_words, double times)
{
	double		row_bytes = fixed_words == 0 ? 2.5 * 9 + 9 + 16 :
		9 * fixed_words + 16;

	return (uint64_t) (times * 50 * (double) budget_bytes(daemon) / row_bytes);
}

/* Starts gpusortd with this many devices, each with room for 15 MB. */
static Daemon
start_small_devices(int count)
{
	static const char *const lists[] = {"", "30", "30,30", "30,30,30"};
	Daemon		daemon;

	host_devices = lists[count];
	daemon = start(HALF_OF_MEMORY);
	host_devices = NULL;
	return daemon;
}

/* Asks for a device, and checks its state. */
static Message
describe_device(const Daemon *daemon, int number, DeviceState state)
{
	Message		message = {.kind = MSG_LIST_DEVICES};
	Client		client;

	if (connect_client(daemon, &client) && send_message(&client, &message))
	{
		for (int i = 0; i <= number; i++)
			(void) receive_kind(&client, &message, MSG_DEVICE);
	}
	hang_up(&client);
	if (message.u.device.state != state)
		wrong("device %d has state %u", number, message.u.device.state);
	return message;
}

/*
 * Checks that jobs have left nothing on the devices, which have done at least
 * this many.
 */
static void
check_small_devices(const Daemon *daemon, int count, uint64_t least_sorts)
{
	for (int number = 0; number < count; number++)
	{
		Message		message = describe_device(daemon, number, DEVICE_READY);

		if (message.u.device.sorts < least_sorts)
			wrong("device %d has done %llu sorts", number,
				  (unsigned long long) message.u.device.sorts);
		for (int tries = 0; message.u.device.jobs > 0 && tries < 1000; tries++)
		{
			usleep(10000);
			message = describe_device(daemon, number, DEVICE_READY);
		}
		if (message.u.device.jobs > 0 || message.u.device.reserved_bytes > 0)
			wrong("device %d is left with %u jobs", number,
				  message.u.device.jobs);
	}
}

/* Begins a job, and pushes keys that take nearly all memory of a device. */
static bool
begin_to_hold(const Daemon *daemon, Client *client, KeySet *set)
{
	*set = make_keys(1, rows_for_devices(daemon, 1, 0.95), 1);
	if (!begin(daemon, client, 1, 10) || !push_keys(client, set))
		return false;
	for (uint32_t chunk = 0; chunk < client->nchunks; chunk++)
	{
		if (!await_chunk(client, chunk))
			return false;
	}
	return true;
}

#endif							/* GPUSORT_DAEMON_TEST_DEVICES_H */
