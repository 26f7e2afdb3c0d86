#!/usr/bin/env python3
"""q2c analyze and blkparse + btt on the same blktrace files, in turns.

    cargo build --release -p q2c -p q2c-analyze --example blktrace_speed
    bench/analyze_versus_btt.py [--events 20] [--rounds 6] [--q2c PATH] [--maker PATH] [--json FILE]

The example makes the files of 8 CPUs with --events million events: Q, G, I, D and C of random 4 KiB
reads and writes on a SCSI disk, some hundred in flight, with completions on other CPUs. The script
then measures wall time and largest resident set from the files to the figures, of `q2c analyze BASE
--json` and of blktrace's tools for the same work: `blkparse -i BASE -d FILE -O`, then `btt -i
FILE`. Every round runs both in random order, and q2c once more as A/A control. The mean latencies
of both results are compared, so that neither is fast because it leaves something out.

Standard library only. Needs blkparse and btt, and about 100 bytes of disk per event in the temporary folder.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

from measured import child, interval, keep, parser, ratio

RECORD = 48  # bytes, version 7, without payload


def run(commands, folder):
    """Returns wall time in seconds, largest memory in MB, and the output of the last command."""
    runs = [child(command, folder) for command in commands]
    return sum(run[0] for run in runs), max((run[2] for run in runs if run[2] == run[2]), default=float("nan")), runs[-1][1]


def mean_of_btt(said, stage):
    line = next(line.split() for line in said.splitlines() if line.startswith(f"{stage} "))
    return float(line[2]) * 1e9, int(line[4])


def main():
    options = parser(__doc__, os.path.abspath)
    options.add_argument("--events", type=int, default=20, help="millions")
    options.add_argument("--maker", type=os.path.abspath, default="target/release/examples/blktrace_speed")
    options.add_argument("--rounds", type=int, default=6)
    args = options.parse_args()
    ways = {
        "q2c": [[args.q2c, "analyze", "sda", "--json"]],
        "btt": [["blkparse", "-i", "sda", "-d", "sda.bin", "-O"], ["btt", "-i", "sda.bin"]],
        "again": [[args.q2c, "analyze", "sda", "--json"]],
    }
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([args.maker, str(args.events), folder], check=True)
        events = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) // RECORD
        rounds = []
        for number in range(args.rounds):
            order = list(ways)
            random.Random(number).shuffle(order)
            rounds.append({who: run(ways[who], folder) for who in order})
    said = json.loads(rounds[0]["q2c"][2])["stages"]
    for stage in ("Q2G", "G2I", "I2D", "D2C", "Q2C"):
        mean, count = mean_of_btt(rounds[0]["btt"][2], stage)
        # btt loses an I/O when another I/O on the same sectors is in flight: a few in a million
        # here.
        if not 0 <= said[stage]["n"] - count <= count // 100_000 or abs(said[stage]["mean_ns"] - mean) > 1:
            sys.exit(f"failed to compare: {stage} is {said[stage]} in q2c, n {count} and mean {mean} ns in btt")
    seconds = {who: statistics.median(r[who][0] for r in rounds) for who in ways}
    for who in ("q2c", "btt"):
        memory = max(r[who][1] for r in rounds)
        print(f"{who}: {seconds[who]:.2f} s, {events / seconds[who] / 1e6:.2f} M events/s, {memory:.0f} MB")
    over = lambda a, b: interval([r[a][0] / r[b][0] for r in rounds])
    print(f"btt's time over q2c's {ratio(over('btt', 'q2c'), 1)}; control, q2c over q2c {ratio(over('again', 'q2c'))}; all stages' means agree to 1 ns")
    keep(args.json, {"events": events, "rounds": [{who: r[who][:2] for who in ways} for r in rounds]})


if __name__ == "__main__":
    main()
