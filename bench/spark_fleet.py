#!/usr/bin/env python3
"""A fleet on Spark: import, analysis and sweep with one worker and with two, beside the program and SQL.

    bench/spark_fleet.py [--rows 200000000] [--volumes 1000] [--files 64] [--format alibaba|msr] [--workers 1,2]
                         [--memory 640m] [--sweep-rows 2000000] [--q2c PATH] [--folder FOLDER] [--json FILE]

The fleet is generated in a temporary folder, which is deleted at the end: volumes of very different
size, of which one has half of all requests. A cluster of Spark is started on the loopback, each
worker with one core. Then, with each number of workers:

- `import_fleet` and `analyze_fleet` of all requests;
- `sweep_fleet` of a fleet of its own in MSR's format with `--sweep-rows` requests, because
  Alibaba's format has no completions and without them nothing can be swept;
- plain PySpark SQL: the counts of requests, reads and bytes of each volume, out of the text.

Once, on all cores of the machine: the program alone (`trace import` of all files and `analyze` of
the trace), and DuckDB with the same query as PySpark. The counts of all ways are compared. Rows per
second are of wall time. The memory of an executor is the largest sum of the memory of its JVM and its
Python processes (PSS: what they share counts once), sampled five times a second.

Needs a Python environment with scripts/python-spark-requirements.txt and q2c, Java 17, and disk for
three times the text (200 M requests of Alibaba's format have 8 GB).
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from measured import child, keep, parser

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/tests/spark"))

QUERY = """
    SELECT device, count(*) AS requests, count_if(op = {read}) AS reads, sum(bytes) AS bytes
    FROM rows GROUP BY device
"""
COLUMNS = {
    "alibaba": ("device long, op string, at long, bytes long, us long", "'R'"),
    "msr": ("ticks long, device string, disk int, op string, at long, bytes long, response long", "'Read'"),
}
RULES = ["min:ratio=20%..80%/20%,period=1ms|10ms"]


class Memory:
    """Samples the memory of the processes that descend from each worker."""

    def __init__(self, workers):
        self.pids = [worker.pid for worker in workers]
        self.peaks = [0] * len(workers)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.over.wait(0.2):
            children = {}
            for entry in os.scandir("/proc"):
                if entry.name.isdigit():
                    with contextlib.suppress(OSError):
                        told = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                        children.setdefault(int(told[1]), []).append(int(entry.name))
            for at, pid in enumerate(self.pids):
                # The worker's own process only starts executors.
                below, total = list(children.get(pid, [])), 0
                while below:
                    one = below.pop()
                    total += proportional(one)
                    below += children.get(one, [])
                self.peaks[at] = max(self.peaks[at], total)

    def of_step(self):
        """The most of each executor since the last call, in MiB."""
        peaks, self.peaks = self.peaks, [0] * len(self.pids)
        return [round(peak / 2**20) for peak in peaks]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def proportional(pid):
    """The memory of a process in bytes (PSS), 0 when it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def timed(runs, name, rows, work, memory=None):
    """Does some work, and notes how long it took, and with how much memory of each executor."""
    began = time.monotonic()
    found = work()
    seconds = time.monotonic() - began
    run = {"what": name, "seconds": seconds, "rows_per_s": rows / seconds}
    told = f"{name}: {seconds:.1f} s, {rows / seconds:,.0f} rows/s"
    if memory:
        run["peak_mib"] = memory.of_step()
        told += f", at most {run['peak_mib']} MiB"
    runs.append(run)
    print(told, flush=True)
    return found


def spark_sql(spark, text, format):
    """The counts of each volume, by Spark alone."""
    schema, read = COLUMNS[format]
    spark.read.csv(str(text), schema=schema).createOrReplaceTempView("rows")
    return sorted(tuple(row)[1:] for row in spark.sql(QUERY.format(read=read)).collect())


