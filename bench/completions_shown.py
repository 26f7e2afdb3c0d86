#!/usr/bin/env python3
"""Which completions of block I/O the kernel shows to BPF programs, by the thread that each interrupts.

    bench/completions_shown.py TARGET [--runs 3] [--seconds 4] [--bs 4k] [--q2c PATH] [--json FILE]

A completion is mostly told in a softirq, and then some thread that has nothing to do with it is the
current one. This script counts completions (block_rq_complete) by the current thread twice, in the
same run: in the kernel's tracing files, and by a BPF program of a dozen instructions that does nothing
else. A thread whose completions the tracing files have and the program has not is one in which this
kernel runs no such program. Meanwhile fio reads at full load and `q2c trace record` records it, so
that the I/Os whose end q2c did not see can be compared with the completions that were not shown.

Standard library only. Needs root, fio, tracefs at /sys/kernel/tracing and a machine of 64 bits.
"""

import collections
import ctypes
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
import time

from measured import keep, parser

TRACING = f"/sys/kernel/tracing/instances/completions-shown-{os.getpid()}"
POINT = "block_rq_complete"
BUFFER_KB = 64 * 1024  # for each CPU
LINE = re.compile(rf"^\s*(.*)-(\d+)\s+\[\d+\] .* {POINT}: ")
SYSCALL = {"x86_64": 321, "aarch64": 280}
MAP_CREATE, MAP_LOOKUP, PROG_LOAD, RAW_TRACEPOINT_OPEN = 0, 1, 5, 17  # enum bpf_cmd
ARRAY, RAW_TRACEPOINT = 2, 17  # of enum bpf_map_type and enum bpf_prog_type


def bpf(command, *parts):
    """The system call; `parts` are pairs of a struct's format and its value."""
    attributes = struct.pack("=" + "".join(kind for kind, _ in parts), *(value for _, value in parts))
    room = ctypes.create_string_buffer(attributes.ljust(144, b"\0"), 144)
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(SYSCALL[platform.machine()], command, room, len(room))
    if done < 0:
        sys.exit(f"failed to call bpf({command}): {os.strerror(ctypes.get_errno())}")
    return done


