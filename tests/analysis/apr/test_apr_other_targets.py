"""What other targets say beyond the source: one by one, and by tests that know of noise."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_apr_transfer import FEW, scores

from anynet_study import apr
from anynet_study.core.errors import UserError

OTHERS = ["target-1", "target-2", "f1"]


@pytest.mark.parametrize("average", ["logits", "scores", "ranks"])
def test_correlations_with_the_source_and_with_the_others(average: str) -> None:
    known = scores()
    known.iloc[3, 2] = np.nan
    table = apr.other_targets(
        known,
        "source",
        ranges={"f1": (0, 1)},
        average=average,
        resamples=FEW,  # type: ignore[arg-type]
    ).set_index("target")
    assert (table["n"] == 29).all()
    complete = known.dropna()
    expected = stats.spearmanr(complete["source"], complete["target-0"]).statistic
    assert table.loc["target-0", "rho_source"] == pytest.approx(expected)
    if average == "ranks":
        others = complete[["target-1", "target-2", "f1"]].rank().mean(axis=1)
        expected = stats.spearmanr(others, complete["target-0"]).statistic
        assert table.loc["target-0", "rho_average"] == pytest.approx(expected)
    one_by_one = [stats.spearmanr(complete[name], complete["target-0"]) for name in OTHERS]
    expected = np.mean([found.statistic for found in one_by_one])
    assert table.loc["target-0", "rho_others"] == pytest.approx(expected)
    row = table.loc["target-0"]
    assert row["difference"] == pytest.approx(row["rho_others"] - row["rho_source"])
    assert 0 < row["difference_low"] < row["difference"] < row["difference_high"]


def test_columns_that_say_nothing_keep_their_row() -> None:
    known = scores().drop(columns="f1").assign(empty=np.nan, flat=50.0)
    rows = apr.other_targets(known, "source", resamples=FEW).set_index("target")
    assert rows.loc["empty", "note"] == "no value at all"
    assert rows.loc["flat", "note"] == "one value only"
    assert (rows["n"] == 30).all()
    assert rows.iloc[:3][["rho_source", "r2_source"]].notna().all(axis=None)
    how = {"average": "scores", "resamples": FEW}
    twin = known.assign(twin=known["target-0"])
    exact = apr.other_targets(twin, "source", **how)  # type: ignore[arg-type]
    assert (exact["note"] != "").sum() == 2  # of the empty and the flat
    known["sum"] = known["source"] + 0.0
    row = apr.other_targets(known, "source", **how).set_index("target").loc["sum"]  # type: ignore[arg-type]
    assert row["note"] == "explained exactly: no F-test"
    assert row["rho_source"] == pytest.approx(1)
    alone = apr.other_targets(known, "source", ["target-0"], resamples=FEW)
    assert alone["note"].tolist() == ["there is no other target"]
    assert alone[["rho_source", "r2_source"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.assign(f1=t["f1"]), "f1 exceeds 1.*ranges"),
        (lambda t: t.drop(columns="source"), "no column source"),
        (lambda t: t.assign(f1=150.0), "f1 has values outside 0 to 100"),
        (lambda t: t.assign(f1=100.0 + 0 * t["f1"]).assign(source=50.0), "source has one value"),
        (lambda t: t[["source"]], "at least one"),
        (lambda t: t.drop(columns="f1").head(3), "3 architectures"),
        (lambda t: t.assign(f1=np.r_[100.0, t["source"][1:]]), "has no logit"),
        (lambda t: pd.concat([t, t]), "more than once"),
    ],
)
def test_what_is_refused(change: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        apr.other_targets(change(scores()), "source")  # type: ignore[operator]


def with_noise(n: int, icc: float, own: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of a target that depends on the source's quality (and on what the other targets have
    of their `own`), six other targets, and the source's second run.
    """
    draw = np.random.default_rng(seed)
    quality = draw.normal(size=n)
    source = quality[:, None] + np.sqrt(1 / icc - 1) * draw.normal(size=(n, 2))
    others = 0.7 * draw.normal(size=(n, 6))
    target = 0.7 * quality + own * others.mean(axis=1) + 0.7 * draw.normal(size=n)
    columns = np.column_stack([source[:, 0], target, quality[:, None] + others])
    table = 70 + 3 * pd.DataFrame(columns, columns=["s", "t", *"abcdef"])
    long = table.melt(ignore_index=False, var_name="dataset", value_name="score").reset_index()
    long = long.rename(columns={"index": "architecture"}).assign(replicate=0)
    again = {"architecture": table.index, "dataset": "s", "replicate": 1}
    return table, pd.concat([long, pd.DataFrame(again | {"score": 70 + 3 * source[:, 1]})])


