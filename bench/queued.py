"""Records the reads that reach the block layer: the event block_bio_queue of one disk, from a tracing instance of its own.

The ring buffers hold a whole run and are read after it, so that no reader takes CPU time from what is measured. Times are ns of
CLOCK_MONOTONIC, from the binary pages: the text form has us only.
"""

import collections
import fcntl
import os
import re
import struct
import sys

TRACING = "/sys/kernel/tracing"
EVENT = "events/block/block_bio_queue"
ENTRY = 72  # bytes of an event in the ring buffer, rounded up
FIEMAP = 0xC020660B
PLAIN = 0x1 | 0x1000  # allowed flags of extents: FIEMAP_EXTENT_LAST and FIEMAP_EXTENT_MERGED

Read = collections.namedtuple("Read", "time thread sector sectors comm")
Place = collections.namedtuple("Place", "device slots")  # device number as the kernel has it; first sector on the disk of each 4 KiB of the target


def extents(file):
    """Returns (offset in the file, place on the disk, length, flags) of each extent of a file, in bytes."""
    start, found = 0, []
    while True:
        space = bytearray(struct.pack("QQIIII", start, 2**64 - 1 - start, 1, 0, 256, 0) + bytes(56 * 256))
        fcntl.ioctl(file, FIEMAP, space)
        number = struct.unpack_from("I", space, 20)[0]
        for i in range(number):
            logical, physical, length, _, _, flags = struct.unpack_from("QQQQQI", space, 32 + 56 * i)
            found.append((logical, physical, length, flags))
            start = logical + length
        if number == 0 or found[-1][3] & 1:
            return found


def place(target, limit):
    """Returns the place of the target's first `limit` bytes on its disk. The target is a device, or a file with extents."""
    status = os.stat(target)
    number = status.st_rdev or status.st_dev
    sysfs = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(sysfs):
        sys.exit(f"failed to find the disk of {target}: {sysfs} is not there; expected a block device, or a file on one disk")
    start = 0
    if os.path.exists(f"{sysfs}/partition"):
        with open(f"{sysfs}/start", encoding="ascii") as file:
            start = int(file.read())
    with open(target, "rb") as file:
        size = min(limit, file.seek(0, os.SEEK_END))
        parts = [(0, 0, size, 0)] if status.st_rdev else extents(file)
    if any(flags & ~PLAIN or logical % 4096 for logical, _, _, flags in parts):
        sys.exit(f"failed to use {target}: it has blocks that were never written, or none of its own on the disk; write it in full first")
    slots = [start + (physical + i) // 512 for _, physical, length, _ in parts for i in range(0, length, 4096)]
    if len(slots) < size // 4096:
        sys.exit(f"failed to use {target}: it has holes; write it in full first")
    return Place(os.major(number) << 20 | os.minor(number), slots[: size // 4096])


def layout(text):
    """Returns the struct that unpacks thread, device, sector, sectors and comm of an event, from the text of its `format` file."""
    found = {name: (int(offset), int(size)) for name, offset, size in
             re.findall(r"field:[^;]*?(\w+)(?:\[\d+\])?;\s*offset:(\d+);\s*size:(\d+)", text)}
    form, at = "<", 0
    for name, code in (("common_pid", "i"), ("dev", "I"), ("sector", "Q"), ("nr_sector", "I"), ("comm", "16s")):
        offset, size = found[name]
        if offset < at or size != struct.calcsize("<" + code):
            sys.exit(f"failed to read {EVENT}: field {name} is at {offset} with {size} bytes, expected at {at} or later as {code}")
        form, at = f"{form}{offset - at}x{code}", offset + size
    return struct.Struct(form)


def page(data, fields):
    """Yields the events of a page of the ring buffer; its layout is in events/header_page and events/header_event."""
    time, commit = struct.unpack_from("<QQ", data)
    at, end = 16, 16 + (commit & 0xFFFFF)
    while at < end:
        word, more = struct.unpack_from("<II", data, at) if at + 8 <= end else (*struct.unpack_from("<I", data, at), 0)
        kind, delta = word & 31, word >> 5
        if kind == 29:  # padding
            if delta == 0:
                return
            time, at = time + delta, at + 4 + more
        elif kind == 30:  # a long pause
            time, at = time + (more << 27) + delta, at + 8
        elif kind == 31:  # an absolute time, of which it has 59 bits
            time, at = time & ~(2**59 - 1) | more << 27 | delta, at + 8
        else:
            time += delta
            thread, device, sector, sectors, comm = fields.unpack_from(data, at + (4 if kind else 8))
            yield device, Read(time, thread, sector, sectors, comm)
            at += 4 + (kind * 4 if kind else more)


class Queued:
    """Records the reads of a disk while it is open."""

    def __init__(self, device, events):
        self.device, self.events = device, events
        self.root = f"{TRACING}/instances/replay-accuracy-{os.getpid()}"

    def put(self, name, text):
        with open(f"{self.root}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def get(self, name):
        with open(f"{self.root}/{name}", encoding="ascii") as file:
            return file.read()

    def __enter__(self):
        os.mkdir(self.root)
        try:
            self.put("tracing_on", "0")
            self.put("trace_clock", "mono")
            self.put("options/overwrite", "0")
            self.put("buffer_size_kb", str(self.events * ENTRY // 1024 + 2048))  # size per CPU: all events may come on one CPU
            self.put(f"{EVENT}/filter", f'dev == {self.device} && rwbs ~ "*R*"')
            self.put(f"{EVENT}/enable", "1")
            self.fields = layout(self.get(f"{EVENT}/format"))
        except BaseException:
            os.rmdir(self.root)
            raise
        return self

    def __exit__(self, *_):
        os.rmdir(self.root)

    def record(self, run):
        """Calls `run`. Returns its result, the reads meanwhile in the order of time, and the number of lost reads."""
        self.put("trace", "")
        self.put("tracing_on", "1")
        try:
            said = run()
        finally:
            self.put("tracing_on", "0")
        cpus = sorted(name for name in os.listdir(f"{self.root}/per_cpu"))
        lost = sum(self.lost(cpu) for cpu in cpus)
        reads = [read for cpu in cpus for read in self.of(cpu)]
        return said, sorted(reads, key=lambda read: read.time), lost

    def lost(self, cpu):
        counts = dict(line.split(": ") for line in self.get(f"per_cpu/{cpu}/stats").splitlines())
        return sum(int(counts[name]) for name in ("overrun", "commit overrun", "dropped events"))

    def of(self, cpu):
        file = os.open(f"{self.root}/per_cpu/{cpu}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while data := os.read(file, 65536):
                for device, read in page(data, self.fields):
                    if device == self.device:
                        yield read
        except BlockingIOError:
            pass
        finally:
            os.close(file)
