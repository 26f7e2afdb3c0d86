"""Sleep rules, simulated on traces, beside the program's figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import polars
import pyarrow
import pytest
import q2c
from conftest import BLOCK, KEPT, ROOT, USER, Program

RULES = ["mean:ratio=50%,period=10ms", "min:80%,10ms", "pas", "rule:period=5ms,sleep=max(min - 4us, 0)"]


def words_of(rules: list[str]) -> list[str]:
    return [word for rule in rules for word in ("--policy", rule)]


def test_a_rule_prints_as_the_program_does(printed: Program) -> None:
    simulated = json.loads(printed("poll", "sim", USER, *words_of(RULES), "--json"))
    named = [method["method"].removeprefix("hybrid:") for method in simulated["methods"][2:]]
    assert [str(q2c.Rule(text)) for text in RULES] == named


def test_a_rule_is_a_value() -> None:
    rule = q2c.Rule("min:ratio=80%,period=10ms")
    assert (rule.name, rule.params, rule.period_ns) == ("min", {"ratio": 0.8, "period": 1e7}, 10_000_000)
    assert rule == q2c.Rule("min:80%,10ms") and hash(rule) == hash(q2c.Rule("min:80%,10ms"))
    assert rule != q2c.Rule("min:81%,10ms") and rule != "min:80%,10ms"
    assert eval(repr(rule), {"Rule": q2c.Rule}) == rule
    formula = q2c.Rule("rule:period=5ms,sleep=0.7*min")
    assert formula.formula is not None and "min" in formula.formula and rule.formula is None


def test_a_wrong_rule_has_the_programs_text() -> None:
    from conftest import run

    for text in ["mini:80%", "min:ratio=800%", "min:ratio=80", "rule:0.7*", ""]:
        # The command line puts words of its own round the text.
        said = re.sub(r"\s+", " ", run("poll", "sim", USER, "--policy", text).stderr)
        with pytest.raises(q2c.UsageError) as raised:
            q2c.Rule(text)
        words = re.sub(r"\s+", " ", str(raised.value)).removeprefix("failed to ")
        assert words.startswith("parse sleep rule") and words in said, said


def test_policies_are_those_of_the_help(printed: Program) -> None:
    _, told = re.sub(r"\s+", " ", printed("poll", "sim", "--help")).split("Sleep rules:")
    rules = q2c.policies()
    assert len(rules) == told.count("; as in: ") > 10
    for rule in rules:
        q2c.Rule(rule["example"])
        head = rf" {re.escape(rule['name'])}: {re.escape(rule['summary'])}; ([^;]*); as in: {re.escape(rule['example'])} "
        windows = re.search(head, told)
        assert windows is not None, rule
        assert f" the {rule['scope']}" in windows[1] or f" each {rule['scope']}" in windows[1] or rule["name"] == "fixed"
        for param in rule["params"]:
            default = "must be given" if param["default"] is None else f"default {param['default']}"
            assert f" {param['name']}: {param['summary']}; {param['range']}, {default}" in told


@pytest.mark.parametrize("path", [BLOCK, USER], ids=lambda path: path.stem)
def test_a_simulation_is_that_of_the_program(path: Path, printed: Program) -> None:
    expected = printed("poll", "sim", path, *words_of(RULES), "--json")
    rules: list[Any] = [RULES[0], q2c.Rule(RULES[1]), *RULES[2:]]
    assert q2c.simulate(path, rules).json() + "\n" == expected
    simulation = q2c.simulate(q2c.read(path, columns=["op"]), rules)
    assert simulation.json() + "\n" == expected
    assert [method["method"] for method in simulation.methods[:2]] == ["poll", "oracle"]
    assert str(simulation).rstrip("\n") + "\n" == printed("poll", "sim", path, *words_of(RULES))
    table = pyarrow.table(q2c.read(path))
    assert q2c.simulate(table, rules, name=str(path)).json() + "\n" == expected


def test_options_are_those_of_the_program(printed: Program) -> None:
    words = ["--cost", "published", "--warm-up", "100ms", "--measure", "1s", "--seed", "9", "--open", "--latency", "q2c", "--lanes", "device"]
    expected = printed("poll", "sim", BLOCK, "--policy", "pas", *words, "--json")
    found = q2c.simulate(
        BLOCK, "pas", cost="published", warm_up="100ms", measure=1_000_000_000, seed=9, open=True, latency="q2c", lanes="device"
    )
    assert found.json() + "\n" == expected
    expected = printed("poll", "sim", USER, "--policy", "pas", "--wake-delay", "7us", "--json")
    assert q2c.simulate(USER, "pas", wake_delay="7us").json() + "\n" == expected


def test_costs_come_from_a_calibration(tmp_path: Path, printed: Program, refused: Callable[..., tuple[int, str]]) -> None:
    tuned = json.loads(next(path for path in KEPT if path.name.startswith("tune-")).read_text())
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(tuned["calibration"] if "calibration" in tuned else tuned["calibrations"]))
    size = json.loads(file.read_text())[0]["bs"]
    words = ["--policy", "pas", "--cost", file, "--json"]
    expected = printed("poll", "sim", USER, *words, "--bs", size)
    assert q2c.simulate(USER, "pas", cost=file, bs=size).json() + "\n" == expected
    code, text = refused("poll", "sim", BLOCK, *words)
    with pytest.raises(q2c.Q2cError) as raised:
        q2c.simulate(BLOCK, "pas", cost=file)
    assert (str(raised.value), raised.value.exit_code) == (text, code)


def test_latencies_are_a_list_of_them(tmp_path: Path, printed: Program) -> None:
    file = tmp_path / "latencies.txt"
    latencies = [round(70 + 25 * (n * 7919 % 101) / 101, 3) for n in range(5000)]
    file.write_text("\n".join(map(str, latencies)) + "\n")
    expected = printed("poll", "sim", file, "--unit", "us", "--policy", "pas", "--json")
    given: dict[str, Any] = {
        "list": latencies, "numpy": numpy.array(latencies), "polars": polars.Series(latencies), "tuple": tuple(latencies),
    }
    for kind, values in given.items():
        assert q2c.simulate(values, "pas", unit="us", name=str(file)).json() + "\n" == expected, kind
    with pytest.raises(q2c.UsageError, match="expected the option unit"):
        q2c.simulate(latencies, "pas")
    with pytest.raises(q2c.InputError, match="line 2, latency: expected a latency above zero.*found `-1`"):
        q2c.simulate([70.0, -1.0], "pas", unit="us")


def without_speed(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(text)
    del content["speed"]
    return content


def test_a_sweep_is_that_of_the_program(printed: Program, tmp_path: Path) -> None:
    family = "min:ratio=10%..90%/10%,period=1ms|10ms"
    words = ["--policy", family, "--policy", "pas", "--objective", "iops", "--max-cpu", "90", "--json"]
    expected = without_speed(printed("poll", "sweep", USER, BLOCK, *words))
    sources: list[q2c.Source] = [USER, q2c.read(BLOCK)]
    swept = q2c.sweep(sources, [family, q2c.Rule("pas")], objective="iops", max_cpu=90)
    assert without_speed(swept.json()) == expected
    assert len(swept.cells) == 2 * 19 and swept.best == (expected["best"] or {}).get("policy")
    assert swept.pareto == [expected["cells"][index] for index in expected["pareto"]]
    assert "2 * 19" not in repr(swept) and "38 cells" in repr(swept)
    page = swept.html()
    assert page.startswith("<!")
    assert "best" in str(swept)


def test_the_standard_grid(printed: Program) -> None:
    expected = without_speed(printed("poll", "sweep", USER, "--json"))
    swept = q2c.sweep(USER)
    assert without_speed(swept.json()) == expected
    assert {cell["rule"] for cell in swept["cells"]} >= {"mean", "min", "pas", "uring"}


def test_a_sweep_that_is_too_large_is_refused(refused: Callable[..., tuple[int, str]]) -> None:
    family = "min:ratio=0.1%..99%/0.01%,period=1ms..200ms/1ms"
    code, text = refused("poll", "sweep", USER, USER, USER, "--policy", family)
    with pytest.raises(q2c.UsageError) as raised:
        q2c.sweep([USER, USER, USER], family)
    assert "at most 4000000 configurations" in text
    assert (str(raised.value), raised.value.exit_code) == (text, code)
    with pytest.raises(q2c.UsageError, match="max-cpu: expected a percentage above 0"):
        q2c.sweep(USER, "pas", max_cpu=0)
    with pytest.raises(TypeError, match="expected a q2c.Rule or its text"):
        q2c.sweep(USER, [3])  # type: ignore[list-item]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_result_is_as_the_program_reads_it(path: Path, printed: Program) -> None:
    run = q2c.load_run(path)
    assert run.json() + "\n" == printed("report", path, "--json")
    assert dict(run) == run.to_dict() == json.loads(printed("report", path, "--json"))
    assert "<iframe" in run._repr_html_() and len(str(run)) > 100


def test_kept_results_have_their_class(tmp_path: Path, refused: Callable[..., tuple[int, str]]) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "result.json").write_text(q2c.analyze(BLOCK).json())
    analysis = q2c.load_run(folder)
    assert isinstance(analysis, q2c.Analysis) and analysis.json() == q2c.analyze(BLOCK).json()
    simulated = tmp_path / "sim.json"
    simulated.write_text(q2c.simulate(USER, "pas").json())
    kept = q2c.load_run(simulated)
    page = kept.html()
    assert isinstance(kept, q2c.Simulation) and page.startswith("<!") and "<iframe" in kept._repr_html_()
    other = tmp_path / "other.json"
    other.write_text('{"schema": "q2c.other/1"}')
    for path in [other, tmp_path, ROOT / "README.md", tmp_path / "none"]:
        code, text = refused("report", path)
        with pytest.raises(q2c.InputError) as raised:
            q2c.load_run(path)
        assert (str(raised.value), raised.value.exit_code) == (text, code)
