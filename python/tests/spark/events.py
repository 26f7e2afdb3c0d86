"""What an application's event log says of its tasks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Task:
    """A run of a task that ended."""

    stage: int
    index: int
    attempt: int
    executor: str
    reason: str
    begun_ms: int
    ended_ms: int


def read(log: Path) -> list[dict[str, Any]]:
    """The events of a log, in order."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def tasks(log: Path) -> list[Task]:
    """All runs of tasks that ended, in the order in which they did."""
    found = []
    for event in read(log):
        if event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            found.append(Task(
                event["Stage ID"], info["Index"], info["Attempt"], info["Executor ID"],
                event["Task End Reason"]["Reason"], info["Launch Time"], info["Finish Time"],
            ))
    return found


def lost_and_run_again(log: Path) -> list[tuple[Task, Task]]:
    """Runs that were lost with their executor, with the run of the same task that succeeded
    later on another executor."""
    ended = tasks(log)
    pairs = []
    for at, lost in enumerate(ended):
        if lost.reason != "ExecutorLostFailure":
            continue
        for again in ended[at:]:
            same = (again.stage, again.index) == (lost.stage, lost.index)
            if same and again.reason == "Success" and again.executor != lost.executor:
                pairs.append((lost, again))
    return pairs


def peak_memory(log: Path) -> dict[str, dict[str, int]]:
    """The largest figures of memory that each executor reported, bytes."""
    peaks: dict[str, dict[str, int]] = {}
    for event in read(log):
        if event["Event"] == "SparkListenerStageExecutorMetrics":
            known = peaks.setdefault(event["Executor ID"], {})
            for name, value in event["Executor Metrics"].items():
                known[name] = max(known.get(name, 0), value)
    return peaks
