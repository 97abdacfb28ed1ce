"""What the columns of numbers in a table with a row per model are: datasets, descriptions, unclear.

The evidence, in this order: values that no accuracy has; what a column is of others (their mean,
their ranks); how its values lie beside those of columns that surely are accuracies (range, spread,
whole numbers, correlation of ranks); and words of its name last. What stays unclear is asked once,
of all columns together, with options that can be pasted.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, listed, some_of
from anynet_study.core.sheets import Sheet, normal_form, quoted, words_of
from anynet_study.store.importing.options import ImportOptions
from anynet_study.store.importing.roles import Roles
from anynet_study.store.importing.words import (
    HARMONIC,
    OF_DATASETS,
    SUMMARIES,
    WEIGHTS,
    Called,
    Quantity,
    said_by,
    several_of,
)

#: Percent by which a printed mean may differ from the mean of printed values.
ROUNDED = 0.06
#: A median error above the first, where those of all others are below the second.
FAR, NEAR = 95.0, 50.0
#: Models from which ranks, means of some datasets, repeated values and correlations are told from
#: chance.
FEWEST_OF_RANKS, FEWEST_OF_MEANS, FEWEST_OF_FEW, FEWEST_OF_RHO = 5, 3, 12, 6
#: A correlation with the others at which a column runs against them, agrees, and agrees closely.
AGAINST, AGREES, CLOSELY = -0.85, 0.3, 0.6
#: What people write for runs that failed.
OF_FAILED = (-1, -9, -99, -999, -9999, 999, 9999, 99999)


@dataclass(frozen=True)
class Verdict:
    """What a column is, and the evidence, where it has to be told."""

    kind: Literal["dataset", "description", "unclear"]
    why: str = ""


class _Columns:
    """Columns of numbers, and what is compared of their values: arrays (columns,)."""

    def __init__(
        self,
        frame: pd.DataFrame,
        top: float,
        declared: Collection[str],
        quantity: Quantity | None,
    ) -> None:
        """Compare the columns of a table (models, columns); see `verdicts`."""
        self.top, self.quantity = top, quantity
        self.called = [Called.of(name) for name in frame]
        #: What their names say: accuracy, description, partly a description, or "".
        forms = {normal_form(name) for name in frame if name}
        self.words = [one.kind(forms) for one in self.called]
        #: How many values are known, the share of them that is legal, and whether all others are
        #: marks of runs that failed.
        legal, self.known = (frame >= 0) & (frame <= top), frame.notna().sum().to_numpy()
        self.inside = legal.sum().to_numpy() / np.maximum(self.known, 1)
        self.marked = (legal | frame.isna() | frame.isin(OF_FAILED)).all().to_numpy()
        self.median, self.largest = frame.median().to_numpy(), frame.max().to_numpy()
        self.spread, self.distinct = frame.std(ddof=0).to_numpy(), frame.nunique().to_numpy()
        self.whole = ((frame % 1 == 0) | frame.isna()).all().to_numpy()
        #: Those that surely are accuracies, or if there are none are likely to be; and the
        #: correlation of each with the mean of these, by ranks; NaN where it is not known.
        told = np.array([name in declared for name in frame])
        sure = told | [word == "accuracy" for word in self.words]
        likely = np.array([word in ("", "partly") for word in self.words]) & (self.inside == 1)
        self.beside = sure if sure.any() else likely
        self.rho = _correlations(frame, self.beside)
        #: What each is of others in every row; "" nothing.
        means = np.array([bool(one.words & SUMMARIES) for one in self.called]) & (self.inside == 1)
        self.derived = _derived(frame.to_numpy().T, sure | likely | means, top)


def _correlations(frame: pd.DataFrame, beside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of each column with the mean of the others that are `beside` it, by ranks."""
    ranks = frame.rank(pct=True)
    some = ranks.loc[:, beside]
    own = ranks.where(np.broadcast_to(beside, ranks.shape))
    count = -own.notna().sub(some.notna().sum(axis=1), axis=0)
    mean = -own.fillna(0).sub(some.sum(axis=1), axis=0) / count.where(count > 0)
    mean = mean.where(ranks.notna())
    ranks = ranks.where(mean.notna())
    few = (ranks.notna().sum() < FEWEST_OF_RHO) | (ranks.max() == ranks.min())
    few |= mean.max() - mean.min() == 0
    mine, other = ranks - ranks.mean(), mean - mean.mean()
    size = np.sqrt((mine**2).sum() * (other**2).sum())
    return np.asarray((mine * other).sum() / size.where(~few))


