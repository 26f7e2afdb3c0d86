# Messages to the terminal, the place of the cache, and its lock. Sourced.

say() { printf '%s\n' "guest: $*" >&2; }

# The cache of kernels, images and package lists. It is outside the repository.
readonly cache=${Q2C_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/q2c/guest}

# The hash of standard input, short enough for a folder's name.
short_hash() { sha256sum | cut -c 1-24; }

# Prints the lines of a table file without comments and empty lines.
table() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"; }

# Runs a function under the lock of the cache; others wait.
alone() {
    mkdir -p "$cache"
    (flock 9 && "$@") 9>"$cache/lock"
}

# Removes everything in the cache that was not used for two months.
prune_cache() { find "$cache" -mindepth 1 -maxdepth 1 \( -name 'kernel-*' -o -name 'headers-*' -o -name 'toolchain-*' -o -name 'checkpatch-*' -o -name 'tools-*' -o -name 'making.*' \) -mtime +60 -exec rm -rf {} +; }
