"""Labels and statistics as text."""

import math

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from anynet_study.plots import wording


@given(st.text(), st.integers(min_value=3, max_value=40))
def test_shortened_text_fits_on_one_line(text: str, limit: int) -> None:
    short = wording.shorten(text, limit)
    assert len(short) <= limit
    assert "\n" not in short
    if len(" ".join(text.split())) <= limit:
        assert short == " ".join(text.split())


def test_shortening_keeps_both_ends() -> None:
    assert wording.shorten("imagenet-1000-10", 9) == "imag…0-10"


@given(st.floats(min_value=-1, max_value=1))
def test_numbers_read_back(value: float) -> None:
    text = wording.number(value)
    assert math.isclose(float(text.replace("−", "-")), value, abs_tol=0.005 + 1e-9)
    assert "-" not in text
    assert text != "−0.00"


def test_statistics_have_interval_and_count() -> None:
    assert wording.correlation(-0.436, -0.5, -0.36, 500) == "ρ = −0.44 [−0.50, −0.36], n = 500"
    assert wording.correlation(math.nan, math.nan, math.nan, 3) == "ρ undefined, n = 3"
    assert wording.compact(-0.31) == "−.31"
    assert wording.compact(1.0) == "1.00"


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


def test_the_words_are_those_of_the_attributes() -> None:
    table = pd.DataFrame()
    assert (wording.coefficient(table), wording.level(table)) == ("Spearman's ρ", "95%")
    table.attrs = {"method": "kendall", "level": 0.995, "weighted": True}
    assert (wording.coefficient(table), wording.level(table)) == ("weighted Kendall's τ", "99.5%")
    assert wording.letter(table) == wording.symbol("kendall") == "τ"
    assert wording.correlation_name("pearson") == "Pearson's correlation"
    assert wording.correlation_name("spearman") == "Spearman's rank correlation"


def test_error_axes_have_metric_and_unit() -> None:
    assert wording.error_label("cifar10", "top5") == "top-5 error on cifar10 (%)"
    assert wording.error_label("cifar10") == "error on cifar10 (%)"
