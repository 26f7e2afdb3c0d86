"""States of parts, beside results in one pass."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import q2c
from conftest import BLOCK, PATTERNS, USER, Program


def parts(table: Any, cuts: list[int]) -> list[q2c.AnalysisState]:
    """The states of the rows between the cuts, each of them pickled once."""
    states = []
    for n, (start, end) in enumerate(zip([0, *cuts], [*cuts, table.num_rows])):
        state = q2c.AnalysisState(later=n > 0)
        middle = (start + end) // 2
        state.update(table.slice(start, middle - start))
        state = pickle.loads(pickle.dumps(state))
        state.update(table.slice(middle, end - middle))
        assert state.requests == end - start
        states.append(q2c.AnalysisState.from_bytes(state.to_bytes()))
    return states


@pytest.mark.parametrize("path", PATTERNS, ids=lambda path: path.stem)
def test_parts_by_time_are_the_program(path: Path, printed: Program) -> None:
    expected = printed("analyze", path, "--json")
    trace = q2c.read(path)
    whole = q2c.AnalysisState()
    whole.update(trace)
    assert whole.finish(trace).json() + "\n" == expected
    table = pyarrow.table(trace)
    draw = random.Random(7)
    states = parts(table, sorted(draw.randrange(table.num_rows) for _ in range(5)))
    while len(states) > 1:
        at = draw.randrange(len(states) - 1)
        states[at : at + 2] = [states[at].then(states[at + 1])]
    assert states[0].finish(trace).json() + "\n" == expected
    assert (states[0].requests, states[0].layer) == (len(trace), states[0].finish()["layer"])


def of_three_devices() -> Any:
    table = pyarrow.table(q2c.read(BLOCK)).replace_schema_metadata(None)
    names = pyarrow.array([f"8:{row * 7 % 3}" for row in range(table.num_rows)])
    return table.set_column(table.schema.get_field_index("device"), "device", names)


def test_parts_by_device_come_in_any_order() -> None:
    table = of_three_devices()
    whole = q2c.AnalysisState()
    whole.update(table)
    states = []
    for device in ["8:0", "8:1", "8:2"]:
        rows = [row for row, name in enumerate(table["device"].to_pylist()) if name == device]
        states.append(parts(table.take(rows), [len(rows) // 3])[0:2])
    first, second, third = (one.then(two) for one, two in states)
    found = [first.beside(second).beside(third), third.beside(first.beside(second))]
    results = [state.finish().to_dict() for state in found]
    assert results[0] == results[1]
    inexact = {(mark["figure"], mark["reason"]) for mark in results[0].pop("inexact")}
    assert {reason for _, reason in inexact} == {"devices"} and len(inexact) == 4
    expected = whole.finish().to_dict()
    for figure in [results[0], expected]:
        figure["in_flight"].pop("most")
        figure["bottleneck"].pop("over_load")
        figure.pop("activity", None)
        figure.pop("excerpts")
    assert results[0] == expected
    assert q2c.analyze(table, name="parts").to_dict()["stages"] == expected["stages"]


def test_another_process_goes_on(tmp_path: Path) -> None:
    table = pyarrow.table(q2c.read(BLOCK))
    first, second = parts(table, [5000])
    (tmp_path / "first").write_bytes(first.to_bytes())
    (tmp_path / "second").write_bytes(pickle.dumps(second))
    program = (
        "import pickle, q2c, sys; from pathlib import Path\n"
        "first = q2c.AnalysisState.from_bytes(Path('first').read_bytes())\n"
        "second = pickle.loads(Path('second').read_bytes())\n"
        "print(first.then(second).finish(q2c.read(sys.argv[1])).json())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(BLOCK)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == q2c.analyze(BLOCK).json() + "\n"


def test_what_cannot_be_joined_is_refused() -> None:
    block, user, empty = q2c.AnalysisState(), q2c.AnalysisState(), q2c.AnalysisState(later=True)
    block.update(q2c.read(BLOCK))
    user.update(USER)
    with pytest.raises(q2c.UsageError, match="of the layers block and user"):
        block.then(user)
    with pytest.raises(q2c.UsageError, match="found a device in both"):
        block.beside(block)
    assert block.then(empty).finish(name="b").json() == block.finish(name="b").json()
    assert empty.layer is None and empty.then(block).requests == block.requests
    with pytest.raises(q2c.InputError, match="failed to analyze parts: expected at least one request, found none"):
        empty.finish()
    with pytest.raises(q2c.UsageError, match="analyze the layer `disk`: expected block or user"):
        q2c.AnalysisState(layer="disk")  # type: ignore[arg-type]
    of_user = q2c.AnalysisState(layer="user")
    of_user.update(BLOCK)
    assert of_user.requests == 0 and of_user.layer == "user"
    with pytest.raises(TypeError, match="found numbers"):
        of_user.update([1.0])  # type: ignore[arg-type]


def test_an_update_that_fails_leaves_no_half_state() -> None:
    table = pyarrow.table(q2c.read(BLOCK)).replace_schema_metadata(None)
    bad = table.set_column(table.schema.get_field_index("op"), "op", pyarrow.array(["swim"] * table.num_rows))
    state = q2c.AnalysisState()
    state.update(table)
    with pytest.raises(q2c.InputError, match="failed to read trace mine: column `op`"):
        state.update(bad, name="mine")
    uses: list[Callable[[], object]] = [lambda: state.requests, state.to_bytes, state.finish, lambda: state.update(table)]
    for use in uses:
        with pytest.raises(q2c.UsageError, match="an analysis whose update failed"):
            use()


def test_other_bytes_are_refused() -> None:
    state = q2c.AnalysisState()
    state.update(q2c.read(BLOCK))
    whole = state.to_bytes()
    for bytes_, words in [
        (b"", "begin with \"q2canlys\" and 24 bytes at least, found 0 bytes"),
        (b"q2cstate" + whole[8:], "of another kind"),
        (whole[:8] + b"\x09" + whole[9:], "expected version 3, found version 9"),
        (whole[:-1], f"expected {len(whole) - 24} bytes behind the header, found {len(whole) - 25}"),
        (whole[:99] + bytes([whole[99] ^ 1]) + whole[100:], "expected a body of checksum"),
    ]:
        with pytest.raises(q2c.InputError, match="failed to read the state of a recording's analysis: ") as raised:
            q2c.AnalysisState.from_bytes(bytes_)
        assert words in str(raised.value)
