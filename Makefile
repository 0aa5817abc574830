# gpusort: builds with PGXS for the PostgreSQL that PG_CONFIG names.
#
#	make					everything; the cuda engine only where nvcc is found
#	make CUDA_ARCH=90		machine code for one chip only, a quick build
#	make install			gpusort and, beside its library, gpusortd
#	make installcheck		regression tests, on the server of the PG* environment
#	make list-tests			the names of these tests
#	make dist				an archive of the last commit, for PGXN
#
# With gpusortd_path=/a/path gpusort starts the gpusortd of that path, which
# may serve servers of all majors: all and install leave it out, and make
# install-daemon builds and installs it.

all:

EXTENSION = gpusort
MODULE_big = gpusort
DATA = sql/gpusort--0.1.0.sql sql/gpusort--0.1.0--0.2.0.sql
OBJS = \
	src/database_stats.o \
	src/functions.o \
	src/gpusort.o \
	src/hooks.o \
	src/refusal.o \
	src/settings.o \
	src/shared_state.o \
	src/sort_progress.o \
	src/btree/index_build.o \
	src/btree/index_rows.o \
	src/btree/index_sort.o \
	src/btree/leaf_maker.o \
	src/btree/merged_rows.o \
	src/btree/page_writer.o \
	src/btree/parallel_build.o \
	src/btree/parallel_write.o \
	src/btree/tree_writer.o \
	src/btree/unique_check.o \
	src/common/host_sort.o \
	src/cost/sort_choice.o \
	src/cost/sort_cost.o \
	src/cost/table_order.o \
	src/device/device_client.o \
	src/device/launcher.o \
	src/device/sort_job.o \
	src/executor/after_rows.o \
	src/executor/aggregate_plan.o \
	src/executor/core_aggregates.o \
	src/executor/explain_sort.o \
	src/executor/explain_window.o \
	src/executor/first_rows.o \
	src/executor/gpusort_plan.o \
	src/executor/group_rows.o \
	src/executor/group_totals.o \
	src/executor/input_rows.o \
	src/executor/native_sort.o \
	src/executor/node_aggregate.o \
	src/executor/node_gpusort.o \
	src/executor/node_group_aggregate.o \
	src/executor/node_groups.o \
	src/executor/node_limit.o \
	src/executor/node_setop.o \
	src/executor/node_stream.o \
	src/executor/node_unique.o \
	src/executor/node_window.o \
	src/executor/other_aggregates.o \
	src/executor/parallel_sort.o \
	src/executor/percentile.o \
	src/executor/row_maker.o \
	src/executor/row_sort.o \
	src/executor/row_source.o \
	src/executor/row_stream.o \
	src/executor/sort_bound.o \
	src/executor/value_aggregates.o \
	src/executor/value_buffer.o \
	src/executor/value_cast.o \
	src/executor/value_order.o \
	src/executor/window_plan.o \
	src/executor/worker_reports.o \
	src/heap/heap_sample.o \
	src/heap/heap_scan.o \
	src/index/take_builds.o \
	src/index/worker_setting.o \
	src/inverted/entry_inserts.o \
	src/inverted/entry_leaves.o \
	src/inverted/entry_tree.o \
	src/inverted/gin_pages.o \
	src/inverted/inverted_build.o \
	src/inverted/inverted_workers.o \
	src/inverted/posting_parts.o \
	src/inverted/posting_rows.o \
	src/inverted/posting_tree.o \
	src/inverted/term_block.o \
	src/inverted/term_buckets.o \
	src/inverted/term_scan.o \
	src/inverted/terms.o \
	src/inverted/tid_list.o \
	src/keys/collation.o \
	src/keys/encode_arrays.o \
	src/keys/encode_collated.o \
	src/keys/encode_enums.o \
	src/keys/encode_hstore.o \
	src/keys/encode_identifiers.o \
	src/keys/encode_jsonb.o \
	src/keys/encode_ltree.o \
	src/keys/encode_network.o \
	src/keys/encode_numbers.o \
	src/keys/encode_numeric.o \
	src/keys/encode_parts.o \
	src/keys/encode_prefix.o \
	src/keys/encode_ranges.o \
	src/keys/encode_records.o \
	src/keys/encode_strings.o \
	src/keys/encode_times.o \
	src/keys/icu_keys.o \
	src/keys/key_cache.o \
	src/keys/key_encoders.o \
	src/keys/key_sample.o \
	src/keys/recent_keys.o \
	src/keys/shared_layout.o \
	src/keys/sort_keys.o \
	src/planner/add_paths.o \
	src/planner/aggregate_paths.o \
	src/planner/any_order.o \
	src/planner/explain_refusal.o \
	src/planner/foreign_orders.o \
	src/planner/gather_paths.o \
	src/planner/group_limits.o \
	src/planner/group_paths.o \
	src/planner/grouping_set_paths.o \
	src/planner/hash_paths.o \
	src/planner/order_paths.o \
	src/planner/plan_columns.o \
	src/planner/plan_consumers.o \
	src/planner/plan_group_aggregates.o \
	src/planner/plan_sort.o \
	src/planner/plan_unique.o \
	src/planner/plan_windows.o \
	src/planner/query_aggregates.o \
	src/planner/repeated_work.o \
	src/planner/setop_paths.o \
	src/planner/sort_paths.o \
	src/planner/sort_refusal.o \
	src/planner/value_paths.o \
	src/port/chunk_ring.o \
	src/port/execution_check.o \
	src/port/huge_pages.o \
	src/port/shared_memory.o \
	src/sort/group_keys.o \
	src/sort/group_limit.o \
	src/sort/group_starts.o \
	src/sort/group_thresholds.o \
	src/sort/rank_selection.o \
	src/sort/row_batch.o \
	src/sort/row_compare.o \
	src/sort/row_order.o \
	src/sort/row_store.o \
	src/sort/row_ties.o \
	src/sort/spare_memory.o \
	src/spill/external_sort.o \
	src/spill/merge_plan.o \
	src/spill/result_tape.o \
	src/spill/row_check.o \
	src/spill/run_file.o \
	src/spill/run_merge.o \
	src/spill/run_tape.o \
	src/spill/sorted_runs.o \
	src/team/build_processes.o \
	src/team/leader_decision.o \
	src/team/member_sort.o \
	src/team/merged_runs.o \
	src/team/part_merge.o \
	src/team/part_stream.o \
	src/team/parts.o \
	src/team/row_collector.o \
	src/team/row_deposit.o \
	src/team/shared_order.o \
	src/team/shared_rows.o \
	src/team/shared_runs.o \
	src/team/sorted_slices.o \
	src/team/team.o \
	src/window/exact_sum.o \
	src/window/null_map.o \
	src/window/paged_array.o \
	src/window/window_aggregate.o \
	src/window/window_frame.o \
	src/window/window_function.o \
	src/window/window_range.o \
	src/window/window_rows.o \
	src/window/window_run.o \
	src/window/window_slot.o

