"""`anynet-study data add`: a dataset as it was downloaded becomes a packed one."""

from pathlib import Path
from typing import Annotated

import typer


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that sweeps will use.")],
    source: Annotated[
        Path, typer.Option("--from", help="The folder or the zip or tar archive to read.")
    ],
    size: Annotated[
        int | None,
        typer.Option(help="Height and width in pixels. Default: the study's, if NAME is its."),
    ] = None,
    test_share: Annotated[
        float, typer.Option(help="Share of each class held out where there is no test split.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Seed of the held-out split and of limits.")] = 0,
    max_broken: Annotated[
        float, typer.Option(help="Share of unreadable images that is tolerated.")
    ] = 0.01,
    limit_per_class: Annotated[
        int | None, typer.Option(help="At most so many images of each class of each split.")
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Take this share of each class of each split.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset of this name.")] = False,
) -> None:
    """Recognise, decode and pack a dataset as it was downloaded.

    Images are resized, the shorter side to SIZE, and cut to their centre. Unreadable ones are
    left out and listed.

    \b
    Examples:
      anynet-study data add cifar10 --from cifar10-images.tar.gz
      anynet-study data add signs --from sign-language-digits.tar.gz --size 32
    """
    from anynet_study.data import add_dataset
    from anynet_study.data.describe import summary

    dataset = add_dataset(
        name,
        source,
        size=size,
        test_share=test_share,
        seed=seed,
        max_broken=max_broken,
        limit_per_class=limit_per_class,
        fraction=fraction,
        force=force,
    )
    for line in summary(dataset):
        print(line)
