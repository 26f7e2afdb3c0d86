"""A worker that is killed in the middle: its tasks run again, and nothing changes in the figures.

Two million requests, of which one volume has half.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import events
import expected
import made
from pyspark.sql import SparkSession
from q2c import spark as fleet_of
from standalone import Cluster, session_on

ROWS = 2_000_000
STRETCH = 250_000
TRIES = 5


class InTheMiddle:
    """Kills a worker while both have a task of the stage that is asked for, and some have ended."""

    def __init__(self, spark: SparkSession, cluster: Cluster, ended: int) -> None:
        self.spark, self.cluster, self.ended = spark, cluster, ended
        self.killed = threading.Event()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        tracker = self.spark.sparkContext.statusTracker()
        while not self.over.is_set():
            for stage in tracker.getActiveStageIds():
                told = tracker.getStageInfo(stage)
                if told and told.numActiveTasks == 2 and told.numCompletedTasks >= self.ended:
                    self.cluster.workers[0].kill()
                    self.killed.set()
                    return
            time.sleep(0.02)

    def __enter__(self) -> InTheMiddle:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def with_a_killed_worker(
    folder: Path, ended: int, work: Callable[[SparkSession, Path], Any]
) -> tuple[Any, Path]:
    """Does work on a cluster of its own of which a worker is killed, until the event log proves that
    this lost a running task: on a busy machine the task may end before the worker does. Returns what
    the work gave, and the folder that it was given."""
    for attempt in range(TRIES):
        own = folder / str(attempt)
        with Cluster(own / "cluster") as cluster:
            spark = session_on(cluster, folder.name)
            try:
                with InTheMiddle(spark, cluster, ended) as killing:
                    found = work(spark, own / "out")
                log = cluster.events / spark.sparkContext.applicationId
            finally:
                spark.stop()
            if killing.killed.is_set() and events.lost_and_run_again(log):
                return found, own / "out"
    raise AssertionError(f"expected a task that was lost and run again, found none in {TRIES} tries")


def volumes_of(spark: SparkSession, out: str) -> dict[str, Any]:
    """The figures of each volume."""
    with fleet_of.analyze_fleet(spark, out) as analysis:
        rows = analysis.volumes.select("device", "json").collect()
        return {row["device"]: expected.figures(row["json"]) for row in rows}


def test_a_worker_is_killed_in_the_middle(cluster: Cluster, tmp_path: Path) -> None:
    fleet = made.Fleet(rows=ROWS, volumes=50, files=8, format="msr")
    made.write(fleet, tmp_path / "text")
    text, calm = str(tmp_path / "text"), str(tmp_path / "calm")
    spark = session_on(cluster, "calm")
    try:
        fleet_of.import_fleet(spark, text, calm, format="msr", stretch_rows=STRETCH)
        truth = volumes_of(spark, calm)
    finally:
        spark.stop()
    counts = dict(expected.sql(tmp_path / "text", expected.MSR,
                               "SELECT host, count(*) FROM rows GROUP BY host"))
    assert ROWS * 0.48 < counts["host0"] < ROWS * 0.52

    _, out = with_a_killed_worker(tmp_path / "importing", 2, lambda spark, to: fleet_of.import_fleet(
        spark, text, str(to), format="msr", stretch_rows=STRETCH))
    found, _ = with_a_killed_worker(
        tmp_path / "analysing", 1, lambda spark, _: volumes_of(spark, str(out)))
    assert found == truth
    # Hosts are numbered by their names.
    names = sorted(counts)
    assert {f"{at}:0": counts[name] for at, name in enumerate(names, 1)} == {
        device: figures["requests"] for device, figures in found.items()
    }
