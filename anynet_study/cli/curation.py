"""`anynet-study data duplicates` and `sample`: which images two sets share; new test sets."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from anynet_study.cli.options import AsJson, ForceMade, of_made, opt, writes
from anynet_study.cli.rows import save_csv
from anynet_study.cli.tables import print_columns, print_table
from anynet_study.core.errors import UserError, counted

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.data.curation import ImageSet

#: Pairs that a table on the terminal shows.
SHOWN = 10
#: Near duplicates as they are told, from --bits and --distance.
#: Of options about what a near duplicate is.
duplicate = partial(opt, rich_help_panel="Near duplicates")
Bits = Annotated[int, duplicate("Number of bits (of 64) in which two hashes may differ.")]
Distance = Annotated[float, duplicate("Largest distance of the pixels: 1 minus their correlation.")]
Picture = Annotated[
    Path | None, opt("Write a PNG of the pairs, the nearest first.", metavar="FILE")
]


def duplicates(
    images: Annotated[
        str, typer.Argument(metavar="IMAGES", help="A dataset, or NAME:train or NAME:test.")
    ],
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="REFERENCE",
            help="Another one, to compare with. By default the training images of a dataset are "
            "compared with its test images.",
        ),
    ] = None,
    bits: Bits = 14,
    distance: Distance = 0.3,
    picture: Picture = None,
    output: Annotated[Path | None, writes("Write all pairs to a CSV file.", metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Find near duplicates of images, in or between datasets.

    They are the same but for light, compression or a frame. A perceptual hash finds candidates
    among all pairs. They are judged by the correlation of their pixels, after the local mean is
    subtracted; at a distance of 0 they are the same. `data info` lists exact duplicates. 60,000
    images are compared with 60,000 others in less than two minutes.

    \b
    Examples:
      anynet-study data duplicates cifar10 --picture pairs.png -o pairs.csv
      anynet-study data duplicates digits:train digits:train
      anynet-study data duplicates new-test cifar10:train --distance 0.2
    """
    from anynet_study.data.curation import find_near_duplicates, open_images

    _check_limits(bits, distance)
    first = open_images(images, "test")
    second = open_images(images if reference is None else reference, "train")
    same = first.name == second.name
    pairs = find_near_duplicates(first.images, None if same else second.images, bits, distance)
    table = _named(pairs, first, second)
    if picture is not None:
        _draw_pairs(pairs, first, second, picture)
    if output is not None:
        save_csv(table, output)
    found = pairs["image"].nunique()
    share = found / len(first)
    if as_json:
        told = {"images": first.name, "reference": second.name, "count": len(first)}
        rows = table.to_dict("records")
        print(json.dumps(told | {"with_duplicate": found, "share": share, "pairs": rows}, indent=1))
        return
    print(
        f"{found:,} of {len(first):,} images of {first.name} ({share:.2%}) have a near duplicate "
        f"in {second.name}"
    )
    print_columns(table.head(SHOWN).to_dict("list"))
    if len(table) > SHOWN:
        print(f"and {counted(len(table) - SHOWN, 'further pair')}: -o writes all")


def _check_limits(bits: int, distance: float) -> None:
    if not 0 <= bits <= 24:
        raise UserError(f"--bits {bits}: legal are 0 to 24 of the 64")
    if not 0 <= distance < 1:
        raise UserError(f"--distance {distance:g}: legal is a number from 0 to below 1")


def _named(pairs: "pd.DataFrame", first: "ImageSet", second: "ImageSet") -> "pd.DataFrame":
    """Pairs of rows as pairs of names, with the class of each."""
    import pandas as pd

    ours, theirs = pairs["image"].to_numpy(), pairs["reference"].to_numpy()
    columns = {
        "image": [first.names[row] for row in ours],
        "class": first.classes[ours],
        "reference": [second.names[row] for row in theirs],
        "its class": second.classes[theirs],
        "bits": pairs["bits"],
        "distance": pairs["distance"].astype(float).round(4),
    }
    return pd.DataFrame(columns)


def _draw_pairs(pairs: "pd.DataFrame", first: "ImageSet", second: "ImageSet", path: Path) -> None:
    import numpy as np

    from anynet_study.data import save_pair_sheet

    rows = pairs.drop_duplicates("image")
    drawn = [
        (np.asarray(first.images[int(ours)]), np.asarray(second.images[int(theirs)]))
        for ours, theirs in zip(rows["image"], rows["reference"], strict=True)
    ]
    title = f"{first.name} above, their nearest in {second.name} below; distance of the pixels"
    save_pair_sheet(drawn, [f"{far:.2f}" for far in rows["distance"]], title, path)


