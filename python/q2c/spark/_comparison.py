"""The volumes of a fleet side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Optional, Union

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import q2c
from q2c.spark import _arrow
from q2c.spark._analyses import FleetAnalysis

_COUNTS = ("traces", "requests", "reads", "writes", "bytes", "span_ns", "completed", "failed")
_FIGURES = (
    "read_share", "iops", "bytes_per_s", "mean_bytes", "sequential_share", "latency_mean_ns",
    "latency_p50_ns", "latency_p99_ns", "latency_p999_ns", "latency_max_ns", "latency_sum_s",
    "in_flight_mean", "in_flight_most", "active_share",
)
FIGURES = pa.schema([
    ("device", pa.string()),
    *[(name, pa.int64()) for name in _COUNTS],
    *[(name, pa.float64()) for name in _FIGURES],
    ("bottleneck", pa.string()),
])
"""The columns of a comparison; null where the traces do not have the figure."""


def figures(volume: _arrow.Row) -> Iterator[_arrow.Row]:
    """The figures of a volume, out of the JSON of its analysis."""
    told = json.loads(volume["json"])
    by_op = {group["key"]: group["requests"] for group in told["groups"].get("op", [])}
    latency = told["stages"].get("Q2C" if told["layer"] == "block" else "U2C", {})
    seconds, requests = told["span_ns"] / 1e9, told["requests"]
    seeks = told["seeks"][0] if told["seeks"] else {}
    activity = told["activity"] or {}
    yield {
        "device": volume["device"],
        "traces": volume["traces"],
        **{name: told[name] for name in ("requests", "bytes", "span_ns", "completed", "failed")},
        "reads": by_op.get("read", 0),
        "writes": by_op.get("write", 0),
        "read_share": by_op.get("read", 0) / requests,
        "iops": _over(requests, seconds),
        "bytes_per_s": _over(told["bytes"], seconds),
        "mean_bytes": told["bytes"] / requests,
        "sequential_share": _over(seeks.get("sequential"), seeks.get("n")),
        "latency_mean_ns": latency.get("mean_ns"),
        **{f"latency_{name}": latency.get(name) for name in ("p50_ns", "p99_ns", "p999_ns")},
        "latency_max_ns": _over(latency.get("max_ns"), 1),
        "latency_sum_s": told["in_flight"]["sum_q2c_ns"] / 1e9 if latency else None,
        "in_flight_mean": told["in_flight"]["mean"] if latency else None,
        "in_flight_most": _over(told["in_flight"]["most"], 1) if latency else None,
        "active_share": _over(activity.get("active_ns"), told["span_ns"]) if latency else None,
        "bottleneck": (told["bottleneck"] or {}).get("stage"),
    }


def _over(value: Optional[float], by: Optional[float]) -> Optional[float]:
    return float(value) / by if value is not None and by else None


def compare_volumes(
    analysis: Union[FleetAnalysis, DataFrame], by: str = "requests", ascending: bool = False
) -> DataFrame:
    """The figures of the volumes side by side, one row each, ordered by one of them.

    `analysis` is what `analyze_fleet` gave, or its `volumes` as they were read back from a table.
    Raises `UsageError` for a figure that there is not.
    """
    if by not in FIGURES.names:
        raise q2c.UsageError(
            f"failed to order the volumes by `{by}`: expected one of {', '.join(FIGURES.names)}"
        )
    volumes = analysis.volumes if isinstance(analysis, FleetAnalysis) else analysis
    table = volumes.select("device", "traces", "json").mapInArrow(
        _arrow.by_row(figures, FIGURES), _arrow.ddl(FIGURES)
    )
    key: Any = F.col(by).asc_nulls_last() if ascending else F.col(by).desc_nulls_last()
    return table.orderBy(key, "device")


def fleet_quantiles(comparison: DataFrame) -> DataFrame:
    """How the volumes spread: of each figure the least, the quartiles, p90, p99 and the largest
    over the volumes that have it, exact."""
    shares = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
    names = [field.name for field in FIGURES if field.type in (pa.int64(), pa.float64())]
    pairs = [f"'{name}', cast(`{name}` as double)" for name in names]
    long = comparison.selectExpr(f"stack({len(names)}, {', '.join(pairs)}) as (figure, value)")
    quantiles = F.percentile("value", F.array(*[F.lit(share) for share in shares]))
    sums = long.groupBy("figure").agg(F.count("value").alias("volumes"), quantiles.alias("at"))
    labels = ("least", "p25", "p50", "p75", "p90", "p99", "largest")
    columns = [F.col("at")[at].alias(label) for at, label in enumerate(labels)]
    return sums.select("figure", "volumes", *columns).orderBy("figure")
