#!/usr/bin/env python3
"""q2c bench and fio at the same moment: the same target and flags, a CPU each, both ways round.

    bench/beside_fio.py TARGET [--case NAME ...] [--pairs 15] [--seconds 2] [--cpus 0,1] [--q2c PATH] [--json FILE]

`versus_fio.py` runs one program after the other. Where a shared disk changes by 10 % from second to
second, the interval of its ratio stays as wide as that. Here both programs run at once, so that
changes of the disk meet both. They run twice, with their CPUs swapped, and the geometric mean of
the two ratios is the result of a pair. Each pair is measured for q2c beside fio and, as A/A
control, for fio beside fio. I/Os are counted from outside in the same way for both: by the growth
of read_bytes in /proc/PID/io over the same seconds, after both have started. CPU time is not
compared here, because it depends on which CPU takes the device's interrupts; `versus_fio.py` has
both programs on one CPU.

Standard library only. Needs fio, the right to read /proc/PID/io, two CPUs and read access to TARGET.
"""

import math
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measured import interval, output, ratio
from versus_fio import CASES, every_case, versus

SETTLE = 1.0  # seconds after the first steady I/Os: q2c's warm-up, fio's start
SLICE = 0.25
STEADY = 3  # slices in a row with I/Os
# Seconds to get there. q2c waits a while for a device that others use, so fio starts later.
PATIENCE = 15.0


def q2c(args, case, cpu, folder):
    engine, depth, _ = CASES[case]
    return [
        args.q2c, "bench", args.target, "--engine", engine, "--method", "interrupt", "--jobs", "1", "--depth", str(depth), "--bs", "4k",
        "--rw", "randread", "--seconds", str(args.seconds + 8), "--warm-up", "0.5", "--trials", "1", "--cpus", str(cpu), "--out", folder,
    ]


def fio(args, case, cpu, _folder):
    _, depth, options = CASES[case]
    return [
        "fio", "--name=beside", f"--filename={args.target}", "--direct=1", "--rw=randread", "--bs=4k", f"--iodepth={depth}", "--thread",
        "--norandommap", f"--randseed={cpu}", "--time_based", f"--runtime={args.seconds + 30}s", f"--cpus_allowed={cpu}", "--readonly",
        *options,
    ]


def ios(pid):
    """I/Os of 4 KiB that the process has done so far."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(dict(line.split(": ") for line in file)["read_bytes"]) / 4096


def under_way(process):
    """Waits until the program does I/O without a pause. Its checks before that have pauses."""
    steady, before, until = 0, 0, time.monotonic() + PATIENCE
    while steady < STEADY and process.poll() is None and time.monotonic() < until:
        time.sleep(SLICE)
        now = ios(process.pid)
        steady, before = (steady + 1 if now - before > 16 else 0), now


def together(args, case, left, right, cpus, folder):
    """IOPS of two programs side by side."""
    running = []
    try:
        for who, cpu in zip((left, right), cpus):
            command = who(args, case, cpu, folder)
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            under_way(running[-1])
        time.sleep(SETTLE)
        seen, times = [], []
        while not times or times[-1] - times[0] < args.seconds:
            times.append(time.monotonic())
            seen.append([ios(process.pid) for process in running])
            time.sleep(SLICE)
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        said = [process.communicate()[1] for process in running]
    rates = []
    for who, counts in enumerate(zip(*seen)):
        if any(after <= before for before, after in zip(counts, counts[1:])):
            sys.exit(f"failed to measure {case}: {(left, right)[who].__name__} paused; I/Os so far: {counts}; it said: {said[who]}")
        rates.append((counts[-1] - counts[0]) / (times[-1] - times[0]))
    return rates


def run(args, case, folder):
    pairs = []
    for number in range(args.pairs):
        order = [(who, cpus) for who in (q2c, fio) for cpus in (args.cpus, args.cpus[::-1])]
        random.Random(f"{case} {number}").shuffle(order)
        pair = {"q2c": [], "fio": []}
        for who, cpus in order:
            pair[who.__name__].append(together(args, case, who, fio, cpus, folder))
        pairs.append(pair)
    over = lambda who: interval([math.prod(left / right for left, right in pair[who]) ** 0.5 for pair in pairs])
    iops = [statistics.median(way[i] for pair in pairs for way in pair["q2c"]) for i in (0, 1)]
    return {"case": case, "target": args.target, "pairs": pairs, "iops": iops, "ratio": over("q2c"), "control": over("fio")}


def told(result):
    return f"{result['case']:12} IOPS {result['iops'][0]:9.0f} / {result['iops'][1]:9.0f}  {ratio(result['ratio'])}  control {ratio(result['control'])}"


def main():
    options = versus(__doc__)
    options.add_argument("--cpus", type=lambda text: [int(cpu) for cpu in text.split(",")], default=[0, 1])
    args = options.parse_args()
    print(f"{args.target}: q2c / fio ({output(['fio', '--version']).strip()}) at once, ratio [95 %], control: fio to fio", flush=True)
    every_case(args, run, told)


if __name__ == "__main__":
    main()
