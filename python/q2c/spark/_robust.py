"""The rule that suits all volumes of a fleet, chosen as a sweep over several traces chooses it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Optional

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from q2c.spark import _arrow

SCORES = pa.schema([
    ("device", pa.string()),
    ("place", pa.int64()),
    ("policy", pa.string()),
    ("share", pa.float64()),
])
"""A rule on a volume that keeps the limits there: its place in the sweep, and its objective over
that of the volume's best."""


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A rule for the fleet."""

    policy: str
    """The rule, as `q2c.Rule` takes it."""
    share: float
    """Its objective over that of each volume's best: the mean over the volumes, or the least."""


def shares(volume: _arrow.Row) -> Iterator[_arrow.Row]:
    """The rules that may be chosen on a volume and keep the limits there, as its sweep says."""
    for at, cell in enumerate(json.loads(volume["json"])["cells"]):
        share = cell.get("share")
        if share is not None:
            policy = cell["policy"]
            yield {"device": volume["device"], "place": at, "policy": policy, "share": share}


def scored(sweeps: DataFrame) -> DataFrame:
    """The rules that keep the limits, by volume."""
    read = sweeps.where("error is null").select("device", "json")
    return read.mapInArrow(_arrow.by_row(shares, SCORES), _arrow.ddl(SCORES))


def chosen(scores: DataFrame, volumes: int) -> tuple[Optional[Chosen], Optional[Chosen]]:
    """The best on average and the best in the worst case, of the rules that keep the limits on
    every one of so many volumes. Ties go to the first."""
    # The sum is over a sorted list, so that it does not depend on the order of Spark's tasks.
    of_rule = scores.groupBy("place", "policy").agg(
        F.array_sort(F.collect_list(F.struct("device", "share"))).alias("by_volume"),
        F.min("share").alias("least"),
        F.count("share").alias("volumes"),
    )
    total = F.aggregate("by_volume", F.lit(0.0), lambda so_far, one: so_far + one["share"])
    everywhere = of_rule.where(F.col("volumes") == volumes).select(
        "place", "policy", "least", (total / volumes).alias("mean"))

    def first(by: str) -> Optional[Chosen]:
        rows = everywhere.orderBy(F.desc(by), "place").limit(1).collect()
        return Chosen(rows[0]["policy"], rows[0][by]) if rows else None

    return first("mean"), first("least")
