"""Does progress on a source dataset carry over to targets?

Fang et al. 2023 (paper 3), section 4 and Appendix N: lines through all models and through the
better ones only, as a trend that weak models make may end where current models are; and whether the
other targets tell more of a target than the source does. Salaudeen and Hardt 2024 (paper 4, Figures
1b and 8b): accuracies of different datasets cannot be compared, but what each model gains over the
same early model can.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from scipy.special import fdtrc, ndtri

from anynet_study.apr.bootstrap import pairwise, resample_correlations
from anynet_study.apr.correlations import adjust
from anynet_study.apr.error_tables import FEWEST, check_accuracies, check_columns, check_errors
from anynet_study.apr.fits import Scale, clip_perfect, linear_fit, to_scale
from anynet_study.apr.gaps import image_count
from anynet_study.apr.options import Floats, Method, check_choice, check_level, with_attrs
from anynet_study.errors import UserError

#: Statistics of a fit that have an interval.
ESTIMATES = ("correlation", "slope", "intercept", "r2", "adjusted_r2")
ENDS = tuple(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high"))
Average = Literal["logits", "scores", "ranks"]
#: Why there is no average of the other targets.
NO_OTHERS = "there is no other target"
#: The scale on which targets are averaged.
AVERAGED_ON = {"logits": "logit", "scores": "linear", "ranks": "rank"}


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
) -> pd.DataFrame:
    """Linear fits of each target on the source, of all models and of those above a threshold.

    `scores` has one row per architecture and one column per dataset; more is better, in any metric.
    `ranges` gives the (worst, best) value of each metric that is not in percent, such as (0, 1) for
    an F1 score; all scores are brought to 0 to 100 first, so that slopes of different metrics can
    be compared (the normalised slope of the paper's Table 2). `above` is a score on the source, in
    its own unit; targets are by default all other columns.

    Returns DataFrame[target, models ("all" or "above 70"), n, correlation, slope, slope_low,
    slope_high, intercept, ..., r2, ..., adjusted_r2, ..., excluded, note]: Pearson's correlation on
    the scale, and the fit as in `linear_fit`. Where there is no fit (fewer than 4 models, a
    constant column) its numbers are NaN and `note` says why.
    """
    check_choice("scale", scale, Scale)
    check_level(level, resamples, seed)
    table = normalised(scores, source, targets, ranges)
    groups = {"all": table[source].notna()}
    if above is not None:
        groups[f"above {above:g}"] = check_errors(scores, 0, "scores")[source] > above
    rows = []
    for target in table.columns.drop(source):
        for models, chosen in groups.items():
            both = table.loc[chosen, [source, target]].dropna()
            row: dict[str, object] = {"target": target, "models": models, "n": len(both)}
            row |= fit_row(both[source], both[target], scale, resamples, seed, level)
            rows.append(row)
    columns = ["target", "models", "n", *ENDS, "excluded", "note"]
    result = pd.DataFrame(rows).reindex(columns=columns)
    return with_attrs(result, level, "pearson", scale=scale)


def covariate_fits(
    scores: pd.DataFrame,
    covariate: pd.Series,
    groups: Mapping[str, pd.Series],
    ranges: Mapping[str, tuple[float, float]] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Linear fits of each column on the logarithm of a covariate, such as the number of parameters.

    `scores` and `ranges` as in `transfer_fits`; `covariate` is positive, `groups` says by name
    which architectures (bool) each fit is of (paper 3, Figure 9: all, and those above an accuracy
    on the source). Returns DataFrame[target, models, n, correlation, ..., slope, ..., note]; the
    slope is in points for a tenfold covariate. Raises UserError for a covariate that is not
    positive.
    """
    check_level(level, resamples, seed)
    first, *others = scores.columns
    table = normalised(scores, first, others, ranges) if others else check_errors(scores, 0)
    values = covariate.reindex(table.index).astype(float)
    if not (values.dropna() > 0).all():
        raise UserError(f"covariate: {covariate.name} has values that are not above 0")
    rows = []
    for target in table.columns:
        for models, chosen in groups.items():
            both = pd.DataFrame({"x": np.log10(values), "y": table[target]})
            both = both[chosen.reindex(both.index, fill_value=False)].dropna()
            row: dict[str, object] = {"target": target, "models": models, "n": len(both)}
            rows.append(row | fit_row(both["x"], both["y"], "linear", resamples, seed, level))
    columns = ["target", "models", "n", *ENDS, "excluded", "note"]
    return with_attrs(pd.DataFrame(rows).reindex(columns=columns), level, "pearson", scale="linear")


def fit_row(
    x: pd.Series,
    y: pd.Series,
    scale: Scale,
    resamples: int,
    seed: int,
    level: float,
) -> dict[str, object]:
    """A `linear_fit` as a row of a table; of no fit only a `note` that says why, "" otherwise."""
    try:
        fit = linear_fit(x, y, scale, resamples, seed, level)
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
    table = check_errors(scores[[source, *names]], 0, "scores")
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
        raise UserError(f"baseline: no architecture {baseline} in the accuracies")
    base = table.loc[baseline]
    if not (base > 0).all():
        where = base.index[~(base > 0)][0]
        raise UserError(f"baseline: {baseline} has no accuracy above 0 on {where}")
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


def improvement_fits(
    accuracies: pd.DataFrame,
    reference: str,
    baseline: str,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Linear fits of every dataset's relative improvements on the reference dataset's.

    Returns DataFrame[dataset, n, correlation, slope, slope_low, slope_high, intercept, ..., r2,
    ..., adjusted_r2, ..., note], fits as in `transfer_fits`. Raises UserError as
    `relative_improvement` does.
    """
    check_level(level, resamples, seed)
    check_columns(accuracies, [reference], "accuracies")
    long = relative_improvement(accuracies, baseline)
    relative = long.pivot(index="architecture", columns="dataset", values="relative")
    rows = []
    for name in accuracies.columns.drop(reference):
        both = relative[[reference, name]].dropna()
        row = fit_row(both[reference], both[name], "linear", resamples, seed, level)
        rows.append({"dataset": name, "n": len(both), **row})
    result = pd.DataFrame(rows).reindex(columns=["dataset", "n", *ENDS, "note"])
    return with_attrs(result, level, "pearson", scale="linear")


def explained_beyond(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    average: Average = "logits",
    images: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """F-tests of nested models: the source, the other targets' average, and both (Appendix N.1).

    Every column is put on the scale of `average` ("logits" as in the paper: logits standardised
    to mean 0 and variance 1; "scores": standardised as they are; "ranks": midranks), then the other
    targets are averaged for each target. `ranges` as in `transfer_fits`; `images` moves scores of
    0 and 100 in by half an image, which otherwise have no logit and are refused.

    Returns DataFrame[target, n, r2_source, r2_average, r2_both, f_average, p_average, f_source,
    p_source, p_average_holm, p_source_holm, note]: R squared of the three regressions, the F
    statistic (1 and n - 3 degrees of freedom) and p-value of adding the average to the source, and
    of adding the source to the average, and the p-values corrected for all of the table (Holm).
    Noise in the source, which an average of several targets has less of, lets the average explain
    more where nothing is there: p_average says nothing of the source without that noise. Rests on
    the architectures with all scores, but for columns that have none or are constant, which are
    left out and keep their row with NaN and a note.
    """
    table, notes = _complete(scores, source, targets, ranges)
    units = _on(table, average, images)
    rows = []
    for target in notes:
        row: dict[str, object] = {"target": target, "n": len(units)}
        others = [name for name in units.columns if name not in (source, target)]
        note = notes[target] or ("" if others else NO_OTHERS)
        if not note:
            mean = units[others].mean(axis=1)
            row |= _nested(*(unit.to_numpy() for unit in (units[target], units[source], mean)))
            note = "" if "p_source" in row else "explained exactly: no F-test"
        rows.append({**row, "note": note})
    names = [f"r2_{name}" for name in ("source", "average", "both")]
    names += [f"{kind}_{name}" for name in ("average", "source") for kind in ("f", "p")]
    result = pd.DataFrame(rows).reindex(columns=["target", "n", *names])
    p = result[["p_average", "p_source"]].astype(np.float64)
    corrected = adjust(p.to_numpy().ravel()).reshape(p.shape)
    result["p_average_holm"], result["p_source_holm"] = corrected.T
    result["note"] = [row["note"] for row in rows]
    return with_attrs(result, scale=AVERAGED_ON[average])


def other_targets(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    average: Average = "logits",
    images: Mapping[str, int] | None = None,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Each target's correlation with the source and with the other targets' average (N.2).

    Columns and averages as in `explained_beyond`. Returns DataFrame[target, n, rho_source,
    rho_source_low, rho_source_high, rho_average, ..., difference, ..., note]; difference = average
    - source, its interval from the same resamples of architectures (BCa, paired).
    """
    check_level(level, resamples, seed)
    table, notes = _complete(scores, source, targets, ranges)
    units = _on(table, average, images)
    kept = [name for name in units.columns if name != source]
    usable = [name for name in notes if not notes[name] and len(kept) > 1]
    result = pd.DataFrame({"target": [*notes], "n": len(units)})
    if usable:
        # Rounded: averages that are equal but for the order of their terms are tied.
        means = {
            f"{n} average": units[[o for o in kept if o != n]].mean(axis=1).round(12)
            for n in usable
        }
        columns = units[[source, *usable]].join(pd.DataFrame(means, index=units.index)).to_numpy()
        count = len(usable)
        pairs = [(0, 1 + i) for i in range(count)] + [(1 + count + i, 1 + i) for i in range(count)]
        drawn = resample_correlations(columns, pairwise(columns, pairs), method, resamples, seed)
        of_source, of_average = drawn[:count], drawn[count:]
        found = {
            **of_source.columns(level, "rho_source"),
            **of_average.columns(level, "rho_average"),
            **(of_average - of_source).columns(level, "difference"),
        }
        result = result.join(pd.DataFrame(found, index=usable), on="target")
    result["note"] = [notes[name] or ("" if kept[1:] else NO_OTHERS) for name in notes]
    return with_attrs(result, level, method, scale=AVERAGED_ON[average])


def _complete(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None,
    ranges: Mapping[str, tuple[float, float]] | None,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Architectures with all scores on the usable columns, and a note on each target ("": used)."""
    table = normalised(scores, source, targets, ranges)
    kinds = {0: "no value at all", 1: "one value only"}
    notes = {name: kinds.get(count, "") for name, count in table.nunique().items()}
    if notes[source]:
        raise UserError(f"scores: the source {source} has {notes[source]}")
    table = table[[name for name in table.columns if not notes[name]]].dropna()
    if len(table) < FEWEST:
        raise UserError(
            f"scores: {len(table)} architectures have all of {', '.join(map(str, table.columns))}; "
            f"at least {FEWEST} are needed"
        )
    constant = [name for name in table.columns if table[name].nunique() == 1]
    if source in constant:
        raise UserError(f"scores: {source} is constant over the architectures with all scores")
    notes |= dict.fromkeys(constant, "constant over the architectures with all scores")
    return table.drop(columns=constant), {n: note for n, note in notes.items() if n != source}


def _on(table: pd.DataFrame, average: Average, images: Mapping[str, int] | None) -> pd.DataFrame:
    """The columns, standardised, on the scale that targets are averaged on."""
    check_choice("average", average, Average)
    columns = {}
    for name, column in table.items():
        values = column.to_numpy()
        if average == "ranks":
            values = scipy.stats.rankdata(values)
        elif average == "logits":
            if images is not None and name in images:
                values = clip_perfect(values, images[name])
            elif ((values <= 0) | (values >= 100)).any():
                raise UserError(
                    f"scores: {name} has a score at an end of its range, which has no logit; "
                    "give its number of test images (images=..., --images NAME=COUNT), or take "
                    "average='scores'"
                )
            values = to_scale(values, "logit")
        columns[name] = (values - values.mean()) / values.std(ddof=1)
    return pd.DataFrame(columns, index=table.index)


def _nested(y: Floats, source: Floats, average: Floats) -> dict[str, float]:
    """R squared of the three regressions, and F-tests of each predictor beyond the other."""
    total = ((y - y.mean()) ** 2).sum()
    left = {}
    models = {"source": [source], "average": [average], "both": [source, average]}
    for name, predictors in models.items():
        design = np.column_stack([np.ones(len(y)), *predictors])
        weights = np.linalg.lstsq(design, y, rcond=None)[0]
        left[name] = float(((y - design @ weights) ** 2).sum())
    row = {f"r2_{name}": float(1 - squares / total) for name, squares in left.items()}
    freedom = len(y) - 3
    if left["both"] <= 1e-12 * total:  # rounding, not residuals
        return row
    for added, kept in (("average", "source"), ("source", "average")):
        gain = max(left[kept] - left["both"], 0.0)
        row[f"f_{added}"] = float(gain / (left["both"] / freedom))
        row[f"p_{added}"] = float(fdtrc(1, freedom, row[f"f_{added}"]))
    return row
