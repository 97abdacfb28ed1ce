"""Do the other targets tell more of a target than the source does? (Paper 3, Appendix N.)

Two things make other targets look better than a source that is just as good: noise in the source,
as of single trainings, which lets whatever else is related to its true quality explain more; and
that the average of several columns has less noise than one. So tests here allow for the noise of
what is held fixed, and correlations are compared column by column.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import fdtrc, stdtr

from anynet_study.analysis.apr.bootstrap import (
    Resampled,
    pairwise,
    resample,
    resample_correlations,
    stacked,
)
from anynet_study.analysis.apr.correlations import adjust
from anynet_study.analysis.apr.error_tables import FEWEST
from anynet_study.analysis.apr.fits import clip_perfect, to_scale
from anynet_study.analysis.apr.noise import first_runs, freed, reliabilities
from anynet_study.analysis.apr.options import (
    Floats,
    Method,
    Multiplicities,
    check_choice,
    with_attrs,
)
from anynet_study.analysis.apr.transfer import normalised, percent_of
from anynet_study.core.errors import DoesNotApplyError, counted
from anynet_study.core.metrics import check_level

Average = Literal["logits", "scores", "ranks"]
Ranges = Mapping[str, tuple[float, float]]
#: Why there is no average of the other targets.
NO_OTHERS = "there is no other target"
#: Correlations, of which each has an interval, and the other statistics.
CORRELATIONS = ["rho_source", "rho_others", "difference", "rho_average"]
CORRELATIONS += ["freed_source", "freed_others", "freed_difference"]
STATISTICS = [
    *(f"{name}{end}" for name in CORRELATIONS for end in ("", "_low", "_high")),
    *("r2_source", "r2_average", "r2_both", "f_average", "f_source"),
    *("p_average_noiseless", "p_source_noiseless"),
    *("p_average", "p_source", "p_average_holm", "p_source_holm"),
]
#: The scale on which targets are averaged.
AVERAGED_ON = {"logits": "logit", "scores": "linear", "ranks": "rank"}


def other_targets(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None = None,
    ranges: Ranges | None = None,
    average: Average = "logits",
    images: Mapping[str, int] | None = None,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    replicates: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return what other targets say of each target, by correlations (N.2) and nested regressions
    (N.1).

    Every column is put on the scale of `average` ("logits" as in the paper: logits standardised
    to mean 0 and variance 1; "scores": standardised as they are; "ranks": midranks), then the other
    targets are averaged for each target. `ranges` as in `transfer_fits`; `images` moves scores of
    0 and 100 in by half an image, which otherwise have no logit and are refused.

    Returns DataFrame[target, n, rho_source, rho_source_low, rho_source_high, rho_others, ...,
    difference, ..., rho_average, ..., freed_source, ..., freed_others, ..., freed_difference, ...,
    r2_source, r2_average, r2_both, f_average, f_source, p_average_noiseless,
    p_source_noiseless, p_average, p_source, p_average_holm,
    p_source_holm, note].

    `rho_others` is the mean of the correlations with each other target alone, so that one column is
    compared with one; `difference` = rho_others - rho_source, its interval from the same resamples
    of architectures (BCa, paired). `rho_average` is that of the paper, with the average of the
    other targets, in which their noise and what is their own is averaged away. Those that are
    `freed` of the noise of the source and of the other targets, as in `compare_proxies`, are known
    where `replicates` tell all of it (long: architecture, dataset, replicate, score, with the same
    datasets and units); they are of the first runs.

    R squared are those of regressions on the source, on the average and on both, F the statistics
    of the paper (1 and n - 3 degrees of freedom) of adding the average to the source, and the
    source to the average, as measured. F takes what is held fixed for free of noise: where it is
    not, F is large although nothing is there, with an ICC of the source of 0.7 in nearly all
    studies. Its p, by the distribution of F, is the paper's, and named by this assumption:
    "_noiseless".

    The other p tests whether the one goes with the target given what the other would be *without
    noise*, and is known where replicates tell that noise: p_average needs those of the source,
    p_source those of all other targets. Tested is cov(x, y) (var(z) - w) = cov(x, z) cov(y, z),
    where w is the variance within architectures of z (errors in variables: Fuller, "Measurement
    Error Models", 1987, section 1.1), of first runs, by Student's t with the jackknife's standard
    error and one degree of freedom less than there are architectures trained twice. In simulations
    0.5% to 5% were at most 0.05 where nothing is there (`benchmarks/coverage.py`). "_holm":
    corrected for all tests of the table.

    Rests on the architectures with all scores, but for columns that have none or are constant,
    which are left out and keep their row with NaN and a note.
    """
    check_level(level, resamples, seed)
    how = (source, targets, ranges, average, images)
    columns = _columns(scores, *how, None)
    found = _correlated(columns, None, method, resamples, seed)
    runs: Columns | None = None
    noise: dict[str, tuple[Floats, Floats]] = {}
    freed_of_noise: dict[str, tuple[Resampled, Resampled, Resampled]] = {}
    if replicates is not None:
        runs = _columns(scores, *how, replicates)
        noise = runs.within()
        reliable = runs.reliabilities(method, resamples, seed)
        if reliable.keys() >= {*runs.units}:
            freed_of_noise = _correlated(runs, reliable, method, resamples, seed)
    rows = []
    for target, unusable in columns.notes.items():
        row: dict[str, object] = {"target": target, "n": len(columns.units)}
        note = unusable or ("" if columns.besides(target) else NO_OTHERS)
        if not note:
            of_source, of_others, of_average = found[target]
            named = {"rho_source": of_source, "rho_others": of_others}
            named |= {"difference": of_others - of_source, "rho_average": of_average}
            if target in freed_of_noise:
                of_source, of_others, _ = freed_of_noise[target]
                named |= {"freed_source": of_source, "freed_others": of_others}
                named["freed_difference"] = of_others - of_source
            for name, resampled in named.items():
                row |= {key: value[0] for key, value in resampled.columns(level, name).items()}
            regressed = _nested(*columns.compared(target))
            row |= regressed
            note = "" if "f_source" in regressed else "explained exactly: no F-test"
        if not note and runs is not None and not runs.notes[target]:
            y, x, mean = runs.compared(target)
            row["p_average"] = _beyond(y, mean, x, [noise.get(source)])
            row["p_source"] = _beyond(y, x, mean, [noise.get(it) for it in runs.besides(target)])
        rows.append({**row, "note": note})
    result = pd.DataFrame(rows).reindex(columns=["target", "n", *STATISTICS, "note"])
    p = result[["p_average", "p_source"]].astype(np.float64)
    corrected = adjust(p.to_numpy().ravel()).reshape(p.shape)
    result["p_average_holm"], result["p_source_holm"] = corrected.T
    tests = f"the {int(p.notna().sum().sum())} tests of the table"
    return with_attrs(result, level, method, scale=AVERAGED_ON[average], tests=tests)


