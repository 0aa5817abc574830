# How the kernels are built; included by the top Makefile and test/unit's.
#
# Given, all optional:
#	NVCC			the compiler; else searched on PATH and in the usual places
#	CUDA_ARCH		one architecture to build for, as 90; else machine code for
#					the major ones the toolkit knows, from 70 on, and PTX of the
#					newest, which drivers compile for chips that came later
# Defined:
#	NVCC			the compiler, empty if there is none
#	NVCCFLAGS		its flags
#	KERNEL_OBJS		the objects to link into gpusortd, empty without nvcc
#	KERNEL_LIBS		what they need; a C compiler can link them
#	KERNEL_HEADERS	what they are built from beside their sources
#
# CUDA's runtime is linked statically; libcuda is never linked, the runtime
# loads it when it is first used.

kernels_directory := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

# Each object needs most of them.  As prerequisites of a pattern they make no
# target that could become the default one.
KERNEL_HEADERS := $(wildcard $(kernels_directory)/*.cuh $(kernels_directory)/*.h) \
	$(addprefix $(kernels_directory)/../src/common/,device.h key_format.h) \
	$(kernels_directory)/build.mk

ifndef NVCC
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) \
	$(wildcard /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc))
endif

ifneq ($(NVCC),)

ifdef CUDA_ARCH
NVCC_ARCH = -gencode arch=compute_$(CUDA_ARCH),code=sm_$(CUDA_ARCH)
else
# As -arch=all-major, which in toolkits before 13 begins with chips that are
# too old for the kernels.
known_archs := $(filter-out 3% 5% 6%,$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code)))
major_archs := $(sort $(firstword $(known_archs)) $(filter %0,$(known_archs)))
newest_arch := $(lastword $(filter %0,$(known_archs)))
NVCC_ARCH = $(foreach arch,$(major_archs),-gencode arch=compute_$(arch),code=sm_$(arch)) \
	-gencode arch=compute_$(newest_arch),code=compute_$(newest_arch)
endif

NVCCFLAGS = -O3 -std=c++17 $(NVCC_ARCH) --cudart=static \
	-Xcompiler -Wall,-Wextra,-fPIC

# as COPT=-Werror has it for C
ifneq ($(filter -Werror,$(COPT)),)
NVCCFLAGS += -Werror all-warnings -Xcompiler -Werror
endif

KERNEL_OBJS = $(patsubst %.cu,%.o,$(wildcard $(kernels_directory)/*.cu))

# The directories that nvcc itself would search for libraries, without those
# of stubs.
KERNEL_LIBS = $(filter-out %/stubs,$(subst ",,$(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | \
	sed -n 's/^\#\$$ LIBRARIES=//p'))) \
	-lcudart_static -ldl -lrt -lpthread -lstdc++

$(kernels_directory)/%.o: $(kernels_directory)/%.cu $(KERNEL_HEADERS)
	$(NVCC) $(NVCCFLAGS) -c -o $@ $<

# the output of list-tests is read by scripts
else ifeq ($(MAKELEVEL)$(filter list-tests,$(MAKECMDGOALS)),0)
$(info gpusort: nvcc not found, building without the cuda engine)
endif
