#!/usr/bin/env bash
# Finds out which tools for building, running or testing q2c are missing, installs them where it
# may, and then runs COMMAND.
#
#   scripts/prerequisites.sh run|test|test-guest|test-python|test-spark [COMMAND...]
#
# As root on a system with apt the missing packages are installed. Otherwise the command that
# installs them is printed, and the script ends with 1. No question is asked and stdin is not read.
# COMMAND gets these variables besides its own environment:
#   RUSTUP_TOOLCHAIN        when a toolchain other than the pinned one had to be chosen
#   Q2C_RUST_IS_PINNED      1 or 0: whether rustc has the version in rust-toolchain.toml
#   RUSTC_WORKSPACE_WRAPPER clippy-driver for tests by the pinned version, with CLIPPY_ARGS
#   Q2C_PYTHON              for `test` a Python with scripts/python-requirements.txt, for `test-python`
#                           one with scripts/python-package-requirements.txt, for `test-spark` one
#                           with scripts/python-spark-requirements.txt, in an environment of its own
#                           in the cache (~/.cache/q2c); unset when it could not be made, which is
#                           an error for `test-python`, `test-spark` and where CI=true
# With Q2C_ALLOW_SKIPS=1 a missing browser, fio, blktrace, stress-ng or python3-venv is no error: the tests
# that need one of them are skipped and counted.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly root=$PWD

say() { printf '%s\n' "prerequisites: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

# Prints the value of a key in a TOML file, where the value is a plain string.
toml_string() { sed -n "s/^$2 *= *\"\([^\"]*\)\".*/\1/p" "$root/$1" | head -n 1; }

# Whether version $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Prints the version in "rustc 1.95.0 (...)" of the command given; empty when it does not run.
# RUSTUP_AUTO_INSTALL keeps rustup from downloading a toolchain only because its version was asked
# for.
version_of() { RUSTUP_AUTO_INSTALL=0 "$@" --version 2>/dev/null </dev/null | sed -n 's/^[a-z]* \([0-9][0-9.]*\).*/\1/p'; }

MSRV=$(toml_string Cargo.toml rust-version)
PINNED=$(toml_string rust-toolchain.toml channel)
readonly MSRV PINNED
readonly components=(rustfmt clippy)

rust_ok() { # rustc and cargo run and are recent enough
    local rustc cargo
    rustc=$(version_of rustc) && cargo=$(version_of cargo) || true
    [ -n "${rustc:-}" ] && [ -n "${cargo:-}" ] && at_least "$rustc" "$MSRV" && at_least "$cargo" "$MSRV"
}

# Prints the most recent installed rustup toolchain that is recent enough, a stable one before
# others; empty for none.
best_installed_toolchain() {
    local name version rank
    rustup toolchain list 2>/dev/null | awk '$1 != "no" { print $1 }' | while read -r name; do
        version=$(version_of rustup run "$name" rustc)
        if [ -n "$version" ] && at_least "$version" "$MSRV"; then
            case $name in nightly* | beta*) rank=0 ;; *) rank=1 ;; esac
            printf '%s %s %s\n' "$rank" "$version" "$name"
        fi
    done | sort -k1,1n -k2,2V | tail -n 1 | cut -d ' ' -f 3
}

choose_rustup_toolchain() {
    local other
    if rust_ok; then return; fi
    if [ -n "${RUSTUP_TOOLCHAIN:-}" ]; then
        say "RUSTUP_TOOLCHAIN=$RUSTUP_TOOLCHAIN is not usable: it is not installed, or older than Rust $MSRV"
        unset RUSTUP_TOOLCHAIN
        if rust_ok; then return; fi
    fi
    other=$(best_installed_toolchain)
    if [ -n "$other" ]; then
        say "the pinned Rust $PINNED is not installed; using the installed toolchain $other"
        say "  (to have the pinned one: rustup toolchain install $PINNED --profile minimal -c rustfmt -c clippy)"
        export RUSTUP_TOOLCHAIN=$other
        return
    fi
    say "no installed toolchain has Rust $MSRV or newer; installing $PINNED with rustup"
    rustup toolchain install "$PINNED" --profile minimal --component "${components[@]}" </dev/null >&2 || {
        say "failed to install Rust $PINNED; when the network is back, run"
        say "  rustup toolchain install $PINNED --profile minimal -c rustfmt -c clippy"
        exit 1
    }
}

