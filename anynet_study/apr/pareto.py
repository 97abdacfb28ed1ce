"""What a proxy costs against how well it stands in for a target (paper 1, section 5.2)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from anynet_study.apr.families import family_correlations
from anynet_study.apr.kernels import Method
from anynet_study.apr.ranks import Floats
from anynet_study.apr.roles import Roles
from anynet_study.errors import UserError


def proxy_costs(
    errors: pd.DataFrame,
    roles: Roles,
    costs: Mapping[str, float],
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
) -> pd.DataFrame:
    """Each target's proxies with their cost, and which of them no other one beats on both.

    `costs` maps the members of the source's family to what training one architecture on them costs,
    such as GPU seconds. Returns DataFrame[target, proxy, cost, estimate, low, high, on_front,
    probability_on_front, n], the cheapest first within a target. A proxy is on the front if none
    that costs as little or less correlates more; the probability is the share of resamples in which
    it is. Otherwise as `best_proxies`. Raises UserError for a member without a cost, and for costs
    that are negative or not finite.
    """
    absent = [name for name in roles.family if name not in costs]
    if absent:
        raise UserError(f"costs: none for {', '.join(absent)}")
    cost = np.array([costs[name] for name in roles.family], dtype=np.float64)
    if not (np.isfinite(cost) & (cost >= 0)).all():
        raise UserError("costs: legal are finite numbers, at least 0")
    table, resampled = family_correlations(errors, roles, method, resamples, seed, level, weights)
    table.insert(2, "cost", np.tile(cost, len(roles.targets)))
    sizes = range(0, len(table), len(cost))
    parts = [slice(start, start + len(cost)) for start in sizes]
    estimates = [_on_front(resampled.estimate[part, None], cost) for part in parts]
    shares = [_on_front(resampled.draws[part], cost) for part in parts]
    place = table.columns.get_loc("high") + 1
    table.insert(place, "on_front", np.concatenate(estimates)[:, 0] == 1)
    probability = np.concatenate([np.nanmean(share, axis=1) for share in shares])
    undefined = ~np.isfinite(resampled.estimate)
    table.insert(place + 1, "probability_on_front", np.where(undefined, np.nan, probability))
    target = np.arange(len(table)) // len(cost)
    cheapest_first = np.lexsort([-table["estimate"], table["cost"], target])
    return table.iloc[cheapest_first].reset_index(drop=True)


def _on_front(estimates: Floats, cost: Floats) -> Floats:
    """(p, b) whether each of p proxies is on the front in b resamples; 0 where undefined."""
    known = np.where(np.isfinite(estimates), estimates, -np.inf)
    front = np.zeros(known.shape)
    for number, own in enumerate(known):
        rivals = known[cost <= cost[number]]
        front[number] = np.isfinite(own) & (own >= rivals.max(axis=0))
    return front
