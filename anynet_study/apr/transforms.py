"""Models under a family of test-time transforms of the images.

Salaudeen and Hardt 2024 (paper 4), section 4.2 and Appendix B.2: mean over the transforms, and how
stable the ranking is from one to the next.
"""

import numpy as np
import pandas as pd

from anynet_study.apr.bootstrap import draw
from anynet_study.apr.correlations import correlate_pairs
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.gaps import compact, ranks_of, whole_percentiles
from anynet_study.apr.intervals import check_level
from anynet_study.apr.pairs import FEWEST, pairwise
from anynet_study.apr.scores import check_columns, check_scores
from anynet_study.errors import UserError

BLOCK = 256
LONG = ["architecture", "evaluation", "error"]


def transform_ranks(
    errors: pd.DataFrame, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> pd.DataFrame:
    """Mean error over the transforms and its rank, per architecture.

    `errors` in percent, architectures x evaluations (`ResultStore.evaluation_errors`), the images
    as they are among them; or long, with columns architecture, evaluation, error. Returns
    DataFrame[architecture, mean, std, rank, rank_low, rank_high, rank_mean, rank_best, rank_worst,
    evaluations], the best first. `rank` is the mean error's, with percentiles over resamples of the
    transforms, as if they were drawn from all one might have taken; rank_mean, _best and _worst are
    of the ranks under each. Equal errors share the better rank. Architectures that lack an
    evaluation are left out; `attrs["left_out"]` is how many.
    """
    check_level(level, resamples)
    check_seed(seed)
    table, left_out = _complete(errors)
    values = table.to_numpy()
    by_evaluation = ranks_of(-values.T)
    rank = ranks_of(-values.mean(axis=1)[None])[0]
    count = values.shape[1]
    starts = range(0, resamples, BLOCK)
    blocks = (draw(count, min(BLOCK, resamples - s), seed, s // BLOCK) for s in starts)
    drawn = (ranks_of(-np.round(block @ values.T / count, 9)) for block in blocks)
    draws = np.concatenate([compact(each) for each in drawn])
    low, high = whole_percentiles(draws, rank, level)
    result = pd.DataFrame(
        {
            "architecture": table.index,
            "mean": values.mean(axis=1),
            "std": values.std(axis=1, ddof=1),
            "rank": rank,
            "rank_low": low,
            "rank_high": high,
            "rank_mean": by_evaluation.mean(axis=0),
            "rank_best": by_evaluation.min(axis=0),
            "rank_worst": by_evaluation.max(axis=0),
            "evaluations": count,
        }
    )
    result = result.sort_values("rank", kind="stable", ignore_index=True)
    result.attrs["left_out"] = left_out
    return result


def transform_agreement(
    errors: pd.DataFrame,
    reference: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Spearman's rho of the errors under every transform with those under the reference.

    `errors` as in `transform_ranks`; the reference is by default the first column ("test", the
    images as they are). Returns DataFrame[evaluation, error, estimate, low, high, n, p, note],
    `error` the mean over architectures; the last row, "average", is the mean over all evaluations
    but the reference. Where an evaluation's (or the reference's) errors are all equal, or fewer
    than 4 architectures have all evaluations, there is no estimate, and `note` says so.
    """
    table, _ = _complete(errors)
    reference = str(table.columns[0]) if reference is None else reference
    check_columns(table, [reference], "errors")
    others = table.drop(columns=reference)
    wide = table[[reference]].join(others).assign(average=others.mean(axis=1))
    values = wide.to_numpy()
    pairs = pairwise(values, [(0, column) for column in range(1, values.shape[1])])
    result = correlate_pairs(values, pairs, "spearman", resamples, seed, level)
    result.insert(0, "evaluation", wide.columns[1:])
    result.insert(1, "error", values[:, 1:].mean(axis=0))
    why = "fewer than 4 architectures" if len(wide) < FEWEST else "all errors are equal"
    return result.assign(note=np.where(result["estimate"].isna(), why, ""))


def _complete(errors: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """The wide table of architectures with all evaluations, and how many lack one."""
    wide = errors
    if set(LONG) <= set(errors.columns):
        if errors.duplicated(LONG[:2]).any():
            first = errors[errors.duplicated(LONG[:2])].iloc[0]
            which = f"{first['architecture']}, {first['evaluation']}"
            raise UserError(f"errors: {which} is there more than once")
        names = {"architecture": errors["architecture"].unique()}
        wide = errors.pivot(index="architecture", columns="evaluation", values="error")
        wide = wide.loc[names["architecture"], errors["evaluation"].unique()]
    table = check_scores(wide, "errors").rename_axis(columns=None)
    if table.shape[1] < 2:
        raise UserError(f"errors: {table.shape[1]} evaluations; at least 2 are needed")
    complete = table.dropna()
    if len(complete) < 2:
        raise UserError(f"errors: {len(complete)} architectures have all evaluations; 2 are needed")
    return complete, len(table) - len(complete)
