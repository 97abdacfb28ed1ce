"""A study engine for populations of CNN architectures.

`from anynet_study import Architecture, DesignSpace, Population, ResultStore, Sweep, reference`:
each name is imported when it is first used, so that a script pays only for what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    "reference",
]

_HOMES = {
    "Architecture": "design_space",
    "DesignSpace": "design_space",
    "Population": "design_space",
    "reference": "design_space",
    "ResultStore": "store",
    "ResultStores": "store",
    "Sweep": "sweep",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"anynet_study.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'anynet_study' has no attribute '{name}'")
