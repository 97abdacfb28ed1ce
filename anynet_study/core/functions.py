"""Functions and other objects of the user's own, named MODULE:NAME."""

import functools
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from anynet_study.core.errors import UserError, first_line

T = TypeVar("T")


def open_function(text: str, option: str) -> Callable[..., Any]:
    """Anybody's MODULE:FUNCTION, also of a file in this folder; UserError naming the `option`.

    What goes wrong in a call is a UserError, too.
    """
    loaded, found = _imported(text, option)
    if not callable(found):
        here = [
            key
            for key, value in vars(loaded).items()
            if callable(value) and getattr(value, "__module__", "") == loaded.__name__
        ]
        raise _absent(text, option, "function", here)
    return guarded(found, f"{option} {text}")


def guarded(
    function: Callable[..., Any], what: str, passed: tuple[type[Exception], ...] = ()
) -> Callable[..., Any]:
    """Anybody's `function`: what goes wrong in a call is a UserError naming `what` and the line.

    Exceptions that are `passed` are raised as they are.
    """

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except passed:
            raise
        except Exception as error:  # it is anybody's
            raise UserError(f"{what}: {_told(error)}") from error

    return called


def _told(error: Exception) -> str:
    """An error of a user's function, called by `guarded`, and the last line of its file."""
    if isinstance(error, UserError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    mine = [frame for frame in frames if frame.filename == frames[0].filename]
    place = f" ({Path(mine[-1].filename).name}, line {mine[-1].lineno})" if mine else ""
    return f"{type(error).__name__}: {first_line(error)}{place}"


def open_instance(text: str, option: str, kind: type[T]) -> T:
    """Anybody's MODULE:NAME of a kind, also of a file in this folder; UserError as above."""
    loaded, found = _imported(text, option)
    if not isinstance(found, kind):
        here = [key for key, value in vars(loaded).items() if isinstance(value, kind)]
        raise _absent(text, option, kind.__name__, here)
    return found


def _imported(text: str, option: str) -> tuple[ModuleType, Any]:
    """The module, and what has the name in it; None where there is nothing."""
    module, _, name = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # a script's folder is there, the command's is not
    importlib.invalidate_caches()  # the file may be new
    try:
        loaded = importlib.import_module(module)
        return loaded, getattr(loaded, name, None)
    except Exception as error:  # whatever the module does when it is imported
        raise UserError(f"{option} {text}: {module}: {first_line(error)}") from None


def _absent(text: str, option: str, what: str, here: Sequence[str]) -> UserError:
    module, _, name = text.partition(":")
    listed = f"; legal: {', '.join(here)}" if here else ""
    return UserError(f"{option} {text}: {module} has no {what} {name!r}{listed}")
