"""Does a change of training change the ranking of the architectures?

Paper 1 asks it of longer training and another stem (section 6.1.1, Figure A1), of the number of
epochs (6.1.2, A2), of top-1 against top-5 error (6.1.4, A4), of balanced classes (6.1.6, A5) and of
pretraining (6.2.1, A6).
"""

import numpy as np
import pandas as pd
from scipy.special import ndtri

from anynet_study.analysis.apr.bootstrap import (
    FEWEST_TO_RESAMPLE,
    complete_in,
    pairwise,
    resample_correlations,
    resampled_mean,
)
from anynet_study.analysis.apr.correlations import correlate_pairs, p_values
from anynet_study.analysis.apr.error_tables import check_columns, check_errors, check_long
from anynet_study.analysis.apr.noise import free_of_noise
from anynet_study.analysis.apr.options import Floats, Method, with_attrs
from anynet_study.analysis.apr.rank_preservation import ordered_pairs
from anynet_study.analysis.apr.simultaneous import MOST, bonferroni
from anynet_study.analysis.apr.verdicts import family_of, verdict
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import binomial_interval, check_level

RESULT = [
    *("dataset", "epoch", "epochs", "share", "estimate", "low", "high", "n"),
    *("kept", "kept_low", "kept_high", "kept_n"),
]
#: What a budget is told by: the end of another training, or of the same one.
ANOTHER_RUN, SAME_RUN = "another run", "the same run"
#: Fewer architectures with two runs leave what is kept too uncertain to choose a length by.
FEWEST_TWICE = 30


