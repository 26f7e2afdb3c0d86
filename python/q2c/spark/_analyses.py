"""Analyses the traces of a fleet: each by itself, then those of a volume, then all volumes."""

from __future__ import annotations

import dataclasses
import functools
import os
import tempfile
from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

import q2c
from q2c.spark import _arrow, _errors, _layout, _progress

STATES = pa.schema([
    ("device", pa.string()),
    ("number", pa.int64()),
    ("path", pa.string()),
    ("state", pa.binary()),
])
"""The analyses of single traces, which are small: some 100 KB, and for a later trace of a volume up
to 4 MB more."""
VOLUMES = pa.schema([
    ("device", pa.string()),
    ("traces", pa.int64()),
    ("requests", pa.int64()),
    ("json", pa.string()),
    ("state", pa.binary()),
])
JOINED = pa.schema([("state", pa.binary())])
RESULT = pa.schema([("json", pa.string())])
ROWS_PER_TASK = 4_000_000
"""At most about as many requests are analysed by one task; small traces share one."""
LEAST_TASKS = 64
"""A small fleet is divided into so many tasks, so that all workers have some."""


@dataclasses.dataclass(frozen=True)
class FleetAnalysis:
    """The analyses of a fleet. `volumes` is kept by Spark until `close`, or the end of a `with`."""

    volumes: DataFrame
    """Of each volume: `device`, `traces`, `requests`, and `json`, the JSON of `q2c analyze`."""
    fleet: q2c.Analysis
    """All volumes together; figures that only a single device has are unknown in it."""
    _kept: DataFrame = dataclasses.field(repr=False)

    def volume(self, device: str) -> q2c.Analysis:
        """The analysis of a volume, such as `1:7`. Raises `InputError` where there is none."""
        rows = self.volumes.where(F.col("device") == device).select("json").collect()
        if not rows:
            raise q2c.InputError(f"failed to find the volume {device}: the fleet has no such one")
        return analysis_of(rows[0]["json"])

    def close(self) -> None:
        """Lets Spark drop the analyses of the volumes."""
        self._kept.unpersist()

    def __enter__(self) -> FleetAnalysis:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def analysis_of(text: str) -> q2c.Analysis:
    """The analysis whose JSON this is."""
    with tempfile.TemporaryDirectory(prefix="q2c-") as folder:
        path = os.path.join(folder, "result.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return cast("q2c.Analysis", q2c.load_run(path))


def analyze_fleet(spark: SparkSession, fleet: str) -> FleetAnalysis:
    """Says where the I/Os of a fleet spend their time: of each volume, and of all of them.

    `fleet` is the folder of an import, a path that all machines of the cluster see. Each trace is
    analysed by itself, so a volume of any size is spread over the cluster, and the analyses of its
    traces are joined in the order of time. What `q2c analyze` says of a trace with all requests of
    the volume, the JSON of the volume says, but for its path.

    Raises `InputError` for a folder that is no fleet, and for a damaged trace, which it names.
    """
    with _errors.of_tasks():
        with _progress.step(spark, "list the traces"):
            files = [row.asDict() for row in _layout.volumes(spark, fleet).collect()]
        kept = joined(spark, files).persist(StorageLevel.DISK_ONLY)
        try:
            with _progress.step(spark, "analyse the traces and join the volumes"):
                text = all_volumes(kept, fleet, len({file["device"] for file in files}))
        except BaseException:
            kept.unpersist()
            raise
    return FleetAnalysis(kept.drop("state"), analysis_of(text), kept)


def spread(spark: SparkSession, files: list[dict[str, Any]], rows_per_task: int) -> DataFrame:
    """Traces as the rows of a DataFrame, large ones in tasks of their own and small ones shared."""
    tasks: list[int] = []
    for file in sorted(files, key=lambda file: -file["rows"]):
        # The list is by size, so the last task is the one with room.
        if tasks and tasks[-1] + file["rows"] <= rows_per_task:
            tasks[-1] += file["rows"]
        else:
            tasks.append(file["rows"])
        file["task"] = len(tasks) - 1
    rows = [(f["task"], f["device"], f["number"], f["path"], f["rows"]) for f in files]
    table = spark.createDataFrame(
        rows, "task long, device string, number long, path string, rows long")
    # By range, and not by hash, so that each task has a partition of its own.
    return table.repartitionByRange(len(tasks), "task")


def joined(spark: SparkSession, files: list[dict[str, Any]]) -> DataFrame:
    """The analyses of the volumes."""
    rows_per_task = min(ROWS_PER_TASK, sum(file["rows"] for file in files) // LEAST_TASKS)
    traces = spread(spark, files, rows_per_task)
    states = traces.mapInArrow(_arrow.by_row(analysed, STATES), _arrow.ddl(STATES))
    return states.groupBy("device").applyInArrow(
        _arrow.by_group(volume, VOLUMES), _arrow.ddl(VOLUMES))


def analysed(trace: _arrow.Row) -> Iterator[_arrow.Row]:
    """The analysis of one trace."""
    state = q2c.AnalysisState(later=trace["number"] > 0)
    state.update(trace["path"])
    row = {name: trace[name] for name in ("device", "number", "path")}
    yield {**row, "state": state.to_bytes()}


def volume(states: pa.Table) -> _arrow.Row:
    """The analysis of a volume, from those of its traces."""
    parts = states.sort_by("number")
    read = (q2c.AnalysisState.from_bytes(part.as_py()) for part in parts["state"])
    whole = functools.reduce(lambda before, after: before.then(after), read)
    first = parts["path"][0].as_py()
    return {
        "device": parts["device"][0].as_py(),
        "traces": parts.num_rows,
        "requests": whole.requests,
        "json": whole.finish(q2c.read(first)).json(),
        "state": whole.to_bytes(),
    }


def beside(states: pa.Table) -> _arrow.Row:
    """The analysis of several volumes."""
    read = (q2c.AnalysisState.from_bytes(state.as_py()) for state in states["state"])
    all_of_them = functools.reduce(lambda one, other: one.beside(other), read)
    return {"state": all_of_them.to_bytes()}


def all_volumes(kept: DataFrame, fleet: str, volumes: int) -> str:
    """The JSON of the analysis of all volumes. They are joined in groups first, so that no task
    holds the analyses of all."""
    groups = max(1, round(volumes**0.5))
    states = kept.select("device", "state")
    by_group = states.groupBy(F.pmod(F.xxhash64("device"), F.lit(groups)).alias("of"))
    partly = by_group.applyInArrow(_arrow.by_group(beside, JOINED), _arrow.ddl(JOINED))

    def finished(table: pa.Table) -> _arrow.Row:
        whole = q2c.AnalysisState.from_bytes(beside(table)["state"])
        return {"json": whole.finish(name=fleet).json()}

    all_of_them = partly.groupBy().applyInArrow(
        _arrow.by_group(finished, RESULT), _arrow.ddl(RESULT))
    return cast(str, all_of_them.collect()[0][0])
