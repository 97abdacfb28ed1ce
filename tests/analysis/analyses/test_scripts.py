"""The scripts of `analysis/` on a store and on tables, in this process: they are quick."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run_script
from small_study import SmallStudy, run_records, small_study, write_store
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant
from tiny_study import ACCOUNT

from anynet_study import load
from anynet_study.analysis.plots import saving

ROLES = "--source base --family base=10,base-5=5 --targets target-0=4"


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """How the figures look is tested with them; to draw them takes most of a script's time."""
    for suffix in ("png", "pdf"):
        monkeypatch.setitem(saving.WRITERS, suffix, lambda _, path: path.touch())


@pytest.fixture(scope="module")
def study() -> SmallStudy:
    return small_study(24)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, study: SmallStudy) -> Path:
    """errors.csv with parameters, accuracies.csv of test sets, and results.h5 of two recipes.

    The store has predictions with their true classes, and curves of training errors.
    """
    path = tmp_path_factory.mktemp("scripts")
    (100 - study.errors).rename(columns={"base": "test"}).to_csv(path / "accuracies.csv")
    parameters = study.parameters.set_index("architecture")
    columns = [f"{prefix}{stage}" for prefix in "dwbg" for stage in range(1, 5)]
    study.errors.join(parameters[columns]).to_csv(path / "errors.csv")
    halves = study.errors[["base", "target-0"]].copy()
    halves.iloc[:12, 0], halves.iloc[12:, 1] = np.nan, np.nan
    halves.to_csv(path / "empty.csv")
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 10, 60).astype(np.uint16)
    records = run_records(study)
    longer = [
        replace(one, run_id=f"{number + len(records):016x}", recipe="long", error=one.error - 2)
        for number, one in enumerate(records)
    ]
    for number, record in enumerate(records):
        wrong = generator.random(60) < record.error / 100
        seen = np.where(wrong, (truth + 1) % 10, truth).astype(np.uint16)
        curves = record.curves | {"train_top1": np.asarray(record.curves["test_top1"]) / 3}
        records[number] = replace(record, predictions=seen, curves=curves)
    truths = dict.fromkeys(study.datasets["dataset"], truth)
    write_store(path, study, [*records, *longer], truths=truths)
    return path


#: Script, input, further arguments, and the figures that it writes; the gallery draws with all.
DRAWING = [
    ("figure3", "errors.csv", ROLES, "figure3"),
    (
        "figure6",
        "errors.csv",
        "--source base --fewer-images base-5 --fewer-classes base-2 --targets target-0",
        "figure6 figure6-gains",
    ),
    (
        "figure_a2",
        "results.h5",
        "--keep 0.9 --zoom 3 --marked 2",
        "figure_a2 figure_a2-zoom figure_a2-ranks",
    ),
    ("figure_a5", "results.h5", "--pairs base=base-5", "figure_a5"),  # its sweep is none of today
    ("pareto", "errors.csv", f"--costs base=9,base-5=1 {ROLES}", "pareto"),
    ("label_sets", "results.h5", "base --disjoint 3", "label_sets"),
    ("transforms", "accuracies.csv", "--accuracy", "transforms transforms-ranks"),
    ("edf", "errors.csv", "", "edf"),
]


@pytest.mark.parametrize(("name", "source", "arguments", "stems"), DRAWING)
def test_figures_are_written_with_what_they_show(
    name: str, source: str, arguments: str, stems: str, folder: Path, tmp_path: Path
) -> None:
    how = ["-o", str(tmp_path), "--resamples", "200"]
    assert run_script(name, str(folder / source), *arguments.split(), *how) == 0
    expected = {f"{stem}.{suffix}" for stem in stems.split() for suffix in ("png", "pdf", "csv")}
    assert {path.name for path in tmp_path.iterdir()} == expected
    for path in tmp_path.glob("*.csv"):
        assert len(pd.read_csv(path))


