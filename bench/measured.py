"""Functions that the measuring scripts of this folder share."""

import argparse
import json
import math
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def parser(description, path=str):
    """A parser with the options that all scripts have. `path` turns the value of --q2c into a path."""
    found = argparse.ArgumentParser(description=description.split("\n")[0])
    found.add_argument("--q2c", type=path, default="target/release/q2c")
    found.add_argument("--json", help="write all runs here")
    return found


def keep(path, runs):
    """Writes the runs as JSON where --json named a file."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(runs, file, indent=1)


def ratio(found, digits=3):
    """An `interval` as text."""
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(*found, d=digits)


def output(command):
    """Runs a command and returns its output. Ends the program if the command fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed to run {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def apart(function, *args):
    """Calls `function` of a script in a process of its own, so that this process stays small; `child` says why."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args)


def child(command, folder=None):
    """Runs a command. Returns its wall time in seconds, its output, and its largest memory in MB (10^6 bytes).

    Linux counts the memory of the parent at the fork as memory of the process. A maximum that is not above it is unknown, and not a number is returned.
    """
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
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = usage.ru_maxrss * 1.024 / 1000 if usage.ru_maxrss > own else math.nan
    return seconds, said, memory


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
