"""Experiments of paper 1's appendix and of papers 2 to 5: files, their prices, and miniatures."""

import re
from collections.abc import Iterator
from pathlib import Path

import miniatures_shifts as shifts
import miniatures_transfer as transfer
import numpy as np
import pytest
from command import ROOT, SWEEPS, in_this_process, train
from items import answer
from miniatures import TOY, class_folders, write_miniature

from anynet_study import ResultStore
from anynet_study.engine.planning import datasets_of
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.sweep.sweep import DatasetSpec
from anynet_study.engine.sweep.text import load_yaml

FILES = sorted([*(SWEEPS / "ablations").glob("*.yaml"), *(SWEEPS / "papers").glob("*.yaml")])
#: Further files that are trained in miniature here.
OWN = (
    "quickstart",
    "own-space",
    "transfer",
    "cross-domain",
    "classes-images-steps",
    "long-targets",
)
#: Runs of each file.
RUNS = {"a1": 2500, "a2": 1040, "a3": 998, "a6": 7500, "table-a1": 4}
RUNS |= {"augmentation": 399, "more-images": 32, "wise-ft": 24, "new-test-sets": 210}
#: The first figure of each in the table of experiments, with what the script is told.
DRAWN = {
    "a1": "figure_a1.py --dataset cifar10 --proxies imagenet,imagenet-10",
    "a2": "figure_a2.py --recipe further-natural",
    "a3": "figure_a3.py",
    "a6": "figure_a6.py --recipe pretrained --source imagenet",
    "table-a1": "table_a1.py",
    "augmentation": "recipes.py --against default-basic",
    "more-images": "checkpoints.py",
    "wise-ft": "interpolation.py --recipe tuned",
    "new-test-sets": "new_test_set.py test new --dataset cifar10",
}
#: Datasets of cross-domain.yaml, whose archives have a folder for each class.
FOLDERS = ("mnist", "smiles", "face-masks", "blood-cells", "omniglot", "sign-digits", "ants-bees")


def two_classes(folder: Path, _: object) -> None:
    """Other images in each folder: two datasets of the same would be one."""
    random = np.random.default_rng([*folder.name.encode()])
    class_folders(folder, random, {"a": 20, "b": 20}, ".png")


#: How miniatures are written that `write_miniature` does not know.
OTHERS = {
    "aptos": transfer.aptos,
    "cct20": transfer.cct20,
    "cifar10.1": shifts.cifar10_1,
    "imagenetv2": shifts.imagenet_v2,
    **dict.fromkeys(
        ("imagenet-sketch", "imagenet-r", "imagenet-a"),
        lambda folder, random: shifts.wnid_folders(folder, random, [1, 4, 7]),
    ),
    **dict.fromkeys(FOLDERS, two_classes),
}
#: Datasets that need no download.
BUILT_IN = ("digits", "gratings", "blobs")
#: The same where populations differ.
NAMED = {
    "table-a1": ["population.resolution=16"],
    "a2": [*TOY, "population.count=5"],
    "cross-domain": [*TOY, "population.count=8"],  # enough for two bands
    "new-test-sets": [*TOY, "population.count=2", "population.networks=[resnet20, resnet32]"],
}


def toy(path: Path) -> list[str]:
    """Overrides: few epochs and small images for every recipe and dataset that the file names."""
    sweep = Sweep.load(path)
    if sweep.source in BUILT_IN:
        return ["population.count=4", *shorter(sweep)]
    overrides = list(NAMED.get(path.stem, TOY))
    for name in load_yaml(path)["recipes"]:
        # One with several `pretrained_by` stands for recipes that begin with its name.
        recipe = next(it for key, it in sweep.recipes.items() if f"{key}-".startswith(f"{name}-"))
        epochs = 1 + name.startswith(("long", "further"))
        keys = {"epochs": epochs, "batch_size": 32, "warmup_epochs": 0.5, "resolution": 16}
        keys |= {"steps": "null"} if recipe.steps else {}
        overrides += [f"recipes.{name}.{key}={value}" for key, value in keys.items()]
        for number, (label, own) in enumerate(recipe.overrides.items()):
            keys = {"epochs": epochs, "resolution": 16}
            if "test_every" in own or "warmup_epochs" in own:
                keys |= {"steps": "null", "warmup_epochs": 0.5, "test_every": 1}
                keys |= {"lr": 0.101 + number / 1000}  # members of the same images are no twins
            overrides += [f"recipes.{name}.overrides.{label}.{key}={keys[key]}" for key in keys]
        if recipe.architectures is not None:
            overrides += [f"recipes.{name}.architectures=[3, 1, 0, 2]"]  # as few as have ranks
    for label, dataset in sweep.datasets.items():
        overrides += [f"datasets.{label}.{changed}" for changed in fewer(dataset)]
    for name, evaluation in sweep.evaluations.items():
        if evaluation.every is not None:
            overrides += [f"evaluations.{name}.every=1", "recipes.basic.epochs=2"]
    if sweep.replicates.architectures is not None:
        overrides += ["replicates.count=2", "replicates.architectures=[3, 1]"]
    return overrides


