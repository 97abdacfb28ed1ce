"""Datasets as an instrument: made by rules, compared with each other, and chosen.

Works on packed datasets and on tables; trains nothing. Each name is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
