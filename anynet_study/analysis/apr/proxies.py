"""Proxies for a target among the versions of a source (paper 1, section 4.3, Table 3, Figure 6).

Correlations that are compared rest on the same architectures and the same resamples.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from anynet_study.analysis.apr.bootstrap import (
    PairSet,
    Resampled,
    complete_in,
    resample_correlations,
)
from anynet_study.analysis.apr.error_tables import check_columns, check_errors
from anynet_study.analysis.apr.noise import free_of_noise
from anynet_study.analysis.apr.options import Floats, Ints, Method, with_attrs
from anynet_study.analysis.apr.population import aligned_weights
from anynet_study.analysis.apr.roles import Roles
from anynet_study.analysis.apr.simultaneous import bonferroni, can_be_largest, simultaneous
from anynet_study.analysis.apr.verdicts import SMALLEST_CORRELATION, family_of, is_best, verdict
from anynet_study.core.errors import DoesNotApplyError, counted
from anynet_study.core.metrics import binomial_interval, check_level

DIFFERENCE_ENDS = ("difference_low", "difference_high")


def match_family(
    errors: pd.DataFrame,
    roles: Roles,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
    noise: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Each target's correlation with the source and with its closest family member (Table 3).

    The member is the one nearest in class count, of two equally near the one with fewer classes.
    Returns DataFrame[target, classes, member, member_classes, rho_source, rho_source_low,
    rho_source_high, rho_member, ..., difference, ..., n, carries_low, carries_high, carries_over];
    difference =
    member - source, its interval by the paired bootstrap; n counts architectures with all three
    errors. `weights` by architecture as in `correlations`, with `effective` after n.

    `attrs["averages"]` has one row (a dict with these columns), the average of the targets whose
    two correlations are defined; its n is their smallest, its intervals come from averages within
    resamples. It is empty where none is defined.

    `carries_over` is the verdict on the source: is its correlation at least `SMALLEST_CORRELATION`?
    The targets are one family (`apr.verdicts`). It rests on carries_low to carries_high, an
    interval of the correlation without the noise of training (`free_of_noise`), which holds for all
    targets together: `noise` is the table of `noise_ceiling`, at a level that does. Without it,
    nothing tells how much noise hides, and "no" is said of negative correlations alone.

    >>> big = [30, 31, 33, 34, 36, 37, 39, 41, 42, 45]
    >>> half = [20, 22, 21, 25, 24, 27, 29, 28, 31, 33]
    >>> small = [10, 12, 11, 13, 15, 14, 16, 18, 17, 19]
    >>> errors = pd.DataFrame({"big": big, "half": half, "small": small})
    >>> roles = Roles("big", {"big": 100, "half": 50}, {"small": 40})
    >>> table = match_family(errors, roles, resamples=1000)
    >>> table[["target", "member", "rho_source", "rho_member", "carries_over"]].round(2)
      target member  rho_source  rho_member carries_over
    0  small   half        0.96        0.93          yes
    """
    check_level(level, resamples, seed)
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
    resampled = resample_correlations(values, compared.enough(), method, resamples, seed, own)
    count = len(members)
    result = pd.DataFrame({"target": [*roles.targets], "classes": [*roles.targets.values()]})
    result["member"] = members
    result["member_classes"] = [roles.family[member] for member in members]
    sizes: dict[str, Floats | Ints] = {"n": compared.counts[:count]}
    if own is not None:
        sizes["effective"] = compared.effective(own)[:count]
    found = {"rho_source": resampled[:count], "rho_member": resampled[count:]}
    differences = {"difference": ("rho_member", "rho_source")}
    result, averages = _with_average(result, found, differences, sizes, level)
    if members == [roles.source] * count:  # also where a formula takes no notice of that
        result["difference_low"] = result["difference_high"] = result["difference"]
        averages = [row | dict.fromkeys(DIFFERENCE_ENDS, row["difference"]) for row in averages]
    of_source = found["rho_source"]
    low, high = of_true(of_source, level, [(roles.source, name) for name in roles.targets], noise)
    result["carries_low"], result["carries_high"] = low, high
    result["carries_over"] = verdict(low, high, SMALLEST_CORRELATION)
    weighted, family = weights is not None, family_of(count, "target")
    return with_attrs(result, level, method, weighted=weighted, family=family, averages=averages)


