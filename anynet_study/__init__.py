"""A study engine for populations of CNN architectures.

`from anynet_study import Architecture, DesignSpace, Population, ResultStore, Sweep, load`: each
name is imported when it is first used, so that a script pays only for what it needs.
"""

from typing import Any

import lazy_loader

_lazily, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """A name of the front door, imported now; `__version__` is that of the installed package."""
    if name == "__version__":
        from importlib.metadata import version

        return version("anynet-study")
    return _lazily(name)
