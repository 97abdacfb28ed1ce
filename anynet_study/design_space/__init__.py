"""Design spaces, architectures and populations; numpy and Arrow only, no torch, no pandas.

- What a network is: `frame`, `architecture`, and many at once: `networks`, `identity` (ids).
- What it costs: `layers` (its convolutions), `complexity`, `memory` (`saved`, `peak`), `breakdown`.
- Spaces: `space`, its families `anynet` and `regnet`, `named_spaces`, `membership`; published
  networks: `reference`.
- Sampling: `distribution`, `band`, `strata`, `sampling`, `search` (when to give up: `reach`),
  `unconditioned`.
- Populations and their files: `populations`.
"""

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.populations.population import Population
from anynet_study.design_space.reference import reference
from anynet_study.design_space.space import DesignSpace

__all__ = ["Architecture", "DesignSpace", "Population", "reference"]
