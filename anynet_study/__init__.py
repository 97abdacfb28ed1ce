"""A study engine for populations of CNN architectures.

`from anynet_study import Architecture, DesignSpace, Population, ResultStore, Sweep, load`: each
name is imported when it is first used, so that a script pays only for what it needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
