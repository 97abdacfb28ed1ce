"""The commands at the head of sweeps/cifar10-mini.yaml, on a small part of its real images."""

import csv
import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from command import SWEEPS, in_this_process, train_here

from anynet_study import ResultStore

pytestmark = [pytest.mark.slow, pytest.mark.shared_data]

SWEEP = SWEEPS / "cifar10-mini.yaml"
DATASETS = ["cifar10", "cifar10-5", "cifar10-2", "sign-digits", "ants-bees"]
ARCHITECTURES = 4
REPEATED = 2
PER_CLASS = 10
#: How much of each dataset is added.
PART = {
    "cifar10": ["--limit-per-class", PER_CLASS],
    "sign-digits": ["--limit-per-class", PER_CLASS],
    "ants-bees": ["--fraction", 0.1],
}
SMALL = [
    f"population.count={ARCHITECTURES}",
    f"replicates.architectures={REPEATED}",
    *(f"datasets.{name}.per_class={PER_CLASS}" for name in DATASETS[:3]),
    "recipes.basic.epochs=2",
    *(f"recipes.basic.overrides.{name}.epochs=2" for name in DATASETS[1:]),
]
FEW = ["--resamples", 100]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> Path:
    """A folder in which the data was added and the study done, as the sweep file says."""
    folder = tmp_path_factory.mktemp("cifar10-mini")
    added = re.findall(r"anynet-study data add (\S+) --from (\S+)(.*)", SWEEP.read_text())
    assert [name for name, *_ in added] == list(PART)
    for name, archive, options in added:
        source = shared_data / archive
        add = ["data", "add", name, "--from", source, *options.split(), *PART[name]]
        in_this_process(folder, *add)
    with patch("anynet_study.stages.train_all", train_here):
        in_this_process(folder, "run", SWEEP, *SMALL, *FEW)
    return folder


@pytest.fixture(scope="module")
def store(home: Path) -> ResultStore:
    return ResultStore(home / "studies" / "cifar10-mini" / "results.h5")


@pytest.fixture(scope="module")
def errors_csv(home: Path) -> Path:
    """The errors as a table of their own."""
    in_this_process(home, "query", "cifar10-mini", "--table", "errors", "-o", "errors.csv")
    return home / "errors.csv"


def test_every_network_has_an_error_on_every_dataset(store: ResultStore):
    errors = store.errors()
    assert list(errors.columns) == DATASETS
    assert len(errors) == ARCHITECTURES
    assert errors.notna().all(axis=None)
    assert errors.min(axis=None) >= 0
    assert errors.max(axis=None) <= 100
    replicates = store.replicates()
    assert len(replicates) == (ARCHITECTURES + REPEATED) * len(DATASETS)
    again = replicates.groupby(["architecture", "dataset"])["error"].mean().unstack()
    assert (again.loc[errors.index, DATASETS] - errors).abs().max(axis=None) < 1e-9


def test_the_variants_take_the_stated_part(store: ResultStore):
    datasets = store.datasets().set_index("dataset")
    roles = ["source", "family", "family", "target", "target"]
    assert datasets["role"].to_dict() == dict(zip(DATASETS, roles, strict=True))
    assert datasets["classes"].tolist() == [10, 5, 2, 10, 2]
    images = [PER_CLASS * classes for classes in (10, 5, 2)]
    assert datasets.loc[DATASETS[:3], "train_images"].tolist() == images
    assert datasets.loc[DATASETS[:3], "test_images"].tolist() == images


def test_the_report_is_one_page_and_has_figures_where_asked_for(home: Path):
    folder = home / "studies" / "cifar10-mini" / "report"
    page = (folder / "report.html").read_text()
    assert "Does progress on CIFAR-10 carry over" in page
    assert "<img" not in page
    figures = ("source", "heatmap", "matrix", "depth", "width", "noise", "curves")
    in_this_process(home, "report", "cifar10-mini", "--figures", ",".join(figures), *FEW)
    page = (folder / "report.html").read_text()
    assert not re.findall(r'(?:src|href)="https?:', page)
    assert set(re.findall(r'<img src="(.{10})', page)) == {"data:image"}
    for figure in figures:
        assert f'id="figure-{figure}"' in page
        assert (folder / "figures" / f"{figure}.png").stat().st_size > 5000


def test_analyze_says_the_same_of_the_study_and_of_its_table(home: Path, errors_csv: Path):
    of_study = json.loads(in_this_process(home, "analyze", "cifar10-mini", *FEW, "--json").stdout)
    main = {"correlations", "match", "proxies", "regret", "drivers", "configurations", "noise"}
    assert main <= set(of_study["tables"])
    pairs = of_study["tables"]["correlations"]
    assert len(pairs) == len(DATASETS) * (len(DATASETS) - 1) // 2
    assert {row["n"] for row in pairs} == {ARCHITECTURES}
    only = ["--table", "correlations", *FEW]
    of_table = json.loads(
        in_this_process(home, "analyze", errors_csv, "--error", *only, "--json").stdout
    )
    assert of_table["tables"]["correlations"] == pairs
    as_csv = in_this_process(home, "analyze", "cifar10-mini", *only, "--format", "csv").stdout
    # So few images leave datasets on which all networks err alike: no estimate, an empty cell.
    assert [float(row["estimate"] or "nan") for row in csv_rows(as_csv)] == [
        pytest.approx(float("nan") if row["estimate"] is None else row["estimate"], nan_ok=True)
        for row in pairs
    ]


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))
