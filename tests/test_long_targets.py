"""The questions about targets that are trained long, asked of studies whose answer is known."""

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from command import SWEEPS, script_module
from scipy.stats import rankdata, spearmanr

from anynet_study.analysis.apr.noise import noise_ceiling
from anynet_study.engine.sweep import Sweep

HERE = Path(__file__).parent.parent / "analysis" / "long-targets"
COUNT, TWICE = 60, 30


@pytest.fixture(scope="module")
def power() -> ModuleType:
    module = script_module(HERE / "power.py")
    module.lengths.RESAMPLES = 500
    return module


@pytest.fixture(scope="module")
def questions(power: ModuleType) -> ModuleType:
    module: ModuleType = power.lengths
    return module


def runs_of(
    power: ModuleType, long_worths: tuple[float, float], noise: float = 1.0
) -> pd.DataFrame:
    """The runs of a simulated study of six targets, with `noise` times the usual variance."""
    found = power.study_runs(np.random.default_rng(1), long_worths, 6, noise)
    assert isinstance(found, pd.DataFrame)
    return found


def depth_of(runs: pd.DataFrame) -> pd.Series:
    names = runs["architecture"].unique()
    return pd.Series(np.random.default_rng(9).normal(size=len(names)), index=names)


def by_hand(data: pd.DataFrame, icc: pd.Series, proxy: str, target: str) -> float:
    """Spearman's correlation of first runs over the roots of both reliabilities."""
    first = data[data["replicate"] == 0].pivot(
        index="architecture", columns="dataset", values="error"
    )
    return float(
        spearmanr(first[proxy], first[target]).statistic / np.sqrt(icc[proxy] * icc[target])
    )


def test_worths_and_contrasts_are_those_computed_by_hand(
    power: ModuleType, questions: ModuleType
) -> None:
    runs = runs_of(power, (0.77, 0.77))
    data = questions.data_of(runs, depth_of(runs))
    worths, by_length = questions.worths(data), {}
    icc = noise_ceiling(data.replicates).set_index("dataset")["icc"]
    for length in ("short", "long"):
        names = [questions.trained(target, length) for target in questions.TARGETS]
        for proxy, name in (("short", "images-50000"), ("long", "cifar10")):
            expected = [by_hand(data.replicates, icc, name, target) for target in names]
            assert worths[proxy, length].estimate == pytest.approx(expected)
            by_length[proxy, length] = np.mean(expected)
    table = questions.judged(worths).set_index("question")["estimate"]
    still = by_length["short", "long"] - by_length["long", "long"]
    first = by_length["short", "short"] - by_length["long", "short"]
    assert table["still"] == table["equal"] == pytest.approx(still)
    assert table["smaller"] == pytest.approx(first - still)


def test_what_is_planted_is_found(power: ModuleType, questions: ModuleType) -> None:
    exchanged = runs_of(power, (0.5, 0.9), noise=0.2)
    data = questions.data_of(exchanged, depth_of(exchanged))
    found = questions.answers(data).set_index(["way", "question"])["answer"]
    for way in ("freed of noise", "at equal depth"):
        assert found[way].to_dict() == {"smaller": "yes", "still": "no", "equal": "yes"}
    same = runs_of(power, (0.9, 0.5), noise=0.2)
    table = questions.judged(questions.worths(questions.data_of(same, depth_of(same))))
    said = dict(zip(table["question"], table["answer"], strict=True))
    assert said["still"] == "yes"
    assert said["equal"] == "no"
    assert said["smaller"] != "yes"


def test_at_equal_depth_is_a_partial_correlation_of_ranks(
    power: ModuleType, questions: ModuleType
) -> None:
    runs = runs_of(power, (0.6, 0.6), noise=1e-9)
    depth = (
        depth_of(runs)
        + runs[runs["dataset"] == "cifar10"].groupby("architecture")["error"].first() / 5
    )
    data = questions.data_of(runs, depth)
    found = questions.worths(data, at_equal_depth=True)["short", "long"].estimate[0]
    columns = [data.errors["images-50000"], data.errors["mnist-long"], data.depth]
    ranks = np.array([rankdata(column) for column in columns])
    line = np.column_stack([ranks[2], np.ones(COUNT)])
    left = [rank - line @ np.linalg.lstsq(line, rank, rcond=None)[0] for rank in ranks[:2]]
    assert found == pytest.approx(np.corrcoef(left)[0, 1], abs=1e-6)


def test_the_control_is_no_run_of_a_proxy(power: ModuleType, questions: ModuleType) -> None:
    runs = runs_of(power, (0.77, 0.77))
    other = runs[runs["dataset"] == "cifar10"].assign(recipe="decay", error=1.0)
    both = questions.data_of(pd.concat([other, runs]), depth_of(runs))
    assert both.errors.equals(questions.data_of(runs, depth_of(runs)).errors)