need_rustup_components() {
    local missing=() component
    has_fmt || missing+=(rustfmt)
    has_clippy || missing+=(clippy)
    for component in "${missing[@]}"; do
        rustup component add "$component" </dev/null >&2 || {
            say "failed to add $component; run: rustup component add $component"
            exit 1
        }
    done
}

has_fmt() { [ -n "$(version_of cargo fmt)" ]; }
has_clippy() { [ -n "$(version_of cargo clippy)" ]; }

# --- packages (Debian and its relatives) --------------------------------------------------------------------------

candidate() { # the version apt would install; empty for none
    local found
    found=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p')
    [ "$found" = "(none)" ] || printf '%s' "${found%%[+~-]*}"
}

# Prints the suffix of the packaged Rust that is recent enough: "" for rustc and cargo, "-web" for
# rustc-web and cargo-web (the more recent Rust that Debian keeps for its browsers; it installs
# /usr/bin/rustc and /usr/bin/cargo).
packaged_rust() {
    local suffix
    for suffix in "" -web; do
        if at_least "$(candidate "rustc$suffix")" "$MSRV" && at_least "$(candidate "cargo$suffix")" "$MSRV"; then
            printf '%s' "$suffix"
            return
        fi
    done
    return 1
}

rust_packages() { # what of Rust is missing, as package names
    local suffix
    suffix=$(packaged_rust) || return 1
    rust_ok || printf '%s\n' "rustc$suffix" "cargo$suffix"
    if [ "$what" = test ]; then
        has_fmt || printf '%s\n' "rustfmt$suffix"
        has_clippy || printf '%s\n' "rust$suffix-clippy"
    fi
}

rust_is_complete() {
    rust_ok && { [ "$what" != test ] || { has_fmt && has_clippy; }; }
}

tell_where_rust_is() {
    say "Rust $MSRV or newer is missing (found: $(version_of rustc || true)), and no package here is recent enough"
    say "install it with rustup (https://rustup.rs): rustup toolchain install $PINNED --profile minimal -c rustfmt -c clippy"
}

other_packages() {
    links_c || printf '%s\n' gcc libc6-dev
    has make || printf '%s\n' make
    compiles_bpf || printf '%s\n' clang
    if [ "$what" = test ] && ! has_browser; then
        printf '%s\n' chromium
    fi
    if { [ "$what" = test ] || [ "$what" = test-python ] || [ "$what" = test-spark ]; } && ! makes_environments; then
        printf '%s\n' python3 python3-venv
    fi
    if [ "$what" = test-spark ] && ! has_java; then printf '%s\n' openjdk-17-jre-headless; fi
    if [ "$what" = test ]; then # makes the load beside which tests about time run
        has stress-ng || printf '%s\n' stress-ng
    fi
    if [ "$what" = test ] || [ "$what" = test-guest ]; then # what q2c is compared with
        has fio || printf '%s\n' fio
        PATH=$PATH:/usr/sbin:/sbin has btt || printf '%s\n' blktrace
    fi
    if [ "$what" = test-guest ]; then guest_packages; fi
}

# Whether apt's lists know the Debian archive that this machine's packages come from. The guests'
# kernels are looked for there.
knows_archive() { [ "$what" != test-guest ] || LC_ALL=C apt-get indextargets --format '$(ORIGIN)' 2>/dev/null | grep -x Debian >/dev/null; }

