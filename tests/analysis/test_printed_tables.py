"""Tables of the papers whose inputs are printed with their results, computed from the former.

Of paper 3 none is in this state: its tables give results alone.
"""

import numpy as np
import pandas as pd
import pytest

from anynet_study import apr, load

#: Paper 2, Table 1. By dataset its test images, and of models: accuracy, low, high on the original
#: test set and on the new one, gap, and original rank and new rank (of all 31, and 66, models).
IMAGES = {"cifar10": (10_000, 2_000), "imagenet": (50_000, 10_000)}
# fmt: off
PAPER_2 = {
    "cifar10": {
        "autoaug_pyramid_net_tf": ((98.4, 98.1, 98.6), (95.5, 94.5, 96.4), 2.9, 1, 1),
        "shake_shake_64d_cutout": ((97.1, 96.8, 97.4), (93.0, 91.8, 94.1), 4.1, 6, 5),
        "wide_resnet_28_10": ((95.9, 95.5, 96.3), (89.7, 88.3, 91.0), 6.2, 16, 14),
        "resnet_basic_110": ((93.5, 93.0, 93.9), (85.2, 83.5, 86.7), 8.3, 23, 24),
        "vgg_15_BN_64": ((93.0, 92.5, 93.5), (84.9, 83.2, 86.4), 8.1, 27, 27),
        "cudaconvnet": ((88.5, 87.9, 89.2), (77.5, 75.7, 79.3), 11.0, 30, 30),
        "random_features_256k_aug": ((85.6, 84.9, 86.3), (73.1, 71.1, 75.1), 12.5, 31, 31),
    },
    "imagenet": {
        "pnasnet_large_tf": ((82.9, 82.5, 83.2), (72.2, 71.3, 73.1), 10.7, 1, 3),
        "nasnetalarge": ((82.5, 82.2, 82.8), (72.2, 71.3, 73.1), 10.3, 4, 1),
        "resnet152": ((78.3, 77.9, 78.7), (67.0, 66.1, 67.9), 11.3, 21, 21),
        "inception_v3_tf": ((78.0, 77.6, 78.3), (66.1, 65.1, 67.0), 11.9, 23, 24),
        "densenet161": ((77.1, 76.8, 77.5), (65.3, 64.4, 66.2), 11.8, 30, 30),
        "vgg19_bn": ((74.2, 73.8, 74.6), (61.9, 60.9, 62.8), 12.3, 43, 44),
        "alexnet": ((56.5, 56.1, 57.0), (44.0, 43.0, 45.0), 12.5, 64, 64),
        "fv_64k": ((35.1, 34.7, 35.5), (24.1, 23.2, 24.9), 11.0, 65, 65),
    },
}
#: Paper 5, Table 9: data budget, accuracies on ImageNet-100's validation set and on four shifts
#: (V2, Sketch, R, A), average and effective robustness; the way of training is in the name.
PAPER_5 = {
    "in100(1/8th)-int": (0.125, 0.618, 0.485, 0.139, 0.189, 0.104, 0.229, 0.371),
    "in100(1/8th)-VL-gtcaps": (0.125, 0.577, 0.461, 0.17, 0.196, 0.104, 0.233, 0.402),
    "in100-int": (1, 0.87, 0.791, 0.373, 0.378, 0.153, 0.424, 0.487),
    "in100-int-ViT-S-16": (1, 0.713, 0.584, 0.124, 0.204, 0.11, 0.256, 0.359),
    "in100-VL-gtcaps": (1, 0.849, 0.768, 0.37, 0.373, 0.17, 0.421, 0.495),
    "in100-VL-ttd": (1, 0.587, 0.487, 0.162, 0.173, 0.085, 0.227, 0.386),
    "in100+oi100-int": (2, 0.904, 0.829, 0.489, 0.515, 0.213, 0.512, 0.566),
    "in100+oi100-int-ViT-S-16": (2, 0.785, 0.667, 0.211, 0.277, 0.146, 0.325, 0.414),
    "in100+laion100-int": (4, 0.901, 0.827, 0.614, 0.636, 0.201, 0.57, 0.633),
    "in100+laion100-VL-ttd": (4, 0.529, 0.438, 0.289, 0.299, 0.107, 0.283, 0.536),
    "JANuS-int": (10, 0.908, 0.863, 0.678, 0.731, 0.35, 0.656, 0.722),
    "JANuS-int-ViT-S-16": (10, 0.823, 0.736, 0.4, 0.484, 0.237, 0.464, 0.564),
    "JANuS+yfcc-2.4m-int-cliplabels": (20, 0.927, 0.877, 0.7, 0.78, 0.449, 0.702, 0.757),
}
# fmt: on
#: Half of the last digit of table 9.
HALF = 0.0005 + 1e-9
SHIFTS = ("v2", "sketch", "r", "a")


@pytest.mark.parametrize("dataset", PAPER_2)
def test_paper_2_table_1(dataset: str) -> None:
    """Accuracies are printed to a tenth, so that ends of intervals, and gaps, are within one."""
    printed, (original, new) = PAPER_2[dataset], IMAGES[dataset]
    accuracies = pd.DataFrame(
        {"old": {name: row[0][0] for name, row in printed.items()}}
        | {"new": {name: row[1][0] for name, row in printed.items()}}
    )
    images = {"old": original, "new": new}
    table = apr.gaps(accuracies, "old", "new", images, resamples=100).set_index("architecture")
    for name, (old, fresh, gap, old_rank, new_rank) in printed.items():
        row = table.loc[name]
        ends = row[["original_low", "original_high", "new_low", "new_high"]].to_numpy(float)
        assert ends == pytest.approx([*old[1:], *fresh[1:]], abs=0.11)
        assert row["gap"] == pytest.approx(gap, abs=0.11)
        assert row["beyond"], "no gap of the table can be sampling error"
        # Ranks are of all models of the paper: these alone are in the same order, but for equals.
        assert row["original_rank"] == 1 + sum(it[3] < old_rank for it in printed.values())
        better = sum(it[1][0] > fresh[0] for it in printed.values())
        assert row["new_rank"] == 1 + better <= 1 + sum(it[4] < new_rank for it in printed.values())


def test_paper_5_table_9_as_budgets() -> None:
    """Average and effective robustness to the digits printed; and its curve over the budgets."""
    columns = ["budget", "val", *SHIFTS]
    table = pd.DataFrame({name: row[:6] for name, row in PAPER_5.items()}, index=columns).T
    table["model"] = table.index
    how = {"source": "val", "shifts": SHIFTS, "accuracy": True, "fraction": True, "quiet": True}
    told = {"describe": ["budget", "model"], "budget": "budget", "by": "model"}
    found = load(table, **how, **told).table("budgets").set_index("recipe")
    assert len(found) == len(PAPER_5)
    for name, row in PAPER_5.items():
        assert found.loc[name, "train_images"] == row[0]
        assert found.loc[name, "base"] == pytest.approx(100 * row[1])
        # What is printed is rounded, and so is what it is computed from here.
        assert found.loc[name, "average"] / 100 == pytest.approx(row[6], abs=2 * HALF)
        off = HALF * (1 + (1 + row[7]) / row[1])
        assert found.loc[name, "ratio"] == pytest.approx(row[7], abs=off)
    # Section 5.1: the gains of more data decline.
    labels = [name for name in PAPER_5 if name.endswith(("-int", "cliplabels"))]
    curve = found.loc[labels].sort_values("train_images")["average"]
    assert list(curve.round(0)) == [23, 42, 51, 57, 66, 70]
    assert (np.diff(curve) > 0).all()
