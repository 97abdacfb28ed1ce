"""The questions about classes, images and steps, asked of studies whose answer is known."""

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import yaml
from command import script_module
from scipy.stats import rankdata, spearmanr

HERE = Path(__file__).parent.parent / "analysis" / "classes-images-steps"
COUNT, TWICE = 100, 50


@pytest.fixture(scope="module")
def questions() -> ModuleType:
    module = script_module(HERE / "contrasts.py")
    module.RESAMPLES = 1_000
    return module


def replicates(
    questions: ModuleType, worth: dict[str, float], noise: float = 0.4, seed: int = 0
) -> pd.DataFrame:
    """Members correlate with what targets share by `worth`, 0.6 if not given, and have noise."""
    draw = np.random.default_rng(seed)
    names = [f"a{number:03d}" for number in range(COUNT)]
    shared = draw.normal(size=COUNT)
    runs = [
        (target, 0, names, shared + 0.1 * draw.normal(size=COUNT))
        for target in (*questions.TARGETS, questions.LEFT_OUT)
    ]
    for member in questions.MEMBERS:
        part = worth.get(member, 0.6)
        own = part * shared + np.sqrt(1 - part**2) * draw.normal(size=COUNT)
        for replicate, kept in ((0, COUNT), (1, TWICE)):
            values = own[:kept] + noise * draw.normal(size=kept)
            runs.append((member, replicate, names[:kept], values))
    parts = [
        {"architecture": which, "dataset": name, "replicate": number, "error": 50 + 5 * values}
        for name, number, which, values in runs
    ]
    return pd.concat(map(pd.DataFrame, parts), ignore_index=True)


def depth_of(runs: pd.DataFrame) -> pd.Series:
    names = runs["architecture"].unique()
    return pd.Series(np.random.default_rng(9).integers(4, 20, len(names)), index=names)


def by_hand(questions: ModuleType, runs: pd.DataFrame, member: str) -> float:
    """A member's worth: mean Spearman correlation over the root of the ICC of midranks."""
    first = runs[runs["replicate"] == 0].pivot(
        index="architecture", columns="dataset", values="error"
    )
    rho = np.mean([spearmanr(first[member], first[t]).statistic for t in questions.TARGETS])
    own = first[member]
    twice = runs[runs["dataset"] == member].pivot(
        index="architecture", columns="replicate", values="error"
    )
    # Among the first runs of the other architectures.
    ranks = twice.copy()
    for name, errors in twice.iterrows():
        others = own.drop(name).to_numpy()
        ranks.loc[name] = [(others < e).sum() + (others == e).sum() / 2 for e in errors]
    ranks = ranks.where(twice.notna())
    both = ranks.dropna()
    assert np.allclose(sorted(rankdata(own) - 1), sorted(ranks[0]))
    # One-way analysis of variance of unequal groups, by its textbook formulas.
    sizes = ranks.notna().sum(axis=1).to_numpy()
    means = ranks.mean(axis=1)
    total = sizes.sum()
    grand = (means * sizes).sum() / total
    within = ((both[0] - both[1]) ** 2 / 2).sum() / (total - len(first))
    between_square = (sizes * (means - grand) ** 2).sum() / (len(first) - 1)
    usual = (total - (sizes**2).sum() / total) / (len(first) - 1)
    between = (between_square - within) / usual
    return float(rho / np.sqrt(between / (between + within)))


def test_a_contrast_is_one_of_worths_computed_by_hand(questions: ModuleType) -> None:
    runs = replicates(questions, {"classes-2": 0.3})
    data = questions.data_of(runs, depth_of(runs))
    table = questions.primary(data, questions.worths(data)).set_index("contrast")
    worth = {member: by_hand(questions, runs, member) for member in questions.MEMBERS}
    centre = worth[questions.CENTRE]
    two = (worth["classes-2"] + worth["classes-2b"]) / 2
    assert table.loc["2 classes in place of 10", "estimate"] == pytest.approx(two - centre)
    last = worth["steps-4680"] - centre
    assert table.loc["4,680 steps in place of 936", "estimate"] == pytest.approx(last)
    crossed = questions.images_and_steps(questions.worths(data)).set_index("effect")["estimate"]
    many = worth["cifar10"] + worth["images-50000"] - worth["steps-4680"] - centre
    assert crossed["50,000 images in place of 5,000"] == pytest.approx(many / 2)


def test_what_is_planted_is_found_and_what_is_not_is_not(questions: ModuleType) -> None:
    few = {"classes-2": -0.4, "classes-2b": -0.4}
    runs = replicates(questions, few | {"images-500": 0.97}, noise=0.1)
    data = questions.data_of(runs, depth_of(runs))
    table = questions.primary(data, questions.worths(data))
    found = dict(zip(table["contrast"], table["matters"], strict=True))
    assert found["2 classes in place of 10"] == "yes"
    assert found["500 images in place of 5,000"] == "yes"
    assert "yes" not in {found["5 classes in place of 10"], found["312 steps in place of 936"]}
    assert questions.answers(table)["classes"] == "yes"
    assert questions.answers(table)["steps"] != "yes"


def test_noise_of_a_member_does_not_lower_its_worth(questions: ModuleType) -> None:
    runs = replicates(questions, {}, noise=1.0)
    data = questions.data_of(runs, depth_of(runs))
    raw, free = questions.measured(data), questions.worths(data)
    members = ["cifar10", *(it.members[0] for it in questions.PRIMARY)]
    lost, kept = (np.mean([it[m].estimate.mean() for m in members]) for it in (raw, free))
    assert lost < 0.5
    assert kept == pytest.approx(0.6, abs=0.08)


