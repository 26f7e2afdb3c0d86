"""A cluster of Spark on the loopback: a master, and workers of one core, which end with it.

Every process is started here and ended by its number.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

import pyspark
from pyspark.sql import SparkSession

HOME = Path(pyspark.__file__).parent
WAIT = 300.0
"""Seconds in which a process of Spark has to be there, on a busy machine."""
SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options of Java for processes of one core that do little themselves."""


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(folder: Path) -> dict[str, str]:
    """What all processes of the cluster share: this Python, the loopback, a folder of their own."""
    return {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "TMPDIR": str(folder / "tmp"),
    }


class Process:
    """A Java process of Spark in a group of its own, with what it starts."""

    def __init__(self, folder: Path, name: str, words: list[str], memory: str = "384m") -> None:
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self.child = subprocess.Popen(
                [str(HOME / "bin/spark-class"), *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={
                    **environment(folder),
                    "SPARK_DAEMON_MEMORY": memory,
                    "SPARK_DAEMON_JAVA_OPTS": SMALL_JVM,
                },
            )

    @property
    def pid(self) -> int:
        return self.child.pid

    def wait_for(self, text: str, times: int = 1) -> None:
        """Waits until the process has logged the text so often."""
        until = time.monotonic() + WAIT
        while self.log.read_text(errors="replace").count(text) < times:
            if self.child.poll() is not None or time.monotonic() > until:
                told = self.log.read_text(errors="replace")[-4000:]
                raise RuntimeError(f"expected {text!r} in {self.log}, found:\n{told}")
            time.sleep(0.2)

    def kill(self) -> None:
        """Ends the process and what it started at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


class Cluster:
    """A master with workers of one core each."""

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1g") -> None:
        self.folder, self.memory = folder, memory
        self.events = folder / "events"
        self.events.mkdir(parents=True, exist_ok=True)
        self.workers: list[Process] = []
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        words = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1",
                 "--port", str(port), "--webui-port", "0"]
        self.master = Process(folder, "master", words)
        try:
            self.master.wait_for("I have been elected leader")
            for _ in range(workers):
                self.add_worker()
        except BaseException:
            self.stop()
            raise

    def add_worker(self) -> None:
        """Starts a worker and waits until the master knows it."""
        number = len(self.workers)
        words = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1",
                 "--memory", self.memory, "--webui-port", "0",
                 "--work-dir", str(self.folder / f"work-{number}"), self.url]
        self.workers.append(Process(self.folder, f"worker-{number}", words))
        self.workers[-1].wait_for("Successfully registered with master")

    def settings(self, memory: Optional[str] = None) -> dict[str, str]:
        """The settings of an application on the cluster, whose tasks run in this Python."""
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        return {
            "spark.master": self.url,
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": SMALL_JVM,
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": memory or self.memory,
            "spark.executor.cores": "1",
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            "spark.sql.shuffle.partitions": "16",
        }

    def stop(self) -> None:
        """Ends all processes."""
        for process in [*self.workers, self.master]:
            process.kill()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def session_on(cluster: Cluster, name: str) -> SparkSession:
    """The session of an application on a cluster; a process has one at a time."""
    builder = SparkSession.builder.appName(name)
    for key, value in cluster.settings().items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("FATAL")
    return session
