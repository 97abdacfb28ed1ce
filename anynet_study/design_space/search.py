"""A search for different networks in a band: what is asked and found, and if there is hope."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.bands import Bands, Strata
from anynet_study.design_space.complexity import UNITS
from anynet_study.design_space.distribution import words_of
from anynet_study.design_space.networks import (
    IntArray,
    Networks,
    Skeleton,
    networks_of,
)
from anynet_study.errors import UserError

#: A search is given up when even an optimist expects it to need more than this many candidates
#: (some ten seconds' worth) ...
MOST_CANDIDATES = 1 << 27
#: ... and more than this many for each network that is wanted; ...
MOST_EACH = 10_000
#: ... or after so many, when the second half of them brought nothing new; ...
MOST_IN_VAIN = 1 << 23
#: ... or when the second half of them brought nothing but so many repetitions.
MOST_REPEATS = 1 << 20
#: The first look back, after so many candidates; the next ones after twice as many each time.
FIRST_LOOK = 1 << 18
#: The message is made of the networks among so many candidates; where the constraints of a space
#: leave few of them, of this many networks, or of those among MOST_PROBED candidates.
PROBE = 1 << 16
ENOUGH = 1 << 14
MOST_PROBED = 1 << 22


class Seen(NamedTuple):
    """A chunk of candidates after looking at each."""

    candidates: int
    #: Positions in the chunk of those in the space (that obey its constraints).
    in_space: IntArray
    #: Positions in the chunk of those in the space and all bands, their strata (all 0 where the
    #: sample is not stratified), and their `Networks.rows`.
    positions: IntArray
    strata: IntArray
    rows: IntArray


class Space(Protocol):
    """What a search needs of a `DesignSpace`."""

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
    """What is to be sampled; the fields are `DesignSpace.sample`'s arguments, checked."""

    space: Space
    count: int
    bands: Bands
    seed: int
    strata: Strata | None = None

    @property
    def strata_count(self) -> int:
        """The number of strata; 1 where the sample is not stratified."""
        return 1 if self.strata is None else len(self.strata)

    def candidates(self, first: int, count: int) -> tuple[Networks, Any]:
        """Return candidates `first` and following, float64, and which are in the space."""
        return self.space.draw(words_of(self.seed, first, count, self.space.words))

    def look(self, first: int, count: int) -> Seen:
        """Look at candidates `first` and following for those in the bands."""
        networks, legal = self.candidates(first, count)
        in_space = np.arange(count)
        if legal is not None:
            in_space = np.flatnonzero(legal)
            networks = networks.select(in_space)
        inside = np.flatnonzero(self.bands.inside(networks))
        positions, found = in_space[inside], networks.select(inside)
        strata = np.zeros(len(positions), dtype=np.int64)
        if self.strata is not None:
            strata = self.strata.of_networks(found, self.bands)
        return Seen(count, in_space, positions, strata, found.rows())

    def spec(self) -> dict[str, Any]:
        """Return all of the request, JSON-able."""
        limits = self.bands.limits()
        return {
            "space": self.space.to_spec(),
            **{name: list(limits[name]) for name in limits},
            "resolution": self.bands.resolution,
            "classes": self.bands.classes,
            "seed": self.seed,
            "count": self.count,
            **({} if self.strata is None else {"strata": self.strata.spec()}),
        }


@dataclass
class Search:
    """What has been kept, and what was seen on the way."""

    request: Request
    examined: int = 0
    in_space: int = 0
    #: Candidates in the bands and networks that are kept, by stratum.
    in_band: list[int] = field(init=False)
    kept: list[list[IntArray]] = field(init=False)
    missing: int = field(init=False)
    known: set[bytes] = field(default_factory=set)
    #: When to look back next; how many were examined, in the band and kept when it was last done.
    _next_look: int = field(init=False)
    _last_look: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self) -> None:
        strata = self.request.strata_count
        self.missing = self.request.count
        self._next_look = FIRST_LOOK
        self.in_band = [0] * strata
        self.kept = [[] for _ in range(strata)]

    def wanted(self, stratum: int) -> int:
        """How many networks of a stratum the sample has in the end."""
        return len(range(stratum, self.request.count, self.request.strata_count))

    def rows(self) -> list[IntArray]:
        """The kept networks in the order of the sample: one of each stratum in turn."""
        strata = self.request.strata_count
        return [self.kept[k % strata][k // strata] for k in range(self.request.count)]

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
        """Raise UserError, saying what is reachable, once going on would hardly find the rest.

        Judged by the new networks among the candidates since the last look back, at the upper end
        of their rate's interval: so a space that runs out of networks is noticed, too.
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

    def account(self) -> dict[str, Any]:
        """Return the numbers that a reader needs to judge the sample, JSON-able."""
        in_band = sum(self.in_band)
        return {
            "candidates": self.examined,
            "in_space": self.in_space,
            "in_band": in_band,
            "duplicates": in_band - len(self.known),
            "acceptance": in_band / self.in_space,
            "acceptance_interval": list(wilson_interval(in_band, self.in_space)),
            **({"in_band_by_stratum": self.in_band} if len(self.in_band) > 1 else {}),
        }

    def _hopeless(self) -> str:
        if not self.in_space:
            return (
                f"found no architecture: not one of {self.examined:,} candidates obeys the "
                f"constraints of the space, its number of stages included"
            )
        in_band = sum(self.in_band)
        least, most = wilson_interval(in_band, self.in_space)
        limits = self.request.bands.limits()
        bands = " and ".join(
            f"{low:.4g} to {high:.4g} {UNITS[name]}" for name, (low, high) in limits.items()
        )
        strata = self.request.strata
        lacking = [self.wanted(stratum) - len(kept) for stratum, kept in enumerate(self.kept)]
        worst = lacking.index(max(lacking))
        short = f", {lacking[worst]} missing with {strata.name(worst)}" if strata else ""
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

    Where several are limited, each is given for the networks that are inside the other bands,
    if there are any: so one sees which of the bands does not go with the others.
    """
    limits = request.bands.limits()
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
