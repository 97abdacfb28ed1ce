"""Describe how the best architectures are built, and how good they are.

The stage parameters of the best of each dataset (paper 1, section 6.2.2, Figure A7), marks for the
best and the worst (Figure 3), and averages of the best ones by bins of a covariate: Feuer et al.
2023 (paper 5), section 5.2: how good models of a size, a data budget or a family can be is the mean
of the ten best of each bin, which older releases in it do not pull down.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from anynet_study.analysis.apr.bootstrap import resample
from anynet_study.analysis.apr.error_tables import FEWEST, check_columns, check_errors
from anynet_study.analysis.apr.options import Floats, Multiplicities, with_attrs
from anynet_study.analysis.apr.population import PARAMETERS, parameters_of, stages_of
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import check_level, widened

COLUMNS = ["bin", "from", "to", "architectures", "averaged", "mean", "low", "high", "best", "note"]


def ranked(errors: pd.DataFrame, dataset: str) -> pd.Series:
    """The errors on a dataset that are there, best first; equal ones by architecture."""
    check_columns(errors, [dataset], "errors")
    return errors[dataset].dropna().sort_index().sort_values(kind="stable")


def at_most_a_quarter(count: int, known: int) -> int:
    """Return how many of `known` architectures are the best: `count`, but a quarter at most, and
    one.

    The fifteen best of twenty would describe the sample, not what is good.
    """
    return max(1, min(count, known // 4)) if known else 0


def mark_extremes(errors: pd.DataFrame, dataset: str, count: int = 10) -> pd.Series:
    """Series architecture -> "top", "worst" or "", in the order of `errors`.

    Marks `count` architectures at either end, but at most a quarter of those with an error
    (`at_most_a_quarter`); none where there are fewer than four.
    """
    order = ranked(check_errors(errors, fewest=0), dataset).index
    count = at_most_a_quarter(count, len(order)) if len(order) >= 4 else 0
    marks = pd.Series("", index=errors.index, name=dataset, dtype=object)
    marks[order[:count]] = "top"
    marks[order[len(order) - count :]] = "worst"
    return marks


def configurations(errors: pd.DataFrame, population: pd.DataFrame, top: int = 15) -> pd.DataFrame:
    """Stage parameters of the best architecture and of the `top` best, for each dataset.

    Returns DataFrame[dataset, parameter, stage, best, mean, std, n]: n is how many architectures
    the mean and the sample standard deviation (NaN for one) are of: those of the `top` best, or of
    the best quarter of all that have an error where it is fewer (`at_most_a_quarter`), that have
    the stage; `best` and `mean` are NaN where the best architecture, or none, has it. A dataset
    without any error has no rows. What is best in a sample says nothing of how it was drawn:
    weights do not enter.
    """
    if top < 1:
        raise UserError(f"top: {top} is not a count of at least 1")
    table = check_errors(errors, fewest=1)
    parameters = parameters_of(table, population)
    stages = stages_of(parameters.columns)
    rows = []
    for dataset in table.columns:
        order = ranked(table, dataset).index
        if not len(order):
            continue
        order = order[: at_most_a_quarter(top, len(order))]
        chosen = parameters.loc[order]
        for name, prefix in PARAMETERS.items():
            for stage in stages:
                column = chosen[f"{prefix}{stage}"]
                summary = (column.iloc[0], column.mean(), column.std(ddof=1), column.count())
                rows.append((dataset, name, stage, *summary))
    names = ["dataset", "parameter", "stage", "best", "mean", "std", "n"]
    return with_attrs(pd.DataFrame(rows, columns=names))


def best_of_bins(
    scores: pd.Series,
    covariate: pd.Series,
    edges: Sequence[float] | int = 3,
    top: int = 10,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean score of the `top` best architectures in each bin of a covariate.

    `scores` (more is better) and `covariate` are matched by index. A covariate of numbers is cut at
    `edges`, such as [50e6, 100e6] for three bins of parameters (an edge belongs to the bin above
    it), or into that many bins of equal counts; one of texts, such as a family, has a bin for each.

    Returns DataFrame[bin, from, to, architectures, averaged, mean, low, high, best, note], in
    rising order, or that of the first appearance. The interval is the bootstrap's over the
    architectures of the bin (BCa), of the mean of the best share top / architectures of all like
    them. Where a bin has no more than `top`, all are averaged; fewer than 4 have no interval, which
    `note` says. Nominal 95% intervals held the mean of a normal population's best share in 93% to
    95% of 1,500 simulated samples of 8, 12, 20, 40 and 100 scores, of which the ten best were
    averaged. `attrs["left_out"]` counts the architectures without score or covariate.
    """
    check_level(level, resamples, seed)
    if top < 1:
        raise UserError(f"top: {top}; legal: 1, 2, ...")
    values = check_errors(scores.to_frame("score"), 0, "scores")["score"]
    if covariate.index.has_duplicates:
        repeated = covariate.index[covariate.index.duplicated()][0]
        raise DoesNotApplyError(f"covariate: architecture {repeated} is there more than once")
    both = pd.DataFrame({"score": values, "covariate": covariate.reindex(values.index)})
    known = both.dropna()
    if known.empty:
        raise DoesNotApplyError("covariate: no architecture has both it and a score")
    rows = []
    for name, limits, chosen in _bins(known["covariate"], edges):
        found = known.loc[chosen, "score"].to_numpy()
        row = {"bin": name, "from": limits[0], "to": limits[1], "architectures": len(found)}
        rows.append({**row, **_best(found, top, resamples, seed, level)})
    result = pd.DataFrame(rows).reindex(columns=COLUMNS)
    return with_attrs(result, level, n=len(known), left_out=len(both) - len(known))


