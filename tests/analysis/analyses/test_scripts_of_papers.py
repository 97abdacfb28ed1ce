"""What the papers' scripts compute beyond drawing: lines of groups, bins, sizes, ensembles."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run_script
from matplotlib.figure import Figure
from scipy.special import expit, logit, softmax
from scipy.stats import binomtest, ttest_1samp
from small_study import run_records, small_study, write_store
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

from anynet_study import apr, load, plots
from anynet_study.analysis.plots import saving, style
from anynet_study.core.errors import UserError

HOW = ["--accuracy", "--resamples", "200"]


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """How the figures look is tested with them."""
    for suffix in ("png", "pdf"):
        monkeypatch.setitem(saving.WRITERS, suffix, lambda _, path: path.touch())


@pytest.fixture
def accuracies(tmp_path: Path) -> pd.DataFrame:
    """A table of test sets with the family and the size of each network, also as models.csv.

    Networks of the family "plain" are 4 points less robust than others of the same accuracy.
    """
    generator = np.random.default_rng(0)
    own = 75 + generator.normal(0, 5, 24)
    family = np.tile(["plain", "wide", "wide"], 8)
    less = np.where(family == "plain", 4.0, 0.0)
    table = pd.DataFrame(
        {
            "val": own,
            "v2": 0.95 * own - 6 - less + generator.normal(0, 0.4, 24),
            "sketch": 1.1 * own - 42 - less + generator.normal(0, 0.4, 24),
            "family": family,
            "parameters": generator.integers(1_000_000, 9_000_000, 24),
        },
        index=pd.Index([f"m{number}" for number in range(24)], name="architecture"),
    )
    table.to_csv(tmp_path / "models.csv")
    return table


def test_too_many_groups_are_refused_before_anything_is_told(
    accuracies: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = [str(tmp_path / "models.csv"), "--base", "val", "--group-by", "parameters", *HOW]
    assert run_script("robustness", *typed, "-o", str(tmp_path)) == 2
    told = capsys.readouterr()
    assert (told.out, "24 groups are more than the 12" in told.err) == ("", True)
    assert [path.name for path in tmp_path.iterdir()] == ["models.csv"]


def test_each_group_has_the_line_of_its_networks(accuracies: pd.DataFrame, tmp_path: Path) -> None:
    typed = [str(tmp_path / "models.csv"), "--base", "val", "--group-by", "family", *HOW]
    assert run_script("robustness", *typed, "-o", str(tmp_path)) == 0
    lines = pd.read_csv(tmp_path / "robustness-lines.csv").set_index(["group", "shift"])
    assert set(lines.index) == {
        (group, shift) for group in ("plain", "wide") for shift in ("v2", "sketch")
    }
    known = apr.robustness_lines(accuracies[["val", "v2", "sketch"]], "val", accuracies["family"])
    of_means = {(row["group"], "mean"): row for row in known.attrs["averages"]}
    for (group, shift), row in [*lines.iterrows(), *of_means.items()]:
        rows = accuracies[accuracies["family"] == group]
        y = rows[["v2", "sketch"]].mean(axis=1) if shift == "mean" else rows[shift]
        design = add_constant(logit(rows["val"].to_numpy() / 100))
        fit = OLS(logit(y.to_numpy() / 100), design).fit(cov_type="HC3", use_t=True)
        assert (row["intercept"], row["slope"]) == pytest.approx(tuple(fit.params))
        assert (row["slope_low"], row["slope_high"]) == pytest.approx(tuple(fit.conf_int()[1]))
        assert (row["n"], row["accuracy"]) == (len(rows), pytest.approx(y.mean()))
    table = pd.read_csv(tmp_path / "robustness.csv")  # of the figure, with a panel of averages
    assert set(table["shift"]) == {"v2", "sketch", "average"}
    assert set(zip(table["architecture"], table["group"], strict=True)) == set(
        accuracies["family"].items()
    )


def test_groups_are_drawn_apart(accuracies: pd.DataFrame) -> None:
    table = apr.effective_robustness(accuracies[["val", "v2"]], "val")
    table["group"] = table["architecture"].map(accuracies["family"])
    figure = plots.effective_robustness_grid(table, "val")
    (axes,) = figure.axes
    for group, (colour, marker) in zip(("plain", "wide"), style.SERIES, strict=False):
        rows = accuracies[accuracies["family"] == group]
        points, line = (
            next(it for it in axes.lines if it.get_color() == colour and it.get_marker() == look)
            for look in (marker, "None")
        )
        assert sorted(points.get_ydata()) == pytest.approx(sorted(rows["v2"]))
        fit = np.polyfit(logit(rows["val"] / 100), logit(rows["v2"] / 100), 1)
        expected = 100 * expit(np.polyval(fit, logit(np.asarray(line.get_xdata()) / 100)))
        np.testing.assert_allclose(line.get_ydata(), expected)


def test_an_unknown_group_is_told_of_in_one_line(
    accuracies: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for group, reason in (
        ("stem", "knows no stem of its architectures; there are family, parameters"),
        ("recipe", "a table of errors does not say how networks were trained"),
    ):
        typed = [str(tmp_path / "models.csv"), "--base", "val", "--group-by", group, *HOW]
        assert run_script("robustness", *typed, "-o", str(tmp_path)) == 2
        assert reason in capsys.readouterr().err


def test_budgets_are_those_of_a_column(accuracies: pd.DataFrame, tmp_path: Path) -> None:
    """Of a published table: a point for each budget and recipe, of the networks with both."""
    budgets = np.repeat([1.0, 2.0, 4.0], 8)
    accuracies.assign(budget=budgets).to_csv(tmp_path / "models.csv")
    typed = [str(tmp_path / "models.csv"), "--source", "val", "--shifts", "v2,sketch", *HOW]
    typed += ["--describe", "budget,family,parameters", "-o", str(tmp_path)]
    assert run_script("data_budget", *typed, "--budget", "budget", "--by", "family") == 0
    table = pd.read_csv(tmp_path / "data_budget.csv").set_index(["recipe", "train_images"])
    assert table["n"].sum() == 24
    for (family, budget), row in table.iterrows():
        rows = accuracies[(accuracies["family"] == family) & (budgets == budget)]
        robust = rows[["v2", "sketch"]].mean(axis=1)
        assert row["base"] == pytest.approx(rows["val"].mean())
        assert row["average"] == pytest.approx(robust.mean())
        assert row["ratio"] == pytest.approx((robust / rows["val"]).mean())
        if len(rows) > 1:
            ends = ttest_1samp(robust, 0).confidence_interval(0.95)
            assert (row["average_low"], row["average_high"]) == pytest.approx(tuple(ends))
    how = {"source": "val", "shifts": ["v2", "sketch"], "accuracy": True, "budget": "budget"}
    known = pd.read_csv(tmp_path / "models.csv", index_col=0)
    same = load(known, describe=["budget", "family", "parameters"], by="family", quiet=True, **how)
    again = same.table("budgets").set_index(["recipe", "train_images"])
    pd.testing.assert_frame_equal(again, table, check_names=False)
    with pytest.raises(UserError, match="--by family: it goes with --budget"):
        load(known, by="family", quiet=True)


def test_what_is_lost_is_a_line_on_a_column_of_the_models(
    accuracies: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paper 2's gap against the year of a model, which is known here."""
    years = 2012 + np.arange(24) % 9
    lost = accuracies.assign(year=years, v2=accuracies["val"] - 5 - 0.5 * (years - 2012))
    lost.drop(columns=["family", "parameters"]).to_csv(tmp_path / "models.csv")
    typed = [str(tmp_path / "models.csv"), "val", "v2", "--describe", "year", *HOW]
    assert run_script("new_test_set", *typed, "--against", "year", "-o", str(tmp_path)) == 0
    table = pd.read_csv(tmp_path / "new_test_set-against.csv")
    assert list(table["gap"]) == pytest.approx(list(5 + 0.5 * (table["year"] - 2012)))
    assert "Loss of accuracy (points) as a line on year" in capsys.readouterr().out
    fit = apr.linear_fit(table["year"], table["gap"] + np.arange(24) % 2)
    figure = plots.gap_line_chart(table, fit, "year")
    assert f"n = {len(table)}" in figure.axes[0].get_title()


