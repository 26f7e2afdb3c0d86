"""Imports the recordings of a fleet."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

import q2c
from q2c.spark import _arrow, _errors, _layout, _pieces, _progress, _sources, _stretches

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BLANK = pa.schema([("done", pa.int64())])


@dataclasses.dataclass(frozen=True)
class FleetImport:
    """What an import did."""

    path: str
    """The folder of the fleet."""
    rows: int
    """Requests."""
    volumes: int
    traces: int
    """Files of the layout."""
    sources: int
    """Files, parts of files, or partitions that were read."""
    bad_files: dict[str, str]
    """What was left out, with the reason, by name."""
    unmatched: dict[str, int]
    """Lines that were left out of files that were read, by reason."""
    lost: int
    """Events that the sources of the recordings lost."""


def import_fleet(
    spark: SparkSession,
    source: Union[str, Sequence[str], DataFrame],
    out: str,
    *,
    on_bad_file: Literal["stop", "skip"] = "stop",
    stretch_rows: int = 2_000_000,
    part_bytes: int = 256 << 20,
    **recording: Unpack[q2c.Recording],
) -> FleetImport:
    """Turns recordings into the traces of a fleet: a new folder `out`, by volume and time.

    `source` is a folder, a file, a list of files, or a DataFrame with the columns of `format`, in
    any order of rows. Files are what `q2c trace import` reads (packed ones too), Parquet tables
    with the columns of `format`, and q2c traces. `source` and `out` are paths that all machines of
    the cluster see. `recording` are the options of `q2c.import_`.

    `on_bad_file="skip"` goes on without the files that cannot be read, and names them in the
    result; otherwise the first one ends the import, and its name is in the exception. A volume is
    cut in time into traces of about `stretch_rows` requests, the most that a task holds in memory.
    Text of more than `part_bytes` is read in parts, where its lines need no header.

    Raises `UsageError` where `out` is taken, and `InputError` for what cannot be read. The folder
    is whole when its `_fleet.json` is there, which comes last.
    """
    for name, value in (("stretch_rows", stretch_rows), ("part_bytes", part_bytes)):
        if value < 1:
            raise q2c.UsageError(f"failed to use {value} for {name}: expected at least 1")
    if on_bad_file not in ("stop", "skip"):
        expected = "for on_bad_file: expected stop or skip"
        raise q2c.UsageError(f"failed to use `{on_bad_file}` {expected}")
    skip = on_bad_file == "skip"
    with _errors.of_tasks():
        _on_a_worker(spark, lambda: _new_folder(out))
        if isinstance(source, DataFrame):
            pieces = _of_table(source, dict(recording))
        else:
            pieces = _of_files(spark, source, dict(recording), part_bytes, skip)
        pieces = pieces.persist(StorageLevel.DISK_ONLY)
        try:
            return _arranged(spark, pieces, out, stretch_rows)
        finally:
            pieces.unpersist()


def _on_a_worker(spark: SparkSession, act: Any) -> None:
    def run() -> Iterator[_arrow.Row]:
        act()
        yield {"done": 1}

    _arrow.made_on_a_worker(spark, run, _BLANK).collect()


def _new_folder(out: str) -> None:
    try:
        os.makedirs(out)
    except FileExistsError:
        raise q2c.UsageError(
            f"failed to import into {out}: expected a name that is not taken, found it there"
        ) from None


def _of_files(
    spark: SparkSession, source: Any, options: dict[str, Any], part_bytes: int, skip: bool
) -> DataFrame:
    """The pieces of files, one task for each file or part."""
    paths = source if isinstance(source, str) else [str(path) for path in source]
    format = options.get("format")

    def list_them() -> list[_arrow.Row]:
        return list(_sources.parts(_sources.files_of(paths), format, part_bytes))

    with _progress.step(spark, "list the recordings"):
        listed = [row.asDict() for row in _arrow.made_on_a_worker(
            spark, list_them, _sources.SOURCES).collect()]
    sources = spark.createDataFrame(
        [tuple(row[name] for name in _sources.SOURCES.names) for row in listed],
        _arrow.ddl(_sources.SOURCES),
    )
    # Each source is a task of its own: it is lost, and done again, by itself.
    spread = sources.repartitionByRange(len(listed), "source")
    read = _arrow.by_row(lambda row: _pieces.of_source(row, options, skip), _pieces.PIECES)
    return spread.mapInArrow(read, _arrow.ddl(_pieces.PIECES))


def _of_table(table: DataFrame, options: dict[str, Any]) -> DataFrame:
    """The pieces of a table, from each of its partitions."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        with _errors.in_a_task():
            for piece in _pieces.of_table(batches, number, options):
                yield _arrow.batch([piece], _pieces.PIECES)

    _sources.checked("to import", _arrow_schema(table), options.get("format"))
    return table.mapInArrow(read, _arrow.ddl(_pieces.PIECES))


def _arrow_schema(table: DataFrame) -> pa.Schema:
    return table.limit(0).toArrow().schema