def _bins(
    covariate: pd.Series, edges: Sequence[float] | int
) -> list[tuple[str, tuple[float, float], pd.Series]]:
    """Name, limits and members of every bin."""
    if not pd.api.types.is_numeric_dtype(covariate) or covariate.dtype == bool:
        nothing = (np.nan, np.nan)
        return [(str(name), nothing, covariate == name) for name in covariate.unique()]
    if not np.isfinite(covariate).all():
        raise DoesNotApplyError("covariate: legal are finite numbers")
    if isinstance(edges, int | np.integer):
        if edges < 1:
            raise UserError(f"edges: {edges} bins; legal: 1, 2, ...")
        shares = np.arange(1, edges) / edges
        cuts = [float(cut) for cut in np.unique(covariate.quantile(shares))]
        cuts = [cut for cut in cuts if cut > covariate.min()]
    else:
        cuts = [float(edge) for edge in edges]
        if sorted(set(cuts)) != cuts or not np.isfinite(cuts).all():
            raise UserError("edges: legal are finite numbers, rising")
    limits = list(zip([-np.inf, *cuts], [*cuts, np.inf], strict=True))
    return [
        (_name(low, high), (low, high), (covariate >= low) & (covariate < high))
        for low, high in limits
    ]


def _best(scores: Floats, top: int, resamples: int, seed: int, level: float) -> dict[str, object]:
    if not len(scores):
        return {"averaged": 0, "note": "no architecture"}
    best_first = np.sort(scores)[::-1]
    averaged = min(top, len(scores))
    row: dict[str, object] = {"averaged": averaged, "mean": float(best_first[:averaged].mean())}
    row |= {"best": float(best_first[0]), "note": ""}
    if len(scores) < FEWEST:
        return {**row, "note": f"fewer than {FEWEST} architectures: no interval"}
    share = averaged / len(scores)

    def means(counts: Multiplicities) -> Floats:
        """(b,) means of the best share of resamples, one of the scores in part if need be."""
        cumulated = np.cumsum(counts, axis=1)
        drawn = np.minimum(cumulated, share * cumulated[:, -1:])
        counted = np.diff(drawn, axis=1, prepend=0)
        return counted @ best_first / drawn[:, -1]  # type: ignore[no-any-return]

    # The mean of so many varies as Student's t, in resamples too little; see `widened`.
    resampled = resample(means, len(scores), resamples, seed)
    low, high = (float(end[0]) for end in resampled.interval(widened(level, max(averaged, 2))))
    return {**row, "low": low, "high": high}


def _short(edge: float) -> str:
    """Four digits without an exponent: 9.5, 18.71k, 250M."""
    if abs(edge) >= 1e6:
        return f"{edge / 1e6:.4g}M"
    return f"{edge / 1e3:.4g}k" if abs(edge) >= 1e4 else f"{edge:.4g}"


def _name(low: float, high: float) -> str:
    below, above = (_short(edge) for edge in (high, low))
    if np.isinf(low):
        return "all" if np.isinf(high) else f"below {below}"
    return f"{above} or more" if np.isinf(high) else f"{above} to {below}"
