# Compilers of a later Debian release, for kernels whose headers want them. Sourced.
#
# A toolchain is a folder with the programs of that release and its C library. They run in it by
# chroot in a namespace of their own, so neither root nor an installation is needed. Kept, in a
# folder named after the hash of its packages.

# What a build of a module runs, besides gcc. (pahole writes type information.)
readonly toolchain_programs="make bash coreutils sed grep gawk findutils libelf1t64 dwarves"

# apt on a system that has nothing yet: all that a package needs is resolved in the release.
empty_apt() { # RELEASE, COMMAND...
    local release=$1
    shift
    private_apt apt-get -o Dir::State::status=/dev/null -o APT::Default-Release="$release" \
        --no-install-recommends -y -qq "$@" </dev/null
}

# Prints the folder of a toolchain, fetched if it is not kept yet. On failure prints why.
have_toolchain() { # RELEASE, VERSION OF GCC
    local names folder work
    read -ra names <<<"gcc-$2 $toolchain_programs"
    folder=$cache/toolchain-$( { empty_apt "$1" install --print-uris "${names[@]}" | sort
        cat guest/lib/toolchain.sh; } | short_hash)
    if [ ! -d "$folder" ]; then
        say "fetching gcc-$2 of $1 and what it needs"
        work=$(mktemp -d "$cache/making.XXXXXX")
        if ! unpack_toolchain "$work" "$1" "${names[@]}" >&2; then
            rm -rf "$work"
            echo "gcc $2 cannot be had of $1"
            return 1
        fi
        mv "$work" "$folder"
    fi
    touch "$folder"
    echo "$folder"
}

unpack_toolchain() { # FOLDER, RELEASE, PACKAGES...
    local folder=$1 release=$2 name deb
    shift 2
    mkdir -p "$folder"/debs/partial "$folder"/{dev,proc,tmp,usr/{bin,sbin,lib,lib64}}
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$folder/$name"; done
    empty_apt "$release" install --download-only -o Dir::Cache::archives="$folder/debs" "$@" || return 1
    for deb in "$folder"/debs/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner || return 1
    done
    rm -r "$folder/debs"
    ln -s bash "$folder/usr/bin/sh"
    ln -s gawk "$folder/usr/bin/awk"
}

# Runs a command in a toolchain. The folders given are seen there under the same names.
in_toolchain() { # TOOLCHAIN, NUMBER OF FOLDERS, FOLDERS..., COMMAND...
    unshare --map-root-user --mount bash -c '
        set -e
        root=$1 count=$2
        shift 2
        for folder in "${@:1:count}"; do
            mkdir -p "$root$folder"
            mount --bind "$folder" "$root$folder"
        done
        shift "$count"
        for folder in /dev /proc; do mount --rbind "$folder" "$root$folder"; done
        exec chroot "$root" "$@"' bash "$@"
}
