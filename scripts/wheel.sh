# What the scripts that test the Python package share: their option, the wheel, and an environment
# with it. Sourced from the project's root.

step() { printf '\n== %s\n' "$1"; shift; "$@" </dev/null; }

# Chooses the tests by their marks, and makes a folder that goes away at the end.
begin() { # python|spark, MARKS, MARKS WITH --slow, [--slow]
    case ${4:-} in
        "") marks=$2 ;;
        --slow) marks=$3 ;;
        *) echo "usage: scripts/test_$1.sh [--slow]" >&2; exit 2 ;;
    esac
    : "${Q2C_PYTHON:?no Python environment; scripts/prerequisites.sh test-$1 says why}"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    readonly work marks
}

# Builds the wheel, and installs it in an environment that has nothing else.
install_wheel() { # WHAT PIP IS TOLD BESIDES...
    env -C python "$Q2C_PYTHON" -m maturin build --quiet --profile dev --out "$work/wheels"
    ls "$work/wheels"
    "$Q2C_PYTHON" -m venv "$work/venv"
    python=$work/venv/bin/python
    "$python" -m pip install --quiet --disable-pip-version-check --no-index "$@" "$work"/wheels/q2c_lab-*.whl
}

# Lets the environment find the tools of the tests where they are, and says where the program is.
with_tools() { # FOLDER OF THE PROGRAM IN target
    local site='import sysconfig; print(sysconfig.get_path("purelib"))' target=${CARGO_TARGET_DIR:-target}
    "$Q2C_PYTHON" -c "$site" >"$("$python" -c "$site")/tools.pth"
    case $target in /*) ;; *) target=$PWD/$target ;; esac
    export MYPY_CACHE_DIR=$work/mypy PYTHONDONTWRITEBYTECODE=1 Q2C_PROGRAM=$target/$1/q2c
}

types() { step "types" env -C python "$python" -m mypy --config-file pyproject.toml "$@"; }

tests() {
    step "tests" "$python" -m pytest -p no:cacheprovider -c python/pyproject.toml --rootdir python -q -m "$marks" "$@"
}
