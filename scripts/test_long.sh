#!/bin/sh
# The property tests and the seeds of faults that are worth more cases than CI has time for.
set -eu
cd "$(dirname "$0")/.."
PROPTEST_CASES=${PROPTEST_CASES:-10000} cargo test --locked -p q2c-trace --test trace through_blkparse -- --nocapture
export Q2C_FAULT_SEEDS="${Q2C_FAULT_SEEDS:-0..100000}"
cargo test --locked -p q2c-engine -p q2c-replay --lib fault_seeds
cargo test --locked -p q2c-engine --test truth live_seeds
cargo test --locked -p q2c-run --test runner fault_seeds
