"""Tables that are no tables, or lack a column, are told in one line that says what is needed."""

import inspect
import re
from collections.abc import Callable

import pandas as pd
import pytest

from anynet_study import UserError, apr, plots
from anynet_study.analysis.plots.given import checked

ERRORS = pd.DataFrame({"big": [30.0, 31, 33, 34, 36], "small": [10.0, 12, 11, 13, 15]})
AGREEMENT = apr.agreement(ERRORS, ERRORS[::-1], resamples=50)
RUNS = ERRORS.melt(ignore_index=False, var_name="dataset", value_name="error")
CURVES = RUNS.rename_axis("architecture").reset_index().assign(epoch=1)
WIDE = {"errors", "before", "after", "accuracies", "scores", "population"}


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (
            lambda: plots.correlation_heatmap(ERRORS),
            "correlation_heatmap: table: no column source; there are big, small. `table` is a "
            "result of `apr.correlations`",
        ),
        (
            lambda: plots.other_targets_chart(RUNS),
            "other_targets_chart: table: no column target, rho_source, .*; there are dataset, .*",
        ),
        (
            lambda: plots.agreement_grid(ERRORS[["big"]], ERRORS, AGREEMENT),
            "agreement_grid: before: no column small; there are big",
        ),
        (
            lambda: plots.agreement_grid(ERRORS, ERRORS, AGREEMENT.drop(columns="change")),
            "agreement_grid: table: no column change; there are dataset, .*. `table` is a result "
            "of `apr.agreement`, .*",
        ),
        (
            lambda: plots.scatter_data(ERRORS, [("big", "huge")]),
            "scatter_data: errors: no column huge; there are big, small",
        ),
        (
            lambda: plots.curve_data(CURVES.drop(columns="error")),
            "curve_data: curves: no column error; there are architecture, dataset, epoch. `curve.*",
        ),
        (
            lambda: plots.curve_grid(CURVES.drop(columns="epoch")),
            "curve_grid: curves: no column epoch; there are architecture, dataset, error. `curve.*",
        ),
        (
            lambda: plots.edf_plot({"a": apr.edf(ERRORS["big"]), "b": ERRORS}),
            r"edf_plot: curves\['b'\]: no column fraction; there are big, small. `curves` maps .*",
        ),
        (
            lambda: plots.edf_plot({"a": ERRORS["big"]}),
            r"edf_plot: curves\['a'\]: a Series; needed is a pandas DataFrame",
        ),
        (
            lambda: plots.edf_plot([ERRORS]),
            "edf_plot: curves: a list; needed is a dict",
        ),
        (
            lambda: plots.scatter_matrix(ERRORS.to_numpy()),
            "scatter_matrix: errors: a ndarray; needed is a pandas DataFrame",
        ),
    ],
)
def test_a_wrong_table_is_one_line(draw: Callable[[], object], said: str) -> None:
    with pytest.raises(UserError) as raised:
        draw()
    assert re.fullmatch(said, str(raised.value)), raised.value


def test_what_no_table_lacks_is_an_error_of_the_code() -> None:
    @checked
    def draw(table: pd.DataFrame) -> None:
        {"a": table}["b"]

    with pytest.raises(KeyError):
        draw(ERRORS)


@pytest.mark.parametrize("name", plots.__all__)
def test_a_docstring_says_what_each_table_is(name: str) -> None:
    function = getattr(plots, name)
    if inspect.isfunction(function) and name != "save":
        kinds = {it.name: it.annotation for it in inspect.signature(function).parameters.values()}
        tables = {it for it, kind in kinds.items() if "DataFrame" in str(kind)} - WIDE
        assert all(f"`{table}`" in (function.__doc__ or "") for table in tables)