guest_packages() { # an emulator, and what a guest's first file system is made with and of
    # The q2c of guests has the sched_ext scheduler, with copies of libbpf, libelf and zlib.
    compiles_scx || printf '%s\n' "$(scx_clang)"
    for tool in autoconf automake flex bison gawk; do has "$tool" || printf '%s\n' "$tool"; done
    has autopoint || printf '%s\n' autopoint gettext
    has pkg-config || printf '%s\n' pkgconf
    has qemu-system-x86_64 || printf '%s\n' qemu-system-x86
    has busybox || printf '%s\n' busybox-static
    has strip || printf '%s\n' binutils
    has xz || printf '%s\n' xz-utils
    # The module for guests is built by make and gcc; the kernel's objtool reads objects by libelf.
    has gcc || printf '%s\n' gcc
    PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep 'libelf[.]so[.]1 ' >/dev/null || printf '%s\n' libelf1
    PATH=$PATH:/usr/sbin:/sbin has mke2fs || printf '%s\n' e2fsprogs
    PATH=$PATH:/usr/sbin:/sbin has mkfs.xfs || printf '%s\n' xfsprogs
    PATH=$PATH:/usr/sbin:/sbin has mkfs.btrfs || printf '%s\n' btrfs-progs
    PATH=$PATH:/usr/sbin:/sbin has mkfs.f2fs || printf '%s\n' f2fs-tools
    if has apt-get && ! [ -r /usr/share/keyrings/debian-archive-keyring.gpg ]; then printf '%s\n' debian-archive-keyring; fi
}

links_c() { # a C compiler, a linker and the C library's headers
    local folder status=0
    folder=$(mktemp -d)
    printf '#include <stdio.h>\nint main(void) { return 0; }\n' | cc -x c -o "$folder/a" - 2>/dev/null || status=1
    rm -r "$folder"
    return "$status"
}

compiles_bpf() { # a clang that compiles for the kernel's BPF machine; its own headers are not needed
    printf 'int program(void) { return 0; }\n' |
        "${CLANG:-clang}" -x c -target bpf -mcpu=v2 -O2 -g -Werror -c -o /dev/null - 2>/dev/null
}

scx_clang() { # the package: Debian 12 has clang 14 under the plain name
    if grep -qx 'VERSION_ID="12"' /etc/os-release 2>/dev/null; then echo clang-19; else echo clang; fi
}

compiles_scx() { # a clang that keeps all bits of 64-bit enumerations
    local name version
    for name in ${SCX_CLANG:-clang-19 clang-18 clang-17 clang-16 clang}; do
        version=$("$name" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)[.].*/\1/p' | head -n 1)
        if [ "${version:-0}" -ge 16 ]; then return 0; fi
    done
    return 1
}

has_java() { # Spark 4 needs Java 17 or newer
    local version
    version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
    [ "${version:-0}" -ge 17 ]
}

makes_environments() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

has_browser() { has chromium || has chromium-browser || has google-chrome; }

apt_install() {
    say "installing: $*"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-remove --no-install-recommends "$@" </dev/null >&2
}

may_install() { [ "$(id -u)" = 0 ] && has apt-get; }

refresh_lists() {
    if may_install; then
        DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >&2 || say "apt-get update failed; going on with the known lists"
    fi
}

# Installs the packages named, or prints how to install them and fails.
need_packages() {
    if may_install && apt_install "$@"; then return; fi
    if has apt-get; then
        say "missing; run as root: apt-get update && apt-get install -y --no-install-recommends $*"
    else
        say "missing; install with this system's package manager (Debian's names): $*"
    fi
    return 1
}