PG_CPPFLAGS = -I$(srcdir)/src $(if $(gpusortd_path),-DGPUSORTD_PATH='"$(gpusortd_path)"')
SHLIB_LINK = -Wl,--version-script=src/exports.map
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Wmissing-prototypes

# a server without ICU has none of its collations
REGRESS = $(sort $(basename $(notdir $(if $(filter no, $(with_icu)), \
	$(shell grep --files-without-match -e '-x-icu' -e 'provider = icu' test/sql/*.sql), \
	$(wildcard test/sql/*.sql)))))
list-tests:
	@printf '%s\n' $(REGRESS)
.PHONY: list-tests

# before 16 expected results were looked for in the output directory, here
REGRESS_OPTS = --inputdir=test --load-extension=gpusort \
	$(if $(filter 15, $(MAJORVERSION)),,--expecteddir=.)

EXTRA_CLEAN = .built-for .engines $(DAEMON) $(DAEMON_OBJS) $(KERNEL_OBJS)

include kernels/build.mk
include src/daemon/build.mk

PG_CONFIG = pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Headers are few and shared by most files: any change compiles all.
$(OBJS): $(wildcard src/*.h src/*/*.h)

# It looks at all entries of an order.
src/device/device_client.o: CFLAGS += $(CFLAGS_VECTORIZE)

# So does another PostgreSQL than last time, or another path.
$(OBJS): .built-for
.built-for: built_for = $(shell $(PG_CONFIG) --version --includedir-server) $(gpusortd_path)
.built-for: force
	@echo '$(built_for)' | cmp -s - $@ || echo '$(built_for)' > $@
.PHONY: force

ifndef gpusortd_path
all: $(DAEMON)
install: install-daemon
uninstall: uninstall-daemon
endif

installed_daemon = $(DESTDIR)$(or $(gpusortd_path),$(pkglibdir)/gpusortd)

install-daemon: $(DAEMON)
	$(MKDIR_P) '$(dir $(installed_daemon))'
	$(INSTALL_PROGRAM) $(DAEMON) '$(installed_daemon)'

uninstall-daemon:
	rm -f '$(installed_daemon)'
.PHONY: install-daemon uninstall-daemon

DIST = $(EXTENSION)-$(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(EXTENSION).control)
dist:
	scripts/check_meta
	git archive --format=zip --prefix=$(DIST)/ --output=$(DIST).zip HEAD
.PHONY: dist
