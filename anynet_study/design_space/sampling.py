"""Rejection sampling: candidates in a fixed order, of which those inside the bands are kept.

Candidate i is a function of (space, seed, i) alone, and the first `count` different networks in
the bands, in the order of the candidates, are the sample. So nothing depends on how many
candidates are looked at together, or by how many threads, and a smaller sample is a prefix of a
larger one.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from anynet_study.core.errors import UserError
from anynet_study.design_space.bands import Bands, Strata, checked_bands, checked_strata, weights
from anynet_study.design_space.complexity import UNITS
from anynet_study.design_space.distribution import words_of
from anynet_study.design_space.networks import IntArray, Networks, Skeleton, networks_of
from anynet_study.design_space.population import Population
from anynet_study.design_space.population_table import MAX_COUNT
from anynet_study.design_space.validation import whole_number

#: Candidates looked at together: enough to be worth a thread's while, few enough for its cache.
CHUNK = 1 << 14
MAX_THREADS = 8
#: A search is given up if, even by an optimistic estimate, it needs more than this many candidates
#: (some ten seconds) ...
MOST_CANDIDATES = 1 << 27
#: ... and more than this many for each wanted network; ...
MOST_EACH = 10_000
#: ... or after this many candidates, if the second half of them brought no new network; ...
MOST_IN_VAIN = 1 << 23
#: ... or if the second half brought only repetitions, at least this many.
MOST_REPEATS = 1 << 20
#: The search is judged after this many candidates, and again each time their number has doubled.
FIRST_LOOK = 1 << 18
#: To say which complexities a space reaches, PROBE candidates are drawn. If its constraints leave
#: fewer than ENOUGH networks, more candidates are drawn, up to MOST_PROBED.
PROBE = 1 << 16
ENOUGH = 1 << 14
MOST_PROBED = 1 << 22


class Seen(NamedTuple):
    """Counts and hits of a chunk of candidates."""

    candidates: int
    #: Positions in the chunk of the candidates that are in the space (obey its constraints).
    in_space: IntArray
    #: Positions in the chunk of the candidates that are in the space and in all bands; their
    #: strata; their `Networks.rows`.
    positions: IntArray
    strata: IntArray
    rows: IntArray


class Space(Protocol):
    """The part of a `DesignSpace` that sampling needs."""

    @property
    def skeleton(self) -> Skeleton: ...

    @property
    def words(self) -> int: ...

    def draw(
        self, words: npt.NDArray[np.int64], /
    ) -> tuple[Networks, npt.NDArray[np.bool_] | None]: ...

    def to_spec(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Request:
    """A request for a sample; the fields are `DesignSpace.sample`'s arguments, checked."""

    space: Space
    count: int
    bands: Bands
    seed: int
    #: A sample that is not stratified has one stratum.
    strata: Strata

    def candidates(self, first: int, count: int) -> tuple[Networks, Any]:
        """`count` candidates from `first` on (float64), and which of them are in the space."""
        return self.space.draw(words_of(self.seed, first, count, self.space.words))

    def look(self, first: int, count: int) -> Seen:
        """Find the candidates in the bands, among `count` candidates from `first` on."""
        networks, legal = self.candidates(first, count)
        in_space = np.arange(count)
        if legal is not None:
            in_space = np.flatnonzero(legal)
            networks = networks.select(in_space)
        inside = np.flatnonzero(self.bands.inside(networks))
        found = networks.select(inside)
        strata = self.strata.of_networks(found, self.bands)
        return Seen(count, in_space, in_space[inside], strata, found.rows())


def request(
    space: Space,
    count: Any,
    bounds: Mapping[str, Any],
    resolution: Any,
    classes: Any,
    seed: Any,
    strata: Any = None,
) -> Request:
    """Check the arguments of `DesignSpace.sample`. Raises UserError."""
    count = whole_number(count, "count", 1, MAX_COUNT)
    seed = whole_number(seed, "seed", 0, 2**64 - 1)
    bands = checked_bands(bounds, resolution, classes)
    found = checked_strata(strata) or Strata("depth", ())
    if count < len(found):
        raise UserError(f"count: {count} is fewer than the {len(found)} strata")
    return Request(space, count, bands, seed, found)