need_all_packages() {
    local rust=() other=() required=() optional=()
    mapfile -t other < <(other_packages)
    if ! rust_is_complete || [ ${#other[@]} -gt 0 ] || ! knows_archive; then refresh_lists; fi
    if ! rust_is_complete; then
        local listed
        listed=$(rust_packages) || { tell_where_rust_is; exit 1; }
        mapfile -t rust <<<"$listed"
    fi
    for package in "${rust[@]}" "${other[@]}"; do
        if only_some_tests_need "$package"; then optional+=("$package"); else required+=("$package"); fi
    done
    if [ ${#required[@]} -gt 0 ]; then
        need_packages "${required[@]}" || failed=1
    fi
    if [ ${#optional[@]} -gt 0 ]; then
        need_packages "${optional[@]}" || skip_or_leave "${optional[@]}"
    fi
}

only_some_tests_need() { # a browser, a load, and programs that q2c is compared with; guests do need them
    case $1 in chromium | fio | blktrace | stress-ng | python3*) [ "$what" = test ] ;; *) false ;; esac
}

skip_or_leave() {
    if [ "${Q2C_ALLOW_SKIPS:-0}" = 1 ]; then
        say "without $*: the tests that need it will be skipped and counted"
    else
        say "(only some tests need $*; Q2C_ALLOW_SKIPS=1 goes on without, and counts the skips)"
        failed=1
    fi
}

# --- Python -------------------------------------------------------------------------------------------------------

# Sets Q2C_PYTHON to the Python of an environment with the modules of the list named. The folder is
# named after the hash of the list of modules, so another list gets another environment.
need_python() {
    local list=$root/scripts/$1 hash folder
    hash=$(sha256sum "$list" | cut -c 1-12)
    folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/q2c/python-$hash
    # This file is made last, so it shows that the environment is complete.
    if ! [ -e "$folder/complete" ] && ! make_python "$folder" "$list"; then
        rm -rf "$folder"
        say "failed to make a Python environment with scripts/$1: the tests that need it cannot run"
        case $what in test-python | test-spark) failed=1 ;; esac
        if [ "${CI:-}" = true ]; then failed=1; fi
        return
    fi
    export Q2C_PYTHON=$folder/bin/python
}

make_python() {
    say "making a Python environment in $1"
    rm -rf "$1" &&
        python3 -m venv "$1" </dev/null >&2 &&
        "$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2" </dev/null >&2 &&
        touch "$1/complete"
}

# --- all ----------------------------------------------------------------------------------------------------------

what=${1:-}
case $what in
    run | test | test-guest | test-python | test-spark) shift ;;
    *) say "usage: scripts/prerequisites.sh run|test|test-guest|test-python|test-spark [COMMAND...]"; exit 2 ;;
esac

if ! has cargo && [ -x "${CARGO_HOME:-${HOME:-}/.cargo}/bin/cargo" ]; then
    PATH="${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH"
    export PATH
fi
if has rustup; then
    choose_rustup_toolchain
    if [ "$what" = test ]; then need_rustup_components; fi
fi
failed=0
need_all_packages
if [ "$failed" = 0 ] && ! rust_is_complete; then
    tell_where_rust_is
    failed=1
fi
case $what in
    test) need_python python-requirements.txt ;;
    test-python) need_python python-package-requirements.txt ;;
    test-spark) need_python python-spark-requirements.txt ;;
esac
if [ "$failed" != 0 ]; then exit 1; fi

Q2C_RUST_IS_PINNED=0
if [ "$(version_of rustc)" = "$PINNED" ]; then Q2C_RUST_IS_PINNED=1; fi
export Q2C_RUST_IS_PINNED

# Clippy is the compiler with more to say. As the compiler of this workspace it checks and builds in
# one pass, so that nothing is compiled a second time only to be checked.
case $what in
    test | test-guest | test-python | test-spark)
        if [ "$Q2C_RUST_IS_PINNED" = 1 ] && [ -n "$(version_of clippy-driver)" ]; then
            export RUSTC_WORKSPACE_WRAPPER=clippy-driver
            export CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings
        fi
        ;;
esac
if [ $# -gt 0 ]; then exec "$@"; fi
