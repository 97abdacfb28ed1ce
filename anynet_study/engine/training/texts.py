"""The texts of a run that learns from pairs of images and texts (`loss: clip`). Imports no torch.

A text is its words in small letters: the tokeniser is a list of the words that the run can read,
in alphabetical order. Word 0 stands for no word, and for those that are not in the list.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.training.recipe import Recipe

#: Letters and digits; what is between them, underscores too, parts words.
WORD = re.compile(r"[^\W_]+")
#: Words of a text beyond these are not read.
MOST_WORDS = 64
Words = NDArray[np.int64]


def words_of(text: str) -> list[str]:
    """The words of a text that are read."""
    return WORD.findall(text.lower())[:MOST_WORDS]


def prompts_of(classes: Sequence[str], templates: Sequence[str]) -> list[list[str]]:
    """By class the texts that describe it: every template with its name."""
    return [[template.replace("{}", name) for template in templates] for name in classes]


def check_names(classes: Sequence[str]) -> None:
    """UserError where texts do not tell two classes apart, or say nothing of one."""
    found: dict[tuple[str, ...], str] = {}
    for name in classes:
        words = tuple(sorted(words_of(name)))
        if not words:
            raise UserError(f"loss clip: the name of class {name!r} has no words to describe it")
        if words in found:
            raise UserError(
                f"loss clip: classes {found[words]!r} and {name!r} have the same words, so texts "
                "do not tell them apart; give them other names with groups"
            )
        found[words] = name


@dataclass(frozen=True)
class Texts:
    """All texts that a run reads, as numbers of words."""

    #: The words that it knows; that at place n has the number n + 1.
    vocabulary: tuple[str, ...]
    #: (classes, templates, words) what zero-shot tests compare images with.
    prompts: Words
    #: (texts, words) what is trained on.
    trained: Words
    #: (words + 1,) of each word the logarithm of how many texts there are for one that has it; 0 of
    #: word 0.
    weights: NDArray[np.float64]
    #: (training images, 2) of each image its first text in `trained`, and how many it has.
    spans: Words

    @classmethod
    def of(cls, view: DatasetView, recipe: Recipe) -> "Texts":
        """The texts of a recipe on a view: those of its classes, or the images' own captions.

        An image without a caption, or whose caption has no words, has the texts of its class.
        """
        by_class = prompts_of(view.classes, recipe.templates)
        texts = [text for prompts in by_class for text in prompts]
        count = len(texts)
        spans = view.train_labels[:, None] * len(recipe.templates) + [[0, 0]]
        spans[:, 1] = len(recipe.templates)
        for place, captions in enumerate(view.captions() if recipe.texts == "captions" else ()):
            if said := [caption for caption in captions if words_of(caption)]:
                spans[place] = len(texts), len(said)
                texts += said
        vocabulary = tuple(sorted({word for text in texts for word in words_of(text)}))
        trained = numbered(texts, vocabulary)
        shape = (len(view.classes), len(recipe.templates), -1)
        having = [np.unique(words) for words in trained]
        counts = np.bincount(np.concatenate(having), minlength=len(vocabulary) + 1)
        weights = np.log(len(trained) / np.maximum(counts, 1))
        weights[0] = 0.0
        weights = np.rint(weights * 2.0**20) / 2.0**20  # logarithms differ between machines
        return cls(vocabulary, trained[:count].reshape(shape), trained, weights, spans)


def numbered(texts: Iterable[str], vocabulary: Sequence[str]) -> Words:
    """(texts, words of the longest) the numbers of their words; 0 fills the ends."""
    numbers = {word: number for number, word in enumerate(vocabulary, start=1)}
    rows = [[numbers.get(word, 0) for word in words_of(text)] for text in texts]
    found = np.zeros((len(rows), max(1, *map(len, rows))), np.int64)
    for row, words in zip(found, rows, strict=True):
        row[: len(words)] = words
    return found
