"""Errors of q2c that come out of a task of Spark."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator

from pyspark.errors import PySparkException

import q2c

_KINDS = {
    kind.__name__: kind
    for kind in (
        q2c.UsageError,
        q2c.InputError,
        q2c.MachineError,
        q2c.DeviceError,
        q2c.InternalError,
    )
}
_RAISED = re.compile(r"q2c\.(\w+): <<(.*?)>>", re.DOTALL)


@contextlib.contextmanager
def in_a_task() -> Iterator[None]:
    """Puts marks around the text of q2c's errors, by which it is found in what Spark says of the
    task. The text stands as JSON, in which there is no line break."""
    try:
        yield
    except q2c.Q2cError as error:
        raise type(error)(f"<<{json.dumps(str(error))}>>") from None


@contextlib.contextmanager
def of_tasks() -> Iterator[None]:
    """Raises q2c's own error where it was what ended a task of Spark."""
    try:
        yield
    except PySparkException as failed:
        found = _RAISED.search(str(failed))
        kind = _KINDS.get(found.group(1)) if found else None
        if found is None or kind is None:
            raise
        raise kind(json.loads(found.group(2))) from failed
