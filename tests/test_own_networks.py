"""A study of networks of one's own beside drawn and published ones, from its file to its report."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import own_models
import pandas as pd
import pytest
import torch
from command import ROOT, SWEEPS, environment, in_this_process, train
from items import answer
from miniatures import write_miniature
from PIL import Image
from scripted_study import PACKED
from sklearn.datasets import load_digits
from tiny_study import TINY, Type, typing_in
from torch import nn

from anynet_study import load
from anynet_study.analysis.report import draw_figures
from anynet_study.core.errors import UserError
from anynet_study.core.provenance import PACKAGE
from anynet_study.data import Variant, load_dataset, make_view
from anynet_study.engine.dispatch import worker
from anynet_study.engine.dispatch.opened import open_sweep
from anynet_study.engine.dispatch.snapshot import check, take
from anynet_study.engine.dispatch.worker_state import WorkerState
from anynet_study.engine.models.foreign import trace_network
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.training import Checkpoint, DeviceImages, Recipe, RunSpec, make_trainer
from anynet_study.engine.training.engine import steps
from anynet_study.engine.training.together import finish
from anynet_study.store import ResultStore, read_journal
from anynet_study.store.exporting import population_of

NETWORKS = "networks: [plain20, 'mine:plain', 'mine:transformer', 'mine:functional']"
MIXED = TINY.replace("population:\n", f"population:\n  {NETWORKS}\n").replace("tiny", "mixed")
MIXED = MIXED.replace("  digits-2: {base: digits, classes: 2, per_class: 20}\n", "")
NAMES = ["plain20", "mine:plain", "mine:transformer", "mine:functional", "", "", "", ""]


#: Commands in a process without what is slow to import, each line of arguments after the other.
WITHOUT_TORCH = """
import sys
class Absent:
    def find_spec(self, name, *_):
        if name in ("torch", "matplotlib"):
            raise ImportError(f"{name} is asked for")
