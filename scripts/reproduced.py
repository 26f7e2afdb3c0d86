#!/usr/bin/env python3
"""Writes docs/reproduced.md from the JSON of `q2c reproduce --all --json`.

    scripts/reproduced.py all.json 'COMMAND' 'WHAT ELSE USED THE MACHINE' >docs/reproduced.md
"""

import json
import sys
import time
from collections import Counter
from textwrap import fill

HEAD = """Figures are medians [least, largest] of the left side of each comparison, "against" those of its
right side where that is a figure, too."""

FACTORS = {"%": 0.01, "us": 1e3, "ms": 1e6, "s": 1e9, "K": 1e3, "M": 1e6}

DISK = """Nearly all sleeps by Linux's rule end late on this disk, also without a background and on a quiet
machine: it answers in less than 100 us, and the kernel of this guest wakes a sleeper tens of us
late; `q2c poll watch` sees the same. Claims that begin with "no misses without a background" cannot
hold on it."""


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def interval(figure, unit):
    factor = FACTORS.get(unit, 1)
    median, low, high = (number(figure[key] / factor) for key in ("median", "min", "max"))
    return f"{median} [{low}, {high}] {unit}".rstrip()


def sides(figure):
    unit, right = figure["unit"], figure.get("right")
    left = interval(figure, unit)
    return f"{left} against {interval(right, unit)}" if right else left


def cell(text, release):
    # The name of a build says nothing.
    text = (text or "").replace(release, release.split("-")[0])
    return text.replace("|", "\\|").replace("\n", " ")


def counted(claims):
    count = Counter(claim["verdict"] for claim in claims)
    predicted = Counter(claim["verdict"] for claim in claims if claim["basis"] == "predicted")
    words = {
        "holds": "hold",
        "does-not-hold": "do not hold",
        "undecided": "are undecided",
        "cannot-judge": "cannot be judged here",
    }
    told = [f"{count[key]} {word} ({predicted[key]} predicted)" for key, word in words.items()]
    return f"{len(claims)} claims: {', '.join(told)}."


def main():
    path, command, beside = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    machine = result["machine"]
    day = time.strftime("%Y-%m-%d", time.gmtime(result["started_unix_s"]))
    virtual = f" in a virtual machine ({machine['hypervisor']})" if machine["hypervisor"] else ""
    about = (
        f"The verdicts of all experiments on the development machine: {machine['cpu_model']}, "
        f"{len(machine['cpus_online'])} CPUs{virtual}, Linux {machine['kernel'].split('-')[0]}, a scratch file on "
        f"its disk, which has one hardware queue and no poll queues. {day}."
    )
    scaled = (
        f"All times were multiplied by {result['scale']:g}; {beside}. These are no verdicts of a run "
        "at full length, which takes hours; the interference experiments at full length are in the "
        "[journal](journal/2026-11-25-interference-literal.md)."
    )
    claims = [claim for experiment in result["experiments"] for claim in experiment["claims"]]
    print(f"# Reproduced\n\n{fill(about, 100)}\n\n    {command}\n\n{fill(scaled, 100)}\n\n{DISK}\n")
    print(f"{fill(counted(claims), 100)}\n\n{HEAD}")
    for experiment in result["experiments"]:
        print(f"\n## {experiment['name']}\n")
        if experiment["variant_of"]:
            print(f"A variant of {experiment['variant_of']}.\n")
        print("| claim | published | here | verdict | why |\n|---|---|---|---|---|")
        for claim in experiment["claims"]:
            here = "; ".join(sides(figure) for figure in claim["measured"])
            verdict = f"{claim['verdict']}, {claim['basis']}" if here else claim["verdict"]
            row = (claim["says"], claim["published"], here, verdict, claim["why"])
            print("| " + " | ".join(cell(text, machine["kernel"]) for text in row) + " |")


if __name__ == "__main__":
    main()
