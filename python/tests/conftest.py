"""What the tests share: the program that results are compared with, and the sample traces of the repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = sorted((ROOT / "crates/q2c-trace/patterns").glob("*.parquet"))
FOREIGN = ROOT / "crates/q2c-trace/tests/trace/data/public"
KEPT = sorted((ROOT / "crates/q2c/tests/kept").glob("*.json"))
PROGRAM = os.environ.get("Q2C_PROGRAM", str(ROOT / "target/debug/q2c"))

# A trace of the block layer with four threads, and one of the user layer.
BLOCK = ROOT / "crates/q2c-trace/patterns/disk-mixed-4-threads.parquet"
USER = ROOT / "crates/q2c-trace/patterns/disk-read-64k-heavy.parquet"

Program = Callable[..., str]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the program."""
    command = [PROGRAM, *map(str, words)]
    # The width of tables that are not for a terminal.
    environment = {**os.environ, "COLUMNS": "120"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def printed() -> Program:
    """Runs the program and gives what it prints."""

    def of(*words: object) -> str:
        done = run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return of


@pytest.fixture
def refused() -> Callable[..., tuple[int, str]]:
    """Runs the program, which must fail, and gives its exit code and the text behind its name."""

    def of(*words: object) -> tuple[int, str]:
        done = run(*words)
        assert done.returncode != 0, done.stdout
        return done.returncode, done.stderr.strip().removeprefix("q2c: ")

    return of
