"""Makes traces with a known schedule, and the commands of the tools that replay them, for replay_accuracy.py."""

import os
import random
import shlex
import shutil
import struct
import sys

from measured import output

Q_EVENT = struct.Struct("<IIQQIIIIIHH")  # of version 7: magic, number, time, sector, bytes, action, pid, device, CPU, error, payload
QUEUED_READ = 1 | (1 << 0 | 1 << 4) << 16
# ns at which traces begin. fio takes a time of 0 as none, and fio-wait needs more than fio's start
# takes.
FIRST = 2_000_000_000
WRITABLE, READ_ONLY = b"\xbe\x02\x40\x04\x00", b"\xbe\x00\x40\x04\x00"  # mov esi, O_RDWR or O_RDONLY | O_DIRECT | O_NOATIME


class Trace:
    """A schedule: due times in ns from 0, and a block of 4 KiB for each request."""

    def __init__(self, kind, rate, seconds, blocks):
        self.name = f"{kind}-{rate}"
        chance = random.Random(f"{self.name} {seconds}")
        if kind == "even":
            self.due = [i * 10**9 // rate for i in range(round(rate * seconds))]
        else:
            self.due, now = [], 0.0
            while now < seconds:
                self.due.append(round(now * 1e9))
                now += chance.expovariate(rate)
        if len(self.due) > blocks:
            sys.exit(f"failed to make {self.name}: {len(self.due)} requests need as many blocks, the target's span has {blocks}: see --span")
        self.blocks = chance.sample(range(blocks), len(self.due))

    def blktrace(self, path, device):
        with open(path, "wb") as file:
            for i, (due, block) in enumerate(zip(self.due, self.blocks)):
                file.write(Q_EVENT.pack(0x65617407, i + 1, FIRST + due, block * 8, 4096, QUEUED_READ, 1, device, 0, 0, 0))

    def waits(self, path, target):
        last = 0
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"fio version 2 iolog\n{target} add\n{target} open\n")
            for due, block in zip(self.due, self.blocks):
                now = round((FIRST + due) / 1e6)
                if now > last:
                    file.write(f"{target} wait {now} 0\n")
                file.write(f"{target} read {block * 4096} 4096\n")
                last = now


def q2c(args, trace, folder):
    if not os.path.exists(f"{folder}/q2c.trace"):
        output([args.q2c, "trace", "import", f"{folder}/trace.blktrace.0", "--format", "blktrace", "--out", f"{folder}/q2c.trace"])
    return [args.q2c, "replay", f"{folder}/q2c.trace", args.target, "--mode", "timed", "--json", *shlex.split(args.q2c_args)]


def q2c_spin(args, trace, folder):
    return [*q2c(args, trace, folder), "--spin"]


def fio_of(args, log):
    return [
        "fio", "--name=accuracy", f"--read_iolog={log}", f"--replay_redirect={args.target}", "--direct=1", "--ioengine=libaio",
        "--iodepth=256", "--thread", "--readonly", "--allow_file_create=0", "--output-format=json",
    ]


def fio(args, trace, folder):
    return fio_of(args, f"{folder}/trace.blktrace.0")


def fio_wait(args, trace, folder):
    if not os.path.exists(f"{folder}/waits"):
        trace.waits(f"{folder}/waits", args.target)
    return fio_of(args, f"{folder}/waits")


def btreplay_of(args, folder, base, options):
    """The name of btreplay's record contains the device's path below /dev, with _ for /."""
    device = os.path.relpath(os.path.abspath(args.target), "/dev").replace("/", "_")
    record = f"{folder}/{device}.{base}.0"
    if not os.path.exists(record):
        output(["btrecord", "-d", folder, "-D", folder, "-o", base, *options, "trace"])
        os.rename(f"{folder}/trace.{base}.0", record)
    return [args.btreplay, "-d", folder, "-i", base, device]


def btreplay(args, trace, folder):
    return btreplay_of(args, folder, "replay", [])


def btreplay_1(args, trace, folder):
    return btreplay_of(args, folder, "single", ["-M", "1"])


TOOLS = {"q2c": q2c, "q2c-spin": q2c_spin, "fio": fio, "fio-wait": fio_wait, "btreplay": btreplay, "btreplay-1": btreplay_1}


def read_only_btreplay(args, folder):
    """Makes a copy of btreplay that opens devices for reading only."""
    if "_" in args.target:
        sys.exit(f"failed to use {args.target}: btreplay takes _ in names for /; give it another name by a symbolic link")
    path = shutil.which("btreplay") or sys.exit("failed to find btreplay: install blktrace, or leave it out by --tools")
    with open(path, "rb") as file:
        code = file.read()
    if code.count(WRITABLE) != 1:
        sys.exit(f"failed to change {path}: expected the flags of its open once, found them {code.count(WRITABLE)} times; leave it out by --tools")
    copy = f"{folder}/btreplay"
    with open(copy, "wb") as file:
        file.write(code.replace(WRITABLE, READ_ONLY))
    os.chmod(copy, 0o755)
    return copy
