"""What was measured beside the study's code (benchmarks/fork.py) is what the documentation says."""

import csv
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
fork = import_module("benchmarks.fork")
sys.path.pop(0)


def rows() -> list[Any]:
    with (ROOT / "benchmarks/results/fork.csv").open(newline="") as file:
        return [
            fork.Row(quantity, compared, float(difference), float(allowed) if allowed else None)
            for quantity, compared, difference, allowed in list(csv.reader(file))[1:]
        ]


def test_every_recorded_difference_is_within_its_limit() -> None:
    assert len(rows()) == 18
    assert [row.quantity for row in rows() if not row.holds] == []


def test_the_page_quotes_what_was_recorded() -> None:
    page = (ROOT / "docs/fork.md").read_text()
    found = {row.quantity: row for row in rows()}
    assert f"{found['loss while training'].difference:.1e}".replace("e-0", "e-") in page
    assert f"({found['share of incompatible draws'].difference:.0%} of all)" in page
    by_epochs = found["sum of rates by step"].compared.split("epochs: ")[1].split(", ")
    shares = dict(told.split(": ") for told in by_epochs)
    assert f"{shares['10']} of theirs with 10 epochs" in page
    assert f"{shares['20']} with 20, {shares['30']} with 30" in page
    for quantity in ("logits", "loss", "gradients", "parameters", "draws made compatible"):
        assert found[quantity].difference == 0, quantity
