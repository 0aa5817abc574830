# shellcheck shell=bash
# What the scripts of this directory share; to be sourced after `set -euo pipefail`.
#
# The machine is Debian or a release derived from it. Everything that is installed comes from the sources of its apt. A server that
# is started here lives in a temporary directory, and listens only on a unix socket there. Server and directory are gone when the
# script ends, however it ends.

CHECKOUT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Gives the same results under every user's settings, or none. The user who runs the server can read what is built and installed.
# PostgreSQL's modules for TAP tests take LC_ALL out of the environment, and their clusters then have the locale of LANG.
unset "${!LC_@}"
export LC_ALL=C.UTF-8 LANG=C.UTF-8
umask 022

# ---- messages: standard output is for a script's results, everything else goes to standard error

progress() { printf '== %s\n' "$*" >&2; }

fail() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# Runs a command whose output is of interest only when it fails.
quietly() {
	local output
	if ! output=$("$@" 2>&1 </dev/null); then
		printf '%s\n' "$output" >&2
		fail "this failed: $*"
	fi
}

# ---- users

running_as_root() { [ "$(id -u)" -eq 0 ]; }

as_root() {
	if running_as_root; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		fail "root or sudo is needed for: $*"
	fi
}

# PostgreSQL refuses to run as root. Under root its programs run as `nobody`, the unprivileged user that every machine has.
as_server_user() {
	if running_as_root; then
		setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME=/nonexistent "$@"
	else
		"$@"
	fi
}

make_directory_of_server_user() {
	mkdir -m 700 "$1"
	! running_as_root || chown "nobody:$(id -g nobody)" "$1"
}

# ---- a temporary directory for the whole script; it and the servers that live in it go when the script ends

