"""The folder of a fleet: names, the description of the whole, and the list of its traces.

    fleet/_fleet.json                       written last: what the import did
    fleet/device=1%3A7/000000.parquet       a q2c trace: the first stretch of volume 1:7
    fleet/device=1%3A7/000001.parquet       the next one

The times of all traces count from one instant, so those of a volume are parts of one trace, and
those of two volumes compare. docs/fleet.md is the reference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import q2c
from q2c.spark import _arrow

DESCRIPTION = "_fleet.json"
"""Name of the description. Spark and DuckDB pass over names that begin with an underscore."""
VERSION = 1
FILES = pa.schema([
    ("device", pa.string()),
    ("number", pa.int64()),
    ("path", pa.string()),
    ("rows", pa.int64()),
    ("file_bytes", pa.int64()),
])
"""What `volumes` tells of each trace."""


def folder_of(device: str) -> str:
    """The folder of a volume; Hive's way to write a name with a colon."""
    return "device=" + quote(device, safe="")


def stretch_path(fleet: str, device: str, number: int) -> str:
    """The path of a stretch. The names of a volume sort by time."""
    return os.path.join(fleet, folder_of(device), f"{number:06}.parquet")


def written(fleet: str, told: dict[str, Any]) -> None:
    """Writes the description, whole or not at all."""
    path = os.path.join(fleet, DESCRIPTION)
    hidden = f"{path}.tmp"
    with open(hidden, "w", encoding="utf-8") as file:
        json.dump({"schema": f"q2c.fleet/{VERSION}", **told}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(hidden, path)


def description(fleet: str) -> dict[str, Any]:
    """Reads the description. Raises `q2c.InputError` where there is none, or of another version."""
    path = os.path.join(fleet, DESCRIPTION)
    try:
        with open(path, encoding="utf-8") as file:
            told: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        raise q2c.InputError(
            f"failed to read the fleet {fleet}: expected its description {DESCRIPTION}, which an "
            "import writes when it is complete, found none; import into a new folder"
        ) from None
    except ValueError as damaged:
        raise q2c.InputError(f"failed to read {path}: expected JSON, found {damaged}") from None
    if told.get("schema") != f"q2c.fleet/{VERSION}":
        versions = f"expected q2c.fleet/{VERSION}, found {told.get('schema')!r}"
        raise q2c.InputError(f"failed to read {path}: {versions}")
    return told


def listed(fleet: str) -> Iterator[dict[str, Any]]:
    """The traces of a fleet, by volume and time."""
    description(fleet)
    for folder in sorted(os.listdir(fleet)):
        key, _, device = folder.partition("=")
        if key != "device":
            continue
        names = sorted(os.listdir(os.path.join(fleet, folder)))
        for number, name in enumerate(name for name in names if name.endswith(".parquet")):
            path = os.path.join(fleet, folder, name)
            yield {
                "device": unquote(device),
                "number": number,
                "path": path,
                "rows": len(q2c.read(path)),
                "file_bytes": os.path.getsize(path),
            }


def volumes(spark: SparkSession, fleet: str) -> DataFrame:
    """The traces of a fleet: `device`, `number` in the order of time, `path`, `rows`, `file_bytes`.

    `fleet` is a folder that all machines of the cluster see under this path.
    """
    return _arrow.made_on_a_worker(spark, lambda: listed(fleet), FILES)
