"""Does progress on a source dataset carry over to targets?

Fang et al. 2023 (paper 3), section 4: lines through all models and through the better ones only, as
a trend that weak models make may end where current models are. Salaudeen and Hardt 2024 (paper 4,
Figures 1b and 8b): accuracies of different datasets cannot be compared, but what each model gains
over the same early model can.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from anynet_study.analysis.apr.bootstrap import FEWEST_TO_RESAMPLE, resample
from anynet_study.analysis.apr.error_tables import check_accuracies, check_columns, check_errors
from anynet_study.analysis.apr.fits import Scale, linear_fit, to_scale
from anynet_study.analysis.apr.gaps import image_count
from anynet_study.analysis.apr.options import Floats, Multiplicities, check_choice, with_attrs
from anynet_study.core.errors import DoesNotApplyError
from anynet_study.core.metrics import check_level, widened

#: Statistics of a fit that have an interval.
ESTIMATES = ("correlation", "slope", "intercept", "r2", "adjusted_r2")
ENDS = tuple(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high"))
#: Why a slope free of noise has no interval.
UNBOUNDED = "noise may be all there is on the source: no bound of the slope without it"
SLOPE = ("slope", "slope_low", "slope_high")
FREED = tuple(f"freed_slope{end}" for end in ("", "_low", "_high"))


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
    replicates: pd.DataFrame | None = None,
    baseline: str | None = None,
) -> pd.DataFrame:
    """Linear fits of each target on the source, of all models and of those above a threshold.

    `scores` has one row per architecture and one column per dataset; more is better, in any metric.
    `ranges` gives the (worst, best) value of each metric that is not in percent, such as (0, 1) for
    an F1 score; all scores are brought to 0 to 100 first, so that slopes of different metrics can
    be compared (the normalised slope of the paper's Table 2). `above` is a score on the source, in
    its own unit; targets are by default all other columns.

    Returns DataFrame[target, models ("all" or "above 70"), n, correlation, slope, slope_low,
    slope_high, freed_slope, ..., intercept, ..., r2, ..., adjusted_r2, ..., excluded, note]:
    Pearson's correlation on the scale, and the fit as in `linear_fit`.

    Noise in the scores on the source, as of single trainings, pulls a slope towards 0, by the
    source's reliability. `freed_slope` is that on the source without its noise, of all models,
    where `replicates` tell it (long: architecture, dataset, replicate, score, in the same units):
    cov(x, y) / (var(x) - w), of first runs x with variance w within architectures (Fuller,
    "Measurement Error Models", 1987, section 1.1), with a BCa interval over architectures, as much
    wider as Student's t for those trained twice. NaN without replicates; where noise may be all
    that architectures differ by on the source, no interval has an end, and `note` says so.

    With `baseline`, one of the architectures, relative_slope and its ends come after freed_slope:
    the slope of improvements, each score over that of the baseline on the same dataset (see
    `relative_improvement`); NaN where the baseline has no score above 0. Where there is no fit
    (fewer than 4 models, a constant column) its numbers are NaN and `note` says why.
    """
    check_choice("scale", scale, Scale)
    check_level(level, resamples, seed)
    table = normalised(scores, source, targets, ranges)
    if baseline is not None and scale != "linear":
        raise DoesNotApplyError(
            f"scale: {scale}; improvements over a baseline are on the linear scale"
        )
    if baseline is not None and baseline not in table.index:
        raise DoesNotApplyError(f"baseline: no architecture {baseline} in the scores")
    groups = {"all": table[source].notna()}
    if above is not None:
        groups[f"above {above:g}"] = check_errors(scores, 0, "scores")[source] > above
    rows = []
    for target in table.columns.drop(source):
        for models, chosen in groups.items():
            both = table.loc[chosen, [source, target]].dropna()
            row: dict[str, Any] = {"target": target, "models": models, "n": len(both)}
            row |= fit_row(both[source], both[target], scale, level)
            if baseline is not None:
                own = table.loc[baseline].where(table.loc[baseline] > 0)
                unit = own[source] / own[target]
                row |= {f"relative_{name}": row.get(name, np.nan) * unit for name in SLOPE}
            if replicates is not None and models == "all":
                runs = replicates[replicates["dataset"] == source]
                percent = percent_of(runs["score"].rename(source), (ranges or {}).get(source))
                runs = runs.assign(score=to_scale(percent, scale))
                y = pd.Series(to_scale(table[target].to_numpy(), scale), table.index)
                row |= _freed_slope(runs, y, resamples, seed, level)
            rows.append(row)
    columns = ["target", "models", "n", *ENDS[:6], *FREED]
    columns += [f"relative_{name}" for name in SLOPE] if baseline is not None else []
    columns += [*ENDS[6:], "excluded", "note"]
    result = pd.DataFrame(rows).reindex(columns=columns)
    return with_attrs(result, level, "pearson", scale=scale)


def covariate_fits(
    scores: pd.DataFrame,
    covariate: pd.Series,
    groups: Mapping[str, pd.Series],
    ranges: Mapping[str, tuple[float, float]] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Linear fits of each column on the logarithm of a covariate, such as the number of parameters.

    `scores` and `ranges` as in `transfer_fits`; `covariate` is positive, `groups` says by name
    which architectures (bool) each fit is of (paper 3, Figure 9: all, and those above an accuracy
    on the source). Returns DataFrame[target, models, n, correlation, ..., slope, ..., note]; the
    slope is in points for a tenfold covariate. Raises UserError for a covariate that is not
    positive.
    """
    check_level(level)
    first, *others = scores.columns
    table = normalised(scores, first, others, ranges) if others else check_errors(scores, 0)
    values = covariate.reindex(table.index).astype(float)
    if not (values.dropna() > 0).all():
        raise DoesNotApplyError(f"covariate: {covariate.name} has values that are not above 0")
    rows = []
    for target in table.columns:
        for models, chosen in groups.items():
            both = pd.DataFrame({"x": np.log10(values), "y": table[target]})
            both = both[chosen.reindex(both.index, fill_value=False)].dropna()
            row: dict[str, object] = {"target": target, "models": models, "n": len(both)}
            rows.append(row | fit_row(both["x"], both["y"], "linear", level))
    columns = ["target", "models", "n", *ENDS, "excluded", "note"]
    return with_attrs(pd.DataFrame(rows).reindex(columns=columns), level, "pearson", scale="linear")


def _freed_slope(
    runs: pd.DataFrame, y: pd.Series, resamples: int, seed: int, level: float
) -> dict[str, object]:
    """The slope of y on the source without the noise that its single `runs` tell."""
    runs = runs.sort_values("replicate", kind="stable")
    known = runs[np.isfinite(runs["score"])].groupby("architecture")["score"]
    table = known.agg(["first", "count", "var"]).join(y.rename("y"), how="inner").dropna(subset="y")
    table = table[np.isfinite(table["y"])]
    freedom = table["count"].to_numpy(float) - 1
    twice = int((freedom > 0).sum())
    if len(table) < FEWEST_TO_RESAMPLE or twice < 2:
        return {}
    x, errs = (table[name].to_numpy() - table[name].mean() for name in ("first", "y"))
    squares = table["var"].fillna(0).to_numpy() * freedom
    sums = np.column_stack([np.ones(len(x)), x, errs, x * errs, x * x, squares, freedom])

    def slope(counts: Multiplicities) -> Floats:
        n, sx, sy, xy, xx, within, free = (counts @ sums).T
        with np.errstate(divide="ignore", invalid="ignore"):
            true = (xx - sx**2 / n) / (n - 1) - within / free
            found: Floats = (xy - sx * sy / n) / (n - 1) / np.where(true > 0, true, np.nan)
        return found

    found = resample(slope, len(x), resamples, seed)
    ends = found.columns(widened(level, twice), "freed_slope")
    known = np.isfinite(ends["freed_slope_low"]).all()
    row: dict[str, object] = {name: float(value[0]) for name, value in ends.items()}
    return row if known else {**row, "note": UNBOUNDED}


def fit_row(
    x: pd.Series,
    y: pd.Series,
    scale: Scale,
    level: float,
) -> dict[str, object]:
    """A `linear_fit` as a row of a table; of no fit only a `note` that says why, "" otherwise."""
    try:
        fit = linear_fit(x, y, scale, level)
    except DoesNotApplyError as error:
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
        raise DoesNotApplyError("targets: at least one is needed, each once, and not the source")
    table = check_errors(scores[[source, *names]], 0, "scores")
    columns = {name: percent_of(table[name], (ranges or {}).get(name)) for name in table.columns}
    return pd.DataFrame(columns, index=table.index)


def percent_of(column: pd.Series, limits: tuple[float, float] | None) -> Floats:
    """The values of a column, whose (worst, best) value is in `limits`, from 0 to 100."""
    name, values = column.name, column.to_numpy()
    known = values[~np.isnan(values)]
    if limits is None and known.size and np.abs(known).max() <= 1:
        raise DoesNotApplyError(
            f"scores: no value of {name} exceeds 1, so these look like fractions, not percent; "
            f"give its range, such as ranges={{{str(name)!r}: (0, 1)}}"
        )
    worst, best = (0.0, 100.0) if limits is None else limits
    if not np.isfinite([worst, best]).all() or worst == best:
        raise DoesNotApplyError(
            f"ranges: {name} from {worst} to {best}; legal: two different numbers"
        )
    percent: Floats = 100 * (values - worst) / (best - worst)
    present = percent[~np.isnan(percent)]
    if present.size and (present.min() < -1e-9 or present.max() > 100 + 1e-9):
        raise DoesNotApplyError(f"scores: {name} has values outside {worst:g} to {best:g}")
    return percent


def relative_improvement(
    accuracies: pd.DataFrame,
    baseline: str,
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Every accuracy over the baseline model's on the same dataset.

    `accuracies` in percent, architectures x datasets; `baseline` is one of the architectures.
    Returns long DataFrame[dataset, architecture, accuracy, relative], in the order of the table,
    without missing accuracies. With `images`, dataset -> number of test images, also relative_low
    and relative_high: sampling error of both accuracies by the logarithm of the ratio (Katz et al.
    1978), as if they were wrong independently of each other; as they share their hard images, the
    interval is, if anything, too wide. An accuracy of 0 counts as half an image there.

    Raises UserError where the baseline is not there, or has no accuracy above 0 on a dataset.
    """
    check_level(level)
    table = check_accuracies(accuracies)
    if baseline not in table.index:
        raise DoesNotApplyError(f"baseline: no architecture {baseline} in the accuracies")
    base = table.loc[baseline]
    if not (base > 0).all():
        where = base.index[~(base > 0)][0]
        raise DoesNotApplyError(f"baseline: {baseline} has no accuracy above 0 on {where}")
    result = table.melt(ignore_index=False, var_name="dataset", value_name="accuracy")
    result = result.dropna(subset="accuracy").reset_index()
    result = result[["dataset", "architecture", "accuracy"]]
    reference = result["dataset"].map(base)
    result["relative"] = result["accuracy"] / reference
    if images is not None:
        sizes = result["dataset"].map({name: image_count(images, name) for name in table.columns})
        p, q = (np.maximum(a / 100, 0.5 / sizes) for a in (result["accuracy"], reference))
        spread = np.sqrt((1 - p) / (sizes * p) + (1 - q) / (sizes * q))
        # The baseline is exactly as good as itself.
        spread = spread.where(result["architecture"] != baseline, 0.0)
        factor = np.exp(ndtri((1 + level) / 2) * spread)
        result["relative_low"] = np.where(result["accuracy"] > 0, p / q / factor, 0.0)
        result["relative_high"] = p / q * factor
    return with_attrs(result, None if images is None else level, n=len(table))
