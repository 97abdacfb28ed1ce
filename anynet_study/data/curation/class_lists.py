"""Choosing classes by their captions, and measuring the diversity of classes (paper 4).

A class is a synset of WordNet. A caption describes it as well as the two are similar. Their
similarity is the inner product of two embeddings of length 1: that of the caption, and that of the
synset's words and gloss.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from anynet_study.core.errors import UserError
from anynet_study.core.functions import open_function
from anynet_study.data import seeded_order
from anynet_study.data.curation.captions import label_captions
from anynet_study.data.curation.wordnet import WordNet

if TYPE_CHECKING:
    import pandas as pd

#: The embedder that needs no model: see `letter_groups`.
NGRAMS = "ngrams"
#: The default threshold is the similarity that this share of unrelated pairs of a caption and a
#: class reaches.
REACHED = 0.001
#: How many captions (and classes) are drawn to see how similar unrelated ones are, and how many of
#: their pairs are reported.
DRAWN, TOLD = 1000, 5
#: A caption that names two classes must be this many times more similar to one of them than to the
#: other.
CLEARLY = 1.25

#: Texts to (texts, features), an array or a sparse matrix.
Embedder = Callable[[list[str]], Any]


class Selection(NamedTuple):
    """Classes that `select_classes` chose, and the candidates."""

    #: DataFrame[class, term, captions, min, mean, median, max, similarity], the most similar class
    #: first. The statistics are over the captions that count for the class; `similarity` is the
    #: mean over the best of them. `class` is a word of the synset, `term` its number (n01440764).
    classes: "pd.DataFrame"
    #: DataFrame[class, caption, similarity]: every candidate with every caption that names it.
    candidates: "pd.DataFrame"
    #: DataFrame[row, class, similarity]: the captions, by their place in the list, that count for
    #: the chosen classes, the most similar first.
    captions: "pd.DataFrame"
    threshold: float
    #: Share of unrelated captions and candidates whose similarity reaches the threshold.
    reached: float
    #: DataFrame[class, caption, similarity]: the most similar unrelated pairs, one for each class.
    unrelated: "pd.DataFrame"


def select_classes(
    captions: Sequence[str],
    nouns: WordNet,
    exclude: Collection[str] = (),
    embed: Embedder | None = None,
    threshold: float | None = None,
    per_class: int = 10,
    count: int | None = None,
) -> Selection:
    """Choose the classes that captions name and describe best, except the excluded ones.

    A candidate is a noun in its most usual sense. At least `per_class` captions name it, it shares
    no word with the synsets `exclude`, and no other candidate lies below it in the tree. A caption
    that names several candidates counts for the one that it is clearly most similar to, or for
    none. A candidate is chosen if the mean similarity of its `per_class` best captions reaches
    `threshold`; at most `count` are chosen. `embed` is called once; the default is `letter_groups`,
    and the default threshold is reached by a thousandth of the unrelated pairs. UserError if
    nothing can be chosen.

    Paper 4, section 3, leaves out every caption that names several candidates. That would leave few
    captions if, for example, the garden around a dog is a candidate too.
    """
    pairs = _candidates(captions, nouns, exclude, per_class)
    synsets, classes = np.unique(pairs["synset"], return_inverse=True)
    texts, places = np.unique(pairs["caption"], return_inverse=True)
    units = _units([*texts, *map(nouns.describe, synsets)], embed or letter_groups)
    described, glosses = units[: len(texts)], units[len(texts) :]
    pairs["similarity"] = described[places].multiply(glosses[classes]).sum(axis=1)
    far = _unrelated(described, glosses, csr_array((np.ones(len(pairs)), (places, classes))))
    if threshold is None:
        threshold = float(far["similarity"].quantile(1 - REACHED))
    alone = _clear(pairs)
    best = alone.groupby("synset")["similarity"].transform(_best, per_class)
    kept = alone[best >= threshold]
    if kept.empty:
        raise UserError(
            f"no class has {per_class} captions for itself of a mean similarity of {threshold:.3g}"
        )
    of_class = kept.groupby(["class", "synset"])["similarity"]
    table = of_class.agg(["count", "min", "mean", "median", "max"])
    table["similarity"] = of_class.apply(_best, per_class)
    table = table.nlargest(count or len(table), "similarity").reset_index()
    similar = kept[kept["synset"].isin(table["synset"])]
    similar = similar.sort_values("similarity", ascending=False, kind="stable", ignore_index=True)
    worst = far.nlargest(DRAWN, "similarity").drop_duplicates("class").head(TOLD)
    worst = worst.assign(caption=texts[worst["text"]])
    worst["class"] = [nouns.terms(synset)[0] for synset in synsets[worst["class"]]]
    return Selection(
        table.assign(synset="n" + table["synset"]).rename(
            columns={"synset": "term", "count": "captions"}
        ),
        pairs[["class", "caption", "similarity"]],
        similar[["row", "class", "similarity"]],
        threshold,
        float((far["similarity"] >= threshold).mean()),
        worst[["class", "caption", "similarity"]].reset_index(drop=True),
    )


def open_embedder(text: str) -> Embedder:
    """The function that embeds texts: `ngrams`, or MODULE:FUNCTION. UserError if there is none."""
    if text == NGRAMS:
        return letter_groups
    if ":" not in text:
        raise UserError(f"--embedder {text}: legal are {NGRAMS} and MODULE:FUNCTION")
    return open_function(text, "--embedder")


def letter_groups(texts: list[str]) -> Any:
    """Embed texts by groups of 3 to 5 letters within words: (texts, groups) sparse, TF-IDF.

    Texts are similar if they share words or parts of rare words. Meaning is not considered.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    return vectorizer.fit_transform(texts)


