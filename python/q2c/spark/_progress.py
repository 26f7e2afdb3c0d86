"""What Spark's own interface shows of a step of q2c."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


@contextlib.contextmanager
def step(spark: SparkSession, name: str) -> Iterator[None]:
    """Names the jobs of a step, by which Spark's page of jobs lists them."""
    described = f"q2c: {name}"
    tag = described.replace(",", " ")
    spark.addTag(tag)
    try:
        # Only a session without Spark Connect has descriptions of jobs. The tag is on both.
        spark.sparkContext.setJobDescription(described)
        context = spark.sparkContext
    except (PySparkException, AttributeError):
        context = None
    try:
        yield
    finally:
        spark.removeTag(tag)
        if context is not None:
            context.setJobDescription("")
