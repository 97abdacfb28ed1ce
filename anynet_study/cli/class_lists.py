"""`anynet-study data classes`: classes in WordNet, chosen by captions; how alike images are."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.options import AsJson, ForceMade, of_made, opt, writes
from anynet_study.cli.rows import save_csv
from anynet_study.cli.tables import print_columns, print_table
from anynet_study.core.errors import UserError, first_line

if TYPE_CHECKING:
    import pandas as pd

#: Chosen classes that a table on the terminal shows.
SHOWN = 10

classes_app = typer.Typer(
    no_args_is_help=True,
    help="Look at classes in WordNet; choose some by captions.",
)
WordNetFolder = Annotated[
    Path | None,
    opt("Folder of WordNet's database. Default: $WNSEARCHDIR, or Debian's wordnet-base."),
]
Picture = Annotated[Path | None, opt("Write a PNG of the distributions.", metavar="FILE")]
SourceOfAdd = Annotated[
    str | None, of_made("The dataset whose training images these are.", "--from")
]


def check_source_of_add(source: str | None, add: str | None) -> None:
    """UserError where one of --from and --add is given without the other."""
    if (source is None) != (add is None):
        raise UserError("--from and --add go together: whose images, and the dataset to make")


@classes_app.command()
def stats(
    classes: Annotated[
        Path,
        typer.Argument(
            metavar="LIST", help="A text file, one class in a line: n01440764, or a noun."
        ),
    ],
    against: Annotated[
        Path | None, opt("Another list: how far the two overlap.", metavar="LIST")
    ] = None,
    wordnet: WordNetFolder = None,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Describe the part of WordNet that classes span.

    Told are nodes, edges, density, modularity and depth. That part holds the classes and
    everything that they are a kind of (their hypernyms). A class is a number of WordNet 3.0 (what
    ImageNet's folders are called), or a noun with one sense; what follows a tab in its line is
    ignored. Siblings are classes with the same direct hypernym. The overlap with another list is
    the share of all classes, and of all their direct hypernyms, that both lists have.

    \b
    Examples:
      anynet-study data classes stats imagenet-classes.txt
      anynet-study data classes stats mine.txt --against imagenet-classes.txt --picture lists.png
    """
    from anynet_study.data.curation import WordNet, overlap, siblings, tree_statistics

    nouns = WordNet.read(wordnet)
    paths = [classes, *([against] if against is not None else [])]
    if len({path.stem for path in paths}) < len(paths):
        raise UserError(f"--against {against}: give it another name than {classes}")
    lists = {path.stem: list(dict.fromkeys(map(nouns.find, _listed(path)))) for path in paths}
    found = {name: tree_statistics(nouns, synsets) for name, synsets in lists.items()}
    shared = overlap(nouns, *lists.values()) if against is not None else None
    if picture is not None:
        depths = {name: [float(nouns.depth(one)) for one in of] for name, of in lists.items()}
        kin = {name: [float(n) for n in siblings(nouns, of, of)] for name, of in lists.items()}
        panels = {"depth in WordNet": depths, "siblings in the list": kin}
        _draw(picture, panels, "of a class")
    if as_json:
        told = found if shared is not None else found[classes.stem]
        print(json.dumps(told | ({"overlap": shared} if shared is not None else {}), indent=1))
        return
    rows = [
        (key.replace("_", " "), *(f"{of[key]:.6g}" for of in found.values()))
        for key in found[classes.stem]
    ]
    print_table(("", *found) if shared is not None else (), rows)
    if shared is not None:
        of_kinds = f"{shared['parents']:.1%} of what they are directly kinds of"
        print(f"both lists have {shared['classes']:.1%} of the classes, and {of_kinds}")


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
        writes("Write the chosen as terms of `data label`.", metavar="FILE"),
    ] = None,
    images_per_class: Annotated[
        int | None,
        of_made("Take at most so many images of each class, of its most similar captions.", min=1),
    ] = None,
    images: Annotated[
        Path | None, of_made("Write image, class, similarity of these.", metavar="FILE")
    ] = None,
    source: SourceOfAdd = None,
    add: Annotated[str | None, of_made("The name of the dataset.", metavar="NAME")] = None,
    force: ForceMade = False,
    as_json: AsJson = False,
) -> None:
    """Choose nouns of WordNet that captions describe.

    Those of a list are left out. "ImageNot" was made in this way: of the nouns in the captions,
    each in its most common sense, those that are lowest in the tree are taken. A caption that names
    several of them counts for the one that it is clearly most similar to, or for none. The
    similarity of a class is the mean, over the captions that are most like it, of the inner product
    of embeddings of the caption and of WordNet's gloss. How much this says depends on the embedder:
    the command shows which share of unrelated captions and glosses reaches the threshold, and which
    of them are most similar. `ngrams` knows no meanings: texts are similar to it if they share
    words or syllables. The images of the chosen classes are those whose captions count for them;
    the table of captions then has a column image.

    \b
    Examples:
      anynet-study data classes select captions.csv --exclude imagenet-classes.txt -o terms.csv
      anynet-study data classes select captions.csv --images-per-class 1000 --images chosen.csv \\
        --from pool --add not-imagenet
      anynet-study data label captions.csv --terms terms.csv --synonyms
    """
    from anynet_study.data.curation import WordNet, open_embedder, read_table, select_classes

    embed = open_embedder(embedder)
    check_source_of_add(source, add)
    wants_images = images is not None or add is not None
    columns = ("image", "caption") if wants_images else ("caption",)
    table = read_table(captions, columns)
    texts = list(table["caption"].astype(str))
    names = [] if exclude is None else _listed(exclude)
    nouns = WordNet.read(wordnet)
    excluded = {synset for name in names for synset in nouns.named(name)}
    found = select_classes(texts, nouns, excluded, embed, threshold, per_class, count)
    if picture is not None:
        over_classes = {kind: found.classes[kind] for kind in ("min", "mean", "median", "max")}
        of_each = dict([*found.candidates.groupby("class")["similarity"]])
        shown = {"the chosen classes": over_classes, "captions of each candidate": of_each}
        _draw(picture, shown, "similarity of caption and gloss")
    if wants_images:
        chosen = found.captions.assign(image=table["image"].to_numpy()[found.captions["row"]])
        chosen = chosen.drop_duplicates("image")
        if images_per_class is not None:
            chosen = chosen.groupby("class", sort=False).head(images_per_class)
        _keep_images(chosen, images, source, add, force)
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
    print_columns(shown.to_dict("list"), left=2)
    if len(found.classes) > SHOWN:
        print(f"and {len(found.classes) - SHOWN:,} more: -o writes all")
    print("\nmost similar of captions and classes that they do not name:")
    print_columns(found.unrelated.to_dict("list"), left=2)


def _keep_images(
    chosen: "pd.DataFrame", path: Path | None, source: str | None, add: str | None, force: bool
) -> None:
    """Write a table of images with their classes, and make the dataset of them, if asked."""
    from anynet_study.data import load_dataset
    from anynet_study.data.curation import pack_labelled

    if path is not None:
        save_csv(chosen[["image", "class", "similarity"]], path)
    if source is not None and add is not None:
        given = {
            image: (name,) for image, name in zip(chosen["image"], chosen["class"], strict=True)
        }
        note = "classes by the similarity of captions"
        pack_labelled(load_dataset(source), given, add, note, force)


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
    """Show how similar the images of each class are.

    Within a class and between classes, that is the mean inner product of their features, each of
    length 1 after the mean image is taken off: the higher within a class, the less diverse it is.

    \b
    Example:
      anynet-study data classes diversity digits
    """
    import numpy as np

    from anynet_study.data.curation import class_similarity, features_of, open_images
    from anynet_study.engine.study_networks import open_extractor

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
    print_columns(table.to_dict("list"), left=1)


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
    from anynet_study.analysis.analyses.arguments import save_figure
    from anynet_study.analysis.plots.distributions import draw_distributions

    save_figure(draw_distributions(panels, across), path)
