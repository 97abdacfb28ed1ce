"""Variants in a sweep: a line each, and in the results store with their classes."""

import json

import pytest

from anynet_study.dispatch.plan import load_views
from anynet_study.stages import dataset_table
from anynet_study.sweep import Sweep

TEXT = """
name: variants
population: {space: anynetx, count: 2}
source: digits
recipes: {basic: {epochs: 1}}
datasets:
  digits:
  digits-5: {base: digits, classes: 5}
  digits-10-30: {base: digits, per_class: 30}
  digits-noisy: {base: digits, label_noise: 0.2}
  digits-parity: {base: digits, groups: {even: [0, 2, 4, 6, 8], odd: [1, 3, 5, 7, 9]}}
  digits-eighth: {base: digits, fraction: 0.125}
  blobs: {balanced: true}
"""


@pytest.fixture
def sweep(tmp_path, data_home) -> Sweep:
    path = tmp_path / "sweep.yaml"
    path.write_text(TEXT)
    return Sweep.load(path)


def test_a_resolved_sweep_is_the_sweep(sweep, tmp_path):
    again = tmp_path / "again.yaml"
    again.write_text(sweep.to_yaml())
    assert Sweep.load(again) == sweep


def test_other_classes_or_labels_are_no_class_subset(sweep):
    roles = {label: sweep.role_of(label) for label in sweep.datasets}
    assert roles["digits-5"] == "family"
    assert roles["blobs"] == "target"
    assert {roles[name] for name in ("digits-noisy", "digits-parity", "digits-eighth")} == {"extra"}


def test_the_store_says_which_classes_there_were(sweep):
    views = load_views(sweep)
    table = dataset_table(sweep, views)
    rows = {row["dataset"]: row for row in table.to_pylist()}
    for label, view in views.items():
        assert json.loads(rows[label]["class_names"]) == list(view.classes)
    assert len(json.loads(rows["digits-5"]["class_names"])) == 5
    assert json.loads(rows["digits-parity"]["class_names"]) == ["even", "odd"]
    assert json.loads(rows["digits-parity"]["variant"])["groups"]["odd"][0] == "1"
    assert len({json.dumps(view.identity) for view in views.values()}) == len(views)
