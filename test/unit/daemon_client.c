/*-------------------------------------------------------------------------
 *
 * daemon_client.c
 *	  gpusortd and its clients, for programs without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "daemon_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int			patience_ms = 30000;

static bool
__attribute__((format(printf, 1, 2)))
wrong(const char *format,...)
{
	char		problem[512];
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	return daemon_client_wrong(problem);
}

uint64_t
milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}


/*
 * gpusortd
 */

void
make_directory(Daemon *daemon)
{
	char		path[96];

	strcpy(daemon->directory, "/tmp/gpusortd.XXXXXX");
	if (mkdtemp(daemon->directory) == NULL)
		wrong("no temporary directory");
	snprintf(path, sizeof(path), "%s/pg_stat_tmp", daemon->directory);
	if (mkdir(path, 0700) < 0)
		wrong("could not make %s", path);
}

void
remove_directory(const Daemon *daemon)
{
	char		path[96];

	snprintf(path, sizeof(path), "%s/" SOCKET_PATH, daemon->directory);
	(void) unlink(path);
	snprintf(path, sizeof(path), "%s/" LOCK_PATH, daemon->directory);
	(void) unlink(path);
	snprintf(path, sizeof(path), "%s/pg_stat_tmp", daemon->directory);
	(void) rmdir(path);
	(void) rmdir(daemon->directory);
}

void
spawn_program(Daemon *daemon, char *const *arguments)
{
	int			life_line[2];
	int			reports[2];

	if (pipe2(life_line, O_CLOEXEC) < 0 || pipe2(reports, O_CLOEXEC) < 0)
	{
		wrong("no pipe");
		return;
	}
	daemon->pid = fork();
	if (daemon->pid == 0)
	{
		if (chdir(daemon->directory) < 0)
			_exit(99);
		dup2(life_line[0], STDIN_FILENO);
		dup2(reports[1], STDOUT_FILENO);
		execv(arguments[0], arguments);
		_exit(99);
	}
	close(life_line[0]);
	close(reports[1]);
	daemon->life_line = life_line[1];
	daemon->reports = reports[0];
}

bool
read_report(Daemon *daemon, char *line)
{
	int			length = 0;
	struct pollfd state = {.fd = daemon->reports,.events = POLLIN};

	while (length < LINE_SIZE - 1)
	{
		if (poll(&state, 1, patience_ms) <= 0)
			return wrong("no report came");
		if (read(daemon->reports, line + length, 1) != 1)
			return false;
		if (line[length] == '\n')
			break;
		length++;
	}
	line[length] = '\0';
	return true;
}

int
exit_status(Daemon *daemon)
{
	uint64_t	deadline = milliseconds() + (uint64_t) patience_ms;
	int			status;

	while (waitpid(daemon->pid, &status, WNOHANG) == 0)
	{
		if (patience_ms >= 0 && milliseconds() > deadline)
		{
			wrong("gpusortd did not end");
			kill(daemon->pid, SIGKILL);
		}
		usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void
start_gpusortd(Daemon *daemon, char *const *arguments, FILE *reports)
{
	char		line[LINE_SIZE];

	make_directory(daemon);
	spawn_program(daemon, arguments);
	do
	{
		if (!read_report(daemon, line))
		{
			wrong("gpusortd did not start");
			return;
		}
		if (reports != NULL)
			fprintf(reports, "%s\n", line);
	} while (strncmp(line, "ready ", 6) != 0);
}

void
end_gpusortd(Daemon *daemon)
{
	char		line[LINE_SIZE];

	close(daemon->life_line);
	while (read_report(daemon, line))
		puts(line);
	(void) exit_status(daemon);
	remove_directory(daemon);
}


/*
 * Clients
 */

bool
connect_client(const Daemon *daemon, Client *client)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = patience_ms < 0 ? 0 : patience_ms / 1000};

	memset(client, 0, sizeof(*client));
	client->ring_descriptor = -1;
	client->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" SOCKET_PATH,
			 daemon->directory);
	if (connect(client->socket, (struct sockaddr *) &address,
				sizeof(address)) < 0)
		return wrong("could not connect: %s", strerror(errno));
	setsockopt(client->socket, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	setsockopt(client->socket, SOL_SOCKET, SO_SNDTIMEO, &patience,
			   sizeof(patience));
	return true;
}

void
hang_up(Client *client)
{
	if (client->ring != NULL)
		munmap(client->ring, (size_t) client->nchunks * CHUNK_BYTES);
	if (client->ring_descriptor >= 0)
		close(client->ring_descriptor);
	close(client->socket);
	free(client->chunk_is_ours);
	memset(client, 0, sizeof(*client));
	client->ring_descriptor = -1;
	client->socket = -1;
}

bool
send_message(Client *client, const Message *message)
{
	if (send(client->socket, message, sizeof(Message), MSG_NOSIGNAL) !=
		sizeof(Message))
		return !client->may_fail && wrong("could not send: %s", strerror(errno));
	return true;
}

bool
try_receive(Client *client, Message *message)
{
	union
	{
		struct cmsghdr header;
		char		space[CMSG_SPACE(sizeof(int))];
	}			control;
	struct iovec part = {message, sizeof(Message)};
	struct msghdr envelope = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)
	};
	ssize_t		length = recvmsg(client->socket, &envelope, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header;

	if (length == 0)
		return false;
	if (length != sizeof(Message))
		return wrong("could not receive: %s", strerror(errno));
	header = CMSG_FIRSTHDR(&envelope);
	if (header != NULL)
		memcpy(&client->ring_descriptor, CMSG_DATA(header), sizeof(int));
	return true;
}

