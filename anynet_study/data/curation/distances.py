"""Distances between sets of images, from their features: FID, KID and energy distance.

Pure functions of arrays (images, features). All distances use the same number of images, because
the Fréchet distance has a bias that is proportional to one over that number. A jackknife over
groups of images gives the interval and, for FID, that `bias`.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from anynet_study.core.errors import UserError
from anynet_study.core.progress import progress_if_long
from anynet_study.data import seeded_order

if TYPE_CHECKING:
    import pandas as pd

#: Number of groups of images: the jackknife leaves out one group at a time.
GROUPS = 20
#: Fewest images of a set.
FEWEST = 2 * GROUPS
LEVEL = 0.95
#: Distances that are means of a kernel over pairs of images.
KERNELS = ("kid", "energy")

Features = NDArray[np.float32]
Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A distance, its jackknife bias (0 except for FID), and the corrected one's interval."""

    value: float
    bias: float
    low: float
    high: float

    @property
    def corrected(self) -> float:
        """The distance without its bias."""
        return self.value - self.bias


def equal_samples(
    sizes: Mapping[str, int], images: int | None = None, seed: int = 0
) -> dict[str, NDArray[np.int64]]:
    """Draw equally many rows of each set, by its name, with `seed` and in random order.

    `images` rows of each, or as many as the smallest set has. UserError if a set has too few.
    """
    smallest = min(sizes, key=lambda name: sizes[name])
    if images is not None and images > sizes[smallest]:
        raise UserError(f"--images {images}: {smallest} has {sizes[smallest]}")
    count = images or sizes[smallest]
    if count < FEWEST:
        raise UserError(f"{smallest}: {count} images are too few, {FEWEST} are needed")
    return {
        name: seeded_order(size, "distance", seed, name)[:count] for name, size in sizes.items()
    }


def distance_table(sets: Mapping[str, Features], level: float = LEVEL) -> "pd.DataFrame":
    """Every distance between every pair of `sets`: by name, (images, features) of equal numbers.

    The rows are in random order. Returns DataFrame[a, b, images, fid, fid_bias, fid_corrected,
    fid_low, fid_high, kid, kid_low, kid_high, energy, energy_low, energy_high]. The FID's interval
    is that of the corrected one. UserError for features of different lengths, or with values that
    are not finite.
    """
    import pandas as pd

    _check(sets)
    pairs = list(combinations(sets, 2))
    rows = []
    # The decompositions are small: each uses one thread, and pairs are computed in parallel.
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool,
        progress_if_long("comparing sets", len(pairs)) as report,
    ):
        moments = dict(zip(sets, pool.map(Moments.of, sets.values()), strict=True))
        within = dict(zip(sets, pool.map(_kernel_sums, sets.values()), strict=True))

        def compared(pair: tuple[str, str]) -> dict[str, object]:
            a, b = pair
            count = len(sets[a])
            row: dict[str, object] = {"a": a, "b": b, "images": count}
            found = frechet(moments[a], moments[b], level)
            row |= {"fid": found.value, "fid_bias": found.bias, "fid_corrected": found.corrected}
            row |= {"fid_low": found.low, "fid_high": found.high}
            between = _kernel_sums(sets[a], sets[b])
            for kind in KERNELS:
                sums = within[a][kind], within[b][kind], between[kind]
                value = discrepancy(*sums, count, level)
                row |= {kind: value.value, f"{kind}_low": value.low, f"{kind}_high": value.high}
            return row

        for row in pool.map(compared, pairs):
            rows.append(row)
            report(len(rows))
    return pd.DataFrame(rows)


def _check(sets: Mapping[str, Features]) -> None:
    if len({features.shape[1] for features in sets.values()}) > 1:
        lengths = ", ".join(f"{name} {features.shape[1]}" for name, features in sets.items())
        raise UserError(f"the sets have features of different lengths: {lengths}")
    for name, features in sets.items():
        if not np.isfinite(features).all():
            raise UserError(f"{name}: its features are not all finite numbers")


