"""Exceptions with which commands end, each with its exit code and its one line of reason."""

import difflib
import errno
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

#: So many names are given of what is wrong in the same way.
EXAMPLES = 3
#: Errors of the system that say what is in the place of a file, or that nothing is.
NOT_A_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EFBIG, errno.ENXIO)
#: What would end the line, or give the terminal an order.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class UserError(ValueError):
    """Bad input: one clear line saying what, where and what is legal (exit code 2)."""


class DoesNotApplyError(UserError):
    """An analysis needs what these results do not have, or too little of: it is left out.

    Nothing is wrong with any file; of what is, UnreadableError is raised.
    """


class UnreadableError(UserError):
    """A file is damaged or no file of its kind, or its disk fails: nothing can be said of it."""


def said_of(what: str, error: UserError) -> UserError:
    """Return an error of the same type whose line says first what it is about."""
    kind = UnreadableError if isinstance(error, UnreadableError) else UserError
    return kind(f"{what}: {error}")


class WorkFailedError(Exception):
    """The input was fine, but some of the work failed (exit code 1)."""


def keeps_from_reading(error: BaseException | None) -> TypeGuard[OSError]:
    """Tell whether an error is of a disk that fails, or of a file that may not be read.

    Then nothing is known of the file; of one that is not there, or is no file, it is.
    """
    return isinstance(error, OSError) and bool(error.errno) and error.errno not in NOT_A_FILE


def first_line(error: BaseException) -> str:
    """The first line of what an error of a library says, or else what it is called.

    Of an error of the system: the file, if it names one, and the reason, without its number.
    """
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return said.strip().partition("\n")[0] or type(error).__name__


def printable(text: str) -> str:
    r"""`text` with `\xff` for control characters and for bytes that are not UTF-8."""
    whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return whole.translate(_CONTROLS)


def counted(number: int, noun: str) -> str:
    """`1 file`, `2,000 files`: for nouns that take an s."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def nearest(value: object, legal: Iterable[str]) -> str:
    """` (did you mean 'match'?)` of the legal name most like `value`; nothing where none is."""
    matches = difflib.get_close_matches(str(value), list(legal), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def nearest_or_all(value: object, legal: Sequence[str], there: str = "legal: ") -> str:
    """Tell of a name that is unknown the legal one most like it, or else all of them.

    `there` is written before all names, as in `; legal: mean, first`.
    """
    return nearest(value, legal) or f"; {there}{', '.join(legal)}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def some_of(names: Iterable[object], most: int = 12) -> list[str]:
    """All names, or of very many the first and how many more there are."""
    texts = [str(name) for name in names]
    return texts if len(texts) <= most else [*texts[: most - 1], f"{len(texts) - most + 1} more"]


def some(names: Sequence[Any]) -> str:
    """Return how many names there are, and the first of them: `12 (a, b, c, ...)`."""
    first = ", ".join(str(name) for name in names[:EXAMPLES])
    more = ", ..." if len(names) > EXAMPLES else ""
    return f"{len(names)} ({first}{more})"


def amount(value: float, digits: int = 4, smallest: float = 1e3) -> str:
    """A few significant digits and k, M or G: `1.234M`; plain below `smallest`."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, smallest):
            return f"{value / unit:.{digits}g}{suffix}"
    return f"{value:.{digits}g}"


def size_of(count: float) -> str:
    """Bytes in the unit that fits: `1.23 GB`, `45.6 MB`, `789 kB`, `12 bytes`."""
    for unit, called in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= 0.9995 * unit:  # or it would be rounded to `1e+03`
            return f"{count / unit:.3g} {called}"
    return counted(round(count), "byte")
