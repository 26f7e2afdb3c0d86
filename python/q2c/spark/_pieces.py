"""A recording as pieces: some rows of one volume each, packed so that Spark moves few large values.

A task reads one file by q2c's importer and cuts it by volume. Spark then moves pieces instead of
rows: a row of the trace has 29 columns, of which a public format fills five to eight, and Arrow
packs those of a piece into some 12 bytes a row.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

import q2c
from q2c.spark import _sources

PIECES = pa.schema([
    ("source", pa.int64()),
    ("piece", pa.int64()),
    ("device", pa.string()),
    ("host", pa.string()),
    ("zero_ns", pa.int64()),
    ("first_ns", pa.int64()),
    ("last_ns", pa.int64()),
    ("rows", pa.int64()),
    ("cells", pa.binary()),
    ("report", pa.string()),
])
"""A piece: times of its rows count from `zero_ns`, which like `first_ns` and `last_ns` is on the
source's own clock. The last row of each source has no piece but the report on the source."""

STARTS = ("submit_ns", "queue_ns", "getrq_ns", "issue_ns")
"""A request starts at the first of these that it has."""
TIMES = (*STARTS, "insert_ns", "complete_ns", "submit_end_ns", "reap_ns")
ORIGIN_FACT = "source_time_of_zero_ns"
_WINDOW = 1 << 19
"""Rows that are cut at once: some 50 MB, and of a thousand even volumes 500 rows for each."""
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


def packed(table: pa.Table) -> bytes:
    """The cells of a piece."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_PACKED) as stream:
        stream.write_table(table)
    cells: bytes = sink.getvalue().to_pybytes()
    return cells


def unpacked(cells: bytes) -> pa.Table:
    """The table that was packed."""
    with pa.ipc.open_stream(cells) as stream:
        return stream.read_all()


def starts(table: pa.Table) -> pa.ChunkedArray:
    """When the requests start."""
    known = [table[name] for name in STARTS if name in table.column_names]
    return pc.coalesce(*known)


def of_source(
    source: dict[str, Any], options: dict[str, Any], skip: bool
) -> Iterator[dict[str, Any]]:
    """The pieces of a file, and the report on it. A file that cannot be read raises, or is reported
    and has no piece."""
    with tempfile.TemporaryDirectory(prefix="q2c-") as folder:
        try:
            trace = imported(source, options, folder)
        except q2c.InputError as error:
            if not skip:
                raise
            yield report(source["source"], {"path": source["path"], "error": str(error)})
            return
        yield from of_trace(trace, source["source"], source["path"])


def imported(source: dict[str, Any], options: dict[str, Any], folder: str) -> str:
    """Imports a file, a part of a file, or the table that a file holds. Returns the path of a trace
    that can be read to its end: none of its pieces leaves before that is certain."""
    path = source["path"]
    ready = _sources.ready(source, options.get("format"), folder)
    if ready == path and path.endswith(".parquet"):
        return read_to_the_end(path)
    out = os.path.join(folder, "trace.parquet")
    try:
        q2c.import_(ready, out, **options)
    except q2c.InputError as error:
        part = f" (counted from byte {source['from']} on)" if source["from"] else ""
        raise q2c.InputError(str(error).replace(ready, path + part)) from None
    return out


def read_to_the_end(path: str) -> str:
    """The path of a q2c trace, if none of its columns is damaged."""
    try:
        for _ in pa.RecordBatchReader.from_stream(q2c.read(path)):
            pass
    except (pa.ArrowException, OSError) as damaged:
        raise q2c.InputError(str(damaged)) from None
    return path


def of_table(
    batches: Iterator[pa.RecordBatch], number: int, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The pieces of a partition of a table, in any order, and the report on it."""
    name = f"partition {number} of the table"
    with tempfile.TemporaryDirectory(prefix="q2c-") as folder:
        text, out = os.path.join(folder, "text.csv"), os.path.join(folder, "trace.parquet")
        try:
            if _sources.table_to_file(name, batches, options.get("format"), text) == 0:
                return
            q2c.import_(text, out, **{**options, "sort": True})
        except q2c.Q2cError as error:
            raise type(error)(str(error).replace(text, name)) from None
        yield from of_trace(out, number, name)


