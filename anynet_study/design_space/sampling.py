"""Rejection sampling: candidates in a fixed order, of which those inside the band are kept.

Candidate i is a function of (space, seed, i) alone, and the first `count` different networks in
the band, in the order of the candidates, are the sample. So nothing depends on how many
candidates are looked at together, and a smaller sample is a prefix of a larger one.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anynet_study.design_space import complexity
from anynet_study.design_space.architecture import checked
from anynet_study.design_space.distribution import random_words
from anynet_study.design_space.networks import IntArray, Networks
from anynet_study.design_space.population import Population
from anynet_study.design_space.validation import whole_number
from anynet_study.errors import UserError

if TYPE_CHECKING:
    from anynet_study.design_space.space import DesignSpace

#: 32-bit words that each candidate takes from the stream, whatever it becomes.
WORDS_PER_CANDIDATE = 16
#: Candidates looked at together: few enough to stay in a processor's cache.
CHUNK = 1 << 13
#: Every so many candidates (less than a second) the search asks itself whether to go on, ...
WINDOW = 1 << 20
#: ... which it does unless what is missing would take more than this many windows.
MOST_WINDOWS = 100
MAX_COUNT = 10_000_000


@dataclass(frozen=True)
class Request:
    """What is to be sampled; the fields are `DesignSpace.sample`'s arguments, checked."""

    space: "DesignSpace"
    count: int
    #: Lowest and highest FLOPs, both included; None takes every candidate.
    flops: tuple[int, int] | None
    resolution: int
    classes: int
    seed: int

    def stream(self) -> np.random.Philox:
        """Return the random stream of this request, at its beginning."""
        return np.random.Philox(key=self.seed)

    def candidates(self, stream: np.random.Philox, count: int) -> Networks:
        """Return the networks that the next words of the stream realise."""
        return self.space.drawn(random_words(stream, count, WORDS_PER_CANDIDATE)).realised()

    def flops_of(self, candidates: Networks) -> IntArray:
        """Return the FLOPs that the band is about, shape (n,)."""
        return complexity.flops(candidates, self.resolution, self.classes)

    def inside(self, candidates: Networks) -> IntArray:
        """Return the positions of the candidates in the band, in order."""
        if self.flops is None:
            return np.arange(len(candidates))
        flops = self.flops_of(candidates)
        return np.flatnonzero((flops >= self.flops[0]) & (flops <= self.flops[1]))

    def spec(self) -> dict[str, Any]:
        """Return all of the request, JSON-able."""
        return {
            "space": self.space.to_spec(),
            "flops": None if self.flops is None else list(self.flops),
            "resolution": self.resolution,
            "classes": self.classes,
            "seed": self.seed,
            "count": self.count,
        }


@dataclass
class _Search:
    """What has been kept, and what was seen on the way."""

    wanted: int
    examined: int = 0
    in_band: int = 0
    kept: list[IntArray] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)

    @property
    def missing(self) -> int:
        return self.wanted - len(self.kept)

    def take(self, candidates: Networks, inside: IntArray) -> None:
        """Keep the new ones among the candidates at positions `inside`, up to the number wanted."""
        start = self.examined
        self.examined += len(candidates)
        for position, row in zip(inside.tolist(), candidates.rows()[inside], strict=True):
            self.in_band += 1
            key = row.tobytes()
            if key in self.seen:
                continue
            self.seen.add(key)
            self.kept.append(row)
            if not self.missing:
                self.examined = start + position + 1
                return

    def account(self) -> dict[str, Any]:
        """Return the numbers that a reader needs to judge the sample, JSON-able."""
        return {
            "candidates": self.examined,
            "in_band": self.in_band,
            "duplicates": self.in_band - len(self.kept),
            "acceptance": self.in_band / self.examined,
            "acceptance_interval": list(wilson_interval(self.in_band, self.examined)),
        }


def sample(request: Request, chunk: int = CHUNK) -> Population:
    """Draw the population; `chunk` candidates at a time, which changes nothing but the speed."""
    search = _Search(request.count)
    stream = request.stream()
    missing_before = request.count
    while search.missing:
        size = min(chunk, WINDOW - search.examined % WINDOW)
        candidates = request.candidates(stream, size)
        search.take(candidates, request.inside(candidates))
        if search.missing and search.examined % WINDOW == 0:
            if (missing_before - search.missing) * MOST_WINDOWS < search.missing:
                raise UserError(_hopeless(request, search))
            missing_before = search.missing
    networks = candidates.with_rows(np.array(search.kept))
    record = {**request.spec(), **search.account()}
    return Population.from_networks(networks, request.resolution, request.classes, record)


def request(
    space: "DesignSpace", count: Any, flops: Any, resolution: Any, classes: Any, seed: Any
) -> Request:
    """Check the arguments of `DesignSpace.sample`. Raises UserError."""
    count = whole_number(count, "count", 1, MAX_COUNT)
    seed = whole_number(seed, "seed", 0, 2**64 - 1)
    return Request(space, count, _band(flops), *checked(resolution, classes), seed)


def _band(flops: Any) -> tuple[int, int] | None:
    if flops is None:
        return None
    try:
        low, high = (float(bound) for bound in flops)
    except (TypeError, ValueError):
        raise UserError(f"flops: {flops!r} is not a band: lowest, highest") from None
    if not 0 <= low <= high < 2**63:
        raise UserError(f"flops: the band {low:g} to {high:g} is not 0 <= lowest <= highest < 2^63")
    return math.ceil(low), math.floor(high)


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95% confidence interval of a proportion (Wilson's score interval)."""
    z = 1.959963984540054
    p = successes / trials
    centre = p + z * z / (2 * trials)
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def _hopeless(request: Request, search: _Search) -> str:
    """Say what the search saw before it was given up, and what a band could reach."""
    flops = request.flops_of(request.candidates(request.stream(), 1 << 16))
    low, first, last, high = np.percentile(flops, [0, 1, 99, 100])
    least, most = wilson_interval(search.in_band, search.examined)
    band = "" if request.flops is None else " with {:.4g} to {:.4g} FLOPs".format(*request.flops)
    return (
        f"found {len(search.kept):,} of {request.count:,} different architectures{band}: "
        f"{search.in_band:,} of {search.examined:,} candidates are in the band (acceptance "
        f"{search.in_band / search.examined:.2g}, 95% interval {least:.2g} to {most:.2g}); at "
        f"resolution {request.resolution} and {request.classes} classes this space reaches "
        f"{low:.3g} to {high:.3g} FLOPs (98% of it {first:.3g} to {last:.3g})"
    )
