"""The experiments on data budgets: their price, and a miniature from the download to the figure."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import SWEEPS, in_this_process, laid_out, run_script, train
from items import answer
from miniatures import class_folders, wnids, write_miniature
from miniatures_shifts import imagenet_v2, wnid_folders

from anynet_study import ResultStore
from anynet_study.engine.sweep import Sweep

SWEEP = SWEEPS / "data-budget.yaml"
SHIFTS = ("v2", "sketch", "renditions", "adversarial")
#: What makes it a matter of seconds.
TOY = [
    "population.count=4",
    "population.space={base: anynetx, depths: [1, 2], widths: [8, 24], stem_width: 8}",
    "population.flops=[1e5, 1e6]",
    "population.resolution=16",
    "population.classes=6",
    *(f"datasets.{label}.classes=6" for label in ("in100", "in100-eighth", "both", "both-1x")),
    "datasets.oi100.classes=6",
    "evaluations.fifty.classes=3",
    "evaluations.ten.classes=2",
    "evaluations.few-shot.shots=1",
    *(f"evaluations.{name}.every=1" for name in SHIFTS),
]
REGIME = {"epochs": 2, "batch_size": 16, "warmup_epochs": 0, "resolution": 16}


def add_data(folder: Path) -> None:
    """Twelve classes of each dataset; two of them are in no shifted test set but the first."""
    downloads, random = folder / "downloads", np.random.default_rng(0)
    open_images = downloads / "openimages"
    class_folders(open_images, random, dict.fromkeys(wnids(12), 8), ".jpg")
    sources = {
        "imagenet": write_miniature("imagenet", downloads),
        "openimages-100": open_images,
        "imagenetv2": imagenet_v2(downloads / "v2", random),
    }
    for name in ("imagenet-sketch", "imagenet-r", "imagenet-a"):
        sources[name] = wnid_folders(downloads / name, random, list(range(10)))
    for name, source in sources.items():
        in_this_process(folder, "data", "add", name, "--from", source, "--size", 16)


def test_it_has_a_price_before_its_data_is_there(tmp_path: Path) -> None:
    shown = in_this_process(tmp_path, "launch", SWEEP, "--dry-run").stdout
    (line,) = re.findall(r"^(\d+ runs, .*) of one V100 GPU$", shown, re.M)
    row = next(r for r in (SWEEPS / "README.md").read_text().splitlines() if SWEEP.name in r)
    assert line in row
    runs, days = line.split(" runs, ")
    assert f"{days.replace(' days', '')} V100 GPU-days for {runs} runs" in SWEEP.read_text()


@pytest.mark.slow
def test_from_the_downloads_to_the_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_data(tmp_path)
    sweep = Sweep.load(SWEEP)
    toy = [
        f"recipes.{name}.{key}={value}" for name in sweep.recipes for key, value in REGIME.items()
    ]
    train(tmp_path, SWEEP, *TOY, *toy)
    study = tmp_path / "studies" / "data-budget"
    store = ResultStore(study / "results.h5")
    runs = store.runs()
    assert set(runs["status"]) == {"completed"}
    assert len(runs) == 4 * 5 * 2
    images = store.datasets().set_index("dataset")["train_images"]
    assert images["both-1x"] == images["in100"]
    assert images["both"] > images["in100"]
    errors = store.evaluation_errors("both", recipe="texts")
    assert {"test", *SHIFTS, "fifty", "ten", "few-shot"} <= set(errors.columns)
    assert errors.notna().all(axis=None)
    answer(tmp_path, "data-budget", monkeypatch)
    laid_out(monkeypatch)
    assert run_script("data_budget", str(study), "-o", str(tmp_path)) == 0
    table = pd.read_csv(tmp_path / "data_budget.csv")
    assert set(table["recipe"]) == {"labels", "texts"}
    assert len(table) == 10
    # Neither of few images nor of fewer classes, which are easier.
    assert set(table["shifts"]) == {", ".join(SHIFTS)}
    mean = (100 - errors[list(SHIFTS)]).mean(axis=None)
    (row,) = table.query("recipe == 'texts' and dataset == 'both'")["average"]
    assert row == pytest.approx(mean)
    assert (tmp_path / "data_budget.png").is_file()
