"""What a comparison of design spaces computes, and its figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anynet_study.cli.figure_file import save_figure

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.cli.compare_sources import Spaces


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are computed."""

    resamples: int
    seed: int
    level: float


@dataclass(frozen=True)
class Comparison:
    """The tables of `apr`, the last three with a column `space` and the rows of all spaces."""

    summary: "pd.DataFrame"
    #: No rows where there is one space.
    pairs: "pd.DataFrame"
    edf: "pd.DataFrame"
    search: "pd.DataFrame"
    #: No rows where nothing describes the models.
    ranges: "pd.DataFrame"


def make_comparison(spaces: "Spaces", how: Bootstrap) -> Comparison:
    """Compute all tables."""
    import pandas as pd

    from anynet_study import apr

    options = vars(how)
    weights = spaces.weights or {}
    empty = pd.DataFrame(columns=["a", "b"])
    several = len(spaces.errors) > 1
    return Comparison(
        apr.edf_summary(spaces.errors, spaces.weights, **options),
        apr.compare_spaces(spaces.errors, spaces.weights, **options) if several else empty,
        _stacked(
            {
                name: apr.edf(each, weights.get(name), **options, name=name)
                for name, each in spaces.errors.items()
            }
        ),
        _stacked(
            {
                name: apr.random_search(each, None, weights.get(name), **options, name=name)
                for name, each in spaces.errors.items()
            }
        ),
        _stacked({name: _ranges(spaces, name, how.level) for name in spaces.errors}),
    )


def draw(spaces: "Spaces", made: Comparison, level: float, figure: str, path: Path) -> None:
    """Write the figure "edf" or "search"."""
    from anynet_study import plots

    function, table = {
        "edf": (plots.edf_plot, made.edf),
        "search": (plots.random_search_plot, made.search),
    }[figure]
    parts = dict(iter(table.groupby("space", sort=False)))
    save_figure(function(parts, spaces.dataset, spaces.metric, level), path)


def _ranges(spaces: "Spaces", name: str, level: float) -> "pd.DataFrame":
    """Where each number that describes the models, and differs, is good."""
    from anynet_study.apr import good_range
    from anynet_study.apr.error_tables import FEWEST

    errors, weights = spaces.errors[name], (spaces.weights or {}).get(name)
    numbers = spaces.models[name].select_dtypes("number").drop(columns="weight", errors="ignore")
    counts = errors.notna() if weights is None else errors.notna() & (weights > 0)
    known = numbers[counts]
    told = [
        column
        for column in numbers
        if known[column].count() >= FEWEST and known[column].nunique() > 1
    ]
    return good_range(errors, numbers[told], weights, level=level)


def _stacked(parts: "Mapping[str, pd.DataFrame]") -> "pd.DataFrame":
    import pandas as pd

    filled = [part.assign(space=name) for name, part in parts.items() if len(part)]
    if not filled:
        return next(iter(parts.values())).assign(space="")
    table = pd.concat(filled, ignore_index=True)
    return table[["space", *(column for column in table if column != "space")]]
