"""The torch module of an Architecture, exact rewrites of it for speed, and compiled kernels.

Each name is imported when it is first used: asking for the compiled kernels imports no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
