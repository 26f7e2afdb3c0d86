"""The rule that suits all volumes of a fleet, chosen as a sweep over several traces chooses it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any, Optional

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import q2c
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


def eligible(rules: set[str], free_interrupts: bool) -> set[str]:
    """The rules of a sweep that may be chosen: those that do not follow the device only where there
    are no others, and none whose interrupts cost nothing in the simulation."""
    known = {policy["name"]: policy for policy in q2c.policies()}
    any_follows = any(known[rule]["follows_device"] for rule in rules)
    return {
        rule for rule in rules
        if (known[rule]["follows_device"] or not any_follows)
        and not (free_interrupts and known[rule]["interrupts"])
    }


def shares(volume: _arrow.Row, options: dict[str, Any]) -> Iterator[_arrow.Row]:
    """The rules that keep the limits on a volume."""
    told = json.loads(volume["json"])
    cells, floor = told["cells"], told["answers"][0]["floor_iops"]
    may = eligible({cell["rule"] for cell in cells}, options.get("cost") is None)
    p99, cpu = limit_ns(options.get("max_p99")), options.get("max_cpu")

    def kept(cell: dict[str, Any]) -> bool:
        return (
            cell["rule"] in may
            and cell["iops"] >= floor
            and (p99 is None or cell["p99_ns"] <= p99)
            and (cpu is None or cell["cpu_pct"] <= cpu)
        )

    scores = {at: score(cell, told["objective"]) for at, cell in enumerate(cells) if kept(cell)}
    best = max(scores.values(), default=1.0)
    for at, found in scores.items():
        policy = cells[at]["policy"]
        yield {"device": volume["device"], "place": at, "policy": policy, "share": found / best}


def score(cell: dict[str, Any], objective: str) -> float:
    """The objective as a number above 0 that is larger for a better cell."""
    if objective == "cpu":
        return 1.0 / max(float(cell["cpu_pct"]), 1e-300)
    return float(cell["kiops_per_core" if objective == "kiops-per-core" else "iops"])


def limit_ns(given: Any) -> Optional[float]:
    """A duration as the options of a sweep have it: a text with a unit, or a number of ns."""
    if not isinstance(given, str):
        return None if given is None else float(given)
    units: dict[str, float] = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    unit = given.lstrip("0123456789.")
    return float(given.removesuffix(unit)) * units[unit]


def scored(sweeps: DataFrame, options: dict[str, Any]) -> DataFrame:
    """The rules that keep the limits, by volume."""
    read = sweeps.where("error is null").select("device", "json")
    return read.mapInArrow(
        _arrow.by_row(lambda volume: shares(volume, options), SCORES), _arrow.ddl(SCORES)
    )


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