def of_true(
    statistics: Resampled,
    level: float,
    pairs: Sequence[tuple[str, str]],
    noise: pd.DataFrame | None,
) -> tuple[Floats, Floats]:
    """`free_of_noise` of correlations of pairs of datasets, in intervals that hold together.

    `noise` is a table of `noise_ceiling`; None: nothing tells it.
    """
    told = pd.DataFrame(columns=["icc", "icc_low"]) if noise is None else noise.set_index("dataset")
    iccs, lows = (
        np.array([[told[name].get(side, np.nan) for side in pair] for pair in pairs], float)
        for name in ("icc", "icc_low")
    )
    return free_of_noise(statistics.estimate, simultaneous(statistics, level), iccs, lows)


def _with_average(
    result: pd.DataFrame,
    found: Mapping[str, Resampled],
    differences: Mapping[str, tuple[str, str]],
    sizes: Mapping[str, Floats | Ints],
    level: float,
) -> tuple[pd.DataFrame, list[dict[str, float]]]:
    """The targets with statistics, their differences and sizes; and their average, where it is.

    `found` are statistics of every target, `differences` the two of them that are compared. The
    average is of the targets where all are defined, taken within resamples; of sizes the smallest.
    """

    def columns(statistics: Mapping[str, Resampled]) -> pd.DataFrame:
        compared = {name: statistics[a] - statistics[b] for name, (a, b) in differences.items()}
        table: dict[str, Floats] = {}
        for name, statistic in {**statistics, **compared}.items():
            table |= statistic.columns(level, name)
        return pd.DataFrame(table)

    result = result.join(columns(found)).assign(**sizes)
    known = [np.isfinite(statistic.estimate) for statistic in found.values()]
    defined = np.flatnonzero(np.all(known, axis=0))
    if not len(defined):
        return result, []
    means = columns({name: statistic[defined].average() for name, statistic in found.items()})
    least = {key: size[defined].min().item() for key, size in sizes.items()}
    return result, [means.iloc[0].to_dict() | least]


