"""The words on a figure: axis labels with units, and statistics with their intervals.

A table of `apr` says in its `attrs` how it was made: `method` ("spearman", "pearson"
or "kendall"), `level` of its intervals (0 to 1), and whether it is `weighted`. Where an entry is
missing, as in a table read from a file, it counts as Spearman's, 95% and unweighted.
"""

import math
import re
from collections.abc import Iterable

import pandas as pd

from anynet_study.core.metrics import SHOWN

COEFFICIENTS = {
    "spearman": ("Spearman's", "ρ", "rank correlation"),
    "pearson": ("Pearson's", "r", "correlation"),
    "kendall": ("Kendall's", "τ", "rank correlation"),
}
"""Whose coefficient, its letter and what it is, by method."""


#: The id of an architecture, which tells people nothing.
ID = re.compile(r"\b[0-9a-f]{16}\b")


def symbol(method: str) -> str:
    """The letter of a coefficient: ρ, r or τ."""
    return COEFFICIENTS[method][1]


def correlation_name(method: str) -> str:
    """Name a coefficient in words, such as "Kendall's rank correlation"."""
    return f"{COEFFICIENTS[method][0]} {COEFFICIENTS[method][2]}"


def method_of(table: pd.DataFrame) -> str:
    """The method of a table's correlations."""
    return str(table.attrs.get("method") or "spearman")


def letter(table: pd.DataFrame) -> str:
    """The letter of a table's coefficient: ρ, r or τ."""
    return symbol(method_of(table))


def coefficient(table: pd.DataFrame) -> str:
    """Name a table's coefficient on an axis, such as "Spearman's ρ" or "weighted Kendall's τ"."""
    weighted = "weighted " if table.attrs.get("weighted") else ""
    return f"{weighted}{COEFFICIENTS[method_of(table)][0]} {letter(table)}"


def level(table: pd.DataFrame) -> str:
    """Write the level of a table's intervals, such as "95%"."""
    return percent(table.attrs.get("level") or 0.95)


def percent(share: float) -> str:
    """Write a share as a percentage without superfluous digits: "95%", "99.5%"."""
    return f"{100 * share:.6g}%"


def shorten(text: object, limit: int) -> str:
    """Put `text` on one line and cut it in the middle to at most `limit` characters."""
    line = " ".join(str(text).split())
    if len(line) <= limit:
        return line
    tail = (limit - 1) // 2
    return line[: limit - 1 - tail] + "…" + line[len(line) - tail :]


def shortened(names: Iterable[object], limit: int) -> list[str]:
    """Shorten names as `shorten` does, but no two different ones to the same text.

    Of those that would be, what tells them apart stays; where that is too long, the whole name.
    """
    lines = [" ".join(str(name).split()) for name in names]
    alike: dict[str, list[str]] = {}
    for line in dict.fromkeys(lines):
        alike.setdefault(shorten(line, limit), []).append(line)
    labels: dict[str, str] = {}
    for text, group in alike.items():
        labels |= _told_apart(group, text, limit)
    distinct = len(labels) == len({*lines})  # or labels of two groups would be the same
    chosen = {line: label for label, line in labels.items()} if distinct else {}
    return [chosen.get(line, line) for line in lines]


def without_ids(text: str) -> str:
    """A text without the ids of architectures in it.

    >>> without_ids("0f3a0f3a0f3a0f3a (2 → 5)"), without_ids("resnet18")
    ('(2 → 5)', 'resnet18')
    """
    return ID.sub("", text).strip() if ID.search(text) else text


def _told_apart(names: list[str], text: str, limit: int) -> dict[str, str]:
    """Give each of some names a label of its own; all of them are shortened to `text`."""
    if len(names) == 1:
        return {text: names[0]}
    begin = _common(names)
    while begin and names[0][begin - 1].isalnum():  # whole words tell more than single letters
        begin -= 1
    end = _common([name[begin:][::-1] for name in names])
    while end and names[0][len(names[0]) - end].isalnum():
        end -= 1
    labels = {}
    for name in names:
        core = name[begin : len(name) - end]
        room = max(0, limit - len(core) - 2)
        head, tail = name[: min(begin, room - room // 2)], name[len(name) - min(end, room // 2) :]
        tail = tail if min(end, room // 2) else ""
        label = (
            f"{head}{'…' if begin > len(head) else ''}{core}{'…' if end > len(tail) else ''}{tail}"
        )
        labels[label if len(label) <= limit else name] = name
    return labels


def _common(names: list[str]) -> int:
    """Count the characters with which all names begin."""
    columns = enumerate(zip(*names, strict=False))
    return next((at for at, column in columns if len({*column}) > 1), min(map(len, names)))


def counted(name: str, n: pd.Series, limit: int = 24) -> str:
    """Write a name with the largest of the numbers of architectures: "cifar10, n = 500"."""
    return f"{shorten(name, limit)}, n = {int(n.max()) if len(n) else 0}"


def metric_name(metric: str) -> str:
    """Write "top1" as people do, "top-1", with a space after it; nothing for an unknown metric."""
    return f"{SHOWN.get(metric, metric)} " if metric else ""


def error_label(dataset: str, metric: str = "", limit: int = 18) -> str:
    """Label an axis of final test errors in percent; `metric` as in `SHOWN`, or unknown ("")."""
    return f"{metric_name(metric)}error on {shorten(dataset, limit)} (%)"


#: Decimals beyond which a number is as good as the one that it is rounded to.
MOST_DIGITS = 4
#: From here on a number is told as a power of ten: as the end of an interval, it is hardly one.
LARGE = 1e6


def number(value: float, digits: int = 2) -> str:
    """Write a number with a true minus sign; "–" where there is none.

    With up to `MOST_DIGITS` decimals where fewer would make a small number 0, or one just below 1
    (a correlation, say) 1: 0.002, 0.998.
    """
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}" if abs(value) < LARGE else f"{value:.0e}".replace("e+", "e")
    if abs(value) < 1 and abs(float(text)) in (0, 1):
        finer = (f"{value:.{more}f}" for more in range(digits, MOST_DIGITS + 1))
        text = next((told for told in finer if abs(float(told)) not in (0, 1)), text)
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def apart(one: float, other: float) -> tuple[str, str]:
    """Write two numbers that are compared with as many decimals as show which is larger."""
    for digits in range(2, MOST_DIGITS + 1):
        texts = number(one, digits), number(other, digits)
        if texts[0] != texts[1]:
            break
    else:
        return number(one), number(other)
    return texts


def interval(low: float, high: float, digits: int = 2) -> str:
    """Write an interval as `[low, high]`."""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def estimate(value: float, low: float, high: float, digits: int = 2, separator: str = " ") -> str:
    """Write an estimate with its interval, as `0.81 [0.62, 0.91]`.

    It has no further decimals, as a small `number` has, where the interval does not tell it from 0.
    """
    rounded = 0.0 if low <= 0 <= high and round(value, digits) == 0 else value
    return f"{number(rounded, digits)}{separator}{interval(low, high, digits)}"


def compact(value: float) -> str:
    """Write a correlation in few characters: no zero before the point."""
    return number(value).replace("0.", ".", 1)


def correlation(value: float, low: float, high: float, n: int, sign: str = "ρ") -> str:
    """Write a correlation with its interval and the number of architectures."""
    if not math.isfinite(value):
        return f"{sign} undefined, n = {n}"
    return f"{sign} = {estimate(value, low, high)}, n = {n}"