def duckdb_sql(text, format):
    """The same by DuckDB."""
    import duckdb

    schema, read = COLUMNS[format]
    types = {"long": "BIGINT", "int": "INTEGER", "string": "VARCHAR"}
    columns = {pair.split()[0]: types[pair.split()[1]] for pair in schema.split(", ")}
    with duckdb.connect() as database:
        database.execute(
            f"CREATE VIEW rows AS SELECT * FROM read_csv('{text}/*.csv', header=false, auto_detect=false, "
            f"delim=',', columns={columns})")
        return sorted(row[1:] for row in database.execute(QUERY.format(read=read)).fetchall())


def on_spark(args, workers, folder, text, sweep_text, runs):
    """All steps with so many workers. Returns the counts of the volumes."""
    from standalone import Cluster, session_on

    from q2c.spark import analyze_fleet, compare_volumes, import_fleet, sweep_fleet

    with Cluster(folder / f"cluster-{workers}", workers, args.memory) as cluster:
        spark = session_on(cluster, "q2c bench")
        label = f"{workers} worker{'s' if workers > 1 else ''}"
        out, sweep_out = str(folder / f"fleet-{workers}"), str(folder / f"sweep-{workers}")
        with Memory(cluster.workers) as memory:
            # The first job starts the executors, which is not what is measured.
            spark.range(1000).repartition(2 * workers).count()
            timed(runs, f"import, {label}", args.rows, lambda: import_fleet(
                spark, str(text), out, format=args.format), memory)
            analysis = timed(runs, f"analysis, {label}", args.rows, lambda: analyze_fleet(spark, out), memory)
            table = compare_volumes(analysis).select("requests", "reads", "bytes").collect()
            analysis.close()
            if args.sweep_rows:
                import_fleet(spark, str(sweep_text), sweep_out, format="msr")
                timed(runs, f"sweep, {label}", args.sweep_rows,
                      lambda: sweep_fleet(spark, sweep_out, RULES, cost="published").close(), memory)
        sql = timed(runs, f"PySpark SQL, {label}", args.rows, lambda: spark_sql(spark, text, args.format))
        spark.stop()
    found = sorted(tuple(row) for row in table)
    if found != sql:
        sys.exit(f"failed to compare: with {label} q2c.spark and PySpark SQL differ")
    return found


def alone(args, text, folder, runs):
    """The program, on all cores."""
    trace = str(folder / "trace.parquet")
    command = [args.q2c, "trace", "import", *map(str, sorted(text.glob("*.csv"))), "--format", args.format,
               "--out", trace, "--json"]
    _, _, memory = timed(runs, "import, program", args.rows, lambda: child(command))
    timed(runs, "analysis, program", args.rows, lambda: child([args.q2c, "analyze", trace, "--json"]))
    # Unknown where this process, which made the text, once had more.
    if not math.isnan(memory):
        runs.append({"what": "memory, program's import", "peak_mib": [round(memory * 1e6 / 2**20)]})
    os.unlink(trace)


def main():
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=200_000_000)
    options.add_argument("--volumes", type=int, default=1000)
    options.add_argument("--files", type=int, default=64)
    options.add_argument("--format", choices=list(COLUMNS), default="alibaba")
    options.add_argument("--workers", default="1,2")
    options.add_argument("--memory", default="640m")
    options.add_argument("--sweep-rows", type=int, default=2_000_000)
    options.add_argument("--folder", help="where the temporary folder is made")
    args = options.parse_args()
    import made

    runs = []
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        text, sweep_text = folder / "text", folder / "sweep-text"
        made.write(made.Fleet(args.rows, args.volumes, args.files, args.format), text)
        made.write(made.Fleet(args.sweep_rows, args.volumes, 2, "msr"), sweep_text)
        size = sum(path.stat().st_size for path in text.glob("*.csv"))
        print(f"{args.rows} rows of {args.volumes} volumes in {args.files} files, {size / 1e6:.0f} MB; "
              f"{os.cpu_count()} CPUs", flush=True)
        counts = timed(runs, "DuckDB SQL, all cores", args.rows, lambda: duckdb_sql(text, args.format))
        alone(args, text, folder, runs)
        for workers in map(int, args.workers.split(",")):
            if on_spark(args, workers, folder, text, sweep_text, runs) != counts:
                sys.exit("failed to compare: q2c.spark and DuckDB differ")
    keep(args.json, runs)


if __name__ == "__main__":
    main()
