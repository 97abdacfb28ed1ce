"""Import every module of the installed package, so that a dependency not declared is found."""

import importlib
import pkgutil
from importlib.util import find_spec

import anynet_study

#: Modules that need Triton, which comes with torch for CUDA only.
NEED_TRITON = ("anynet_study.engine.models.fused_norms", "anynet_study.engine.models.norm_kernels")

for module in pkgutil.walk_packages(anynet_study.__path__, "anynet_study."):
    if module.name in NEED_TRITON and find_spec("triton") is None:
        continue
    if not module.name.endswith("__main__"):  # a program
        importlib.import_module(module.name)
