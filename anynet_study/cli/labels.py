"""`anynet-study data relabel`, `folds`, `label`, `captions`: other labels, folds, captions."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from anynet_study.cli.class_lists import SourceOfAdd, WordNetFolder, check_source_of_add
from anynet_study.cli.options import AsJson, Force, ForceMade, of_made, opt, writes
from anynet_study.cli.rows import save_csv
from anynet_study.cli.tables import print_columns, print_table
from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

#: Classes that a picture has room for.
MOST_DRAWN = 50
Add = Annotated[str, opt("Name of the dataset to make.", metavar="NAME")]
Dataset = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset in the data directory.")]


def relabel(
    name: Dataset,
    network: Annotated[
        str, opt("The network: STUDY/RUN, or a file in STUDY/weights.", "--with", metavar="RUN")
    ],
    add: Add,
    least: Annotated[
        float, opt("Leave out training images with a lower probability.", min=0, max=1)
    ] = 0.0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a dataset with training labels by a trained network.

    Test labels stay. The study must have kept the weights of its runs (launch.keep=weights), and
    the network's classes become those of the new dataset. Of classes that the old one has too, the
    command prints how many labels are the old ones.

    \b
    Example:
      anynet-study data relabel digits --with quickstart/3fa1 --add digits-relabelled --least 0.9
    """
    import numpy as np

    from anynet_study.data import image_names, load_dataset
    from anynet_study.data.curation import pack_labelled, predicted_labels
    from anynet_study.engine.study_networks import open_network

    dataset, teacher = load_dataset(name), open_network(network)
    if dataset.test_only or dataset.multi_label:
        why = "no training images" if dataset.test_only else "images of several classes"
        raise UserError(f"dataset {name!r} has {why}: it cannot be relabelled")
    numbers, sure = predicted_labels(dataset, teacher.logits)
    kept = sure >= least
    given = [
        (teacher.classes[number],) if keep else ()
        for number, keep in zip(numbers, kept, strict=True)
    ]
    names = image_names(dataset, "train")
    made = pack_labelled(
        dataset, dict(zip(names, given, strict=True)), add, f"labels by {network}", force
    )
    old = np.array(dataset.classes, object)[dataset.labels("train")]
    new = np.array(teacher.classes, object)[numbers]
    told = {
        "dataset": made.name,
        "images": int(kept.sum()),
        "left_out": int((~kept).sum()),
        "classes": list(made.classes),
        "agreement": float((old == new)[kept].mean()),
    }
    if as_json:
        print(json.dumps(told, indent=1))
        return
    print(f"{made.name}: {told['images']:,} training images, {told['left_out']:,} left out")
    print(f"{told['agreement']:.2%} of the labels are those of {name}")


def folds(
    name: Dataset,
    count: Annotated[int, opt("Number of folds.", min=2)] = 5,
    seed: Annotated[int, opt("Seed of which image is in which fold.", min=0)] = 0,
    output: Annotated[Path, writes("Folder of the manifests.", metavar="FOLDER")] = Path("folds"),
    as_json: AsJson = False,
) -> None:
    """Write manifests of the splits of a cross-validation.

    Each fold is the test split of one manifest. Each class has about as many images in every fold,
    and groups are kept whole. `data add` makes a dataset of each with --split-from.

    \b
    Examples:
      anynet-study data folds digits --count 5 -o folds
      anynet-study data add signs-1 --from signs.tar.gz --size 32 --split-from folds/fold-1.csv
    """
    from anynet_study.data import load_dataset
    from anynet_study.data.curation import write_folds

    paths = write_folds(load_dataset(name), count, seed, output)
    print(json.dumps([str(path) for path in paths]) if as_json else "\n".join(map(str, paths)))


