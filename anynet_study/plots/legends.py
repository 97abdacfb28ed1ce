"""How many columns of a legend fit below a figure."""

from collections.abc import Sequence

#: Inches that a character of a label takes, and a handle with the space around it.
CHARACTER, HANDLE = 0.062, 0.45


def columns_that_fit(labels: Sequence[str], width: float, most: int = 3) -> int:
    """At most `most` columns for these labels in a figure of this width, inches."""
    longest = max((len(label) for label in labels), default=0)
    return max(1, min(most, len(labels), int(width / (HANDLE + CHARACTER * longest))))
