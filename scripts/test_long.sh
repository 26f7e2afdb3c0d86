#!/bin/sh
# The property tests that are worth more cases than CI has time for.
set -eu
cd "$(dirname "$0")/.."
PROPTEST_CASES=${PROPTEST_CASES:-10000} cargo test --locked -p q2c-trace --test trace through_blkparse -- --nocapture
