"""The same application by plain spark-submit and by Spark Connect, against the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import expected
import made
import pytest
from standalone import HOME, Cluster, Process, environment, free_port

APPLICATION = Path(__file__).with_name("application.py")
ROWS = 20_000


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    made.write(made.Fleet(rows=ROWS, volumes=3, files=2), folder, together=True)
    return folder


def confs(cluster: Cluster) -> list[str]:
    """The settings of the application as words of spark-submit."""
    settings = cluster.settings().items()
    return [word for key, value in settings for word in ("--conf", f"{key}={value}")]


def checked(told: str, text: Path, folder: Path) -> None:
    """Compares what the application printed with the program."""
    found: dict[str, Any] = json.loads(told.strip().splitlines()[-1])
    assert found["rows"] == ROWS + 3
    counts = "SELECT count(*) AS n FROM rows GROUP BY device ORDER BY n DESC"
    truth = [row[0] for row in expected.sql(text, expected.ALIBABA, counts)]
    assert [row["requests"] for row in found["table"]] == truth
    for name, path in expected.by_volume(text, 0, folder / "volumes").items():
        alone = expected.alone(path, folder, "alibaba")
        assert expected.figures(found["volumes"][f"1:{name}"]) == expected.figures(alone)


def run(words: list[str], folder: Path, **more: str) -> str:
    """Runs a program that must succeed, and gives what it prints."""
    done = subprocess.run(
        words, capture_output=True, text=True, check=False,
        env={**environment(folder), **more})
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_by_spark_submit(cluster: Cluster, text: Path, tmp_path: Path) -> None:
    words = [str(HOME / "bin/spark-submit"), *confs(cluster), str(APPLICATION)]
    told = run([*words, str(text), str(tmp_path / "fleet")], cluster.folder)
    checked(told, text, tmp_path)


def test_by_spark_connect(cluster: Cluster, text: Path, tmp_path: Path) -> None:
    port = str(free_port())
    server = Process(cluster.folder, "connect", [
        "org.apache.spark.deploy.SparkSubmit", *confs(cluster),
        "--conf", f"spark.connect.grpc.binding.port={port}",
        "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
    ], memory="1g")
    try:
        server.wait_for("Spark Connect server started")
        # The client has the address of the server and no Java.
        nowhere = {"JAVA_HOME": os.devnull, "SPARK_REMOTE": f"sc://127.0.0.1:{port}"}
        told = run([sys.executable, str(APPLICATION), str(text), str(tmp_path / "fleet")],
                   cluster.folder, **nowhere)
    finally:
        server.kill()
    checked(told, text, tmp_path)
