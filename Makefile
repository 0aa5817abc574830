# gpusort: builds with PGXS for the PostgreSQL that PG_CONFIG names.
#
#	make					everything; the cuda engine only where nvcc is found
#	make CUDA_ARCH=90		machine code for one chip only, a quick build
#	make install			gpusort and, beside its library, gpusortd
#	make installcheck		regression tests, on the server of the PG* environment

all:

EXTENSION = gpusort
MODULE_big = gpusort
DATA = sql/gpusort--0.1.0.sql
OBJS = \
	src/collation.o \
	src/device_client.o \
	src/encode_arrays.o \
	src/encode_collated.o \
	src/encode_enums.o \
	src/encode_identifiers.o \
	src/encode_network.o \
	src/encode_numbers.o \
	src/encode_prefix.o \
	src/encode_strings.o \
	src/encode_times.o \
	src/explain_native.o \
	src/functions.o \
	src/gpusort.o \
	src/heap_scan.o \
	src/host_sort.o \
	src/huge_pages.o \
	src/icu_keys.o \
	src/index_build.o \
	src/index_load.o \
	src/index_rows.o \
	src/index_sort.o \
	src/key_encoders.o \
	src/launcher.o \
	src/leaf_maker.o \
	src/left_native.o \
	src/merged_rows.o \
	src/native_sort.o \
	src/node_gpusort.o \
	src/order_check.o \
	src/parallel_collect.o \
	src/parallel_write.o \
	src/plan_columns.o \
	src/plan_sort.o \
	src/result_tape.o \
	src/row_batch.o \
	src/row_compare.o \
	src/row_order.o \
	src/row_sort.o \
	src/row_store.o \
	src/run_file.o \
	src/run_merge.o \
	src/run_order.o \
	src/run_tape.o \
	src/settings.o \
	src/shared_memory.o \
	src/shared_rows.o \
	src/shared_state.o \
	src/sort_bound.o \
	src/sort_cost.o \
	src/sort_job.o \
	src/sort_keys.o \
	src/sort_paths.o \
	src/sorted_runs.o \
	src/spare_memory.o \
	src/table_order.o \
	src/tree_writer.o \
	src/worker_setting.o

SHLIB_LINK = -Wl,--version-script=src/exports.map
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Wmissing-prototypes

REGRESS = $(sort $(basename $(notdir $(wildcard test/sql/*.sql))))
# before 16 expected results were looked for in the output directory, here
REGRESS_OPTS = --inputdir=test --load-extension=gpusort \
	$(if $(filter 15, $(MAJORVERSION)),,--expecteddir=.)

EXTRA_CLEAN = .postgres-version .engines $(DAEMON) $(DAEMON_OBJS) $(KERNEL_OBJS)

include kernels/build.mk
include src/daemon/build.mk

PG_CONFIG = pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Headers are few and shared by most files: any change compiles all.
$(OBJS): $(wildcard src/*.h kernels/device_sort.h)

# It looks at all entries of an order.
src/device_client.o: CFLAGS += $(CFLAGS_VECTORIZE)

# So does another PostgreSQL than last time.
$(OBJS): .postgres-version
.postgres-version: force
	@$(PG_CONFIG) --version --includedir-server | cmp -s - $@ || \
		$(PG_CONFIG) --version --includedir-server > $@
.PHONY: force

all: $(DAEMON)

install: install-daemon
install-daemon: $(DAEMON) installdirs
	$(INSTALL_PROGRAM) $(DAEMON) '$(DESTDIR)$(pkglibdir)/gpusortd'

uninstall: uninstall-daemon
uninstall-daemon:
	rm -f '$(DESTDIR)$(pkglibdir)/gpusortd'
.PHONY: install-daemon uninstall-daemon
