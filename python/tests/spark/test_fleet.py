"""Comparison and sweeps, against the program and DuckDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import expected
import made
import pytest
import q2c
from pyspark.sql import SparkSession
from q2c import spark as fleet_of

RULES = ["min:ratio=20%..80%/20%,period=1ms|10ms", "pas", "ehp"]
ROWS = 40_000


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    made.write(made.Fleet(rows=ROWS, volumes=4, files=3, format="msr"), folder)
    return folder


@pytest.fixture(scope="module")
def out(spark: SparkSession, text: Path) -> Iterator[str]:
    path = str(text.parent / "fleet")
    fleet_of.import_fleet(spark, str(text), path, format="msr", stretch_rows=6_000)
    yield path


def test_volumes_side_by_side(spark: SparkSession, text: Path, out: str) -> None:
    query = """
        SELECT dense_rank() OVER (ORDER BY host) || ':0' AS device, count(*),
               count(*) FILTER (op = 'Read'), sum(bytes), max(response) * 100,
               sum(response) * 100, (max(ticks + response) - min(ticks)) * 100
        FROM rows GROUP BY host
    """
    truth = {row[0]: row[1:] for row in expected.sql(text, expected.MSR, query)}
    with fleet_of.analyze_fleet(spark, out) as analysis:
        assert analysis.fleet.requests == ROWS
        assert analysis.fleet.bytes == sum(row[2] for row in truth.values())
        table = fleet_of.compare_volumes(analysis).collect()
        quantiles = {row["figure"]: row for row in
                     fleet_of.fleet_quantiles(fleet_of.compare_volumes(analysis)).collect()}
        by_latency = fleet_of.compare_volumes(analysis, by="latency_mean_ns", ascending=True)
        means = [row["latency_mean_ns"] for row in by_latency.collect()]
        with pytest.raises(q2c.UsageError, match="order the volumes by `speed`"):
            fleet_of.compare_volumes(analysis, by="speed")
    assert [row["requests"] for row in table] == sorted(
        (row[0] for row in truth.values()), reverse=True)
    assert means == sorted(means)
    for row in table:
        requests, reads, size, longest, sums, span = truth[row["device"]]
        assert (row["requests"], row["reads"], row["bytes"]) == (requests, reads, size)
        assert (row["latency_max_ns"], row["span_ns"]) == (longest, span)
        assert row["latency_mean_ns"] == pytest.approx(sums / requests, rel=1e-12)
        assert row["latency_sum_s"] == pytest.approx(sums / 1e9, rel=1e-12)
        assert row["iops"] == pytest.approx(requests / span * 1e9, rel=1e-12)
    told = quantiles["requests"]
    assert told["volumes"] == 4
    assert told["least"] == min(row[0] for row in truth.values())
    assert told["largest"] == max(row[0] for row in truth.values())


def test_sweeps_are_those_of_the_program(
    spark: SparkSession, text: Path, out: str, tmp_path: Path
) -> None:
    whole = []
    for host, path in sorted(expected.by_volume(text, 1, tmp_path / "volumes").items()):
        whole.append(str(tmp_path / f"{host}.parquet"))
        expected.program("trace", "import", path, "--format", "msr", "--out", whole[-1])
    devices = [f"{at}:0" for at in range(1, len(whole) + 1)]
    words = [word for rule in RULES for word in ("--policy", rule)]
    given = [*words, "--cost", "published", "--max-p99", "5ms"]
    truth = json.loads(expected.program("poll", "sweep", *whole, *given, "--json"))
    with fleet_of.sweep_fleet(spark, out, RULES, cost="published", max_p99="5ms") as sweep:
        rows = sweep.volumes.orderBy("device").collect()
        found = [json.loads(row["json"]) for row in rows]
    assert [row["device"] for row in rows] == devices
    cells = [[{**cell, "input": 0} for cell in truth["cells"] if cell["input"] == at]
             for at in range(len(devices))]
    assert [volume["cells"] for volume in found] == cells
    best = [truth["cells"][answer["best"]]["policy"] for answer in truth["answers"]]
    assert [row["best"] for row in rows] == best
    for ours, theirs in [(sweep.best, truth["best"]),
                         (sweep.best_worst_case, truth["best_worst_case"])]:
        assert ours is not None
        assert ours.policy == theirs["policy"]
        assert ours.share == pytest.approx(theirs["share"], rel=1e-12)


def test_volumes_that_cannot_be_swept(spark: SparkSession, out: str, tmp_path: Path) -> None:
    with pytest.raises(q2c.UsageError, match="volume 1:0: expected at most 1000 requests.*found"):
        fleet_of.sweep_fleet(spark, out, RULES, most_requests=1_000)
    made.write(made.Fleet(rows=2_000, volumes=2, files=1), tmp_path / "text")
    ends = str(tmp_path / "without-ends")
    fleet_of.import_fleet(spark, str(tmp_path / "text"), ends, format="alibaba")
    with pytest.raises(q2c.InputError, match="expected volumes with completions, found none"):
        fleet_of.sweep_fleet(spark, ends, RULES)
