"""A table of ten million rows is analysed in place."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROWS = 10_000_000

SCRIPT = """
import gc, sys
import numpy, pyarrow as pa, q2c

rows = int(sys.argv[1])
kinds = {f.name: f.type for f in pa.schema(q2c.read(sys.argv[2]))}

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

def column(name, kind):
    number = numpy.arange(rows, dtype="uint64")
    starts = number * 10_000
    stages = {"queue_ns": 0, "getrq_ns": 700, "insert_ns": 900, "issue_ns": 1_500, "complete_ns": 81_500}
    if name in stages:
        return pa.array(starts + stages[name])
    if name in ("layer", "device", "op", "comm"):
        texts = {"layer": ["block"], "device": ["259:0"], "op": ["read", "write"], "comm": ["fio", "dd"]}[name]
        return pa.DictionaryArray.from_arrays(pa.array((number % len(texts)).astype("int32")), texts)
    if name in ("submit_ns", "submit_end_ns", "reap_ns", "sleep_asked_ns", "slept_ns", "missed", "cgroup", "merged_into"):
        return pa.nulls(rows, kind)
    values = {"id": number, "sector": number * 8, "bytes": numpy.full(rows, 4096)}.get(name, number % 4)
    return pa.array(values.astype(kind.to_pandas_dtype()))

empty = status("VmRSS")
table = pa.table({name: column(name, kind) for name, kind in kinds.items()})
gc.collect()
pa.default_memory_pool().release_unused()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak counts from here
before = status("VmRSS")
size = before - empty  # what the table takes; numpy made some of its columns, pyarrow others
analysis = q2c.analyze(table)
peak = status("VmHWM")
assert analysis.requests == analysis.completed == rows
assert analysis.stages["Q2C"]["min_ns"] == analysis.stages["Q2C"]["max_ns"] == 81_500
print(size, before, peak, table.nbytes)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table() -> None:
    from conftest import BLOCK

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROWS), str(BLOCK)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    size, before, peak, told = map(int, done.stdout.split())
    grown = peak - before
    print(f"table {size / 1e6:.0f} MB, grown by {grown / 1e6:.1f} MB ({grown / size:.2%})")
    assert 0.9 * told < size < 1.1 * told and size > 100 * ROWS, f"a table of {told} bytes takes {size}"
    assert grown <= 0.05 * size
