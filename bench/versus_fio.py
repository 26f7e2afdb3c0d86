#!/usr/bin/env python3
"""q2c bench and fio side by side: the same file, flags and CPU, in rounds of three runs in random order.

    bench/versus_fio.py TARGET [--case NAME ...] [--rw randread] [--pairs 15] [--seconds 2] [--cpu 1] [--q2c PATH] [--out FOLDER]
        [--json FILE]

Each round runs q2c once and fio twice; the second fio is the A/A control. The result is the ratio
within a round: the median over the rounds, and the narrowest interval of order statistics that
covers it with at least 95 % (it assumes no shape of the distribution). IOPS are those of the steady
part. CPU is the user and system time of the job's thread per I/O, as fio counts it. The CPU of the
kernel's I/O workers, which only q2c counts, is shown apart. Both programs record the latency of
every I/O. With a mix such as --rw randrw:70 the IOPS of reads and of writes are compared, too. A
pattern that writes overwrites TARGET.

Standard library only. Needs fio, access to TARGET, and a quiet machine.
"""

import json
import random
import statistics
import sys
import tempfile

from measured import interval, keep, output, parser, ratio

# name: (q2c's engine, depth, fio's options for the same interface)
CASES = {
    "io_uring-1": ("io_uring", 1, ["--ioengine=io_uring", "--fixedbufs", "--registerfiles"]),
    "io_uring-32": ("io_uring", 32, ["--ioengine=io_uring", "--fixedbufs", "--registerfiles"]),
    "libaio-32": ("libaio:reap=kernel", 32, ["--ioengine=libaio"]),
    "pvsync2-1": ("pvsync2", 1, ["--ioengine=pvsync2"]),
}
WARM_UP = 0.5


def q2c(args, case, seed):
    engine, depth, _ = CASES[case]
    text = output([
        args.q2c, "bench", args.target, "--engine", engine, "--method", "interrupt", "--jobs", "1", "--depth", str(depth),
        "--bs", "4k", "--rw", args.rw, "--seconds", str(args.seconds), "--warm-up", str(WARM_UP), "--trials", "1",
        "--cpus", str(args.cpu), "--seed", str(seed), "--out", args.out, "--json",
        *(["--allow-write", args.target] if "w" in args.rw else []),
    ])
    cell = json.loads(text)["cells"][0]
    if cell["failures"]:
        sys.exit(f"failed to measure {case} with q2c: {cell['failures']}")
    iops, cpu = cell["iops"]["median"], cell["cpu"]
    kinds = {kind["op"]: kind["iops"]["median"] for kind in cell.get("kinds", [])}
    return iops, cpu["job_s"]["median"] / iops * 1e9, cpu["helper_s"]["median"] / iops * 1e9, kinds


def fio_pattern(rw):
    """fio's options for a pattern of q2c."""
    name, *more = rw.split(":")
    options = [f"--rw={name}"]
    for option in more:
        key, _, value = option.rpartition("=")
        options.append({
            "": f"--rwmixread={value}",
            "zipf": f"--random_distribution=zipf:{value}",
            "fdatasync": f"--fdatasync={value}",
        }[key])
    return options if "w" in name else [*options, "--readonly"]


def fio(args, case, seed):
    _, depth, options = CASES[case]
    text = output([
        "fio", "--name=versus", f"--filename={args.target}", "--direct=1", *fio_pattern(args.rw), "--bs=4k", f"--iodepth={depth}",
        "--norandommap", f"--randseed={seed}", "--time_based", f"--runtime={args.seconds}s", f"--ramp_time={int(WARM_UP * 1000)}ms",
        f"--cpus_allowed={args.cpu}", "--output-format=json", *options,
    ])
    job = json.loads(text[text.index("{"):])["jobs"][0]
    ways = {way: job[way] for way in ("read", "write") if job[way]["total_ios"]}
    ios = sum(way["total_ios"] for way in ways.values())
    if job["error"] or not ios:
        sys.exit(f"failed to measure {case} with fio: error {job['error']}")
    # Per thread; fio's job_runtime adds the time of both directions up in a mix.
    busy = (job["usr_cpu"] + job["sys_cpu"]) / 100 * max(way["runtime"] for way in ways.values()) * 1e6
    kinds = {name: way["iops"] for name, way in ways.items()}
    return sum(kinds.values()), busy / ios, None, kinds


