"""WordNet's tree of nouns, and how a list of classes lies in it (paper 4).

The database is that of Debian's package wordnet-base (WordNet 3.0, whose noun offsets are the
numbers of ImageNet's classes, n01440764), or any folder with its files data.noun and index.noun.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple, TypeVar

from anynet_study.core.errors import UserError, first_line

#: Where Debian keeps the database; $WNSEARCHDIR and --wordnet name another folder.
DEBIAN = Path("/usr/share/wordnet")
_NUMBER = re.compile(r"n?(\d{8})")

Entry = TypeVar("Entry")


class Synset(NamedTuple):
    """Words with one meaning."""

    words: tuple[str, ...]
    #: Numbers of the synsets directly above it (hypernyms).
    parents: tuple[str, ...]
    #: Its meaning, without examples.
    gloss: str


@dataclass(frozen=True)
class WordNet:
    """The nouns of a WordNet database."""

    #: By number, of eight digits.
    synsets: Mapping[str, Synset]
    #: The numbers of a word's synsets, the most usual first. Words are in lower case, with blanks.
    senses: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, folder: Path | None = None) -> "WordNet":
        """Read the database. UserError if it does not exist or is something else."""
        place = folder or Path(os.environ.get("WNSEARCHDIR") or DEBIAN)
        return cls(_read(place / "data.noun", _synset), _read(place / "index.noun", _senses))

    def named(self, name: str) -> tuple[str, ...]:
        """The synset of a number (n01440764), or all of a noun, the most usual first.

        UserError where there is none.
        """
        if (number := _NUMBER.fullmatch(name)) and number[1] in self.synsets:
            return (number[1],)
        if found := self.senses.get(name.lower().replace("_", " ")):
            return found
        raise UserError(f"class {name!r} is no noun of WordNet")

    def find(self, name: str) -> str:
        """The synset of a number (n01440764), or of a noun that has one sense; else UserError."""
        senses = self.named(name)
        if len(senses) == 1:
            return senses[0]
        listed = ", ".join(
            f"n{one} ({', '.join(self.synsets[one].words[:3])})" for one in senses[:4]
        )
        raise UserError(
            f"class {name!r} has {len(senses)} senses; write the number of one: {listed}"
        )

    def terms(self, synset: str) -> tuple[str, ...]:
        """The words whose most usual sense is this synset; all its words if there are none."""
        words = self.synsets[synset].words
        usual = (word for word in words if self.senses[word.lower()][0] == synset)
        return tuple(usual) or words

    def synonyms(self, term: str) -> tuple[str, ...]:
        """A noun with its synonyms in its most usual sense, or the words of a synset's number.

        Anything else is returned alone.
        """
        try:
            words = self.terms(self.named(term)[0])
        except UserError:
            return (term,)
        return words if _NUMBER.fullmatch(term) else (term, *words)

    def describe(self, synset: str) -> str:
        """Return a synset's words and gloss: `cat, true cat: feline mammal usually ...`."""
        return f"{', '.join(self.synsets[synset].words)}: {self.synsets[synset].gloss}"

    def above(self, synsets: Sequence[str]) -> set[str]:
        """Return some synsets and everything above them (hypernyms), along every path."""
        found, open_ones = set(synsets), list(synsets)
        while open_ones:
            for parent in self.synsets[open_ones.pop()].parents:
                if parent not in found:
                    found.add(parent)
                    open_ones.append(parent)
        return found

    def depth(self, synset: str) -> int:
        """Steps of the shortest path from the root, `entity`."""
        steps, level = 0, {synset}
        while level and not any(not self.synsets[one].parents for one in level):
            level = {parent for one in level for parent in self.synsets[one].parents}
            steps += 1
        return steps


def siblings(wordnet: WordNet, classes: Sequence[str], others: Sequence[str]) -> list[int]:
    """Count, for each class, the `others` that share a parent with it (paper 4, Figure 7).

    A class is no sibling of itself.
    """
    below: dict[str, set[str]] = {}
    for other in others:
        for parent in wordnet.synsets[other].parents:
            below.setdefault(parent, set()).add(other)
    return [
        len(
            {one for parent in wordnet.synsets[own].parents for one in below.get(parent, ())}
            - {own}
        )
        for own in classes
    ]


def overlap(wordnet: WordNet, classes: Sequence[str], others: Sequence[str]) -> dict[str, float]:
    """Shares of the synsets, and of their parents, that both lists have among those of either."""
    lists = set(classes), set(others)
    above = [{up for one in names for up in wordnet.synsets[one].parents} for names in lists]
    return {
        name: len(one & other) / max(1, len(one | other))
        for name, (one, other) in (("classes", lists), ("parents", above))
    }


def tree_statistics(wordnet: WordNet, classes: Sequence[str]) -> dict[str, float]:
    """Statistics of the part of the tree with these synsets and all above (paper 4, Table 3).

    nodes, edges, density (edges of all possible ones, nodes * (nodes - 1)), modularity (of the
    communities that Louvain's method finds among the edges without their direction), and the
    smallest, median and largest depth of the classes; leaves: classes above no other class;
    mean_siblings: of a class among the others, as of `siblings`.
    """
    import networkx

    nodes = wordnet.above(classes)
    edges = [(node, up) for node in sorted(nodes) for up in wordnet.synsets[node].parents]
    tree = networkx.Graph(edges)
    communities = networkx.community.louvain_communities(tree, seed=0) if edges else []
    parted = networkx.community.modularity(tree, communities) if edges else 0.0
    depths = [wordnet.depth(synset) for synset in classes]
    inner = {above for synset in classes for above in wordnet.above([synset]) - {synset}}
    return {
        "classes": len(classes),
        "nodes": len(nodes),
        "edges": len(edges),
        "density": len(edges) / max(1, len(nodes) * (len(nodes) - 1)),
        "modularity": parted,
        "min_depth": min(depths),
        "median_depth": median(depths),
        "max_depth": max(depths),
        "leaves": len(set(classes) - inner),
        "mean_siblings": mean(siblings(wordnet, classes, classes)),
    }


def _read(path: Path, entry: Callable[[str], tuple[str, Entry]]) -> dict[str, Entry]:
    """The entries of a file of the database, which begins with its licence."""
    try:
        with path.open(encoding="utf-8") as file:
            return dict(entry(line) for line in file if not line.startswith(" "))
    except FileNotFoundError:
        raise UserError(
            f"{path}: no WordNet database; install the Debian package wordnet-base, or name "
            "its folder with --wordnet"
        ) from None
    except (OSError, ValueError, IndexError) as error:
        raise UserError(f"{path}: not WordNet's nouns ({first_line(error)})") from None


def _synset(line: str) -> tuple[str, Synset]:
    """A line of data.noun (wndb(5WN))."""
    entry, gloss = line.split(" | ", 1)
    cells = entry.split()
    count = int(cells[3], 16)
    words = tuple(word.replace("_", " ") for word in cells[4 : 4 + 2 * count : 2])
    pointers = cells[5 + 2 * count :]
    parents = tuple(
        target
        for kind, target, part in zip(pointers[::4], pointers[1::4], pointers[2::4], strict=False)
        if kind in ("@", "@i") and part == "n"
    )
    return cells[0], Synset(words, parents, gloss.split('; "')[0].strip())


def _senses(line: str) -> tuple[str, tuple[str, ...]]:
    """A line of index.noun: a word, and its synsets."""
    cells = line.split()
    return cells[0].replace("_", " "), tuple(cells[-int(cells[2]) :])
