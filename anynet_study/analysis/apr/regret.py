"""Measure what choosing architectures by a proxy costs on the target (paper 1, 4.2 and 5.1).

The question behind the correlations: take the architectures that err least on the proxy; how much
more do they err on the target than the best ones there, and do they beat a random choice at all?

The answer that one study measures is of one choice, and its "best" is the luckiest run: a perfect
proxy would be told to cost something. So beside what was measured stands the regret that is to be
expected of a study of as many architectures, without the target's noise of training where
replicates tell it, by a model that its interval can rest on.
"""

from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri

from anynet_study.analysis.apr.bootstrap import (
    FEWEST_TO_RESAMPLE,
    Resampled,
    complete_in,
    resample,
    resample_correlations,
)
from anynet_study.analysis.apr.error_tables import check_errors
from anynet_study.analysis.apr.noise import first_runs, reliabilities
from anynet_study.analysis.apr.options import Floats, Multiplicities, check_choice, with_attrs
from anynet_study.analysis.apr.roles import Roles
from anynet_study.core.errors import UserError
from anynet_study.core.metrics import check_level, widened

Keep = Literal["best", "mean"]
COLUMNS = [
    *("target", "proxy", "top", "regret", "regret_low", "regret_high", "chance"),
    *("share", "share_low", "share_high", "error", "random", "oracle", "reliability", "n"),
]
#: Studies that the model's expectations are of, and the correlations at which they are known.
STUDIES = 20_000
GRID = np.linspace(-1, 1, 81)


