#!/usr/bin/env python3
"""What q2c trace record costs: fio at full load alone and recorded, in rounds of three runs in random order.

    bench/capture_cost.py TARGET [--pairs 15] [--seconds 2] [--jobs 2] [--depth 64] [--bs 4k] [--q2c PATH] [--out FOLDER] [--json FILE]

Each round runs fio twice alone (the second is the A/A control) and once under `q2c trace record`. What counts is the ratio of IOPS within a
round: median, and the narrowest interval of order statistics that covers it with 95 % at least. Of every recording it is checked that the
records that fio's threads queued and those lost make fio's number of I/Os, and the median latency in the trace is set beside fio's own.

Standard library only. Needs fio, read access to TARGET, the capabilities that q2c trace record names, and a quiet machine.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile

from measured import interval, output


def fio_command(args, seed, report):
    return [
        "fio", "--name=cost", f"--filename={args.target}", "--direct=1", "--rw=randread", f"--bs={args.bs}", f"--iodepth={args.depth}",
        f"--numjobs={args.jobs}", "--group_reporting", "--norandommap", f"--randseed={seed}", "--time_based", f"--runtime={args.seconds}s",
        "--ioengine=io_uring", "--readonly", "--output-format=json", f"--output={report}",
    ]


def read_report(report):
    with open(report, encoding="utf-8") as file:
        text = file.read()
    os.remove(report)
    read = json.loads(text[text.index("{"):])["jobs"][0]["read"]
    return {"iops": read["iops"], "ios": read["total_ios"], "p50_ns": read["clat_ns"]["percentile"]["50.000000"]}


def alone(args, seed):
    report = os.path.join(args.out, "fio.json")
    output(fio_command(args, seed, report))
    return read_report(report)


def recorded(args, seed):
    report, trace = os.path.join(args.out, "fio.json"), os.path.join(args.out, "cost.trace")
    size = ["--op", "read", "--min-size", args.bs, "--max-size", args.bs]
    info = json.loads(output([args.q2c, "trace", "record", args.target, *size, "--out", trace, "--json", "--", *fio_command(args, seed, report)]))
    os.remove(trace)
    run = read_report(report)
    meta = info["meta"]
    run.update(records=info["summary"]["records"], lost=meta["lost"], unmatched=meta["unmatched"], q2c_p50_ns=info["summary"]["q2c"]["p50_ns"])
    if run["records"] + run["lost"] < run["ios"]:
        print(f"fio did {run['ios']} I/Os, recorded are {run['records']}, lost {run['lost']}, {meta['unmatched']}", file=sys.stderr)
    return run


def run(args):
    rounds = []
    for number in range(args.pairs):
        order = ["recorded", "alone", "again"]
        random.Random(number).shuffle(order)
        one = {}
        for who in order:
            one[who] = (recorded if who == "recorded" else alone)(args, args.seed + number)
        rounds.append(one)
    over = lambda who, by: interval([r[who]["iops"] / r[by]["iops"] for r in rounds])
    median = lambda who, what: statistics.median(r[who][what] for r in rounds)
    return {
        "target": args.target,
        "pairs": args.pairs,
        "iops": {who: median(who, "iops") for who in ("alone", "recorded")},
        "ratio": over("recorded", "alone"),
        "control": over("again", "alone"),
        "records_missing": sum(max(0, r["recorded"]["ios"] - r["recorded"]["records"]) for r in rounds),
        "lost": sum(r["recorded"]["lost"] for r in rounds),
        "p50_ns": {"fio": median("recorded", "p50_ns"), "q2c": median("recorded", "q2c_p50_ns")},
        "rounds": rounds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--depth", type=int, default=64)
    parser.add_argument("--bs", default="4k")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--q2c", default="target/release/q2c")
    parser.add_argument("--out", help="folder for traces, better not on the target's disk [default: a temporary one]")
    parser.add_argument("--json", help="write all runs here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        args.out = args.out or folder
        result = run(args)
    ratio = lambda name: "{:.3f} [{:.3f}, {:.3f}]".format(*result[name])
    print(f"{args.target}: IOPS alone {result['iops']['alone']:.0f}, recorded {result['iops']['recorded']:.0f}")
    print(f"recorded to alone {ratio('ratio')}, control {ratio('control')} (median, 95 %) over {args.pairs} rounds")
    print(f"records missing {result['records_missing']}, counted as lost {result['lost']}; median latency: fio {result['p50_ns']['fio']:.0f} ns, Q2C {result['p50_ns']['q2c']:.0f} ns")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
