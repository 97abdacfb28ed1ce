"""Gaps and ranks on new test sets and under transforms, against scipy and paper 2."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep
from test_apr_rank_preservation import replicates

from anynet_study import apr
from anynet_study.analysis.apr.gaps import image_reliability, mean_change
from anynet_study.core.errors import UserError

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


def test_gaps_beyond_chance_are_those_of_newcombes_interval() -> None:
    """Of 10,000 images 1.5 points are just beyond, in either direction, and 0.3 are not."""
    table = pd.DataFrame({"old": [81.0, 79.5, 79.0], "new": [79.5, 81.0, 79.3]}, index=list("abc"))
    found = apr.gaps(table, "old", "new", {"old": 10_000, "new": 10_000}, resamples=50, level=0.9)
    rows = found.set_index("architecture").loc[["a", "b", "c"]]
    truth = []
    for old, new in table.to_numpy() * 100:
        ends = confint_proportions_2indep(
            old, 10_000, new, 10_000, method="newcomb", compare="diff", alpha=0.1
        )
        truth.append([100 * ends[0], 100 * ends[1]])
    np.testing.assert_allclose(rows[["gap_low", "gap_high"]], truth)
    assert 0 < truth[0][0] < 1
    assert 0 < truth[2][1] < 1
    assert rows["beyond"].tolist() == [True, True, False]
    assert found.attrs["level"] == 0.9


def test_the_interval_of_a_mean_change_adds_the_images_to_a_t_test() -> None:
    table = pd.DataFrame({"old": [80.0, 90, 70, 75, 85], "new": [70.0, 84, 61, 60, 78]})
    mean, low, high = mean_change(table, "old", "new", {"old": 10**12, "new": 10**12}, 0.9)
    truth = stats.ttest_1samp(table["new"] - table["old"], 0).confidence_interval(0.9)
    np.testing.assert_allclose([low, high], truth, rtol=1e-6)
    assert mean == pytest.approx(-9.4)
    _, fewer, more = mean_change(table, "old", "new", {"old": 400, "new": 100}, 0.9)
    # Of 400 images 80% are right, of 100 images 70.6%.
    images = 100**2 * (0.8 * 0.2 / 400 + 0.706 * 0.294 / 100)
    wider = ((more - fewer) ** 2 - (high - low) ** 2) / 4
    assert wider == pytest.approx(images * stats.t.ppf(0.95, 4) ** 2)
    assert (fewer + more) / 2 == pytest.approx(mean)
    assert np.isnan(mean_change(table, "old", "new")[1:]).all()


def test_the_reliability_of_accuracies_is_the_share_that_is_no_sampling_error() -> None:
    """Of known accuracies on 300 images each; the lower bound holds in 95% of studies."""
    draw, found = np.random.default_rng(0), []
    for _ in range(400):
        true = draw.normal(80, 3, 40)
        seen = draw.binomial(300, true / 100) / 3
        found.append(image_reliability(pd.Series(seen), 300, 0.9))
    sampling = 100**2 * 0.8 * 0.2 / 300  # accuracies between 70% and 90% have about as much
    estimates, bounds = np.array(found).T
    truth = 3**2 / (3**2 + sampling)
    assert np.median(estimates) == pytest.approx(truth, abs=0.02)
    assert 0.92 < (bounds <= truth).mean() < 0.98
    assert np.isnan(image_reliability(pd.Series([80.0, 81.0]), None)).all()
    assert np.isnan(image_reliability(pd.Series([80.0]), 300)).all()


def test_paper_2s_line_is_within_the_interval(testbed: pd.DataFrame) -> None:
    models = testbed.loc[PAPER_2]
    fit = apr.linear_fit(models[VAL], models[V2])
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
    drops = apr.gaps(models, VAL, V2, IMAGES, resamples=20_001, level=0.9999)
    assert drops["beyond"].all()
    reach = drops["rest_high"] - drops["rest_low"]
    assert reach.max() / 2 < 2  # the paper's bound for 10,000 images at this level
    wrong = 100 - drops["new"]
    low, high = apr.binomial_interval(wrong, IMAGES[V2], 0.9999)
    assert np.allclose(drops["rest_low"], drops["gap"] - (wrong - low))
    assert np.allclose(drops["rest_high"], drops["gap"] - (wrong - high))


def test_ranks_and_their_changes() -> None:
    accuracies = pd.DataFrame({"old": [80, 90, 70, 80, 60.0], "new": [50, 60, 65, 55, np.nan]})
    accuracies.index = list("abcde")
    table = apr.gaps(accuracies, "old", "new").set_index("architecture")
    assert table.index.tolist() == ["b", "d", "a", "c"]
    assert table["original_rank"].tolist() == [1, 2, 2, 4]
    assert table["rank_change"].tolist() == [-1, -1, -2, 3]
    assert "gap_low" not in table






@pytest.mark.parametrize(
    ("values", "options", "says"),
    [
        ([[0.8, 0.7], [0.9, 0.8]], {}, "fractions"),
        ([[80, 170], [90, 80]], {}, "outside 0 to 100"),
        ([[80, np.nan], [np.nan, 80]], {}, "0 architectures with both"),
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




def transformed() -> pd.DataFrame:
    """Errors of eight models under five transforms that leave the order, and one that turns it."""
    base = np.arange(20, 36, 2.0)
    columns = {"test": base, **{f"blur-{i}": base + 3 * i for i in range(1, 5)}}
    return pd.DataFrame({**columns, "invert": 90 - base}, index=[f"m{i}" for i in range(8)])


def test_mean_and_rank_over_transforms() -> None:
    table = apr.shift_ranks(transformed(), resamples=500)
    assert table["architecture"].tolist() == [f"m{i}" for i in range(8)]
    assert table["rank"].tolist() == list(range(1, 9))
    first = table.iloc[0]
    assert first[["rank_best", "rank_worst"]].tolist() == [1, 8]
    assert first["rank_mean"] == pytest.approx((5 * 1 + 8) / 6)
    assert first["mean"] == pytest.approx(transformed().iloc[0].mean())
    assert first["std"] == pytest.approx(transformed().iloc[0].std())
    assert ((table["rank_low"] <= table["rank"]) & (table["rank"] <= table["rank_high"])).all()


def test_long_and_wide_tables_are_one() -> None:
    wide = transformed()
    long = wide.melt(ignore_index=False, var_name="evaluation", value_name="error")
    long = long.rename_axis(index="architecture").reset_index()
    pd.testing.assert_frame_equal(
        apr.shift_ranks(wide, resamples=200), apr.shift_ranks(long, resamples=200)
    )
    gappy = apr.shift_ranks(long.iloc[1:], resamples=200)
    assert (len(gappy), gappy.attrs["left_out"]) == (7, 1)
    with pytest.raises(UserError, match="more than once"):
        apr.shift_ranks(pd.concat([long, long.head(1)]))


def test_agreement_with_the_images_as_they_are() -> None:
    table = apr.shift_agreement(transformed(), resamples=200).set_index("evaluation")
    assert table["estimate"].tolist() == pytest.approx([1, 1, 1, 1, -1])
    [average] = table.attrs["averages"]
    assert average["estimate"] == pytest.approx(1)
    assert average["error"] == pytest.approx(transformed().drop(columns="test").mean(axis=None))
    flat = apr.shift_agreement(transformed().assign(invert=5.0), resamples=200)
    assert flat["note"].tolist() == ["", "", "", "", "all errors are equal"]
    assert table.loc["invert", "error"] == pytest.approx((90 - transformed()["test"]).mean())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: apr.replicate_intervals(replicates().drop(columns="error")), "no column error"),
        (lambda: apr.replicate_intervals(pd.concat([replicates()] * 2)), "more than once"),
        (lambda: apr.replicate_intervals(replicates().assign(error=np.nan)), "no error"),
        (lambda: apr.replicate_intervals(replicates(), level=95), "level"),
        (lambda: apr.replicate_intervals(replicates(), noise="no"), "noise"),
        (lambda: apr.rank_preservation(apr.replicate_intervals(replicates()), "z"), "no dataset z"),
        (lambda: apr.relative_improvement(transformed(), "m9"), "no architecture m9"),
        (lambda: apr.relative_improvement(transformed() * 0, "m0"), "fractions"),
        (lambda: apr.shift_ranks(transformed()[["test"]]), "1 evaluations"),
        (lambda: apr.shift_ranks(transformed().head(1)), "1 architecture "),
        (lambda: apr.shift_agreement(transformed(), "no"), "no column no"),
    ],
)
def test_what_is_refused(call: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        call()  # type: ignore[operator]
