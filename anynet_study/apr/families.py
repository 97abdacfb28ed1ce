"""Proxies for a target among the members of an X family (paper 1, section 4.3, Table 3).

Correlations that are compared rest on the same architectures and the same resamples.
"""

import numpy as np
import pandas as pd

from anynet_study.apr.bootstrap import Resampler
from anynet_study.apr.intervals import Resampled, check_level
from anynet_study.apr.kernels import Method
from anynet_study.apr.pairs import complete_in
from anynet_study.apr.ranks import Floats
from anynet_study.apr.roles import Roles
from anynet_study.apr.table import check_errors
from anynet_study.apr.weights import aligned_weights, effective_sizes


def match_family(
    errors: pd.DataFrame,
    roles: Roles,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
) -> pd.DataFrame:
    """Each target's correlation with the source and with its closest family member (Table 3).

    The member is the one nearest in class count, of two equally near the one with fewer classes.
    Returns DataFrame[target, classes, member, member_classes, rho_source, rho_source_low,
    rho_source_high, rho_member, ..., difference, ..., n]; difference = member - source, its
    interval by the paired bootstrap; n counts architectures with all three errors. The last row,
    target "average", averages the targets whose two correlations are defined (its n is their
    smallest); its intervals come from averages within resamples. `weights` by architecture as in
    `correlations`, with `effective` (of "average": the smallest) after n.
    """
    check_level(level, resamples)
    table = check_errors(errors)
    roles.check(table.columns)
    members = [roles.closest_member(classes) for classes in roles.targets.values()]
    triples = [
        [table.columns.get_loc(name) for name in (roles.source, member, target)]
        for member, target in zip(members, roles.targets, strict=True)
    ]
    pairs = [(source, target) for source, _, target in triples]
    pairs += [(member, target) for _, member, target in triples]
    values = table.to_numpy()
    compared = complete_in(values, pairs, triples + triples)
    own = aligned_weights(weights, table)
    resampled = Resampler(values, compared.enough(), method, own).resampled(resamples, seed)
    count = len(members)
    result = pd.DataFrame({"target": list(roles.targets), "classes": list(roles.targets.values())})
    result["member"] = members
    result["member_classes"] = [roles.family[member] for member in members]
    sources, matched = resampled[:count], resampled[count:]
    result = result.join(_compare(sources, matched, level))
    result["n"] = compared.counts[:count]
    if own is not None:
        result["effective"] = effective_sizes(compared, own)[:count]
    return _with_average(result, sources, matched, level)


def _compare(sources: Resampled, members: Resampled, level: float) -> pd.DataFrame:
    columns: dict[str, Floats] = {}
    statistics = {"rho_source": sources, "rho_member": members, "difference": members - sources}
    for name, statistic in statistics.items():
        columns[name] = statistic.estimate
        columns[f"{name}_low"], columns[f"{name}_high"] = statistic.interval(level)
    return pd.DataFrame(columns)


def _with_average(
    result: pd.DataFrame, sources: Resampled, members: Resampled, level: float
) -> pd.DataFrame:
    defined = np.flatnonzero(np.isfinite((members - sources).estimate))
    if not len(defined):
        return result
    last = _compare(sources[defined].average(), members[defined].average(), level)
    last.insert(0, "target", "average")
    for name in result.columns.intersection(["n", "effective"]):
        last[name] = result[name].iloc[defined].min()
    nullable = {"classes": "Int64", "member_classes": "Int64"}
    result = pd.concat([result.astype(nullable), last], ignore_index=True)
    return result.fillna({"member": ""})


def best_proxies(
    errors: pd.DataFrame,
    roles: Roles,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
) -> pd.DataFrame:
    """How well each member of the family, the source included, stands for each target.

    Returns DataFrame[target, proxy, estimate, low, high, probability_best, n], best proxy first
    within a target. `probability_best` is the share of resamples in which the proxy correlates
    most with the target (equal ones share it). n counts the architectures with an error on the
    target and on every member that has any. Members and targets that are constant or have too few
    errors keep their row, with NaN. `weights` by architecture as in `correlations`, with
    `effective` after n.
    """
    result, resampled = family_correlations(errors, roles, method, resamples, seed, level, weights)
    size = len(roles.family)
    starts = range(0, len(result), size)
    shares = [_probability_best(resampled[start : start + size]) for start in starts]
    result.insert(5, "probability_best", np.concatenate(shares))
    best_first = np.lexsort([-result["estimate"], np.arange(len(result)) // size])
    return result.iloc[best_first].reset_index(drop=True)


def family_correlations(
    errors: pd.DataFrame,
    roles: Roles,
    method: Method,
    resamples: int,
    seed: int,
    level: float,
    weights: pd.Series | None,
) -> tuple[pd.DataFrame, Resampled]:
    """Each target's correlations with the members of the family, in order, and their resamples.

    DataFrame[target, proxy, estimate, low, high, n], with weights also `effective`.
    """
    check_level(level, resamples)
    table = check_errors(errors)
    roles.check(table.columns)
    values = table.to_numpy()
    family = [table.columns.get_loc(name) for name in roles.family]
    filled = [index for index in family if not np.isnan(values[:, index]).all()]
    pairs = [
        (member, table.columns.get_loc(target)) for target in roles.targets for member in family
    ]
    compared = complete_in(values, pairs, [[*pair, *filled] for pair in pairs])
    own = aligned_weights(weights, table)
    resampled = Resampler(values, compared.enough(), method, own).resampled(resamples, seed)
    low, high = resampled.interval(level)
    columns = {"estimate": resampled.estimate, "low": low, "high": high}
    result = pd.DataFrame(columns | {"n": compared.counts})
    result.insert(0, "target", np.repeat(np.array([*roles.targets]), len(family)))
    result.insert(1, "proxy", [*roles.family] * len(roles.targets))
    if own is not None:
        result["effective"] = effective_sizes(compared, own)
    return result, resampled


def _probability_best(resampled: Resampled) -> Floats:
    """(p,) shares of the resamples in which a statistic is the largest; NaN where undefined."""
    draws = resampled.draws[:, np.isfinite(resampled.draws).any(axis=0)]
    if not draws.shape[1]:
        return np.full(len(resampled.estimate), np.nan)
    best = draws == np.nanmax(draws, axis=0)
    share = (best / best.sum(axis=0)).mean(axis=1)
    return np.where(np.isfinite(resampled.estimate), share, np.nan)
