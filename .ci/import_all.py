"""Import every module of the installed package, so that a dependency not declared is found."""

import importlib
import pkgutil

import anynet_study

for module in pkgutil.walk_packages(anynet_study.__path__, "anynet_study."):
    if not module.name.endswith("__main__"):  # a program
        importlib.import_module(module.name)
