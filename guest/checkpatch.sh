#!/usr/bin/env bash
# Checks the style of the C code of kmod/ by the kernel's own scripts/checkpatch.pl, which is taken
# from Debian's package of the kernel's sources (150 MB, kept). Ends with 1 when it finds anything.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. guest/lib/host.sh

# Prints the folder of checkpatch.pl, fetched if it is not kept yet.
have_checkpatch() { # PACKAGE
    local folder work
    folder=$cache/checkpatch-$(package_field "$1" SHA256 | short_hash)
    if [ ! -d "$folder" ]; then
        say "fetching $1"
        work=$(mktemp -d "$cache/making.XXXXXX")
        (cd "$work" && private_apt apt-get download -qq "$1" </dev/null >&2 &&
            dpkg-deb --fsys-tarfile ./*.deb | tar -xO "./usr/src/$1.tar.xz" | xz -dc |
            tar -x --strip-components 2 --wildcards '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
                '*/scripts/const_structs.checkpatch' && rm ./*.deb) || { rm -rf "$work"; return 1; }
        mv "$work" "$folder"
    fi
    touch "$folder"
    echo "$folder"
}

reason=$(alone open_archive) || { say "$reason"; exit 1; }
package=$(packages_named 'linux-source-6[.]12')
folder=$(alone have_checkpatch "$package") || { say "$package cannot be fetched"; exit 1; }
mapfile -t files < <(find kmod -name '*.[ch]' ! -name '*.mod.c' | sort)
perl "$folder/checkpatch.pl" --no-tree --strict --terse --show-types -f "${files[@]}"
say "checkpatch: ${#files[@]} files, nothing found"
