"""The native part. `q2c` has the documentation of what is public."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union, final

__all__ = [
    "AnalysisState",
    "DeviceError",
    "InputError",
    "InternalError",
    "MachineError",
    "Made",
    "Q2cError",
    "Rule",
    "SweepState",
    "Trace",
    "UsageError",
    "__version__",
    "analyze",
    "choose",
    "import_",
    "load_run",
    "policies",
    "read",
    "simulate",
    "sweep",
]

_Path = Union[str, "os.PathLike[str]"]

__version__: str

class Q2cError(Exception):
    exit_code: int

class InternalError(Q2cError): ...
class UsageError(Q2cError): ...
class InputError(Q2cError): ...
class MachineError(Q2cError): ...
class DeviceError(Q2cError): ...

@final
class AnalysisState:
    def __new__(cls, layer: Optional[str], later: bool) -> AnalysisState: ...
    def update(self, source: object, name: str) -> None: ...
    def then(self, later: AnalysisState) -> AnalysisState: ...
    def beside(self, other: AnalysisState) -> AnalysisState: ...
    def finish(self, trace: Optional[Trace], name: str) -> Made: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> AnalysisState: ...
    @property
    def requests(self) -> int:
        """Number of I/Os."""
    @property
    def layer(self) -> Optional[str]:
        """The layer of the I/Os; None before the first."""

@final
class Made:
    def json(self) -> str: ...
    def page(self) -> str: ...
    def table(self, width: int) -> str: ...

@final
class Rule:
    """A sleep rule of hybrid polling with its parameters, such as `Rule("min:ratio=80%,period=10ms")`."""

    def __new__(cls, text: str) -> Rule: ...
    @property
    def name(self) -> str:
        """Name of the rule, such as `min`."""
    @property
    def params(self) -> dict[str, float]:
        """Parameters that are numbers: shares as fractions, durations in ns, sizes in bytes, switches as 0 or 1."""
    @property
    def formula(self) -> Optional[str]:
        """The formula, of a rule that has one."""
    @property
    def period_ns(self) -> Optional[int]:
        """Shortest length of the windows after which the sleep changes, ns; None for a rule without such windows."""
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...

@final
class SweepState:
    def __new__(cls, volume: str, policies: Sequence[object], options: Mapping[str, Any]) -> SweepState: ...
    def update(self, source: object, name: str, options: Mapping[str, Any]) -> None: ...
    def beside(self, other: SweepState) -> SweepState: ...
    def with_configurations(self, other: SweepState) -> SweepState: ...
    def finish(self) -> Made: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> SweepState: ...
    @property
    def is_done(self) -> bool:
        """Whether every configuration has simulated the time that counts."""
    @property
    def ios(self) -> int:
        """Number of I/Os of all volumes."""
    @property
    def volumes(self) -> list[str]:
        """The names of the volumes."""
    @property
    def policies(self) -> list[str]:
        """The configurations."""

@final
class Trace:
    """An open q2c trace: its description, and its requests as Arrow."""

    @property
    def path(self) -> os.PathLike[str]:
        """The path as it was given."""
    @property
    def source(self) -> str:
        """The program or format from which the trace comes."""
    @property
    def source_version(self) -> str:
        """Version of the source."""
    @property
    def clock(self) -> str:
        """The clock of all times."""
    @property
    def file(self) -> Optional[str]:
        """The file to which the offsets belong, where the target was a file."""
    @property
    def start_unix_ns(self) -> Optional[int]:
        """Unix time of time 0, ns; None where the source does not tell it."""
    @property
    def lost(self) -> int:
        """Number of events that the source lost."""
    @property
    def unmatched(self) -> dict[str, int]:
        """Number of events that could not be matched, by reason."""
    @property
    def facts(self) -> dict[str, str]:
        """Other facts about the machine and the job, by name."""
    @property
    def columns(self) -> list[str]:
        """Columns of the stream, in its order."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

def read(path: _Path, columns: Optional[Sequence[str]] = None) -> Trace: ...
def import_(recordings: Sequence[_Path], out: _Path, options: Mapping[str, Any]) -> Trace: ...
def analyze(source: object, window: Optional[tuple[object, object]], name: str, options: Mapping[str, Any]) -> Made: ...
def choose(states: Sequence[SweepState], options: Mapping[str, Any]) -> Made: ...
def policies() -> list[dict[str, Any]]: ...
def simulate(source: object, rules: Sequence[object], name: str, options: Mapping[str, Any]) -> Made: ...
def sweep(sources: Sequence[object], policies: Sequence[object], name: str, options: Mapping[str, Any]) -> Made: ...
def load_run(run: _Path) -> Made: ...
