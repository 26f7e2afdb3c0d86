"""Bad input: what is bad is named, counted, and left out where that was asked for."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import expected
import made
import pyarrow as pa
import pyarrow.parquet
import pytest
import q2c
from pyspark.sql import SparkSession
from q2c import spark as fleet_of

ROWS = 30_000


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A small fleet in Alibaba's format."""
    made.write(made.Fleet(rows=ROWS, volumes=4, files=3), tmp_path / "text")
    return tmp_path / "text"


def rows_by_volume(text: Path) -> list[tuple[str, int]]:
    """The rows of each volume, by DuckDB."""
    query = "SELECT '1:' || device, count(*) FROM rows GROUP BY ALL ORDER BY ALL"
    found: list[tuple[str, int]] = expected.sql(text, expected.ALIBABA, query)
    return found


def rows_of(spark: SparkSession, out: Path) -> list[tuple[str, int]]:
    """The rows of each volume in the layout."""
    sums = fleet_of.volumes(spark, str(out)).groupBy("device").sum("rows")
    return sorted((row[0], row[1]) for row in sums.collect())


def test_a_bad_file_stops_with_its_name_or_is_left_out(
    spark: SparkSession, text: Path, tmp_path: Path
) -> None:
    good = rows_by_volume(text)
    for at in range(20):
        (text / f"more-{at:02}.csv").write_text(f"9,R,0,4096,{made.START_US + at}\n")
    (text / "more-07.csv").write_text("9,R,0,4096,1577808000000000\n9,X,0,4096,1577808000000001\n")
    with pytest.raises(q2c.InputError, match="more-07.csv.*line 2.*opcode"):
        fleet_of.import_fleet(spark, str(text), str(tmp_path / "stopped"), format="alibaba")
    with pytest.raises(q2c.InputError, match="_fleet.json"):
        fleet_of.analyze_fleet(spark, str(tmp_path / "stopped"))
    out = tmp_path / "skipped"
    done = fleet_of.import_fleet(
        spark, str(text), str(out), format="alibaba", on_bad_file="skip")
    assert list(done.bad_files) == [str(text / "more-07.csv")]
    assert "line 2" in done.bad_files[str(text / "more-07.csv")]
    assert (done.sources, done.rows) == (23, ROWS + 19)
    assert rows_of(spark, out) == [*good, ("1:9", 19)]
    told = json.loads((out / "_fleet.json").read_text())
    assert list(told["bad_files"]) == [str(text / "more-07.csv")]


def test_bad_lines_are_left_out_and_counted(
    spark: SparkSession, text: Path, tmp_path: Path
) -> None:
    (text / "bad.csv").write_text("9,R,0,4096,1577808000000000\n9,X,0,4096,1\n9,R,0,0,2\n")
    done = fleet_of.import_fleet(
        spark, str(text), str(tmp_path / "out"), format="alibaba", skip_bad=True)
    assert (done.rows, sum(done.unmatched.values())) == (ROWS + 1, 2)


def test_times_that_go_back_between_files(spark: SparkSession, tmp_path: Path) -> None:
    # The later the file's name, the earlier its times; and two files have the same times.
    lines = [f"1,R,{4096 * at},4096,{made.START_US + 10 * at}\n" for at in range(900)]
    folder = tmp_path / "text"
    folder.mkdir()
    parts = [lines[600:], lines[300:600:2], lines[301:600:2], lines[:300]]
    for name, part in zip("abcd", parts):
        (folder / f"{name}.csv").write_text("".join(part))
    out = tmp_path / "out"
    fleet_of.import_fleet(spark, str(folder), str(out), format="alibaba", stretch_rows=100)
    files = fleet_of.volumes(spark, str(out)).orderBy("number").collect()
    assert len(files) == 9
    tables = [pa.table(q2c.read(row["path"])).select(["id", "sector", "queue_ns"]) for row in files]
    whole = pa.concat_tables(tables)
    assert whole["id"].to_pylist() == list(range(900))
    assert whole["sector"].to_pylist() == [8 * at for at in range(900)]
    assert whole["queue_ns"].to_pylist() == [10_000 * at for at in range(900)]


def test_a_table_in_any_order_with_empty_partitions(
    spark: SparkSession, text: Path, tmp_path: Path
) -> None:
    names = "device_id long, opcode string, offset long, length long, timestamp long"
    table = spark.read.csv(str(text), schema=names).orderBy("offset").repartition(7, "device_id")
    assert table.rdd.glom().map(len).collect().count(0) > 0
    out = tmp_path / "table"
    done = fleet_of.import_fleet(spark, table, str(out), format="alibaba")
    assert done.rows == ROWS
    assert rows_of(spark, out) == rows_by_volume(text)


