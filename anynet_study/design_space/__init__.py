"""Design spaces, architectures and populations; numpy and Arrow only, no torch, no pandas.

- What a network is: `networks` (many at once, their skeleton), `architecture` (one, its id).
- What it costs: `layers` (its convolutions), `complexity`, `memory` (of training).
- Spaces: `space`, its families `anynet` and `regnet`; published networks: `reference`;
  networks of anybody's: `foreign`.
- Sampling: `distribution`, `bands` (and strata), `sampling`.
- Populations: `population`, its table and its files, and how it came about (`population_origin`).
"""

from anynet_study.design_space.anynet import AnyNet
from anynet_study.design_space.architecture import (
    Architecture,
    Costs,
    NetworkPart,
    costs_by_part,
)
from anynet_study.design_space.bands import checked_band, checked_strata
from anynet_study.design_space.complexity import MEASURES, UNITS, measure, parameters
from anynet_study.design_space.foreign import ForeignNetwork, Traced
from anynet_study.design_space.layers import IMAGE_CHANNELS, Convolution, Count, layers
from anynet_study.design_space.memory import FLOAT_BYTES, training_memory
from anynet_study.design_space.networks import (
    STEMS,
    Counts,
    FloatArray,
    IntArray,
    Networks,
    Skeleton,
)
from anynet_study.design_space.population import Population
from anynet_study.design_space.population_files import check_suffix, published
from anynet_study.design_space.population_origin import origin
from anynet_study.design_space.population_table import (
    LETTERS,
    METADATA_KEY,
    AnyNetwork,
    Group,
    columns_of,
    groups_of,
    schema_like,
    stages_of,
    values_of,
)
from anynet_study.design_space.reference import (
    REFERENCE_NAMES,
    canonical,
    is_reference,
    published_at,
    reference,
)
from anynet_study.design_space.regnet import RegNet
from anynet_study.design_space.space import SPACES, DesignSpace, draws_without_bands

__all__ = [
    "FLOAT_BYTES",
    "IMAGE_CHANNELS",
    "LETTERS",
    "MEASURES",
    "METADATA_KEY",
    "REFERENCE_NAMES",
    "SPACES",
    "STEMS",
    "UNITS",
    "AnyNet",
    "AnyNetwork",
    "Architecture",
    "Convolution",
    "Costs",
    "Count",
    "Counts",
    "DesignSpace",
    "FloatArray",
    "ForeignNetwork",
    "Group",
    "IntArray",
    "NetworkPart",
    "Networks",
    "Population",
    "RegNet",
    "Skeleton",
    "Traced",
    "canonical",
    "check_suffix",
    "checked_band",
    "checked_strata",
    "columns_of",
    "costs_by_part",
    "draws_without_bands",
    "groups_of",
    "is_reference",
    "layers",
    "measure",
    "origin",
    "parameters",
    "published",
    "published_at",
    "reference",
    "schema_like",
    "stages_of",
    "training_memory",
    "values_of",
]


def __dir__() -> list[str]:
    """The public names only: modules are no part of them."""
    return __all__
