#!/usr/bin/env bash
# Builds the Python package and tests q2c.spark on a cluster of two workers on the loopback, which
# the tests start and end.
#
#   scripts/test_spark.sh [--slow]
#
# --slow also runs the tests that take long. Program and wheel are built with optimisation, because
# millions of requests go through them. scripts/prerequisites.sh calls this script and names in
# Q2C_PYTHON a Python with scripts/python-spark-requirements.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
    "") marks="spark and not slow" ;;
    --slow) marks="spark" ;;
    *) echo "usage: scripts/test_spark.sh [--slow]" >&2; exit 2 ;;
esac
: "${Q2C_PYTHON:?no Python environment; scripts/prerequisites.sh test-spark says why}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly work marks

step() { printf '\n== %s\n' "$1"; shift; "$@" </dev/null; }

# The environment of the tests has the wheel, and finds Spark and the other tools where they are.
installed() {
    "$Q2C_PYTHON" -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
        "$work"/wheels/q2c-*.whl
    local site='import sysconfig; print(sysconfig.get_path("purelib"))'
    "$Q2C_PYTHON" -c "$site" >"$("$work/venv/bin/python" -c "$site")/tools.pth"
}

step "program" cargo build --locked --release --package q2c
step "wheel" env -C python "$Q2C_PYTHON" -m maturin build --quiet --release --out "$work/wheels"
step "installed" installed
python=$work/venv/bin/python
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
export MYPY_CACHE_DIR=$work/mypy PYTHONDONTWRITEBYTECODE=1 Q2C_PROGRAM=$target/release/q2c
step "types" env -C python "$python" -m mypy --config-file pyproject.toml q2c/spark tests/spark
step "tests" "$python" -m pytest -p no:cacheprovider -c python/pyproject.toml --rootdir python -q \
    -m "$marks" --basetemp "$work/tests" python/tests/spark
