#!/usr/bin/env bash
# Builds the Python package and tests q2c.spark on a cluster of two workers on the loopback, which
# the tests start and end.
#
#   scripts/test_spark.sh [--slow]
#
# --slow also runs the tests that take long. scripts/prerequisites.sh calls this script and names in
# Q2C_PYTHON a Python with scripts/python-spark-requirements.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/wheel.sh
begin spark "spark and not slow" "spark" "$@"

step "program" cargo build --locked --workspace --bin q2c
step "wheel" install_wheel --no-deps
with_tools debug
types q2c/spark tests/spark
tests --basetemp "$work/tests" python/tests/spark