def selection_regret(
    errors: pd.DataFrame,
    roles: Roles,
    top: Sequence[int] = (1, 5, 10),
    keep: Keep = "best",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    replicates: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The error paid on each target for choosing by each member of the source's family.

    The `top` k architectures on the proxy are chosen. With keep="best" all k are then trained on
    the target and the best is kept, with "mean" any one of them is.

    Returns DataFrame[target, proxy, top, regret, regret_low, regret_high, chance, share, share_low,
    share_high, error, random, oracle, reliability, n], errors in percentage points. As measured are
    `error` of the choice on the target (expected over the choices among equally good ones on the
    proxy), `random` that of as many architectures chosen at random, and `oracle`, the least of all.

    `regret` is what the choice is expected to err more than the best of n architectures, in studies
    of n like this one, `chance` the same of a random choice, and `share` = regret / chance: 0 of a
    perfect proxy, 1 of one that says nothing. They are those of a model: that the ranks of proxy
    and target go together as those of normal variables do, with Spearman's rho as measured, and
    that the target's errors spread as those of its better half do (so that diverged runs count for
    nothing). With k = 1 the share is then 1 - r for a correlation r. With `replicates` (long:
    architecture, dataset, replicate, error) rho and the spread are freed of the noise of the target
    by the `reliability` of its ranks (of those without, it is NaN, and regret is that of measured
    errors); the choice is by single runs on the proxy, with their noise. Errors are then those of
    the first runs.

    Intervals are BCa intervals over architectures, with all of their runs; nominal 95% ones held
    the expected regret of normal errors in 93% to 97% of simulated studies of 14 to 500
    (`benchmarks/coverage.py`). n counts the architectures with an error on the target and on every
    member that has any. NaN where n < 4, k > n, or the proxy is constant; intervals where n < 10.

    >>> errors = pd.DataFrame({"big": [30, 31, 33, 34, 36], "small": [11, 10, 12, 13, 15]})
    >>> roles = Roles("big", {"big": 100}, {"small": 10})
    >>> table = selection_regret(errors, roles, top=(1,), resamples=100)
    >>> table[["target", "proxy", "share", "error", "random", "oracle"]].round(2)
      target proxy  share  error  random  oracle
    0  small   big   0.09   11.0    12.2    10.0
    """
    check_level(level, resamples, seed)
    check_choice("keep", keep, Keep)
    if not isinstance(top, Sequence) or not top or min(top) < 1:
        raise UserError(f"top: {top} is no list of counts of at least 1, such as (1, 5, 10)")
    table = check_errors(errors).sort_index()
    roles.check(table.columns)
    noise: dict[str, Resampled] = {}
    twice: dict[str, int] = {}
    if replicates is not None:
        table = first_runs(replicates).reindex(index=table.index, columns=table.columns)
        noise = reliabilities(replicates, table.index, "spearman", resamples, seed)
        runs = replicates.dropna().groupby(["dataset", "architecture"]).size()
        twice = (runs > 1).groupby("dataset").sum().to_dict()
    values, place = table.to_numpy(), table.columns.get_loc
    family = [place(name) for name in roles.family]
    filled = [index for index in family if not np.isnan(values[:, index]).all()]
    rows = []
    for target in roles.targets:
        pairs = [(index, place(target)) for index in family]
        compared = complete_in(values, pairs, [[*pair, *filled] for pair in pairs]).enough()
        rho = resample_correlations(values, compared, "spearman", resamples, seed)
        known = compared.rows[family.index(filled[0])] if filled else compared.rows[0]
        n, errs = int(known.sum()), values[known, place(target)]
        spread = resample(
            partial(_spread, np.where(known, values[:, place(target)], np.nan)),
            len(values),
            resamples,
            seed,
        )
        reliable = noise.get(target, spread.combined(np.ones_like))
        wide = widened(level, twice[target]) if target in noise else level
        for (number, proxy), k in product(enumerate(roles.family), top):
            row = {"target": target, "proxy": proxy, "top": k, "n": n}
            if k <= n and np.isfinite(rho.estimate[number]):
                own = values[known, family[number]]
                row |= _measured(own, errs, k, keep)
                expected = _expected(n, k, keep)
                row |= _modelled(rho[number : number + 1], spread, reliable, expected, wide)
            row["reliability"] = float(reliable.estimate[0]) if target in noise else np.nan
            rows.append(row)
    result = pd.DataFrame(rows).reindex(columns=COLUMNS)
    few = result["n"] < FEWEST_TO_RESAMPLE
    ends = [f"{name}_{end}" for name in ("regret", "share") for end in ("low", "high")]
    result[ends] = result[ends].mask(few)
    return with_attrs(result, level, "spearman")


def _modelled(
    rho: Resampled, spread: Resampled, reliability: Resampled, expected: Floats, level: float
) -> dict[str, float]:
    """regret, chance and share with their intervals from rho (1,) and what `_expected` says."""

    def share(rho: Floats, reliability: Floats) -> Floats:
        return _on_grid(_of_normal(rho) / true(reliability), expected / chance)

    def regret(rho: Floats, spread: Floats, reliability: Floats) -> Floats:
        return spread * true(reliability) * chance * share(rho, reliability)

    def true(reliability: Floats) -> Floats:
        """Return what noise leaves of the standard deviation."""
        return np.sqrt(_of_normal(np.where(reliability > 0, reliability, np.nan)))

    chance = np.interp(0, GRID, expected)
    parts = {
        **rho.combined(regret, spread, reliability).columns(level, "regret"),
        **rho.combined(share, reliability).columns(level, "share"),
    }
    row = {name: float(np.maximum(value[0], 0)) for name, value in parts.items()}
    return row | {"chance": float(chance * (spread.estimate * true(reliability.estimate))[0])}


def _of_normal(rho: Floats) -> Floats:
    """Pearson's correlation of normal variables of which this is Spearman's."""
    r: Floats = 2 * np.sin(np.pi / 6 * np.clip(rho, -1, 1))
    return r


def _on_grid(r: Floats, values: Floats) -> Floats:
    """The values at correlations r; beyond 1, where those freed of noise may be, as just below it.

    An interval that ended there would be drawn towards all draws that lie beyond.
    """
    slope = (values[-1] - values[-2]) / (GRID[-1] - GRID[-2])
    beyond = np.clip(r - 1, 0, 1)
    found: Floats = np.where(np.isnan(r), np.nan, np.interp(r, GRID, values) + slope * beyond)
    return found


def _spread(errors: Floats, counts: Multiplicities) -> Floats:
    """(b, 1) standard deviations of normal errors whose better half is as that of resamples (b, n).

    The slope of the errors of the better half on their normal scores.
    """
    known = np.flatnonzero(~np.isnan(errors))
    order = known[np.argsort(errors[known], kind="stable")]
    held, rising = counts[:, order], errors[order]
    up_to = np.cumsum(held, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = (up_to - held / 2) / up_to[:, -1:]
        weights = np.where(below < 0.5, held, 0)
        scores = np.where(weights > 0, ndtri(below), 0.0)
        total = weights.sum(axis=1)
        scores -= ((weights * scores).sum(axis=1) / total)[:, None]
        squares = (weights * scores**2).sum(axis=1)
        slope: Floats = (weights * scores) @ rising / np.where(squares > 1e-9, squares, np.nan)
    return slope[:, None]


@cache
def _expected(n: int, k: int, keep: Keep) -> Floats:
    """Regret, in standard deviations, of the first k of n normal variables at each of `GRID`.

    The k largest of n are drawn by their spacings; what goes with them by r is r times each and
    normal noise.
    """
    draw = np.random.default_rng([n, k])
    spacings = draw.exponential(size=(STUDIES, k))
    rest = draw.gamma(n - k + 1, size=(STUDIES, 1))
    up_to = np.cumsum(spacings, axis=1)
    largest = -ndtri(up_to / (up_to[:, -1:] + rest))
    noise = draw.normal(size=(STUDIES, k))
    best = largest[:, 0].mean()
    found = []
    for r in GRID:
        chosen = r * largest + np.sqrt(1 - r**2) * noise
        found.append(best - (chosen.max(axis=1) if keep == "best" else chosen.mean(axis=1)).mean())
    # It falls as r rises, but for what the draws have of chance.
    falling: Floats = np.maximum.accumulate(found[::-1])[::-1] + 1e-6 * (1 - GRID)
    return falling


def _measured(proxy: Floats, target: Floats, k: int, keep: Keep) -> dict[str, float]:
    """Return errors on the target: of the proxy's first k of (n,), of random ones, the least."""
    rising = np.sort(target)
    random = best_of_random(rising, k) if keep == "best" else float(target.mean())
    return {
        "error": chosen_by_rank(proxy, target, k, keep),
        "random": random,
        "oracle": float(rising[0]),
    }


def chosen_by_rank(proxy: Floats, errors: Floats, k: int, keep: Keep) -> float:
    """Expected mean or least error of the k of (n,) that are first by `proxy`.

    Those equal at the k-th place are chosen at random.
    """
    last = np.sort(proxy)[k - 1]
    sure, tied = errors[proxy < last], np.sort(errors[proxy == last])
    wanted = k - len(sure)
    if keep == "mean":
        return float((sure.sum() + wanted * tied.mean()) / k)
    return best_of_random(np.minimum(tied, sure.min(initial=np.inf)), wanted)


def best_of_random(rising: Floats, k: int) -> float:
    """Expected least of k of the errors (n,), which rise, chosen at random without replacement.

    Of n with L below an error, all k are above with probability C(n - L, k) / C(n, k).
    """
    total = len(rising)
    skipped = np.arange(total)
    factors = np.maximum(total - skipped - k, 0) / (total - skipped)
    above = np.r_[1.0, np.cumprod(factors)]
    return float((above[:-1] - above[1:]) @ rising)