def test_the_own_test_set_is_called_by_its_dataset(
    accuracies: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: list[str] = []
    monkeypatch.setattr(
        plots, "effective_robustness_grid", lambda table, base: labels.append(base) or Figure()
    )
    monkeypatch.setattr(plots, "check_drawn", lambda figure: None)
    typed = [str(tmp_path / "models.csv"), "--source", "val", "--shifts", "v2,sketch", *HOW]
    for further in ([], ["--base", "val"]):
        assert run_script("robustness", *typed, "-o", str(tmp_path), *further) == 0
    assert labels == ["val", "val"]


def test_rankings_of_single_runs_have_binomial_error_bars(
    accuracies: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = [str(tmp_path / "models.csv"), "--source", "val", *HOW, "-o", str(tmp_path)]
    assert run_script("rank_preservation", *typed) == 2
    assert "no numbers of test images are known" in capsys.readouterr().err
    assert run_script("rank_preservation", *typed, "--images", "val=1000,v2=400") == 0
    told = capsys.readouterr().out
    assert "v2" in told
    assert "sketch" not in told, "its number of images is not known"
    table = pd.read_csv(tmp_path / "rank_preservation.csv").set_index(["dataset", "architecture"])
    row = table.loc["v2", "m3"]
    wrong = round(400 * (1 - accuracies.loc["m3", "v2"] / 100))
    ends = binomtest(wrong, 400).proportion_ci(0.95, "exact")
    assert (row["low"], row["high"]) == pytest.approx((100 * ends.low, 100 * ends.high), abs=0.3)


def test_bins_are_of_average_robustness_and_by_two_factors(
    accuracies: pd.DataFrame, tmp_path: Path
) -> None:
    typed = [str(tmp_path / "models.csv"), "parameters", "--edges", "3e6,6e6", "--top", "2"]
    typed += ["--robustness", "--base", "val", "--by", "family", *HOW, "-o", str(tmp_path)]
    assert run_script("best_of_bins", *typed) == 0
    table = pd.read_csv(tmp_path / "best_of_bins.csv").set_index(["dataset", "bin"])
    assert len(table) == 2 * 3
    robust = accuracies[["v2", "sketch"]].mean(axis=1)
    for group in ("plain", "wide"):
        for name, low, high in (
            ("below 3M", 0, 3e6),
            ("3M to 6M", 3e6, 6e6),
            ("6M or more", 6e6, 1e9),
        ):
            chosen = (accuracies["family"] == group) & (accuracies["parameters"] >= low)
            values = robust[chosen & (accuracies["parameters"] < high)].nlargest(2)
            row = table.loc[group, name]
            assert row["mean"] == pytest.approx(values.mean(), nan_ok=True)
            assert row["averaged"] == len(values)


def test_scores_across_sizes_have_the_lines_of_their_logarithm(
    accuracies: pd.DataFrame, tmp_path: Path
) -> None:
    typed = [str(tmp_path / "models.csv"), "--across", "parameters", "--above", "75", *HOW]
    typed += ["--source", "val", "-o", str(tmp_path)]
    assert run_script("transfer", *typed) == 0
    table = pd.read_csv(tmp_path / "transfer-across.csv").set_index(["target", "models"])
    for (target, models), row in table.iterrows():
        chosen = accuracies["val"] > 75 if models == "above 75" else accuracies["val"] > 0
        rows = accuracies[chosen]
        fit = OLS(rows[target], add_constant(np.log10(rows["parameters"]))).fit()
        assert row["slope"] == pytest.approx(fit.params.iloc[1])
        assert row["n"] == chosen.sum()
    groups = {"all": pd.Series(True, accuracies.index)}
    figure = plots.covariate_grid(accuracies[["v2"]], accuracies["parameters"], groups)
    (axes,) = figure.axes
    line = next(it for it in axes.lines if it.get_color() == style.GREEN)
    fit = np.polyfit(np.log10(accuracies["parameters"]), accuracies["v2"], 1)
    expected = np.polyval(fit, np.log10(np.asarray(line.get_xdata())))
    np.testing.assert_allclose(line.get_ydata(), expected)
    with pytest.raises(UserError, match="parameters has values that are not above 0"):
        apr.covariate_fits(accuracies[["v2"]], 0 * accuracies["parameters"], groups)


def test_slopes_of_transfer_are_drawn_by_distance(accuracies: pd.DataFrame, tmp_path: Path) -> None:
    rows = [
        ("val", "v2", 2.0, 1.5, 2.5),
        ("sketch", "val", 8.0, 7.0, 9.0),
        ("v2", "sketch", 1, 0, 2),
    ]
    columns = ["a", "b", "fid_corrected", "fid_low", "fid_high"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "far.csv", index=False)
    typed = [str(tmp_path / "models.csv"), "--source", "val", *HOW, "-o", str(tmp_path)]
    assert run_script("transfer", *typed, "--distances", str(tmp_path / "far.csv")) == 0
    table = pd.read_csv(tmp_path / "transfer-distance.csv").set_index("target")
    assert table["distance"].to_dict() == {"v2": 2.0, "sketch": 8.0}
    for name, row in table.iterrows():
        slope = np.polyfit(accuracies["val"], accuracies[name], 1)[0]
        assert row["estimate"] == pytest.approx(slope)


def test_ensembles_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    """A store of eight networks with scores beside it; a larger ensemble errs less."""
    study, generator = small_study(8), np.random.default_rng(0)
    truth = generator.integers(0, 10, 300).astype(np.uint16)
    records = [one for one in run_records(study) if (one.dataset, one.replicate) == ("base", 0)]
    (tmp_path / "scores").mkdir()
    scores = []
    for number, record in enumerate(records):
        made = generator.normal(size=(300, 10)).astype(np.float32)
        made[np.arange(300), truth] += 1.0
        records[number] = replace(record, predictions=made.argmax(axis=1).astype(np.uint16))
        np.save(tmp_path / "scores" / f"{record.run_id}.npy", made)
        scores.append(made)
    write_store(tmp_path, study, records, truths={"base": truth})
    typed = [
        str(tmp_path / "results.h5"),
        "base",
        "--sizes",
        "1,3,8",
        "--resamples",
        "200",
        "-o",
        str(tmp_path),
    ]
    assert run_script("ensembles", *typed) == 0
    table = pd.read_csv(tmp_path / "ensembles.csv").set_index(["chosen", "size"])
    shares = softmax(np.array(scores).astype(float), axis=2)
    single = (shares.argmax(axis=2) != truth).mean(axis=1) * 100
    whole = 100 * (shares.mean(axis=0).argmax(axis=1) != truth).mean()
    assert table.loc[("random", 8), "error"] == pytest.approx(whole)
    assert table.loc[("best", 8), "error"] == pytest.approx(whole)
    assert table.loc[("random", 1), "error"] == pytest.approx(table.loc[("random", 1), "alone"])
    assert table.loc[("random", 8), "alone"] == pytest.approx(single.mean())
    errors = table.loc["random", "error"]
    assert errors[8] < errors[3] < errors[1]
    # By hand: the best of one half of the images, on the other half.
    found = apr.ensembles(scores, truth, [1], seed=3).set_index("chosen")
    halves = np.array_split(np.random.default_rng(3).permutation(300), 2)
    wrong = shares.argmax(axis=2) != truth
    expected = [wrong[wrong[:, a].mean(axis=1).argmin(), b] for a, b in (halves, halves[::-1])]
    assert found.loc["best", "error"] == pytest.approx(100 * np.concatenate(expected).mean())
    with pytest.raises(UserError, match=r"sizes: \[9\]; legal: 1 to 8 models"):
        apr.ensembles(scores, truth, [9])