def regressed(table: pd.DataFrame, **options: object) -> pd.DataFrame:
    return apr.other_targets(table, "s", average="scores", resamples=40, **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("icc", "own", "fewest", "most"), [(0.7, 0.0, 0, 6), (0.85, 4.0, 24, 30)])
def test_noise_of_the_source_lets_others_explain_nothing_more(
    icc: float, own: float, fewest: int, most: int
) -> None:
    """Of 30 studies: few say that they do where nothing is there, most where something is."""
    count = 0
    for seed in range(30):
        table, runs = with_noise(100, icc, own, seed)
        row = regressed(table, replicates=runs).iloc[0]
        assert np.isnan(row["p_source"])  # of the others there is one run each
        count += row["p_average"] <= 0.05
    assert fewest <= count <= most


def test_without_replicates_there_is_f_and_no_p() -> None:
    table, runs = with_noise(60, 0.7, 0.0, 0)
    alone = regressed(table)
    assert alone[["p_average", "p_source", "p_average_holm"]].isna().all(axis=None)
    for name in ("average", "source"):  # the paper's, were what is held fixed free of noise
        expected = stats.f.sf(alone[f"f_{name}"], 1, 57)
        np.testing.assert_allclose(alone[f"p_{name}_noiseless"], expected)
    both = regressed(table, replicates=runs)
    assert both.filter(like="freed").isna().all(axis=None)  # of the others there is one run each
    pd.testing.assert_series_equal(alone["f_average"], both["f_average"])
    corrected = apr.adjust(both["p_average"])
    assert both["p_average_holm"].tolist() == pytest.approx([*corrected])


def test_p_by_a_plain_loop() -> None:
    table, runs = with_noise(12, 0.7, 1.0, 3)
    row = regressed(table, targets=["t", "a"], replicates=runs).iloc[0]
    second = runs.loc[runs["replicate"] == 1, "score"]
    values = np.column_stack([table[["a", "t", "s"]], second])

    def product(rows: np.ndarray) -> float:
        x, y, z, again = rows.T
        cov = np.cov([x, y, z], ddof=0)
        within = ((z - again) ** 2 / 2).mean() * (len(rows) - 1) / len(rows)
        return cov[0, 1] * (cov[2, 2] - within) - cov[0, 2] * cov[1, 2]

    left_out = np.array([product(np.delete(values, i, axis=0)) for i in range(12)])
    t = product(values) / np.sqrt(11 / 12 * ((left_out - left_out.mean()) ** 2).sum())
    assert row["p_average"] == pytest.approx(2 * stats.t.sf(abs(t), 11))


def test_freed_of_noise_by_the_reliabilities_of_ranks() -> None:
    table, runs = with_noise(40, 0.7, 0.0, 1)
    names, how = ["s", "t", "a", "b"], {"average": "scores", "resamples": FEW}
    runs = runs[runs["dataset"].isin(names)]
    again = runs[(runs["replicate"] == 0) & (runs["dataset"] != "s")].assign(replicate=1)
    noisy = again["score"] + np.random.default_rng(2).normal(size=len(again))
    runs = pd.concat([runs, again.assign(score=noisy)])
    row = apr.other_targets(table[names], "s", **how, replicates=runs).iloc[0]  # type: ignore[arg-type]
    alone = apr.other_targets(table[names], "s", **how).iloc[0]  # type: ignore[arg-type]
    measured = alone.filter(regex="^(rho|difference|r2|f_)")
    assert row[measured.index].equals(measured)
    noise = apr.noise_ceiling(runs.rename(columns={"score": "error"})).set_index("dataset")["icc"]
    assert row["freed_source"] == pytest.approx(row["rho_source"] / np.sqrt(noise["s"]))
    each = [stats.spearmanr(table[name], table["t"]).statistic for name in ("a", "b")]
    expected = np.mean(np.array(each) / np.sqrt(noise[["a", "b"]]))
    assert row["freed_others"] == pytest.approx(expected)
    assert row["freed_difference"] == pytest.approx(row["freed_others"] - row["freed_source"])
    assert row["freed_difference_low"] < row["freed_difference"] < row["freed_difference_high"]
    once = apr.other_targets(table[names], "s", replicates=runs[runs["replicate"] == 0])
    assert once.filter(like="freed").isna().all(axis=None)
