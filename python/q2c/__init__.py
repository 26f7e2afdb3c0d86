"""q2c for Python: traces of block I/Os as Arrow, analyses, and sleep rules of hybrid polling.

- `read` and `import_` give a `Trace`, whose requests any Arrow consumer takes without a copy;
- `analyze` says where the I/Os of a recording, a trace or a table spend their time;
- `AnalysisState` does so in parts, which may be on other machines;
- `Rule`, `policies`, `simulate` and `sweep` are the sleep rules and their simulation;
- `SweepState` sweeps in parts and over many volumes, over which `choose` says what is best;
- `load_run` reads a result that a run of the program left.

Numbers and texts are those of the program `q2c`. Errors are of the class `Q2cError`, one class for each of its exit
codes. Whatever takes long lets other threads run, and ends soon after Ctrl-C.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Protocol, TypedDict, Union, cast

from q2c import _native
from q2c._native import (
    DeviceError,
    InputError,
    InternalError,
    MachineError,
    Q2cError,
    Rule,
    Trace,
    UsageError,
    __version__,
)
from q2c._results import Analysis, Choice, Result, Simulated, Simulation, StageStats, Sweep, SweptVolumes
from q2c._states import AnalysisState, SweepState

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Analysis",
    "AnalysisState",
    "Choice",
    "DeviceError",
    "InputError",
    "InternalError",
    "MachineError",
    "Param",
    "Policy",
    "Q2cError",
    "Recording",
    "Result",
    "Rule",
    "Simulated",
    "Simulating",
    "Simulation",
    "StageStats",
    "Sweep",
    "SweepState",
    "Sweeping",
    "SweptVolumes",
    "Table",
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


class Table(Protocol):
    """Anything with Arrow's PyCapsule interface: tables of pyarrow, polars, pandas and duckdb among others."""

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...


Path = Union[str, "os.PathLike[str]"]
Duration = Union[str, int]
"""A text with a unit, such as `10ms`, or a number of nanoseconds."""
Size = Union[str, int]
"""A text such as `4k` (powers of 1024), or a number of bytes."""
Source = Union[Path, Trace, Table]
Latencies = Iterable[float]


class Recording(TypedDict, total=False):
    """How a recording of another tool is read: the options of `q2c trace import`. A q2c trace needs none."""

    format: Optional[str]
    """Name of its format (docs/formats.md); recognised by its first bytes without."""
    unit: Optional[Literal["ns", "us", "ms", "s"]]
    """Unit of all its times; never guessed."""
    op: Optional[Literal["read", "write", "flush", "discard", "other"]]
    """Operation of requests that name none."""
    bs: Optional[Size]
    """Length of requests that have none; in simulations also the calibration that is used."""
    offset_unit: Optional[Size]
    """Bytes per unit of its offsets."""
    read_flag: Optional[int]
    """`disksim`: the lowest bit of the flags of reads, 0 or 1."""
    columns: Optional[Mapping[str, str]]
    """`csv`: the header that holds each field."""
    delimiter: Optional[str]
    """`csv`: the character between cells."""
    blkparse_format: Optional[str]
    """`blkparse`: the format that was given to `blkparse -f`."""
    sort: Optional[bool]
    """Whether to sort requests that are out of order by more than 65,536, through a file in `$TMPDIR`."""
    skip_bad: Optional[bool]
    """Whether to leave out what cannot be read, counted by reason."""


class Simulating(Recording, total=False):
    """How sources are simulated: the options of `q2c poll sim` and `sweep`."""

    latency: Optional[Literal["d2c", "i2c", "q2c"]]
    """Block layer: the interval that is the device's time."""
    lanes: Optional[Literal["thread", "device"]]
    """Block layer: whose requests form lanes."""
    device: Optional[str]
    """The device whose requests are taken alone, such as `259:0`."""
    cost: Optional[Path]
    """File of calibrations that says the costs, or `published`; without it those of the run whose folder the
    recording lies in."""
    wake_delay: Optional[Duration]
    """Every sleep ends this late and nothing else costs (`2us` where there are no other costs)."""
    warm_up: Optional[Duration]
    """Simulated time before anything counts (`400ms`)."""
    measure: Optional[Duration]
    """Simulated time that counts (each recording's length, at least `2s`)."""
    open: Optional[bool]
    """Whether submissions come when they came in the recording."""
    seed: Optional[int]
    """Seed of everything that is drawn (1)."""


class Sweeping(Simulating, total=False):
    """What is best in a sweep, beside the options of its simulations."""

    objective: Optional[Literal["kiops-per-core", "iops", "cpu"]]
    """The figure by which the best rule is chosen."""
    min_iops: Optional[str]
    """Least IOPS of the best rule, or their share of polling's: `9300`, `93%`."""
    max_p99: Optional[Duration]
    """Largest 99th percentile of its latency."""
    max_cpu: Optional[float]
    """Most CPU that it uses, percent of one CPU and thread."""
    follow: Optional[Union[str, Rule]]
    """The rule whose I/Os the page shows one by one (the best)."""
    long: Optional[bool]
    """Whether the sweep may take more than two minutes; the program's `--yes`."""


class Param(TypedDict):
    """A parameter of a sleep rule."""

    name: str
    summary: str
    default: Optional[str]
    """As the program prints it; None where it must be given."""
    range: str


class Policy(TypedDict):
    """A sleep rule of the registry."""

    name: str
    summary: str
    scope: Literal["thread", "CPU", "device"]
    """Whose I/Os share a state of the rule."""
    follows_device: bool
    """Whether the sleep adapts to the device."""
    interrupts: bool
    """Whether some I/Os are left to the interrupt."""
    example: str
    params: list[Param]


