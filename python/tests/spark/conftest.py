"""What the tests on Spark share: a cluster of two workers on the loopback, and a session on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from standalone import Cluster, session_on


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder have the mark."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker("spark")


@pytest.fixture(scope="module")
def spark(cluster: Cluster) -> Iterator[SparkSession]:
    """A session that has both workers. A module that needs another one makes it itself."""
    session = session_on(cluster, "q2c tests")
    yield session
    session.stop()