@pytest.mark.parametrize(("name", "table"), [("table3", "match"), ("table4", "drivers")])
def test_tables_are_those_of_the_study(
    name: str, table: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = folder / "results.h5"
    assert run_script(name, str(store), "--resamples", "200", "--seed", "3") == 0
    truth = load(store, resamples=200, seed=3).table(table)
    if name == "table4":  # the paper's is of test errors
        truth = truth[truth["errors"] == "test"].drop(columns="errors")
    said = capsys.readouterr().out
    if name == "table3":  # the paper's has a last row
        average = next(line for line in said.splitlines() if line.lstrip().startswith("Average"))
        estimates = [f"{truth[column].mean():.3f}" for column in ("rho_source", "rho_member")]
        assert set(estimates) <= set(average.split())
        rows = [line.split() for line in said.splitlines()]
        for row in truth.itertuples():
            (found,) = (words for words in rows if words[:1] == [row.target])
            numbers = [f"{value:.3f}" for value in (row.rho_source, row.difference_high)]
            assert {*numbers, str(row.classes)} <= set(found)
        return
    assert truth.to_string(index=False, float_format="{:.3f}".format) in said


def test_slope_and_offset_of_a_new_test_set_are_a_table(folder: Path, tmp_path: Path) -> None:
    how = ["--accuracy", "--images", "test=200,base-5=200", "--resamples", "2000"]
    typed = [str(folder / "accuracies.csv"), "test", "base-5", *how, "-o", str(tmp_path)]
    assert run_script("new_test_set", *typed) == 0
    table = pd.read_csv(tmp_path / "new_test_set-lines.csv").set_index("scale")
    assert list(table.index) == ["linear", "logit", "probit"]
    accuracies = pd.read_csv(folder / "accuracies.csv")
    x, y = accuracies["test"].to_numpy(), accuracies["base-5"].to_numpy()
    design = add_constant(x)
    fit = OLS(y, design).fit(cov_type="HC3", use_t=True)
    (offset_ends, slope_ends) = fit.conf_int()
    row = table.loc["linear"]
    assert (row["slope"], row["offset"]) == pytest.approx((fit.params[1], fit.params[0]))
    assert (row["slope_low"], row["slope_high"]) == pytest.approx(tuple(slope_ends))
    assert (row["offset_low"], row["offset_high"]) == pytest.approx(tuple(offset_ends))
    # The bootstrap as a plain loop: of other draws, so nearly equal.
    generator, fitted = np.random.default_rng(1), []
    for _ in range(2000):
        drawn = generator.integers(0, len(x), len(x))
        fitted.append(np.polyfit(x[drawn], y[drawn], 1))
    low, high = np.percentile(fitted, [2.5, 97.5], axis=0)
    for name, place, near in (("slope", 0, 0.06), ("offset", 1, 5.0)):
        ends = row[f"{name}_bootstrap_low"], row[f"{name}_bootstrap_high"]
        assert ends == pytest.approx((low[place], high[place]), abs=near)
    assert (table["n"] == len(x)).all()


@pytest.mark.parametrize("name", ["improvement", "best_of_bins"])
def test_of_many_datasets_some_can_be_drawn(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = small_study(12, targets=11)
    table = many.errors.join(many.parameters.set_index("architecture")["parameters"])
    table.to_csv(tmp_path / "many.csv")
    told = "parameters" if name == "best_of_bins" else str(many.errors.index[0])
    how = [str(tmp_path / "many.csv"), told, "--resamples", "100", "-o", str(tmp_path)]
    assert run_script(name, *how) == 2
    what = "lines" if name == "best_of_bins" else "datasets"
    assert f"14 {what} are more than the 12 that fit a figure" in capsys.readouterr().err
    assert run_script(name, *how, "--datasets", "base,target-9") == 0
    assert set(pd.read_csv(tmp_path / f"{name}.csv")["dataset"]) == {"base", "target-9"}


def test_scores_of_other_ranges_are_drawn_beside_percents(folder: Path, tmp_path: Path) -> None:
    scores = pd.read_csv(folder / "accuracies.csv", index_col=0)
    scores.assign(kappa=scores["base-5"] / 100).to_csv(tmp_path / "scores.csv")
    how = ["--accuracy", "--percent", "--source", "test", "--ranges", "kappa=0:1"]
    how += ["--images", "test=500,kappa=500", "--resamples", "100", "-o", str(tmp_path)]
    assert run_script("transfer", str(tmp_path / "scores.csv"), *how) == 0
    assert (tmp_path / "transfer.png").exists()
    assert run_script("transfer", str(tmp_path / "scores.csv"), *how, "--ranges", "kappa") == 2


def test_drivers_of_the_family_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script("table4", str(folder / "results.h5"), "--datasets", "family") == 0
    said = capsys.readouterr().out
    assert "base-5" in said
    assert "target-0" not in said


@pytest.mark.parametrize(
    ("name", "source", "arguments", "problem"),
    [
        ("figure4", "errors.csv", "", "no source dataset with targets is known"),
        ("figure_a1", "errors.csv", "--dataset base --proxies base", "the same recipe"),
        ("figure_a2", "errors.csv", "", "no learning curves are stored"),
        ("figure_a4", "errors.csv", "", "top-5 errors"),
        ("sample_size", "errors.csv", "--source base --target base-5", "no smaller parts to"),
        ("figure_a6", "errors.csv", "--source base", "say --recipe NAME"),
        ("pareto", "errors.csv", f"--costs base=dear {ROLES}", "is not NAME=SECONDS"),
        ("mcnemar", "accuracies.csv", "test --accuracy", "predictions are only in a results"),
        ("new_test_set", "accuracies.csv", "test base-5 --accuracy --images 200", "NAME=COUNT"),
        ("transforms", "results.h5", "", "say which --dataset"),
        ("transforms", "results.h5", "--dataset base", "base has no further test sets"),
        ("label_sets", "results.h5", "base --disjoint 6", "legal: 1 to 5, half the classes"),
        ("table4", "results.h5", "--datasets cats", "no dataset cats"),
        ("checkpoints", "results.h5", "", "no test of a shift was made every so many epochs"),
        ("data_budget", "accuracies.csv", "--accuracy", "is said to be a further test set of"),
        ("bands", "errors.csv", f"flops {ROLES}", "knows no flops of its architectures"),
        ("class_draws", "errors.csv", f"--draws base-5 {ROLES}", "one draw has no spread"),
        ("transfer", "empty.csv", "--error --source base", "0 architectures with both values"),
        ("figure_a2", "results.h5", "--zoom 300", "--zoom: 300, but the last epoch is 5"),
    ],
)
def test_what_is_lacking_is_one_line(
    name: str,
    source: str,
    arguments: str,
    problem: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_script(name, str(folder / source), *arguments.split()) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert len([line for line in said.splitlines() if not ACCOUNT.match(line)]) == 1
