"""The training of one run: spec -> feeds -> engine -> evaluation -> record.

A `RunSpec` (architecture, data, `Recipe`, seed) says what a run is. `DeviceImages` feed its images,
which `augment` crops and flips; an engine (`fast`, or `reference`, which defines the result) trains
its `network` step by step; `engine.steps` loops over the epochs, with `checkpoint`, and gives an
`Outcome`, of which `dispatch` makes a record. `evaluation` is about further test sets. What takes
long to import is imported when it is first used, and nothing here that a specification needs
imports torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
