#!/usr/bin/env python3
"""How exactly timed replayers keep the schedule: q2c, fio and btreplay on the same traces in turns, seen by the kernel.

    bench/replay_accuracy.py --target TARGET [--rounds 3] [--rates 1000,10000,50000] [--seconds 10] [--tools q2c,fio,...] [--span 2]
                             [--q2c PATH] [--q2c-args "..."] [--out FOLDER] [--json FILE]

The target, a block device or a file on one, is opened for reading only. Traces: 4 KiB reads in random places of its first --span GiB, none twice,
at each rate evenly spaced and as a Poisson process. A trace is one file of binary blktrace (Q events, ns), which fio replays as it is,
btrecord turns into btreplay's records, and `q2c trace import` into a q2c trace. In each round the tools replay a trace in random order.

The time of a request is the time of its event block_bio_queue (see queued.py), and not what a tool
says. A request is found by its sector. Its error is its time minus the origin minus its due time.
There are two origins: with `first` the error of the first request is zero, and with `median` the
median error is zero, which makes the mean absolute error as small as any constant can. `late` is
max(error, 0). Every figure is the median [lowest, highest] of the rounds.

Tools:
    q2c          q2c replay --mode timed; its own lateness is printed beside
    q2c-spin     the same with --spin: it never sleeps
    fio          libaio, depth 256, binary blktrace: it waits the gap to the request before; an iolog of version 3, in us, does the same
    fio-wait     an iolog of version 2 with a wait before each ms: fio takes these, other than documented, as ms since its start
    btreplay     btrecord's bunches: up to 8 requests or 10 ms are issued at the time of the first
    btreplay-1   btrecord -M 1: each request at its own time

btreplay opens what it replays on for writing also where it only reads. What runs here is a copy of it that opens for reading only: the
flags O_RDWR | O_DIRECT | O_NOATIME in its code lose O_RDWR, nothing else changes. Its threads can miss each other's end, mostly on devices
that answer at once: then it has done all of its I/O and waits for ever. It is ended after 4 times the trace's length and 10 s.

Standard library only. Needs fio, btrecord and btreplay for these, root for tracefs, and a quiet machine.
"""

import json
import math
import os
import random
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measured import keep, parser
from queued import Queued, place
from replayers import TOOLS, Trace, read_only_btreplay

PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
OURS = ("q2c", "q2c-spin")
REST = 1.0  # s between runs


def matched(reads, sectors):
    """Returns the time of each request. Where several threads read a block, the read of the thread with most reads counts."""
    number = {sector: i for i, sector in enumerate(sectors)}
    known = [read for read in reads if read.sector in number]
    share = {}
    for read in known:
        share[read.thread] = share.get(read.thread, 0) + 1
    best = {}
    for read in known:
        i = number[read.sector]
        if i not in best or share[read.thread] > share[best[i].thread]:
            best[i] = read
    comms = sorted({read.comm.rstrip(b"\0").decode(errors="replace") for read in best.values()})
    odd = sum(read.sectors != 8 for read in best.values())
    return {i: read.time for i, read in best.items()}, {"again": len(known) - len(best), "odd_size": odd, "comms": comms}


def ranks(values):
    values = sorted(values)
    return {name: values[math.ceil(share * len(values)) - 1] for name, share in PERCENTILES.items()}


def judged(times, due):
    """Returns the figures of a run: times in ns, and counts."""
    first = min(times)
    errors = {i: times[i] - times[first] - (due[i] - due[first]) for i in times}
    middle = statistics.median_low(errors.values())
    last, overtaken = -1, 0
    for i in sorted(times, key=lambda i: (times[i], i)):
        overtaken += i < last
        last = max(last, i)
    return {
        "seen": len(times), "expected": len(due), "drift": errors[max(times)], "median_error": middle, "overtaken": overtaken,
        "from_first_to_last": max(times.values()) - min(times.values()), "planned": due[-1],
        "first": ranks(map(abs, errors.values())), "first_late": ranks(max(e, 0) for e in errors.values()),
        "median": ranks(abs(e - middle) for e in errors.values()), "median_late": ranks(max(e - middle, 0) for e in errors.values()),
    }


def of_itself(text):
    """Returns the figures that q2c gives for its own run."""
    result = json.loads(text)
    return {name: result.get(name) for name in ("lateness_ns", "own_lateness_ns", "end_drift_ns", "valid", "saturated", "issued", "submitter_cpu_s")}


def ran(command, limit):
    """Runs a command. Returns its wall time (None if it did not end within the limit) and its output."""
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            text = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            process.kill()
            process.wait()
        # Exit code 7: q2c says that the replay was not valid.
        if process.returncode not in (0, 7):
            errors.seek(0)
            sys.exit(f"failed to run {shlex.join(command)}: exit status {process.returncode}: {errors.read().strip()}")
        return time.monotonic() - began, text


