#!/usr/bin/env bash
# Runs every check that needs no guest, and prints a summary. All steps run; the exit status is 1
# when one of them failed. scripts/prerequisites.sh calls this script and finds the toolchain for
# it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly work
export Q2C_SKIP_LOG=$work/skips
: >"$Q2C_SKIP_LOG"
: >"$work/output"
failed=()

# Runs one step. Its output is shown, and kept for the summary, with the time that it took.
step() {
    local name=$1 begun=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    if ! "$@" </dev/null 2>&1 | tee -a "$work/output"; then failed+=("$name"); fi
    printf '%5d s  %s\n' $((SECONDS - begun)) "$name" >>"$work/times"
}

skip() { printf 'skipped: %s: %s\n' "$1" "$2" >>"$Q2C_SKIP_LOG"; }

# Runs rustfmt or clippy. Another version than the pinned one may have other demands: then its
# output is shown and does not count.
lint() {
    local name=$1
    if [ "${Q2C_RUST_IS_PINNED:-0}" = 1 ]; then
        step "$@"
        return
    fi
    skip "$name" "$(rustc --version) is not the pinned toolchain; what it says is shown and does not count"
    shift
    printf '\n== %s (does not count)\n' "$name"
    "$@" </dev/null 2>&1 || true
}

# Tests about real time must hold on a busy machine. This runs them where they cannot have a quiet
# CPU. Simulated time does not depend on the machine, so its tests run once.
beside_a_load() {
    local crate package program load status=0
    # The programs are those of the steps before: cargo would build them, and what they depend on,
    # with other features if it were asked for some packages alone.
    cargo test --workspace --locked --no-run --lib --test '*' --message-format=json \
        >"$work/built" || return 1
    for crate in engine replay; do
        sed -n "s|.*\"package_id\":\"path+file://\([^\"]*/q2c-$crate\)#.*\"executable\":\"\([^\"]*\)\".*|\1 \2|p" \
            "$work/built"
    done >"$work/programs"
    [ -s "$work/programs" ] || { printf 'no test programs were found\n'; return 1; }
    stress-ng --cpu 4 --io 1 --temp-path "$work" --timeout 20m --quiet &
    load=$!
    while read -r package program; do
        printf '\n     Running %s\n' "$program"
        (cd "$package" && Q2C_SKIP_LOG=$work/skips-beside-a-load CARGO_MANIFEST_DIR=$package "$program" \
            </dev/null) || status=1
    done <"$work/programs"
    kill "$load" 2>/dev/null || { printf 'the load ended before the tests did\n'; status=1; }
    wait "$load" || true
    return "$status"
}

# Runs the faults of the program and all experiments, which wait more than they compute, and the
# simulated machines in the time that they wait. The globs of this and of the step before it are a
# partition, so that no test program is left out.
waiting_beside_machines() {
    local machines status=0
    cargo test --workspace --locked --no-fail-fast --test 'm*' >"$work/machines" 2>&1 &
    machines=$!
    cargo test --workspace --locked --no-fail-fast --test 'fa*' -- --test-threads $((2 * $(nproc))) || status=1
    cargo test --workspace --locked --no-fail-fast --test 'e*' || status=1
    wait "$machines" || status=1
    cat "$work/machines"
    return "$status"
}

lint "format" cargo fmt --all --check
if [ -z "${RUSTC_WORKSPACE_WRAPPER:-}" ]; then lint "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings; fi
step "build, by clippy where it is pinned" cargo test --workspace --all-targets --locked --no-run
step "crate rules" cargo xtask deps
step "sizes" cargo xtask sizes
step "unit tests" cargo test --workspace --locked --no-fail-fast --lib --bins
step "integration tests" cargo test --workspace --locked --no-fail-fast --test '[!efm]*' --test 'f[!a]*' -- --test-threads $((2 * $(nproc)))
step "faults and experiments, with simulated machines beside them" waiting_beside_machines
if command -v stress-ng >/dev/null; then
    step "tests about time beside a load" beside_a_load
else
    skip "tests about time beside a load" "no stress-ng, which makes the load"
fi
if [ -n "${Q2C_PYTHON:-}" ]; then
    step "SQL" "$Q2C_PYTHON" scripts/test_sql.py "${CARGO_TARGET_DIR:-target}/debug/q2c"
else
    skip "SQL" "no Python environment with duckdb; scripts/prerequisites.sh test says why"
fi
step "documentation tests" cargo test --workspace --locked --no-fail-fast --doc

# What cannot run here at all was counted in the quiet run.
touch "$work/skips-beside-a-load"
grep -vxFf "$Q2C_SKIP_LOG" "$work/skips-beside-a-load" >"$work/skips-by-load" || true
sed 's/^skipped: /skipped: beside a load: /' "$work/skips-by-load" >>"$Q2C_SKIP_LOG"

# Tests that cargo itself left out are counted as skips.
sed -n 's/^test \(.*\) \.\.\. ignored,* *\(.*\)$/skipped: \1: \2/p' "$work/output" |
    sed 's/: $/: ignored without a reason/' >>"$Q2C_SKIP_LOG"

printf '\n== summary\n'
sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; .*/\1 \2/p' "$work/output" |
    awk '{ passed += $1; failed += $2 } END { printf "%d tests passed, %d failed\n", passed, failed }'
cat "$work/times"
printf '%d skipped\n' "$(wc -l <"$Q2C_SKIP_LOG")"
sort "$Q2C_SKIP_LOG"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}"
    exit 1
fi
printf 'all steps passed\n'
