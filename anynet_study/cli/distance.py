"""`anynet-study data distance`: how far apart datasets are, from features of their images."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.options import AsJson, opt, writes
from anynet_study.cli.rows import save_csv
from anynet_study.cli.tables import print_table
from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from anynet_study.data import Images


def distance(
    sets: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B ...", help="Datasets, or NAME:train, NAME:test of them."),
    ] = None,
    study: Annotated[
        str | None,
        opt("Compare the datasets of this study, and keep the table there for its report."),
    ] = None,
    features: Annotated[
        str,
        opt(
            "frequencies; STUDY/RUN or a file in STUDY/weights: a network of a study; or "
            "MODULE:FUNCTION, which gets uint8 images (N, H, W, 3) and gives (N, features).",
            metavar="WHAT",
        ),
    ] = "frequencies",
    images: Annotated[
        int | None, opt("Images of every set. Default: as many as the smallest has.", min=1)
    ] = None,
    level: Annotated[float, opt("Level of the intervals.", min=0.5, max=0.999)] = 0.95,
    seed: Annotated[int, opt("Seed of which images are taken.", min=0)] = 0,
    output: Annotated[Path | None, writes("Write the table to a CSV file.", metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure distances of datasets: FID, KID, energy distance.

    They are of features of the images. With few images, the FID is too large. So all sets are cut
    to the same number of images; `bias` is the jackknife's estimate of the bias that is left, and
    the interval is that of the FID without it. KID and the energy distance have no bias. With
    --study, `analyze STUDY --table distance` sets the distances against the correlations of errors.

    \b
    Examples:
      anynet-study data distance digits gratings blobs
      anynet-study data distance cifar10:test mnist:test --features quickstart/3fa1 --images 2000
      anynet-study data distance cifar10 new-test --features my_features:embed -o distances.csv
      anynet-study data distance --study quickstart
    """
    from anynet_study.data.curation import (
        distance_table,
        equal_samples,
        features_of,
    )
    from anynet_study.engine.study_networks import open_extractor, study_images

    extract = open_extractor(features)
    there = _named(sets or []) if study is None else study_images(study)
    if bool(sets) == (study is not None) or len(there) < 2:
        raise UserError("name two datasets or more, or with --study a study that has them")
    rows = equal_samples({name: len(index) for name, (_, index) in there.items()}, images, seed)
    made = {
        name: features_of(pixels, index[rows[name]], extract, name)
        for name, (pixels, index) in there.items()
    }
    found = distance_table(made, level)
    if output is not None:
        save_csv(found, output)
    if study is not None:
        from anynet_study.engine.study_folder import StudyFolder

        save_csv(found, StudyFolder.open(study).distances)
    if as_json:
        print(json.dumps({"features": features, "distances": found.to_dict("records")}, indent=1))
        return
    print(f"{len(made)} sets of {found['images'].iloc[0]:,} images each; features: {features}")
    headings = ("a", "b", "FID", "bias", "without it", "KID", "energy")
    print_table(headings, [_cells(row) for _, row in found.iterrows()], left=2, wide="split")


def _named(sets: list[str]) -> "dict[str, tuple[Images, NDArray[np.int64]]]":
    """The images of each dataset, and which rows: all of them."""
    import numpy as np

    from anynet_study.data.curation import open_images

    if len(set(sets)) < len(sets):
        raise UserError(f"{next(name for name in sets if sets.count(name) > 1)} is named twice")
    opened = {name: open_images(name).images for name in sets}
    return {name: (images, np.arange(len(images))) for name, images in opened.items()}


def _cells(row: "pd.Series") -> tuple[str, ...]:
    def interval(name: str, value: str) -> str:
        return f"{row[value]:.4g} [{row[f'{name}_low']:.4g}, {row[f'{name}_high']:.4g}]"

    return (
        *(row["a"], row["b"], f"{row['fid']:.4g}", f"{row['fid_bias']:.4g}"),
        *(interval("fid", "fid_corrected"), interval("kid", "kid"), interval("energy", "energy")),
    )
