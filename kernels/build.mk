# The kernels, where there is a CUDA toolkit (11.8 to 13).
#
# Included by the Makefile. Sets KERNEL_OBJS and KERNEL_LIBS, to link with any C
# compiler; both are empty where nvcc is not found.
#
#	NVCC=...		the compiler, if it is in no usual place
#	CUDA_ARCH=90	machine code for one chip only (compute capability 9.0);
#					otherwise for all major ones that the toolkit knows, and
#					PTX, from which the driver makes code for newer ones

NVCC ?= $(firstword $(wildcard $(addsuffix /nvcc, $(subst :, ,$(PATH)) \
	/usr/local/cuda/bin /opt/cuda/bin /usr/lib/cuda/bin /usr/lib/nvidia-cuda-toolkit/bin)))

ifeq ($(NVCC),)
$(info gpusort: nvcc not found, building without the cuda engine)
else
KERNEL_OBJS = kernels/device.o kernels/device_sort.o

# cudart is beside nvcc's own directory, under either name
CUDA_HOME := $(patsubst %/bin/,%,$(dir $(realpath $(NVCC))))
KERNEL_LIBS = $(addprefix -L, $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib)) \
	-lcudart_static -lstdc++ -lpthread -ldl -lrt

ifdef CUDA_ARCH
KERNEL_ARCH = -gencode=arch=compute_$(CUDA_ARCH),code=sm_$(CUDA_ARCH)
else
KERNEL_ARCH = -arch=all-major
endif

kernels/%.o: kernels/%.cu $(wildcard kernels/*.cuh kernels/*.h) src/key_format.h kernels/build.mk
	$(NVCC) -O3 -std=c++17 $(KERNEL_ARCH) -Xcompiler -Wall,-Wextra,-fPIC -c -o $@ $<
endif
