# Kernels: choosing a package by query and probe, and keeping what a guest needs of it. Sourced.
#
# Kept per kernel, in a folder named after the hash of what it is made from: vmlinuz, config, modules.cpio, version (package and version).

readonly candidates_tried=3 # packages tried for one kernel, newest first

# The first suite of a row of guest/kernels.
suite_of() { table guest/kernels | awk -v name="$1" '$1 == name { sub(/,.*/, "", $2); print $2 }'; } # NAME

# The packages that a row of guest/kernels may boot.
kernel_candidates() { # NAME
    local pattern oldest package count=0
    read -r pattern oldest < <(table guest/kernels | awk -v name="$1" '$1 == name { print $3, $4 }')
    while [ $count -lt $candidates_tried ] && read -r package; do
        if [ "$(printf '%s\n%s\n' "$oldest" "${package#linux-image-}" | sort -V | head -n 1)" = "$oldest" ]; then
            echo "$package"
            count=$((count + 1))
        fi
    done < <(packages_named "$pattern")
}

# The package, and those of its own build that it depends on: newer kernels are split (binary, modules, base).
kernel_packages() {
    local package=$1
    printf '%s\n' "$package"
    package_field "$package" Depends | tr ',|' '\n\n' | awk '{ print $1 }' | grep -F -- "${package#linux-image-}" || true
}

# What the kept files of a kernel depend on.
kernel_hash() { # PACKAGES...
    local package
    {
        for package in "$@"; do package_field "$package" SHA256; done
        table guest/modules
        cat guest/lib/kernel.sh
    } | short_hash
}

# Prints the folder of a kernel, made if it is not kept yet. On failure prints why.
have_kernel() { # PACKAGE
    local packages folder work
    mapfile -t packages < <(kernel_packages "$1")
    folder=$cache/kernel-$(kernel_hash "${packages[@]}")
    if [ ! -d "$folder" ]; then
        say "fetching ${packages[*]}"
        work=$(mktemp -d "$cache/making.XXXXXX")
        unpack_packages "$work" "${packages[@]}" || { rm -rf "$work"; echo "$1 cannot be fetched"; return 1; }
        keep_kernel "$work" || { rm -rf "$work"; return 1; }
        echo "$1 $(package_field "$1" Version)" >"$work/version"
        rm -rf "$work/root"
        mv "$work" "$folder"
    fi
    touch "$folder"
    probe_kernel "$folder/config" || return 1
    echo "$folder"
}

# From an unpacked kernel: image, configuration and modules.
keep_kernel() { # WORK, with root/ inside
    local work=$1 modules version
    modules=$(find "$work/root" -type d -path '*/lib/modules/*' -name '[0-9]*' -prune | head -n 1)
    version=${modules##*/}
    cp "$(find "$work/root" -type f \( -path "*/boot/vmlinuz-$version" -o -path "*/$version/vmlinuz" \))" "$work/vmlinuz" &&
        cp "$(find "$work/root" -type f \( -path "*/boot/config-$version" -o -path "*/$version/config" \))" "$work/config" ||
        { echo "its packages hold no vmlinuz or no config"; return 1; }
    keep_modules "$modules" "$work/layer/lib/modules/$version" || return 1
    pack_layer "$work/layer" >"$work/modules.cpio"
    rm -r "$work/layer"
}

# Options that the probes ask for and the kernel lacks end it.
probe_kernel() { # CONFIG
    local option missing=()
    while read -r option; do
        grep -q "^CONFIG_$option=[ym]" "$1" || missing+=("CONFIG_$option")
    done < <(table guest/probes)
    if [ ${#missing[@]} -gt 0 ]; then
        echo "it lacks ${missing[*]}"
        return 1
    fi
}

# Copies the modules of guest/modules and what they need, unpacked, and writes modules.dep.
keep_modules() { # FROM, TO
    local from=$1 to=$2 name
    mkdir -p "$to"
    cp "$from"/modules.{order,builtin} "$to"/
    find "$from" -name '*.ko*' >"$to/all"
    while read -r name; do
        if ! keep_module "$to" "${name#\?}" && [ "${name#\?}" = "$name" ]; then
            echo "it has no module $name"
            return 1
        fi
    done < <(table guest/modules)
    rm "$to/all"
    busybox depmod -b "${to%/lib/modules/*}" "${to##*/}"
}

# One module and, first, those that it needs (the list in its .modinfo section).
keep_module() { # TO, NAME
    local to=$1 file path needed pattern
    pattern=$(sed 's/[-_]/[-_]/g' <<<"$2")
    if grep -q "/$pattern\.ko" "$to/modules.builtin" || compgen -G "$to/kernel/$pattern.ko" >/dev/null; then return; fi
    path=$(grep "/$pattern\.ko" "$to/all" | head -n 1)
    [ -n "$path" ] || return 1
    mkdir -p "$to/kernel"
    file=$to/kernel/$(basename "$path" | sed 's/\.ko.*//').ko
    case $path in
        *.ko) cp "$path" "$file" ;;
        *.xz) xz -dc "$path" >"$file" ;;
        *) return 1 ;;
    esac
    for needed in $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr ',' ' '); do
        keep_module "$to" "$needed" || return 1
    done
}