def test_wrong_columns_of_a_table(spark: SparkSession, text: Path, tmp_path: Path) -> None:
    names = "device_id long, opcode string, offset long, length long, timestamp string"
    table = spark.read.csv(str(text), schema=names)
    with pytest.raises(q2c.InputError, match="timestamp of alibaba: expected a whole.*string"):
        fleet_of.import_fleet(spark, table, str(tmp_path / "a"), format="alibaba")
    with pytest.raises(q2c.InputError, match="column length of alibaba.*found the columns"):
        fleet_of.import_fleet(spark, table.drop("length"), str(tmp_path / "b"), format="alibaba")
    with pytest.raises(q2c.UsageError, match="expected a format that tables can have"):
        fleet_of.import_fleet(spark, table, str(tmp_path / "c"), format="fiu")


def test_a_folder_of_parquet_tables_and_packed_text(
    spark: SparkSession, text: Path, tmp_path: Path
) -> None:
    good = rows_by_volume(text)
    names = [name for name, _ in fleet_of._sources.COLUMNS["alibaba"]]
    read = pyarrow.csv.ReadOptions(column_names=names)
    first, second, _ = sorted(text.glob("*.csv"))
    pa.parquet.write_table(pyarrow.csv.read_csv(first, read), text / "first.parquet")
    with gzip.open(text / "second.csv.gz", "wb") as packed:
        packed.write(second.read_bytes())
    first.unlink()
    second.unlink()
    out = tmp_path / "out"
    fleet_of.import_fleet(spark, str(text), str(out), format="alibaba")
    assert rows_of(spark, out) == good
    (text / "cut.parquet").write_bytes((text / "first.parquet").read_bytes()[:1000])
    with pytest.raises(q2c.InputError, match="cut.parquet"):
        fleet_of.import_fleet(spark, str(text), str(tmp_path / "again"), format="alibaba")


def test_a_large_text_is_read_in_parts(spark: SparkSession, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = fleet_of.import_fleet(spark, str(text), str(out), format="alibaba", part_bytes=150_000)
    assert done.sources == 9
    assert rows_of(spark, out) == rows_by_volume(text)


def test_a_damaged_trace_of_the_layout_is_named(
    spark: SparkSession, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    fleet_of.import_fleet(spark, str(text), str(out), format="alibaba")
    path = Path(fleet_of.volumes(spark, str(out)).where("device = '1:2'").collect()[0]["path"])
    cells = bytearray(path.read_bytes())
    middle = len(cells) // 3
    cells[middle:middle + 64] = bytes(64)
    path.write_bytes(cells)
    with pytest.raises(q2c.InputError, match="1%3A2/000000.parquet"):
        fleet_of.analyze_fleet(spark, str(out))


def test_a_name_that_is_taken_and_clocks_that_differ(
    spark: SparkSession, text: Path, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(q2c.UsageError, match="expected a name that is not taken"):
        fleet_of.import_fleet(spark, str(text), str(tmp_path / "taken"), format="alibaba")
    with pytest.raises(q2c.InputError, match="expected a folder or a file, found none"):
        fleet_of.import_fleet(spark, str(tmp_path / "none"), str(tmp_path / "x"))
    with pytest.raises(q2c.UsageError, match="expected stop or skip"):
        fleet_of.import_fleet(
            spark, str(text), str(tmp_path / "y"), on_bad_file="on")  # type: ignore[arg-type]
    latencies = tmp_path / "latencies.txt"
    latencies.write_text("80\n90\n")
    trace = tmp_path / "own-clock.parquet"
    q2c.import_(latencies, trace, format="latency-list", unit="us", op="read", bs="4k")
    files = [str(trace), *map(str, text.glob("*.csv"))]
    with pytest.raises(q2c.InputError, match="expected times of one clock"):
        fleet_of.import_fleet(spark, files, str(tmp_path / "z"), format="alibaba")


def test_without_pyspark_the_message_says_what_to_install() -> None:
    for module in ("pyspark", "pyarrow"):
        code = f"import sys; sys.modules['{module}'] = None; import q2c; import q2c.spark"
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        last = done.stderr.strip().splitlines()[-1]
        assert last == (
            f"ImportError: failed to load q2c.spark: it needs {module}, which this Python does not "
            "have; install q2c with its extra spark, as docs/fleet.md says"
        )
