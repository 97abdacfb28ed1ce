"""The torch module of an Architecture, exact rewrites of it for speed, and foreign networks.

Each name is imported when it is first used: naming a backend imports no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
