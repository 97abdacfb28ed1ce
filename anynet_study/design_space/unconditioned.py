"""What a space gives before any band has chosen among its networks."""

from typing import Any

import numpy as np

from anynet_study.design_space.band import MEASURES
from anynet_study.design_space.populations.population import Population
from anynet_study.design_space.sampling import request
from anynet_study.design_space.space import DesignSpace

CANDIDATES = 20_000
UNLIMITED = dict.fromkeys(MEASURES)


def unconditioned(
    spec: dict[str, Any], resolution: int, classes: int, candidates: int = CANDIDATES
) -> Population:
    """Return the candidates of seed 0 that are in the space, those that repeat included.

    So a network is there in proportion to its probability, which a sample without repetitions
    does not show where the space is small.
    """
    asked = request(DesignSpace.from_spec(spec), candidates, UNLIMITED, resolution, classes, 0)
    networks, legal = asked.candidates(0, candidates)
    chosen = np.arange(candidates) if legal is None else np.flatnonzero(legal)
    record = {"resolution": resolution, "classes": classes, "count": len(chosen)}
    return Population.from_networks(networks.chosen(chosen), resolution, classes, record)