def label(
    captions: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTIONS", help="A table with image, caption and, if it is known, class."
        ),
    ],
    terms: Annotated[Path, opt("A table with class and term, a row for each term.")],
    synonyms: Annotated[
        bool, opt("Look for synonyms in WordNet, too; then a term may be a number, n02958343.")
    ] = False,
    wordnet: WordNetFolder = None,
    strategy: Annotated[
        Literal["strict", "single", "multi"],
        opt("strict: captions that name one class; single: the first; multi: all, up to 25."),
    ] = "single",
    source: SourceOfAdd = None,
    add: Annotated[
        str | None, of_made("The name of the dataset, of the images with a label.", metavar="NAME")
    ] = None,
    by_class: Annotated[
        bool, opt("Show label accuracy and utilisation of each true class.", "--by-class")
    ] = False,
    picture: Annotated[
        Path | None, opt("Write a PNG of the label accuracy of each class.", metavar="FILE")
    ] = None,
    force: ForceMade = False,
    output: Annotated[
        Path | None, writes("Write image, class (several: a|b).", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Label images by the terms that their captions contain.

    A term is found where its words follow each other; a term within a longer one does not count.
    Its synonyms are the words that mean the same in the most common sense of each. Label accuracy
    is the share of the labelled images whose true class is (among) the label, and utilisation the
    share of all images that are labelled correctly; both are shown where the table has the true
    class.

    \b
    Examples:
      anynet-study data label captions.csv --terms terms.csv --strategy strict -o labels.csv
      anynet-study data label captions.csv --terms terms.csv --from cifar10 --add cifar10-captions
      anynet-study data label captions.csv --terms terms.csv --synonyms
      anynet-study data label captions.csv --terms terms.csv --by-class --picture classes.png
    """
    from anynet_study.data import load_dataset
    from anynet_study.data.curation import (
        WordNet,
        class_quality,
        label_captions,
        pack_labelled,
        quality,
        read_table,
    )

    check_source_of_add(source, add)
    table = read_table(captions, ("image", "caption"))
    listed = read_table(terms, ("class", "term"))
    terms_of = listed.groupby("class", sort=True)["term"].agg(list).to_dict()
    if synonyms:
        nouns = WordNet.read(wordnet)
        terms_of = {
            name: [word for term in of_class for word in nouns.synonyms(term)]
            for name, of_class in terms_of.items()
        }
    labels = label_captions(list(table["caption"].astype(str)), terms_of, strategy)
    found = quality(labels, list(table["class"]) if "class" in table else None)
    told = {name: None if value != value else value for name, value in vars(found).items()}
    classes = None
    if by_class or picture is not None:
        if "class" not in table:
            raise UserError(f"{captions}: --by-class and --picture need a column class, the truth")
        classes = class_quality(labels, list(table["class"]))
        told["classes"] = json.loads(classes.to_json(orient="records"))
    if classes is not None and picture is not None:
        _draw_classes(classes, strategy, picture)
    if output is not None:
        joined = ["|".join(given) for given in labels]
        save_csv(table[["image"]].assign(**{"class": joined}), output)
    if source is not None and add is not None:
        given = dict(zip(table["image"], labels, strict=True))
        note = f"labels by captions, {strategy}"
        pack_labelled(load_dataset(source), given, add, note, force)
    if as_json:
        print(json.dumps({"strategy": strategy, **told}, indent=1))
        return
    shares = [f"{value:.2%}" if value == value else "" for value in dataclasses.astuple(found)[2:]]
    print_table(
        ("strategy", "captions", "labelled", "label accuracy", "utilisation"),
        [(strategy, found.captions, found.labelled, *shares)],
    )
    if classes is not None and by_class:
        print_columns(classes.to_dict("list"))


def _draw_classes(classes: "pd.DataFrame", strategy: str, path: Path) -> None:
    """Draw the label accuracy of each class; of many, the worst."""
    from anynet_study.analysis.analyses.arguments import check_figure, save_figure
    from anynet_study.analysis.plots import class_chart

    check_figure("--picture", path)
    known = classes.dropna(subset="accuracy").rename(columns={"accuracy": "mean"})
    rows = known.assign(lowest=known["mean"], highest=known["mean"], n=known["labelled"].sum())
    save_figure(class_chart(rows.head(MOST_DRAWN), f"label accuracy, {strategy} (%)"), path)


def captions(
    name: Dataset,
    table: Annotated[
        Path, typer.Argument(metavar="CAPTIONS", help="A table with image and caption.")
    ],
    as_json: AsJson = False,
) -> None:
    """Add captions to the training images of a dataset.

    They replace earlier ones. Images are named as in the dataset's split.csv; one with several rows
    has several captions. Recipes with `loss: clip` and `texts: captions` learn from them.

    \b
    Example:
      anynet-study data captions cifar10 captions.csv
    """
    from anynet_study.data import add_captions, load_dataset
    from anynet_study.data.curation import read_table

    rows = read_table(table, ("image", "caption")).dropna(subset=["image", "caption"])
    said = rows["caption"].astype(str).groupby(rows["image"].astype(str)).agg(list).to_dict()
    dataset = load_dataset(name)
    found, images = add_captions(dataset, said), dataset.counts("train").images
    if as_json:
        print(json.dumps({"dataset": name, "images": images, "with_captions": found}, indent=1))
        return
    print(f"{name}: captions of {found} of {images} training images")
