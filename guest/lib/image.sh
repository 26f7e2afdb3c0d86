# The guest's first file system, in layers that the kernel unpacks one over the other. Sourced.

# An archive as the kernel reads it (cpio, newc) of a folder.
pack_layer() { (cd "$1" && find . | LC_ALL=C sort | busybox cpio -o -H newc -R 0:0 2>/dev/null); }

# The files that a program needs to run: itself, its loader, its libraries.
program_files() {
    printf '%s\n' "$1"
    ldd "$1" 2>/dev/null | sed -n -e 's/.* => \(\/[^ ]*\) .*/\1/p' -e 's/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'
}

# Copies programs with their libraries to the places where they are on this machine.
copy_programs() { # ROOT, PROGRAM...
    local root=$1 program file
    shift
    for program in "$@"; do
        program_files "$program" | while read -r file; do
            mkdir -p "$root$(dirname "$file")"
            cp -L "$file" "$root$file"
        done
    done
}

readonly file_system_programs=(mke2fs mkfs.xfs mkfs.btrfs mkfs.f2fs)

# The layer of the programs that are not ours; kept by the hash of their files. Prints its path.
tools_layer() {
    local busybox program programs=() layer work
    busybox=$(PATH=$PATH:/usr/sbin:/sbin command -v busybox)
    for program in busybox fio blktrace blkparse btt "${file_system_programs[@]}" blkdiscard; do
        programs+=("$(PATH=$PATH:/usr/sbin:/sbin command -v "$program")")
    done
    layer=$cache/tools-$( { for program in "${programs[@]}"; do program_files "$program"; done | xargs sha256sum
        cat guest/lib/image.sh; } | short_hash).cpio
    if [ ! -e "$layer" ]; then
        work=$(mktemp -d "$cache/making.XXXXXX")
        copy_programs "$work" "${programs[@]}"
        mkdir -p "$work/bin"
        [ -e "$work/bin/busybox" ] || cp "$busybox" "$work/bin/busybox"
        pack_layer "$work" >"$layer.new"
        mv "$layer.new" "$layer"
        rm -r "$work"
    fi
    touch "$layer"
    echo "$layer"
}

# Builds the program of the guests, which has the scheduler in the kernel, and prints its path. It is
# built as `make test` builds it, so that only what the scheduler changes is compiled, and put where
# no other build replaces it.
guest_program() {
    local target
    target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")
    CARGO_BUILD_BUILD_DIR=$target CARGO_TARGET_DIR=$target/guest \
        cargo build --locked --workspace --bin q2c --features q2c/scx </dev/null >&2 || return
    echo "$target/guest/debug/q2c"
}

# The layer of q2c, the engines' contract tests (if any are given), the guest's init and the tests; and programs that a developer
# asks for in GUEST_PROGRAMS, paths separated by spaces.
own_layer() { # TO, NAME=PROGRAM...
    local root program to=$1
    shift
    root=$(mktemp -d)
    mkdir -p "$root/q2c"
    # shellcheck disable=SC2086
    copy_programs "$root" "${@#*=}" ${GUEST_PROGRAMS:-}
    for program in "$@"; do mv "$root${program#*=}" "$root/q2c/${program%%=*}"; done
    strip "$root"/q2c/*
    cp guest/init "$root/init"
    cp guest/lib/check.sh "$root/q2c/"
    cp -r guest/tests "$root/q2c/"
    chmod 755 "$root/init"
    pack_layer "$root" >"$to"
    rm -r "$root"
}