def verdicts(
    frame: pd.DataFrame, top: float, declared: Collection[str], quantity: Quantity | None
) -> dict[str, Verdict]:
    """Return what each column of numbers (models, columns) is; those `declared` are datasets.

    `top` is the highest value that there can be; `quantity` what values are, where it is said.
    """
    columns = _Columns(frame, top, declared, quantity)
    return {
        name: Verdict("dataset") if name in declared else _verdict(columns, place)
        for place, name in enumerate(frame)
    }


def _verdict(of: _Columns, place: int) -> Verdict:
    """What one column is."""
    others = of.beside & (np.arange(len(of.called)) != place)
    word, derived, alone = of.words[place], of.derived[place], not others.any()
    failed = bool(of.marked[place] and of.inside[place] < 1)
    least = 1.0 if word == "partly" and not failed else 0.5
    if word == "description" or (not alone and of.inside[place] < least):
        return Verdict("description", derived)
    if derived:
        return Verdict("description" if _is_summary(of, place) else "unclear", derived)
    verdict = Verdict("dataset")  # a value outside is refused by its row
    if word != "accuracy" and not alone and not failed:
        verdict = _by_values(of, place, others)
    if verdict.kind == "dataset" and of.rho[place] <= AGAINST and others.sum() > 1:
        why = f"ranks models the other way round than the others (correlation {of.rho[place]:.2f})"
        return Verdict("dataset", f"{why}: an error among accuracies? --error-columns")
    return verdict


def _is_summary(of: _Columns, place: int) -> bool:
    return bool(of.called[place].words & (SUMMARIES | HARMONIC))


def _by_values(of: _Columns, place: int, others: NDArray[np.bool_]) -> Verdict:
    """What a column is that nothing else says, by its values beside those of others."""
    weak = of.words[place] == "partly"
    if of.inside[place] < 1:
        return Verdict("unclear", f"has values outside 0 to {of.top:g}")
    like = _is_like(of, place, others)
    if not like and (why := _against(of, place, others)):
        return Verdict("description" if weak else "unclear", why)
    if _is_summary(of, place):
        return Verdict("description", "called a mean")
    if like or {*words_of(of.called[place].name)} & OF_DATASETS:
        return Verdict("dataset")
    if weak:
        far = of.largest[place] < of.median[others].min() / 3
        why = "called like a description, and its values do not decide"
        return Verdict("description" if far else "unclear", why)
    if of.words[int(others.argmax())] == "accuracy":
        return Verdict("unclear", "no word says accuracy, as in others")
    return Verdict("dataset")


def _is_like(of: _Columns, place: int, others: NDArray[np.bool_]) -> bool:
    """Tell whether values lie, spread and rank models as those of columns that are accuracies
    do.
    """
    low, high = of.median[others].min(), of.median[others].max()
    coarse = _is_coarse(of, place, others)  # as depths and counts are
    low, high = (0.5 * low, 2.5 * high) if coarse else (0.2 * low, max(2 * high, of.top / 2))
    return bool(
        low <= of.median[place] <= high
        and not _is_wide(of, place, others)
        and not of.rho[place] < AGREES
        and 2 * of.distinct[place] > min(of.known[place], of.distinct[others].min())
    )


def _is_coarse(of: _Columns, place: int, others: NDArray[np.bool_]) -> bool:
    """Tell whether a column holds whole numbers, and most others do not."""
    return bool(of.whole[place]) and bool(of.whole[others].mean() < 0.5)


