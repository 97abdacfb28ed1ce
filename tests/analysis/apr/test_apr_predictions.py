"""Models compared image by image: McNemar's test, orders and label sets."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anynet_study import apr
from anynet_study.analysis.apr.predictions import p_values
from anynet_study.core.errors import UserError


def correct(models: int, images: int, seed: int = 0) -> pd.DataFrame:
    """Whether models of different skill are right on images of different difficulty."""
    generator = np.random.default_rng(seed)
    hard = generator.normal(size=images)
    skill = np.linspace(0.6, -0.2, models)[:, None] + generator.normal(size=(models, images))
    return pd.DataFrame(skill > hard, index=[f"m{i}" for i in range(models)])


@given(st.integers(0, 60), st.integers(0, 60))
@settings(deadline=None, max_examples=50)
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


def test_orders_that_change_are_told_from_noise() -> None:
    original, new = correct(4, 800), correct(4, 800, 1)
    new.loc["m3"] = True
    found = apr.mcnemar(new, original.iloc[::-1])  # matched by name
    table = found.set_index(["a", "b"])["order"]
    assert table["m0", "m3"] == "changed, significant"
    assert table["m0", "m2"] == "same"
    pd.testing.assert_frame_equal(found.drop(columns="order"), apr.mcnemar(new))
    same = apr.mcnemar(original, original.assign())
    assert set(same["order"]) <= {"same", "tied"}
    # Each test set has to tell the two apart by itself.
    few = apr.mcnemar(new, original.iloc[:, :20]).set_index(["a", "b"])["order"]
    assert few["m0", "m3"] == "changed"


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
        (lambda: apr.mcnemar(correct(2, 5), correct(2, 5), level=2), "level"),
        (lambda: apr.mcnemar(correct(2, 5), correct(2, 5).rename(str.upper)), "no model m0"),
    ],
)
def test_bad_correctness(call: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        call()  # type: ignore[operator]


def test_label_sets() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2, 65535])
    predictions = np.array([[0, 1, 1, 1, 2, 0, 3], [0, 0, 1, 2, 2, 2, 65535]])
    sets = {"all": range(3), "pair": (0, 1)}
    table = apr.label_set_accuracy(predictions, labels, sets, ["a", "b"])
    rows = table.set_index(["architecture", "label_set"])
    assert rows.loc[("a", "pair"), ["classes", "images", "accuracy"]].tolist() == [2, 4, 75]
    assert rows.loc[("b", "all"), "accuracy"] == pytest.approx(500 / 6)
    exact = stats.binomtest(3, 4).proportion_ci(method="exact")
    assert rows.loc[("a", "pair"), "high"] == pytest.approx(100 * exact.high)


def test_a_choice_within_the_set_is_no_worse() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 20, 500)
    scores = generator.normal(size=(500, 20)) + 2 * np.eye(20)[labels]
    sets = apr.nested_label_sets(20, [2, 5, 20])
    assert set(sets["2 classes"]) < set(sets["5 classes"])
    free = apr.label_set_accuracy([scores.argmax(axis=1)], labels, sets)["accuracy"]
    for number, (name, members) in enumerate(sets.items()):
        chosen = apr.label_set_accuracy([apr.restrict(scores, members)], labels, {name: members})
        assert chosen["accuracy"][0] >= free[number]
    assert sorted(sets["20 classes"]) == list(range(20))
    assert apr.restrict(scores, range(20)).tolist() == scores.argmax(axis=1).tolist()
