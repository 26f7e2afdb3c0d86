#!/usr/bin/env bash
# Builds q2c and tunes hybrid polling on a scratch file. q2c prints the place of its report.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --locked --package q2c </dev/null
exec "${CARGO_TARGET_DIR:-target}/release/q2c" tune --scratch 1g --bs 4k,64k </dev/null
