/*-------------------------------------------------------------------------
 *
 * wire.c
 *	  The line to one client: messages, and waiting for them.
 *
 * All waiting for a client is done here.  A wait ends with a message, when the
 * client is gone, or when the client has been idle for a while and others wait
 * for what its job has (shortage.c).  Each message is a step of the watch
 * (watch.h), and no wait is taken for a job that hangs.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

void
wire_begin(Wire *wire, int socket)
{
	memset(wire, 0, sizeof(Wire));
	wire->socket = socket;
	watch_begin(&wire->watch);
}

void
wire_has_given_way(Wire *wire)
{
	if (wire->gives_way)
		shortage_has_given_way();
}

void
wire_end(Wire *wire)
{
	close(wire->socket);
	watch_end(&wire->watch);
}

bool
wire_client_is_gone(void *argument)
{
	const Wire *wire = argument;
	struct pollfd events = {.fd = wire->socket,.events = POLLRDHUP};

	return poll(&events, 1, 0) > 0 &&
		(events.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/*
 * Waits until the socket is ready for these events of poll().  Returns false
 * if the client is to give way; from then on nothing waits for the client.
 */
static bool
wait_for_client(Wire *wire, short events)
{
	if (wire->gives_way)
		return false;
	watch_wait(&wire->watch);
	wire->gives_way = shortage_wait(wire->socket, events, wire->has) ==
		WAITED_GIVE_WAY;
	watch_go_on(&wire->watch);
	return !wire->gives_way;
}

bool
wire_send(Wire *wire, const Message *message)
{
	ssize_t		sent;

	for (;;)
	{
		sent = send(wire->socket, message, sizeof(Message),
					MSG_NOSIGNAL | MSG_DONTWAIT);
		watch_go_on(&wire->watch);
		if (sent >= 0 || (errno != EINTR && errno != EAGAIN))
			return sent == sizeof(Message);
		if (errno == EAGAIN && !wait_for_client(wire, POLLOUT))
			return false;
	}
}

bool
wire_send_descriptor(Wire *wire, const Message *message, int descriptor)
{
	union
	{
		struct cmsghdr header;
		char		space[CMSG_SPACE(sizeof(int))];
	}			control = {{0}};
	struct iovec part = {(void *) message, sizeof(*message)};
	struct msghdr envelope = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space)
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	return sendmsg(wire->socket, &envelope, MSG_NOSIGNAL) == sizeof(*message);
}

bool
wire_refuse(Wire *wire, MessageKind kind, FailureCause cause,
			const char *format,...)
{
	Message		message = {.kind = kind};
	va_list		arguments;

	message.u.failed.cause = cause;
	va_start(arguments, format);
	vsnprintf(message.u.failed.text, sizeof(message.u.failed.text), format,
			  arguments);
	va_end(arguments);
	(void) wire_send(wire, &message);
	return false;
}

static Received
try_receive(Wire *wire, Message *message)
{
	ssize_t		length;

	do
		length = recv(wire->socket, message, sizeof(Message),
					  MSG_TRUNC | MSG_DONTWAIT);
	while (length < 0 && errno == EINTR);
	watch_go_on(&wire->watch);
	if (length < 0 && errno == EAGAIN)
		return RECEIVED_NOTHING;
	if (length <= 0)
		return RECEIVED_END;
	if (length != sizeof(Message))
		message->kind = 0;
	return RECEIVED;
}

Received
wire_receive(Wire *wire, Message *message, bool wait)
{
	Received	received;

	while ((received = try_receive(wire, message)) == RECEIVED_NOTHING && wait)
	{
		if (!wait_for_client(wire, POLLIN))
			return RECEIVED_GIVE_WAY;
	}
	return received;
}

bool
wire_receive_within(Wire *wire, Message *message, uint64_t milliseconds)
{
	uint64_t	deadline = microseconds_now() + milliseconds * 1000;
	struct pollfd events = {.fd = wire->socket,.events = POLLIN};
	Received	received;
	uint64_t	now;

	while ((received = try_receive(wire, message)) == RECEIVED_NOTHING)
	{
		now = microseconds_now();
		if (now >= deadline)
			return false;
		watch_wait(&wire->watch);
		(void) poll(&events, 1, (int) ((deadline - now) / 1000) + 1);
	}
	return received == RECEIVED;
}
