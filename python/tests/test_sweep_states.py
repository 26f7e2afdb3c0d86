"""Sweeps in parts, beside sweeps of the whole."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import pyarrow
import pytest
import q2c
from conftest import BLOCK, USER, Program

RULES = ["min:ratio=40%..80%/20%,period=1ms", "pas", "dpas", "qt", "rule:period=2ms,sleep=0.6 * p05", "linux410", "uring"]
TIMES: dict[str, Any] = {"cost": "published", "warm_up": "2ms", "measure": "300ms"}


def latencies(seed: int, least: float = 20.0) -> list[float]:
    draw = random.Random(seed)
    return [round(least + draw.random() * 9 + (60 if draw.random() < 0.05 else 0), 3) for _ in range(4000)]


def figures(cells: Any) -> list[dict[str, Any]]:
    """Cells without what only a trace in a sweep has."""
    own = {"input", "bs", "ios", "keeps_limits", "share"}
    return [{key: value for key, value in cell.items() if key not in own} for cell in cells]


def swept(name: str, lane: list[float], rules: list[str] = RULES, cuts: int = 6) -> q2c.SweepState:
    """The state after a lane, which is pickled at random places."""
    state, draw = q2c.SweepState(name, rules, **TIMES), random.Random(name)
    while not state.is_done:
        places = sorted(draw.randrange(len(lane)) for _ in range(cuts))
        for start, end in zip([0, *places], [*places, len(lane)]):
            state = pickle.loads(pickle.dumps(state))
            state.update(lane[start:end], unit="us")
    return q2c.SweepState.from_bytes(state.to_bytes())


def test_parts_by_time_are_a_sweep_of_the_whole() -> None:
    lane = latencies(1)
    whole = q2c.sweep([lane], RULES, unit="us", **TIMES)
    told = swept("a", lane).finish()
    assert figures(told.cells) == figures(whole["cells"])
    assert told.poll == whole["answers"][0]["poll"]
    assert [told.schema, told.volumes, told["seed"], told["measure_ns"]] == ["q2c.sweep-volumes/1", ["a"], 1, 300_000_000]


def test_parts_of_a_trace_are_the_program(printed: Program) -> None:
    rules = ["mean:50%,1ms", "pas", "dpas"]
    words = [word for rule in rules for word in ["--policy", rule]]
    times = ["--cost", "published", "--warm-up", "1ms", "--measure", "50ms"]
    whole = json.loads(printed("poll", "sweep", USER, *words, *times, "--json"))
    state = q2c.SweepState("disk", rules, cost="published", warm_up="1ms", measure="50ms")
    state.update(USER)
    assert state.ios == len(q2c.read(USER))
    while not state.is_done:
        state.update(pyarrow.table(q2c.read(USER)))
    assert figures(state.finish().cells) == figures(whole["cells"])


def test_volumes_and_configurations_come_in_any_order() -> None:
    lanes = {f"disk {n}": latencies(n, 15.0 + 9 * n) for n in range(3)}
    first, second, third = (swept(name, lane) for name, lane in lanes.items())
    fleets = [first.beside(second).beside(third), third.beside(pickle.loads(pickle.dumps(first.beside(second))))]
    found = [fleet.finish().to_dict() for fleet in fleets]
    assert found[0] == found[1]
    assert found[0]["volumes"] == list(lanes)
    # Each counts for the same time, so that IOPS add up; these are sums of whole numbers.
    alone = [state.finish().cells for state in [first, second, third]]
    for n, cell in enumerate(found[0]["cells"]):
        assert cell["iops"] == pytest.approx(sum(of[n]["iops"] for of in alone), rel=1e-12)
        assert cell["cpu_pct"] == pytest.approx(sum(of[n]["cpu_pct"] for of in alone) / 3, rel=1e-12)
        assert cell["ios"] == sum(of[n]["ios"] for of in alone)
    halves = [swept("disk 0", lanes["disk 0"], rules) for rules in [RULES[:2], RULES[2:]]]
    together = halves[0].with_configurations(halves[1])
    assert together.finish().json() == first.finish().json()
    assert together.policies == first.policies and "volumes" in repr(together)


def test_the_most_robust_rule_has_the_least_regret() -> None:
    states = [swept(f"disk {n}", latencies(n, 10.0 + 40 * n)) for n in range(3)]
    chosen = q2c.choose(states)
    whole = q2c.sweep([latencies(n, 10.0 + 40 * n) for n in range(3)], RULES, unit="us", **TIMES)
    assert chosen.on_average == whole["best"]["policy"] and chosen.worst_case == whole["best_worst_case"]["policy"]
    assert chosen["on_average"]["share"] == whole["best"]["share"]
    assert chosen["worst_case"]["share"] == whole["best_worst_case"]["share"]
    assert chosen["worst_case"]["regret"] == pytest.approx(1 - whole["best_worst_case"]["share"])
    best = [whole["cells"][answer["best"]]["policy"] for answer in whole["answers"]]
    assert chosen.best == best
    assert str(chosen.worst_case) in str(chosen)
    assert q2c.choose(states[:1]).worst_case == best[0]
    assert q2c.choose(states, min_iops="1000000").best == [None] * 3


def test_it_draws_itself() -> None:
    told = swept("a disk", latencies(2), ["pas"]).finish()
    table = str(told)
    assert table.startswith("a disk ") and "KIOPS/core" in table and "pas:up=0.01" in table and "\npoll " in table
    assert told.html().startswith("<!") and "1 configurations over 1 volumes" in repr(told)


def test_what_does_not_fit_is_refused() -> None:
    state = q2c.SweepState("a", "pas", wake_delay="2us")
    state.update([20.0, 30.0], unit="us")
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: q2c.SweepState("a", []), "expected policies, found none"),
        (lambda: q2c.SweepState("a", "fixed:1s"), "sweep fixed:sleep=1s in parts: expected sleeps up to 0.27 s"),
        (lambda: q2c.SweepState("a", "pas", cost="published", wake_delay="1us"), "expected it without wake_delay"),
        (lambda: state.beside(state), "expected different volumes, found a in both"),
        (lambda: state.beside(q2c.SweepState("b", "qt", wake_delay="2us")), "expected the same configurations, found qt"),
        (lambda: state.beside(q2c.SweepState("b", "pas", wake_delay="3us")), "expected the same costs, found others"),
        (lambda: state.beside(q2c.SweepState("b", "pas", wake_delay="2us", seed=2)), "expected the seed 1, found 2"),
        (lambda: state.with_configurations(q2c.SweepState("a", "qt", wake_delay="2us")), "expected the same 2 I/Os, found 0"),
        (lambda: q2c.choose([]), "expected one sweep or more, found none"),
        (lambda: q2c.choose([state]), "expected I/Os behind the warm-up on each, found none on a"),
        (lambda: state.update([1.0], unit="parsec"), "parsec"),  # type: ignore[arg-type]
    ]
    for make, words in refusals:
        with pytest.raises(q2c.UsageError) as raised:
            make()
        assert words in str(raised.value)
    with pytest.raises(q2c.InputError, match="expected I/Os of one lane of depth 1, found [0-9]+ lanes"):
        state.update(BLOCK)
    with pytest.raises(q2c.InputError, match="expected I/Os below 0.54 s"):
        state.update([600.0], unit="ms")
    with pytest.raises(TypeError, match="unexpected keyword argument 'objective'"):
        state.update([1.0], objective="iops")  # type: ignore[call-arg]
    assert state.ios == 2
    ended = state.beside(q2c.SweepState("b", "pas", wake_delay="2us"))
    with pytest.raises(q2c.UsageError, match="expected one device, found the sums of several"):
        ended.update([20.0], unit="us")


def test_other_bytes_are_refused() -> None:
    whole = swept("a", latencies(3), ["pas"]).to_bytes()
    for bytes_, words in [
        (b"", "begin with \"q2csweep\" and 24 bytes at least, found 0 bytes"),
        (b"q2canlys" + whole[8:], "of another kind"),
        (whole[:8] + b"\x09" + whole[9:], "expected version 1, found version 9"),
        (whole[:-1], f"expected {len(whole) - 24} bytes behind the header, found {len(whole) - 25}"),
        (whole[:99] + bytes([whole[99] ^ 1]) + whole[100:], "expected a body of checksum"),
    ]:
        with pytest.raises(q2c.InputError, match="failed to read the state of a sweep: ") as raised:
            q2c.SweepState.from_bytes(bytes_)
        assert words in str(raised.value)
