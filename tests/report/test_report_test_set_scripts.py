"""The scripts of papers 2 to 5 run on a table and on a store, in this process: they are quick."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command import ROOT
from small_study import SmallStudy, run_records, small_study

from anynet_study.store import JournalWriter, collect


def run_script(name: str, *arguments: str) -> str:
    """Run analysis/NAME.py here; its exit code must be 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [name, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "analysis" / f"{name}.py"), run_name="__main__")
    return str(ended.value.code)


@pytest.fixture(scope="module")
def study() -> SmallStudy:
    return small_study(16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, study: SmallStudy) -> Path:
    """A folder with accuracies.csv, and results.h5 with predictions and their true classes."""
    path = tmp_path_factory.mktemp("scripts")
    (100 - study.errors).rename(columns={"base": "test"}).to_csv(path / "accuracies.csv")
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 10, 60).astype(np.uint16)
    writer = JournalWriter(path / "a.arrow")
    for record in run_records(study):
        wrong = generator.random(60) < record.error / 100
        seen = np.where(wrong, (truth + 1) % 10, truth).astype(np.uint16)
        writer.append(replace(record, predictions=seen))
    writer.close()
    (path / "journals").mkdir()
    (path / "a.arrow").rename(path / "journals" / "a.arrow")
    tables = study.population, pa.Table.from_pandas(study.datasets, preserve_index=False)
    truths = dict.fromkeys(study.datasets["dataset"], truth)
    collect(path / "journals", path / "results.h5", *tables, None, {}, truths=truths)
    return path


@pytest.mark.parametrize(
    ("name", "arguments", "written"),
    [
        ("new_test_set", "test base-5 --images test=200,base-5=200", ["new_test_set", "gaps"]),
        ("transfer", "--above 80 --spline", ["transfer"]),
        ("other_targets", "", ["other_targets"]),
        ("improvement", "FIRST", ["improvement"]),
        ("transforms", "", ["transforms"]),
        ("robustness", "", ["robustness"]),
    ],
)
def test_on_a_table(
    name: str, arguments: str, written: list[str], folder: Path, study: SmallStudy, tmp_path: Path
) -> None:
    table = str(folder / "accuracies.csv")
    options = arguments.replace("FIRST", str(study.errors.index[0])).split()
    assert run_script(name, table, *options, "--accuracy", "-o", str(tmp_path)) == "0"
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == sorted(written)
    assert len([*tmp_path.glob("*.pdf")]) == len(written)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rank_preservation", ""),
        ("best_of_bins", "parameters --top 3"),
        ("label_sets", "base --sizes 2,10"),
    ],
)
def test_on_a_store(name: str, arguments: str, folder: Path, tmp_path: Path) -> None:
    store = str(folder / "results.h5")
    assert run_script(name, store, *arguments.split(), "-o", str(tmp_path)) == "0"
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.png", f"{name}.pdf"}


def test_predictions_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script("mcnemar", str(folder / "results.h5"), "base", "--top", "4") == "0"
    assert "McNemar" in capsys.readouterr().out
    assert run_script("mcnemar", str(folder / "accuracies.csv"), "base") == "2"
    assert capsys.readouterr().err.count("\n") == 1


def test_bad_counts_of_images(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("test", "base-5", "--accuracy", "--images", "200")
    assert run_script("new_test_set", str(folder / "accuracies.csv"), *arguments) == "2"
    assert "NAME=COUNT" in capsys.readouterr().err


def test_a_store_is_asked_for_the_evaluations_of_one_dataset(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script("transforms", str(folder / "results.h5")) == "2"
    assert "say which --dataset" in capsys.readouterr().err
    assert run_script("transforms", str(folder / "results.h5"), "--dataset", "base") == "2"
    assert "1 evaluations" in capsys.readouterr().err
