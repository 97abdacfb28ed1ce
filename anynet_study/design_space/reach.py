"""What the networks of a space cost, in words: for a message that a band is empty."""

from typing import TYPE_CHECKING

import numpy as np

from anynet_study.design_space.band import MEASURES

if TYPE_CHECKING:
    from anynet_study.design_space.sampling import Request

#: Candidates that the message is made of.
PROBE = 1 << 16
UNITS = {"flops": "FLOPs", "parameters": "parameters", "activations": "activations"}


def reachable(request: "Request") -> str:
    """Say which complexities the space has, in the measures that the request limits.

    Where several are limited, each is given for the candidates that are inside the other bands,
    if there are any: so one sees which of the bands does not go with the others.
    """
    networks, legal = request.candidates(0, PROBE)
    if legal is not None:
        networks = networks.chosen(np.flatnonzero(legal))
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


def _spread(costs: np.ndarray, unit: str) -> str:
    if not len(costs):
        return f"no network among {PROBE:,} candidates"
    low, first, last, high = np.percentile(costs, [0, 1, 99, 100])
    return f"{low:.3g} to {high:.3g} {unit} (98% of it {first:.3g} to {last:.3g})"
