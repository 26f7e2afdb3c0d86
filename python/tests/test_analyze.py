"""Analyses, beside those of the program and of plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest
import q2c
from conftest import BLOCK, FOREIGN, PATTERNS, USER, Program


@pytest.mark.parametrize("path", PATTERNS, ids=lambda path: path.stem)
def test_the_json_is_that_of_the_program(path: Path, printed: Program) -> None:
    expected = printed("analyze", path, "--json")
    analysis = q2c.analyze(path)
    assert analysis.json() + "\n" == expected
    assert analysis.to_dict() == json.loads(expected)
    # A trace is its file, whatever its columns, and pyarrow keeps the description of a table.
    assert q2c.analyze(q2c.read(path, columns=["id"])).json() + "\n" == expected
    table = pyarrow.table(q2c.read(path))
    assert q2c.analyze(table, name=str(path)).json() + "\n" == expected


def test_a_recording_of_another_tool(printed: Program) -> None:
    path = FOREIGN / "blkparse.txt"
    assert q2c.analyze(path).json() + "\n" == printed("analyze", path, "--json")
    path = FOREIGN / "msr.csv"
    assert q2c.analyze(path, format="msr").json() + "\n" == printed("analyze", path, "--format", "msr", "--json")


def test_a_window_is_kept(printed: Program) -> None:
    expected = printed("analyze", BLOCK, "--window", "10ms..20ms", "--json")
    assert q2c.analyze(BLOCK, window=("10ms", 20_000_000)).json() + "\n" == expected
    assert expected != printed("analyze", BLOCK, "--json")
    with pytest.raises(q2c.UsageError, match="expected two times, the first the smaller"):
        q2c.analyze(BLOCK, window=("2s", "1s"))


def forms(path: Path) -> dict[str, Any]:
    """The rows of a trace as tables of other programs."""
    table = pyarrow.table(q2c.read(path))
    # A trace's text of few values; other programs have it as plain text, too.
    plain = table.cast(pyarrow.schema([
        field.with_type(pyarrow.string()) if pyarrow.types.is_dictionary(field.type) else field for field in table.schema
    ]))
    frame = polars.DataFrame(q2c.read(path))
    relation = duckdb.sql(f"SELECT * FROM '{path}'")
    assert relation is not None
    text = [name for name in ["layer", "device", "op", "comm"]]
    return {
        "pyarrow": table.replace_schema_metadata(None),
        "plain text": plain.replace_schema_metadata(None),
        "polars": frame,
        "polars text": frame.with_columns(polars.col(text).cast(polars.String)),
        "pandas": table.replace_schema_metadata(None).to_pandas(types_mapper=pandas.ArrowDtype),
        "duckdb": relation.to_arrow_table(),
        "one batch": pyarrow.table(plain.combine_chunks()).replace_schema_metadata(None),
        "reversed columns": frame.select(list(reversed(frame.columns))),
        "with a further column": frame.with_columns(polars.lit(1).alias("own")),
    }


@pytest.mark.parametrize("path", [BLOCK, USER], ids=lambda path: path.stem)
def test_a_table_of_another_program(path: Path) -> None:
    # Beside what the description alone tells: queues of the device, losses, and words about both.
    told = {"input", "queues", "lost", "unmatched", "not_whole", "warnings", "hctx", "balance"}
    expected = {key: value for key, value in q2c.analyze(path).items() if key not in told}
    for name, table in forms(path).items():
        found = q2c.analyze(table, name="frame")
        assert {key: value for key, value in found.items() if key not in told} == expected, name
        assert (found["input"]["path"], found["input"]["source"]) == ("frame", "arrow")


def test_a_part_of_a_polars_frame_is_analysed() -> None:
    frame = polars.DataFrame(q2c.read(BLOCK))
    some = frame.filter((polars.col("op") == "read") & polars.col("complete_ns").is_not_null())
    analysis = q2c.analyze(some)
    q2c_ns = sorted((some["complete_ns"] - some["queue_ns"]).to_list())
    assert analysis.requests == analysis.completed == len(q2c_ns) > 1000
    assert analysis.bytes == some["bytes"].sum()
    stats = analysis.stages["Q2C"]
    assert (stats["n"], stats["min_ns"], stats["max_ns"]) == (len(q2c_ns), q2c_ns[0], q2c_ns[-1])
    assert stats["mean_ns"] == pytest.approx(sum(q2c_ns) / len(q2c_ns))
    assert stats["p50_ns"] == pytest.approx(q2c_ns[len(q2c_ns) // 2], rel=0.009)


def test_main_figures_are_attributes() -> None:
    for path in PATTERNS:
        analysis = q2c.analyze(path)
        content = json.loads(analysis.json())
        for name in ["layer", "requests", "completed", "failed", "bytes", "span_ns", "lost", "unmatched", "stages", "warnings"]:
            assert getattr(analysis, name) == content[name], name
        bottleneck = content["bottleneck"] or {}
        assert (analysis.bottleneck, analysis.bottleneck_share) == (bottleneck.get("stage"), bottleneck.get("share"))
        assert analysis.mean_in_flight == content["in_flight"]["mean"]
        assert analysis.most_in_flight == content["in_flight"]["most"]


def test_it_draws_itself(printed: Program, tmp_path: Path) -> None:
    analysis = q2c.analyze(BLOCK)
    assert "16000 I/Os of the block layer; Q2C p50 " in repr(analysis) and "bottleneck" in repr(analysis)
    assert str(analysis).rstrip("\n") + "\n" == printed("analyze", BLOCK)
    page = tmp_path / "page.html"
    printed("analyze", BLOCK, "--html", page)
    assert analysis.html() == page.read_text()
    frame = analysis._repr_html_()
    import html
    import re

    srcdoc = re.search(r'srcdoc="([^"]*)"', frame)
    assert srcdoc is not None and html.unescape(srcdoc.group(1)) == page.read_text()
    assert 'sandbox="allow-scripts"' in frame


def refusal(table: Any) -> str:
    with pytest.raises(q2c.InputError) as raised:
        q2c.analyze(table, name="mine")
    return str(raised.value)


def test_a_table_that_is_no_trace_names_the_column() -> None:
    frame = polars.DataFrame(q2c.read(BLOCK))
    assert refusal(frame.drop("complete_ns")) == (
        "failed to open trace mine: expected column `complete_ns`, found no such column"
    )
    assert refusal(frame.with_columns(polars.col("queue_ns").cast(polars.Float64))) == (
        "failed to open trace mine: column `queue_ns`: expected UInt64 (nullable), found Float64 (nullable)"
    )
    assert refusal(frame.with_columns(polars.lit(1, polars.UInt8).alias("op"))) == (
        "failed to open trace mine: column `op`: expected text, found UInt8 (nullable)"
    )
    nothing = polars.lit(None, polars.UInt64).alias("sector")
    assert refusal(frame.with_columns(nothing)) == (
        "failed to read trace mine: column `sector`: expected a value in every row, found `null in row 0 of a batch`"
    )
    assert "column `op`: expected one of read, write, flush, discard, other, found `swim`" in refusal(
        frame.with_columns(polars.lit("swim").alias("op"))
    )
    assert refusal(frame.head(0)).startswith(
        "failed to analyze mine: expected at least one request, found none; record it again"
    )
    assert "column `id`" in refusal(polars.DataFrame({"a": [1]}))


def test_an_error_of_the_stream_is_told() -> None:
    schema = pyarrow.schema(q2c.read(BLOCK))

    def batches() -> Any:
        yield from pyarrow.table(q2c.read(BLOCK)).to_batches()
        raise RuntimeError("the well is dry")

    words = refusal(pyarrow.RecordBatchReader.from_batches(schema, batches()))
    assert words.startswith("failed to read trace mine: ") and "the well is dry" in words


def test_failures_are_those_of_the_program(tmp_path: Path, refused: Callable[..., tuple[int, str]]) -> None:
    (tmp_path / "text").write_text("neither this nor that\n")
    for path in [tmp_path / "text", tmp_path / "none"]:
        code, text = refused("analyze", path)
        with pytest.raises(q2c.Q2cError) as raised:
            q2c.analyze(path)
        assert (str(raised.value), raised.value.exit_code) == (text, code)


def test_other_things_are_no_source() -> None:
    for thing in [3, None, object(), [1.0, 2.0]]:
        with pytest.raises(TypeError, match="expected a path, a q2c.Trace"):
            q2c.analyze(thing)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'unit'"):
        q2c.analyze(polars.DataFrame(q2c.read(BLOCK)), unit="us")
