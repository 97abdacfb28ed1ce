"""Packages whose names are imported when they are first used: a process pays for what it needs."""

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def on_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` (PEP 562) of a package that offers each name from one of its modules.

    `homes` has the module of each name; no name may be that of a module of the package.
    """

    def attribute(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute


def stated_homes(file: str) -> dict[str, str]:
    """The homes of the names that a package's `__init__.py` imports under `if TYPE_CHECKING`."""
    body = ast.parse(Path(file).read_text(encoding="utf-8")).body
    imports = [node for block in body if isinstance(block, ast.If) for node in block.body]
    return {
        name.name: (node.module or "").rpartition(".")[2]
        for node in imports
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