def agreement(
    before: pd.DataFrame,
    after: pd.DataFrame,
    source: str | None = None,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Tell how far two tables of errors agree on the architectures and datasets that both have.

    Returns DataFrame[dataset, estimate, low, high, p, swapped, mean_before, mean_after, change,
    change_low, change_high, improved, improved_low, improved_high, most_err_less, alike_low,
    alike_high, n]: `estimate` is the correlation of the errors before and after; `swapped` the
    share of pairs of architectures whose order is reversed, of those that are tied in neither;
    `change` = mean after - mean before in percentage points, so
    that below 0 is better; `improved` the share of architectures that err less, with its exact
    binomial interval; `most_err_less` the verdict on whether that is more than half: a mean can
    hang on a few architectures that newly diverge, of which a sample may have none. alike_low to
    alike_high is the interval of the correlation without the noise of training, which nothing tells
    here, so that it is open above 0 (`free_of_noise`). The last four hold together for all
    datasets, which are one family (`verdicts`). With
    `source`, a dataset of `before`, also source_before, source_after and source_difference, each
    with _low and _high, and source_n: the correlations of the errors on every other dataset with
    those on the source, by how much they differ, and the architectures with all three errors.

    n counts the architectures with both errors; statistics are NaN where n < 4, and correlations
    where a column is constant. Intervals are BCa bootstrap intervals; those of differences are
    paired. Rename the columns to compare datasets of other names, such as one with its balanced
    version. Raises UserError where the tables share no dataset, fewer than 4 architectures, or
    `source` is not in `before`.
    """
    check_level(level, resamples, seed)
    tables = check_errors(before, fewest=0), check_errors(after, fewest=0)
    shared = [name for name in tables[0].columns if name in tables[1].columns]
    rows = list(tables[0].index[tables[0].index.isin(tables[1].index)])
    if not shared or len(rows) < 4:
        raise DoesNotApplyError(
            f"errors: the two tables share {len(shared)} datasets and {len(rows)} architectures; "
            "at least 1 and 4 are needed"
        )
    check_columns(tables[0], [source] if source else [], "the table before")
    first, second = (table.loc[rows] for table in tables)
    results = []
    for dataset in shared:
        columns = [first[dataset], second[dataset]]
        columns += [first[source]] if source not in (None, dataset) else []
        found = _compare(np.column_stack(columns), method, resamples, seed, level, len(shared))
        results.append(found.assign(dataset=dataset))
    result = pd.concat(results, ignore_index=True)
    result.insert(0, "dataset", result.pop("dataset"))
    return with_attrs(result, level, method, family=family_of(len(shared), "dataset"))


def _compare(
    values: Floats, method: Method, resamples: int, seed: int, level: float, asked: int
) -> pd.DataFrame:
    """One row of `agreement`, of columns before and after, and perhaps the source's."""
    columns = [(0, 1), (2, 0), (2, 1)][: 1 if values.shape[1] == 2 else 3]
    compared = complete_in(values, columns, [(0, 1), (0, 1, 2), (0, 1, 2)][: len(columns)])
    pairs, n = compared.enough(), int(compared.counts[0])
    both = values[~np.isnan(values[:, :2]).any(axis=1)]
    known = both if n >= 4 else both[:0]
    correlated = resample_correlations(values, pairs, method, resamples, seed)
    before, after = known[:, 0], known[:, 1]
    same, swapped = ordered_pairs((before, before), (after, after))
    change, together = resampled_mean(after - before, resamples, seed), bonferroni(level, asked)
    improved = float((after < before).mean()) if len(known) else np.nan
    less = binomial_interval(np.array([100 * improved]), np.array([len(known) or np.nan]), together)
    unknown, alike = np.full((1, 2), np.nan), correlated[:1].interval(together)
    alike = free_of_noise(correlated.estimate[:1], alike, unknown, unknown)
    row = {
        **correlated[:1].columns(level),
        "p": p_values(values, pairs, correlated.estimate, method)[0],
        "swapped": swapped / (same + swapped) if same + swapped else np.nan,
        "mean_before": float(before.mean()) if len(known) else np.nan,
        "mean_after": float(after.mean()) if len(known) else np.nan,
        **change.columns(level, "change"),
        "improved": improved,
        "improved_low": less[0] / 100,
        "improved_high": less[1] / 100,
        "most_err_less": verdict(less[0] / 100, less[1] / 100, 0.5),
        "alike_low": alike[0],
        "alike_high": alike[1],
        "n": n,
    }
    if len(columns) > 1:
        old, new = correlated[1:2], correlated[2:3]
        row |= old.columns(level, "source_before") | new.columns(level, "source_after")
        row |= (new - old).columns(level, "source_difference") | {"source_n": compared.counts[1]}
    return pd.DataFrame(row)


def duration(
    curves: pd.DataFrame,
    replicates: pd.DataFrame | None = None,
    method: Method = "spearman",
    resamples: int = 1_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Correlation of the errors after every epoch with those after the last, for each dataset.

    `curves` is long: dataset, architecture, epoch (from 1), error (percent; NaN is left out), one
    row per run and epoch. Returns DataFrame[dataset, epoch, epochs, share, estimate, low, high, n,
    kept, kept_low, kept_high, kept_n]: `epochs` is the dataset's last and `share` the part of the
    training that is over; n counts the architectures with an error after the epoch and after the
    last. NaN where n < 4 or all err alike.

    `estimate` is within runs: the noise of a run is in both of its errors, which makes them agree
    more than those of two runs would. `kept` is free of that. It is the correlation with the last
    error of another run, over that of the whole training with it: 1 at the end, and what a ranking
    after the epoch tells of another training, as a share of what the final ranking does. The other
    run is the second of the architecture's `replicates` (long: architecture, dataset, replicate,
    error), the first being that of `curves`; kept_n counts those with both. NaN below 10 of them,
    or where the two runs are not correlated above 0. All intervals are BCa intervals; the last
    errors correlate with themselves by 1, of which nothing is uncertain.
    """
    check_level(level, resamples, seed)
    runs = check_long(curves, ["dataset", "architecture", "epoch"], "curves")
    again = _second_runs(replicates)
    parts = [pd.DataFrame(columns=RESULT)] if runs.empty else []
    for dataset, part in runs.groupby("dataset", sort=False):
        wide = part.pivot(index="architecture", columns="epoch", values="error")
        # Not all epochs need end with a test; the last one does.
        wide = wide.loc[:, wide.notna().any() | (wide.columns == wide.columns[-1])]
        values = check_errors(wide, fewest=0).to_numpy()
        last = values.shape[1] - 1
        pairs = pairwise(values, [(epoch, last) for epoch in range(last + 1)])
        table = correlate_pairs(values, pairs, method, resamples, seed, level)
        table.loc[last, ["low", "high"]] = table.loc[last, "estimate"]
        other = again.loc[again["dataset"] == dataset].set_index("architecture")["error"]
        table = table.join(
            _kept(values, other.reindex(wide.index).to_numpy(float), method, resamples, seed, level)
        )
        epochs = wide.columns.to_numpy()
        row = {"dataset": dataset, "epoch": epochs, "epochs": epochs[-1]}
        parts.append(table.assign(**row, share=epochs / epochs[-1]))
    result = pd.concat(parts)[RESULT].reset_index(drop=True)
    return with_attrs(result, level, method)


def _second_runs(replicates: pd.DataFrame | None) -> pd.DataFrame:
    """DataFrame[architecture, dataset, error] of the second run of each with an error."""
    keys = ["architecture", "dataset"]
    if replicates is None:
        return pd.DataFrame(columns=[*keys, "error"])
    runs = check_long(replicates, [*keys, "replicate"], "replicates").dropna()
    runs = runs.sort_values("replicate", kind="stable")
    return runs[runs.groupby(keys, observed=True).cumcount() == 1]


def _kept(
    values: Floats, other: Floats, method: Method, resamples: int, seed: int, level: float
) -> pd.DataFrame:
    """DataFrame[kept, kept_low, kept_high, kept_n] of errors (n, epochs), and other runs' (n,)."""
    epochs = values.shape[1]
    both = np.column_stack([values, other])
    pairs = pairwise(both, [(epoch, epochs) for epoch in range(epochs)])
    enough = pairs.counts >= FEWEST_TO_RESAMPLE
    if not enough[-1]:
        return pd.DataFrame({"kept": np.full(epochs, np.nan), "kept_n": pairs.counts}).assign(
            kept_low=np.nan, kept_high=np.nan
        )
    found = resample_correlations(both, pairs.enough(), method, resamples, seed)

    def share(correlation: Floats, whole: Floats) -> Floats:
        return correlation / np.where(whole > 0, whole, np.nan)

    ends = found.combined(share, found[epochs - 1 :]).columns(level, "kept")
    known = {name: np.where(enough, values, np.nan) for name, values in ends.items()}
    return pd.DataFrame({**known, "kept_n": pairs.counts})


def cheapest_budget(table: pd.DataFrame, keep: float = 0.95) -> pd.DataFrame:
    """The fewest epochs that keep the ranking: from there on at least `keep` of it.

    `table` is a result of `duration`. Returns DataFrame[dataset, keep, against, epoch, epochs,
    share, estimate, low, high, epoch_sure, low_sure, n]: `epoch` is the first after which every
    estimate up to the last epoch is at least `keep`, with the estimate there and its interval;
    `epoch_sure` the first after which every lower end is, of intervals that hold together for all
    datasets (those of the table, stretched as `simultaneous` does), and `low_sure` the lowest of
    these ends; at the latest it is the last. Estimates are those `kept` of datasets with 30
    architectures or more that were trained twice ("another run" in `against`), else the
    correlations within runs ("the same run").
    """
    if not 0 < keep <= 1:
        raise UserError(f"keep: {keep} is not a correlation above 0, at most 1")
    rows = []
    level, asked = table.attrs.get("level", 0.95), table["dataset"].nunique()
    farther = ndtri((1 + bonferroni(level, asked)) / 2) / ndtri((1 + level) / 2)
    for dataset, part in table.groupby("dataset", sort=False):
        rising = part.sort_values("epoch").reset_index(drop=True)
        across = kept_is_sure(rising)
        if across:
            names = ["estimate", "low", "high", "n"]
            rising[names] = rising[["kept", "kept_low", "kept_high", "kept_n"]].to_numpy()
        first = _from_where(rising["estimate"] >= keep - 1e-12)
        lows = rising["estimate"] - farther * (rising["estimate"] - rising["low"])
        if not across:  # correlations, on Fisher's scale
            scaled = np.arctanh(rising[["estimate", "low"]].clip(-MOST, MOST))
            lows = np.tanh(scaled["estimate"] - farther * (scaled["estimate"] - scaled["low"]))
        lows = lows.where(rising["low"] < 1, 1.0)  # the last errors are themselves
        sure = _from_where(lows >= keep - 1e-12)
        found = rising.iloc[first]
        row = {"dataset": dataset, "keep": keep, "against": ANOTHER_RUN if across else SAME_RUN}
        row |= found[["epoch", "epochs", "share", "estimate", "low", "high"]].to_dict()
        # Where no earlier epoch is sure, what the one before the last falls short by.
        since = lows.iloc[min(sure, max(len(lows) - 2, 0)) : -1]
        row |= {"epoch_sure": rising["epoch"].iloc[sure], "low_sure": since.min()}
        rows.append(row | {"n": int(found["n"])})
    result = pd.DataFrame(rows)
    result.attrs = dict(table.attrs)
    return result


def kept_is_sure(rows: pd.DataFrame) -> bool:
    """Tell whether enough architectures of a dataset were trained twice; `rows` of `duration`."""
    return bool((rows["kept_n"] >= FEWEST_TWICE).any() and rows["kept"].notna().any())


def _from_where(held: pd.Series) -> int:
    """First position from which all hold up to the end; the last one at the latest."""
    failed = np.flatnonzero(~held.to_numpy()[:-1])
    return int(failed[-1]) + 1 if len(failed) else 0
