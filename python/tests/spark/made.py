"""Makes traces of a fleet in public formats, with one volume that has half of all rows.

    python made.py FOLDER --rows 2000000 --volumes 100 --files 8 [--format alibaba|msr] [--seed 1]

Every file has the rows of a stretch of time, sorted, and of all volumes. The seed and the file's
number decide all of its rows, so that a part of a large fleet can be made again.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

SECOND = 1_000_000
"""Microseconds."""
START_US = 1_577_808_000 * SECOND
"""The first second of 2020 in China, in which Alibaba's set begins."""
FILE_TIME_1970 = (369 * 365 + 89) * 86_400 * 10 * SECOND
"""Windows' file time of 1970, 100 ns."""
SIZES = np.array([4096, 8192, 16384, 65536, 131072], dtype=np.int64)


@dataclasses.dataclass(frozen=True)
class Fleet:
    """What is made."""

    rows: int
    volumes: int
    files: int
    format: str = "alibaba"
    seed: int = 1
    rows_per_second: int = 20_000

    def rows_of(self, file: int) -> int:
        """Rows of a file; the first ones have one more where they do not come out even."""
        return self.rows // self.files + (file < self.rows % self.files)


def table(fleet: Fleet, file: int) -> pa.Table:
    """The rows of a file: volume, whether it is a read, bytes, start in us, latency in ns."""
    rows = fleet.rows_of(file)
    draw = np.random.Generator(np.random.PCG64([fleet.seed, file]))
    before = sum(fleet.rows_of(other) for other in range(file))
    begin = START_US + before * SECOND // fleet.rows_per_second
    length = max(rows * SECOND // fleet.rows_per_second, 1)
    # Volume 0 has half of the rows; of the others each has fewer than the one before.
    weights = 1.0 / np.arange(1, fleet.volumes)
    weights = np.concatenate([[weights.sum() or 1.0], weights])
    volume = np.searchsorted(np.cumsum(weights / weights.sum()), draw.random(rows)).astype(np.int64)
    volume = np.minimum(volume, fleet.volumes - 1)
    latency = np.round(np.exp(draw.normal(11.5, 0.6, rows)) / 100).astype(np.int64) * 100
    return pa.table({
        "volume": volume,
        "read": draw.random(rows) < 0.3,
        "offset": draw.integers(0, 10_000_000, rows) * 4096,
        "length": SIZES[draw.integers(0, len(SIZES), rows)],
        "start_us": np.sort(draw.integers(begin, begin + length, rows)),
        "latency_ns": latency * (1 + volume % 7),
    })


def cells(fleet: Fleet, made: pa.Table) -> pa.Table:
    """The columns of the format."""
    read, column = made["read"].to_numpy(), made.column
    if fleet.format == "alibaba":
        columns = {
            "device_id": column("volume"),
            "opcode": pa.array(np.where(read, "R", "W")),
            "offset": column("offset"),
            "length": column("length"),
            "timestamp": column("start_us"),
        }
    else:
        start = column("start_us").to_numpy() * 10 + FILE_TIME_1970
        columns = {
            "Timestamp": pa.array(start),
            "Hostname": pa.array(np.char.add("host", column("volume").to_numpy().astype(str))),
            "DiskNumber": pa.array(np.zeros(made.num_rows, dtype=np.int64)),
            "Type": pa.array(np.where(read, "Read", "Write")),
            "Offset": column("offset"),
            "Size": column("length"),
            "ResponseTime": pa.array(column("latency_ns").to_numpy() // 100),
        }
    return pa.table(columns)


def first_of_each(fleet: Fleet) -> pa.Table:
    """A request of each volume at the fleet's first instant, so that all volumes count from it."""
    return pa.table({
        "volume": np.arange(fleet.volumes),
        "read": np.ones(fleet.volumes, dtype=bool),
        "offset": np.zeros(fleet.volumes, dtype=np.int64),
        "length": np.full(fleet.volumes, 4096),
        "start_us": np.full(fleet.volumes, START_US),
        "latency_ns": np.full(fleet.volumes, 100_000),
    })


def write(fleet: Fleet, folder: Path, together: bool = False) -> None:
    """Writes the fleet's files; with `together` one more, by which all volumes begin together."""
    folder.mkdir(parents=True, exist_ok=True)
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    for file in range(fleet.files):
        path = folder / f"part-{file:05}.csv"
        pyarrow.csv.write_csv(cells(fleet, table(fleet, file)), path, options)
    if together:
        pyarrow.csv.write_csv(cells(fleet, first_of_each(fleet)), folder / "first.csv", options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--volumes", type=int, default=100)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--format", choices=["alibaba", "msr"], default="alibaba")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    fleet = Fleet(args.rows, args.volumes, args.files, args.format, args.seed)
    write(fleet, args.folder)


if __name__ == "__main__":
    main()
