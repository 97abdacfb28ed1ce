"""Datasets: read as they are downloaded, packed once, cut into variants.

Each name is imported when it is first used: a process that decodes needs none of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
