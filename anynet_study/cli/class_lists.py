"""`anynet-study data classes`: lists of classes in WordNet, and how alike images of a class are."""

import json
from pathlib import Path
from typing import Annotated

import typer

from anynet_study.cli.options import AsJson, opt
from anynet_study.cli.tables import print_table
from anynet_study.errors import UserError, first_line

classes_app = typer.Typer(
    no_args_is_help=True,
    help="How the classes of a dataset lie in WordNet, and how alike the images of each are.",
)


@classes_app.command()
def stats(
    classes: Annotated[
        Path,
        typer.Argument(
            metavar="LIST", help="A text file, one class in a line: n01440764, or a noun."
        ),
    ],
    wordnet: Annotated[
        Path | None,
        opt("Folder of WordNet's data.noun. Default: $WNSEARCHDIR, or Debian's wordnet-base."),
    ] = None,
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

    try:
        lines = classes.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"{classes}: no list can be read from it ({first_line(error)})") from None
    names = [line.split("\t")[0].strip() for line in lines if line.strip()]
    if not names:
        raise UserError(f"{classes}: no class is listed")
    nouns = WordNet.read(wordnet)
    found = tree_statistics(nouns, list(dict.fromkeys(map(nouns.find, names))))
    if as_json:
        print(json.dumps(found, indent=1))
        return
    print_table((), [(key.replace("_", " "), f"{value:.6g}") for key, value in found.items()])


@classes_app.command()
def diversity(
    name: Annotated[
        str, typer.Argument(metavar="DATASET", help="A dataset, or NAME:train or NAME:test.")
    ],
    features: Annotated[
        str, opt("As of `data distance`: frequencies, STUDY/RUN or MODULE:FUNCTION.")
    ] = "frequencies",
    as_json: AsJson = False,
) -> None:
    """Show how alike the images of each class are, and how like those of other classes.

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
    rows = class_similarity(made, images.classes).to_dict("records")
    if as_json:
        known = [{key: None if v != v else v for key, v in row.items()} for row in rows]
        print(json.dumps(known, indent=1))
        return
    shown = [
        (row["class"], row["images"], f"{row['within']:.3f}", f"{row['between']:.3f}")
        for row in rows
    ]
    print_table(("class", "images", "within", "between"), shown)
