# How a module for a test is built, from its one source file; for the Makefile in its
# directory "here".

PG_CPPFLAGS = -I$(here)../../src
PG_CFLAGS = -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers

# Nothing here is worth compiling at run time.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

vpath %.c $(here)
