"""The examples of docs/python.md run, and their types are right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import q2c
from conftest import BLOCK, ROOT, USER

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.S)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    shutil.copy(BLOCK, tmp_path / "trace.parquet")
    shutil.copy(USER, tmp_path / "polled.parquet")
    (tmp_path / "example.py").write_text(example)
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    config = ROOT / "python/pyproject.toml"
    check = [sys.executable, "-m", "mypy", "--config-file", str(config), "example.py"]
    typed = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert typed.returncode == 0, typed.stdout


def test_everything_public_is_documented() -> None:
    for name in q2c.__all__:
        thing = getattr(q2c, name)
        assert isinstance(thing, str) or thing.__doc__, name
        for member in vars(thing) if isinstance(thing, type) else []:
            if not member.startswith("_") and callable(getattr(thing, member)):
                assert getattr(thing, member).__doc__, f"{name}.{member}"
