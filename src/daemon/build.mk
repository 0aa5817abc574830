# gpusortd: a program of its own, without any of PostgreSQL.
#
# Included by the Makefile after kernels/build.mk, which says with KERNEL_OBJS
# and KERNEL_LIBS whether there is a cuda engine.  Sets DAEMON.

DAEMON = src/daemon/gpusortd
DAEMON_OBJS = \
	src/daemon/admission.o \
	src/daemon/connection.o \
	src/daemon/devices.o \
	src/daemon/engine_host.o \
	src/daemon/gpusortd.o \
	src/daemon/guard.o \
	src/daemon/host_sort.o \
	src/daemon/job.o \
	src/daemon/merge.o \
	src/daemon/report.o \
	src/daemon/ring.o \
	src/daemon/roles.o \
	src/daemon/send_order.o \
	src/daemon/shortage.o \
	src/daemon/sort_parts.o \
	src/daemon/take_keys.o \
	src/daemon/trial.o \
	src/daemon/watch.o \
	src/daemon/wire.o

DAEMON_CFLAGS = -std=gnu11 -O2 -g -Wall -Wextra -Wmissing-prototypes -pthread

ifneq ($(KERNEL_OBJS),)
DAEMON_OBJS += src/daemon/engine_cuda.o
DAEMON_CFLAGS += -DHAVE_CUDA
endif

DAEMON_HEADERS = $(wildcard src/daemon/*.h) $(wildcard src/common/*.h) kernels/device_sort.h

$(DAEMON): $(DAEMON_OBJS) $(KERNEL_OBJS)
	$(CC) -pthread $(COPT) -o $@ $^ $(KERNEL_LIBS)

$(DAEMON_OBJS): $(DAEMON_HEADERS) src/daemon/build.mk .engines

# All is compiled anew when nvcc has come or gone since the last time.
.engines: force
	@echo "$(DAEMON_OBJS)" | cmp -s - $@ || echo "$(DAEMON_OBJS)" > $@

src/daemon/host_sort.o: src/common/host_sort.c
	$(CC) $(DAEMON_CFLAGS) $(COPT) -c -o $@ $<

src/daemon/%.o: src/daemon/%.c
	$(CC) $(DAEMON_CFLAGS) $(COPT) -c -o $@ $<
