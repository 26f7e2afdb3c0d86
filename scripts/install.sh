#!/usr/bin/env bash
# Builds q2c and installs the program, its man pages and the completions of bash, zsh and fish.
#
#   scripts/install.sh [--build-only]
#
# PREFIX (default /usr/local) is where it goes, DESTDIR is put before it. PROFILE (default release)
# is cargo's, such as the `dist` of packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}$prefix
profile=${PROFILE:-release}
built=${CARGO_TARGET_DIR:-target}/$profile/q2c

cargo build --profile "$profile" --locked --package q2c </dev/null
if [ "${1:-}" = --build-only ]; then exit; fi

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$built" man "$pages"

install -D -m 755 "$built" "$root/bin/q2c"
strip "$root/bin/q2c"
install -d "$root/share/man/man1"
for page in "$pages"/*.1; do gzip -9 -n -c "$page" >"$root/share/man/man1/$(basename "$page").gz"; done
completions() { # SHELL, FILE
    install -d "$root/$(dirname "$2")"
    "$built" completions "$1" >"$root/$2"
}
completions bash share/bash-completion/completions/q2c
completions zsh share/zsh/site-functions/_q2c
completions fish share/fish/vendor_completions.d/q2c.fish
for licence in LICENSE-APACHE LICENSE-MIT; do install -D -m 644 "$licence" "$root/share/doc/q2c/$licence"; done
install -m 644 crates/q2c-report/assets/plotly/LICENSE "$root/share/doc/q2c/LICENSE-plotly"
printf 'installed %s/bin/q2c (%s), %s man pages and completions\n' "$root" \
    "$(du -h "$root/bin/q2c" | cut -f 1)" "$(find "$root/share/man/man1" -name 'q2c*.gz' | wc -l)"