bool
receive_message(Client *client, Message *message)
{
	if (!try_receive(client, message))
		return !client->may_fail && wrong("gpusortd closed the connection");
	if (client->may_fail &&
		(message->kind == MSG_FAILED || message->kind == MSG_REFUSED) &&
		message->u.failed.cause == FAILURE_FULL)
		return false;
	if (message->kind == MSG_FAILED || message->kind == MSG_REFUSED)
		return wrong("gpusortd says: %s", message->u.failed.text);
	return true;
}

bool
receive_kind(Client *client, Message *message, MessageKind kind)
{
	if (!receive_message(client, message))
		return false;
	if (message->kind != kind)
		return wrong("expected a message of kind %d, received %u", kind,
					 message->kind);
	return true;
}

Message
hello_message(uint32_t fixed_words, uint64_t expected_rows)
{
	Message		message = {.kind = MSG_HELLO};

	message.u.hello.version = PROTOCOL_VERSION;
	message.u.hello.fixed_words = fixed_words;
	message.u.hello.mark_ties = 1;
	message.u.hello.role_limit = UINT64_MAX;
	message.u.hello.expected_rows = expected_rows;
	return message;
}

bool
say_hello(Client *client, uint32_t fixed_words, uint64_t expected_rows)
{
	Message		message = hello_message(fixed_words, expected_rows);

	return send_message(client, &message);
}

bool
receive_welcome(Client *client)
{
	Message		message;

	do
	{
		if (!receive_message(client, &message))
			return false;
	} while (message.kind == MSG_QUEUED);
	if (message.kind != MSG_WELCOME)
		return wrong("expected MSG_WELCOME, received %u", message.kind);
	if (client->ring_descriptor < 0)
		return wrong("no descriptor came with the welcome");
	client->nchunks = message.u.welcome.chunks;
	client->chunk_is_ours = malloc(client->nchunks);
	memset(client->chunk_is_ours, true, client->nchunks);
	client->ring = mmap(NULL, (size_t) client->nchunks * CHUNK_BYTES,
						PROT_READ | PROT_WRITE, MAP_SHARED,
						client->ring_descriptor, 0);
	if (client->ring == MAP_FAILED)
	{
		client->ring = NULL;
		return wrong("could not map the ring");
	}
	return true;
}

bool
begin(const Daemon *daemon, Client *client, uint32_t fixed_words,
	  uint64_t expected_rows)
{
	return connect_client(daemon, client) &&
		say_hello(client, fixed_words, expected_rows) &&
		receive_welcome(client);
}

bool
await_chunk(Client *client, uint32_t chunk)
{
	while (!client->chunk_is_ours[chunk])
	{
		Message		message;

		if (!receive_kind(client, &message, MSG_KEYS_TAKEN))
			return false;
		if (message.u.keys.chunk >= client->nchunks ||
			client->chunk_is_ours[message.u.keys.chunk])
			return wrong("chunk %u came back, which is not gpusortd's",
						 message.u.keys.chunk);
		client->chunk_is_ours[message.u.keys.chunk] = true;
	}
	return true;
}

void
push_rows(Client *client, uint64_t nrows, uint32_t key_words, KeyWriter write)
{
	const uint64_t chunk_rows = CHUNK_BYTES / sizeof(uint64_t) / key_words;
	uint32_t	chunk = 0;

	for (uint64_t row = 0; row < nrows; row += chunk_rows)
	{
		uint64_t	left = nrows - row;
		uint32_t	count = left < chunk_rows ? left : chunk_rows;
		Message		message = {.kind = MSG_KEYS};

		(void) await_chunk(client, chunk);
		write(row, count,
			  (uint64_t *) (client->ring + (size_t) chunk * CHUNK_BYTES));
		message.u.keys.chunk = chunk;
		message.u.keys.nrows = count;
		message.u.keys.nwords = (uint64_t) count * key_words;
		client->chunk_is_ours[chunk] = false;
		(void) send_message(client, &message);
		chunk = (chunk + 1) % client->nchunks;
	}
	for (chunk = 0; chunk < client->nchunks; chunk++)
		(void) await_chunk(client, chunk);
}

bool
send_run(Client *client, uint64_t nrows)
{
	Message		message = {.kind = MSG_SORT};

	message.u.sort.nrows = nrows;
	return send_message(client, &message);
}

bool
receive_sorted(Client *client)
{
	Message		message;

	do
	{
		if (!receive_message(client, &message))
			return false;
	} while (message.kind == MSG_KEYS_TAKEN);
	if (message.kind != MSG_SORTED)
		return wrong("expected MSG_SORTED, received %u", message.kind);
	return true;
}

bool
receive_order(Client *client, uint32_t *order, uint64_t nrows)
{
	uint64_t	have = 0;

	while (have < nrows)
	{
		Message		message;
		uint32_t	count;

		if (!receive_kind(client, &message, MSG_ORDER))
			return false;
		count = message.u.order.count;
		if (message.u.order.chunk >= client->nchunks || count == 0 ||
			count > CHUNK_BYTES / sizeof(uint32_t) || count > nrows - have)
			return wrong("impossible part of an order");
		memcpy(order + have,
			   client->ring + (size_t) message.u.order.chunk * CHUNK_BYTES,
			   count * sizeof(uint32_t));
		have += count;
		message.kind = MSG_ORDER_TAKEN;
		if (!send_message(client, &message))
			return false;
	}
	return true;
}