def _bounds(count: int) -> list[int]:
    return [count * group // GROUPS for group in range(GROUPS + 1)]


class Moments(NamedTuple):
    """Count, sum and sum of products of the features: for each group of images, and for all."""

    #: (GROUPS + 1,), (GROUPS + 1, features), (GROUPS + 1, features, features): the last is all.
    counts: NDArray[np.int64]
    sums: Floats
    products: Floats

    @classmethod
    def of(cls, features: Features) -> "Moments":
        centred = features.astype(np.float64)
        ends = _bounds(len(features))
        parts = [centred[start:end] for start, end in pairwise(ends)]
        counts = np.array([*map(len, parts), len(features)])
        sums = np.stack([*(part.sum(axis=0) for part in parts), centred.sum(axis=0)])
        products = np.stack([part.T @ part for part in parts])
        return cls(counts, sums, np.concatenate([products, products.sum(axis=0)[None]]))

    def gaussian(self, without: int | None = None) -> tuple[Floats, Floats]:
        """Mean (features,) and covariance (features, features), `without` a group."""
        count, total, product = self.counts[-1], self.sums[-1], self.products[-1]
        if without is not None:
            count = count - self.counts[without]
            total, product = total - self.sums[without], product - self.products[without]
        mean = total / count
        return mean, (product - count * np.outer(mean, mean)) / (count - 1)


def frechet(a: Moments, b: Moments, level: float = LEVEL) -> Estimate:
    """The Fréchet distance of two sets' Gaussians, squared, which is called FID."""
    return jackknife(
        lambda without: frechet_distance(*a.gaussian(without), *b.gaussian(without)), level
    )


def frechet_distance(mean: Floats, covariance: Floats, mean2: Floats, covariance2: Floats) -> float:
    """|m - m2|^2 + tr(C + C2 - 2 (C C2)^(1/2)) of two Gaussians."""
    values, vectors = eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    mixed = eigh(root @ covariance2 @ root, eigvals_only=True)
    trace = float(np.trace(covariance) + np.trace(covariance2))
    shared = float(np.sqrt(np.maximum(mixed, 0)).sum())
    return float(((mean - mean2) ** 2).sum()) + trace - 2 * shared


def jackknife(statistic: Callable[[int | None], float], level: float) -> Estimate:
    """The statistic of all images, its bias, and the interval of the corrected statistic.

    `statistic(None)` uses all images, `statistic(k)` leaves out group k. A bias that is
    proportional to one over the number of images is found completely.
    """
    value = statistic(None)
    without = np.array([statistic(group) for group in range(GROUPS)])
    bias = (GROUPS - 1) * float(without.mean() - value)
    spread = float(np.sqrt((GROUPS - 1) * ((without - without.mean()) ** 2).mean()))
    reach = float(scipy.stats.t.ppf(0.5 + level / 2, GROUPS - 1)) * spread
    return Estimate(value, bias, value - bias - reach, value - bias + reach)


def _kernel_sums(a: Features, b: Features | None = None) -> dict[str, Floats]:
    """(GROUPS, GROUPS) sums of each kernel over pairs of (within a set, different) images.

    That of KID is the cube of the inner product over their number plus one (Binkowski et al.
    2018); that of the energy distance is minus the Euclidean distance.
    """
    among = b is None
    b = a if b is None else b
    sums = {kind: np.zeros((GROUPS, GROUPS)) for kind in KERNELS}
    lengths = (b**2).sum(axis=1)
    rows, columns = _bounds(len(a)), _bounds(len(b))
    for group in range(GROUPS):
        part = a[rows[group] : rows[group + 1]]
        inner = part @ b.T
        square = (part**2).sum(axis=1)[:, None] + lengths - 2 * inner
        kernels = {
            "kid": (inner / a.shape[1] + 1) ** 3,
            "energy": -np.sqrt(np.maximum(square, 0)),
        }
        for kind, kernel in kernels.items():
            if among:
                own = np.arange(len(part))
                kernel[own, rows[group] + own] = 0
            per_column = kernel.sum(axis=0, dtype=np.float64)
            sums[kind][group] = np.add.reduceat(per_column, columns[:-1])
    return sums


def discrepancy(
    within: Floats, within2: Floats, between: Floats, count: int, level: float = LEVEL
) -> Estimate:
    """E k(x, x') + E k(y, y') - 2 E k(x, y) without bias, from sums of a kernel over groups."""
    sizes = np.diff(_bounds(count))

    def statistic(without: int | None) -> float:
        kept = np.ones(GROUPS, bool)
        if without is not None:
            kept[without] = False
        n = int(sizes[kept].sum())
        own, own2, mixed = (sums[np.ix_(kept, kept)].sum() for sums in (within, within2, between))
        return float((own + own2) / (n * (n - 1)) - 2 * mixed / n**2)

    found = jackknife(statistic, level)
    reach = (found.high - found.low) / 2  # the estimate is unbiased
    return Estimate(found.value, 0.0, found.value - reach, found.value + reach)
