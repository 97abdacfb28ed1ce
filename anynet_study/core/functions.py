"""Functions and other objects of the user's own, named MODULE:NAME, and the source behind them."""

import ast
import functools
import hashlib
import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from anynet_study.core.errors import UserError, first_line

T = TypeVar("T")
#: Folders of packages that were installed: what is in one is not edited while a study waits.
INSTALLED = frozenset({"site-packages", "dist-packages"})


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
    _look_here()
    try:
        loaded = importlib.import_module(module)
        return loaded, getattr(loaded, name, None)
    except Exception as error:  # whatever the module does when it is imported
        raise UserError(f"{option} {text}: {module}: {first_line(error)}") from None


def _absent(text: str, option: str, what: str, here: Sequence[str]) -> UserError:
    module, _, name = text.partition(":")
    listed = f"; legal: {', '.join(here)}" if here else ""
    return UserError(f"{option} {text}: {module} has no {what} {name!r}{listed}")


def _look_here() -> None:
    """Let Python find modules of this folder, too, and files that are new."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # a script's folder is there, the command's is not
    importlib.invalidate_caches()


def own_sources(text: str) -> dict[str, Path]:
    """The files of MODULE:NAME's module, and of those that it imports, without installed packages.

    By their places on Python's path, such as `mine.py` or `lab/nets.py`. Imports are those that a
    source states: nothing is executed. Neither what is imported in another way nor other files that
    a function reads are among them. Empty where the module is installed or not there.
    """
    _look_here()
    found: dict[str, Path] = {}
    left, seen = [text.partition(":")[0]], set[str]()
    while left:
        parts = left.pop().split(".")
        for number in range(1, len(parts) + 1):  # a module's packages are imported before it
            module = ".".join(parts[:number])
            if module not in seen and (path := _own_file(module)):
                is_package = path.stem == "__init__"
                folder = Path(*parts[: number if is_package else number - 1])
                found[(folder / path.name).as_posix()] = path
                left += _imported_by(path, module if is_package else module.rpartition(".")[0])
            seen.add(module)
    return found


def source_digest(sources: Mapping[str, Path], version: str = "") -> str:
    """16 hexadecimal digits of files, by their places on Python's path (`own_sources`), and of the
    version that they are said to have; "" where there is no file.
    """
    digest = hashlib.sha256(version.encode())
    for name, path in sorted(sources.items()):
        content = path.read_bytes()
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16] if sources else ""


def _own_file(module: str) -> Path | None:
    """The file of a module that nobody installed, if there is one; no module is imported for it."""
    top, *below = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None or top == __name__.partition(".")[0]:
        return None
    files = [Path(spec.origin or "")]
    if below:
        folders = [Path(folder, *below) for folder in spec.submodule_search_locations or ()]
        files = [
            path for it in folders for path in (it / "__init__.py", it.with_name(f"{it.name}.py"))
        ]
    path = next((path for path in files if path.is_file()), None)
    if path is None or INSTALLED & {*path.parts}:
        return None
    return None if path.is_relative_to(sysconfig.get_path("stdlib")) else path


def _imported_by(path: Path, package: str) -> Iterator[str]:
    """The names that may be modules among what a source in a `package` imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # compiled, or what Python will refuse
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join(filter(None, [*(above if node.level else ()), node.module]))
            yield from (f"{base}.{alias.name}" for alias in node.names if base)
