"""The notebooks in docs/notebooks run from the first cell to the last, and what they show is right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pyarrow.compute
import pyarrow.parquet
import pytest
from conftest import BLOCK, ROOT, USER, Program
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def executed(path: Path) -> Any:
    """Runs a notebook in its own folder, as a reader does. A cell that fails ends it with its error."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}})
    return client.execute()


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, str]]:
    """What the cells of the notebook about rules show, by the first line of each: text and HTML."""
    found = {}
    for cell in executed(ROOT / "docs/notebooks/from-a-trace-to-a-rule.ipynb").cells:
        if cell.cell_type == "code":
            data: dict[str, str] = {}
            for output in cell.outputs:
                data.update(output.get("data", {"text/plain": output.get("text", "")}))
            found[cell.source.splitlines()[0]] = data
    return found


def test_every_notebook_is_run() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["from-a-trace-to-a-rule"]


def test_no_notebook_keeps_outputs() -> None:
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells), path


def test_latencies_are_those_of_the_file(shown: dict[str, dict[str, str]]) -> None:
    table = pyarrow.parquet.read_table(BLOCK, columns=["op", "queue_ns", "complete_ns"])
    table = table.filter(pyarrow.compute.is_valid(table["complete_ns"]))
    counts = {str(row["values"]): row["counts"] for row in table["op"].combine_chunks().value_counts().to_pylist()}
    text = shown['trace = q2c.read(MIXED, columns=["op", "bytes", "queue_ns", "complete_ns"])']["text/plain"]
    sql = shown['duckdb.sql(f"""']["text/plain"]
    for op, count in counts.items():
        assert any(line.split()[0] == op and float(line.split()[1]) == count for line in text.splitlines() if line.strip()), text
        assert any(line.split()[1:3] == [op, str(count)] for line in sql.splitlines()), sql


def test_an_analysis_shows_its_page(shown: dict[str, dict[str, str]]) -> None:
    page = shown["analysis = q2c.analyze(MIXED)"]["text/html"]
    assert page.startswith("<iframe") and "id=&quot;library&quot;" in page
    requests = pyarrow.parquet.read_metadata(BLOCK).num_rows
    stages = shown["stages = pandas.DataFrame(analysis.stages).T"]["text/plain"]
    assert "D2C" in stages and "Q2C" in stages
    # The page separates thousands by a narrow space.
    thousands, rest = divmod(requests, 1000)
    assert re.search(rf"\b{thousands}.{rest:03} I/Os", page)


def test_simulations_and_the_best_rule_are_the_programs(shown: dict[str, dict[str, str]], printed: Program) -> None:
    grid = "min:ratio=5%..95%/5%,period=1ms|10ms|100ms"
    swept = json.loads(printed("poll", "sweep", USER, "--policy", grid, "--cost", "published", "--json"))
    best = shown["print(sweep.best)"]
    assert "<iframe" in best["text/html"]
    pareto = shown['sweep = q2c.sweep(POLLED, "min:ratio=5%..95%/5%,period=1ms|10ms|100ms", cost="published")']["text/plain"]
    for number, cell in enumerate(swept["cells"]):
        assert (f" {cell['policy']} " in pareto) == (number in swept["pareto"]), cell["policy"]
