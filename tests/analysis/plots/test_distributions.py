"""Distributions: the share that is no larger, for each series."""

import numpy as np

from anynet_study.analysis.plots.distributions import NAMED, draw_distributions


def test_each_series_is_a_curve_of_what_is_known():
    many = {f"class {number}": [number, number + 1.0] for number in range(NAMED + 1)}
    few, grey = draw_distributions(
        {"few": {"a": [3.0, np.nan, 1.0], "b": [2.0]}, "many": many}, "depth"
    ).axes
    a, b = few.get_lines()
    assert a.get_xydata()[1:].tolist() == [[1.0, 0.5], [3.0, 1.0]]
    assert b.get_xydata()[1:].tolist() == [[2.0, 1.0]]
    assert [text.get_text() for text in few.get_legend().get_texts()] == ["a", "b"]
    assert grey.get_legend() is None
    assert {line.get_color() for line in grey.get_lines()} == {"0.5"}
    assert [axes.get_title() for axes in (few, grey)] == ["few", "many"]
    assert few.get_xlabel() == "depth"
