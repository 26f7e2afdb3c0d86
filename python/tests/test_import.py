"""Importing recordings of other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import q2c
from conftest import FOREIGN, Program

# The samples that the program recognises or is told the format of, with its options and Python's.
SAMPLES: list[tuple[str, list[str], dict[str, Any]]] = [
    ("blkparse.txt", [], {}),
    ("msr.csv", ["--format", "msr"], {"format": "msr"}),
    ("alibaba.csv", ["--format", "alibaba"], {"format": "alibaba"}),
    ("tencent.csv", ["--format", "tencent"], {"format": "tencent"}),
    ("disksim.txt", ["--format", "disksim", "--unit", "ns"], {"format": "disksim", "unit": "ns"}),
    ("nexus5.txt", ["--format", "nexus5", "--offset-unit", "512"], {"format": "nexus5", "offset_unit": 512}),
]


@pytest.mark.parametrize(("name", "words", "options"), SAMPLES, ids=[sample[0] for sample in SAMPLES])
def test_a_trace_is_that_of_the_program(
    name: str, words: list[str], options: dict[str, Any], tmp_path: Path, printed: Program
) -> None:
    theirs, ours = tmp_path / "theirs.parquet", tmp_path / "ours.parquet"
    printed("trace", "import", FOREIGN / name, *words, "--out", theirs)
    trace = q2c.import_(FOREIGN / name, ours, **options)
    assert Path(trace.path) == ours
    assert pyarrow.table(trace).equals(pyarrow.table(q2c.read(theirs)), check_metadata=True)


def test_csv_is_read_by_its_columns(tmp_path: Path) -> None:
    source = tmp_path / "some.csv"
    source.write_text("start;took;what\n10;5;read\n20;6;write\n")
    columns = {"submit_ns": "start", "latency": "took", "op": "what"}
    trace = q2c.import_(source, tmp_path / "out.parquet", format="csv", unit="us", bs="4k", delimiter=";", columns=columns)
    rows = pyarrow.table(trace).select(["op", "bytes", "submit_ns", "reap_ns"]).to_pylist()
    # Time zero is the first start.
    assert [(row["op"], row["bytes"], row["reap_ns"] - row["submit_ns"]) for row in rows] == [
        ("read", 4096, 5_000), ("write", 4096, 6_000),
    ]
    assert rows[1]["submit_ns"] - rows[0]["submit_ns"] == 10_000


def test_several_are_merged(tmp_path: Path, printed: Program) -> None:
    theirs, ours = tmp_path / "theirs.parquet", tmp_path / "ours.parquet"
    parts = [FOREIGN / "alibaba.csv", FOREIGN / "alibaba.csv"]
    printed("trace", "import", *parts, "--format", "alibaba", "--out", theirs)
    trace = q2c.import_(parts, ours, format="alibaba")
    assert pyarrow.table(trace).equals(pyarrow.table(q2c.read(theirs)))
    assert len(trace) == 2 * len(q2c.import_(parts[0], tmp_path / "one.parquet", format="alibaba"))


def test_failures_are_those_of_the_program(tmp_path: Path, refused: Callable[..., tuple[int, str]]) -> None:
    taken, out, bad = tmp_path / "taken.parquet", tmp_path / "out.parquet", tmp_path / "bad.txt"
    taken.write_text("something")
    bad.write_text("12\nx\n")
    listed = {"format": "latency-list", "op": "read", "bs": "4k"}
    words = ["--format", "latency-list", "--op", "read", "--bs", "4k"]
    cases: list[tuple[Path, Path, list[str], dict[str, Any], type[q2c.Q2cError]]] = [
        (FOREIGN / "blkparse.txt", taken, [], {}, q2c.UsageError),
        (bad, out, words, listed, q2c.UsageError),
        (bad, out, [*words, "--unit", "us"], {**listed, "unit": "us"}, q2c.InputError),
        (tmp_path / "none", out, [], {}, q2c.InputError),
    ]
    for source, target, given, options, kind in cases:
        code, text = refused("trace", "import", source, *given, "--out", target)
        with pytest.raises(kind) as raised:
            q2c.import_(source, target, **options)
        assert (str(raised.value), raised.value.exit_code) == (text, code)
    assert taken.read_text() == "something" and not out.exists()


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    def with_(**options: Any) -> None:
        q2c.import_(FOREIGN / "blkparse.txt", tmp_path / "out", **options)

    with pytest.raises(q2c.UsageError, match="use `xs` for unit: "):
        with_(unit="xs")
    with pytest.raises(q2c.UsageError, match="use `0` for bs: "):
        with_(bs=0)
    with pytest.raises(q2c.UsageError, match="read-flag: expected 0 or 1"):
        with_(read_flag=2)
    with pytest.raises(TypeError, match="import_.. got an unexpected keyword argument 'units'"):
        with_(units="us")
