"""What the networks of a space cost, in words: for a message that a band is empty."""

from typing import TYPE_CHECKING

import numpy as np

from anynet_study.design_space.band import MEASURES, UNITS
from anynet_study.design_space.networks import Networks, networks_of

if TYPE_CHECKING:
    from anynet_study.design_space.sampling import Request

#: The message is made of the networks among so many candidates; where the constraints of a space
#: leave few of them, of this many networks, or of those among MOST_PROBED candidates.
PROBE = 1 << 16
ENOUGH = 1 << 14
MOST_PROBED = 1 << 22


def reachable(request: "Request") -> str:
    """Say which complexities the space has, in the measures that the request limits.

    Where several are limited, each is given for the candidates that are inside the other bands,
    if there are any: so one sees which of the bands does not go with the others.
    """
    networks = _probed(request)
    limits = request.bands.limits()
    costs = {name: request.bands.measure(name, networks) for name in MEASURES if name in limits}
    inside = {name: (c >= limits[name][0]) & (c <= limits[name][1]) for name, c in costs.items()}
    said = []
    for name, cost in costs.items():
        others = np.ones(len(cost), dtype=bool)
        for other in costs:
            if other != name:
                others &= inside[other]
        condition = " inside the other bands" if len(costs) > 1 and others.any() else ""
        said.append(_spread(cost[others] if condition else cost, UNITS[name]) + condition)
    strata = request.strata
    if strata is not None and strata.of not in costs:
        everywhere = np.logical_and.reduce([*inside.values(), np.ones(len(networks), dtype=bool)])
        quantity = strata.quantity(networks, request.bands)[everywhere]
        said.append(_spread(quantity, strata.of) + (" inside the bands" if costs else ""))
    at = f"at resolution {request.bands.resolution} and {request.bands.classes} classes"
    return f"{at} this space reaches " + "; ".join(said) if said else "it has no more"


def _probed(request: "Request") -> Networks:
    """The space's networks among the first candidates."""
    rows, found = [], 0
    for first in range(0, MOST_PROBED, PROBE):
        networks, legal = request.candidates(first, PROBE)
        rows.append((networks if legal is None else networks.chosen(legal)).rows())
        found += len(rows[-1])
        if found >= ENOUGH:
            break
    return networks_of(np.concatenate(rows), request.space.frame)


def _spread(costs: np.ndarray, unit: str) -> str:
    if not len(costs):
        return f"no network among {MOST_PROBED:,} candidates"
    low, first, last, high = np.percentile(costs, [0, 1, 99, 100])
    middle = f"98% of {len(costs):,} draws: {first:.3g} to {last:.3g}"
    return f"{low:.3g} to {high:.3g} {unit} ({middle})"
