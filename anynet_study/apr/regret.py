"""What choosing architectures by a proxy costs on the target (paper 1, sections 4.2 and 5.1).

The question behind the correlations: take the architectures that err least on the proxy; how much
more do they err on the target than the best ones there, and do they beat a random choice at all?
"""

from collections.abc import Sequence
from itertools import chain
from typing import Literal

import numpy as np
import pandas as pd

from anynet_study.apr.bootstrap import BLOCK
from anynet_study.apr.error_tables import FEWEST, check_errors
from anynet_study.apr.options import Floats, Multiplicities, check_choice, check_level, with_attrs
from anynet_study.apr.roles import Roles
from anynet_study.errors import UserError

Keep = Literal["best", "mean"]
COLUMNS = [
    *("target", "proxy", "top", "error", "regret", "regret_low", "regret_high", "random"),
    *("gain", "gain_low", "gain_high", "oracle", "n"),
]


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
    the target and the best is kept, with "mean" any one of them is. Which of
    equally good ones on the proxy are chosen is left to chance: the error is the expected one.

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

    >>> errors = pd.DataFrame({"big": [30, 31, 33, 34, 36], "small": [11, 10, 12, 13, 15]})
    >>> roles = Roles("big", {"big": 100}, {"small": 10})
    >>> table = selection_regret(errors, roles, top=(1,), resamples=100)
    >>> table[["target", "proxy", "error", "regret", "random", "gain"]].round(2)
      target proxy  error  regret  random  gain
    0  small   big   11.0     1.0    12.2   1.2
    """
    check_level(level, resamples, seed)
    check_choice("keep", keep, Keep)
    if not top or min(top) < 1:
        raise UserError(f"top: {list(top)} are not counts of at least 1")
    table = check_errors(errors).sort_index()
    roles.check(table.columns)
    values = table.to_numpy()
    family = [table.columns.get_loc(name) for name in roles.family]
    filled = [index for index in family if not np.isnan(values[:, index]).all()]
    parts = []
    for target in roles.targets:
        column = table.columns.get_loc(target)
        known = values[~np.isnan(values[:, [column, *filled]]).any(axis=1)]
        known = known if len(known) >= FEWEST else known[:0]
        part = _of_target(known[:, family], known[:, column], top, keep, resamples, seed, level)
        parts.append(part.assign(target=target, proxy=np.repeat([*roles.family], len(top))))
    return with_attrs(pd.concat(parts, ignore_index=True)[COLUMNS], level)


def _of_target(
    proxies: Floats,
    target: Floats,
    top: Sequence[int],
    keep: Keep,
    resamples: int,
    seed: int,
    level: float,
) -> pd.DataFrame:
    """The choices by proxies (n, p) on one target (n,): a row for each proxy and size of `top`."""
    n = len(target)
    starts = range(0, resamples if n else 0, BLOCK)
    drawn = (halves(n, min(BLOCK, resamples - s), seed, s // BLOCK) for s in starts)
    # The sample itself comes before its halves.
    blocks = chain([np.ones((1, n), dtype=np.int32)], drawn)
    parts = [_choices(proxies, target, counts, top, keep) for counts in blocks]
    error, random, oracle = (np.concatenate(values) for values in zip(*parts, strict=True))
    columns = {"top": np.tile(top, proxies.shape[1]), "n": n}
    columns |= {"error": error[0].ravel(), "random": np.tile(random[0, 0], proxies.shape[1])}
    columns["oracle"] = oracle[0, 0, 0]
    for name, values in (("regret", error - oracle), ("gain", random - error)):
        tails = [(1 - level) / 2, (1 + level) / 2]
        low, high = np.quantile(values[1:], tails, axis=0) if n else values[[0, 0]]
        columns[name] = values[0].ravel()
        columns[f"{name}_low"] = np.minimum(low, values[0]).ravel()
        columns[f"{name}_high"] = np.maximum(high, values[0]).ravel()
    return pd.DataFrame(columns)


def _choices(
    proxies: Floats, target: Floats, counts: Multiplicities, top: Sequence[int], keep: Keep
) -> tuple[Floats, Floats, Floats]:
    """Errors of the choices by p proxies and t sizes in b resamples: (b, p, t), (b, 1, t) at
    random, and (b, 1, 1) of the oracle; NaN where there is no choice.
    """
    error = np.full((len(counts), proxies.shape[1], len(top)), np.nan)
    random, oracle = np.full_like(error[:, :1], np.nan), np.full_like(error[:, :1, :1], np.nan)
    if not len(target):
        return error, random, oracle
    rising = np.argsort(target, kind="stable")
    oracle[:, 0, 0] = present_minimum(counts[:, rising], target[rising])
    possible = [(place, k) for place, k in enumerate(top) if k <= int(counts[0].sum())]
    for place, k in possible:
        among = k if keep == "best" else 1
        random[:, 0, place] = best_of_random(counts[:, rising], target[rising], among)
    for number, proxy in enumerate(proxies.T):
        if np.isnan(proxy).any() or np.ptp(proxy) == 0:
            continue
        order = np.argsort(proxy, kind="stable")
        # By rows, which sums want: what an index picks lies by columns.
        in_order = np.take(counts, order, axis=1)
        for place, k in possible:
            chosen = chosen_by_rank(in_order, proxy[order], target[order], k, keep)
            error[:, number, place] = chosen
    return error, random, oracle


def halves(n: int, size: int, seed: int, block: int) -> Multiplicities:
    """(size, n) of 0 and 1: which of n architectures each of a block's random halves holds."""
    order = np.random.default_rng([seed, block]).random((size, n)).argsort(axis=1)
    held: Multiplicities = (order < n // 2).astype(np.int32)
    return held


def chosen_by_rank(
    counts: Multiplicities, proxy: Floats, errors: Floats, k: int, keep: Keep
) -> Floats:
    """(b,) expected mean or least error of the k of each resample (b, n) that are first by `proxy`.

    `counts` are 0 or 1; `proxy` (n,) rises. Those equal at the k-th place are chosen at random.
    """
    first, last = (np.searchsorted(proxy, proxy, side) for side in ("left", "right"))
    held = np.pad(np.cumsum(counts, axis=1, dtype=np.int32), ((0, 0), (1, 0)))
    size = held[:, last] - held[:, first]
    wanted = np.clip(k - held[:, first], 0, size)
    if keep == "mean":
        mean: Floats = (counts * wanted / np.maximum(size, 1)) @ errors / k
        return mean
    sure = (counts > 0) & (wanted == size)
    least: Floats = np.where(sure, errors, np.inf).min(axis=1)
    tied = (counts > 0) & (wanted > 0) & (wanted < size)
    for row in np.flatnonzero(tied.any(axis=1)):
        rising = np.sort(np.minimum(errors[tied[row]], least[row]))
        among = int(wanted[row, tied[row]][0])
        least[row] = best_of_random(np.ones((1, len(rising)), np.int32), rising, among)[0]
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
