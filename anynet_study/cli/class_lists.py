"""`anynet-study data classes`: classes in WordNet, chosen by captions; how alike images are."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from anynet_study.cli.options import AsJson, opt
from anynet_study.cli.rows import save_csv
from anynet_study.cli.tables import frame_cells, print_table
from anynet_study.errors import UserError, first_line

#: Chosen classes that a table on the terminal shows.
SHOWN = 10

classes_app = typer.Typer(
    no_args_is_help=True,
    help="Where classes lie in WordNet, which to choose, and how similar their images are.",
)
WordNetFolder = Annotated[
    Path | None,
    opt("Folder of WordNet's database. Default: $WNSEARCHDIR, or Debian's wordnet-base."),
]
Picture = Annotated[Path | None, opt("Write a PNG of the distributions.", metavar="FILE")]


@classes_app.command()
def stats(
    classes: Annotated[
        Path,
        typer.Argument(
            metavar="LIST", help="A text file, one class in a line: n01440764, or a noun."
        ),
    ],
    wordnet: WordNetFolder = None,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Describe the part of WordNet that classes span: nodes, edges, density, depth.

    It is the classes and all that they are a kind of. A class is a number of WordNet 3.0 (what
    ImageNet's folders are called), or a noun of one sense; the rest of its line does not count
    after a tab.

    \b
    Example:
      anynet-study data classes stats imagenet-classes.txt
    """
    from anynet_study.curation import WordNet, tree_statistics

    names = _listed(classes)
    nouns = WordNet.read(wordnet)
    synsets = list(dict.fromkeys(map(nouns.find, names)))
    found = tree_statistics(nouns, synsets)
    if picture is not None:
        depths = [float(nouns.depth(synset)) for synset in synsets]
        _draw(picture, {"": {"classes": depths}}, "depth in WordNet")
    if as_json:
        print(json.dumps(found, indent=1))
        return
    print_table((), [(key.replace("_", " "), f"{value:.6g}") for key, value in found.items()])


@classes_app.command()
def select(
    captions: Annotated[
        Path, typer.Argument(metavar="CAPTIONS", help="A table with a column caption.")
    ],
    exclude: Annotated[
        Path | None,
        opt("Classes, one in a line as of `stats`, whose words no chosen class may have."),
    ] = None,
    threshold: Annotated[
        float | None,
        opt("Lowest similarity of a class. Default: reached by 1 in 1,000 unrelated."),
    ] = None,
    embedder: Annotated[
        str,
        opt(
            "What makes texts comparable: ngrams (groups of letters, no model), or "
            "MODULE:FUNCTION, which gets a list of texts and gives (N, features)."
        ),
    ] = "ngrams",
    per_class: Annotated[int, opt("Captions that each class must have.", min=1)] = 10,
    count: Annotated[
        int | None, opt("Choose at most this many, the most similar. Default: all.", min=1)
    ] = None,
    wordnet: WordNetFolder = None,
    picture: Picture = None,
    output: Annotated[
        Path | None,
        opt("Write the chosen as terms of `data label`.", "--output", "-o", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose classes, nouns of WordNet, that captions name and describe, and not those of a list.

    As "ImageNot" was made: of the nouns in the captions, each in its most usual sense, those that
    lie lowest in the tree. A caption of several of them counts for the one that it is clearly most
    like, or for none. The similarity of a class is the mean, over the captions that are most like
    it, of the inner product of embeddings of the caption and of WordNet's gloss. What it is worth
    depends on the embedder: the share of unrelated captions and glosses that reach the threshold is
    told, and which are the most similar. To `ngrams` these are those that share words or syllables:
    it knows no meanings.

    \b
    Examples:
      anynet-study data classes select captions.csv --exclude imagenet-classes.txt -o terms.csv
      anynet-study data label captions.csv --terms terms.csv --synonyms
    """
    from anynet_study.curation import WordNet, open_embedder, read_table, select_classes

    embed = open_embedder(embedder)
    texts = list(read_table(captions, ("caption",))["caption"].astype(str))
    names = [] if exclude is None else _listed(exclude)
    nouns = WordNet.read(wordnet)
    excluded = {synset for name in names for synset in nouns.named(name)}
    found = select_classes(texts, nouns, excluded, embed, threshold, per_class, count)
    if picture is not None:
        over_classes = {kind: found.classes[kind] for kind in ("min", "mean", "median", "max")}
        of_each = dict([*found.candidates.groupby("class")["similarity"]])
        shown = {"the chosen classes": over_classes, "captions of each candidate": of_each}
        _draw(picture, shown, "similarity of caption and gloss")
    candidates = found.candidates["class"].nunique()
    if output is not None:
        save_csv(found.classes, output)
    if as_json:
        tables = {"classes": found.classes, "unrelated": found.unrelated}
        told = {"embedder": embedder, "candidates": candidates}
        told |= {"threshold": found.threshold, "reached": found.reached}
        rows = {name: table.to_dict("records") for name, table in tables.items()}
        print(json.dumps(told | rows, indent=1))
        return
    print(
        f"{len(found.classes)} of {candidates} candidates are chosen: of a similarity "
        f"({embedder}) of {found.threshold:.3g}, which {found.reached:.2%} of the unrelated reach"
    )
    shown = found.classes[["class", "term", "captions", "similarity"]].head(SHOWN)
    print_table(*frame_cells(shown)[:2], left=2)
    if len(found.classes) > SHOWN:
        print(f"and {len(found.classes) - SHOWN:,} more: -o writes all")
    print("\nmost similar of captions and classes that they do not name:")
    print_table(*frame_cells(found.unrelated)[:2], left=2)


@classes_app.command()
def diversity(
    name: Annotated[
        str, typer.Argument(metavar="DATASET", help="A dataset, or NAME:train or NAME:test.")
    ],
    features: Annotated[
        str, opt("As of `data distance`: frequencies, STUDY/RUN or MODULE:FUNCTION.")
    ] = "frequencies",
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Show how similar images are within each class, and between classes.

    The mean inner product of their features, each of length 1 after the mean image is taken off:
    the higher within a class, the less diverse it is.

    \b
    Example:
      anynet-study data classes diversity digits
    """
    import numpy as np

    from anynet_study.curation import class_similarity, features_of, open_extractor, open_images

    images = open_images(name)
    made = features_of(images.images, np.arange(len(images)), open_extractor(features), name)
    table = class_similarity(made, images.classes)
    if picture is not None:
        series = {kind: table[kind] for kind in ("within", "between")}
        _draw(picture, {"": series}, "mean similarity of a class's images")
    if as_json:
        rows = table.to_dict("records")
        known = [{key: None if v != v else v for key, v in row.items()} for row in rows]
        print(json.dumps(known, indent=1))
        return
    print_table(*frame_cells(table)[:2])


def _listed(path: Path) -> list[str]:
    """The classes of a text file: what stands in each line before a tab."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no list can be read from it ({first_line(error)})") from None
    names = [line.split("\t")[0].strip() for line in lines if line.strip()]
    if not names:
        raise UserError(f"{path}: no class is listed")
    return names


def _draw(path: Path, panels: Mapping[str, Mapping[str, Sequence[float]]], across: str) -> None:
    from anynet_study.analyses.arguments import save_figure
    from anynet_study.plots.distributions import draw_distributions

    save_figure(draw_distributions(panels, across), path)
