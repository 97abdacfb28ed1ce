"""Gaps, ranks and McNemar's test against scipy, brute force and the numbers of paper 2."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anynet_study import apr
from anynet_study.apr.gaps import difference_interval
from anynet_study.apr.predictions import p_values
from anynet_study.errors import UserError

VAL, V2 = "val", "imagenetv2-matched-frequency"
IMAGES = {VAL: 50_000, V2: 10_000}
#: Paper 2, Table 1, models that the testbed has under the same weights.
TABLE_1 = {
    "nasnetalarge": (82.5, 72.2),
    "resnet152": (78.3, 67.0),
    "densenet161": (77.1, 65.3),
    "vgg19_bn": (74.2, 61.9),
    "alexnet": (56.5, 44.0),
}
#: Convolutional networks trained on ImageNet alone by the usual recipes, as in paper 2.
# fmt: off
PAPER_2 = [
    "alexnet", "bninception", "cafferesnet101", "densenet121", "densenet161", "densenet169",
    "densenet201", "dpn107", "dpn131", "dpn68", "dpn68b", "dpn92", "dpn98", "fbresnet152",
    "inceptionresnetv2", "inceptionv3", "inceptionv4", "mobilenet_v2", "nasnetalarge",
    "nasnetamobile", "pnasnet5large", "polynet", "resnet18", "resnet34", "resnet50", "resnet101",
    "resnet152", "resnext101_32x4d", "resnext101_64x4d", "se_resnet50", "se_resnet101",
    "se_resnet152", "se_resnext50_32x4d", "se_resnext101_32x4d", "senet154", "squeezenet1_0",
    "squeezenet1_1", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19",
    "vgg19_bn", "xception",
]
# fmt: on


@pytest.fixture(scope="module")
def testbed(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "imagenet-testbed-top1.csv", index_col=0)


def test_the_testbed_has_paper_2s_accuracies_and_intervals(testbed: pd.DataFrame) -> None:
    table = apr.gaps(testbed, VAL, V2, IMAGES, resamples=100).set_index("architecture")
    for model, (original, new) in TABLE_1.items():
        row = table.loc[model]
        assert row[["original", "new"]].tolist() == pytest.approx([original, new], abs=0.1)
        assert row["gap"] == pytest.approx(original - new, abs=0.1)
    resnet = table.loc["resnet152", ["original_low", "original_high", "new_low", "new_high"]]
    assert resnet.tolist() == pytest.approx([77.9, 78.7, 66.1, 67.9], abs=0.06)


def test_paper_2s_mean_changes_of_accuracy(testbed: pd.DataFrame) -> None:
    """Table 2: how the images were chosen decides how hard a test set is."""
    for new, change in (
        (V2, -11.8),
        ("imagenetv2-threshold0.7", -3.2),
        ("imagenetv2-topimages", 2.1),
    ):
        table = apr.gaps(testbed.loc[PAPER_2], VAL, new)
        assert -table["gap"].mean() == pytest.approx(change, abs=0.15)


def test_paper_2s_line_is_within_the_interval(testbed: pd.DataFrame) -> None:
    models = testbed.loc[PAPER_2]
    fit = apr.linear_fit(models[VAL], models[V2], resamples=100_000)
    assert fit.slope_low <= 1.11 <= fit.slope_high
    assert fit.intercept_low <= -20.2 <= fit.intercept_high
    assert fit.slope_low > 1
    assert fit.r2 > 0.99
    ranks = apr.gaps(models, VAL, V2, IMAGES, resamples=500).set_index("architecture")
    # Paper 2: the best two swap, AlexNet is last on both, few others move far.
    assert ranks.loc[["nasnetalarge", "pnasnet5large"], "new_rank"].tolist() == [1, 2]
    assert ranks.loc["alexnet", ["original_rank", "new_rank"]].tolist() == [46, 46]
    assert ranks["rank_change"].abs().max() <= 3
    assert ((ranks["rank_change_low"] <= 0) & (ranks["rank_change_high"] >= 0)).mean() > 0.95
    drops = apr.sampling_gaps(models, VAL, V2, IMAGES, level=0.9999)
    assert drops["beyond"].all()
    reach = drops["generalization_high"] - drops["generalization_low"]
    assert reach.max() / 2 < 2  # the paper's bound for 10,000 images at this level


def test_ranks_and_their_changes() -> None:
    accuracies = pd.DataFrame({"old": [80, 90, 70, 80, 60.0], "new": [50, 60, 65, 55, np.nan]})
    accuracies.index = list("abcde")
    table = apr.gaps(accuracies, "old", "new").set_index("architecture")
    assert table.index.tolist() == ["b", "d", "a", "c"]
    assert table["original_rank"].tolist() == [1, 2, 2, 4]
    assert table["rank_change"].tolist() == [-1, -1, -2, 3]
    assert "gap_low" not in table


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 300), st.integers(1, 300), st.floats(0, 1), st.floats(0, 1))
def test_intervals_of_gaps_hold_them_and_are_symmetric(m: int, n: int, p: float, q: float) -> None:
    first, second = np.array([100 * round(p * m) / m]), np.array([100 * round(q * n) / n])
    low, high = difference_interval(first, second, (m, n), 0.95)
    assert low - 1e-9 <= first - second <= high + 1e-9
    assert low >= -100 - 1e-9
    assert high <= 100 + 1e-9
    back = difference_interval(second, first, (n, m), 0.95)
    assert np.allclose([-back[1], -back[0]], [low, high])


def test_intervals_of_gaps_cover() -> None:
    generator = np.random.default_rng(0)
    drawn = [100 * generator.binomial(n, p, 4000) / n for n, p in ((500, 0.8), (200, 0.7))]
    low, high = difference_interval(drawn[0], drawn[1], (500, 200), 0.95)
    assert 0.94 <= ((low <= 10) & (high >= 10)).mean() <= 0.97


def correct(models: int, images: int, seed: int = 0) -> pd.DataFrame:
    """Whether models of different skill are right on images of different difficulty."""
    generator = np.random.default_rng(seed)
    hard = generator.normal(size=images)
    skill = np.linspace(0.6, -0.2, models)[:, None] + generator.normal(size=(models, images))
    return pd.DataFrame(skill > hard, index=[f"m{i}" for i in range(models)])


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(only_a: int, only_b: int) -> None:
    exact, mid = p_values(np.array([only_a]), np.array([only_b]))
    both = only_a + only_b
    expected = stats.binomtest(only_a, both).pvalue if both else 1.0
    assert exact[0] == pytest.approx(expected)
    # Half of the outcome that was seen: exactly, from all outcomes.
    outcomes = np.arange(both + 1)
    chances = stats.binom.pmf(outcomes, both, 0.5)
    distance, seen = np.abs(outcomes - both / 2), abs(only_a - both / 2)
    beyond = (
        chances[distance > seen + 1e-9].sum() + chances[np.abs(distance - seen) < 1e-9].sum() / 2
    )
    assert mid[0] == pytest.approx(1.0 if only_a == only_b else beyond)


def test_every_pair_of_models_is_compared() -> None:
    right = correct(5, 300)
    table = apr.mcnemar(right)
    assert [(row.a, row.b) for row in table.itertuples()] == [*combinations(right.index, 2)]
    for row in table.itertuples():
        a, b = right.loc[row.a], right.loc[row.b]
        assert (row.only_a, row.only_b) == ((a & ~b).sum(), (b & ~a).sum())
        assert row.difference == pytest.approx(100 * (a.mean() - b.mean()))
    assert (table["p_holm"] >= table["p_mid"]).all()
    assert (table["p_exact"] >= table["p_mid"]).all()


def test_orders_that_change_are_told_from_noise() -> None:
    original, new = correct(4, 800), correct(4, 800, 1)
    new.loc["m3"] = True
    table = apr.order_changes(original, new).set_index(["a", "b"])["order"]
    assert table["m0", "m3"] == "changed, significant"
    assert table["m0", "m2"] == "same"
    same = apr.order_changes(original, original.assign())
    assert set(same["order"]) <= {"same", "tied"}


def test_ranks_of_resampled_images() -> None:
    original, new = correct(5, 400), correct(5, 300, 1)
    table = apr.rank_changes(original, new.iloc[::-1], resamples=500).set_index("architecture")
    for name, right in (("original_rank", original), ("new_rank", new)):
        expected = stats.rankdata(-right.mean(axis=1), method="min")
        assert table.loc[original.index, name].tolist() == expected.tolist()
        held = (table[f"{name}_low"] <= table[name]) & (table[name] <= table[f"{name}_high"])
        assert held.all()
    # m0 is the best beyond doubt of the last; the images that all share do not matter.
    assert table.loc["m0", "original_rank_high"] < table.loc["m4", "original_rank_low"]
    twins = pd.concat([original, original.rename(lambda name: f"{name} again")])
    changes = apr.rank_changes(twins, twins, resamples=200).set_index("architecture")
    assert (changes.loc["m0"] == changes.loc["m0 again"]).all()


def test_correctness_from_predictions() -> None:
    right = apr.correctness([[1, 2, 3], [1, 0, 65535]], [1, 2, 65535], ["a", "b"])
    assert right.to_numpy().tolist() == [[True, True], [True, False]]
    assert right.index.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: apr.correctness([[1, 65535]], [1, 2]), "model 0 has none"),
        (lambda: apr.correctness([[1, 2]], [1]), "shapes"),
        (lambda: apr.correctness([[1]], [65535]), "no image"),
        (lambda: apr.mcnemar(correct(1, 5)), "1 models"),
        (lambda: apr.mcnemar(correct(2001, 2)), "choose at most 2000"),
        (lambda: apr.mcnemar(pd.DataFrame([[0.5, 1], [1, 0]])), "true and false"),
        (lambda: apr.mcnemar(pd.DataFrame([[1, 0]] * 2, index=["a", "a"])), "more than once"),
        (lambda: apr.order_changes(correct(2, 5), correct(2, 5), level=2), "level"),
        (lambda: apr.rank_changes(correct(2, 5), correct(2, 5).rename(str.upper)), "0 models"),
    ],
)
def test_bad_correctness(call: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("values", "options", "says"),
    [
        ([[0.8, 0.7], [0.9, 0.8]], {}, "fractions"),
        ([[80, 170], [90, 80]], {}, "outside 0 to 100"),
        ([[80, np.nan], [np.nan, 80]], {}, "0 architectures have both"),
        ([[80, np.inf], [70, 80]], {}, "infinite"),
        ([[80, 70], [70, 80]], {"images": {"old": 10}}, "no count for new"),
        ([[80, 70], [70, 80]], {"images": {"old": 10, "new": 0}}, "at least 1"),
    ],
)
def test_bad_accuracies(values: list[list[float]], options: dict[str, object], says: str) -> None:
    table = pd.DataFrame(values, columns=["old", "new"], dtype=float)
    with pytest.raises(UserError, match=says):
        apr.gaps(table, "old", "new", **options)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="no column"):
        apr.gaps(table, "old", "newer")
