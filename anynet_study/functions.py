"""Functions of the user's own, named MODULE:FUNCTION."""

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anynet_study.errors import UserError, first_line


def open_function(text: str, option: str) -> Callable[..., Any]:
    """Anybody's MODULE:FUNCTION, also of a file in this folder; UserError naming the `option`.

    What goes wrong in a call is a UserError, too.
    """
    module, _, name = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # a script's folder is there, the command's is not
    importlib.invalidate_caches()  # the file may be new
    try:
        loaded = importlib.import_module(module)
        found = getattr(loaded, name, None)
    except Exception as error:  # whatever the module does when it is imported
        raise UserError(f"{option} {text}: {module}: {first_line(error)}") from None
    if not callable(found):
        here = [
            key
            for key, value in vars(loaded).items()
            if callable(value) and getattr(value, "__module__", "") == loaded.__name__
        ]
        listed = f"; legal: {', '.join(here)}" if here else ""
        raise UserError(f"{option} {text}: {module} has no function {name!r}{listed}")

    @functools.wraps(found)
    def called(*given: Any, **named: Any) -> Any:
        try:
            return found(*given, **named)
        except Exception as error:  # it is anybody's
            raise UserError(f"{option} {text}: {first_line(error)}") from error

    return called
