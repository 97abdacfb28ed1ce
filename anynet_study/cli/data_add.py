"""`anynet-study data add`: a dataset as it was downloaded becomes a packed one."""

from pathlib import Path
from typing import Annotated, Literal

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
    resize: Annotated[
        int | None,
        typer.Option(help="Scale the shorter side to so many pixels. Default: SIZE."),
    ] = None,
    store: Annotated[
        Literal["auto", "raw", "jpeg"],
        typer.Option(help="Keep images as raw pixels or as jpeg files; auto: raw up to 100 GB."),
    ] = "auto",
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
    split_from: Annotated[
        Path | None,
        typer.Option(metavar="MANIFEST", help="Make the split of this manifest (split.csv) again."),
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="Read it as this layout, such as class-folders.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="KIND", help="Of CIFAR-100: fine (default) or coarse.")
    ] = None,
    test_part: Annotated[
        str | None, typer.Option(help="Of CCT-20: cis_test or trans_test; of CIFAR-10.1: v4, v6.")
    ] = None,
    patch_size: Annotated[
        int | None, typer.Option(help="Of MLC's photos: pixels cut out around a point.")
    ] = None,
    classes_of: Annotated[
        str | None, typer.Option(help="Of ImageNetV2, ObjectNet: the dataset that numbers classes.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table of images, where it is not plain.")
    ] = None,
    image_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its column of paths or names of images.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its column of classes.")
    ] = None,
    group_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its column of groups, kept whole.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset of this name.")] = False,
) -> None:
    """Recognise, decode and pack a dataset as it was downloaded.

    The layout is recognised: those of `anynet-study data list`, split/class/image,
    class/image, a table (CSV) with paths and classes, and zip and tar archives of any of these.
    What was taken is said, and --layout takes another.

    Images are resized, the shorter side to SIZE (or --resize), and cut to their centre, SIZE x
    SIZE. Unreadable ones are left out and listed. What is interrupted goes on where it was when
    the same command is run again. Which image is where is written to split.csv: with it, others
    make the same split.

    What a file holds counts, not its name: PNG, CMYK and grey are read, transparency is laid over
    white, 16 bits are scaled to 8, and EXIF rotation is applied.

    \b
    Examples:
      anynet-study data add cifar10 --from cifar10-images.tar.gz
      anynet-study data add signs --from sign-language-digits.tar.gz --size 32
      anynet-study data add ham10000 --from downloads/ham --split-from their-split.csv
      anynet-study data add imagenet --from ILSVRC --size 224 --resize 256 --store jpeg
      anynet-study data add leaves --from leaves.zip --size 64 --label-column species
    """
    from anynet_study.data import add_dataset
    from anynet_study.data.describe import summary
    from anynet_study.data.source.source import Choices

    dataset = add_dataset(
        name,
        source,
        size=size,
        resize=resize,
        store=store,
        test_share=test_share,
        seed=seed,
        max_broken=max_broken,
        limit_per_class=limit_per_class,
        fraction=fraction,
        split_from=split_from,
        choices=Choices(
            layout=layout,
            labels=labels,
            test_part=test_part,
            patch_size=patch_size,
            classes_of=classes_of,
            table=table,
            image_column=image_column,
            label_column=label_column,
            group_column=group_column,
        ),
        force=force,
    )
    for line in summary(dataset):
        print(line)