def run(args, tool, trace, folder, queued, slots):
    command = TOOLS[tool](args, trace, folder)
    os.sync()
    time.sleep(REST)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    (wall, text), reads, lost = queued.record(lambda: ran(command, 4 * args.seconds + 10))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if wall is None and not tool.startswith("btreplay"):
        sys.exit(f"failed to run {shlex.join(command)}: it did not end")
    times, how = matched(reads, [slots[block] for block in trace.blocks])
    if not times:
        sys.exit(f"failed to see any request of {shlex.join(command)}: {len(reads)} other reads, {lost} lost")
    result = judged(times, trace.due) | how | {"tool": tool, "trace": trace.name, "wall_s": wall, "lost": lost, "others": len(reads) - len(times)}
    result["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if tool in OURS:
        result["itself"] = of_itself(text)
    return result


def over(runs, get, scale=1.0, form=".1f"):
    """Returns median [lowest, highest] as text, or one number when all are equal."""
    values = sorted(get(run) * scale for run in runs if get(run) is not None)
    if not values:
        return "-"
    told = [format(value, form) for value in (statistics.median(values), values[0], values[-1])]
    return told[0] if told[1] == told[2] else f"{told[0]} [{told[1]}, {told[2]}]"


def arrivals(groups):
    yield "| trace | tool | seen of expected | lost events | wall, s | first to last, s | planned, s | end drift, ms | overtaken | CPU, s |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for (trace, tool), runs in groups:
        yield (f"| {trace} | {tool} | {over(runs, lambda r: r['seen'], form='.0f')} of {runs[0]['expected']} "
               f"| {over(runs, lambda r: r['lost'], form='.0f')} | {over(runs, lambda r: r['wall_s'], form='.2f')} "
               f"| {over(runs, lambda r: r['from_first_to_last'], 1e-9, '.3f')} | {runs[0]['planned'] / 1e9:.3f} "
               f"| {over(runs, lambda r: r['drift'], 1e-6, '.3f')} | {over(runs, lambda r: r['overtaken'], form='.0f')} "
               f"| {over(runs, lambda r: r['cpu_s'])} |")


def errors(groups):
    heads = [f"{kind} {name}" for kind in ("abs", "late") for name in PERCENTILES]
    yield f"| trace | tool | origin | {' | '.join(heads)} |"
    yield f"|{'---|' * (len(heads) + 3)}"
    for (trace, tool), runs in groups:
        for origin in ("first", "median"):
            cells = [over(runs, lambda r: r[kind][name], 1e-3) for kind in (origin, f"{origin}_late") for name in PERCENTILES]
            yield f"| {trace} | {tool} | {origin} | {' | '.join(cells)} |"
        if tool in OURS:
            yield f"| {trace} | {tool} of itself | schedule |{' |' * len(PERCENTILES)} {' | '.join(said(runs))} |"


def said(runs):
    """Yields the percentiles of the lateness that q2c gives for itself."""
    for key in ("p50", "p99", "p999", "max"):
        known = all((one["itself"]["lateness_ns"] or {}).get(key) is not None for one in runs)
        yield over(runs, lambda r: r["itself"]["lateness_ns"][key], 1e-3) if known else "not said"


def told(runs):
    groups = {}
    for one in runs:
        groups.setdefault((one["trace"], one["tool"]), []).append(one)
    yield from arrivals(groups.items())
    yield "\nErrors in us: absolute, and late alone:\n"
    yield from errors(groups.items())
    for one in runs:
        if one["wall_s"] is None:
            yield f"\n{one['trace']}, {one['tool']}: did not end, was ended"
        if one["odd_size"] or one["lost"] or "itself" in one and not one["itself"]["valid"]:
            yield f"\n{one['trace']}, {one['tool']}: {one['odd_size']} not of 4 KiB, {one['lost']} events lost, of itself {one.get('itself')}"


def measured(args, folder):
    where = place(args.target, args.span << 30)
    if any(tool.startswith("btreplay") for tool in args.tools):
        args.btreplay = read_only_btreplay(args, folder)
    traces = [Trace(kind, rate, args.seconds, len(where.slots)) for rate in args.rates for kind in ("even", "poisson")]
    for trace in traces:
        os.mkdir(f"{folder}/{trace.name}")
        trace.blktrace(f"{folder}/{trace.name}/trace.blktrace.0", where.device)
    runs = []
    with Queued(where.device, max(len(trace.due) for trace in traces)) as queued:
        for number in range(args.rounds):
            for trace in traces:
                order = list(args.tools)
                random.Random(f"{trace.name} {number}").shuffle(order)
                for tool in order:
                    runs.append({"round": number} | run(args, tool, trace, f"{folder}/{trace.name}", queued, where.slots))
                    if args.verbose:
                        print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
    return sorted(runs, key=lambda one: ([t.name for t in traces].index(one["trace"]), args.tools.index(one["tool"]), one["round"]))


def arguments():
    options = parser(__doc__)
    listed = lambda text: text.split(",")
    options.add_argument("--target", required=True)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--rates", type=lambda text: [int(rate) for rate in text.split(",")], default=[1_000, 10_000, 50_000], help="per second")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--tools", type=listed, default=list(TOOLS), help=f"[default: {','.join(TOOLS)}]")
    options.add_argument("--span", type=int, default=2, help="GiB of the target")
    options.add_argument("--q2c-args", default="", help="more arguments of q2c replay")
    options.add_argument("--out", default="/dev/shm", help="folder for traces, better not on the target's disk")
    options.add_argument("--verbose", action="store_true", help="each run on stderr as it ends")
    args = options.parse_args()
    if unknown := set(args.tools) - set(TOOLS):
        options.error(f"unknown tools {sorted(unknown)}; expected some of {','.join(TOOLS)}")
    return args


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("failed to finish: terminated"))
    before = os.stat(args.target)
    with tempfile.TemporaryDirectory(dir=args.out) as folder:
        runs = measured(args, folder)
    after = os.stat(args.target)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        sys.exit(f"failed to leave {args.target} alone: it was written meanwhile")
    print("\n".join(told(runs)))
    keep(args.json, runs)


if __name__ == "__main__":
    main()
