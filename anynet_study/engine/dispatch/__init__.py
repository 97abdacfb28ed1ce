"""From a plan to finished runs: packing, launching, workers, failures, status.

`launch` is the algorithm: what is missing of a study and in no job is submitted to Slurm, or given
to workers of this machine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
