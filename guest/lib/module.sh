# The module of kmod/ramdisk_mq, built on the host for a guest's kernel. Sourced.
#
# Kept: the headers of each kernel, in a folder named after the hash of their packages.

# Packages of a kernel's headers, and of the programs that build with them.
header_packages() { # IMAGE PACKAGE
    local headers=${1/image/headers}
    printf '%s\n' "$headers"
    package_field "$headers" Depends | tr , '\n' | awk '{ print $1 }' | grep -E '^linux-(headers|kbuild)-' || true
}

# The major version of the gcc that a kernel's headers want.
wanted_gcc() { # IMAGE PACKAGE
    package_field "${1/image/headers}" Depends | tr , '\n' | grep -o 'gcc-[0-9]*' | tr -dc '0-9\n' | head -n 1
}

# Prints the folder with a kernel's headers, fetched if it is not kept yet. On failure prints why.
have_headers() { # IMAGE PACKAGE
    local packages package folder work build
    mapfile -t packages < <(header_packages "$1")
    folder=$cache/headers-$( { for package in "${packages[@]}"; do package_field "$package" SHA256; done
        cat guest/lib/module.sh; } | short_hash)
    if [ ! -d "$folder" ]; then
        say "fetching ${packages[*]}"
        work=$(mktemp -d "$cache/making.XXXXXX")
        unpack_packages "$work" "${packages[@]}" || { rm -rf "$work"; echo "the headers of $1 cannot be fetched"; return 1; }
        # The packages name each other by absolute paths; here they are in a folder.
        build=usr/src/${1/image/headers}
        sed -i "s|/usr/src/|$folder/root/usr/src/|" "$work/root/$build/Makefile"
        ln -s "root/$build" "$work/build"
        mv "$work" "$folder"
    fi
    touch "$folder"
    echo "$folder/build"
}

# Builds the module in a folder with its sources. Where this machine's gcc is older than the one that
# the headers want, that one is fetched. Prints the compiler's messages. Returns 2, and prints why,
# when headers or compiler cannot be had.
build_module() { # SOURCES, IMAGE PACKAGE, SUITE
    local sources=$1 wanted build toolchain
    build=$(alone have_headers "$2") || { echo "$build"; return 2; }
    wanted=$(wanted_gcc "$2")
    if [ "${wanted:-0}" -le "$(gcc -dumpversion | cut -d . -f 1)" ]; then
        make -s -C "$sources" KDIR="$build" CC=gcc 2>&1 </dev/null || return 1
        return
    fi
    toolchain=$(alone have_toolchain "$(release_of "$3")" "$wanted") || { echo "$toolchain"; return 2; }
    in_toolchain "$toolchain" 2 "$sources" "${build%/build}" \
        make -s -C "$sources" KDIR="$build" CC="gcc-$wanted" 2>&1 </dev/null || return 1
}

# Writes a layer with the programs that test the module, and with the module, or with the reason why there is none: the file /q2c/no-module.
# Fails where the module does not build and should, and where the compiler warns.
module_layer() { # TO, IMAGE PACKAGE, SUITE
    local to=$1 root status=0
    root=$(mktemp -d)
    mkdir -p "$root/q2c" "$root/source"
    gcc -O2 -Wall -Wextra -Werror -static -pthread -o "$root/q2c/torn" kmod/ramdisk_mq/tests/torn.c || return 1
    cp -r kmod/ramdisk_mq/. "$root/source"
    build_module "$root/source" "$2" "$3" >"$root/log" || status=$?
    if [ $status = 2 ]; then
        echo "the module is not built for this kernel: $(tail -n 1 "$root/log")" >"$root/q2c/no-module"
    elif [ $status != 0 ] || grep -q '[.][ch]:.*warning' "$root/log"; then
        cat "$root/log" >&2
        rm -r "$root"
        return 1
    else
        cp "$root/source/ramdisk_mq.ko" "$root/q2c/"
        strip --strip-debug "$root/q2c/ramdisk_mq.ko"
        # DKMS cleans before and after each build.
        if [ "$(wanted_gcc "$2")" = "$(gcc -dumpversion | cut -d . -f 1)" ]; then
            make -s -C "$root/source" KDIR="$(alone have_headers "$2")" clean >&2 || return 1
        fi
    fi
    rm -rf "$root/source" "$root/log"
    pack_layer "$root" >"$to"
    rm -r "$root"
}