def _correlated(
    columns: "Columns",
    noise: Mapping[str, Resampled] | None,
    method: Method,
    resamples: int,
    seed: int,
) -> dict[str, tuple[Resampled, Resampled, Resampled]]:
    """Each target's correlations with the source, with one other (their mean) and their average.

    The first two are freed of the `noise` of columns of which that is the reliability.
    """
    units = columns.units
    usable = [name for name, why in columns.notes.items() if not why and columns.besides(name)]
    if not usable:
        return {}
    # Rounded: averages that are equal but for the order of their terms are tied.
    means = [units[columns.besides(name)].mean(axis=1).round(12) for name in usable]
    values = np.column_stack([units.to_numpy(), *means])
    place = {name: index for index, name in enumerate(units.columns)}
    proxies = [(p, t) for t in usable for p in (columns.source, *columns.besides(t))]
    pairs = [(place[proxy], place[target]) for proxy, target in proxies]
    pairs += [(len(place) + index, place[target]) for index, target in enumerate(usable)]
    drawn = resample_correlations(values, pairwise(values, pairs), method, resamples, seed)
    found, each = {}, len(columns.besides(usable[0])) + 1
    for index, target in enumerate(usable):
        one_by_one = drawn[index * each : (index + 1) * each]
        if noise is not None:
            of_each = [noise[name] for name in (columns.source, *columns.besides(target))]
            one_by_one = freed(one_by_one, stacked(of_each))
        of_average = drawn[len(proxies) + index : len(proxies) + index + 1]
        found[target] = (one_by_one[:1], one_by_one[1:].average(), of_average)
    return found