def _is_wide(of: _Columns, place: int, others: NDArray[np.bool_]) -> bool:
    """Tell whether the values of a column spread far more than those of any other."""
    return bool(of.spread[place] > 4 * of.spread[others].max() + 1e-9)


def _against(of: _Columns, place: int, others: NDArray[np.bool_]) -> str:
    """Why a column may be no dataset; "" where nothing speaks against it."""
    errors = 100 * (of.top - of.median if of.quantity == "accuracy" else of.median) / of.top
    if errors[place] > FAR and errors[others].max() < NEAR:
        told = f"its median error would be {errors[place]:.4g}%"
        return f"{told}, on all others less than {NEAR:g}%"
    most = int(np.where(others, of.median, -1).argmax())
    if of.top > 1 and of.largest[place] <= 1 < of.median[most]:
        least, name = of.largest[place], of.called[most].name
        return f"has no value above {least:g}, {name} has up to {of.largest[most]:g}"
    if of.known[place] < 3:
        return ""
    if of.distinct[place] == 1 < of.distinct[others].min():
        return f"{of.median[place]:g} for all models"
    agrees = of.rho[place] >= AGREES and not of.words[place]  # printed without decimals
    if _is_coarse(of, place, others) and not agrees:
        return "whole numbers, others have decimals"
    few = min(9, np.median(of.distinct[others]) / 4)
    if of.known[place] >= FEWEST_OF_FEW and of.distinct[place] < few:
        return f"{of.distinct[place]} values only"
    if _is_wide(of, place, others) and AGAINST < of.rho[place] < CLOSELY:
        return "spreads far more than the others, and ranks models otherwise"
    return ""


def _derived(table: NDArray[np.float64], some: NDArray[np.bool_], top: float) -> list[str]:
    """Return what each of some rows of (columns, models) is of the others, for every model: ranks,
    or a mean of all, or of two or more that are side by side.
    """
    found = [""] * len(table)
    places = np.flatnonzero(some)
    whole = table[places][:, ~np.isnan(table[places]).any(axis=0)]
    count, models = whole.shape
    rounded, counted = ROUNDED * top / 100, np.arange(1, models + 1)
    of_means = _means(whole, rounded) if models > 1 and count > 2 else np.zeros(count, bool)
    harmonic = np.zeros(count, bool)
    if models >= FEWEST_OF_MEANS and count > 2 and (whole > 0).all():
        inverse = 1 / whole
        of_all = (count - 1) / (inverse.sum(axis=0) - inverse)
        of_pair = np.full_like(whole, np.inf)
        of_pair[2:] = 2 / (inverse[:-2] + inverse[1:-1])
        harmonic = np.minimum(*(abs(m - whole).max(axis=1) for m in (of_all, of_pair))) <= rounded
    for place, values, mean, is_harmonic in zip(places, whole, of_means, harmonic, strict=True):
        ranked = (np.sort(side) for side in (values, top - values))
        if models >= FEWEST_OF_RANKS and any((side == counted).all() for side in ranked):
            found[place] = "ranks"
        elif mean:
            found[place] = "the mean of the others, or of some side by side"
        elif is_harmonic:
            found[place] = "the harmonic mean of others"
    return found


def _means(table: NDArray[np.float64], rounded: float) -> NDArray[np.bool_]:
    """Which rows are the mean of all others, or of two or more that are side by side."""
    count, models = table.shape
    others = (table.sum(axis=0) - table) / (count - 1)
    found = np.abs(others - table).max(axis=1) <= rounded
    sums = np.cumsum(np.pad(table, ((1, 0), (0, 0))), axis=0)
    firsts, ends = np.triu_indices(count + 1, 2)
    for place in np.flatnonzero(~found) if models >= FEWEST_OF_MEANS else ():
        apart = (ends <= place) | (firsts > place)
        first, end = firsts[apart], ends[apart]
        for model in range(models):
            mean = (sums[end, model] - sums[first, model]) / (end - first)
            near = np.abs(mean - table[place, model]) <= rounded
            first, end = first[near], end[near]
            if not len(first):
                break
        found[place] = len(first) > 0
    return np.asarray(found)


