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

case ${1:-} in
    "") marks="not slow" ;;
    --slow) marks="slow or not slow" ;;
    *) echo "usage: scripts/test_python.sh [--slow]" >&2; exit 2 ;;
esac
: "${Q2C_PYTHON:?no Python environment; scripts/prerequisites.sh test-python says why}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly work marks

step() { printf '\n== %s\n' "$1"; shift; "$@" </dev/null; }

# The environment has the wheel and nothing else, so what the package itself needs would be missing.
alone() {
    "$Q2C_PYTHON" -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$work"/wheels/q2c-*.whl
    "$work/venv/bin/python" -I -c '
import sys, q2c
analysis = q2c.analyze(q2c.read(sys.argv[1]))
print(analysis)
assert analysis.to_dict()["requests"] == len(q2c.read(sys.argv[1]))
' crates/q2c-study/patterns/disk-read-64k-heavy.parquet
}

# Tests need more, which the environment then finds where it is.
with_tools() {
    local site='import sysconfig; print(sysconfig.get_path("purelib"))'
    "$Q2C_PYTHON" -c "$site" >"$("$work/venv/bin/python" -c "$site")/tools.pth"
}

# With the features of the whole workspace, so that what `make test` has built is not built again.
step "program" cargo build --locked --workspace --bin q2c
step "wheel" env -C python "$Q2C_PYTHON" -m maturin build --quiet --profile dev --out "$work/wheels"
ls "$work/wheels"
step "installed alone" alone
with_tools
python=$work/venv/bin/python
export MYPY_CACHE_DIR=$work/mypy PYTHONDONTWRITEBYTECODE=1 Q2C_PROGRAM=$PWD/${CARGO_TARGET_DIR:-target}/debug/q2c
case ${CARGO_TARGET_DIR:-} in /*) Q2C_PROGRAM=$CARGO_TARGET_DIR/debug/q2c ;; esac
step "types" env -C python "$python" -m mypy --config-file pyproject.toml --exclude '/spark/' q2c tests
step "stubs" env -C "$work" "$python" -m mypy.stubtest q2c._native --mypy-config-file "$PWD/python/pyproject.toml"
step "tests" "$python" -m pytest -p no:cacheprovider -c python/pyproject.toml --rootdir python -q -m "$marks" \
    --ignore python/tests/spark python/tests
