"""The analyses of a study, one module for a question or a family of close ones.

Each declares its questions whole: what a question needs, its statistic (of `apr`), its figures (of
`plots`), its sentences, and how a page shows it. `registry` lists all of them: the commands, the
report and the scripts of `analysis/` go through that list. `loading` makes a `Study`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
