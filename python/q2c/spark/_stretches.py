"""From pieces to the traces of the layout: where a volume is cut in time, and how a stretch is
written."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

import q2c
from q2c.spark import _arrow, _layout, _pieces

PLAN = pa.schema([
    ("device", pa.string()),
    ("stretch", pa.int64()),
    ("from_ns", pa.int64()),
    ("to_ns", pa.int64()),
])
"""The stretches of a volume: requests that start from `from_ns` on and before `to_ns`."""
CUT = pa.schema([*_pieces.PIECES, ("stretch", pa.int64())])
"""Pieces, each within one stretch."""
WRITTEN = pa.schema([("device", pa.string()), ("number", pa.int64()), ("rows", pa.int64())])

ROWS_OF_A_GROUP = 1 << 17
"""Rows of a row group of a trace."""

_META = b"q2c.trace.meta"
_END = (1 << 63) - 1


def planned(pieces: pa.Table, most: int) -> pa.Table:
    """Cuts a volume into stretches of about `most` requests, as if those of each piece were spread
    evenly over its time. Any cut is right; the guess only makes the stretches about even."""
    device = pieces["device"][0].as_py()
    first, last = pieces["first_ns"].to_numpy(), pieces["last_ns"].to_numpy() + 1
    rows = pieces["rows"].to_numpy()
    # Requests per ns change where a piece begins and where it ends.
    times, at = np.unique(np.concatenate([first, last]), return_inverse=True)
    change = np.bincount(at, np.concatenate([rows / (last - first), -rows / (last - first)]))
    sums = np.concatenate([[0.0], np.cumsum(np.cumsum(change)[:-1] * np.diff(times))])
    stretches = max(1, -(-int(rows.sum()) // most))
    shares = np.arange(1, stretches) * (rows.sum() / stretches)
    # Distances from the first time are exact as floating-point numbers for 104 days.
    inner = np.interp(shares, sums, (times - times[0]).astype(float)).astype(np.int64) + times[0]
    cuts = [0, *np.unique(inner).tolist(), _END]
    return pa.table(
        [[device] * (len(cuts) - 1), range(len(cuts) - 1), cuts[:-1], cuts[1:]], schema=PLAN
    )


def cut(piece: _arrow.Row) -> Iterator[_arrow.Row]:
    """The part of a piece that lies in a stretch."""
    table, zero = _pieces.unpacked(piece["cells"]), piece["zero_ns"]
    starts = _pieces.starts(table)
    after = pc.greater_equal(starts, max(0, piece["from_ns"] - zero))
    before = pc.less(starts, max(0, piece["to_ns"] - zero))
    part = table.filter(pc.and_(after, before))
    if part.num_rows > 0:
        row = {name: piece[name] for name in CUT.names}
        yield {**row, "rows": part.num_rows, "cells": _pieces.packed(part)}


@functools.cache
def trace_schema() -> pa.Schema:
    """The columns of a trace with their types, and its description: those of one that q2c makes."""
    with tempfile.TemporaryDirectory(prefix="q2c-") as folder:
        one, out = os.path.join(folder, "one.txt"), os.path.join(folder, "one.parquet")
        with open(one, "w", encoding="ascii") as file:
            file.write("1\n")
        trace = q2c.import_(one, out, format="latency-list", unit="ns", op="read", bs="4k")
        return pa.schema(trace)


def described(fleet: dict[str, Any], device: str, number: int) -> pa.Schema:
    """The schema of a trace of the fleet."""
    schema = trace_schema()
    facts = {
        **fleet["stated"],
        _pieces.ORIGIN_FACT: str(fleet["zero_ns"]),
        "fleet.stretch": str(number),
    }
    major = device.split(":")[0]
    if major in fleet["hosts"]:
        facts[f"device.major.{major}"] = f"host {fleet['hosts'][major]}"
    meta = {
        **json.loads(schema.metadata[_META]),
        "start_unix_ns": fleet["zero_ns"] if fleet["unix"] else None,
        "clock": fleet["clock"],
        "source": fleet["source"],
        "facts": facts,
    }
    return schema.with_metadata({**schema.metadata, _META: json.dumps(meta).encode()})


def together(pieces: list[_arrow.Row], zero: int) -> tuple[pa.Table, Optional[pa.Array]]:
    """The requests of a stretch, whose times count from `zero`, and the order of their starts, where
    they are not in it: those of one instant stay as in their sources."""
    tables = []
    for piece in sorted(pieces, key=lambda piece: (piece["source"], piece["piece"])):
        table = _pieces.unpacked(piece.pop("cells"))
        shift = pa.scalar(piece["zero_ns"] - zero, pa.uint64())
        for at, name in enumerate(table.column_names):
            if name in _pieces.TIMES:
                table = table.set_column(at, name, pc.add_checked(table[name], shift))
        tables.append(table)
    table = pa.concat_tables(tables, promote_options="default").unify_dictionaries()
    starts = _pieces.starts(table).to_numpy()
    if bool(np.all(starts[:-1] <= starts[1:])):
        return table, None
    tables.clear()
    return table.combine_chunks(), pa.array(np.argsort(starts, kind="stable"))


def groups(table: pa.Table, order: Optional[pa.Array]) -> Iterator[pa.Table]:
    """The rows in their order, as many at once as a row group has. Sorting all of them at once would
    need the memory of a second table."""
    for at in range(0, table.num_rows, ROWS_OF_A_GROUP):
        if order is None:
            yield table.slice(at, ROWS_OF_A_GROUP)
        else:
            yield table.take(order.slice(at, ROWS_OF_A_GROUP))


def completed(table: pa.Table, device: str, before: int, schema: pa.Schema) -> pa.Table:
    """The requests with all columns of a trace. They are numbered from `before` on."""
    rows = table.num_rows
    known = {
        "id": pa.array(np.arange(before, before + rows, dtype=np.uint64)),
        "device": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [device]),
    }
    columns = []
    for field in schema:
        if field.name in known:
            columns.append(known[field.name])
        elif field.name in table.column_names:
            columns.append(table[field.name].cast(field.type))
        else:
            columns.append(pa.nulls(rows, field.type))
    return pa.table(columns, schema=schema)


def write(pieces: pa.Table, fleet: dict[str, Any]) -> _arrow.Row:
    """Writes a stretch, and replaces what a lost run of the same task may have written."""
    rows = pieces.to_pylist()
    device, number, before = (rows[0][name] for name in ("device", "number", "before"))
    table, order = together(rows, fleet["zero_ns"])
    schema = described(fleet, device, number)
    path = _layout.stretch_path(fleet["path"], device, number)
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, hidden = tempfile.mkstemp(prefix=f".{number:06}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            with pa.parquet.ParquetWriter(
                file, schema, compression="zstd",
                use_dictionary=["layer", "device", "op", "bytes", "lane", "flags", "comm"],
            ) as writer:
                for group in groups(table, order):
                    writer.write_table(completed(group, device, before, schema))
                    before += group.num_rows
            file.flush()
            os.fsync(file.fileno())
        os.chmod(hidden, 0o644)
        os.replace(hidden, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(hidden)
        raise
    return {"device": device, "number": number, "rows": table.num_rows}
