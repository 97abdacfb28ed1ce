"""The words on a figure: axis labels with units, and statistics with their intervals."""

import math

from anynet_study.metrics import SHOWN


def shorten(text: str, limit: int) -> str:
    """Put `text` on one line and cut it in the middle to at most `limit` characters."""
    text = " ".join(str(text).split())
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return text[: limit - 1 - tail] + "…" + text[len(text) - tail :]


def metric_name(metric: str) -> str:
    """Write "top1" as people do, "top-1", with a space after it; nothing for an unknown metric."""
    return f"{SHOWN.get(metric, metric)} " if metric else ""


def error_label(dataset: str, metric: str = "", limit: int = 18) -> str:
    """Label an axis of final test errors in percent; `metric` as in `SHOWN`, or unknown ("")."""
    return f"{metric_name(metric)}error on {shorten(dataset, limit)} (%)"


def number(value: float, digits: int = 2) -> str:
    """Write a number with a true minus sign; "–" where there is none."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def interval(low: float, high: float, digits: int = 2) -> str:
    """Write an interval as `[low, high]`."""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def compact(value: float) -> str:
    """Write a correlation in few characters: no zero before the point."""
    return number(value).replace("0.", ".", 1)


def correlation(estimate: float, low: float, high: float, n: int) -> str:
    """Write a rank correlation with its interval and the number of architectures."""
    if not math.isfinite(estimate):
        return f"ρ undefined, n = {n}"
    return f"ρ = {number(estimate)} {interval(low, high)}, n = {n}"