def best_proxies(
    errors: pd.DataFrame,
    roles: Roles,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
    share: float = 0.1,
) -> pd.DataFrame:
    """Tell how well each member of the family, the source included, stands for each target.

    Returns DataFrame[target, proxy, estimate, low, high, best, n, quarter, quarter_rho,
    quarter_rho_low, quarter_rho_high, top, shared, overlap, overlap_low, overlap_high, by_chance],
    best proxy first within a target. The intervals of estimates hold together for the whole table,
    so that they also hold for whichever proxy is chosen. `best` is a verdict: those that are not
    "no" are the confidence set of the best proxies of the target, which is the best itself where
    there is one (`can_be_largest`; the targets are one family). n counts the architectures with an
    error on the target and on every member that has any. Members and targets that are constant or
    have too few errors keep their row, with NaN and "undecided". `weights` by architecture as in
    `correlations`, with `effective` after n.

    Does a proxy rank those that it holds for the best, and does it find the target's best?
    `quarter_rho` is the correlation over the `quarter` of the n architectures that err least on the
    proxy (rounded up), with the interval of `resample_correlations` of these; below 10 of them by
    formula, and NaN below 4. It is lower than that of all, because they differ less. `shared` of
    the `top` architectures that err least on the target, the `share` of n (rounded up), are among
    as many best on the proxy; `overlap` is their part, with the exact binomial interval, and
    `by_chance` what a proxy that says nothing has: top / n. Of equals, those that come first in the
    table are better. Architectures have no weights here: these are the best of this sample. Raises
    UserError for a share outside 0 to 0.5.

    >>> big = [30, 31, 33, 34, 36, 37, 39, 41, 42, 45]
    >>> half = [20, 22, 21, 25, 24, 27, 29, 28, 31, 33]
    >>> small = [10, 12, 11, 13, 15, 14, 16, 18, 17, 19]
    >>> errors = pd.DataFrame({"big": big, "half": half, "small": small})
    >>> roles = Roles("big", {"big": 100, "half": 50}, {"small": 40})
    >>> best_proxies(errors, roles, resamples=1000)[["proxy", "estimate", "best"]].round(2)
      proxy  estimate       best
    0   big      0.96  undecided
    1  half      0.93  undecided
    """
    check_level(level, resamples, seed)
    if not 0 < share <= 0.5:
        raise DoesNotApplyError(f"share: {share} is not above 0, at most 0.5")
    result, resampled = family_correlations(errors, roles, method, resamples, seed, level, weights)
    result["low"], result["high"] = simultaneous(resampled, level)
    how = (method, resamples, seed, level, share)
    result = result.join(_among_best(check_errors(errors), roles, *how))
    size, known = len(roles.family), np.isfinite(resampled.estimate)
    targets = [np.arange(start, start + size) for start in range(0, len(result), size)]
    each = bonferroni(level, sum(bool(known[rows].any()) for rows in targets))
    best = np.full(len(result), "undecided", dtype=object)
    for rows in (rows[known[rows]] for rows in targets):
        best[rows] = is_best(can_be_largest(resampled[rows], each))
    result.insert(5, "best", best)
    best_first = np.lexsort([-result["estimate"], np.arange(len(result)) // size])
    result = result.iloc[best_first].reset_index(drop=True)
    proxies = "1 proxy" if size == 1 else f"{size} proxies"
    family = f"{counted(len(targets), 'target')} and {proxies}" if len(result) > 1 else ""
    return with_attrs(result, level, method, weighted=weights is not None, family=family)


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
    table = check_errors(errors)
    roles.check(table.columns)
    values = table.to_numpy()
    _, compared = _family_pairs(table, roles)
    own = aligned_weights(weights, table)
    resampled = resample_correlations(values, compared.enough(), method, resamples, seed, own)
    result = pd.DataFrame({**resampled.columns(level), "n": compared.counts})
    result.insert(0, "target", np.repeat(np.array([*roles.targets]), len(roles.family)))
    result.insert(1, "proxy", [*roles.family] * len(roles.targets))
    if own is not None:
        result["effective"] = compared.effective(own)
    return result, resampled


def _among_best(
    table: pd.DataFrame,
    roles: Roles,
    method: Method,
    resamples: int,
    seed: int,
    level: float,
    share: float,
) -> pd.DataFrame:
    """The columns of `best_proxies` on the best architectures, in the order of the family."""
    values = table.to_numpy()
    pairs, compared = _family_pairs(table, roles)
    best, rows = np.zeros_like(compared.rows), []
    for index, (proxy, target) in enumerate(pairs):
        there = np.flatnonzero(compared.rows[index])
        by_proxy, by_target = (
            there[np.argsort(values[there, column], kind="stable")] for column in (proxy, target)
        )
        quarter, top = math.ceil(len(there) / 4), math.ceil(share * len(there))
        best[index, by_proxy[:quarter]] = True
        shared = len({*by_proxy[:top]} & {*by_target[:top]})
        rows.append((quarter, top, shared, len(there)))
    resampled = resample_correlations(
        values, PairSet(compared.columns, best).enough(), method, resamples, seed
    )
    found = pd.DataFrame(rows, columns=["quarter", "top", "shared", "n"])
    tops = found["top"].where(found["top"] > 0)
    overlap = 100 * found["shared"] / tops
    low, high = binomial_interval(overlap, tops, level)
    return pd.DataFrame(
        {
            "quarter": found["quarter"],
            **resampled.columns(level, "quarter_rho"),
            "top": found["top"],
            "shared": found["shared"],
            "overlap": overlap / 100,
            "overlap_low": low / 100,
            "overlap_high": high / 100,
            "by_chance": tops / found["n"],
        }
    )


def _family_pairs(table: pd.DataFrame, roles: Roles) -> tuple[list[tuple[int, int]], PairSet]:
    """Each target with each member, as columns, and the architectures that count for them.

    These have an error on the target and on every member that has any.
    """
    values = table.to_numpy()
    family = [table.columns.get_loc(name) for name in roles.family]
    filled = [index for index in family if not np.isnan(values[:, index]).all()]
    pairs = [
        (member, table.columns.get_loc(target)) for target in roles.targets for member in family
    ]
    return pairs, complete_in(values, pairs, [[*pair, *filled] for pair in pairs])


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
    check_level(level, resamples, seed)
    absent = [name for name in roles.family if name not in costs]
    if absent:
        raise DoesNotApplyError(f"costs: none for {', '.join(absent)}")
    cost = np.array([costs[name] for name in roles.family], dtype=np.float64)
    if not (np.isfinite(cost) & (cost >= 0)).all():
        raise DoesNotApplyError("costs: legal are finite numbers, at least 0")
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
    table = table.iloc[cheapest_first].reset_index(drop=True)
    return with_attrs(table, level, method, weighted=weights is not None)


def _on_front(estimates: Floats, cost: Floats) -> Floats:
    """(p, b) whether each of p proxies is on the front in b resamples; 0 where undefined."""
    known = np.where(np.isfinite(estimates), estimates, -np.inf)
    front = np.zeros(known.shape)
    for number, own in enumerate(known):
        rivals = known[cost <= cost[number]]
        front[number] = np.isfinite(own) & (own >= rivals.max(axis=0))
    return front


def class_or_size(
    errors: pd.DataFrame,
    source: str,
    fewer_images: str,
    fewer_classes: str,
    targets: Sequence[str],
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Is it a subset's fewer classes, or its fewer images? (paper 1, section 4.3.1, Figure 6.)

    A subset with fewer classes also has fewer images. A third version of the source, with all
    classes and as few images, tells the two apart.

    `fewer_images` has the source's classes and about as many images as `fewer_classes`, which has
    some of its classes. Returns DataFrame[target, rho_source, rho_images, rho_classes, by_images,
    by_classes, n], each with _low and _high: `by_images` = rho_images - rho_source is what
    fewer images alone gain, `by_classes` = rho_classes - rho_images what fewer classes gain on top.
    `attrs["averages"]` as in `match_family`, of the targets where all is defined. Intervals are BCa
    bootstrap intervals on shared resamples; n counts the architectures with all four errors.
    """
    check_level(level, resamples, seed)
    table = check_errors(errors)
    versions = [source, fewer_images, fewer_classes]
    check_columns(table, [*versions, *targets], "errors")
    place = {name: table.columns.get_loc(name) for name in table.columns}
    pairs = [(place[version], place[target]) for version in versions for target in targets]
    needed = [[place[name] for name in (*versions, target)] for target in targets] * 3
    compared, count = complete_in(table.to_numpy(), pairs, needed), len(targets)
    resampled = resample_correlations(table.to_numpy(), compared.enough(), method, resamples, seed)
    names = ("rho_source", "rho_images", "rho_classes")
    found = {name: resampled[i * count : (i + 1) * count] for i, name in enumerate(names)}
    differences = {
        "by_images": ("rho_images", "rho_source"),
        "by_classes": ("rho_classes", "rho_images"),
    }
    result = pd.DataFrame({"target": [*targets]})
    sizes = {"n": compared.counts[:count]}
    result, averages = _with_average(result, found, differences, sizes, level)
    return with_attrs(result, level, method, averages=averages)
