"""Ctrl-C ends what takes long, and other threads run meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import BLOCK, USER

# Each prints a line before it begins, and is endless, or takes minutes.
SWEEP = f"""
    begin()
    q2c.sweep({str(USER)!r}, "min:ratio=0.1%..99%/0.02%,period=1ms..200ms/1ms", long=True)
"""
STREAM = f"""
    import pyarrow
    batches = pyarrow.table(q2c.read({str(BLOCK)!r})).to_batches()
    def endless():
        while True:
            yield from batches
    begin()
    q2c.analyze(pyarrow.RecordBatchReader.from_batches(batches[0].schema, endless()))
"""


@pytest.mark.parametrize("work", [SWEEP, STREAM], ids=["sweep", "stream"])
def test_ctrl_c_ends_it(work: str) -> None:
    script = """
    import threading, time, q2c
    ticks = []
    def tick():
        while True:
            ticks.append(time.monotonic())
            time.sleep(0.01)
    def begin():
        threading.Thread(target=tick, daemon=True).start()
        print("begun", flush=True)
    try:
    {}
    except KeyboardInterrupt:
        longest = max(b - a for a, b in zip(ticks, ticks[1:]))
        print("interrupted", len(ticks), longest, flush=True)
    """
    body = textwrap.indent(textwrap.dedent(work).strip(), "        ")
    text = textwrap.dedent(script).replace("{}", body)
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        time.sleep(2)
        assert child.poll() is None, "it ended by itself"
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        words = child.stdout.readline().split()
        child.wait(timeout=60)
    assert words and words[0] == "interrupted"
    assert time.monotonic() - sent < 30
    # The other thread was not held up: it ticked all the time, and never waited as long as the work took.
    assert int(words[1]) > 20 and float(words[2]) < 1
