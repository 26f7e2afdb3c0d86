#!/usr/bin/env python3
"""How much memory and time q2c analyze takes over a trace of 100 M requests.

    cargo build --release -p q2c -p q2c-analyze --example blktrace_speed
    bench/analyze_memory.py [--requests 100] [--q2c PATH] [--maker PATH] [--folder FOLDER]

The example makes blktrace files of 20 M events (some 4 M requests with Q, G, I, D and C), which q2c
imports. DuckDB then writes a trace that repeats these requests, each time later by the length of
the trace. The script prints the wall time and the largest resident set of `q2c analyze TRACE
--json` for the short trace and for the long one, and checks that both counts of requests are right.

Needs the module duckdb, and about 6 GB of disk in FOLDER (default: the folder for temporary files).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from measured import apart, child

TIMES = ("queue_ns", "getrq_ns", "insert_ns", "issue_ns", "complete_ns", "submit_ns", "reap_ns", "wake_ns")


def analysed(q2c, trace):
    """Runs q2c analyze. Returns its wall time in seconds, its largest memory in MB, and its result."""
    seconds, said, memory = child([q2c, "analyze", trace, "--json"])
    return seconds, memory, json.loads(said)


def repeated(short, long, times):
    """Writes the requests of `short` to `long`, `times` times one after another. Returns their number."""
    import duckdb

    db = duckdb.connect(config={"memory_limit": "2GB", "preserve_insertion_order": "true", "threads": "2"})
    columns = [row[0] for row in db.execute(f"DESCRIBE SELECT * FROM '{short}'").fetchall()]
    count, last = db.execute(f"SELECT count(*), max(complete_ns) FROM '{short}'").fetchone()
    keys = db.execute(f"SELECT decode(key), decode(value) FROM parquet_kv_metadata('{short}')").fetchall()
    kept = ", ".join("'{}': '{}'".format(key, value.replace("'", "''")) for key, value in keys)

    def column(name, turn):
        later = f"{turn}::UBIGINT * {last + 1000}::UBIGINT"
        if name in TIMES:
            return f"({name} + {later}) AS {name}"
        return f"({name} + {turn}::UBIGINT * {count}::UBIGINT) AS {name}" if name == "id" else name

    rows = lambda turn: f"SELECT {', '.join(column(name, turn) for name in columns)} FROM '{short}'"
    types = dict((row[0], row[1]) for row in db.execute(f"DESCRIBE SELECT * FROM '{short}'").fetchall())
    casts = ", ".join(f"CAST({name} AS {types[name]}) AS {name}" for name in columns)
    parts = " UNION ALL ".join(rows(turn) for turn in range(times))
    db.execute(f"COPY (SELECT {casts} FROM ({parts})) TO '{long}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 131072, KV_METADATA {{{kept}}})")
    return count * times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=float, default=100, help="millions, at least")
    parser.add_argument("--maker", type=os.path.abspath, default="target/release/examples/blktrace_speed")
    parser.add_argument("--q2c", type=os.path.abspath, default="target/release/q2c")
    parser.add_argument("--folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        short, long = os.path.join(folder, "short.parquet"), os.path.join(folder, "long.parquet")
        events = os.path.join(folder, "events")
        os.mkdir(events)
        subprocess.run([args.maker, "20", events], check=True)
        subprocess.run([args.q2c, "trace", "import", os.path.join(events, "sda"), "--out", short], check=True, stdout=subprocess.DEVNULL)
        seconds, memory, said = analysed(args.q2c, short)
        print(f"{said['requests'] / 1e6:.1f} M requests: {seconds:.1f} s, {memory:.0f} MB")
        times = -int(-args.requests * 1e6 // said["requests"])
        wanted = apart(repeated, short, long, times)
        seconds, memory, more = analysed(args.q2c, long)
        print(f"{more['requests'] / 1e6:.1f} M requests: {seconds:.1f} s, {memory:.0f} MB, a file of {os.path.getsize(long) / 1e9:.2f} GB")
        for stage in said["stages"]:
            one, all_ = said["stages"][stage], more["stages"][stage]
            if stage != "Q2Q" and (all_["n"] != one["n"] * times or abs(all_["mean_ns"] - one["mean_ns"]) > 1):
                sys.exit(f"failed to compare {stage}: {one} once, {all_} {times} times")
        if more["requests"] != wanted:
            sys.exit(f"failed to count: {more['requests']} requests of {wanted}")


if __name__ == "__main__":
    main()
