#!/usr/bin/env bash
# Builds the Python package, installs it in a clean environment, and compares it with the program.
#
#   scripts/test_python.sh [--slow]
#
# --slow also runs the tests that take much memory. Wheel and program are built without optimisation.
# scripts/prerequisites.sh calls this script and names in Q2C_PYTHON a Python with
# scripts/python-package-requirements.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/wheel.sh
begin python "not slow" "slow or not slow" "$@"

# The environment has the wheel and nothing else, so what the package itself needs would be missing.
alone() {
    "$python" -I -c '
import sys, q2c
analysis = q2c.analyze(q2c.read(sys.argv[1]))
print(analysis)
assert analysis.to_dict()["requests"] == len(q2c.read(sys.argv[1]))
' crates/q2c-trace/patterns/disk-read-64k-heavy.parquet
}

# With the features of the whole workspace, so that what `make test` has built is not built again.
step "program" cargo build --locked --workspace --bin q2c
step "wheel" install_wheel
step "installed alone" alone
with_tools debug
types --exclude '/spark/' q2c tests
step "stubs" env -C "$work" "$python" -m mypy.stubtest q2c._native --mypy-config-file "$PWD/python/pyproject.toml"
tests --ignore python/tests/spark python/tests
