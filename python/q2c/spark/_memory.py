"""Memory of the Python processes in which tasks run."""

from __future__ import annotations

import ctypes
import os

import pyarrow as pa

AFTER_A_TASK = 160 << 20
"""What is worth a look once in a task; a process has 100 MB with its libraries alone."""
AFTER_A_GROUP = 320 << 20
"""What is worth it after each of a thousand groups: giving back, and taking again, costs time."""


def give_back(least: int) -> None:
    """Returns to the system what was freed, where the process has at least so many bytes. Spark keeps
    the process for a later task, and may start another one beside it, so both would hold the memory
    of their largest task."""
    if resident() < least:
        return
    pa.default_memory_pool().release_unused()
    # What q2c's kernels free is glibc's; other C libraries have no such function.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def resident() -> int:
    """Memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