def sample(
    request: Request,
    chunk: int = CHUNK,
    threads: int | None = None,
    on_found: Callable[[int], None] | None = None,
) -> Population:
    """Draw the population.

    `chunk` and `threads` (see `chunks`) change nothing but the speed. `on_found` is called after
    each chunk with the number of networks found so far.
    """
    search = Search(request)
    for seen in chunks(request, chunk, threads):
        search.take(seen)
        if on_found is not None:
            on_found(request.count - search.missing)
        if not search.missing:
            break
        search.check_hope()
    bands, strata = request.bands, request.strata
    in_band = sum(search.in_band)
    record = {
        "space": request.space.to_spec(),
        **{name: list(limits) for name, limits in bands.limits.items()},
        "resolution": bands.resolution,
        "classes": bands.classes,
        "seed": request.seed,
        "count": request.count,
        **({"strata": strata.spec()} if strata.edges else {}),
        "candidates": search.examined,
        "in_space": search.in_space,
        "in_band": in_band,
        "duplicates": in_band - len(search.known),
        "acceptance": in_band / search.in_space,
        "acceptance_interval": list(wilson_interval(in_band, search.in_space)),
        **({"in_band_by_stratum": search.in_band} if strata.edges else {}),
    }
    # One of each stratum in turn.
    rows = [search.kept[k % len(strata)][k // len(strata)] for k in range(request.count)]
    networks = networks_of(rows, request.space.skeleton)
    unequal = weights(strata, search.in_band, request.count) if strata.edges else None
    return Population.from_networks(networks, bands.resolution, bands.classes, record, unequal)


def chunks(request: Request, chunk: int = CHUNK, threads: int | None = None) -> Iterator[Seen]:
    """Yield what is found among all candidates, chunk by chunk, in order and without end.

    `chunk` candidates are looked at together, by up to `threads` (None: as many as there are
    cores, at most 8), which look ahead.
    """
    # glibc raises its thresholds for keeping freed memory to the size of the largest block that was
    # freed, which makes sampling twice as fast.
    np.empty(1 << 24, dtype=np.uint8)
    threads = threads or min(MAX_THREADS, len(os.sched_getaffinity(0)))
    parts = _parts(chunk)
    yield request.look(*next(parts))  # often enough, and threads would only delay it
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Seen]] = deque()
        try:
            for part in parts:
                ahead.append(pool.submit(request.look, *part))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _parts(chunk: int) -> Iterator[tuple[int, int]]:
    """First candidate and size of each chunk. No chunk spans a point where the search is judged."""
    first, look = 0, FIRST_LOOK
    while True:
        count = min(chunk, look - first)
        yield first, count
        first += count
        look *= 2 if first == look else 1


