"""The plan of a sweep: its runs, the order in which they are trained, and what each costs.

A plan is a function of the sweep, its population and its datasets, and of tuned recipes also of
what is recorded. Nothing here knows of jobs, or writes to a study.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
