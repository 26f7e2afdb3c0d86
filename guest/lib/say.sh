# Words to the terminal, the cache's place and its lock. Sourced.

say() { printf '%s\n' "guest: $*" >&2; }

# Where kernels, images and package lists are kept, outside the repository.
readonly cache=${Q2C_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/q2c/guest}

# The hash of standard input, short enough for a folder's name.
short_hash() { sha256sum | cut -c 1-24; }

# Lines of a table file without comments and empty ones.
table() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"; }

# Runs a function of ours alone in the cache: others wait.
alone() {
    mkdir -p "$cache"
    (flock 9 && "$@") 9>"$cache/lock"
}

# What was not used for two months goes.
prune_cache() { find "$cache" -mindepth 1 -maxdepth 1 \( -name 'kernel-*' -o -name 'tools-*' -o -name 'making.*' \) -mtime +60 -exec rm -rf {} +; }
