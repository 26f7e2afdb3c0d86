"""Sweeps sleep rules over the volumes of a fleet."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Optional, Union

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

import q2c
from q2c.spark import _arrow, _errors, _layout, _progress
from q2c.spark._robust import Chosen, chosen, scored

if TYPE_CHECKING:
    from typing_extensions import Unpack

SWEPT = pa.schema([
    ("device", pa.string()),
    ("requests", pa.int64()),
    ("best", pa.string()),
    ("of_oracle", pa.float64()),
    ("json", pa.string()),
    ("error", pa.string()),
])
"""The sweep of a volume; `error` in place of the figures where the volume has none."""
MOST_REQUESTS = 30_000_000
"""Most requests of a volume: it is held in the memory of one task, 16 bytes each."""


@dataclasses.dataclass(frozen=True)
class FleetSweep:
    """The sweeps of a fleet. `volumes` is kept by Spark until `close`, or the end of a `with`."""

    volumes: DataFrame
    """Of each volume: `device`, `requests`, the `best` rule, `of_oracle` (the CPU that it saves
    over what the oracle saves), `json` of the sweep, and `error` where it could not be swept."""
    best: Optional[Chosen]
    """The rule with the highest mean share of each volume's own best; None where no rule keeps the
    limits on every volume."""
    best_worst_case: Optional[Chosen]
    """The rule whose least share is highest."""
    left_out: dict[str, str]
    """Volumes that could not be swept, with the reason."""

    def close(self) -> None:
        """Lets Spark drop the sweeps of the volumes."""
        self.volumes.unpersist()

    def __enter__(self) -> FleetSweep:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sweep_fleet(
    spark: SparkSession,
    fleet: str,
    policies: Union[str, q2c.Rule, Iterable[Union[str, q2c.Rule]]] = (),
    *,
    most_requests: int = MOST_REQUESTS,
    **sweeping: Unpack[q2c.Sweeping],
) -> FleetSweep:
    """Simulates sleep rules on each volume of a fleet, and says which is best for each and for all.

    `policies` and `sweeping` are those of `q2c.sweep`. A volume is swept by one task, which holds
    its requests in memory, 16 bytes each. Volumes that have no completions, as those of most public
    formats, cannot be swept; they are named with the reason.

    Raises `UsageError` for a volume of more than `most_requests`, before anything is read, and
    `InputError` where no volume can be swept.
    """
    given = [policies] if isinstance(policies, (str, q2c.Rule)) else list(policies)
    rules = [str(rule) for rule in given]
    with _errors.of_tasks():
        with _progress.step(spark, "list the traces"):
            files = _layout.volumes(spark, fleet)
            _check_sizes(files, most_requests)

        sweep = _arrow.by_group(lambda traces: swept(traces, rules, dict(sweeping)), SWEPT)
        table = files.groupBy("device").applyInArrow(sweep, _arrow.ddl(SWEPT))
        kept = table.persist(StorageLevel.DISK_ONLY)
        try:
            with _progress.step(spark, "sweep the volumes"):
                left_out = {row["device"]: row["error"] for row in
                            kept.where("error is not null").select("device", "error").collect()}
                volumes = kept.where("error is null").count()
            if volumes == 0:
                raise q2c.InputError(
                    f"failed to sweep the fleet {fleet}: expected volumes with completions, found "
                    f"none: {next(iter(left_out.values()), 'no volume is there')}"
                )
            with _progress.step(spark, "choose for all volumes"):
                best, worst = chosen(scored(kept), volumes)
        except BaseException:
            kept.unpersist()
            raise
    return FleetSweep(kept, best, worst, left_out)


def _check_sizes(files: DataFrame, most: int) -> None:
    sums = files.groupBy("device").agg(F.sum("rows").alias("rows"))
    large = sums.where(F.col("rows") > most).orderBy(F.desc("rows")).limit(1).collect()
    for row in large:
        raise q2c.UsageError(
            f"failed to sweep the volume {row['device']}: expected at most {most} requests, which "
            f"a task holds in 16 bytes each, found {row['rows']}; name a larger most_requests "
            "where executors have the memory"
        )


def swept(traces: pa.Table, rules: list[str], options: dict[str, Any]) -> _arrow.Row:
    """The sweep of a volume."""
    in_order = traces.sort_by("number")
    paths = in_order["path"].to_pylist()
    row = {**dict.fromkeys(SWEPT.names), "device": in_order["device"][0].as_py(),
           "requests": sum(in_order["rows"].to_pylist())}
    try:
        source = q2c.read(paths[0]) if len(paths) == 1 else one_after_the_other(paths)
        result = q2c.sweep([source], rules, name=os.path.dirname(paths[0]), **options).json()
    except q2c.InputError as error:
        return {**row, "error": str(error)}
    told = json.loads(result)
    best = told["best"]
    return {
        **row,
        "best": best and best["policy"],
        "of_oracle": told["answers"][0]["of_oracle"],
        "json": result,
    }


def one_after_the_other(paths: list[str]) -> pa.RecordBatchReader:
    """The requests of several traces as one stream, which is read as it is consumed."""

    def batches() -> Iterator[pa.RecordBatch]:
        for path in paths:
            yield from pa.RecordBatchReader.from_stream(q2c.read(path))

    return pa.RecordBatchReader.from_batches(pa.schema(q2c.read(paths[0])), batches())
