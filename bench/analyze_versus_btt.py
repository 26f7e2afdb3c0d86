#!/usr/bin/env python3
"""q2c analyze and blkparse + btt on the same blktrace files, in turns.

    bench/analyze_versus_btt.py [--events 5] [--cpus 8] [--rounds 6] [--q2c PATH] [--json FILE]

Makes the files of so many CPUs (millions of events in all: Q, G, I, D, C of random 4 KiB reads and writes on a SCSI disk, some hundred in
flight, completions on other CPUs), then times, from the files to the figures, `q2c analyze BASE --json` and what does the same
with blktrace's tools: `blkparse -i BASE -d FILE -O`, then `btt -i FILE`. Every round runs both in random order, and q2c once more
as A/A control; wall time and the largest resident set. The means of both are compared, so that nobody is fast by leaving something out.

Standard library only. Needs blkparse and btt, and about 150 bytes of disk per event in the temporary folder.
"""

import argparse
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from versus_fio import interval

RECORD = struct.Struct("<IIQQIIIIIHH")  # version 7
LIFE = [(1, 0), (4, 400), (12, 900), (7, 1500), (8, 81_500)]  # action, ns since Q


def write_files(folder, events, cpus):
    """The files BASE.blktrace.N; each I/O has sectors of its own while it is in flight."""
    rng = random.Random(1)
    pending = [[] for _ in range(cpus)]
    at = 1_000_000
    for number in range(events // len(LIFE)):
        at += 200 + rng.randrange(200)
        sector, category, cpu = (number * 7919 % 40_000_000) * 8, 1 + rng.randrange(2), number % cpus
        for action, after in LIFE:
            where = cpu if action != 8 else rng.randrange(cpus)
            pending[where].append((at + after + (rng.randrange(3000) if action == 8 else 0), action | category << 16, sector))
    for cpu, own in enumerate(pending):
        own.sort()
        with open(os.path.join(folder, f"sda.blktrace.{cpu}"), "wb", buffering=1 << 20) as file:
            for sequence, (ns, action, sector) in enumerate(own, 1):
                file.write(RECORD.pack(0x65617407, sequence, ns, sector, 4096, action, 100, 8 << 20, cpu, 0, 0))
    return sum(map(len, pending))


def run(commands, folder):
    """Seconds, KiB at most, and what the last one printed."""
    start, most, said = time.monotonic(), 0, ""
    for command in commands:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"failed to run {' '.join(command)}: status {status}")
        most = max(most, usage.ru_maxrss)
    return time.monotonic() - start, most, said


def mean_of_btt(said, stage):
    line = next(line.split() for line in said.splitlines() if line.startswith(f"{stage} "))
    return float(line[2]) * 1e9, int(line[4])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=float, default=5, help="millions")
    parser.add_argument("--cpus", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--q2c", default=os.path.abspath("target/release/q2c"))
    parser.add_argument("--json", help="write all runs here")
    args = parser.parse_args()
    ways = {
        "q2c": [[args.q2c, "analyze", "sda", "--json"]],
        "btt": [["blkparse", "-i", "sda", "-d", "sda.bin", "-O"], ["btt", "-i", "sda.bin"]],
        "again": [[args.q2c, "analyze", "sda", "--json"]],
    }
    with tempfile.TemporaryDirectory() as folder:
        events = write_files(folder, int(args.events * 1e6), args.cpus)
        rounds = []
        for number in range(args.rounds):
            order = list(ways)
            random.Random(number).shuffle(order)
            rounds.append({who: run(ways[who], folder) for who in order})
    said = json.loads(rounds[0]["q2c"][2])["stages"]
    for stage in ("Q2G", "G2I", "I2D", "D2C", "Q2C"):
        mean, count = mean_of_btt(rounds[0]["btt"][2], stage)
        if said[stage]["n"] != count or abs(said[stage]["mean_ns"] - mean) > 1:
            sys.exit(f"failed to compare: {stage} is {said[stage]} in q2c, n {count} and mean {mean} ns in btt")
    seconds = {who: statistics.median(r[who][0] for r in rounds) for who in ways}
    for who in ("q2c", "btt"):
        memory = max(r[who][1] for r in rounds) / 1024
        print(f"{who}: {seconds[who]:.2f} s, {events / seconds[who] / 1e6:.2f} M events/s, {memory:.0f} MiB")
    ratio = lambda a, b: "{:.1f} [{:.1f}, {:.1f}]".format(*interval([r[a][0] / r[b][0] for r in rounds]))
    control = "{:.3f} [{:.3f}, {:.3f}]".format(*interval([r["again"][0] / r["q2c"][0] for r in rounds]))
    print(f"btt's time over q2c's {ratio('btt', 'q2c')}; control, q2c over q2c {control}; all stages' counts and means agree")
    if args.json:
        runs = [{who: r[who][:2] for who in ways} for r in rounds]
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"events": events, "rounds": runs}, file, indent=1)


if __name__ == "__main__":
    main()