make_work_directory() {
	WORK_DIRECTORY=$(mktemp -d "${TMPDIR:-/tmp}/gpusort.XXXXXX")
	chmod 755 "$WORK_DIRECTORY"
	trap clean_up EXIT
	# a signal ends the script through `exit`, so that the line above applies too
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

clean_up() {
	local postmaster
	while read -r postmaster; do
		stop_server "$(dirname "$postmaster")" immediate || true
	done < <(find "$WORK_DIRECTORY" -name postmaster.pid)
	rm -rf "$WORK_DIRECTORY"
}

# ---- copies

copy_checkout() {
	rm -rf "$1"
	mkdir "$1"
	git -C "$CHECKOUT" ls-files -z --cached --others --exclude-standard |
		tar --create --directory="$CHECKOUT" --ignore-failed-read --null --files-from=- |
		tar --extract --no-same-owner --directory="$1"
}

# usage: copy_sources DIRECTORY NAME...
# Copies these files and folders of a checkout that may lack git, but for what unit tests may be building just now.
copy_sources() {
	local directory=$1
	shift
	tar --create --directory="$CHECKOUT" --exclude=build "$@" | tar --extract --no-same-owner --directory="$directory"
}

# ---- Debian packages

# One call at a time, of several scripts too: an update does not wait for another one by itself.
APT_GET=(flock /var/lib/apt apt-get -q -y)

update_package_lists() {
	progress "updating apt's package lists"
	quietly as_root "${APT_GET[@]}" update
}

package_installed() {
	[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# usage: install_packages PACKAGE...
# Needs root and the network only when something is missing.
install_packages() {
	local package missing=()
	for package in "$@"; do
		package_installed "$package" || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	update_package_lists
	progress "installing ${missing[*]}"
	quietly as_root env DEBIAN_FRONTEND=noninteractive "${APT_GET[@]}" -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 \
		install --no-install-recommends "${missing[@]}"
}

# The address that this machine's apt takes its own Debian release from.
debian_mirror() {
	local sources
	# before its first update apt knows none of its sources by what they hold
	[ -n "$(debian_sources)" ] || update_package_lists
	sources=$(debian_sources)
	[ -n "$sources" ] || fail "apt is not configured with a source of this machine's Debian release"
	echo "${sources%%$'\n'*}"
}

debian_sources() {
	# shellcheck disable=SC2016 # apt fills in the $(...)
	apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' "Codename: $(debian_codename)" 'Component: main'
}

debian_codename() (. /etc/os-release && echo "$VERSION_CODENAME")

# usage: make_debian_root RELEASE DIRECTORY
make_debian_root() {
	install_packages debootstrap
	# the script of all releases, since this debootstrap may not know the name of a newer one
	quietly debootstrap --variant=minbase "$1" "$2" "$(debian_mirror)" /usr/share/debootstrap/scripts/sid
	# the same way to the mirror as here: proxies, and how old its lists may be
	apt-config dump | grep '^Acquire::' >"$2/etc/apt/apt.conf.d/00as-outside"
	# shared memory of any user
	chmod 1777 "$2/dev/shm"
}

# ---- locales

# Makes some locales of libc in the work directory, beside those of the machine, for the servers that are started from now on.
make_locales() {
	local locale
	install_packages locales
	mkdir "$WORK_DIRECTORY/locales"
	for locale in en_US.UTF-8 de_DE.UTF-8 cs_CZ.UTF-8 de_DE.ISO-8859-1; do
		quietly localedef --inputfile="${locale%%.*}" --charmap="${locale#*.}" "$WORK_DIRECTORY/locales/$locale"
	done
	export LOCPATH=$WORK_DIRECTORY/locales
}

# ---- PostgreSQL

# The major version that this machine's release has.
packaged_major() {
	debian_mirror >/dev/null
	apt-cache show postgresql | sed -nE 's/^Depends:.* postgresql-([0-9]+).*/\1/p' | head -n 1
}

# Whether there is no source of a major, but a built server, see scripts/postgres.
comes_as_wheel() { [ "$1" -eq 16 ]; }

# How tests build gpusort: warnings are errors. COPT, in the environment, has further options for the C compiler.
export BUILD_OPTIONS=(CUDA_ARCH=90 COPT="-Werror ${COPT:-}")

# usage: build_gpusort PG_CONFIG [MAKE_VARIABLE=VALUE...]
# Builds in the checkout and installs into that server.
build_gpusort() {
	local pg_config=$1
	shift
	make -s -C "$CHECKOUT" -j"$(nproc)" PG_CONFIG="$pg_config" "$@" &&
		as_root make -s -C "$CHECKOUT" install PG_CONFIG="$pg_config" "$@"
}

# Tests add this to the configuration of all servers. Memory is set aside in huge pages for the test of it. Before PostgreSQL 18 a plan with a
# method that is switched off counts as dear enough to be compiled; PostgreSQL's own tests still have that, see scripts/conformance.
CONFIGURATION=('gpusort.daemon_engine = host' 'gpusort.verify = on' 'huge_pages = off' 'jit = off')

# A part of the tests that takes longer than this hangs.
LIMIT=(timeout --foreground 40m)

# Regression tests that take longest, the longest first. They come first, so that both servers end at about the same time.
LONG_REGRESSION_TESTS='merge_in_parts|results|memory|index_builds|gathered_rows|group_limits|group_thresholds|value_aggregates|groups|sort_together|common_prefixes'

# usage: installcheck PG_CONFIG DIRECTORY
# Runs the regression tests on two servers, every second test on each, since most keep one processor busy. What tests and servers leave goes to
# new directories in DIRECTORY.
installcheck() {
	local tests half pid pids=() status=0
	mapfile -t tests < <(make -s -C "$CHECKOUT" list-tests PG_CONFIG="$1" | longest_first)
	mkdir "$2"
	# clean_up stops the servers
	PATH=$("$1" --bindir):$PATH
	for half in 1 2; do
		installcheck_on_own_server "$1" "$2/$half" "$(printf '%s\n' "${tests[@]}" | sed -n "$half~2p" | paste -s -d ' ')" >"$2/$half.log" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || status=$?
	done
	cat "$2"/[12].log
	return "$status"
}

# Puts those of LONG_REGRESSION_TESTS before the others.
longest_first() {
	local tests
	tests=$(cat)
	tr '|' '\n' <<<"$LONG_REGRESSION_TESTS" | grep --line-regexp --fixed-strings "$tests"
	grep --invert-match --line-regexp --extended-regexp "$LONG_REGRESSION_TESTS" <<<"$tests"
}

# usage: installcheck_on_own_server PG_CONFIG DIRECTORY TESTS
# To be called in a shell of its own, which start_cluster changes.
installcheck_on_own_server() {
	local WORK_DIRECTORY=$2
	mkdir "$2"
	# where pg_regress looked for expected results in PostgreSQL 15 and in 16.2
	ln -s "$CHECKOUT/expected" "$2/expected"
	# snapshots of autovacuum would keep dead rows in an index
	start_cluster "$1" "shared_preload_libraries = 'gpusort'" "${CONFIGURATION[@]}" 'autovacuum = off' || return
	"${LIMIT[@]}" make -s -C "$CHECKOUT" installcheck PG_CONFIG="$1" "${BUILD_OPTIONS[@]}" REGRESS="$3" EXTRA_REGRESS_OPTS="--outputdir=$2" &&
		stop_cluster && return
	cp "$2/cluster/log" "$2"
	stop_cluster
	return 1
}

# usage: prove_tests PG_CONFIG DIRECTORY TEST...
# Runs TAP tests, named as in test/, three at a time, since they wait more than they compute. They make clusters, and modules, of
# their own: they run as the user who may, on a copy in that directory, which this user can read. Their initdb is test/bin/initdb.
prove_tests() {
	local pg_config=$1 directory=$2 support
	shift 2
	support=$(dirname "$("$pg_config" --pgxs)")/..
	make_directory_of_server_user "$directory"
	copy_sources "$directory" README.md contrib docs src kernels scripts test
	printf '%s\n' "${CONFIGURATION[@]}" >"$directory/every_cluster.conf"
	# TESTDIR is for PostgreSQL 15; later ones have TESTDATADIR and TESTLOGDIR in its place
	as_server_user "${LIMIT[@]}" env --chdir="$directory/test" PATH="$directory/test/bin:$("$pg_config" --bindir):$PATH" \
		TESTDIR="$directory" TESTDATADIR="$directory/tmp_check" TESTLOGDIR="$directory/tmp_check/log" \
		TEMP_CONFIG="$directory/every_cluster.conf" PG_CONFIG="$pg_config" PG_REGRESS="$support/test/regress/pg_regress" \
		prove --jobs=3 --verbose --ext=.pl -I "$support/test/perl" "$@"
}

# usage: start_cluster PG_CONFIG [CONFIGURATION_LINE...]
# Makes a new cluster in the work directory, starts it, and points the client programs at it.
start_cluster() {
	local pg_config=$1 cluster=$WORK_DIRECTORY/cluster
	shift
	# settings of the caller's own servers must not reach this one
	unset "${!PG@}"
	PATH=$("$pg_config" --bindir):$PATH
	export PGHOST=$cluster PGUSER=postgres PGDATABASE=postgres
	make_directory_of_server_user "$cluster"
	quietly as_server_user initdb -D "$cluster/data" -U postgres -A trust --no-sync --locale=C.UTF-8 --encoding=UTF8
	cat >>"$cluster/data/postgresql.conf" <<-CONFIGURATION
		listen_addresses = ''
		unix_socket_directories = '$cluster'
		fsync = off
	CONFIGURATION
	[ $# -eq 0 ] || printf '%s\n' "$@" >>"$cluster/data/postgresql.conf"
	if ! as_server_user pg_ctl -D "$cluster/data" -l "$cluster/log" -w start >/dev/null; then
		cat "$cluster/log" >&2
		return 1
	fi
}

stop_cluster() {
	stop_server "$WORK_DIRECTORY/cluster/data" fast
	rm -rf "$WORK_DIRECTORY/cluster"
}

stop_server() { as_server_user pg_ctl -D "$1" -m "$2" -w stop >/dev/null 2>&1; }
