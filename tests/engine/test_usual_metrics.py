"""Networks are judged on a dataset as is usual for it, where the recipe does not say."""

import json

import numpy as np
import pytest

from anynet_study.data import PackedDataset, Variant, make_view
from anynet_study.data.packing.packing import Origin, pack
from anynet_study.data.readers import known_tables
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.design_space import Architecture
from anynet_study.engine.planning.settings import resolve_on
from anynet_study.engine.training import Recipe, RunSpec

NETWORK = Architecture((1, 2, 1, 1), (8, 16, 16, 32), (1, 2, 1, 1), (4, 8, 1, 16))


@pytest.mark.parametrize(
    ("layout", "metric"),
    [
        (known_tables.APTOS.layout, "quadratic_kappa"),
        (known_tables.SIIM_ISIC.layout, "auroc"),
        (known_tables.HPA_LAYOUT, "macro_f1"),
        (known_tables.CASSAVA.layout, "top1"),
    ],
)
def test_the_metric_of_a_layout_is_stated_in_the_run(layout, metric, tmp_path):
    pixels = np.zeros((4, 4, 3), np.uint8)
    examples = [Example(f"{number}", number % 2, pixels=pixels) for number in range(4)]
    several = layout == known_tables.HPA_LAYOUT
    listing = Listing(layout, "", ("a", "b"), examples, examples, multi_label=several)
    pack(None, listing, Origin("mine", "made"), 4, tmp_path / "mine")
    view = make_view(PackedDataset.open(tmp_path / "mine"), Variant(base="mine"))
    recipe = resolve_on(view, Recipe(batch_size=2, padding=0), "mine")
    assert recipe.metric == metric
    said = json.loads(RunSpec(NETWORK, view.identity, recipe).canonical())
    assert said["recipe"]["metric"] == metric
    assert resolve_on(view, Recipe(batch_size=2, padding=0, metric="top1"), "mine").metric == "top1"