def _candidates(
    captions: Sequence[str], nouns: WordNet, exclude: Collection[str], per_class: int
) -> "pd.DataFrame":
    """DataFrame[synset, class, row, caption] of each candidate and each caption that names it.

    `class` is a word of the synset, `row` the caption's.
    """
    import pandas as pd

    taken = {word for synset in exclude for word in nouns.synsets[synset].words}
    terms: dict[str, list[str]] = {}
    for word, (usual, *_) in nouns.senses.items():
        if taken.isdisjoint(nouns.synsets[usual].words):
            terms.setdefault(usual, []).append(word)
    named = pd.Series(label_captions(captions, terms, "multi")).explode().dropna()
    counts = named.value_counts()
    enough = set(counts.index[counts >= per_class])
    leaves = enough - {above for synset in enough for above in nouns.above([synset]) - {synset}}
    if len(leaves) < 2:
        raise UserError(
            f"--per-class {per_class}: {len(leaves)} nouns that are not excluded are named by as "
            f"many of the {len(captions):,} captions; 2 are needed"
        )
    named = named[named.isin(leaves)]
    columns = {"synset": named, "class": [nouns.terms(synset)[0] for synset in named]}
    columns |= {"row": named.index, "caption": [captions[row] for row in named.index]}
    return pd.DataFrame(columns).reset_index(drop=True)


def _units(texts: list[str], embed: Embedder) -> csr_array:
    """(texts, features) of length 1."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import normalize

    made = embed(texts)
    made = made if issparse(made) else np.asarray(made)
    if made.ndim != 2 or made.shape[0] != len(texts) or made.dtype.kind not in "fiu":
        raise UserError(
            f"--embedder: of {len(texts)} texts it made {made.dtype} {made.shape}; needed are "
            f"numbers, ({len(texts)}, features)"
        )
    found = csr_array(made, dtype=np.float64)
    if not np.isfinite(found.data).all():
        raise UserError("--embedder: not all numbers that it made are finite")
    return csr_array(normalize(found))


def _unrelated(described: csr_array, glosses: csr_array, named: csr_array) -> "pd.DataFrame":
    """DataFrame[text, class, similarity]: some captions with all classes that they do not name.

    `named` (captions, classes) is 0 there.
    """
    import pandas as pd

    texts = seeded_order(described.shape[0], "unrelated captions")[:DRAWN]
    classes = seeded_order(glosses.shape[0], "unrelated classes")[:DRAWN]
    first, second = np.nonzero(named[texts][:, classes].toarray() == 0)
    similar = (described[texts] @ glosses[classes].T).toarray()[first, second]
    return pd.DataFrame({"text": texts[first], "class": classes[second], "similarity": similar})


def _clear(pairs: "pd.DataFrame") -> "pd.DataFrame":
    """The most similar class of a caption, if no other class that it names is nearly so similar."""
    ordered = pairs.sort_values("similarity", ascending=False, kind="stable")
    first = ordered.drop_duplicates("row")
    second = ordered.drop(first.index).drop_duplicates("row").set_index("row")["similarity"]
    return first[first["similarity"] > CLEARLY * first["row"].map(second).fillna(0)]


def _best(similarity: "pd.Series[float]", count: int) -> float:
    """The mean of the best `count`; NaN where there are fewer."""
    return float(similarity.nlargest(count).mean()) if len(similarity) >= count else np.nan


def class_similarity(features: NDArray[np.float32], classes: NDArray[np.object_]) -> "pd.DataFrame":
    """Similarity of the images of each class: mean inner products of features of length 1.

    `features` (images, features), `classes` (images,) names. Returns DataFrame[class, images,
    within, between], sorted by class: the mean over pairs of images of the class (paper 4, Figure
    5; NaN for one image), and over pairs of one of them with one of another class (Figure 6). The
    mean over all images is subtracted first.
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