@dataclass(frozen=True)
class Columns:
    """Source and targets on the scale that targets are averaged on, each standardised."""

    source: str
    #: One row for each architecture with all scores, one column for each dataset that can be used.
    units: pd.DataFrame
    #: Why a target cannot be used; "" where it can.
    notes: dict[str, str]
    #: Single runs in the same units, long: architecture, dataset, replicate, error.
    runs: pd.DataFrame | None

    def besides(self, target: str) -> list[str]:
        """All that is neither the source nor this target."""
        return [name for name in self.units.columns if name not in (self.source, target)]

    def compared(self, target: str) -> tuple[Floats, Floats, Floats]:
        """(n,) a target, the source, and the average of the other targets."""
        others = self.units[self.besides(target)].to_numpy().mean(axis=1)
        return self.units[target].to_numpy(), self.units[self.source].to_numpy(), others

    def within(self) -> dict[str, tuple[Floats, Floats]]:
        """Sums of squares within architectures (n,) and degrees of freedom (n,), by dataset."""
        found: dict[str, tuple[Floats, Floats]] = {}
        if self.runs is not None:
            for dataset, part in self.runs.groupby("dataset"):
                errors = part.groupby("architecture")["error"]
                sums = errors.agg(["count", "var"]).reindex(self.units.index)
                freedom = np.maximum(sums["count"].fillna(0).to_numpy() - 1, 0)
                squares = freedom * sums["var"].fillna(0).to_numpy()
                if (freedom > 0).sum() > 1:
                    found[str(dataset)] = (squares, freedom)
        return found

    def reliabilities(self, method: Method, resamples: int, seed: int) -> dict[str, Resampled]:
        """Return the reliability of each column with replicates."""
        assert self.runs is not None
        return reliabilities(self.runs, self.units.index, method, resamples, seed)


def _columns(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None,
    ranges: Ranges | None,
    average: Average,
    images: Mapping[str, int] | None,
    replicates: pd.DataFrame | None,
) -> Columns:
    """The columns of those architectures that have a score on all that can be used."""
    check_choice("average", average, Average)
    names = [
        source,
        *(scores.columns.drop(source, errors="ignore") if targets is None else targets),
    ]
    runs = None
    if replicates is not None:
        runs = replicates[replicates["dataset"].isin(names)]
        runs = runs.rename(columns={"score": "error"}).reset_index(drop=True)
        scores = first_runs(runs).reindex(scores.index).reindex(columns=names)
    table = normalised(scores, source, targets, ranges)
    kinds = {0: "no value at all", 1: "one value only"}
    notes = {name: kinds.get(count, "") for name, count in table.nunique().items()}
    if notes[source]:
        raise DoesNotApplyError(f"scores: the source {source} has {notes[source]}")
    table = table[[name for name in table.columns if not notes[name]]].dropna()
    if len(table) < FEWEST:
        raise DoesNotApplyError(
            f"scores: {counted(len(table), 'architecture')} with all of "
            f"{', '.join(map(str, table.columns))}; at least {FEWEST} are needed"
        )
    constant = [name for name in table.columns if table[name].nunique() == 1]
    if source in constant:
        raise DoesNotApplyError(
            f"scores: {source} is constant over the architectures with all scores"
        )
    notes |= dict.fromkeys(constant, "constant over the architectures with all scores")
    del notes[source]
    table = table.drop(columns=constant)
    units = {name: _unit(column, average, images) for name, column in table.items()}
    on_scale = pd.DataFrame({name: unit(table[name].to_numpy()) for name, unit in units.items()})
    if runs is not None:
        kept = runs["dataset"].isin(units) & runs["architecture"].isin(table.index)
        runs = runs[kept & runs["error"].notna()].copy()
        for name, part in runs.groupby("dataset"):
            percent = percent_of(part["error"].rename(name), (ranges or {}).get(name))
            runs.loc[part.index, "error"] = units[name](percent)
    return Columns(source, on_scale.set_index(table.index), notes, runs)


