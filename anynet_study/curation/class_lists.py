"""Lists of classes (paper 4): how they lie in WordNet's tree of nouns, and how alike images are.

The database is that of Debian's package wordnet-base (WordNet 3.0, whose noun offsets are the
numbers of ImageNet's classes, n01440764), or any folder with its file data.noun.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anynet_study.errors import UserError, first_line

if TYPE_CHECKING:
    import pandas as pd

#: Where Debian keeps the database; $WNSEARCHDIR and --wordnet name another folder.
DEBIAN = Path("/usr/share/wordnet")
FILE = "data.noun"
_NUMBER = re.compile(r"n?(\d{8})")


@dataclass(frozen=True)
class WordNet:
    """The nouns of a WordNet database."""

    #: By synset, its number of eight digits: its words; and the synsets that it is a kind of.
    words: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, folder: Path | None = None) -> "WordNet":
        """Read data.noun; UserError where it is not there, or is something else."""
        path = (folder or Path(os.environ.get("WNSEARCHDIR") or DEBIAN)) / FILE
        words, parents = {}, {}
        try:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    if not line.startswith(" "):  # the licence
                        number, words[number], parents[number] = _entry(line)
        except FileNotFoundError:
            raise UserError(
                f"{path}: no WordNet database; install the Debian package wordnet-base, or name "
                "its folder with --wordnet"
            ) from None
        except (OSError, ValueError, IndexError) as error:
            raise UserError(f"{path}: not WordNet's nouns ({first_line(error)})") from None
        return cls(words, parents)

    @cached_property
    def synsets(self) -> dict[str, list[str]]:
        """By word, in small letters and with blanks, its synsets in the order of the database."""
        found: dict[str, list[str]] = {}
        for number, names in self.words.items():
            for name in names:
                found.setdefault(name.lower(), []).append(number)
        return found

    def find(self, name: str) -> str:
        """The synset of a number (n01440764), or of a word that has one sense; else UserError."""
        if (number := _NUMBER.fullmatch(name)) and number[1] in self.words:
            return number[1]
        senses = self.synsets.get(name.lower().replace("_", " "), [])
        if len(senses) == 1:
            return senses[0]
        if not senses:
            raise UserError(f"class {name!r} is no noun of WordNet")
        listed = ", ".join(f"n{one} ({', '.join(self.words[one][:3])})" for one in senses[:4])
        raise UserError(f"class {name!r} has {len(senses)} senses, name one: {listed}")

    def above(self, synsets: Sequence[str]) -> set[str]:
        """These synsets and all that they are a kind of, along every path."""
        found, open_ones = set(synsets), list(synsets)
        while open_ones:
            for parent in self.parents[open_ones.pop()]:
                if parent not in found:
                    found.add(parent)
                    open_ones.append(parent)
        return found

    def depth(self, synset: str) -> int:
        """Steps of the shortest path from the root, `entity`."""
        steps, level = 0, {synset}
        while level and not any(not self.parents[one] for one in level):
            level = {parent for one in level for parent in self.parents[one]}
            steps += 1
        return steps


def tree_statistics(wordnet: WordNet, classes: Sequence[str]) -> dict[str, float]:
    """Of the smallest part of the tree with these synsets and all above them (paper 4, Table 3).

    nodes, edges, density (edges of all possible ones, nodes * (nodes - 1)), and the smallest,
    median and largest depth of the classes; leaves: classes above no other class.
    """
    nodes = wordnet.above(classes)
    edges = sum(len(wordnet.parents[node]) for node in nodes)
    depths = [wordnet.depth(synset) for synset in classes]
    inner = {above for synset in classes for above in wordnet.above([synset]) - {synset}}
    return {
        "classes": len(classes),
        "nodes": len(nodes),
        "edges": edges,
        "density": edges / max(1, len(nodes) * (len(nodes) - 1)),
        "min_depth": min(depths),
        "median_depth": median(depths),
        "max_depth": max(depths),
        "leaves": len(set(classes) - inner),
    }


def class_similarity(features: NDArray[np.float32], classes: NDArray[np.object_]) -> "pd.DataFrame":
    """How alike the images of each class are: mean inner products of features of length 1.

    `features` (images, features), `classes` (images,) names. Returns DataFrame[class, images,
    within, between], sorted by class: the mean over pairs of images of the class (paper 4, Figure
    5; NaN for one image), and over pairs of one of them with one of another class (Figure 6). The
    mean over all images is taken off first, which all share.
    """
    import pandas as pd

    centred = features - features.mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    units = centred / np.where(length > 0, length, 1)
    whole = units.sum(axis=0)
    rows = []
    for name in sorted(set(classes)):
        own = units[classes == name]
        count, total = len(own), own.sum(axis=0)
        pairs = count * (count - 1)
        within = (total @ total - (own**2).sum()) / pairs if pairs else np.nan
        others = count * (len(units) - count)
        between = total @ (whole - total) / others if others else np.nan
        rows.append({"class": name, "images": count, "within": within, "between": between})
    return pd.DataFrame(rows)


def _entry(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Number, words and parents of a line of data.noun (wndb(5WN))."""
    cells = line.split(" | ")[0].split()
    number, count = cells[0], int(cells[3], 16)
    words = tuple(word.replace("_", " ") for word in cells[4 : 4 + 2 * count : 2])
    pointers = cells[5 + 2 * count :]
    parents = tuple(
        target
        for kind, target, part in zip(pointers[::4], pointers[1::4], pointers[2::4], strict=False)
        if kind in ("@", "@i") and part == "n"
    )
    return number, words, parents
