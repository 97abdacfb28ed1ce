"""The further scripts of paper 1 run on a store or a table, and refuse what lacks their data."""

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import ROOT
from small_study import run_records, small_study, write_store

from anynet_study.errors import UserError
from anynet_study.plots import saving

FAMILY = {"source_name": "base", "family": ["base=10,base-5=5"], "targets": ["target-0=4"]}


def script_of(name: str) -> Callable[..., None]:
    """The function of analysis/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "analysis" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., None] = getattr(module, name)
    return function


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """How the figures look is tested with them; to draw them takes most of a script's time."""
    for suffix in ("png", "pdf"):
        monkeypatch.setitem(saving.WRITERS, suffix, lambda _, path: path.touch())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two recipes, with curves of training errors."""
    study = small_study(24)
    records = [
        replace(each, curves=each.curves | {"train_top1": np.asarray(each.curves["test_top1"]) / 3})
        for each in run_records(study)
    ]
    again = [
        replace(each, run_id=f"{number + len(records):016x}", recipe="long", error=each.error - 2)
        for number, each in enumerate(records)
    ]
    folder = tmp_path_factory.mktemp("scripts")
    write_store(folder, study, records + again)
    return folder / "results.h5"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Errors with the parameters of the architectures."""
    study = small_study(24)
    path = tmp_path_factory.mktemp("table") / "errors.csv"
    parameters = study.parameters.set_index("architecture")
    study.errors.join(parameters[[f"{p}{s}" for p in "dwbg" for s in range(1, 5)]]).to_csv(path)
    return path


OF_A_STORE: list[tuple[str, dict[str, Any], set[str]]] = [
    ("figure4", {}, {"figure4"}),
    ("figure_a1", {"dataset": "base-2", "proxies": "base,base-5"}, {"figure_a1"}),
    ("figure_a2", {"keep": 0.9}, {"figure_a2", "figure_a2-ranks"}),
    ("figure_a3", {}, {"figure_a3"}),
    ("figure_a4", {}, {"figure_a4a", "figure_a4b"}),
    ("figure_a6", {"name": "base", "recipe": "long"}, {"figure_a6"}),
    ("stage_drivers", {}, {"stage_drivers", "stage_drivers-partial"}),
]
OF_A_TABLE: list[tuple[str, dict[str, Any], set[str]]] = [
    (
        "figure6",
        {
            "name": "base",
            "fewer_images": "base-5",
            "fewer_classes": "base-2",
            "targets": "target-0",
        },
        {"figure6", "figure6-gains"},
    ),
    ("figure_a5", {"pairs": "base=base-5"}, {"figure_a5"}),
    ("importance", {"trees": 30}, {"importance"}),
    ("pareto", {"costs": "base=9,base-5=1", **FAMILY}, {"pareto"}),
    ("regret", FAMILY, {"regret"}),
    ("sample_size", {"name": "base", "target": "base-5"}, {"sample_size"}),
]


@pytest.mark.parametrize(("name", "options", "stems"), OF_A_STORE)
def test_on_a_store(
    name: str, options: dict[str, Any], stems: set[str], store: Path, tmp_path: Path
) -> None:
    check(name, store, options, stems, tmp_path)


@pytest.mark.parametrize(("name", "options", "stems"), OF_A_TABLE)
def test_on_a_table(
    name: str, options: dict[str, Any], stems: set[str], table: Path, tmp_path: Path
) -> None:
    check(name, table, options, stems, tmp_path)


def check(name: str, source: Path, options: dict[str, Any], stems: set[str], folder: Path) -> None:
    """Every figure is there as PNG and PDF, and tables are as their script says, never empty."""
    script_of(name)(source, output=folder, **options)
    written = {path.stem for path in folder.iterdir()}
    assert written == stems
    for stem in stems:
        assert {path.suffix for path in folder.glob(f"{stem}.*")} >= {".png", ".pdf"}
    for path in folder.glob("*.csv"):
        assert len(pd.read_csv(path))


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("figure4", {}, "say which datasets"),
        ("figure_a1", {"dataset": "base", "proxies": "base"}, "several recipes"),
        ("figure_a2", {}, "only a results store"),
        ("figure_a3", {}, "only in a results store"),
        ("figure_a4", {}, "only a results store"),
        ("figure_a5", {"pairs": "base=cats"}, "no dataset cats"),
        ("figure_a6", {"name": "base"}, "say --recipe NAME"),
        ("pareto", {"costs": "base=dear", **FAMILY}, "is not NAME=SECONDS"),
        ("regret", {}, "say which datasets"),
    ],
)
def test_what_is_lacking_is_said(
    name: str, options: dict[str, Any], problem: str, table: Path
) -> None:
    with pytest.raises(UserError, match=problem):
        script_of(name)(table, **options)
