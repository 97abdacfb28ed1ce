"""Import every module of the installed package, so that a dependency not declared is found."""

import importlib
import pkgutil

import anynet_study

#: One is a program, the other a library that looks like a module.
NO_MODULES = ("__main__", "_kernels")

for module in pkgutil.walk_packages(anynet_study.__path__, "anynet_study."):
    if not module.name.endswith(NO_MODULES):
        importlib.import_module(module.name)