class ByThread:
    """A program on the tracepoint that counts its runs by the number of the current thread."""

    def __init__(self):
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            self.threads = int(file.read())
        self.map = bpf(MAP_CREATE, ("I", ARRAY), ("I", 4), ("I", 8), ("I", self.threads), ("I", 0))
        code = [
            (0x85, 0, 0, 0, 14),  # r0 = bpf_get_current_pid_tgid()
            (0x63, 10, 0, -4, 0),  # the lower half, the thread, goes on the stack
            (0xBF, 2, 10, 0, 0),  # r2 = r10
            (0x07, 2, 0, 0, -4),  # r2 -= 4
            (0x18, 1, 1, 0, self.map),  # r1 = the map
            (0, 0, 0, 0, 0),
            (0x85, 0, 0, 0, 1),  # r0 = bpf_map_lookup_elem(r1, r2)
            (0x15, 0, 0, 2, 0),  # when it is null, skip the next two
            (0xB7, 1, 0, 0, 1),  # r1 = 1
            (0xDB, 0, 1, 0, 0),  # *r0 += r1, atomically
            (0xB7, 0, 0, 0, 0),  # r0 = 0
            (0x95, 0, 0, 0, 0),  # exit
        ]
        raw = b"".join(struct.pack("=BBhi", op, source << 4 | to, offset, value) for op, to, source, offset, value in code)
        held = [ctypes.create_string_buffer(raw), ctypes.create_string_buffer(b"GPL"), ctypes.create_string_buffer(POINT.encode())]
        code, licence, point = map(ctypes.addressof, held)
        self.program = bpf(PROG_LOAD, ("I", RAW_TRACEPOINT), ("I", len(raw) // 8), ("Q", code), ("Q", licence))
        self.link = bpf(RAW_TRACEPOINT_OPEN, ("Q", point), ("I", self.program))

    def count(self, thread):
        key, value = ctypes.c_uint32(thread), ctypes.c_uint64()
        bpf(MAP_LOOKUP, ("I", self.map), ("I", 0), ("Q", ctypes.addressof(key)), ("Q", ctypes.addressof(value)))
        return value.value

    def counted_misses(self):
        """Runs that the kernel left out and counted."""
        with open(f"/proc/self/fdinfo/{self.program}", encoding="ascii") as file:
            found = re.search(r"recursion_misses:\s*(\d+)", file.read())
        return int(found[1]) if found else None

    def close(self):
        for fd in (self.link, self.program, self.map):
            os.close(fd)


def write(name, text):
    with open(os.path.join(TRACING, name), "w", encoding="ascii") as file:
        file.write(text)


def traced():
    """Completions by thread, and the threads' names, as the tracing files have them."""
    seen, names = collections.Counter(), {}
    with open(os.path.join(TRACING, "trace"), encoding="utf-8", errors="replace") as file:
        for found in filter(None, map(LINE.match, file)):
            seen[int(found[2])] += 1
            names[int(found[2])] = found[1]
    for cpu in os.listdir(os.path.join(TRACING, "per_cpu")):
        with open(os.path.join(TRACING, "per_cpu", cpu, "stats"), encoding="ascii") as file:
            lost = re.findall(r"(?:overrun|dropped events): (\d+)", file.read())
        if any(map(int, lost)):
            sys.exit(f"failed to trace every completion: {cpu} lost events; give fewer --seconds")
    return seen, names


def recorded(args, folder):
    """Records fio's reads. Returns its number of I/Os, q2c's records of their size, and what q2c says is missing."""
    report, trace = os.path.join(folder, "fio.json"), os.path.join(folder, "run.trace")
    fio = [
        "fio", "--name=shown", f"--filename={args.target}", "--direct=1", "--rw=randread", f"--bs={args.bs}", "--iodepth=64", "--numjobs=2",
        "--group_reporting", "--norandommap", "--time_based", f"--runtime={args.seconds}s", "--ioengine=io_uring", "--readonly",
        "--output-format=json", f"--output={report}",
    ]
    record = [args.q2c, "trace", "record", args.target, "--op", "read", "--out", trace, "--json", "--", *fio]
    done = subprocess.run(record, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed to record {args.target}: {done.stderr.strip()}")
    os.remove(trace)
    with open(report, encoding="utf-8") as file:
        text = file.read()
    found = json.loads(done.stdout)
    ios = json.loads(text[text.index("{"):])["jobs"][0]["read"]["total_ios"]
    return {"ios": ios, "records": found["summary"]["records"], "lost": found["meta"]["lost"], "unmatched": found["meta"]["unmatched"]}


def run(args, folder):
    program = ByThread()
    os.mkdir(TRACING)
    try:
        write("buffer_size_kb", str(BUFFER_KB))
        write(f"events/block/{POINT}/enable", "1")
        result = recorded(args, folder)
        time.sleep(0.2)
        write("tracing_on", "0")
        seen, names = traced()
    finally:
        write(f"events/block/{POINT}/enable", "0")
        os.rmdir(TRACING)
    shown = {thread: program.count(thread) for thread in seen}
    # A few completions fall between the begin of the one count and that of the other.
    never = {thread: seen[thread] for thread in seen if shown[thread] == 0 and seen[thread] >= args.least}
    result |= {
        "completions": sum(seen.values()), "threads": len(seen), "counted_misses": program.counted_misses(),
        "not_shown": sum(never.values()), "never": {f"{names[thread]} ({thread})": n for thread, n in never.items()},
        "shown_of_others": sum(min(shown[t], seen[t]) for t in seen if t not in never) / max(1, sum(seen[t] for t in seen if t not in never)),
    }
    program.close()
    return result


def told(one):
    yield (f"{one['completions']} completions in {one['threads']} threads: {one['not_shown']} were not shown, in {len(one['never'])} threads that "
           f"show none: {one['never']}; of the other threads' {one['shown_of_others']:.4%} were shown; the kernel counted {one['counted_misses']} misses")
    yield f"  q2c: {one['ios']} I/Os of fio, {one['records']} records of all reads, {one['lost']} lost: {one['unmatched']}"


def main():
    options = parser(__doc__)
    options.add_argument("target")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--seconds", type=int, default=4)
    options.add_argument("--bs", default="4k")
    options.add_argument("--least", type=int, default=1, help="completions that a thread must have to be told")
    args = options.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.runs):
            runs.append(run(args, folder))
            print("\n".join(told(runs[-1])), flush=True)
    keep(args.json, runs)


if __name__ == "__main__":
    main()