def datasets_among(
    sheet: Sheet, roles: Roles, options: ImportOptions, known: Collection[str]
) -> tuple[list[str], list[str]]:
    """The columns of a wide table that are datasets, and notes on the evidence.

    UserError, once, with all columns of which that is unclear.
    """
    if options.datasets:
        return [name for name in roles.others if name in options.datasets], []
    values = {name: sheet.read_as_numbers(name) for name in roles.others}
    values = {name: cells for name, cells in values.items() if np.isfinite(cells).any()}
    if not values:
        return [], []
    frame = pd.DataFrame(values).replace(np.inf, np.nan)
    declared = {*known, *options.errors}
    sure = [frame[name].max() for name in frame if said_by(name)]
    top = 1.0 if sure and options.unit is None and max(sure) <= 1 else options.top
    found = verdicts(frame, top, declared, options.quantity or options.assumed)
    candidates = [name for name in frame if found[name].kind != "description"]
    if mixed := [name for name in candidates if np.isinf(values[name]).any()]:
        sheet.numbers(mixed[0], mixed[1:])  # refuses it
    datasets = [name for name in candidates if found[name].kind == "dataset"]
    _ask(sheet.path, datasets, found, declared, options)
    told = {name: verdict for name, verdict in found.items() if verdict.why}
    is_none = {name: "" if name in datasets else "is no dataset: " for name in told}
    return datasets, [f"{name} {is_none[name]}{verdict.why}" for name, verdict in told.items()]


def _ask(
    path: Path,
    datasets: Sequence[str],
    found: Mapping[str, Verdict],
    declared: Collection[str],
    options: ImportOptions,
) -> None:
    """UserError where columns may be no datasets, or are several times of one dataset."""
    free = [name for name in datasets if name not in declared]
    left = [name for name, verdict in found.items() if verdict.kind == "unclear"]
    reasons: dict[str, list[str]] = {}
    for name in left:
        reasons.setdefault(found[name].why, []).append(name)
    told = [f"{', '.join(some_of(names))} ({why})" for why, names in reasons.items()]
    for group in several_of(free, "stem", "top", "runs", "quantity"):
        # A name without a part is of the same images as others where these tell of weights.
        plain = any(rank in WEIGHTS.values() for one in group for rank in one.part or ())
        parts = sorted((one.part or (), one.name) for one in group if plain or one.part)
        names = [name for _, name in parts]
        if len(parts) > 1 and parts[0][0] != parts[-1][0]:
            told += [f"{listed(names)} (parts of the images, or other weights, of one dataset)"]
            left += names[1:]
    runs = [group for group in several_of(free, "runs") if group[0].runs]
    trainings = [one.name for group in runs for one in group]
    for group in runs:
        names = [one.name for one in group]
        told += [f"{listed(some_of(names))} (trainings or folds of one dataset)"]
        left += [name for name in names if name not in left]
    if not told:
        return
    kept = [name for name in datasets if name not in left]
    if runs and {*left} == {*trainings}:
        pattern = f"{options.quantity or 'accuracy'}={runs[0][0].runs}"
        how = f"--map {quoted([pattern])} reads them as trainings, --dataset-columns "
        how += f"{quoted([*kept, *trainings])} as datasets"
    else:
        chosen = kept or [name for name in found if name in left]
        rest = [name for name in found if name in left and name not in chosen]
        how = f"--dataset-columns {quoted(chosen)}"
        how += f" --ignore {quoted(rest)} (or other names)" if rest else " (or other names)"
    other = some_of(name for name, verdict in found.items() if verdict.kind == "description")
    told += [f"descriptions: {', '.join(other)}"] if other else []
    raise UserError(f"{path}: is each of these a dataset? {'; '.join(told)}; say which are: {how}")
