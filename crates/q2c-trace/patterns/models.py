#!/usr/bin/env python3
"""Writes the modelled patterns into a folder, one CSV per pattern: submit, submitted, reap, in ns.

The same files come out on every machine: the generator is seeded with the pattern's name. A
submission takes 1 us. The means of the patterns that are named after a device are those of classic
polling by one thread, 4 KiB random reads, in the DPAS paper (FAST'26: 169.8, 65.36 and 20.7 KIOPS),
less the submission. The paper does not give the spread of the latencies, so their shape is an
assumption: lognormal.
"""
import math
import pathlib
import random
import sys

SUBMIT_US = 1.0


def lognormal(mean_us, sigma):
    mu = math.log(mean_us) - sigma * sigma / 2
    return lambda rng, at: rng.lognormvariate(mu, sigma)


def bimodal(rng, at):
    """A flash read that waits for a program operation in one of ten cases."""
    return rng.gauss(30, 1) if rng.random() < 0.9 else rng.gauss(300, 20)


def phases(rng, at):
    """Interference that comes for 40 ms and goes for 60 ms."""
    return rng.lognormvariate(math.log(30 if at % 100e3 < 60e3 else 120), 0.1)


def waves(rng, at):
    """A device whose latency rises and falls over 200 ms."""
    return (90 + 50 * math.sin(2 * math.pi * at / 200e3)) * rng.lognormvariate(0, 0.05)


def heavy_tail(rng, at):
    """At least 60 us, with a Pareto tail: one of ten thousand takes some 2.4 ms."""
    return 60 * rng.paretovariate(2.5)


def steps(rng, at):
    """A device that is slowed down once for the second half, as by a full write cache."""
    return rng.gauss(40 if at < 400e3 else 100, 3)


MODELS = {
    "constant-50us": (lambda rng, at: 50.0, 8_000),
    "optane-p5800x": (lognormal(1e3 / 169.8 - SUBMIT_US, 0.10), 20_000),
    "zssd-983zet": (lognormal(1e3 / 65.36 - SUBMIT_US, 0.15), 15_000),
    "p41-tlc": (lognormal(1e3 / 20.7 - SUBMIT_US, 0.25), 10_000),
    "lognormal-80us": (lognormal(80, 0.30), 8_000),
    "bimodal-30us-300us": (bimodal, 10_000),
    "phases-30us-120us": (phases, 12_000),
    "waves-40us-140us": (waves, 9_000),
    "steps-40us-100us": (steps, 13_000),
    "heavy-tail-60us": (heavy_tail, 8_000),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, (draw, count) in MODELS.items():
        rng = random.Random(name)
        at, lines = 0.0, ["submit,submitted,reap\n"]
        for _ in range(count):
            submitted = at + SUBMIT_US
            reap = submitted + max(1.0, draw(rng, at))
            lines.append(",".join(f"{us * 1e3:.0f}" for us in (at, submitted, reap)) + "\n")
            at = reap
        (folder / f"{name}.csv").write_text("".join(lines))


if __name__ == "__main__":
    main()