def shorter(sweep: Sweep) -> Iterator[str]:
    """Overrides: one epoch of every recipe, on few images of every class."""
    yield from (f"datasets.{label}.per_class=20" for label in sweep.datasets)
    for name, recipe in sweep.recipes.items():
        yield f"recipes.{name}.epochs=1"
        yield f"recipes.{name}.warmup_epochs=0.5"
        yield from (f"recipes.{name}.overrides.{label}.epochs=1" for label in recipe.overrides)


def fewer(dataset: DatasetSpec) -> Iterator[str]:
    """Keys of a dataset, by what its miniature has."""
    if isinstance(dataset.classes, int):
        yield f"classes={min(dataset.classes, 12)}"
    if dataset.per_class is not None:
        yield "per_class=10"
    if dataset.fraction is not None:
        yield f"fraction={0.4 + dataset.fraction}"


def test_the_table_of_experiments_names_every_file_and_script() -> None:
    table = (SWEEPS / "README.md").read_text()
    for path in SWEEPS.rglob("*.yaml"):
        assert f"{path.relative_to(SWEEPS)}" in table
    for name in set(re.findall(r"figure\w+\.py|table\w+\.py", table)):
        assert (ROOT / "analysis" / name).is_file()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_experiment_has_a_price_before_its_data_is_there(tmp_path: Path, path: Path) -> None:
    shown = in_this_process(tmp_path, "launch", path, "--dry-run").stdout
    (line,) = re.findall(r"^([\d,]+) runs, (.*) of one V100 GPU$", shown, re.M)
    assert int(line[0].replace(",", "")) == RUNS[path.stem]
    name = f"{path.parent.name}/{path.name}"
    row = next(r for r in (SWEEPS / "README.md").read_text().splitlines() if name in r)
    assert f"{line[0]} runs, {line[1]}" in row
    assert DRAWN[path.stem] in row


@pytest.mark.slow
def test_250_replicates_of_two_architectures_are_498_further_runs(tmp_path: Path) -> None:
    aimed = ["count=250", "architectures=[147, 122]", "datasets=[cifar10]", "recipes=[basic]"]
    overrides = [f"replicates.{key}" for key in aimed]
    shown = in_this_process(tmp_path, "launch", SWEEPS / "paper.yaml", "--dry-run", *overrides)
    assert re.search(r"^8,498 runs", shown.stdout, re.M)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [*FILES, *(SWEEPS / f"{name}.yaml" for name in OWN)], ids=lambda path: path.stem
)
def test_every_experiment_runs_in_miniature_and_answers(
    tmp_path: Path,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweep = Sweep.load(path)
    trained, tested = datasets_of(sweep)
    for base in [name for name in [*trained, *tested] if name not in BUILT_IN]:
        source = tmp_path / "downloads" / base
        if base in OTHERS:
            source.mkdir(parents=True)
            OTHERS[base](source, np.random.default_rng(0))
        else:
            classes = 12 if base == "imagenet" else None
            source = write_miniature(base, tmp_path / "downloads", classes=classes)
        stated = [spec.test_share for spec in sweep.datasets.values() if base in spec.bases]
        share = ["--test-share", next(filter(None, stated), 0.4)] if base in trained else []
        in_this_process(tmp_path, "data", "add", base, "--from", source, "--size", 16, *share)
    train(tmp_path, path, *toy(path))
    store = ResultStore(tmp_path / "studies" / path.stem / "results.h5")
    runs = store.runs()
    assert set(runs["status"]) == {"completed"}
    assert runs["planned"].all()
    assert set(runs["recipe"]) == set(sweep.recipes)
    counted = {"table-a1": 2, "a2": 5, "cross-domain": 8}.get(path.stem, 4)
    assert len(set(runs["architecture"])) == counted, "errors join the same architectures"
    if path.stem == "a2":
        curves = store.curves()
        further = curves[curves["run_id"].isin(runs["run_id"][runs["recipe"] == "further-natural"])]
        assert set(further["epoch"]) == {1, 2}, "the first epochs are those of the run before"
    if path.stem == "a3":
        assert runs["replicate"].value_counts().to_dict() == {0: 4, 1: 2}
    answer(tmp_path, path.stem, monkeypatch, planned=8 if path.stem == "cross-domain" else 4)
