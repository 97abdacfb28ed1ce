"""Labels and statistics as text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anynet_study.analysis.plots import wording


def test_shortening_keeps_both_ends() -> None:
    assert wording.shorten("imagenet-1000-10", 9) == "imag…0-10"


@given(st.floats(min_value=-1, max_value=1))
def test_numbers_read_back(value: float) -> None:
    text = wording.number(value)
    assert math.isclose(float(text.replace("−", "-")), value, abs_tol=0.005 + 1e-9)
    assert "-" not in text
    assert text != "−0.00"


def test_decimals_show_a_difference() -> None:
    assert [wording.number(v) for v in (0.996, -0.9994, 0.99999)] == ["0.996", "−0.999", "1.00"]
    assert [wording.number(v) for v in (-4.1e14, 999_999)] == ["−4e14", "999999.00"]
    assert wording.apart(0.912, 0.914) == ("0.912", "0.914")
    assert wording.apart(0.912, 0.95) == ("0.91", "0.95")
    assert wording.apart(0.912, 0.912) == ("0.91", "0.91")


def test_an_estimate_has_no_more_decimals_than_its_interval_supports() -> None:
    assert wording.estimate(0.0004, -0.04, 0.04) == "0.00 [−0.04, 0.04]"
    assert wording.estimate(-0.0004, -0.04, 0.04) == "0.00 [−0.04, 0.04]"
    assert wording.estimate(0.002, 0.001, 0.003) == "0.002 [0.001, 0.003]"
    assert wording.estimate(0.012, -0.04, 0.06) == "0.01 [−0.04, 0.06]"


MODELS = [
    *(f"eva_large_patch14_{side}.in22k_ft_in22k_in1k" for side in (196, 336)),
    *(f"tf_efficientnet_b{number}.ns_jft_in1k" for number in range(8)),
    "resnet18",
]


@pytest.mark.parametrize("limit", [16, 22, 26])
def test_two_names_never_share_a_label(limit: int) -> None:
    labels = wording.shortened(MODELS, limit)
    assert len({*labels}) == len(MODELS)
    assert len({wording.shorten(name, limit) for name in MODELS}) < len(MODELS), "but by itself"
    assert labels[-1] == "resnet18"
    assert all("b3" in label for label, name in zip(labels, MODELS, strict=True) if "b3" in name)
    one_word = ["a" + "x" * 40 + "b", "a" + "x" * 20 + "y" + "x" * 19 + "b"]
    assert wording.shortened(one_word, 8) == one_word, "nothing shorter tells them apart"


@given(st.lists(st.text("ab_.", max_size=24), min_size=2, unique=True), st.integers(6, 20))
def test_labels_are_as_distinct_as_names(names: list[str], limit: int) -> None:
    assert len({*wording.shortened(names, limit)}) == len({*names})


def test_the_id_of_a_model_is_no_label() -> None:
    assert wording.without_ids("0f3a0f3a0f3a0f3a  3") == "3"
    assert wording.without_ids("resnet18 of 0f3a0f3a0f3a0f3") == "resnet18 of 0f3a0f3a0f3a0f3"
