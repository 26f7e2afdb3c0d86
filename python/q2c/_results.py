"""Results: the program's JSON as a mapping, its main figures as attributes, and the forms in which it is drawn."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Optional, TypedDict, cast

if TYPE_CHECKING:
    from q2c._native import Made

__all__ = ["Analysis", "Choice", "Result", "Simulated", "Simulation", "StageStats", "Sweep", "SweptVolumes"]

_WIDTH = 120
_HEIGHT_PX = 800


class StageStats(TypedDict):
    """Latencies of one stage, ns. Min, mean and max are exact, percentiles within 0.8 %."""

    n: int
    min_ns: int
    mean_ns: float
    max_ns: int
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p999_ns: float
    p9999_ns: float


class Simulated(TypedDict, total=False):
    """Figures of one simulated method. Rates and shares are fractions of 1, except `cpu_pct`."""

    method: str
    policy: str
    ios: int
    iops: float
    cpu_pct: float
    miss_rate: float
    effective_sleep_ns: float
    cpu_ns_per_io: float
    kiops_per_core: float
    mean_ns: float
    p50_ns: float
    p99_ns: float


class Result(Mapping[str, Any]):
    """A result of q2c: a mapping with the content of its JSON.

    `str(result)` are the tables that the program prints, and in a notebook a result is the program's page with its
    charts.
    """

    def __init__(self, made: Made) -> None:
        self._made = made
        self._content: Optional[dict[str, Any]] = None

    def json(self) -> str:
        """The JSON that the program prints with `--json`, without the line's end."""
        return self._made.json()

    def to_dict(self) -> dict[str, Any]:
        """The content of the JSON, as a dict of its own."""
        return cast("dict[str, Any]", json.loads(self.json()))

    def html(self) -> str:
        """The page with charts, complete in itself."""
        return self._made.page()

    def table(self, width: int = _WIDTH) -> str:
        """The tables that the program prints, in so many columns (at least 60)."""
        return self._made.table(width)

    @property
    def schema(self) -> str:
        """Name and version of the JSON's schema, such as `q2c.analyze/1`."""
        return cast(str, self["schema"])

    def _held(self) -> dict[str, Any]:
        if self._content is None:
            self._content = self.to_dict()
        return self._content

    def __getitem__(self, key: str) -> Any:
        return self._held()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held())

    def __len__(self) -> int:
        return len(self._held())

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<q2c.{type(self).__name__} {self.schema}>"

    def _repr_html_(self) -> str:
        page = self.html()
        # The page has a policy that lets its own scripts run alone; the frame keeps it from the notebook.
        return (
            f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {_HEIGHT_PX}px; border: 0"></iframe>'
        )


def _us(ns: float) -> str:
    return f"{ns / 1e3:.3g} us"