def test_depth_that_all_ranks_follow_explains_them(questions: ModuleType) -> None:
    runs = replicates(questions, dict.fromkeys(questions.MEMBERS, 0.99), noise=0.05)
    depth = runs[runs["dataset"] == "mnist"].set_index("architecture")["error"]
    data = questions.data_of(runs, depth)
    table = questions.measured(data, given=["depth"])
    assert questions.measured(data)["classes-5"].estimate.mean() > 0.9
    assert abs(table["classes-5"].estimate[1:].mean()) < 0.6


def test_an_architecture_that_fails_on_a_member_is_in_no_contrast(questions: ModuleType) -> None:
    runs = replicates(questions, {})
    gone = (runs["dataset"] == "steps-312") & (runs["architecture"] == "a000")
    data = questions.data_of(runs[~gone], depth_of(runs))
    assert len(data.errors) == COUNT - 1
    assert "a000" not in set(data.replicates["architecture"])


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.11, 0.4, "yes"),
        (-0.3, -0.11, "yes"),
        (-0.09, 0.09, "no"),
        (0.02, 0.3, "undecided"),
        (-0.11, 0.05, "undecided"),
    ],
)
def test_verdicts_are_those_of_the_plan(
    questions: ModuleType, low: float, high: float, said: str
) -> None:
    assert questions.matters(low, high) == said


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [(["no", "yes"], "yes"), (["no", "no"], "no"), (["no", "undecided"], "undecided")],
)
def test_a_factor_matters_if_one_contrast_does(
    questions: ModuleType, verdicts: list[str], said: str
) -> None:
    table = pd.DataFrame({"factor": "images", "matters": verdicts})
    assert questions.answers(table) == {"images": said}


def test_what_members_have_is_what_the_sweep_says(questions: ModuleType) -> None:
    sweep = yaml.safe_load((HERE.parents[1] / "sweeps" / "classes-images-steps.yaml").read_text())
    recipe = sweep["recipes"]["basic"]
    for member, (classes, images, steps) in questions.DESIGN.items():
        asked = sweep["datasets"][member]
        assert asked.get("classes", 10) == classes
        assert asked.get("per_class", 5_000) * classes == images
        own = recipe | recipe["overrides"].get(member, {})
        assert (own.get("steps") or own["epochs"] * (images // own["batch_size"])) == steps


def test_worth_is_the_mean_over_the_targets_without_the_one_left_out(
    questions: ModuleType,
) -> None:
    runs = replicates(questions, {})
    data = questions.data_of(runs, depth_of(runs))
    table = questions.by_target(data).set_index(["member", "target"])["worth"].unstack()
    expected = {member: by_hand(questions, runs, member) for member in questions.MEMBERS}
    found = table[list(questions.TARGETS)].mean(axis=1)
    assert found.to_dict() == pytest.approx(expected)
    first = data.errors
    again = spearmanr(first["cifar10"], first[questions.LEFT_OUT]).statistic
    noise = questions.member_reliabilities(data)["cifar10"].estimate[0]
    assert table.loc["cifar10", questions.LEFT_OUT] == pytest.approx(again / np.sqrt(noise))


def test_members_that_can_be_the_best_are_those_not_clearly_beaten(questions: ModuleType) -> None:
    runs = replicates(questions, {"images-500": 0.97, "images-2000": 0.97}, noise=0.1)
    data = questions.data_of(runs, depth_of(runs))
    found = questions.best_members(questions.worths(data))
    assert set(found) == {*questions.TARGETS, "average"}
    assert set(found["average"]) == {"images-500", "images-2000"}


def test_the_best_quarter_is_that_of_the_target(questions: ModuleType) -> None:
    runs = replicates(questions, {"images-500": 0.97}, noise=0.1)
    data = questions.data_of(runs, depth_of(runs))
    table = questions.best_quarter(data).set_index("member")
    for member in ("images-500", "cifar10"):
        rho, shared = [], []
        for target in questions.TARGETS:
            best = data.errors[target].nsmallest(25).index
            rho.append(spearmanr(*data.errors.loc[best, [member, target]].T.to_numpy()).statistic)
            shared.append(len({*best} & {*data.errors[member].nsmallest(25).index}) / 25)
        assert table.loc[member, "correlation"] == pytest.approx(np.mean(rho))
        assert table.loc[member, "shared"] == pytest.approx(np.mean(shared))
        assert table.loc[member, "shared_low"] < np.mean(shared) < table.loc[member, "shared_high"]
    assert (table["architectures"] == 25).all()


def test_the_published_worths_are_those_computed_by_hand(questions: ModuleType) -> None:
    runs = pd.read_parquet(HERE / "release" / "runs.parquet")
    runs = runs[["architecture", "dataset", "replicate", "error"]]
    page = (HERE / "README.md").read_text()
    said = dict(
        re.findall(r"^\| ([\w-]+) \| \d+ \| [\d,]+ \| [\d,]+ \| ([\d.]+) \[", page, re.MULTILINE)
    )
    assert set(said) == set(questions.MEMBERS)
    for member, worth in said.items():
        assert float(worth) == pytest.approx(by_hand(questions, runs, member), abs=0.0051), member
    short, usual = (by_hand(questions, runs, member) for member in ("images-50000", "cifar10"))
    assert usual - short == pytest.approx(-0.27, abs=0.0051)
    assert "with 50,000 images | −0.27 [" in page