def sample_images(
    candidates: Annotated[
        Path,
        typer.Argument(
            metavar="CANDIDATES",
            help="A table with image, class, frequency (0 to 1): CSV, Parquet.",
        ),
    ],
    per_class: Annotated[int, opt("Images of each class.", min=1)],
    strategy: Annotated[
        Literal["matched", "threshold", "top"],
        opt("matched: frequencies as those of --like; threshold; or the top ones."),
    ] = "matched",
    like: Annotated[
        Path | None,
        opt("Table of the original's images, with class and frequency.", metavar="REFERENCE"),
    ] = None,
    threshold: Annotated[float, opt("Lowest frequency of the strategy threshold.")] = 0.7,
    below: Annotated[
        float | None, opt("Leave out candidates of this frequency or more, for a harder test set.")
    ] = None,
    bins: Annotated[int, opt("Equal bins of frequencies that are matched.", min=1)] = 5,
    seed: Annotated[int, opt("Seed of the draw.")] = 0,
    source: Annotated[
        str | None,
        of_made("The dataset whose images the table names. Default: files beside it.", "--from"),
    ] = None,
    size: Annotated[int, of_made("Height and width of files in pixels.", min=1, max=1024)] = 32,
    original: Annotated[
        str | None,
        duplicate(
            "Leave out candidates with a near duplicate in this dataset.", metavar="NAME[:SPLIT]"
        ),
    ] = None,
    bits: Bits = 14,
    distance: Distance = 0.3,
    picture: Picture = None,
    add: Annotated[
        str | None, of_made("The name of the dataset, which has a test set only.", metavar="NAME")
    ] = None,
    force: ForceMade = False,
    output: Annotated[
        Path | None, writes("Write the manifest of the chosen images.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a new test set by selection frequencies of images.

    The selection frequency of an image is the share of annotators who took it for its class. The
    strategies are those of "Do ImageNet Classifiers Generalize to ImageNet?": matched draws images
    whose frequencies are distributed in each class as those of the original test set; threshold
    draws among those of 0.7 or more; top takes the highest. Candidates with a near duplicate in
    the original dataset are left out, and listed.

    \b
    Examples:
      anynet-study data sample candidates.csv --per-class 10 --like original.csv -o chosen.csv
      anynet-study data sample candidates.csv --per-class 10 --strategy top --from digits --add top
      anynet-study data sample candidates.csv --per-class 10 --strategy threshold \\
        --threshold 0.4 --below 0.6 --from digits --add hard
      anynet-study data sample pool/table.csv --per-class 10 --strategy threshold --size 32 \\
        --original cifar10:train --picture near.png --add cifar10-new
    """
    from anynet_study.data.curation import (
        candidate_images,
        pack_selection,
        read_annotations,
        select_images,
    )

    _check_limits(bits, distance)
    reference = None if like is None else read_annotations(like)
    table = read_annotations(candidates, ("image", "class", "frequency"))
    near: list[str] = []
    if original is not None or add is not None:
        images = candidate_images(candidates, table, source, size)
    if original is not None:
        near = _near(images, original, bits, distance, picture)
        table = table[~table["image"].isin(near)]
    chosen = select_images(table, strategy, per_class, reference, threshold, bins, seed, below)
    if add is not None:
        pack_selection(images, chosen.index.to_numpy(), add, original, force)
    if output is not None:
        save_csv(chosen, output)
    told = _told_of_selection(chosen, table, reference, bins)
    if as_json:
        print(json.dumps({"strategy": strategy, **told, "left_out": near}, indent=1))
        return
    for name in near[:SHOWN]:
        print(f"left out, a near duplicate in {original}: {name}")
    if len(near) > SHOWN:
        print(f"left out, near duplicates, too: {counted(len(near) - SHOWN, 'further image')}")
    print(
        f"{strategy}: {counted(len(chosen), 'image')} of {told['classes']} classes, mean "
        f"frequency {told['mean_frequency']:.4f} (candidates {told['mean_of_candidates']:.4f})"
    )
    if told["filled"]:
        print(f"for want of candidates in their bins, {told['filled']} are of other bins")
    print_table(
        ("frequency", "chosen", "candidates", "original")[: 3 + (like is not None)],
        [tuple(row.values()) for row in told["histogram"]],
    )


def _near(
    images: "ImageSet", original: str, bits: int, distance: float, picture: Path | None
) -> list[str]:
    """The names of images with a near duplicate in the dataset `original`."""
    from anynet_study.data.curation import find_near_duplicates, open_images

    known = open_images(original, "train")
    pairs = find_near_duplicates(images.images, known.images, bits, distance)
    if picture is not None:
        _draw_pairs(pairs, images, known, picture)
    return [images.names[row] for row in sorted(set(pairs["image"]))]


def _told_of_selection(
    chosen: "pd.DataFrame", table: "pd.DataFrame", reference: "pd.DataFrame | None", bins: int
) -> dict[str, Any]:
    """Numbers of images, mean frequencies, and the share of each bin."""
    from anynet_study.data.curation import histogram

    tables = {"chosen": chosen, "candidates": table}
    if reference is not None:
        tables["original"] = reference[reference["class"].isin(chosen["class"])]
    shares = {name: histogram(rows["frequency"], bins) for name, rows in tables.items()}
    return {
        "images": len(chosen),
        "classes": int(chosen["class"].nunique()),
        "mean_frequency": float(chosen["frequency"].mean()),
        "mean_of_candidates": float(table["frequency"].mean()),
        "filled": int(chosen["filled"].sum()),
        "histogram": [
            {"from": place / bins, **{name: float(all_[place]) for name, all_ in shares.items()}}
            for place in range(bins)
        ],
    }
