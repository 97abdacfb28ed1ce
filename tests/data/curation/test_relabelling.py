"""Labels of a network, folds, and networks of a study; one tiny study with its weights kept."""

import json

import numpy as np
import pandas as pd
import pytest
from command import SWEEPS, in_this_process, train

from anynet_study.core.errors import UserError
from anynet_study.data import load_dataset
from anynet_study.data.curation import fold_numbers, predicted_labels
from anynet_study.engine.study_networks import open_network
from anynet_study.store import ResultStore


def test_folds_share_every_class_and_keep_groups_whole():
    generator = np.random.default_rng(0)
    labels = generator.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1]).tolist()
    groups = [f"{label}{generator.integers(8)}" if label == "b" else "" for label in labels]
    folds = fold_numbers(labels, groups, 4)
    table = pd.crosstab(pd.Series(labels), folds)
    assert (table.loc[["a", "c"]].max(axis=1) - table.loc[["a", "c"]].min(axis=1) <= 1).all()
    assert table.loc["b"].min() > 0.5 * table.loc["b"].max()
    for group in {*groups} - {""}:
        assert len({fold for fold, of in zip(folds, groups, strict=True) if of == group}) == 1
    assert table.sum().max() - table.sum().min() < 40
    assert (fold_numbers(labels, groups, 4) == folds).all()
    assert (fold_numbers(labels, groups, 4, seed=1) != folds).any()
    with pytest.raises(UserError, match="--count 9: class b has 8 images or groups"):
        fold_numbers(labels, groups, 9)


@pytest.mark.slow
def test_folds_are_manifests_in_which_each_image_is_tested_once(tmp_path):
    told = in_this_process(tmp_path, "data", "folds", "digits", "--count", 3)
    tables = [pd.read_csv(tmp_path / path, dtype=str) for path in told.stdout.split()]
    tested = [image for table in tables for image in table.loc[table["split"] == "test", "image"]]
    assert len(tables) == 3
    assert len(tested) == len(set(tested)) == 1797
    assert all(len(table) == 1797 for table in tables)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A study of four architectures, its weights kept; only digits are learnt."""
    folder = tmp_path_factory.mktemp("kept")
    changes = ["population.count=4", "launch.keep=weights", "name=kept", "replicates.count=1"]
    changes += ["recipes.basic.warmup_epochs=0.5", "recipes.basic.epochs=4"]
    changes += [f"datasets.{name}.per_class=50" for name in ("gratings", "blobs")]
    others = ("digits-5", "gratings", "blobs")
    changes += [f"recipes.basic.overrides.{name}.epochs=1" for name in others]
    train(folder, SWEEPS / "quickstart.yaml", *changes)
    return folder


@pytest.mark.slow
def test_a_network_relabels_describes_and_is_counted_by_class(trained, monkeypatch):
    monkeypatch.setenv("ANYNET_DATA", str(trained / "data"))
    monkeypatch.chdir(trained)
    store = ResultStore(trained / "studies/kept/results.h5")
    runs = store.runs()
    run = runs[runs["dataset"] == "digits"].iloc[0]
    network = open_network(f"studies/kept/{run['run_id']}")
    digits = load_dataset("digits")
    found = network.logits(np.asarray(digits.images("test"))).argmax(axis=1)
    error = 100 * (found != digits.labels("test")).mean()
    assert error == pytest.approx(run["error"], abs=0.3)
    assert network.features(np.asarray(digits.images("test")[:5])).shape[0] == 5

    classes = store.classes()
    own = classes[classes["run_id"] == run["run_id"]]
    assert own["images"].sum() == len(found)
    right = (own["accuracy"] * own["images"]).sum() / own["images"].sum()
    assert right == pytest.approx(100 - run["error"])
    truth = digits.labels("test")
    for name, accuracy in zip(own["class"], own["accuracy"], strict=True):
        of = truth == digits.classes.index(name)
        assert accuracy == pytest.approx(100 * (found[of] == truth[of]).mean(), abs=3)

    told = in_this_process(
        *(trained, "data", "relabel", "digits", "--with", f"kept/{run['run_id']}"),
        *("--add", "relabelled", "--least", "0.5", "--json"),
    )
    said = json.loads(told.stdout)
    made = load_dataset("relabelled")
    given, sure = predicted_labels(digits, network.logits)
    kept = sure >= 0.5
    assert said["images"] == made.counts("train").images == kept.sum() < len(kept)
    assert said["left_out"] == (~kept).sum()
    labels = [made.classes[label] for label in made.labels("train")]
    assert labels == [digits.classes[label] for label in given[kept]]
    assert said["agreement"] == pytest.approx((given == digits.labels("train"))[kept].mean())
    far = in_this_process(
        *(trained, "data", "distance", "--study", "kept", "--images", 200),
        *("--features", f"kept/{run['run_id']}"),
    )
    assert "features: kept/" in far.stdout
    analysed = in_this_process(
        trained, "analyze", "kept", "--table", "distance", "--resamples", "100"
    )
    assert "FID" in analysed.stdout
    refused = in_this_process(
        trained, "data", "relabel", "digits", "--with", "kept/nothing", "--add", "x", expect=2
    )
    assert "0 runs begin with 'nothing'; weights are there of" in refused.stderr
