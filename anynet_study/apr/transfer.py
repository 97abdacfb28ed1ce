"""Does progress on a source dataset carry over to targets? (Fang et al. 2023, paper 3, section 4.)

Lines through all models and through the better ones only: a trend that weak models make may end
where current models are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.fit_lines import Method, linear_fit
from anynet_study.apr.fit_scales import Scale, check_scale
from anynet_study.apr.intervals import check_level
from anynet_study.apr.ranks import Floats
from anynet_study.apr.scores import check_columns, check_scores
from anynet_study.errors import UserError

#: Statistics of a fit that have an interval.
ESTIMATES = ("correlation", "slope", "intercept", "r2", "adjusted_r2")
ENDS = tuple(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high"))


def transfer_fits(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None = None,
    above: float | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    scale: Scale = "linear",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "robust",
) -> pd.DataFrame:
    """Linear fits of each target on the source, of all models and of those above a threshold.

    `scores` has one row an architecture and one column a dataset; more is better, in any metric.
    `ranges` gives the (worst, best) value of each metric that is not in percent, such as (0, 1) for
    an F1 score; all scores are brought to 0 to 100 first, so that slopes of different metrics can
    be compared (the normalised slope of the paper's Table 2). `above` is a score on the source, in
    its own unit; targets are by default all other columns.

    Returns DataFrame[target, models ("all" or "above 70"), n, correlation, slope, slope_low,
    slope_high, intercept, ..., r2, ..., adjusted_r2, ..., excluded, note]: Pearson's correlation on
    the scale, and the fit as in `linear_fit`. Where there is no fit (fewer than 4 models, a
    constant column) its numbers are NaN and `note` says why.
    """
    check_scale(scale)
    check_level(level, resamples)
    check_seed(seed)
    table = normalised(scores, source, targets, ranges)
    groups = {"all": table[source].notna()}
    if above is not None:
        groups[f"above {above:g}"] = check_scores(scores)[source] > above
    rows = []
    for target in table.columns.drop(source):
        for models, chosen in groups.items():
            both = table.loc[chosen, [source, target]].dropna()
            row: dict[str, object] = {"target": target, "models": models, "n": len(both)}
            row |= fit_row(both[source], both[target], scale, resamples, seed, level, method)
            rows.append(row)
    columns = ["target", "models", "n", *ENDS, "excluded", "note"]
    return pd.DataFrame(rows).reindex(columns=columns)


def fit_row(
    x: pd.Series,
    y: pd.Series,
    scale: Scale = "linear",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "robust",
) -> dict[str, object]:
    """A `linear_fit` as a row of a table.

    `note` is "", or says why there is no fit: then it is all there is.
    """
    try:
        fit = linear_fit(x, y, scale, resamples, seed, level, method)
    except UserError as error:
        return {"note": str(error).removeprefix("fit: ")}
    return {**fit.row(), "note": ""}


def normalised(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> pd.DataFrame:
    """Source and targets with all metrics from 0 (worst) to 100 (best).

    Columns without a range are in percent already. Raises UserError for columns that are not there,
    values outside their range, and fractions that no range is given for.
    """
    names = list(scores.columns.drop(source, errors="ignore")) if targets is None else [*targets]
    check_columns(scores, [source, *names, *(ranges or {})])
    if source in names or len(set(names)) < len(names) or not names:
        raise UserError("targets: at least one is needed, each once, and not the source")
    table = check_scores(scores[[source, *names]])
    columns = {name: _percent(table[name], (ranges or {}).get(name)) for name in table.columns}
    return pd.DataFrame(columns, index=table.index)


def _percent(column: pd.Series, limits: tuple[float, float] | None) -> Floats:
    name, values = column.name, column.to_numpy()
    known = values[~np.isnan(values)]
    if limits is None and known.size and np.abs(known).max() <= 1:
        raise UserError(
            f"scores: no value of {name} exceeds 1, so these look like fractions, not percent; "
            f"give its range, such as ranges={{{str(name)!r}: (0, 1)}}"
        )
    worst, best = (0.0, 100.0) if limits is None else limits
    if not np.isfinite([worst, best]).all() or worst == best:
        raise UserError(f"ranges: {name} from {worst} to {best}; legal: two different numbers")
    percent: Floats = 100 * (values - worst) / (best - worst)
    present = percent[~np.isnan(percent)]
    if present.size and (present.min() < -1e-9 or present.max() > 100 + 1e-9):
        raise UserError(f"scores: {name} has values outside {worst:g} to {best:g}")
    return percent
