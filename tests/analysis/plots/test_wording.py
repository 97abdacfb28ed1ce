"""Labels and statistics as text."""

import math

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
