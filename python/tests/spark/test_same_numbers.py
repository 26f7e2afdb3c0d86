"""The same data give the same JSON: by the program, by Python and by Spark."""

from __future__ import annotations

import json
from pathlib import Path

import expected
import made
import pytest
import q2c
from pyspark.sql import SparkSession
from q2c import spark as fleet_of

FORMATS = [("alibaba", 0, expected.ALIBABA), ("msr", 1, expected.MSR)]


@pytest.mark.parametrize(("format", "column", "_"), FORMATS, ids=["alibaba", "msr"])
@pytest.mark.parametrize("stretch_rows", [1_000_000, 7_000], ids=["whole", "in stretches"])
def test_a_volume_is_that_of_the_program(
    format: str, column: int, _: object, stretch_rows: int, spark: SparkSession, tmp_path: Path
) -> None:
    fleet = made.Fleet(rows=60_000, volumes=3, files=4, format=format)
    made.write(fleet, tmp_path / "text", together=True)
    out = str(tmp_path / "fleet")
    done = fleet_of.import_fleet(
        spark, str(tmp_path / "text"), out, format=format, stretch_rows=stretch_rows)
    assert (done.rows, done.volumes, done.bad_files, done.unmatched) == (60_003, 3, {}, {})
    volumes = expected.by_volume(tmp_path / "text", column, tmp_path / "volumes")
    with fleet_of.analyze_fleet(spark, out) as analysis:
        rows = {row["device"]: row for row in analysis.volumes.collect()}
        assert len(rows) == 3
        assert (rows[device_of(format, "0")]["traces"] > 2) == (stretch_rows < 10_000)
        for name, path in volumes.items():
            row = rows[device_of(format, name.removeprefix("host"))]
            alone = expected.alone(path, tmp_path, format)
            found = row["json"]
            if format == "msr":
                # A host that is alone has the number 1.
                found = found.replace(f'"{row["device"]}"', '"1:0"')
            assert expected.figures(found) == expected.figures(alone)


def device_of(format: str, volume: str) -> str:
    """Alibaba's volumes are of major 1; hosts are numbered by name."""
    return f"1:{volume}" if format == "alibaba" else f"{int(volume) + 1}:0"


def test_a_trace_of_the_layout_is_a_trace_of_the_program(
    spark: SparkSession, tmp_path: Path
) -> None:
    made.write(made.Fleet(rows=20_000, volumes=3, files=2, format="msr"), tmp_path / "text")
    out = str(tmp_path / "fleet")
    fleet_of.import_fleet(spark, str(tmp_path / "text"), out, format="msr")
    files = fleet_of.volumes(spark, out).orderBy("device", "number").collect()
    assert [row["device"] for row in files] == ["1:0", "2:0", "3:0"]
    with fleet_of.analyze_fleet(spark, out) as analysis:
        for row in files:
            told = expected.program("analyze", row["path"], "--json").rstrip("\n")
            assert told == q2c.analyze(row["path"]).json()
            assert told == analysis.volume(row["device"]).json()
            facts = json.loads(expected.program("trace", "info", row["path"], "--json"))
            assert f"host host{int(row['device'][0]) - 1}" in json.dumps(facts)
