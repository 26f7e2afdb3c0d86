"""What the measuring scripts of this folder have in common."""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time


def output(command):
    """What a command printed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed to run {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def child(command, folder=None):
    """Wall time of a process in seconds, its output, and its greatest memory in MB (10^6 bytes)."""
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"failed to run {' '.join(command)}: exit status {process.returncode}: {errors.read().strip()}")
    return seconds, said, usage.ru_maxrss * 1.024 / 1000


def interval(values):
    """Median, and the narrowest symmetric order-statistic interval of at least 95 %."""
    values, n = sorted(values), len(values)
    tail, rank = 0.0, 0
    while tail + math.comb(n, rank) / 2**n <= 0.025:
        tail += math.comb(n, rank) / 2**n
        rank += 1
    if rank == 0:
        sys.exit(f"failed to give a 95 % interval of {n} pairs: six are needed at least")
    return statistics.median(values), values[rank - 1], values[n - rank]
