# PostgreSQL with gpusort, on the base of the official image or of any Debian that has PostgreSQL PG_MAJOR.
#
#	docker build --target cpu .		without CUDA
#	docker build --target gpu .		with the engine for NVIDIA GPUs too
#
# compose.yaml has how to run them; by docker run it takes --init and --shm-size.
#
# Images of gpusort alone, to be mounted beside a PostgreSQL 18 of the same base (docs/packages.md):
#
#	docker build --target extension-cpu --build-arg PG_MAJOR=18 .
#	docker build --target extension-gpu --build-arg PG_MAJOR=18 .
ARG PG_MAJOR=17
ARG BASE=postgres:${PG_MAJOR}-bookworm
ARG CUDA=nvidia/cuda:12.8.1-devel-ubuntu22.04

FROM ${BASE} AS sources
ARG PG_MAJOR
RUN apt-get update && \
	apt-get install -y --no-install-recommends gcc libc6-dev libicu-dev make "postgresql-server-dev-${PG_MAJOR}"
COPY . /gpusort
WORKDIR /gpusort

FROM sources AS build-cpu
ARG PG_MAJOR
RUN make -j"$(nproc)" install install-daemon NVCC= DESTDIR=/installed \
	PG_CONFIG="/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config" gpusortd_path=/usr/libexec/gpusort/gpusortd

FROM ${BASE} AS cpu
COPY --from=build-cpu /installed /
CMD ["postgres", "-c", "shared_preload_libraries=gpusort"]

# Only gpusortd is built here, which has nothing of PostgreSQL: make wants to see one, of whatever version.
FROM ${CUDA} AS build-gpu
RUN apt-get update && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libpq-dev postgresql-server-dev-all
COPY . /gpusort
WORKDIR /gpusort
RUN make -j"$(nproc)" install-daemon DESTDIR=/installed gpusortd_path=/usr/libexec/gpusort/gpusortd

FROM cpu AS gpu
COPY --from=build-gpu /installed /
# What the NVIDIA container toolkit is to bring in, where compose or --gpus does not say it.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility

# gpusortd is beside the library here.
FROM sources AS build-extension
ARG PG_MAJOR
RUN make -j"$(nproc)" install NVCC= with_llvm=no DESTDIR=/installed pkglibdir=/lib datadir=/share \
	PG_CONFIG="/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config"

FROM scratch AS extension-cpu
COPY --from=build-extension /installed /
COPY LICENSE /share/doc/gpusort/

FROM extension-cpu AS extension-gpu
COPY --from=build-gpu /installed/usr/libexec/gpusort/gpusortd /lib/gpusortd
