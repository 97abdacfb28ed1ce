"""The commands at the head of sweeps/cifar10-mini.yaml, on a small part of its real images."""

import re
from pathlib import Path
from unittest.mock import patch

import pytest
from command import SWEEPS, in_this_process, train_here
from items import answer

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
    with patch("anynet_study.engine.stages.train_all", train_here):
        in_this_process(folder, "run", SWEEP, *SMALL, *FEW)
    return folder


@pytest.fixture(scope="module")
def store(home: Path) -> ResultStore:
    return ResultStore(home / "studies" / "cifar10-mini" / "results.h5")


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


def test_its_questions_are_answered(home: Path, monkeypatch: pytest.MonkeyPatch):
    answer(home, "cifar10-mini", monkeypatch)
