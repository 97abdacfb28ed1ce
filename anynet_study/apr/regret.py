"""What choosing architectures by a proxy costs on the target (paper 1, sections 4.2 and 5.1).

The question behind the correlations: take the architectures that err least on the proxy; how much
more do they err on the target than the best ones there, and do they beat a random choice at all?
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd

from anynet_study.apr.bootstrap import BLOCK, PairSet, complete_in
from anynet_study.apr.error_tables import check_errors
from anynet_study.apr.options import Floats, Multiplicities, check_level, check_seed, with_attrs
from anynet_study.apr.roles import Roles
from anynet_study.errors import UserError

Keep = Literal["best", "mean"]


def halves(n: int, size: int, seed: int, block: int) -> Multiplicities:
    """(size, n) of 0 and 1: which of n architectures each of a block's random halves holds."""
    order = np.random.default_rng([seed, block]).random((size, n)).argsort(axis=1)
    held: Multiplicities = (order < n // 2).astype(np.int32)
    return held


def chosen_by_rank(counts: Multiplicities, errors: Floats, k: int, keep: str) -> Floats:
    """(b,) mean error ("mean"), or least error ("best"), of the first k draws of each resample."""
    # Few rows matter: as many as the slowest resample needs to hold k draws.
    needed, width = k, 0
    while needed > 0 and width < counts.shape[1]:
        width = min(counts.shape[1], 2 * max(width, k))
        needed = k - int(counts[:, :width].sum(axis=1).min())
    counts, errors = counts[:, :width], errors[:width]
    before = np.cumsum(counts, axis=1) - counts
    taken = np.clip(k - before, 0, counts)
    if keep == "mean":
        mean: Floats = taken @ errors / k
        return mean
    least: Floats = np.where(taken > 0, errors, np.inf).min(axis=1)
    return least


def present_minimum(counts: Multiplicities, rising: Floats) -> Floats:
    """(b,) least error that each resample holds, of errors in rising order."""
    first: Floats = rising[np.argmax(counts > 0, axis=1)]
    return first


def best_of_random(counts: Multiplicities, rising: Floats, k: int) -> Floats:
    """(b,) expected least error of k draws chosen at random without replacement.

    Of N draws with L below an error, all k are above with probability C(N - L, k) / C(N, k).
    """
    total = int(counts[0].sum())
    skipped = np.arange(total)
    factors = np.maximum(total - skipped - k, 0) / (total - skipped)
    above = np.r_[1.0, np.cumprod(factors)]
    up_to = np.cumsum(counts, axis=1)
    probability = above[up_to - counts] - above[up_to]
    expected: Floats = probability @ rising
    return expected


def selection_regret(
    errors: pd.DataFrame,
    roles: Roles,
    top: Sequence[int] = (1, 5, 10),
    keep: Keep = "best",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """The error paid on each target for choosing by each member of the source's family.

    The `top` k architectures on the proxy are chosen. With keep="best" all k are then trained on
    the target and the best is kept, with "mean" any one of them is. Of equally good ones on the
    proxy those whose ids come first are chosen.

    Returns DataFrame[target, proxy, top, error, regret, regret_low, regret_high, random, gain,
    gain_low, gain_high, oracle, n]: `error` of the choice on the target; `regret` = error - oracle,
    which is the least error of all; `random` the expected error of as many architectures chosen at
    random; `gain` = random - error, above 0 where the proxy helps and below where it does worse
    than chance. All in percentage points; n counts the architectures with an error on the target
    and on every member that has any. NaN where n < 4, k > n, or the proxy is constant.

    Intervals hold the values of `level` of all random halves of the population (of `resamples` of
    them), each with its own oracle, and the sample's: a bootstrap, which repeats architectures,
    makes the choice among k too easy. They are ranges and no confidence intervals: in simulations
    of 500 normal errors (correlations 0, 0.5, 0.9; k 1, 5, 10) they held the expected regret in 95%
    to 98%, but in 51% to 78% where it is all but 0 (0.9 with k 5 or 10), and the expected gain in
    58% to 97%. NaN where k > n / 2.
    """
    check_level(level, resamples)
    check_seed(seed)
    if keep not in get_args(Keep):
        raise UserError(f"keep: no {keep!r}; legal: {', '.join(get_args(Keep))}")
    if not top or min(top) < 1:
        raise UserError(f"top: {list(top)} are not counts of at least 1")
    table = check_errors(errors).sort_index()
    roles.check(table.columns)
    values = table.to_numpy()
    family = [table.columns.get_loc(name) for name in roles.family]
    filled = [index for index in family if not np.isnan(values[:, index]).all()]
    rows = []
    for target in roles.targets:
        column = table.columns.get_loc(target)
        pairs = complete_in(
            values, [(member, column) for member in family], [[column, *filled]] * len(family)
        ).enough()
        drawn = _Drawn(values, pairs, top, keep, resamples, seed)
        for number, proxy in enumerate(roles.family):
            for place, k in enumerate(top):
                row = {"target": target, "proxy": proxy, "top": k}
                rows.append({**row, **drawn.summary(number, place, level)})
    return with_attrs(pd.DataFrame(rows), level)


class _Drawn:
    """Errors of choices, at random and by each member of the family, on one target's resamples."""

    def __init__(
        self,
        values: Floats,
        pairs: PairSet,
        top: Sequence[int],
        keep: Keep,
        resamples: int,
        seed: int,
    ) -> None:
        self.n = int(pairs.counts[0])
        known = values[pairs.rows[0]]
        self._proxies = known[:, pairs.columns[:, 0]]
        self._target = known[:, pairs.columns[0, 1]]
        self._top, self._keep = top, keep
        shape = (1 + resamples, len(pairs), len(top))
        #: The sample itself comes before its resamples.
        self.error, self.random = np.full(shape, np.nan), np.full((shape[0], len(top)), np.nan)
        self.oracle = np.full(shape[0], np.nan)
        if self.n:
            self._fill(slice(0, 1), np.ones((1, self.n), dtype=np.int32))
            for block in range(-(-resamples // BLOCK)):
                size = min(BLOCK, resamples - block * BLOCK)
                first = 1 + block * BLOCK
                self._fill(slice(first, first + size), halves(self.n, size, seed, block))

    def _fill(self, part: slice, counts: np.ndarray) -> None:
        rising = np.argsort(self._target, kind="stable")
        size = int(counts[0].sum())
        self.oracle[part] = present_minimum(counts[:, rising], self._target[rising])
        for place, k in enumerate(self._top):
            if k > size:
                continue
            among = k if self._keep == "best" else 1
            found = best_of_random(counts[:, rising], self._target[rising], among)
            self.random[part, place] = found
        for number, proxy in enumerate(self._proxies.T):
            if np.isnan(proxy).any() or np.ptp(proxy) == 0:
                continue
            order = np.argsort(proxy, kind="stable")
            for place, k in enumerate(self._top):
                if k <= size:
                    chosen = chosen_by_rank(counts[:, order], self._target[order], k, self._keep)
                    self.error[part, number, place] = chosen

    def summary(self, number: int, place: int, level: float) -> dict[str, float]:
        error, random = self.error[:, number, place], self.random[:, place]
        row = {"error": error[0]}
        for name, values in (("regret", error - self.oracle), ("gain", random - error)):
            tails = [(1 - level) / 2, (1 + level) / 2]
            low, high = np.quantile(values[1:], tails)
            low, high = np.minimum(low, values[0]), np.maximum(high, values[0])
            row |= {name: values[0], f"{name}_low": low, f"{name}_high": high}
            if name == "regret":
                row["random"] = random[0]
        return {**row, "oracle": self.oracle[0], "n": self.n}