def _arranged(spark: SparkSession, pieces: DataFrame, out: str, most: int) -> FleetImport:
    """Writes the traces, when all sources are read."""
    with _progress.step(spark, "read the recordings"):
        reports = pieces.where("piece = -1").select("report").collect()
        told = [json.loads(row["report"]) for row in reports]
        cells = pieces.where("piece >= 0")
        zero = cells.agg(F.min("first_ns")).collect()[0][0]
        hosts = cells.where("host is not null").select("host").distinct().orderBy("host").collect()
    fleet = _fleet(out, told, zero, [row["host"] for row in hosts])
    with _progress.step(spark, "cut the volumes in time"):
        cut = _cut(spark, _numbered(spark, cells, fleet["hosts"]), most)
        counts = cut.groupBy("device", "stretch").agg(F.sum("rows").alias("rows")).collect()
        # They are few, and collected, so that the pieces are not counted again while they are
        # written.
        stretches = spark.createDataFrame(
            _in_order([(row["device"], row["stretch"], row["rows"]) for row in counts]),
            "device string, stretch long, number long, before long",
        )
    with _progress.step(spark, "write the traces"):
        placed = cut.join(F.broadcast(stretches), ["device", "stretch"])
        written = placed.groupBy("device", "number").applyInArrow(
            _arrow.by_group(lambda table: _stretches.write(table, fleet), _stretches.WRITTEN),
            _arrow.ddl(_stretches.WRITTEN),
        )
        sums = written.agg(
            F.sum("rows"), F.count_distinct("device"), F.count("number")
        ).collect()[0]
    done = FleetImport(out, sums[0], sums[1], sums[2], len(told), *_left_out(told))
    summary = {**fleet, **dataclasses.asdict(done)}
    for name in ("path", "stated"):
        del summary[name]
    _on_a_worker(spark, lambda: _finished(out, summary))
    return done


def _in_order(counts: list[tuple[str, int, int]]) -> list[tuple[str, int, int, int]]:
    """The stretches that have requests: device, stretch, its place among those of the device, and
    the number of requests before it."""
    placed: list[tuple[str, int, int, int]] = []
    place: dict[str, tuple[int, int]] = {}
    for device, stretch, rows in sorted(counts):
        number, before = place.get(device, (0, 0))
        placed.append((device, stretch, number, before))
        place[device] = (number + 1, before + rows)
    return placed


def _numbered(spark: SparkSession, pieces: DataFrame, hosts: dict[str, str]) -> DataFrame:
    """Pieces whose devices have the numbers of their hosts in the whole fleet."""
    if not hosts:
        return pieces
    majors = spark.createDataFrame([(text, major) for major, text in hosts.items()],
                                   "host string, major string")
    joined = pieces.join(F.broadcast(majors), "host", "left")
    minor = F.substring_index("device", ":", -1)
    device = F.when(F.col("major").isNull(), F.col("device")).otherwise(
        F.concat_ws(":", "major", minor))
    return joined.withColumn("device", device).select(*_pieces.PIECES.names)


def _cut(spark: SparkSession, pieces: DataFrame, most: int) -> DataFrame:
    """Pieces that lie in one stretch of their volume each."""
    rows = (
        pieces.select("device", "first_ns", "last_ns", "rows")
        .groupBy("device")
        .applyInArrow(lambda table: _stretches.planned(table, most), _arrow.ddl(_stretches.PLAN))
        .collect()
    )
    # The plan has few rows. It goes to the pieces, so that those of a large volume stay spread.
    plan = spark.createDataFrame(rows, _arrow.ddl(_stretches.PLAN))
    overlap = (F.col("first_ns") < F.col("to_ns")) & (F.col("last_ns") >= F.col("from_ns"))
    spread = pieces.join(F.broadcast(plan), "device").where(overlap)
    inside = (F.col("first_ns") >= F.col("from_ns")) & (F.col("last_ns") < F.col("to_ns"))
    within = spread.where(inside).select(*_stretches.CUT.names)
    columns = [*_stretches.CUT.names, "from_ns", "to_ns"]
    across = spread.where(~inside).select(*columns)
    parts = across.mapInArrow(
        _arrow.by_row(_stretches.cut, _stretches.CUT), _arrow.ddl(_stretches.CUT))
    return within.unionByName(parts)


def _fleet(
    out: str, told: list[dict[str, Any]], zero: Any, hosts: list[str]
) -> dict[str, Any]:
    """What all traces of the fleet have in common."""
    read = [report for report in told if "error" not in report]
    if zero is None:
        why = next((report["error"] for report in told if "error" in report), "nothing was there")
        raise q2c.InputError(f"failed to import into {out}: expected requests, found none ({why})")
    for other in read:
        if _clock(other) != _clock(read[0]):
            raise q2c.InputError(
                f"failed to merge {other['path']} into a fleet: expected times of one clock, "
                f"{_clock(read[0])} as in {read[0]['path']}, found {_clock(other)}"
            )
    return {
        "path": out,
        "zero_ns": zero,
        "unix": read[0]["unix"],
        "clock": " and ".join(sorted({report["clock"] for report in read})),
        "source": " and ".join(sorted({report["source"] for report in read})),
        "stated": {fact: why for report in read for fact, why in report["stated"].items()},
        "hosts": {str(at): host for at, host in enumerate(hosts, 1)},
    }


def _clock(report: dict[str, Any]) -> str:
    return "Unix time" if report["unix"] else str(report["clock"])


def _left_out(told: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, int], int]:
    bad = {report["path"]: report["error"] for report in told if "error" in report}
    lines: dict[str, int] = {}
    for report in told:
        for reason, count in report.get("unmatched", {}).items():
            lines[reason] = lines.get(reason, 0) + count
    return bad, lines, sum(report.get("lost", 0) for report in told)


def _finished(out: str, summary: dict[str, Any]) -> None:
    """Removes what lost tasks left, and writes the description, by which the folder is whole."""
    for folder, _, names in os.walk(out):
        for name in names:
            if name.startswith(".") and name.endswith(".tmp"):
                os.unlink(os.path.join(folder, name))
    _layout.written(out, summary)
