"""The report of a study: one page for people, with its figures and tables beside it.

`page` makes the page from the registry of analyses; `drawing` draws the figures; `grid` lays tables
out for people; `summary` has the facts that are no statistics; `headline`
the figure above all, `explore` the data of the drawings, which are in `templates/scripts/`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