def report(source: int, told: dict[str, Any]) -> dict[str, Any]:
    """The row that tells of a source."""
    nothing: dict[str, Any] = dict.fromkeys(PIECES.names)
    return {**nothing, "source": source, "piece": -1, "report": json.dumps(told)}


def of_trace(path: str, number: int, name: str) -> Iterator[dict[str, Any]]:
    """The pieces of a trace, and the report on it."""
    trace = q2c.read(path, filled(path))
    if "merged_into" in trace.columns:
        raise q2c.InputError(
            f"failed to take {name} into a fleet: expected requests that stand alone, found merged "
            "ones, whose numbers would no longer fit; analyse the recording by itself"
        )
    hosts = hosts_of(trace, name)
    zero = trace.start_unix_ns
    if zero is None:
        zero = int(trace.facts.get(ORIGIN_FACT, "0"))
    piece = 0
    for window in windows(trace):
        for device, table in by_device(window):
            times = pc.min_max(starts(table)).as_py()
            yield {
                "source": number,
                "piece": piece,
                "device": device,
                "host": hosts.get(device.split(":")[0]),
                "zero_ns": zero,
                "first_ns": zero + times["min"],
                "last_ns": zero + times["max"],
                "rows": table.num_rows,
                "cells": packed(table),
                "report": None,
            }
            piece += 1
    yield report(number, {
        "path": name,
        "rows": len(trace),
        "lost": trace.lost,
        "unmatched": trace.unmatched,
        "clock": trace.clock,
        "unix": trace.start_unix_ns is not None,
        "source": trace.source,
        "stated": {fact: why for fact, why in trace.facts.items() if fact.startswith("stated.")},
    })


def hosts_of(trace: q2c.Trace, name: str) -> dict[str, str]:
    """The host behind each major number, where the source names hosts: it numbers them as they
    come, so that equal numbers of two sources are different hosts."""
    if trace.source == "fio-iolog":
        raise q2c.InputError(
            f"failed to take {name} into a fleet: expected devices with numbers or hosts, found "
            "files numbered in the order in which they appear"
        )
    key = "device.major."
    majors = {fact: text for fact, text in trace.facts.items() if fact.startswith(key)}
    return {fact[len(key):]: text.removeprefix("host ") for fact, text in majors.items()}


def filled(path: str) -> list[str]:
    """The columns of a trace that have a value at all, but the number, which is given anew."""
    footer = pyarrow.parquet.read_metadata(path)
    nulls = [0] * footer.num_columns
    for group in range(footer.num_row_groups):
        for at in range(footer.num_columns):
            told = footer.row_group(group).column(at).statistics
            # Without statistics it counts as filled.
            nulls[at] += told.null_count if told is not None and told.has_null_count else 0
    names = [footer.schema.column(at).name for at in range(footer.num_columns)]
    return [
        name for name, empty in zip(names, nulls) if empty < footer.num_rows and name != "id"
    ]


def windows(trace: q2c.Trace) -> Iterator[pa.Table]:
    """The requests of a trace, some hundred thousand at once."""
    held: list[pa.RecordBatch] = []
    for some in pa.RecordBatchReader.from_stream(trace):
        held.append(some)
        if sum(one.num_rows for one in held) >= _WINDOW:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def by_device(window: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The requests of each device, in their order."""
    window = window.unify_dictionaries().combine_chunks()
    devices = window["device"].chunk(0)
    codes = devices.indices.to_numpy()
    table = window.drop_columns(["device"]).take(pa.array(np.argsort(codes, kind="stable")))
    begin = 0
    for code, count in enumerate(np.bincount(codes)):
        if count > 0:
            yield devices.dictionary[code].as_py(), table.slice(begin, count)
        begin += int(count)
