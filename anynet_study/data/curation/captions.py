"""From captions to labels: finds the terms of each class among the words of captions.

Subset matching as in paper 5, appendix H. Strict: a caption gets a class if its terms name that
class alone. Single: it gets the class that is named first. Multi: it gets all named classes, up to
25.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import binomial_interval

if TYPE_CHECKING:
    import pandas as pd

Strategy = Literal["strict", "single", "multi"]
#: The most classes of a caption.
MOST_CLASSES = 25
_WORD = re.compile(r"[^\W_]+")

#: The classes of each term; the keys are the term's words.
Index = dict[tuple[str, ...], set[str]]


def label_captions(
    captions: Sequence[str], terms: Mapping[str, Sequence[str]], strategy: Strategy
) -> list[tuple[str, ...]]:
    """Return the classes of each caption; an empty list if it gets no label.

    `terms` are the terms of each class. A term is found if its words follow each other; case does
    not matter, and the last word may be in the plural. A term inside a longer one does not count
    ("fire truck" is no "truck"). A term of several classes names all of them. UserError for a term
    without words.
    """
    index = _index(terms)
    longest = max(map(len, index), default=0)
    found = []
    for caption in captions:
        named = list(dict.fromkeys(_named(words_of(caption), index, longest)))
        if strategy == "strict":
            named = named if len(named) == 1 else []
        found.append(tuple(named[: 1 if strategy == "single" else MOST_CLASSES]))
    return found


@dataclass(frozen=True)
class Quality:
    """Accuracy and utilisation of labels."""

    captions: int
    #: Number of captions that have a label.
    labelled: int
    #: Share of the labelled captions whose true class is among their labels; NaN if no truth is
    #: known.
    accuracy: float
    #: Share of all captions that are labelled correctly.
    utilisation: float


def quality(labels: Sequence[tuple[str, ...]], truth: Sequence[str] | None) -> Quality:
    """Count the captions that are labelled, and those that are labelled correctly."""
    labelled = sum(map(bool, labels))
    if truth is None:
        return Quality(len(labels), labelled, np.nan, np.nan)
    right = sum(true in given for given, true in zip(labels, truth, strict=True))
    accuracy = right / labelled if labelled else np.nan
    return Quality(len(labels), labelled, accuracy, right / max(1, len(labels)))


def class_quality(
    labels: Sequence[tuple[str, ...]], truth: Sequence[str], level: float = 0.95
) -> "pd.DataFrame":
    """Tell how good the labels of each true class are (paper 5, Figures 18 and 19), the worst
    first.

    Returns DataFrame[class, captions, labelled, accuracy, low, high, utilisation] in percent:
    accuracy is the share of its labelled captions that have it as a label, with its
    Clopper-Pearson interval; NaN where none is labelled.
    """
    import pandas as pd

    rows = [(true, bool(given), true in given) for given, true in zip(labels, truth, strict=True)]
    of_class = pd.DataFrame(rows, columns=["class", "labelled", "right"]).groupby("class")
    table = of_class.agg(
        captions=("right", "size"), labelled=("labelled", "sum"), right=("right", "sum")
    )
    table["accuracy"] = 100 * table["right"] / table["labelled"].where(table["labelled"] > 0)
    low, high = binomial_interval(100 - table["accuracy"], table["labelled"], level)
    table["low"], table["high"] = 100 - high, 100 - low
    table["utilisation"] = 100 * table["right"] / table["captions"]
    ordered = table.sort_values(["accuracy", "utilisation"], kind="stable").reset_index()
    return ordered.drop(columns="right")


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case and without punctuation."""
    return _WORD.findall(text.lower())


def _index(terms: Mapping[str, Sequence[str]]) -> Index:
    index: Index = {}
    for name, of_class in terms.items():
        for term in of_class:
            words = words_of(term)
            if not words:
                raise UserError(f"class {name!r}: term {term!r} has no words")
            for last in (words[-1], f"{words[-1]}s", f"{words[-1]}es"):
                index.setdefault((*words[:-1], last), set()).add(name)
    return index


def _named(words: list[str], index: Index, longest: int) -> list[str]:
    """The classes that terms name, in the order of the words; the longest term of each place."""
    found: list[str] = []
    place = 0
    while place < len(words):
        for end in range(min(place + longest, len(words)), place, -1):
            if names := index.get(tuple(words[place:end])):
                found += sorted(names)
                place = end
                break
        else:
            place += 1
    return found
