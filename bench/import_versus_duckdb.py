#!/usr/bin/env python3
"""q2c trace import and DuckDB's COPY on the same file: rows of Alibaba's format to a Parquet file sorted by time.

    bench/import_versus_duckdb.py [--rows 20000000] [--rounds 5] [--q2c PATH] [--folder FOLDER] [--json FILE]

The file is made in a temporary folder and deleted at the end. Its rows are in the order of time:
device, R or W, offset, length and microseconds. Each round runs both programs, in an order that
changes. Time is wall time: of the whole process for q2c, and of the COPY alone for DuckDB, whose
start is not counted. The result is the median ratio of the rounds with their range. q2c syncs its
file to the disk; DuckDB leaves that to the system.

DuckDB's file has the five columns of the source. q2c's file has all columns of a trace, most of them empty.

Needs the Python module duckdb (scripts/prerequisites.sh test makes an environment with it), 2 GB of disk and a quiet machine.
"""

import json
import os
import statistics
import sys
import tempfile

from measured import apart, child, keep, parser

GENERATE = """
COPY (
    SELECT hash(i) % 1000 AS device, CASE WHEN hash(i + 1) % 4 = 0 THEN 'R' ELSE 'W' END AS op,
           hash(i + 2) % 10485760 * 4096 AS "offset", 4096 << (hash(i + 3) % 4)::INTEGER AS length,
           1577808000000000 + i * 37 AS time
    FROM range({rows}) rows(i)
) TO '{csv}' (FORMAT csv, HEADER false)
"""
COPY = """
COPY (
    SELECT * FROM read_csv('{csv}', header = false, columns = {{
        'device': 'UINTEGER', 'op': 'VARCHAR', 'offset': 'UBIGINT', 'length': 'UBIGINT', 'time': 'UBIGINT'
    }}) ORDER BY time
) TO '{out}' (FORMAT parquet, COMPRESSION zstd)
"""
RUN = "import duckdb, sys, time; b = time.monotonic(); duckdb.sql(sys.argv[1]); print(time.monotonic() - b)"


def q2c(args, csv, out):
    command = [args.q2c, "trace", "import", csv, "--format", "alibaba", "--out", out, "--json"]
    seconds, said, memory = child(command)
    records = json.loads(said)["summary"]["records"]
    if records != args.rows:
        sys.exit(f"failed to import with q2c: expected {args.rows} records, found {records}")
    return seconds, memory


def duckdb(_, csv, out):
    _, said, memory = child([sys.executable, "-c", RUN, COPY.format(csv=csv, out=out)])
    return float(said.split()[-1]), memory


def generate(rows, csv):
    """Makes the file, and returns DuckDB's version."""
    import duckdb as module

    module.sql(GENERATE.format(rows=rows, csv=csv))
    return module.__version__


def main():
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--folder", help="where the temporary folder is made")
    args = options.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        csv, out = os.path.join(folder, "rows.csv"), os.path.join(folder, "out.parquet")
        version = apart(generate, args.rows, csv)
        print(f"{args.rows} rows, {os.path.getsize(csv) / 1e6:.0f} MB; {os.cpu_count()} CPUs; DuckDB {version}", flush=True)
        for number in range(args.rounds):
            order = [q2c, duckdb] if number % 2 == 0 else [duckdb, q2c]
            found = {}
            for who in order:
                seconds, memory = who(args, csv, out)
                found[who.__name__] = {"s": seconds, "mb": memory, "bytes_per_record": os.path.getsize(out) / args.rows}
                os.remove(out)
            rounds.append(found)
            told = [f"{who} {run['s']:6.2f} s {run['mb']:5.0f} MB {run['bytes_per_record']:5.2f} B per record" for who, run in sorted(found.items())]
            print(f"round {number + 1}: {'; '.join(told)}", flush=True)
    ratios = [found["duckdb"]["s"] / found["q2c"]["s"] for found in rounds]
    print(f"DuckDB's time / q2c's: median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")
    keep(args.json, {"duckdb": version, "rows": args.rows, "rounds": rounds})


if __name__ == "__main__":
    main()
