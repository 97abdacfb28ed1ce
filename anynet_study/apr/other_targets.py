"""Do the other targets tell more of a target than the source does? (Paper 3, Appendix N.)"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy import stats

from anynet_study.apr.bootstrap import Resampler
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.fit_scales import clip_perfect, to_scale
from anynet_study.apr.intervals import check_level
from anynet_study.apr.kernels import Method
from anynet_study.apr.pairs import FEWEST, pairwise
from anynet_study.apr.ranks import Floats
from anynet_study.apr.transfer import normalised
from anynet_study.errors import UserError

Average = Literal["logits", "scores", "ranks"]


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
    p_source, note]: R squared of the three regressions, the F statistic (1 and n - 3 degrees of
    freedom) and p-value of adding the average to the source, and of adding the source to the
    average. Rests on the architectures with all scores, but for columns that have none or are
    constant, which are left out and keep their row with NaN and a note.
    """
    table, notes = _complete(scores, source, targets, ranges)
    units = _on(table, average, images)
    rows = []
    for target in notes:
        row: dict[str, object] = {"target": target, "n": len(units)}
        others = [name for name in units.columns if name not in (source, target)]
        note = notes[target] or notes_on_others(others)
        if not note:
            mean = units[others].mean(axis=1)
            row |= _nested(*(each.to_numpy() for each in (units[target], units[source], mean)))
            note = "" if "p_source" in row else "explained exactly: no F-test"
        rows.append({**row, "note": note})
    names = [f"r2_{name}" for name in ("source", "average", "both")]
    names += [f"{kind}_{name}" for name in ("average", "source") for kind in ("f", "p")]
    return pd.DataFrame(rows).reindex(columns=["target", "n", *names, "note"])


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
    check_level(level, resamples)
    check_seed(seed)
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
        drawn = Resampler(columns, pairwise(columns, pairs), method).resampled(resamples, seed)
        halves = {"rho_source": drawn[:count], "rho_average": drawn[count:]}
        places = [list(notes).index(name) for name in usable]
        for name, each in {**halves, "difference": drawn[count:] - drawn[:count]}.items():
            ends = zip(("", "_low", "_high"), (each.estimate, *each.interval(level)), strict=True)
            for end, values in ends:
                result[f"{name}{end}"] = pd.Series(values, index=places)
    result["note"] = [notes[name] or notes_on_others(kept[1:]) for name in notes]
    return result


def notes_on_others(others: Sequence[str]) -> str:
    """Why there is no average of the other targets; "" where there are some."""
    return "" if others else "there is no other target"


def _complete(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None,
    ranges: Mapping[str, tuple[float, float]] | None,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Architectures with all scores on the usable columns, and a note on each target ("": used)."""
    table = normalised(scores, source, targets, ranges)
    notes = {name: _flaw(table[name]) for name in table.columns}
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


def _flaw(column: pd.Series) -> str:
    known = column.dropna()
    if known.empty:
        return "no value at all"
    return "one value only" if known.nunique() == 1 else ""


def _on(table: pd.DataFrame, average: Average, images: Mapping[str, int] | None) -> pd.DataFrame:
    """The columns, standardised, on the scale that targets are averaged on."""
    if average not in get_args(Average):
        raise UserError(f"average: no {average!r}; legal: {', '.join(get_args(Average))}")
    columns = {}
    for name, column in table.items():
        values = column.to_numpy()
        if average == "ranks":
            values = stats.rankdata(values)
        elif average == "logits":
            values = _logits(values, str(name), (images or {}).get(name))
        columns[name] = (values - values.mean()) / values.std(ddof=1)
    return pd.DataFrame(columns, index=table.index)


def _logits(values: Floats, name: str, images: int | None) -> Floats:
    if images is not None:
        values = clip_perfect(values, images)
    elif ((values <= 0) | (values >= 100)).any():
        raise UserError(
            f"scores: {name} has a score at an end of its range, which has no logit; "
            "give its number of test images (images=...), or take average='scores'"
        )
    return to_scale(values, "logit")


def _nested(y: Floats, source: Floats, average: Floats) -> dict[str, float]:
    """R squared of the three regressions, and F-tests of each predictor beyond the other."""
    total = ((y - y.mean()) ** 2).sum()
    left = {
        "source": _residual_squares(y, [source]),
        "average": _residual_squares(y, [average]),
        "both": _residual_squares(y, [source, average]),
    }
    row = {f"r2_{name}": float(1 - squares / total) for name, squares in left.items()}
    freedom = len(y) - 3
    if left["both"] <= 1e-12 * total:  # rounding, not residuals
        return row
    for added, kept in (("average", "source"), ("source", "average")):
        gain = max(left[kept] - left["both"], 0.0)
        row[f"f_{added}"] = float(gain / (left["both"] / freedom))
        row[f"p_{added}"] = float(stats.f.sf(row[f"f_{added}"], 1, freedom))
    return row


def _residual_squares(y: Floats, predictors: list[Floats]) -> float:
    design = np.column_stack([np.ones(len(y)), *predictors])
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    return float(((y - design @ weights) ** 2).sum())
