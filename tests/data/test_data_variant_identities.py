"""Variants of before are what they were: a changed identity is a changed run id, trained anew."""

import hashlib
import json

import pytest

from anynet_study.data import Variant, load_dataset, make_view

DIGITS = "ce699ea32829a0eb32d3024a7069ab225105bff16c3a799a619d0b1a82b4906e"
#: Fields of a variant, what its identity says beside the content, digest of rows and labels.
GOLDEN = [
    ({}, {}, "e86881270f5164f1"),
    (
        {"classes": 5, "class_seed": 1},
        {"classes": ["0", "1", "3", "5", "6"]},
        "58921b1d09ede354",
    ),
    ({"classes": ["3", "1", "7"]}, {"classes": ["1", "3", "7"]}, "87cb8b7f446a09e9"),
    ({"balanced": True}, {}, "e86881270f5164f1"),
    ({"per_class": 20}, {"per_class": 20}, "142321de3d050a43"),
    ({"fraction": 0.25}, {"fraction": 0.25}, "ec4c53756ee7662e"),
    (
        {"classes": 4, "balanced": True, "per_class": 30, "fraction": 0.5},
        {"classes": ["0", "1", "5", "9"], "balanced": True, "per_class": 30, "fraction": 0.5},
        "82ac2203592e29fc",
    ),
]


@pytest.mark.parametrize(("fields", "said", "digest"), GOLDEN)
def test_variants_of_the_first_version(data_home, fields, said, digest):
    view = make_view(load_dataset("digits"), Variant(base="digits", **fields))
    rows = hashlib.sha256()
    for each in (view.train_index, view.train_labels, view.test_index, view.test_labels):
        rows.update(each.astype("<i8").tobytes())
    assert json.dumps(view.identity, sort_keys=True) == json.dumps(
        {"content_hash": DIGITS, **said}, sort_keys=True
    )
    assert rows.hexdigest()[:16] == digest
