#!/usr/bin/env python3
"""What q2c trace record costs, and whether it misses anything.

    bench/capture_cost.py TARGET [--rounds 60] [--slice 0.8] [--jobs 2] [--depth 64] [--bs 4k] [--q2c PATH] [--out FOLDER] [--json FILE]

Cost: fio reads at full load all the time. Each round has three slices in random order: one while
`q2c trace record` runs, and two while it does not; the second of these is the A/A control. The
result is the ratio of the IOPS within a round, by the disk's own count of reads: its median, and
the narrowest interval of order statistics that covers the median with at least 95 %. The slices
contain neither the attaching nor the writing of the file.

Truth: whole runs of fio are recorded by `q2c trace record`, at full load and with one request at a
time. The number of records of fio's size and of those counted as lost is compared with fio's number
of I/Os, and the median Q2C with the median of fio's own latencies, which last from before the
submission to the reaping.

Standard library only. Needs fio, read access to TARGET, the capabilities that q2c trace record names, and a quiet machine.
"""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measured import interval, keep, output, parser, ratio

SETTLE = 0.15  # s after the begin and the end of a recording


def fio(args, seconds, report, jobs, depth, seed):
    return [
        "fio", "--name=cost", f"--filename={args.target}", "--direct=1", "--rw=randread", f"--bs={args.bs}", f"--iodepth={depth}",
        f"--numjobs={jobs}", "--group_reporting", "--norandommap", f"--randseed={seed}", "--time_based", f"--runtime={seconds}s",
        "--ioengine=io_uring", "--readonly", "--lat_percentiles=1", "--output-format=json", f"--output={report}",
    ]


def counts_of(target):
    """The file with the counts of the disk that holds the target."""
    found = os.stat(target)
    number = found.st_rdev or found.st_dev
    folder = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if os.path.exists(os.path.join(folder, "partition")):
        folder = os.path.dirname(folder)
    return os.path.join(folder, "stat")


def reads(stat):
    with open(stat, encoding="ascii") as file:
        return int(file.read().split()[0])


def rate(args, stat):
    """IOPS of a slice."""
    before, began = reads(stat), time.monotonic()
    time.sleep(args.slice)
    return (reads(stat) - before) / (time.monotonic() - began)


def rate_recorded(args, stat):
    """IOPS of a slice while all of it is recorded."""
    trace = os.path.join(args.out, "slice.trace")
    command = [args.q2c, "trace", "record", args.target, "--op", "read", "--out", trace]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()
        if not line.startswith("recording "):
            sys.exit(f"failed to record {args.target}: {line}{process.stderr.read().strip()}")
        time.sleep(SETTLE)
        found = rate(args, stat)
        process.send_signal(signal.SIGINT)
        process.stderr.read()
    os.remove(trace)
    time.sleep(SETTLE)
    return found


def cost(args):
    stat = counts_of(args.target)
    report = os.path.join(args.out, "fio.json")
    rounds = []
    load = subprocess.Popen(fio(args, 24 * 3600, report, args.jobs, args.depth, args.seed), stdout=subprocess.DEVNULL)
    try:
        time.sleep(2)
        for number in range(args.rounds):
            order = ["recorded", "alone", "again"]
            random.Random(number).shuffle(order)
            rounds.append({who: (rate_recorded if who == "recorded" else rate)(args, stat) for who in order})
        if load.poll() is not None:
            sys.exit(f"failed to keep the load up: fio ended with status {load.returncode}")
    finally:
        load.terminate()
        load.wait()
    over = lambda who: interval([one[who] / one["alone"] for one in rounds])
    return {"rounds": rounds, "ratio": over("recorded"), "control": over("again")}


def truth(args, jobs, depth, seed):
    """Records a run of fio."""
    report, trace = os.path.join(args.out, "fio.json"), os.path.join(args.out, "run.trace")
    size = ["--op", "read", "--min-size", args.bs, "--max-size", args.bs]
    command = [args.q2c, "trace", "record", args.target, *size, "--out", trace, "--json", "--", *fio(args, 3, report, jobs, depth, seed)]
    recorded = json.loads(output(command))
    os.remove(trace)
    with open(report, encoding="utf-8") as file:
        text = file.read()
    read = json.loads(text[text.index("{"):])["jobs"][0]["read"]
    meta = recorded["meta"]
    return {
        "jobs": jobs, "depth": depth, "ios": read["total_ios"], "records": recorded["summary"]["records"],
        "lost": meta["lost"], "unmatched": meta["unmatched"],
        "fio_p50_ns": read["lat_ns"]["percentile"]["50.000000"], "q2c_p50_ns": recorded["summary"]["q2c"]["p50_ns"],
    }


def told(result):
    cost_of = result["cost"]
    median = lambda who: statistics.median(one[who] for one in cost_of["rounds"])
    yield f"{result['target']}: IOPS alone {median('alone'):.0f}, recorded {median('recorded'):.0f}"
    yield f"recorded to alone {ratio(cost_of['ratio'])}, control {ratio(cost_of['control'])} (median, 95 %) over {len(cost_of['rounds'])} rounds"
    for one in result["truth"]:
        yield (f"{one['jobs']} x depth {one['depth']}: {one['ios']} I/Os of fio, {one['records']} records, {one['lost']} counted as lost, "
               f"unmatched {one['unmatched']}; median latency {one['fio_p50_ns'] / 1e3:.1f} us of fio, Q2C {one['q2c_p50_ns'] / 1e3:.1f} us")


def main():
    options = parser(__doc__)
    options.add_argument("target")
    options.add_argument("--rounds", type=int, default=60)
    options.add_argument("--slice", type=float, default=0.8, help="seconds")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--depth", type=int, default=64)
    options.add_argument("--bs", default="4k")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", help="folder for traces, better not on the target's disk [default: a temporary one]")
    args = options.parse_args()
    with tempfile.TemporaryDirectory(dir=args.out) as folder:
        args.out = folder
        result = {"target": args.target, "cost": cost(args)}
        kinds = [(args.jobs, args.depth)] * 3 + [(1, 1)] * 3
        result["truth"] = [truth(args, jobs, depth, args.seed + n) for n, (jobs, depth) in enumerate(kinds)]
    print("\n".join(told(result)))
    keep(args.json, result)


if __name__ == "__main__":
    main()
