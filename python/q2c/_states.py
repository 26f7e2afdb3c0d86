"""States: results of parts, which are put together, and which go from one machine to another as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, cast

from q2c import _native as compiled
from q2c._results import Analysis, SweptVolumes

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from q2c import Duration, Latencies, Path, Recording, Size, Source
    from q2c._native import Rule, Trace

__all__ = ["AnalysisState", "SweepState"]


class _State:
    """A state that goes to another machine: as a pickle, or as bytes."""

    _kind: type[Any]
    """The class of the compiled module that does the work."""
    _native: Any

    def to_bytes(self) -> bytes:
        """The state as bytes, for another machine with the same version of the form."""
        return cast("bytes", self._native.to_bytes())

    @classmethod
    def from_bytes(cls, state: bytes) -> Self:
        """The state that `to_bytes` made `state` of. Raises `InputError` for any other bytes."""
        return cls._of(cls._kind.from_bytes(state))

    @classmethod
    def _of(cls, native: Any) -> Self:
        state = cls.__new__(cls)
        state._native = native
        return state

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)


class AnalysisState(_State):
    """The analysis of a part of a recording, which is put together with those of other parts.

    Each part is fed by `update`, on any machine. Parts of the recording's time are joined by `then` in their order, those
    of other devices over the same time by `beside` in any order (join the parts of one device by time first). `finish`
    makes the result of all of them: that of `q2c.analyze` over the whole, but for the figures that its `inexact` names
    (docs/analyze.md, "Parts of a trace").

    The first part of a device's I/Os is `AnalysisState()`, and each part behind it `AnalysisState(later=True)`. All parts
    have times of one clock. `layer` is that of the I/Os to analyse; without it that of the first one. States are
    pickled, and `to_bytes` and `from_bytes` carry them otherwise.
    """

    _kind = compiled.AnalysisState
    _native: compiled.AnalysisState

    def __init__(self, *, layer: Optional[Literal["block", "user"]] = None, later: bool = False) -> None:
        self._native = compiled.AnalysisState(layer, later)

    def update(self, source: Source, *, name: str = "table") -> None:
        """Takes the next I/Os, in the order in which they began: a table or a trace, as for `q2c.analyze`.

        May be called many times, also with an empty table. Raises `InputError` when the source cannot be read; the state
        then has some of the I/Os only and cannot be used any more.
        """
        self._native.update(source, name)

    def then(self, later: AnalysisState) -> AnalysisState:
        """The analysis of this part and of `later`, which comes next in time; both stay as they are.

        Raises `UsageError` when they have different layers.
        """
        return self._of(self._native.then(later._native))

    def beside(self, other: AnalysisState) -> AnalysisState:
        """The analysis of this part and of `other`, which has other devices over the same time; both stay as they are.

        Raises `UsageError` when they have different layers, or a device in common.
        """
        return self._of(self._native.beside(other._native))

    def finish(self, trace: Optional[Trace] = None, *, name: str = "parts") -> Analysis:
        """The result of all I/Os so far; the state stays as it is.

        `trace` is the trace that the parts are of, whose description tells of losses and queues; else the result is called
        `name` and knows none. Raises `InputError` when there is no I/O.
        """
        return Analysis(self._native.finish(trace, name))

    @property
    def requests(self) -> int:
        """Number of I/Os so far."""
        return self._native.requests

    @property
    def layer(self) -> Optional[Literal["block", "user"]]:
        """The layer of the I/Os; None before the first."""
        return cast("Optional[Literal['block', 'user']]", self._native.layer)

    def __repr__(self) -> str:
        return f"<q2c.AnalysisState: {self.requests} I/Os>"


class SweepState(_State):
    """Configurations of sleep rules over the I/Os of one volume, in parts, or over those of many volumes.

    `volume` is the volume's name. `policies` are rules or families, as for `q2c.sweep`; there is no standard grid here,
    because it depends on all I/Os. Costs are those of `cost` (with `bs`, where the calibrations are of several block
    sizes) or `wake_delay`. `measure` is the simulated time that counts; without it all I/Os behind the warm-up do.

    The I/Os of a volume come by `update` in their order. Between two calls the state may be pickled and gone on with on
    another machine: the outcomes are those of one pass to the last bit. Volumes are added up by `beside` in any order,
    other configurations over the same I/Os by `with_configurations` (docs/poll-sweep.md, "Parts of a sweep").
    """

    _kind = compiled.SweepState
    _native: compiled.SweepState

    def __init__(
        self,
        volume: str,
        policies: Union[str, Rule, Iterable[Union[str, Rule]]],
        *,
        cost: Optional[Path] = None,
        wake_delay: Optional[Duration] = None,
        bs: Optional[Size] = None,
        warm_up: Optional[Duration] = None,
        measure: Optional[Duration] = None,
        seed: Optional[int] = None,
    ) -> None:
        rules = [policies] if isinstance(policies, (str, compiled.Rule)) else list(policies)
        options = {"cost": cost, "wake_delay": wake_delay, "bs": bs, "warm_up": warm_up, "measure": measure, "seed": seed}
        self._native = compiled.SweepState(volume, rules, options)

    def update(self, source: Union[Source, Latencies], *, name: str = "latencies", **taking: Unpack[Recording]) -> None:
        """Takes the next I/Os of the volume: latencies with their `unit`, or a source as for `q2c.simulate`.

        A source has one lane of depth 1, and no think time behind its last I/O. Stretches of 10,000 I/Os and more are
        fast. Raises `InputError` for more lanes or I/Os that take too long; the state is as before then.
        """
        self._native.update(source, name, taking)

    def beside(self, other: SweepState) -> SweepState:
        """The sums of this state's volumes and of `other`'s, in any order; both stay as they are.

        Raises `UsageError` when they have other configurations, costs or times, or a volume in common. The sums take no
        I/Os any more.
        """
        return self._of(self._native.beside(other._native))

    def with_configurations(self, other: SweepState) -> SweepState:
        """This state with the configurations of `other` behind its own; both stay as they are.

        Raises `UsageError` when `other` has seen other I/Os or volumes, has other costs or times, or shares a
        configuration.
        """
        return self._of(self._native.with_configurations(other._native))

    def finish(self) -> SweptVolumes:
        """The outcomes so far, over all volumes together; the state stays as it is."""
        return SweptVolumes(self._native.finish())

    @property
    def is_done(self) -> bool:
        """Whether every configuration has simulated the time that counts."""
        return self._native.is_done

    @property
    def ios(self) -> int:
        """Number of I/Os so far, of all volumes."""
        return self._native.ios

    @property
    def volumes(self) -> list[str]:
        """The names of the volumes."""
        return self._native.volumes

    @property
    def policies(self) -> list[str]:
        """The configurations, each a rule with all of its parameters."""
        return self._native.policies

    def __repr__(self) -> str:
        return f"<q2c.SweepState: {len(self.policies)} configurations, {len(self.volumes)} volumes, {self.ios} I/Os>"
