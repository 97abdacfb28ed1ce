"""Rejection sampling: candidates in a fixed order, of which those inside the bands are kept.

Candidate i is a function of (space, seed, i) alone, and the first `count` different networks in
the bands, in the order of the candidates, are the sample. So nothing depends on how many
candidates are looked at together, or by how many threads, and a smaller sample is a prefix of a
larger one.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from anynet_study.design_space.bands import checked_bands, checked_strata, weights
from anynet_study.design_space.networks import networks_of
from anynet_study.design_space.population import Population
from anynet_study.design_space.search import FIRST_LOOK, Request, Search, Seen, Space
from anynet_study.design_space.validation import whole_number
from anynet_study.errors import UserError

#: Candidates looked at together: enough to be worth a thread's while, few enough for its cache.
CHUNK = 1 << 14
MAX_THREADS = 8
MAX_COUNT = 10_000_000


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
    request = Request(space, count, bands, seed, checked_strata(strata))
    if count < request.strata_count:
        raise UserError(f"count: {count} is fewer than the {request.strata_count} strata")
    return request


def sample(
    request: Request,
    chunk: int = CHUNK,
    threads: int | None = None,
    on_found: Callable[[int], None] | None = None,
) -> Population:
    """Draw the population.

    `chunk` and `threads` (see `chunks`) change nothing but the speed. `on_found` is told after
    each chunk how many networks have been found.
    """
    search = Search(request)
    for seen in chunks(request, chunk, threads):
        search.take(seen)
        if on_found is not None:
            on_found(request.count - search.missing)
        if not search.missing:
            break
        search.check_hope()
    networks = networks_of(search.rows(), request.space.skeleton)
    record = {**request.spec(), **search.account()}
    unequal = request.strata and weights(request.strata, search.in_band, request.count)
    return Population.from_networks(
        networks, request.bands.resolution, request.bands.classes, record, unequal
    )


def chunks(request: Request, chunk: int = CHUNK, threads: int | None = None) -> Iterator[Seen]:
    """Yield what there is to see among all candidates, chunk by chunk, in order, without end.

    `chunk` candidates are looked at together, by up to `threads` (None: as many as there are
    cores, at most 8), which look ahead.
    """
    _keep_memory()
    threads = threads or min(MAX_THREADS, os.cpu_count() or 1)
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
    """First candidate and size of each chunk; none goes across a look back of the search."""
    first, look = 0, FIRST_LOOK
    while True:
        count = min(chunk, look - first)
        yield first, count
        first += count
        look *= 2 if first == look else 1


def _keep_memory() -> None:
    """Let the allocator keep memory between chunks instead of returning and faulting it anew.

    glibc raises its thresholds for both to the size of the largest block that was freed; that
    makes sampling twice as fast. Elsewhere, this does nothing.
    """
    np.empty(1 << 24, dtype=np.uint8)