sys.meta_path.insert(0, Absent())
from anynet_study.cli import main
for line in sys.argv[1:]:
    sys.argv = ["anynet-study", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained study, from whose folder the module of the networks has vanished since."""
    folder = tmp_path_factory.mktemp("mixed")
    shutil.copy(own_models.__file__, folder / "mine.py")
    (folder / "mixed.yaml").write_text(MIXED)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("ANYNET_DATA", PACKED)
        patch.setattr(sys, "path", [*sys.path])
        opened = open_sweep(Path("mixed.yaml"), [])
        opened.folder.begin(opened.sweep, opened.population)
        worker.train_runs(opened.folder, opened.sweep, opened.plan.ids(), {}, WorkerState())
    del sys.modules["mine"]
    (folder / "mine.py").unlink()
    return folder


def test_random_features_of_the_guide_train_their_classifier_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is no deep network, by the same engine: its filters stay as they were drawn."""
    guide = (ROOT / "docs" / "own-networks.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"cat >random_features.py <<'END'\n(.*?)END\n", guide, re.S)
    (tmp_path / "random_features.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    view = make_view(load_dataset("digits"), Variant(base="digits"))
    network = trace_network("random_features:random_features", 8, 10)
    recipe = Recipe(epochs=4, batch_size=32, lr=0.05, flip=False, crop="none").resolved(8, 10)
    run = RunSpec(network, view.identity, recipe)
    images = DeviceImages(torch.device("cpu"))
    trainer = make_trainer(run, view, images, "fast")
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    found = finish(steps(trainer, run, view, Checkpoint(None, run.run_id, "fast")))
    kept = trainer.model.state_dict()
    assert found.error < 8, "a linear classifier of the pixels alone has about 5 to 10%"
    assert torch.equal(kept["filters"], before["filters"])
    assert not torch.equal(kept["head.weight"], before["head.weight"])


@pytest.mark.slow
def test_half_of_a_new_test_set_is_trained_on_and_the_other_half_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `papers/new-test-sets.yaml` says at its top, on digits of which some are new."""
    digits = load_digits()
    for number in range(300):
        folder = tmp_path / "source" / "test" / str(digits.target[number])
        folder.mkdir(parents=True, exist_ok=True)
        pixels = (digits.images[number] * 15).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    in_this_process(tmp_path, "data", "add", "new", "--from", "source", "--size", 8)
    in_this_process(tmp_path, "data", "folds", "new", "--count", 2, "-o", "folds")
    half = ("--split-from", "folds/fold-1.csv", "--size", 8)
    in_this_process(tmp_path, "data", "add", "new-half", "--from", "source", *half)
    changes = [
        "name=halves",
        "population.count=1",
        "datasets.with-new={base: [digits, new-half], role: target}",
        "evaluations.half={test_set: new-half, datasets: [digits, with-new]}",
        "replicates.count=1",
        "recipes={basic: {epochs: 1, batch_size: 64}}",
        *(f"datasets.{name}.per_class=10" for name in ("digits-5", "gratings", "blobs")),
    ]
    train(tmp_path, SWEEPS / "quickstart.yaml", *changes)
    store = ResultStore(tmp_path / "studies/halves/results.h5")
    tested = store.evaluations(["dataset", "evaluation", "images", "recipe"])
    tested = tested[tested["evaluation"] == "half"].set_index("dataset")
    assert 140 <= tested.loc["with-new", "images"] <= 160
    assert tested.loc["digits", "images"] == tested.loc["with-new", "images"]
    datasets = store.datasets().set_index("dataset")["train_images"]
    assert datasets["with-new"] == datasets["digits"] + 300 - tested.loc["digits", "images"]


@pytest.mark.slow
def test_reading_needs_neither_torch_nor_the_module(studied: Path) -> None:
    columns = "network,dataset,status,backend,flops,d1,block"
    lines = (
        "collect mixed",
        "status mixed",
        "report mixed --resamples 100",
        "analyze mixed --table drivers --resamples 200",
        f"query mixed --columns {columns} --format json",
    )
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *lines],
        cwd=studied,
        env={**environment(studied), "ANYNET_DATA": PACKED},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "16 completed" in told
    assert (
        "3 of 8 architectures have no stages (mine:plain, mine:transformer, mine:functional): "
        "depth, width and the other parameters of stages leave them out."
    ) in told
    rows = json.loads(done.stdout[done.stdout.index("\n[") :])
    digits = [row for row in rows if row["dataset"] == "digits"]
    assert [row["network"] for row in digits] == NAMES
    foreign = [row["network"].startswith("mine:") for row in digits]
    assert foreign == [False, True, True, True, *[False] * 4]
    assert [row["d1"] is None for row in digits] == foreign
    assert [row["block"] == "" for row in digits] == foreign
    assert [row["backend"] == "plain" for row in digits] == foreign
    assert all(row["flops"] > 0 for row in digits)


@pytest.mark.slow
def test_a_store_keeps_what_the_population_knows_of_them(studied: Path) -> None:
    in_this_process(studied, "collect", "mixed")
    kept = population_of(ResultStore(studied / "studies" / "mixed" / "results.h5"))
    assert kept is not None
    assert list(kept) == list(StudyFolder(studied / "studies" / "mixed").population())


def test_people_read_the_names_of_networks_and_ask_by_them(studied: Path) -> None:
    in_this_process(studied, "collect", "mixed")
    study = load(studied / "studies" / "mixed", resamples=100)
    known = study.architectures.set_index("network")["architecture"]
    assert study.results("mine:plain").equals(study.results(known["mine:plain"]))
    assert set(study.results("mine:plain")["dataset"]) == set(study.errors)
    with pytest.raises(UserError, match=r"no architecture mine:plane \(did you mean 'mine:plain'"):
        study.results("mine:plane")
    # All eight have parameters, though three have no stages.
    bins = study.table("bins")
    assert set(bins.groupby("dataset")["architectures"].sum()) == {8}
    ranks = study.table("significance")
    shown = study.called(ranks)
    assert set(shown["a"]) | set(shown["b"]) >= {"plain20", "mine:plain", "mine:transformer"}
    pd.testing.assert_frame_equal(shown.drop(columns=["a", "b"]), ranks.drop(columns=["a", "b"]))
    assert shown.attrs == ranks.attrs
    (drawn,) = draw_figures(study, studied, ["improvement"], ["svg"])
    assert not drawn.left_out
    texts = set(re.findall("<!-- (.*?) -->", drawn.files["svg"].read_text()))
    assert texts >= {"plain20", "mine:plain", "mine:transformer"}
    assert not texts & set(study.networks)


@pytest.fixture
def type_(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Type:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    trace_network.cache_clear()
    shutil.copy(own_models.__file__, tmp_path / "mine.py")
    (tmp_path / "mixed.yaml").write_text(MIXED)
    typed = typing_in(tmp_path, monkeypatch, capsys)
    monkeypatch.setenv("ANYNET_DATA", PACKED)
    return typed


def test_a_worker_that_builds_another_network_says_so_and_fails_its_runs_alone(
    type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = ("  space:", "  count:", "  flops:")
    lines = [line for line in MIXED.splitlines() if not line.startswith(drawing)]
    Path("named.yaml").write_text("\n".join(lines))
    opened = open_sweep(Path("named.yaml"), [])
    opened.folder.begin(opened.sweep, opened.population)
    monkeypatch.setattr(sys.modules["mine"], "functional", own_models.strided)
    trace_network.cache_clear()
    ids = [run.run_id for run in opened.plan if run.dataset == "digits"]
    worker.train_runs(opened.folder, opened.sweep, ids, {}, WorkerState())
    (journal,) = opened.folder.journals.glob("*.arrow")
    records = list(read_journal(journal).records)
    assert [record.status for record in records] == ["completed"] * 3 + ["failed"]
    assert records[-1].failure_kind == "code"
    assert "network mine:functional: built here it has other operators than" in records[-1].message


def test_an_edited_function_is_told(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its source is in the snapshot and under a digest in records; another is never taken."""
    lines = [
        it for it in MIXED.splitlines() if not it.startswith(("  space:", "  count:", "  flops:"))
    ]
    sweep = "\n".join(lines).replace(
        "plain20, 'mine:plain', 'mine:transformer', ", "'mine:plain', "
    )
    Path("named.yaml").write_text(sweep)
    opened = open_sweep(Path("named.yaml"), [])
    opened.begin()
    folder = opened.folder
    kept = take(folder.code, own=folder.own_sources())
    ids = [run.run_id for run in opened.plan if run.dataset == "digits"]
    worker.train_runs(folder, opened.sweep, ids[:1], {}, WorkerState())
    before, source = folder.functions(), Path("mine.py").read_text()
    assert list(before) == ["mine:functional", "mine:plain"]
    Path("mine.py").write_text(source + "# edited\n")
    assert (kept.folder / "mine.py").read_text() == source
    check(folder.code, kept.folder / PACKAGE.name)
    with pytest.raises(UserError, match="network mine:functional: its source is another, and"):
        worker.train_runs(folder, opened.sweep, ids, {}, WorkerState())
    told = type_("run", "named.yaml")
    assert told.code == 2
    assert "the source of mine:plain has changed since 1 run; if it makes the same" in told.line
    assert type_("run", "named.yaml", "--changed").code == 0
    runs = ResultStore(folder.results).table("runs", ["run_id", "network", "function_digest"])
    found = {row["run_id"]: row for row in runs.to_pylist()}
    assert found[ids[0]]["function_digest"] == before["mine:plain"]
    now = folder.functions()["mine:plain"]
    others = {row["function_digest"] for run_id, row in found.items() if run_id != ids[0]}
    assert others == {now} != {before["mine:plain"]}
    assert (
        "the function of some networks was edited between their runs"
        in type_("verify", "mixed").out
    )
    (kept.folder / "mine.py").write_text(source + "# by somebody else\n")
    with pytest.raises(UserError, match="the snapshot of the code has changed"):
        check(folder.code, kept.folder / PACKAGE.name)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ("networks=[resnet19]", "'resnet19' is unknown (did you mean"),
        ("networks=[resnet18, ResNet-18]", "resnet18 is there 2 times"),
        ("networks=['mine:plian']", "network mine:plian: mine has no function 'plian'; legal: "),
        ("strata={of: depth, edges: [2]}", "`strata` are weighted, `networks` are not"),
        ("count=null", "`space` is for drawing; say how many with `count`"),
    ],
)
def test_a_mistake_is_one_line(type_: Type, changes: str, line: str) -> None:
    told = type_("sample", "mixed.yaml", f"population.{changes}")
    assert told.code == 2
    assert line in told.line


def test_what_a_network_cannot_do_is_told_before_anything_is_trained(type_: Type) -> None:
    type_("sample", "mixed.yaml")
    dry = ("launch", "mixed.yaml", "--dry-run", "--trust")
    stem = type_(*dry, "recipes.basic.stem=simple")
    assert "recipes.basic.stem: mine:plain has a stem of its own; leave it out" in stem.err
    only = "recipes.basic.architectures=[plain20]"
    assert type_(*dry, "recipes.basic.stem=simple", only).code == 0
    probe = "recipes.probe={epochs: 1, pretrained: digits, trained: head}"
    headless = "population.networks=['mine:convolutional']"
    told = type_(*dry, headless, probe)
    assert "mine:convolutional has no head" in told.line


def test_a_table_names_them_too(type_: Type) -> None:
    Path("nets.csv").write_text("network,d1,w1\nmine:plain,,\n,1,8\nresnet20,,\n")
    given = ["population={file: nets.csv, resolution: 8, classes: 10}"]
    told = type_("sample", "mixed.yaml", *given, "-o", "them.csv")
    assert told.code == 0, told.err
    rows = [row.split(",")[:3] for row in Path("them.csv").read_text().splitlines()[1:]]
    assert [name for _, name, _ in rows] == ["mine:plain", "", "resnet20"]
    changed = Path("them.csv").read_text().replace(rows[0][0], "0" * 16)
    Path("them.csv").write_text(changed)
    told = type_("sample", "mixed.yaml", given[0].replace("nets", "them"), "-o", "again.csv")
    assert "line 2: column architecture: '0000000000000000' is not the id" in told.line


def test_models_have_a_price_before_their_data_is_there(tmp_path: Path) -> None:
    """CIFAR-10 is taken to be packed as large as the recipe asks; networks here are our own."""
    own = "population.networks=[resnet18, resnet34, resnet50, resnet101, resnet152, resnet20]"
    priced = in_this_process(tmp_path, "launch", SWEEPS / "models.yaml", "--dry-run", own).stdout
    (runs,) = re.findall(r"^(\d+) runs, ", priced, re.M)
    row = next(r for r in (SWEEPS / "README.md").read_text().splitlines() if "models.yaml" in r)
    assert f"{runs} runs" in row
    assert f"Expected: {runs} runs" in (SWEEPS / "models.yaml").read_text()


@pytest.mark.slow
def test_models_of_a_library_are_compared_as_in_the_sweep_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its miniature, with networks of this folder in the place of torchvision's."""
    monkeypatch.chdir(tmp_path)
    made = {"alexnet": own_models.plain, "vgg19": own_models.strided}
    made |= {"densenet161": own_models.functional, "efficientnet_v2_l": own_models.plain}
    made |= {"convnext_large": own_models.functional}

    def get_model(name: str, weights: None, num_classes: int) -> nn.Module:
        return made[name](num_classes)

    models = SimpleNamespace(list_models=lambda module: list(made), get_model=get_model)
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(__name__="torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    trace_network.cache_clear()
    for base, classes in (("imagenet", 8), ("insects", 8), ("cifar10", None)):
        source = write_miniature(base, tmp_path / "downloads", classes=classes)
        in_this_process(tmp_path, "data", "add", base, "--from", source, "--size", 16)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    toy = {"epochs": 1, "warmup_epochs": 0, "batch_size": 16, "resolution": 16}
    recipes = ("basic", "tuned", "probe")
    changes = [f"recipes.{name}.{key}={value}" for name in recipes for key, value in toy.items()]
    changes += ["population.resolution=16", "population.classes=10", "replicates.count=2"]
    networks = Sweep.load(SWEEPS / "models.yaml").population.networks or []
    small = [name.replace("resnet152", "resnet20") for name in networks]
    changes.append(f"population.networks={small}")
    priced = in_this_process(tmp_path, "launch", SWEEPS / "models.yaml", "--dry-run", *changes)
    assert "96 runs" in priced.stdout
    opened = open_sweep(SWEEPS / "models.yaml", changes)
    opened.folder.begin(opened.sweep, opened.population)
    worker.train_runs(opened.folder, opened.sweep, opened.plan.ids(), {}, WorkerState())
    in_this_process(tmp_path, "collect", "models")
    runs = ResultStore(opened.folder.results).table("runs", ["network", "status"]).to_pydict()
    assert set(runs["status"]) == {"completed"}
    assert set(runs["network"]) == set(small)
    datasets = ResultStore(opened.folder.results).datasets().set_index("dataset")
    noisy = json.loads(datasets.loc["insects-noisy", "variant"])
    assert (noisy["base"], noisy["label_noise"]) == ("insects", 0.4)
    answer(tmp_path, "models", monkeypatch)
