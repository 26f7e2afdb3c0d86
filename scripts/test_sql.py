#!/usr/bin/env python3
"""Runs the queries of docs/sql.md, and its pieces for Polars, on a trace and compares their rows with values worked out in plain Python.

    scripts/test_sql.py Q2C

The trace is made here: some thousand requests as CSV, imported by q2c. What is compared with comes from `q2c trace export --format csv`, which
is q2c's own reader, and from `q2c analyze --json`. Needs the modules duckdb and polars.
"""

import csv
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
from collections import Counter, defaultdict

import duckdb

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = ("device,op,flags,sector,bytes,lane,queue_ns,getrq_ns,insert_ns,issue_ns,complete_ns,pid,comm,cpu_submit,cpu_complete,"
           "hctx,tag,error").split(",")
REQUESTS = 6000


def pieces(language, comment):
    """Returns the pieces of docs/sql.md in a language by the name in their first line."""
    with open(os.path.join(ROOT, "docs", "sql.md"), encoding="utf-8") as file:
        blocks = re.findall(rf"```{language}\n{comment} (\w+)\n(.*?)```", file.read(), re.S)
    return dict(blocks)


def request(draw, number, clock):
    """Makes a request, as the cells of a CSV row."""
    op = draw.choices(["read", "write", "flush", "discard"], [60, 35, 2, 3])[0]
    stages = [clock + draw.randrange(1, 3_000)]
    inserted = draw.random() < 0.5
    stages.append(stages[-1] + draw.randrange(1, 900) if inserted else None)
    stages.append((stages[-1] or stages[0]) + draw.randrange(1, 2_000))
    stages.append(stages[-1] + int(draw.lognormvariate(11, 1)))
    if draw.random() < 0.01:
        stages[-1] = None
    cpu = draw.randrange(8)
    failed = stages[-1] is not None and draw.random() < 0.01
    return {
        "device": draw.choice(["259:0", "259:0", "8:16"]), "op": op, "flags": draw.choice([0, 1, 9]),
        "sector": 0 if op == "flush" else draw.choice([draw.randrange(400) * 8, draw.randrange(1 << 22) * 8]),
        "bytes": 0 if op == "flush" else draw.choice([4096, 4096, 16384, 131072]), "lane": cpu % 3, "queue_ns": clock,
        "getrq_ns": stages[0], "insert_ns": stages[1], "issue_ns": stages[2], "complete_ns": stages[3], "pid": 100 + cpu % 3,
        "comm": ["fio", "jbd2/sda-8", "a, \"b\""][cpu % 3], "cpu_submit": cpu, "cpu_complete": draw.randrange(8), "hctx": cpu // 2 if number % 50 else None,
        "tag": number % 64, "error": None if stages[-1] is None else -5 if failed else 0,
    }