@dataclass
class Search:
    """The networks that are kept, and counts of the candidates examined."""

    request: Request
    examined: int = 0
    in_space: int = 0
    #: Candidates in the bands and networks that are kept, by stratum.
    in_band: list[int] = field(init=False)
    kept: list[list[IntArray]] = field(init=False)
    missing: int = field(init=False)
    known: set[bytes] = field(default_factory=set)
    #: When the search is judged next; how many candidates were examined, in the band and kept when
    #: it was judged last.
    _next_look: int = field(init=False)
    _last_look: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self) -> None:
        strata = len(self.request.strata)
        self.missing = self.request.count
        self._next_look = FIRST_LOOK
        self.in_band = [0] * strata
        self.kept = [[] for _ in range(strata)]

    def wanted(self, stratum: int) -> int:
        """Return how many networks of a stratum the finished sample has."""
        return len(range(stratum, self.request.count, len(self.kept)))

    def take(self, seen: Seen) -> None:
        """Keep the new ones among the candidates in the bands, up to the number wanted."""
        places = zip(seen.positions.tolist(), seen.strata.tolist(), seen.rows, strict=True)
        for position, stratum, row in places:
            self.in_band[stratum] += 1
            key = row.tobytes()
            if key in self.known:
                continue
            self.known.add(key)
            if len(self.kept[stratum]) == self.wanted(stratum):
                continue
            self.kept[stratum].append(row)
            self.missing -= 1
            if not self.missing:
                self.examined += position + 1
                self.in_space += int(np.searchsorted(seen.in_space, position, side="right"))
                return
        self.examined += seen.candidates
        self.in_space += len(seen.in_space)

    def check_hope(self) -> None:
        """Raise UserError, saying what is reachable, if there is little hope to find the rest.

        The estimate is the upper end of the interval of the rate of new networks since the search
        was judged last. So it also notices when a space has no more networks.
        """
        if self.examined < self._next_look:
            return
        now = (self.examined, sum(self.in_band), self.request.count - self.missing)
        looked, repeats, found = (n - n0 for n, n0 in zip(now, self._last_look, strict=True))
        _, optimistic = wilson_interval(found, looked)
        needed = self.missing / optimistic
        in_vain = self.examined >= MOST_IN_VAIN or repeats >= MOST_REPEATS
        if needed > max(MOST_CANDIDATES, MOST_EACH * self.request.count) or (in_vain and not found):
            raise UserError(self._hopeless())
        self._last_look = now
        self._next_look = 2 * self.examined

    def _hopeless(self) -> str:
        if not self.in_space:
            return (
                f"found no architecture: not one of {self.examined:,} candidates obeys the "
                f"constraints of the space, its number of stages included"
            )
        in_band = sum(self.in_band)
        least, most = wilson_interval(in_band, self.in_space)
        limits = self.request.bands.limits
        bands = " and ".join(
            f"{low:.4g} to {high:.4g} {UNITS[name]}" for name, (low, high) in limits.items()
        )
        strata = self.request.strata
        lacking = [self.wanted(stratum) - len(kept) for stratum, kept in enumerate(self.kept)]
        worst = lacking.index(max(lacking))
        short = f", {lacking[worst]} missing with {strata.name(worst)}" if strata.edges else ""
        return (
            f"found {self.request.count - self.missing:,} of {self.request.count:,} different "
            f"architectures{' with ' + bands if bands else ''}{short}: "
            f"{in_band:,} of {self.in_space:,} "
            f"candidates are in the band (acceptance {least:.2g} to {most:.2g}); "
            f"{_reachable(self.request)}"
        )


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95% confidence interval of a proportion (Wilson's score interval)."""
    if not trials:
        return 0.0, 1.0
    z = 1.959963984540054
    p = successes / trials
    centre = p + z * z / (2 * trials)
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = max(0.0, (centre - spread) / scale) if successes else 0.0  # but for rounding
    return low, min(1.0, (centre + spread) / scale)


def _reachable(request: Request) -> str:
    """Say which complexities the space has, in the measures that the request limits.

    If several are limited, each is given for the networks inside the other bands, if there are any:
    this shows which band conflicts with the others.
    """
    limits = request.bands.limits
    networks = _probed(request)
    if not limits or not len(networks):
        return "it has no more"
    costs = {name: request.bands.measure(name, networks) for name in limits}
    inside = {name: (c >= limits[name][0]) & (c <= limits[name][1]) for name, c in costs.items()}
    said = []
    for name, cost in costs.items():
        others = [mask for other, mask in inside.items() if other != name]
        left = cost[np.all(others, axis=0)] if others else cost
        condition = " inside the other bands" if others and len(left) else ""
        left = left if len(left) else cost
        low, first, last, high = np.percentile(left, [0, 1, 99, 100])
        said.append(
            f"{low:.3g} to {high:.3g} {UNITS[name]} (98% of {len(left):,} draws: "
            f"{first:.3g} to {last:.3g}){condition}"
        )
    place = f"at resolution {request.bands.resolution} and {request.bands.classes} classes"
    return f"{place} this space reaches {'; '.join(said)}"


def _probed(request: Request) -> Networks:
    """The space's networks among the first candidates."""
    rows, found = [], 0
    for first in range(0, MOST_PROBED, PROBE):
        networks, legal = request.candidates(first, PROBE)
        rows.append((networks if legal is None else networks.select(legal)).rows())
        found += len(rows[-1])
        if found >= ENOUGH:
            break
    return networks_of(np.concatenate(rows), request.space.skeleton)
