"""Expected values that q2c's Spark layer has no part in: the program's, and those of DuckDB."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import duckdb

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("Q2C_PROGRAM", str(ROOT / "target/release/q2c"))


def program(*words: object) -> str:
    """What the program prints."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(text: str) -> dict[str, Any]:
    """The figures of an analysis as text, without what names its input: bitwise equal where the
    texts are."""
    told: dict[str, Any] = json.loads(text, parse_float=str)
    del told["input"]
    return told


def alone(rows: Path, folder: Path, format: str) -> str:
    """The JSON of the program's analysis of a text, by an import of its own."""
    trace = folder / f"{rows.stem}.parquet"
    program("trace", "import", rows, "--format", format, "--sort", "--out", trace)
    return program("analyze", trace, "--json")


ALIBABA = {
    "device": "BIGINT", "op": "VARCHAR", "at": "BIGINT", "bytes": "BIGINT", "us": "BIGINT",
}
MSR = {
    "ticks": "BIGINT", "host": "VARCHAR", "disk": "INTEGER", "op": "VARCHAR", "at": "BIGINT",
    "bytes": "BIGINT", "response": "BIGINT",
}
"""The columns of the formats, as DuckDB reads their text."""


def sql(files: Path, columns: dict[str, str], query: str) -> list[tuple[Any, ...]]:
    """A query of DuckDB on the text files, as the table `rows`."""
    with duckdb.connect() as database:
        database.execute(
            f"CREATE VIEW rows AS SELECT * FROM read_csv('{files}/*.csv', header=false, "
            f"auto_detect=false, delim=',', columns={columns})"
        )
        found: list[tuple[Any, ...]] = database.execute(query).fetchall()
    return found


def by_volume(files: Path, column: int, out: Path) -> dict[str, Path]:
    """The lines of each volume in a file of its own, in the order of their files. The volume is in
    the cell of this number."""
    out.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    for path in sorted(files.glob("*.csv")):
        for line in path.read_text().splitlines(keepends=True):
            lines.setdefault(line.split(",")[column], []).append(line)
    paths = {volume: out / f"volume-{volume}.csv" for volume in lines}
    for volume, path in paths.items():
        path.write_text("".join(lines[volume]))
    return paths