def run(args, case, folder):
    args.out = args.out or folder
    rounds = []
    for number in range(args.pairs):
        order = ["q2c", "fio", "again"]
        random.Random(f"{case} {number}").shuffle(order)
        one = {}
        for who in order:
            measure = q2c if who == "q2c" else fio
            one[who] = measure(args, case, args.seed + number)
        rounds.append(one)
    over = lambda a, b, i: interval([r[a][i] / r[b][i] for r in rounds])
    median = lambda who, i: statistics.median(r[who][i] for r in rounds)
    kinds = [name for name in ("read", "write") if all(len(one[who][3]) > 1 for one in rounds for who in one)]
    of_kind = lambda a, b, name: interval([r[a][3][name] / r[b][3][name] for r in rounds])
    by_kind = {
        f"{name}_iops_{what}": of_kind(a, "fio", name)
        for name in kinds
        for what, a in (("ratio", "q2c"), ("control", "again"))
    }
    return {
        **by_kind,
        "case": case,
        "target": args.target,
        "pairs": args.pairs,
        "iops": {"q2c": median("q2c", 0), "fio": median("fio", 0)},
        "cpu_ns_per_io": {"q2c": median("q2c", 1), "fio": median("fio", 1)},
        "workers_ns_per_io": median("q2c", 2),
        "iops_ratio": over("q2c", "fio", 0),
        "iops_control": over("again", "fio", 0),
        "cpu_ratio": over("q2c", "fio", 1),
        "cpu_control": over("again", "fio", 1),
        "rounds": rounds,
    }


def told(result):
    ratios = {name: ratio(found) for name, found in result.items() if name.endswith(("_ratio", "_control"))}
    kinds = "".join(
        f"\n{'':12} {name} IOPS {ratios[f'{name}_iops_ratio']}  control {ratios[f'{name}_iops_control']}"
        for name in ("read", "write")
        if f"{name}_iops_ratio" in ratios
    )
    return (
        f"{result['case']:12} IOPS {result['iops']['q2c']:9.0f} / {result['iops']['fio']:9.0f}  {ratios['iops_ratio']}"
        f"  control {ratios['iops_control']}\n{'':12} CPU ns/I/O {result['cpu_ns_per_io']['q2c']:6.0f} / {result['cpu_ns_per_io']['fio']:6.0f}"
        f"  {ratios['cpu_ratio']}  control {ratios['cpu_control']}  (q2c's workers: {result['workers_ns_per_io']:.0f}){kinds}"
    )


def versus(description):
    """A parser with the options of the scripts that set q2c beside fio."""
    options = parser(description)
    options.add_argument("target")
    options.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    options.add_argument("--pairs", type=int, default=15)
    options.add_argument("--seconds", type=int, default=2)
    return options


def every_case(args, measure, told):
    """Measures the cases that were asked for, each in a folder for q2c's runs, and keeps the results."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for case in args.case:
            results.append(measure(args, case, folder))
            print(told(results[-1]), flush=True)
    keep(args.json, results)


def main():
    options = versus(__doc__)
    options.add_argument("--rw", default="randread", help="the pattern, as q2c names it [default: randread]")
    options.add_argument("--cpu", type=int, default=1)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", help="folder for q2c's runs [default: a temporary one]")
    args = options.parse_args()
    print(f"{args.target}: q2c / fio ({output(['fio', '--version']).strip()}), ratio of q2c to fio [95 %], control: fio to fio", flush=True)
    every_case(args, run, told)


if __name__ == "__main__":
    main()