def test_a_target_whose_ranks_no_second_seed_repeats_counts_in_no_average(
    power: ModuleType, questions: ModuleType
) -> None:
    runs = runs_of(power, (0.77, 0.77))
    of = (runs["dataset"] == "mnist") & (runs["recipe"] == "long")
    runs.loc[of, "error"] = np.random.default_rng(3).normal(size=of.sum())
    data = questions.data_of(runs, depth_of(runs))
    assert data.targets == questions.TARGETS[1:]
    table = questions.judged(questions.worths(data))
    assert (table["targets"] == 5).all()


def test_two_targets_are_no_answer(power: ModuleType, questions: ModuleType) -> None:
    runs = runs_of(power, (0.5, 0.9), noise=0.2)
    data = questions.data_of(runs, depth_of(runs), questions.TARGETS[:2])
    assert set(questions.judged(questions.worths(data))["answer"]) == {"undecided"}


@pytest.mark.parametrize(
    ("question", "low", "high", "said"),
    [
        ("smaller", 0.11, 0.4, "yes"),
        ("smaller", -0.5, 0.09, "no"),
        ("still", 0.05, 0.3, "undecided"),
        ("still", -0.4, -0.2, "no"),
        ("equal", -0.4, -0.11, "yes"),
        ("equal", -0.09, 0.4, "no"),
        ("equal", -0.3, 0.05, "undecided"),
        ("equal", np.nan, np.nan, "undecided"),
    ],
)
def test_answers_are_those_of_the_plan(
    questions: ModuleType, question: str, low: float, high: float, said: str
) -> None:
    assert questions.answer(question, low, high) == said


def test_the_floor_is_few_wrong_images_or_errors_that_images_alone_make(
    questions: ModuleType,
) -> None:
    pilot = pd.DataFrame(
        {
            "solved": [0.0, 0.2, 0.4, 0.2, 0.6, 1.2, 0.2, 0.4],
            "alike": [10.0, 10.5, 9.5, 10.2, 9.8, 10.1, 9.9, 10.0],
            "unlike": [5.0, 15.0, 9.0, 20.0, 7.0, 10.0, 12.0, 8.0],
        }
    )
    held_out = pd.Series({"solved": 500, "alike": 300, "unlike": 300})
    table = questions.floors(pilot, held_out, pd.Series(1_000, held_out.index)).set_index("target")
    assert table["floor"].to_dict() == {"solved": True, "alike": True, "unlike": False}
    assert table.loc["solved", "wrong"] == pytest.approx(3.0)
    # 300 images of which a share p is wrong: errors have the variance p (1 - p) / 300.
    share = pilot["unlike"] / 100
    expected = share.var() / ((share * (1 - share)).mean() / 300)
    assert table.loc["unlike", "spread"] == pytest.approx(expected)


def test_long_training_differs_from_short_in_its_length_alone() -> None:
    sweep = Sweep.load(SWEEPS / "long-targets.yaml")
    images = {"mnist": 60000, "smiles": 10532, "face-masks": 3275}
    images |= {"blood-cells": 3838, "omniglot": 3872, "sign-digits": 1651}
    for target, count in images.items():
        short, long = (sweep.recipes[name].for_dataset(target) for name in ("basic", "long"))
        length = ["epochs", "steps", "warmup_epochs", "test_every"]
        assert short.model_dump(exclude={*length}) == long.model_dump(exclude={*length})
        each_epoch = count // 64
        shares = short.warmup_epochs / short.epochs, long.warmup_epochs * each_epoch / long.steps
        assert shares[1] == pytest.approx(shares[0], rel=0.01), target
    pilot = Sweep.load(HERE / "pilot.yaml").recipes["long"]
    for target in images:
        both = (it.for_dataset(target) for it in (pilot, sweep.recipes["long"]))
        first, second = (it.model_dump(exclude={"test_every"}) for it in both)
        assert first == second


def test_the_plan_says_how_many_runs_the_sweep_has() -> None:
    sweep = Sweep.load(SWEEPS / "long-targets.yaml")
    page = (HERE / "PLAN.md").read_text()
    assert f"The {sweep.population.count} architectures" in page
    assert sweep.replicates.architectures == 30
    rows = re.findall(r"^\| [^|]+ \| [\d, to]+ \| (?:(\d) x \()?(\d+)(?: \+ (\d+))?", page, re.M)
    total = sum((int(k) if k else 1) * (int(a) + int(b or 0)) for k, a, b in rows)
    assert total == 1_650