def _unit(
    column: pd.Series, average: Average, images: Mapping[str, int] | None
) -> Callable[[Floats], Floats]:
    """From percent to the scale, in standard deviations of the column from its mean."""
    known, name = np.sort(column.to_numpy()), column.name

    def on_scale(percent: Floats) -> Floats:
        if average == "ranks":
            places = [np.searchsorted(known, percent, side) for side in ("left", "right")]
            mean: Floats = np.mean(places, axis=0)
            return mean
        if average == "scores":
            return percent
        if images is not None and name in images:
            percent = clip_perfect(percent, images[name])
        elif ((percent <= 0) | (percent >= 100)).any():
            raise DoesNotApplyError(
                f"scores: {name} has a score at an end of its range, which has no logit; "
                "give its number of test images (images=..., --images NAME=COUNT), or take "
                "average='scores'"
            )
        return to_scale(percent, "logit")

    values = on_scale(column.to_numpy())
    mean, deviation = values.mean(), values.std(ddof=1)
    return lambda percent: (on_scale(percent) - mean) / deviation


def _nested(y: Floats, source: Floats, average: Floats) -> dict[str, float]:
    """R squared of the three regressions, and F of each predictor beyond the other, with its p."""
    total = ((y - y.mean()) ** 2).sum()
    left = {}
    models = {"source": [source], "average": [average], "both": [source, average]}
    for name, predictors in models.items():
        design = np.column_stack([np.ones(len(y)), *predictors])
        weights = np.linalg.lstsq(design, y, rcond=None)[0]
        left[name] = float(((y - design @ weights) ** 2).sum())
    row = {f"r2_{name}": float(1 - squares / total) for name, squares in left.items()}
    if left["both"] <= 1e-12 * total:  # rounding, not residuals
        return row
    for added, kept in (("average", "source"), ("source", "average")):
        gain = max(left[kept] - left["both"], 0.0)
        row[f"f_{added}"] = float(gain / (left["both"] / (len(y) - 3)))
        row[f"p_{added}_noiseless"] = float(fdtrc(1, len(y) - 3, row[f"f_{added}"]))
    return row


def _beyond(
    y: Floats, x: Floats, z: Floats, noise: Sequence[tuple[Floats, Floats] | None]
) -> float:
    """p of x going with y (n,) given what z would be without the noise of the columns it is of.

    z is the mean of columns, each with its squares within architectures and their freedom (n,);
    NaN where those of one are not known.
    """
    known = [sums for sums in noise if sums is not None]
    if len(known) < len(noise):
        return np.nan
    products = np.column_stack([x, y, z, x * y, z * z, x * z, y * z])
    sums = np.column_stack([part for pair in known for part in pair])

    def statistic(counts: Multiplicities) -> Floats:
        size = counts.sum(axis=1)
        mx, my, mz, xy, zz, xz, yz = (counts @ products / size[:, None]).T
        within = counts @ sums
        w = (within[:, ::2] / within[:, 1::2]).sum(axis=1) / len(known) ** 2
        w *= (size - 1) / size  # of variances over n
        found: Floats = (xy - mx * my) * (zz - mz**2 - w) - (xz - mx * mz) * (yz - my * mz)
        return found[:, None]

    found = resample(statistic, len(y), 0, 0)
    left_out = found.jackknife[0]
    error = np.sqrt((len(left_out) - 1) * left_out.var())
    freedom = min(int((part[1] > 0).sum()) for part in known) - 1
    return float(2 * stdtr(freedom, -abs(found.estimate[0]) / error)) if error > 0 else np.nan
