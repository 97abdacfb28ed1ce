"""Paper 1's study at toy scale, on miniatures of its datasets; and its price in full."""

import json
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from command import SWEEPS, in_this_process, laid_out, run_script, train
from items import answer
from miniatures import write_miniature

from anynet_study import ResultStore
from anynet_study.design_space import Population
from anynet_study.engine.dispatch.pack import cohorts, pack_jobs
from anynet_study.engine.planning.cost import sweep_cost
from anynet_study.engine.planning.memory import MOST
from anynet_study.engine.planning.prices import H100
from anynet_study.engine.study_folder import sample
from anynet_study.engine.sweep import Sweep

SWEEP = SWEEPS / "paper.yaml"
TARGETS = ["concrete", "mlc2008", "ham10000", "powerline", "insects", "natural"]
TARGETS += ["cifar10", "cifar100"]
#: Classes of the miniatures; None: as many as the dataset has.
CLASSES = {"imagenet": 14, **dict.fromkeys(TARGETS), "cifar100": 20}
FAMILY = ["imagenet", "imagenet-100", "imagenet-10", "imagenet-5", "imagenet-2"]
COLUMNS = [*FAMILY, "imagenet-1000-10", *TARGETS, "mlc2008-balanced", "ham10000-balanced"]
#: And another draw of ten classes.
COLUMNS += ["imagenet-10b"]
TOP5 = {"imagenet", "imagenet-100", "imagenet-1000-10", "insects", "cifar100"}
ARCHITECTURES = 4
#: Datasets whose epochs, or whose resolution, the sweep states apart.
OWN_EPOCHS = [*FAMILY, "imagenet-1000-10", "ham10000", "ham10000-balanced", "cifar10", "cifar100"]
OWN_RESOLUTION = ["powerline", "natural", "cifar10", "cifar100"]
#: All that a toy needs; the datasets, their parts and their metrics stay the paper's.
TOY = [
    f"population.count={ARCHITECTURES}",
    "population.space={base: anynetx, depths: [1, 2], widths: [8, 48], stem_width: 8}",
    "population.flops=[1e5, 1e6]",
    "population.resolution=16",
    "population.classes=10",
    "datasets.imagenet-100.classes=12",
    "datasets.imagenet-10b={base: imagenet, classes: 10, class_seed: 1, role: extra}",
    "recipes.basic.epochs=1",
    "recipes.basic.batch_size=32",
    "recipes.basic.warmup_epochs=0.5",
    "recipes.basic.resolution=16",
    *(f"recipes.basic.overrides.{name}.epochs=1" for name in OWN_EPOCHS),
    *(f"recipes.basic.overrides.{name}.resolution=16" for name in OWN_RESOLUTION),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the toy study was done."""
    folder = tmp_path_factory.mktemp("paper")
    for name, classes in CLASSES.items():
        source = write_miniature(name, folder / "downloads", classes=classes)
        in_this_process(
            folder, "data", "add", name, "--from", source, "--size", 16, "--test-share", 0.1
        )
    train(folder, SWEEP, *TOY)
    return folder


@pytest.fixture(scope="module")
def store(home: Path) -> ResultStore:
    return ResultStore(home / "studies" / "paper" / "results.h5")


@pytest.mark.slow
def test_every_run_is_recorded(home: Path, store: ResultStore):
    population = Population.read(home / "studies" / "paper" / "population.parquet")
    assert len(population) == ARCHITECTURES
    runs = store.runs()
    assert len(runs) == store.planned_runs == ARCHITECTURES * len(COLUMNS)
    assert set(runs["status"]) == {"completed"}
    assert runs["planned"].all()
    errors = store.errors()
    assert list(errors.columns) == COLUMNS
    assert list(errors.index) == list(population.ids)
    assert errors.notna().all(axis=None)
    assert errors.min(axis=None) >= 0
    assert errors.max(axis=None) <= 100


@pytest.mark.slow
def test_datasets_have_the_paper_s_parts_and_metrics(store: ResultStore):
    datasets = store.datasets().set_index("dataset")
    assert list(datasets.index) == COLUMNS
    assert datasets["role"].to_dict() == {
        "imagenet": "source",
        **dict.fromkeys(FAMILY[1:], "family"),
        "imagenet-1000-10": "extra",
        **dict.fromkeys(TARGETS, "target"),
        **dict.fromkeys(COLUMNS[-3:], "extra"),
    }
    assert set(datasets.index[datasets["metric"] == "top5"]) == TOP5
    assert set(datasets["metric"]) == {"top1", "top5"}
    assert datasets.loc[FAMILY, "classes"].tolist() == [14, 12, 10, 5, 2]
    assert datasets.loc["imagenet-1000-10", "classes"] == 14
    assert datasets.loc["imagenet-1000-10", "train_images"] == 10 * 14


@pytest.mark.slow
def test_the_targets_are_matched_as_in_table_3(home: Path):
    asked = ["analyze", "paper", "--table", "match", "--resamples", 100]
    rows = json.loads(in_this_process(home, *asked, "--json").stdout)["tables"]["match"]
    keys = ("target", "classes", "member", "member_classes")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("concrete", 2, "imagenet-2", 2),
        ("mlc2008", 9, "imagenet-10", 10),
        ("ham10000", 7, "imagenet-5", 5),
        ("powerline", 2, "imagenet-2", 2),
        ("insects", 8, "imagenet-10", 10),
        ("natural", 6, "imagenet-5", 5),
        ("cifar10", 10, "imagenet-10", 10),
        ("cifar100", 20, "imagenet", 14),
    ]


@pytest.mark.slow
def test_every_item_of_the_paper_has_its_answer(home: Path, monkeypatch: pytest.MonkeyPatch):
    answer(home, "paper", monkeypatch)


@pytest.mark.slow
def test_images_of_each_class_are_those_of_the_variants(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    laid_out(monkeypatch)
    pairs = "mlc2008=mlc2008-balanced,ham10000=ham10000-balanced"
    told = ["--pairs", pairs, "--resamples", "100", "-o", str(tmp_path)]
    assert run_script("figure_a5", str(home / "studies" / "paper"), *told) == 0
    classes = pd.read_csv(tmp_path / "figure_a5-classes.csv").groupby("dataset")["images"]
    largest = classes.nlargest(2).groupby("dataset").agg(["min", "max"])
    assert largest.loc["mlc2008", "min"] < largest.loc["mlc2008", "max"]
    assert largest.loc["mlc2008-balanced"].nunique() == 1


@pytest.mark.slow
def test_the_whole_study_has_a_price_before_its_data_is_there(tmp_path: Path):
    shown = in_this_process(tmp_path, "run", SWEEP, "--dry-run").stdout
    assert re.search(r"^8,000 runs", shown, re.M)
    days = float(re.search(r"([\d.,]+) days of one V100", shown)[1].replace(",", ""))
    assert 60 < days < 130
    priced = {}
    for line in shown.splitlines():
        name, *cells = line.replace(" *", "").split() or [""]
        if name in COLUMNS and len(cells) == 6:
            priced[name] = float(cells[-2].replace(",", ""))
            assert 1 < float(cells[-1]) < 32  # GiB
    assert list(priced) == COLUMNS[:-1]
    assert min(priced.values()) > 0
    assert sum(priced.values()) / 24 == pytest.approx(days, abs=0.1)
    assert max(priced, key=priced.get) == "imagenet"
    assert list(tmp_path.iterdir()) == []


def test_on_an_h100_nearly_all_time_is_in_eight_runs_at_once():
    sweep = Sweep.load(SWEEP)
    plan = sweep_cost(sweep, sample(sweep.population), H100).plan
    seconds = Counter[int]()
    for job in pack_jobs(sweep.launch, plan):
        for cohort in cohorts(job, MOST):
            seconds[len(cohort)] += sum(run.seconds for run in cohort)
    assert seconds[MOST] > 0.94 * seconds.total()
