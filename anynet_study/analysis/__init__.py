"""From a store, or any table of errors, to answers: tables, figures, sentences, and the report.

`apr` has the statistics, `plots` the figures: pure functions of tables. `analysis` says what an
analysis is, `analyses` declares all of them, `study` is the loaded study that they are of, `report`
the page. Nothing here knows how networks are trained: all it reads is the store.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