def read(path: Path, columns: Optional[Sequence[str]] = None) -> Trace:
    """Opens the q2c trace at `path`. `columns` names the columns of its Arrow stream, in their order; None for all.

    Only the description is read here. Raises `InputError` when the file is no q2c trace, is cut off, damaged or of
    another version, and `UsageError` for a column that a trace does not have.
    """
    return _native.read(path, columns)


def import_(
    path: Union[Path, Sequence[Path]], out: Path, **recording: Unpack[Recording]
) -> Trace:
    """Turns a recording of another tool into the new q2c trace `out`, as `q2c trace import` does, and opens it.

    Several recordings are merged by time. Memory is bounded for any length. When it fails or is interrupted, no trace
    appears. Raises `UsageError` (a name that is taken, a format that needs an option), `InputError` (a line that
    cannot be read), `DeviceError` (the disk is full).
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    return _native.import_(paths, out, recording)


def analyze(
    source: Source,
    *,
    window: Optional[tuple[Duration, Duration]] = None,
    name: str = "table",
    **recording: Unpack[Recording],
) -> Analysis:
    """Says where the I/Os of `source` spend their time, as `q2c analyze` does.

    `source` is the path of a q2c trace or of any recording that can be imported (or the base name of blktrace's
    files), a `Trace` (all of its columns, whatever those of its stream), or a table with the columns of a q2c trace in
    any order: all of them (docs/sql.md), with the same types, text in any encoding. Further columns are ignored. Rows
    stand in the order in which their requests began, as in the trace that they come from. A table is read batch by
    batch and not copied. Without the description of a trace in its schema, which pyarrow keeps and polars does not,
    the analysis does not know the devices' queues, nor what the recording lost.

    `window` are two times from the first start, whose I/Os in flight are kept one by one (at most 4,096). `name` is
    what a table is called in the result and in messages.

    Raises `InputError` when the source cannot be read or holds no request; that for a table names the column, what was
    expected and what was found. Memory is bounded for any length.
    """
    return Analysis(_native.analyze(source, window, name, recording))


def policies() -> list[Policy]:
    """Every sleep rule with its parameters, sorted by name."""
    return [cast("Policy", policy) for policy in _native.policies()]


def simulate(
    source: Union[Source, Latencies],
    rules: Union[str, Rule, Iterable[Union[str, Rule]]],
    *,
    name: str = "latencies",
    **simulating: Unpack[Simulating],
) -> Simulation:
    """Simulates sleep rules on `source`, beside classic polling and the oracle, as `q2c poll sim` does.

    `source` is as for `analyze`, or a sequence of latencies, whose `unit` must be named and which are taken as reads
    of 4 KiB in a row. It is held in memory, 16 bytes per I/O. `name` is what a source without a path is called.

    Raises `UsageError` for a rule that there is not, `InputError` for a source without completions or with sleeps of
    its own.
    """
    return Simulation(_native.simulate(source, _rules(rules), name, simulating))


def sweep(
    sources: Union[Source, Latencies, Sequence[Union[Source, Sequence[float]]]],
    policies: Union[str, Rule, Iterable[Union[str, Rule]]] = (),
    *,
    name: str = "latencies",
    **sweeping: Unpack[Sweeping],
) -> Sweep:
    """Simulates families of sleep rules on one source or several and says which rule is best, as `q2c poll sweep` does.

    `policies` are rules or families, whose values may be a list `A|B|C` or a range `A..B/STEP` or `A..B*FACTOR`;
    without any, the standard grid. Sources are as for `simulate`.

    Raises `UsageError` for a sweep that would take more than two minutes, unless `long` is true.
    """
    return Sweep(_native.sweep(_sources(sources), _rules(policies), name, sweeping))


def choose(
    states: Sequence[SweepState],
    *,
    objective: Optional[Literal["kiops-per-core", "iops", "cpu"]] = None,
    min_iops: Optional[str] = None,
    max_p99: Optional[Duration] = None,
    max_cpu: Optional[float] = None,
) -> Choice:
    """Says which rule is best on each of several volumes that were swept alike, and which over all of them.

    Each state is that of one volume, or of a group of them. The most robust rule has the highest least share of each
    volume's best, that is the least regret. Objective and limits are those of `q2c.sweep`.

    Raises `UsageError` when there is no state, or when they have different configurations.
    """
    options = {"objective": objective, "min_iops": min_iops, "max_p99": max_p99, "max_cpu": max_cpu}
    return Choice(_native.choose([state._native for state in states], options))


def load_run(path: Path) -> Result:
    """Reads a result that the program kept: the folder of a run, or a file with the JSON of a result.

    Raises `InputError` when there is no result, or none that this version reads.
    """
    made = _native.load_run(path)
    kinds: dict[str, type[Result]] = {"q2c.analyze": Analysis, "q2c.poll-sim": Simulation, "q2c.sweep": Sweep}
    result = Result(made)
    kind = kinds.get(result.schema.split("/")[0])
    return result if kind is None else kind(made)


def _rules(rules: Union[str, Rule, Iterable[Union[str, Rule]]]) -> list[Union[str, Rule]]:
    return [rules] if isinstance(rules, (str, Rule)) else list(rules)


def _sources(sources: Any) -> list[Any]:
    """A list or a tuple is several sources, unless it is one of latencies."""
    several = isinstance(sources, (list, tuple)) and not (sources and isinstance(sources[0], numbers.Real))
    return list(sources) if several else [sources]
