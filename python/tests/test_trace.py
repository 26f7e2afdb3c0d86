"""Reading traces, and handing their rows to other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import q2c
from conftest import BLOCK, PATTERNS, ROOT, USER


def as_any_reader_has_it(path: Path) -> list[dict[str, object]]:
    """The rows of a trace as pyarrow's own reader of Parquet gives them."""
    rows: list[dict[str, object]] = pyarrow.parquet.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("path", [BLOCK, USER], ids=lambda path: path.stem)
def test_rows_are_those_of_another_reader(path: Path) -> None:
    trace = q2c.read(path)
    expected = as_any_reader_has_it(path)
    assert len(trace) == len(expected)
    assert pyarrow.table(trace).to_pylist() == expected
    assert polars.DataFrame(trace).to_dicts() == expected
    through_pandas = pyarrow.table(trace).to_pandas(types_mapper=pandas.ArrowDtype)
    assert pyarrow.Table.from_pandas(through_pandas).to_pylist() == expected


def test_duckdb_takes_the_stream() -> None:
    stream = pyarrow.RecordBatchReader.from_stream(q2c.read(BLOCK))  # noqa: F841 (duckdb looks it up by its name)
    query = "SELECT op, count(*), sum(bytes)::BIGINT FROM {} GROUP BY op ORDER BY op"
    from_file = duckdb.execute(query.format(f"'{BLOCK}'")).fetchall()
    assert duckdb.execute(query.format("stream")).fetchall() == from_file
    assert from_file


def test_columns_come_in_the_order_that_was_asked_for() -> None:
    trace = q2c.read(BLOCK, columns=["complete_ns", "op", "id"])
    assert trace.columns == ["complete_ns", "op", "id"]
    table = pyarrow.table(trace)
    assert table.column_names == trace.columns
    assert table.to_pylist() == [{name: row[name] for name in trace.columns} for row in as_any_reader_has_it(BLOCK)]
    assert pyarrow.schema(trace).names == trace.columns
    # A stream is had any number of times.
    assert pyarrow.table(trace).equals(table)


def test_a_trace_is_read_in_batches() -> None:
    reader = pyarrow.RecordBatchReader.from_stream(q2c.read(BLOCK))
    rows = [batch.num_rows for batch in reader]
    assert max(rows) <= 16 * 1024 and sum(rows) == 16_000


def test_the_description_is_there(printed: Callable[..., str]) -> None:
    import json

    for path in PATTERNS:
        told = json.loads(printed("trace", "info", path, "--json"))
        meta, trace = told["meta"], q2c.read(path)
        assert len(trace) == told["summary"]["records"]
        for name in ["source", "source_version", "clock", "file", "start_unix_ns", "lost", "unmatched", "facts"]:
            assert getattr(trace, name) == meta[name], (path, name)
        assert str(trace.path) == str(path)


def test_a_trace_that_pyarrow_has_written_is_read(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table(q2c.read(BLOCK)), other)
    packed = pyarrow.parquet.ParquetFile(other).metadata.row_group(0).column(0).compression
    assert packed == "SNAPPY"
    assert pyarrow.table(q2c.read(other)).to_pylist() == as_any_reader_has_it(BLOCK)


def test_repr_names_the_trace() -> None:
    text = repr(q2c.read(USER))
    assert "disk-read-64k-heavy.parquet" in text and "1500 requests" in text


def test_what_is_no_trace_is_refused_as_the_program_does(tmp_path: Path, refused: Callable[..., tuple[int, str]]) -> None:
    text, cut, other = tmp_path / "text", tmp_path / "cut.parquet", tmp_path / "other.parquet"
    text.write_text("some text\n")
    cut.write_bytes(BLOCK.read_bytes()[:5000])
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), other)
    for path in [text, cut, other, tmp_path / "none", ROOT]:
        code, words = refused("trace", "info", path)
        with pytest.raises(q2c.InputError) as raised:
            q2c.read(path)
        assert str(raised.value) == words
        assert raised.value.exit_code == code == 3


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(q2c.UsageError, match="expected a column of the trace .*, found `latency`"):
        q2c.read(BLOCK, columns=["op", "latency"])


def test_damage_ends_the_stream_with_the_programs_text(tmp_path: Path, refused: Callable[..., tuple[int, str]]) -> None:
    damaged = tmp_path / "damaged.parquet"
    content = bytearray(BLOCK.read_bytes())
    content[1000:40_000] = b"\xff" * 39_000
    damaged.write_bytes(content)
    _, words = refused("trace", "info", damaged)
    with pytest.raises((pyarrow.ArrowException, OSError)) as raised:
        pyarrow.table(q2c.read(damaged))
    assert words in str(raised.value)


def test_exceptions_are_one_tree() -> None:
    codes = {
        q2c.InternalError: 1, q2c.UsageError: 2, q2c.InputError: 3, q2c.MachineError: 4, q2c.DeviceError: 6,
    }
    for kind, code in codes.items():
        assert issubclass(kind, q2c.Q2cError) and kind.exit_code == code
        assert kind.__module__ == "q2c" and kind.__doc__
