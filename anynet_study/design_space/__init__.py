"""Design spaces, architectures and populations; numpy and Arrow only, no torch, no pandas."""

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.population import Population
from anynet_study.design_space.reference import reference
from anynet_study.design_space.space import DesignSpace

__all__ = ["Architecture", "DesignSpace", "Population", "reference"]
