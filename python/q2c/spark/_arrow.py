"""Rows of Python and of Spark as Arrow's batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from q2c.spark import _errors, _memory

Row = dict[str, Any]

_SPARK_TYPES = {
    pa.int64(): "long",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
}


def ddl(schema: pa.Schema) -> str:
    """The schema as Spark's functions take it."""
    return ", ".join(f"`{field.name}` {_SPARK_TYPES[field.type]}" for field in schema)


def batch(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as one batch."""
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def made_on_a_worker(
    spark: SparkSession, make: Callable[[], Iterable[Row]], schema: pa.Schema
) -> DataFrame:
    """The rows that `make` gives where tasks run. With Spark Connect the caller's machine need not
    see the cluster's files."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for one in batches:
            for _ in range(one.num_rows):
                with _errors.in_a_task():
                    yield batch(list(make()), schema)

    return spark.range(0, 1, 1, 1).mapInArrow(run, ddl(schema))


def by_row(make: Callable[[Row], Iterable[Row]], schema: pa.Schema) -> Callable[..., Any]:
    """A function for `mapInArrow` that makes rows of each row, and hands them on as they are made:
    a row can be large."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _errors.in_a_task():
            for one in batches:
                # One row at a time, because all of them as Python's objects are a second copy.
                for at in range(one.num_rows):
                    for made in make(one.slice(at, 1).to_pylist()[0]):
                        yield batch([made], schema)
            _memory.give_back(_memory.AFTER_A_TASK)

    return run


def by_group(make: Callable[[pa.Table], Row], schema: pa.Schema) -> Callable[..., Any]:
    """A function for `applyInArrow` that makes one row of each group."""

    def run(table: pa.Table) -> pa.Table:
        with _errors.in_a_task():
            made = pa.Table.from_pylist([make(table)], schema=schema)
            _memory.give_back(_memory.AFTER_A_GROUP)
            return made

    return run