def make(q2c, folder):
    """Makes the trace. Returns its path, and its rows as q2c reads them."""
    draw, clock, rows = random.Random(1), 0, []
    for number in range(REQUESTS):
        rows.append(request(draw, number, clock))
        clock += 40_000_000 if number % 1500 == 1499 else draw.randrange(1, 120_000)
    source, trace = os.path.join(folder, "rows.csv"), os.path.join(folder, "trace.parquet")
    with open(source, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    maps = ",".join(f"{name}={name}" for name in COLUMNS)
    run([q2c, "trace", "import", source, "--format", "csv", "--unit", "ns", "--columns", maps, "--out", trace])
    text = run([q2c, "trace", "export", trace, "--format", "csv"])
    found = [{key: cell(key, value) for key, value in row.items()} for row in csv.DictReader(text.splitlines())]
    for name in COLUMNS:
        # The import numbers lanes anew, in the order of their first request.
        if name != "lane" and [row[name] for row in found] != [row[name] for row in rows]:
            sys.exit(f"failed to make the trace: column {name} came back changed")
    return trace, found


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def cell(name, text):
    if name in ("layer", "device", "op", "comm"):
        return text
    return int(text) if text else None


def rank(values, q):
    """The value of the nearest rank."""
    values = sorted(values)
    return values[max(1, math.ceil(q * len(values))) - 1]


def groups(rows, *names):
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return sorted(found.items())


def done(rows):
    return [row for row in rows if row["complete_ns"] is not None]


def q2c_of(row):
    return row["complete_ns"] - row["queue_ns"]


# For each query there is one function, which returns the rows that the query must return.


def description(rows):
    return None


def percentiles(rows):
    for (op,), some in groups(done(rows), "op"):
        times = [q2c_of(row) for row in some]
        yield (op, len(times), rank(times, 0.5), rank(times, 0.99), rank(times, 0.999), max(times))


def iops(rows):
    tenths = Counter()
    size = Counter()
    for row in rows:
        tenths[row["queue_ns"] // 10**8] += 1
        size[row["queue_ns"] // 10**8] += row["bytes"]
    return [(tenth, tenths[tenth] * 10, size[tenth] * 10) for tenth in sorted(tenths)]


def in_flight(rows):
    edges = sorted([(row["queue_ns"], 1) for row in done(rows)] + [(row["complete_ns"], -1) for row in done(rows)])
    found, level, area = {}, 0, 0
    for (ns, step), (after, _) in zip(edges, edges[1:] + edges[-1:]):
        level += step
        most, sum_ns, lasts = found.get(ns // 10**8, (level, 0, 0))
        found[ns // 10**8] = max(most, level), sum_ns + level * (after - ns), lasts + after - ns
        area += level * (after - ns)
    assert area == sum(map(q2c_of, done(rows))) and level == 0
    return [(tenth, most, sum_ns / lasts, sum_ns) for tenth, (most, sum_ns, lasts) in sorted(found.items())]


def queues(rows):
    known = [row for row in rows if row["hctx"] is not None]
    total = Counter(row["device"] for row in known)
    for (device, hctx), some in groups(known, "device", "hctx"):
        yield (device, hctx, len(some), sorted({row["cpu_submit"] for row in some}), len(some) / total[device])


def regions(rows):
    for row in rows:
        row["mib"] = row["sector"] * 512 >> 20
    found = [
        (device, mib, len(some), sum(row["op"] == "write" for row in some), sum(row["bytes"] for row in some))
        for (device, mib), some in groups(rows, "device", "mib")
    ]
    return sorted(found, key=lambda one: (-one[2], one[0], one[1]))[:10]


def reads_after_writes(rows):
    after = []
    for read in (row for row in rows if row["op"] == "read"):
        before = [
            row["complete_ns"] for row in done(rows)
            if row["op"] == "write" and (row["device"], row["sector"]) == (read["device"], read["sector"]) and row["complete_ns"] <= read["queue_ns"]
        ]
        if before:
            after.append(read["queue_ns"] - max(before))
    assert len(after) > 100
    return [(len(after), min(after), rank(after, 0.5))]


def stages(rows):
    for (op,), some in groups(done(rows), "op"):
        whole = sum(map(q2c_of, some))
        part = lambda a, b: sum(row[b] - row[a] for row in some) / whole
        yield (op, len(some), part("queue_ns", "getrq_ns"), part("getrq_ns", "issue_ns"), part("issue_ns", "complete_ns"))


def slowest(rows):
    for slow in sorted(done(rows), key=lambda row: (-q2c_of(row), row["id"]))[:10]:
        others = [
            row for row in done(rows)
            if row["device"] == slow["device"] and row is not slow and row["queue_ns"] < slow["complete_ns"] and row["complete_ns"] > slow["queue_ns"]
        ]
        yield (slow["id"], slow["op"], q2c_of(slow), len(others), sum(row["op"] == "write" for row in others), sum(row["bytes"] for row in others))


def idle(rows):
    gaps = []
    for (device,), some in groups(done(rows), "device"):
        until = None
        for row in sorted(some, key=lambda row: (row["queue_ns"], row["id"])):
            if until is not None and row["queue_ns"] > until:
                gaps.append((device, until, row["queue_ns"] - until))
            until = max(until or 0, row["complete_ns"])
    assert len(gaps) >= 10
    return sorted(gaps, key=lambda gap: (-gap[2], gap[0], gap[1]))[:10]


def processes(rows):
    found = []
    for (comm, pid), some in groups(rows, "comm", "pid"):
        times = [q2c_of(row) for row in done(some)]
        found.append((comm, pid, len(some), sum(row["op"] == "read" for row in some), sum(row["bytes"] for row in some),
                      sum(times) / len(times), sum(bool(row["error"]) for row in some)))
    return sorted(found, key=lambda one: (-one[2], one[0], one[1]))


def devices(rows):
    found = []
    for (device,), some in groups(rows, "device"):
        times = [q2c_of(row) for row in done(some)]
        lasts = max(row["complete_ns"] for row in done(some)) - min(row["queue_ns"] for row in some)
        found.append((device, len(some), sum(row["op"] == "read" for row in some) / len(some), sum(row["bytes"] for row in some),
                      sum(times), sum(times) / len(times), rank(times, 0.99), lasts))
    return sorted(found, key=lambda one: (-one[4], one[0]))


def seeks(rows):
    for (device,), some in groups([row for row in rows if row["bytes"]], "device"):
        some.sort(key=lambda row: (row["queue_ns"], row["id"]))
        far = [abs(row["sector"] - before["sector"] - -(-before["bytes"] // 512)) for before, row in zip(some, some[1:])]
        yield (device, len(far), far.count(0), sum(far) / len(far))


def working_set(rows):
    for (device,), some in groups([row for row in rows if row["bytes"]], "device"):
        times = Counter(block for row in some for block in range(row["sector"] * 512 // 4096, -(-(row["sector"] * 512 + row["bytes"]) // 4096)))
        yield (device, len(times) * 4096, sum(times.values()) / len(times))


EXPECTED = [description, percentiles, iops, in_flight, queues, regions, reads_after_writes, stages, slowest, idle, processes, devices, seeks, working_set]


def same(left, right):
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


def compare(found, function, rows):
    expected = list(function([dict(row) for row in rows]))
    assert len(found) == len(expected) > 0, f"{len(found)} rows, expected {len(expected)}"
    for got, wanted in zip(found, expected):
        assert len(got) == len(wanted) and all(map(same, got, wanted)), f"found {got}, expected {wanted}"


def check(name, sql, trace, function, rows):
    found = duckdb.sql(sql.replace("'trace.parquet'", f"'{trace}'")).fetchall()
    if name == "description":
        assert json.loads(found[0][0])["source"] == "csv", found
        return
    compare(found, function, rows)


def check_polars(name, begin, piece, trace, function, rows):
    names = {}
    exec(begin.replace("trace.parquet", trace) + piece, names)
    compare(names["found"].rows(), function, rows)


def every_query_is_checked(statements):
    assert sorted(statements) == sorted(function.__name__ for function in EXPECTED), sorted(statements)


def types(trace, rows):
    """Checks the types of the table in docs/sql.md, and that a value is null where the source had none."""
    wanted = {
        "VARCHAR": "layer device op comm", "BOOLEAN": "missed", "INTEGER": "error",
        "UINTEGER": "flags lane depth_at_submit pid cpu_submit cpu_complete hctx tag",
        "UBIGINT": "id sector bytes queue_ns getrq_ns insert_ns issue_ns complete_ns submit_ns submit_end_ns reap_ns sleep_asked_ns"
                   " slept_ns cgroup merged_into",
    }
    found = duckdb.sql(f"DESCRIBE SELECT * FROM '{trace}'").fetchall()
    assert {row[0]: row[1] for row in found} == {name: kind for kind, names in wanted.items() for name in names.split()}, found
    for name in ("insert_ns", "complete_ns", "submit_ns", "hctx", "missed", "error"):
        nulls = duckdb.sql(f"SELECT count(*) FROM '{trace}' WHERE {name} IS NULL").fetchall()[0][0]
        assert nulls == sum(row[name] is None for row in rows), f"{name}: {nulls} nulls"


def folder_of_devices(q2c, trace, statements):
    """Checks that a query gives the same rows on the folder with a trace for each device."""
    folder = os.path.join(os.path.dirname(trace), "fleet")
    run([q2c, "trace", "import", trace, "--partition-by", "device", "--stretch-rows", "1000", "--out", folder])
    for name in ("devices", "percentiles", "iops", "seeks"):
        whole = duckdb.sql(statements[name].replace("'trace.parquet'", f"'{trace}'")).fetchall()
        parts = duckdb.sql(statements[name].replace("'trace.parquet'", f"'{folder}/*/*.parquet'")).fetchall()
        assert len(parts) == len(whole) > 1, (name, parts, whole)
        assert all(same(a, b) for one, other in zip(parts, whole) for a, b in zip(one, other)), (name, parts, whole)


def analysis(q2c, trace, statements):
    """Checks that SQL gives the same numbers as q2c's own analysis."""
    stages = json.loads(run([q2c, "analyze", trace, "--json"]))["stages"]["Q2C"]
    n, mean, most = duckdb.sql(f"SELECT count(*), avg(complete_ns - queue_ns), max(complete_ns - queue_ns) FROM '{trace}' WHERE complete_ns IS NOT NULL").fetchall()[0]
    assert (stages["n"], stages["max_ns"]) == (n, most), stages
    assert math.isclose(stages["mean_ns"], mean, rel_tol=1e-9), stages
    told = json.loads(run([q2c, "analyze", trace, "--json"]))["seeks"]
    told = [(one["device"], one["n"], one["sequential"], one["mean_sectors"]) for one in told]
    found = duckdb.sql(statements["seeks"].replace("'trace.parquet'", f"'{trace}'")).fetchall()
    assert len(told) == len(found) and all(same(a, b) for one, other in zip(sorted(told), found) for a, b in zip(one, other)), (told, found)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    q2c, failed, passed = os.path.abspath(sys.argv[1]), 0, 0
    statements, frames = pieces("sql", "--"), pieces("python", "#")
    begin, functions = frames.pop("begin"), {function.__name__: function for function in EXPECTED}
    with tempfile.TemporaryDirectory() as folder:
        trace, rows = make(q2c, folder)
        tests = [(every_query_is_checked, (statements,)), (types, (trace, rows)), (analysis, (q2c, trace, statements)),
                 (folder_of_devices, (q2c, trace, statements))]
        tests += [(check, (f.__name__, statements.get(f.__name__, ""), trace, f, rows)) for f in EXPECTED]
        tests += [(check_polars, (name, begin, piece, trace, functions[name], rows)) for name, piece in frames.items()]
        for test, arguments in tests:
            name = f"{test.__name__} {arguments[0]}" if test in (check, check_polars) else test.__name__
            try:
                test(*arguments)
                passed += 1
                print(f"test {name} ... ok")
            except Exception:  # A failed test must not hide the others.
                failed += 1
                print(f"test {name} ... FAILED\n{traceback.format_exc()}")
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; 0 ignored")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
