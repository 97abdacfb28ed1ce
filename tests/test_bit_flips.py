"""A flipped bit in any file that a study depends on never changes a result without a word.

Files are changed one bit at a time, at random places, and read as commands and workers read them: a
reading is as it was, or is refused, or says what is wrong. Sweep files are for people to change;
whatever of them determines a run is part of its id.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import train
from tiny_study import TINY

from anynet_study import load
from anynet_study.core.errors import UserError
from anynet_study.data import KeptDatasets, PackedDataset, Split, load_dataset
from anynet_study.design_space import Population
from anynet_study.engine.training import load_weights
from anynet_study.store import ResultStore, read_journals

#: Of each kind of file.
FLIPS = 100
SPLITS: tuple[Split, ...] = ("train", "test")
#: Says that a file is not as it was written.
TOLD = "told"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that is done, with its weights, and its data."""
    path = tmp_path_factory.mktemp("flips")
    (path / "tiny.yaml").write_text(TINY + "launch: {keep: weights}\n")
    train(path, "tiny.yaml")
    return path


def of_store(path: Path) -> list[Any]:
    """All that analyses take from a store, and what is kept of each run."""
    study = load(path)
    store = study.store
    assert isinstance(store, ResultStore)
    tables = [study.errors, study.architectures, store.runs(), store.curves(), store.datasets()]
    arrays = [store.predictions(name)[1] for name in study.errors]
    return [*tables, *arrays, [store.labels(name) for name in study.errors]]


def of_population(path: Path) -> list[Any]:
    population = Population.read(path)
    return [population.table.to_pandas(), population.sampling]


def of_journal(path: Path) -> list[Any]:
    problems: dict[str, str] = {}
    table = read_journals([path], problems=problems)
    return [TOLD] if problems else [table.drop_columns("journal").to_pandas()]


def of_weights(path: Path) -> list[Any]:
    weights = load_weights(path, path.stem)
    return [TOLD] if weights is None else [np.asarray(w) for w in weights.values()]


def of_dataset(path: Path) -> list[Any]:
    """A worker's view of it: sizes and times are as they were, so that all has to be read."""
    dataset = load_dataset(path.parent.name, whole=True)
    images = [np.asarray(dataset.images(split)) for split in SPLITS]
    return [dataset.meta, *labels_of(dataset), *images]


def labels_of(dataset: PackedDataset) -> list[Any]:
    read = (dataset.labels, dataset.moments)
    return [np.asarray(of(split)) for split in SPLITS for of in read]


def of_kept(path: Path) -> list[Any]:
    """What reading commands take from a study instead of the dataset."""
    dataset = load_dataset(path.parent.name, kept=KeptDatasets(path.parent.parent))
    return [dataset.meta, *labels_of(dataset)]


#: By kind: where its files are, and how they are read.
KINDS: dict[str, tuple[str, Callable[[Path], list[Any]]]] = {
    "store": ("studies/tiny/results.h5", of_store),
    "population": ("studies/tiny/population.parquet", of_population),
    "journal": ("studies/tiny/journals/*.arrow", of_journal),
    "weights": ("studies/tiny/weights/*.pt", of_weights),
    "dataset": ("data/*/*", of_dataset),
    "kept": ("studies/tiny/datasets/*/*", of_kept),
}


def same(one: Any, other: Any) -> bool:
    """Whether two readings are equal to the bit."""
    if isinstance(one, list):
        pairs = zip(one, other, strict=True)
        return len(one) == len(other) and all(same(*pair) for pair in pairs)
    if isinstance(one, pd.DataFrame):
        return isinstance(other, pd.DataFrame) and one.equals(other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_told_or_changes_nothing(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(folder / "data"))
    monkeypatch.chdir(folder)
    pattern, read = KINDS[kind]
    paths = sorted(path for path in folder.glob(pattern) if path.is_file())
    assert paths
    draw, noticed = random.Random(0), 0
    whole = {path: read(path) for path in paths}
    for _ in range(FLIPS):
        path = draw.choice(paths)
        content = path.read_bytes()
        place = draw.randrange(8 * len(content))
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            found = read(path)
        except UserError:
            found = [TOLD]
        finally:
            path.write_bytes(content)
        told = isinstance(found[0], str)
        noticed += told
        assert told or same(whole[path], found), f"{path}: bit {place}"
    assert noticed > FLIPS / 4
    capsys.readouterr()
