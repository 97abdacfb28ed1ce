"""A study engine for populations of CNN architectures.

`from anynet_study import Architecture, DesignSpace, Population, ResultStore, Sweep, load`: each
name is imported when it is first used, so that a script pays only for what it needs.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.analyses import load
    from anynet_study.design_space import Architecture, DesignSpace, Population, reference
    from anynet_study.store import ResultStore, ResultStores
    from anynet_study.sweep import Sweep

__all__ = [
    "Architecture",
    "DesignSpace",
    "Population",
    "ResultStore",
    "ResultStores",
    "Sweep",
    "load",
    "reference",
]

__getattr__ = on_first_use(
    __name__,
    {
        "Architecture": "design_space",
        "DesignSpace": "design_space",
        "Population": "design_space",
        "reference": "design_space",
        "ResultStore": "store",
        "ResultStores": "store",
        "Sweep": "sweep",
        "load": "analyses",
    },
)
