# PostgreSQL with gpusort, on the base of the official image or of any Debian that has PostgreSQL PG_MAJOR.
#
#	docker build --target cpu .		without CUDA
#	docker build --target gpu .		with the engine for NVIDIA GPUs too
#
# compose.yaml has how to run them; by docker run it takes --init and --shm-size.
ARG PG_MAJOR=17
ARG BASE=postgres:${PG_MAJOR}-bookworm
ARG CUDA=nvidia/cuda:12.8.1-devel-ubuntu22.04

FROM ${BASE} AS build-cpu
ARG PG_MAJOR
RUN apt-get update && \
	apt-get install -y --no-install-recommends gcc libc6-dev libicu-dev make "postgresql-server-dev-${PG_MAJOR}"
COPY . /gpusort
WORKDIR /gpusort
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
