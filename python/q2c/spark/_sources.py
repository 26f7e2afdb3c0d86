"""What an import reads: the files of a folder, cut at lines where they are large, and tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import q2c

SOURCES = pa.schema([
    ("source", pa.int64()),
    ("path", pa.string()),
    ("from", pa.int64()),
    ("to", pa.int64()),
])
"""A file, or the part of it from one byte to another; the numbers are in the order of the paths."""

LINES = ("alibaba", "tencent", "msr")
"""Formats whose lines need no header, so that a large file can be cut between any two of them."""

_WHOLE, _TEXT, _NUMBER = "a whole number", "text", "a number"
COLUMNS: Mapping[str, Sequence[tuple[str, str]]] = {
    "alibaba": [
        ("device_id", _WHOLE),
        ("opcode", _TEXT),
        ("offset", _WHOLE),
        ("length", _WHOLE),
        ("timestamp", _WHOLE),
    ],
    "tencent": [
        ("Timestamp", _WHOLE),
        ("Offset", _WHOLE),
        ("Size", _WHOLE),
        ("IOType", _WHOLE),
        ("VolumeID", _WHOLE),
    ],
    "msr": [
        ("Timestamp", _WHOLE),
        ("Hostname", _TEXT),
        ("DiskNumber", _WHOLE),
        ("Type", _TEXT),
        ("Offset", _WHOLE),
        ("Size", _WHOLE),
        ("ResponseTime", _WHOLE),
    ],
    "systor17": [
        ("Timestamp", _NUMBER),
        ("Response", _NUMBER),
        ("IOType", _TEXT),
        ("LUN", _WHOLE),
        ("Offset", _WHOLE),
        ("Size", _WHOLE),
    ],
}
"""The columns of tables in a public format, in the order of its text."""


def files_of(path: Union[str, Sequence[str]]) -> list[str]:
    """The files of a folder and of the folders in it, or those named; by path. Hidden ones and
    those that begin with an underscore are marks of other programs."""
    if not isinstance(path, str):
        return sorted(path)
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        raise q2c.InputError(f"failed to read {path}: expected a folder or a file, found none")
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [os.path.join(folder, name) for name in names if name[0] not in "._"]
    if not found:
        raise q2c.InputError(f"failed to read {path}: expected files in the folder, found none")
    return sorted(found)


def parts(paths: Iterable[str], format: Optional[str], most: int) -> Iterator[dict[str, Any]]:
    """The files, those of more than `most` bytes in parts where the format allows it."""
    number = 0
    for path in paths:
        cut = format in LINES and not path.endswith((".gz", ".zst", ".parquet"))
        size = os.path.getsize(path) if cut and os.path.exists(path) else 0
        count = max(1, -(-size // most))
        for at in range(count):
            begin, end = size * at // count, size * (at + 1) // count
            yield {"source": number, "path": path, "from": begin, "to": end if count > 1 else -1}
            number += 1


def ready(source: dict[str, Any], format: Optional[str], folder: str) -> str:
    """The path of what q2c imports: the file itself, or a text made of a part of it or of the table
    that it holds."""
    path: str = source["path"]
    text = os.path.join(folder, "text.csv")
    if source["to"] >= 0:
        part_to_file(path, source["from"], source["to"], text)
        return text
    if path.endswith(".parquet") and os.path.exists(path) and not is_trace(path):
        with pyarrow.parquet.ParquetFile(path) as table:
            checked(path, table.schema_arrow, format)
            table_to_file(path, table.iter_batches(), format, text)
        return text
    return path


def part_to_file(path: str, begin: int, end: int, out: str) -> None:
    """Copies the lines of a file that begin from byte `begin` on and before byte `end`."""
    with open(path, "rb") as file, open(out, "wb") as copy:
        if begin > 0:
            # A line that begins at `begin` has a line break one byte before.
            file.seek(begin - 1)
            file.readline()
        last = b"\n"
        while (left := end - file.tell()) > 0 and (block := file.read(min(left, 1 << 20))):
            copy.write(block)
            last = block[-1:]
        if last != b"\n":
            copy.write(file.readline())


def is_trace(path: str) -> bool:
    """Whether a Parquet file is a q2c trace; other ones are tables."""
    try:
        keys = pyarrow.parquet.read_metadata(path).metadata or {}
    except (pa.ArrowInvalid, OSError) as damaged:
        raise q2c.InputError(f"failed to read {path}: {damaged}") from None
    return b"q2c.trace.version" in keys


def checked(name: str, found: pa.Schema, format: Optional[str]) -> list[str]:
    """The columns that a table has for its format. Raises `q2c.InputError` for what is missing or
    of another type, and `q2c.UsageError` for a format that is not one of tables."""
    if format is None or format not in COLUMNS:
        known = ", ".join(COLUMNS)
        raise q2c.UsageError(
            f"failed to read the table {name}: expected a format that tables can have ({known}), "
            f"found {format}"
        )
    tests = {
        _WHOLE: pa.types.is_integer,
        _NUMBER: lambda kind: pa.types.is_floating(kind) or pa.types.is_decimal(kind),
        _TEXT: lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    }
    for column, kind in COLUMNS[format]:
        at = found.get_field_index(column)
        told = f"failed to read the table {name}: column {column} of {format}: expected {kind}"
        if at < 0:
            raise q2c.InputError(f"{told}, found the columns {', '.join(found.names)}")
        if not tests[kind](found.field(at).type):
            raise q2c.InputError(f"{told}, found {found.field(at).type}; cast the column")
    return [column for column, _ in COLUMNS[format]]


def table_to_file(
    name: str, batches: Iterable[pa.RecordBatch], format: Optional[str], out: str
) -> int:
    """Writes a table as the text of its format, so that one importer reads both. Returns the number
    of rows."""
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    rows, writer = 0, None
    for some in batches:
        columns = checked(name, some.schema, format)
        some = some.select(columns)
        if writer is None:
            writer = pyarrow.csv.CSVWriter(out, some.schema, write_options=options)
        writer.write_batch(some)
        rows += some.num_rows
    if writer is not None:
        writer.close()
    return rows
