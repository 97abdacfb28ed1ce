"""Ranks of models with the uncertainty of the test images that all of them share.

Recht et al. 2019 (paper 2), section 3.3: changes of rank on a new test set. Resampling the images
keeps together what all models get wrong, unlike resampling every accuracy by itself.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.apr.bootstrap import draw
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.gaps import compact, ranks_of, whole_percentiles
from anynet_study.apr.intervals import check_level
from anynet_study.apr.mcnemar import check_correct
from anynet_study.errors import UserError

#: Resamples at a time; of 10,000 images 10 MB.
BLOCK = 128


def rank_changes(
    original: pd.DataFrame,
    new: pd.DataFrame,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Ranks of models on two test sets and their change, with intervals from resampled images.

    `original` and `new` are bool tables, models x images (see `correctness`), matched by model; the
    images of the two are different and are resampled independently. Returns DataFrame[architecture,
    original_rank, original_rank_low, original_rank_high, new_rank, ..., rank_change, ...], the best
    on the original first; equal models share the better rank; rank_change = original_rank -
    new_rank. Intervals are percentiles, rounded outwards to whole ranks. Raises UserError as
    `mcnemar` does.
    """
    check_level(level, resamples)
    check_seed(seed)
    names = [name for name in original.index if name in set(new.index)]
    if len(names) < 2:
        raise UserError(f"correct: {len(names)} models are on both test sets; 2 are needed")
    tables = [check_correct(table.loc[names]) for table in (original, new)]
    estimates = [ranks_of(right.sum(axis=1)[None])[0] for right in tables]
    # Two streams: images of different test sets have nothing to do with each other.
    draws = [_resampled(right, resamples, 2 * seed + i) for i, right in enumerate(tables)]
    result = pd.DataFrame({"architecture": names})
    columns = {
        "original_rank": (estimates[0], draws[0]),
        "new_rank": (estimates[1], draws[1]),
        "rank_change": (estimates[0] - estimates[1], draws[0] - draws[1]),
    }
    for name, (estimate, drawn) in columns.items():
        result[name] = estimate
        result[f"{name}_low"], result[f"{name}_high"] = whole_percentiles(drawn, estimate, level)
    order = np.lexsort([result["new_rank"], result["original_rank"]])
    return result.iloc[order].reset_index(drop=True)


def _resampled(right: NDArray[np.bool_], resamples: int, seed: int) -> NDArray[Any]:
    """(resamples, models) ranks on resamples of the images."""
    images = right.shape[1]
    # Sums of whole numbers below 2**24: exact, so that equal models stay equal.
    counts = right.T.astype(np.float32)
    starts = range(0, resamples, BLOCK)
    blocks = (draw(images, min(BLOCK, resamples - s), seed, s // BLOCK) for s in starts)
    drawn = (ranks_of(block.astype(np.float32) @ counts) for block in blocks)
    return np.concatenate([compact(each) for each in drawn])