class Analysis(Result):
    """Where the I/Os of a trace spend their time: the result of `q2c analyze`. Docs: docs/analyze.md."""

    @property
    def layer(self) -> str:
        """`block` (Q2C and its stages) or `user` (U2C), in which the times were taken."""
        return cast(str, self["layer"])

    @property
    def requests(self) -> int:
        """Number of I/Os."""
        return cast(int, self["requests"])

    @property
    def completed(self) -> int:
        """I/Os with a completion."""
        return cast(int, self["completed"])

    @property
    def failed(self) -> int:
        """I/Os that completed with an error."""
        return cast(int, self["failed"])

    @property
    def bytes(self) -> int:
        """Bytes of all I/Os."""
        return cast(int, self["bytes"])

    @property
    def span_ns(self) -> int:
        """From the first start to the last completion, ns."""
        return cast(int, self["span_ns"])

    @property
    def lost(self) -> int:
        """Events that the source lost."""
        return cast(int, self["lost"])

    @property
    def unmatched(self) -> dict[str, int]:
        """Events that fit no I/O and I/Os without an end, by reason."""
        return cast("dict[str, int]", self["unmatched"])

    @property
    def stages(self) -> dict[str, StageStats]:
        """Latencies by stage, such as `D2C` or `Q2C`."""
        return cast("dict[str, StageStats]", self["stages"])

    @property
    def bottleneck(self) -> Optional[str]:
        """The largest stage before the driver, if it takes at least 20 % of Q2C, else D2C.

        The device may take more; `self["bottleneck"]["shares"]` has the shares of all stages. None
        without a completed I/O of the block layer.
        """
        found = self["bottleneck"]
        return None if found is None else cast(str, found["stage"])

    @property
    def bottleneck_share(self) -> Optional[float]:
        """Share of the bottleneck in the sum of Q2C, 0 to 1."""
        found = self["bottleneck"]
        return None if found is None else cast(float, found["share"])

    @property
    def mean_in_flight(self) -> float:
        """Mean number of I/Os in flight over the trace's time."""
        return cast(float, self["in_flight"]["mean"])

    @property
    def most_in_flight(self) -> int:
        """Most I/Os in flight at once."""
        return cast(int, self["in_flight"]["most"])

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Conditions under which this result misleads: what was found, what it means, what to do."""
        return cast("list[dict[str, str]]", self["warnings"])

    def __repr__(self) -> str:
        words = [f"{self.requests} I/Os of the {self.layer} layer"]
        whole = "Q2C" if self.layer == "block" else "U2C"
        stats = self.stages.get(whole)
        if stats is not None:
            words.append(f"{whole} p50 {_us(stats['p50_ns'])}, p99 {_us(stats['p99_ns'])}")
        if self.bottleneck is not None and self.bottleneck_share is not None:
            shares = cast("dict[str, float]", self["bottleneck"]["shares"])
            most = max(shares, key=lambda stage: shares[stage], default=self.bottleneck)
            if most != self.bottleneck:
                words.append(f"most time {most} ({shares[most]:.1%})")
            words.append(f"bottleneck {self.bottleneck} ({self.bottleneck_share:.1%})")
        if self.warnings:
            words.append(f"{len(self.warnings)} warning{'s' if len(self.warnings) > 1 else ''}")
        return f"<q2c.Analysis {self['input']['path']!r}: {'; '.join(words)}>"


class Simulation(Result):
    """Classic polling, the oracle and some sleep rules on a trace: the result of `q2c poll sim`."""

    @property
    def methods(self) -> list[Simulated]:
        """Classic polling (`poll`), the `oracle`, and the rules in the order given (`hybrid:RULE`)."""
        return cast("list[Simulated]", self["methods"])

    def __repr__(self) -> str:
        methods = ", ".join(method["method"] for method in self.methods)
        return f"<q2c.Simulation {self['trace']!r}: {self['ios']} I/Os; {methods}>"


class Sweep(Result):
    """Families of sleep rules over traces: the result of `q2c poll sweep`. Docs: docs/poll-sweep.md."""

    @property
    def best(self) -> Optional[str]:
        """The best rule in full; None when no rule keeps the limits."""
        found = self["best"]
        return None if found is None else cast(str, found["policy"])

    @property
    def cells(self) -> list[Simulated]:
        """Every rule on every trace: trace by trace (`input`), with the rules in the same order on each."""
        return cast("list[Simulated]", self["cells"])

    @property
    def pareto(self) -> list[Simulated]:
        """The cells of each trace's Pareto front of IOPS against CPU."""
        cells = self.cells
        return [cells[index] for index in self["pareto"]]

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Conditions under which this result misleads: what was found, what it means, what to do."""
        return cast("list[dict[str, str]]", self["warnings"])

    def __repr__(self) -> str:
        inputs = ", ".join(repr(given["path"]) for given in self["inputs"])
        return f"<q2c.Sweep {inputs}: {len(self.cells)} cells, best {self.best}>"


class SweptVolumes(Result):
    """The outcomes of a sweep in parts, over all volumes together. Docs: docs/poll-sweep.md, "Parts of a sweep"."""

    @property
    def volumes(self) -> list[str]:
        """The names of the volumes."""
        return cast("list[str]", self["volumes"])

    @property
    def ios(self) -> int:
        """I/Os of all volumes, those of the warm-up included."""
        return cast(int, self["ios"])

    @property
    def poll(self) -> Simulated:
        """Classic polling."""
        return cast("Simulated", self["poll"])

    @property
    def cells(self) -> list[Simulated]:
        """The configurations in their order, but for those in `inexact`, which have no figures."""
        return cast("list[Simulated]", self["cells"])

    def __repr__(self) -> str:
        return f"<q2c.SweptVolumes: {len(self.cells)} configurations over {len(self.volumes)} volumes, {self.ios} I/Os>"


class Choice(Result):
    """The best configuration of each of several sweeps, and those that are best over all of them."""

    @property
    def best(self) -> list[Optional[str]]:
        """The best rule of each sweep; None where none keeps the limits."""
        return [cast("Optional[str]", of["policy"]) for of in self["best"]]

    @property
    def on_average(self) -> Optional[str]:
        """The rule with the highest mean share of each sweep's best; None where none keeps the limits everywhere."""
        found = self["on_average"]
        return None if found is None else cast(str, found["policy"])

    @property
    def worst_case(self) -> Optional[str]:
        """The rule whose least share is the highest: the most robust one."""
        found = self["worst_case"]
        return None if found is None else cast(str, found["policy"])
