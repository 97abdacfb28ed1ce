"""`anynet-study data`: add datasets as they were downloaded, list them, look at one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from anynet_study.analysis.analyses.arguments import with_options
from anynet_study.cli.options import AsJson, Force, opt
from anynet_study.cli.tables import print_table
from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    from anynet_study.data import Choices, PackedDataset, Variant

#: Headings of the datasets that are missing, by their kind.
MISSING = {
    "study": "missing of the study",
    "transfer": "missing for transfer",
    "budget": "missing for data budgets",
    "test set": "missing test sets",
}

#: An option of how images are split and limited.
limit = partial(opt, rich_help_panel="Splits and limits")


@dataclass(frozen=True)
class Reading:
    """Options of `add` and `inspect` for reading a source, by the names of `data.Choices`."""

    SECTIONS: ClassVar[Mapping[str, Sequence[str]]] = {
        "Layouts of known datasets": ("labels", "test_part", "patch_size", "classes_of"),
        "A table of images": (
            *("table", "image_column", "label_column", "group_column", "split_column"),
            *("split_values", "group_pattern", "label_separator", "no_class", "ignore_case"),
        ),
    }

    layout: Annotated[
        str | None, opt("Its layout: class-folders, or that of a known dataset, as aptos.")
    ] = None
    labels: Annotated[
        str | None, opt("For CIFAR-100: fine (default) or coarse.", metavar="KIND")
    ] = None
    test_part: Annotated[
        str | None, opt("For CCT-20: cis_test or trans_test; for CIFAR-10.1: v4, v6.")
    ] = None
    patch_size: Annotated[int | None, opt("For MLC's photos: pixels cut out around a point.")] = (
        None
    )
    classes_of: Annotated[
        str | None, opt("For ImageNetV2, ObjectNet: the dataset whose classes they have.")
    ] = None
    table: Annotated[
        str | None, opt("The table of images, if it is not obvious.", metavar="FILE")
    ] = None
    image_column: Annotated[
        str | None, opt("Its column of paths or names of images.", metavar="NAME")
    ] = None
    label_column: Annotated[
        str | None, opt("Its column of classes, or columns of 0 and 1.", metavar="NAME,...")
    ] = None
    group_column: Annotated[
        str | None, opt("Its column of groups, kept whole, or none.", metavar="NAME")
    ] = None
    split_column: Annotated[str | None, opt("Its column of splits, or none.", metavar="NAME")] = (
        None
    )
    split_values: Annotated[
        str | None, opt("What its values mean, such as 0=train,2=test.", metavar="WORD=PART")
    ] = None
    group_pattern: Annotated[
        str | None, opt("What paths of one group's images share: a regular expression.")
    ] = None
    label_separator: Annotated[
        str | None, opt("The separator between several classes in one cell.", metavar="MARK")
    ] = None
    no_class: Annotated[
        str | None, opt("The class of images without one; none leaves them out.", metavar="NAME")
    ] = None
    ignore: Annotated[str | None, opt("Files and folders to leave out.", metavar="NAME,...")] = None
    ignore_case: Annotated[
        bool, opt("Classes that differ in case only are one.", "--ignore-case")
    ] = False

    def choices(self) -> "Choices":
        """Return what decides how a source is read."""
        from anynet_study.data import Choices

        return Choices(**vars(self) | {"ignore_case": "yes" if self.ignore_case else None})


data_app = typer.Typer(
    no_args_is_help=True,
    help="Add datasets as they were downloaded; list them; look at one. They live in "
    "$ANYNET_DATA, by default the folder data/.",
)


@data_app.command()
@partial(with_options, Reading)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that sweeps will use.")],
    source: Annotated[Path, opt("The folder, archive, Parquet or MATLAB file to read.", "--from")],
    size: Annotated[
        int | None,
        opt("Height and width in pixels. Default: the study's, if NAME is one of its datasets."),
    ] = None,
    resize: Annotated[
        int | None, opt("Scale the shorter side to this many pixels. Default: SIZE.")
    ] = None,
    store: Annotated[
        Literal["auto", "raw", "jpeg"],
        opt("Keep images as raw pixels or as jpeg files; auto: raw up to 100 GB."),
    ] = "auto",
    test_share: Annotated[
        float,
        limit("Share of each class that is held out if there is no test split."),
    ] = 0.2,
    seed: Annotated[int, limit("Seed of the held-out split and of limits.")] = 0,
    max_broken: Annotated[
        float,
        limit("Share of unreadable images that is tolerated."),
    ] = 0.01,
    max_duplicates: Annotated[
        float,
        limit("Share of images that may repeat across splits, or across classes."),
    ] = 0.05,
    limit_per_class: Annotated[
        int | None,
        limit("At most this many images of each class of each split."),
    ] = None,
    fraction: Annotated[
        float | None,
        limit("Take this share of each class of each split."),
    ] = None,
    split_from: Annotated[
        Path | None,
        limit("Make the split of this manifest (split.csv) again.", metavar="MANIFEST"),
    ] = None,
    force: Force = False,
    *,
    options: Reading,
) -> None:
    """Recognise, decode and pack a dataset as it was downloaded.

    Read are split/class/image, class/image, a table (CSV, JSON) with paths and classes, Parquet
    files of Hugging Face, WebDataset's shards, arrays (.npz, .npy, .mat, idx), and zip and tar
    archives of any of these. The layouts of `anynet-study data list` are read under NAME as it is
    listed there, or with --layout. `data inspect` shows beforehand what is understood.

    Images are resized, the shorter side to SIZE (or --resize), and cut to their centre, SIZE x
    SIZE. Unreadable ones are left out and listed. If the command is interrupted, nothing is left of
    its work: run it again. The file split.csv says which image is in which split: with it, others
    make the same split.

    The content of a file counts, not its name: PNG, CMYK and grey images are read, transparency is
    laid over white, 16 bits are scaled to 8, and EXIF rotation is applied.

    \b
    Examples:
      anynet-study data add cifar10 --from cifar10-images.tar.gz
      anynet-study data add signs --from sign-language-digits.tar.gz --size 32
      anynet-study data add ham10000 --from downloads/ham --split-from their-split.csv
      anynet-study data add imagenet --from ILSVRC --size 224 --resize 256 --store jpeg
      anynet-study data add leaves --from leaves.zip --size 64 --label-column species
      anynet-study data add digits --from svhn/ --size 32
    """
    from anynet_study.data import add_dataset, summary

    dataset = add_dataset(
        name,
        source,
        size=size,
        resize=resize,
        store=store,
        test_share=test_share,
        seed=seed,
        max_broken=max_broken,
        max_duplicates=max_duplicates,
        limit_per_class=limit_per_class,
        fraction=fraction,
        split_from=split_from,
        choices=options.choices(),
        force=force,
    )
    for line in summary(dataset):
        print(line)


@data_app.command()
@partial(with_options, Reading)
def inspect(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder or an archive.")],
    as_json: AsJson = False,
    *,
    options: Reading,
) -> None:
    """Show how a folder or an archive would be read.

    Nothing is decoded or kept. It says where classes, splits and groups come from, and which files
    and tables are not used. What it cannot tell, or could read in two ways, it refuses as `add`
    does, and names the options that decide.

    \b
    Examples:
      anynet-study data inspect leaves.zip
      anynet-study data inspect scans --group-column patient --split-values 0=train,1=test
    """
    from anynet_study.data import inspect_source

    account = inspect_source(source, options.choices())
    print(account.model_dump_json(indent=1) if as_json else "\n".join(account.lines()))


@data_app.command(name="list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the datasets that are known, and where to get them.

    They are those of the study, those for transfer, and test sets for networks trained on ImageNet
    or CIFAR-10. MB is the space on the disk; for a missing dataset, what its pixels will take.

    \b
    Example:
      anynet-study data list
    """
    from anynet_study.data import data_root, inventory

    rows = inventory()
    if as_json:
        print(json.dumps({"root": str(data_root()), "datasets": rows}, indent=1))
        return
    print(f"data directory: {data_root()}")
    header = ("dataset", "state", "classes", "train", "test", "px", "MB")
    print_table(header, [_cells(row) for row in rows], left=2)
    missing = [row for row in rows if row["state"] == "missing"]
    for kind, title in MISSING.items():
        if told := [row for row in missing if row["kind"] == kind]:
            print(f"{title}; where to get it, and its licence:")
            print_table((), [(row["name"], row["source"], row["licence"]) for row in told], left=3)
    if damaged := [(row["name"], row["source"]) for row in rows if row["state"] == "damaged"]:
        print("damaged:")
        print_table((), damaged, left=2)


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    keys = ("name", "state", "classes", "train", "test", "size")
    megabytes = None if row["bytes"] is None else max(1, round(row["bytes"] / 1e6))
    return (*(row[key] for key in keys), megabytes)


@data_app.command()
def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset in the data directory.")],
    verify: Annotated[
        bool, opt("Read all data and check them against their digests.", "--verify")
    ] = False,
    variant: Annotated[
        str | None, opt("Show a view of it, with a sweep's keys.", metavar="KEY=VALUE,...")
    ] = None,
    picture: Annotated[
        Path | None, opt("Write a PNG of some images, one row per class.", metavar="FILE")
    ] = None,
    manifest: Annotated[
        Path | None, opt("Write the manifest of its split, for --split-from.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is in a dataset, and its faults.

    Told are classes, counts, split and statistics. Faults are duplicates (also between the splits)
    and unreadable images.

    \b
    Examples:
      anynet-study data info digits --verify
      anynet-study data info digits --picture digits.png --manifest split.csv
      anynet-study data info digits --variant classes=5,class_seed=1
      anynet-study data info digits --variant "groups={even: [0, 2], odd: [1, 3]},label_noise=0.2"
    """
    from anynet_study.data import copy_manifest, details, load_dataset, save_contact_sheet, summary

    dataset = load_dataset(name, whole=verify)
    if picture is not None:
        save_contact_sheet(dataset, picture)
    if manifest is not None:
        copy_manifest(dataset, manifest)
    if variant is not None:
        _print_view(dataset, variant, as_json)
    elif as_json:
        print(json.dumps(details(dataset), indent=1))
    else:
        for line in summary(dataset):
            print(line)
        train, test = dataset.counts("train").per_class, dataset.counts("test").per_class
        rows = list(zip(dataset.classes, train, test, strict=True))
        print_table(("class", "train", "test"), rows)
    if not as_json:
        written = {"picture": picture, "manifest": manifest}
        print(*(f"{what}: {path}\n" for what, path in written.items() if path), sep="", end="")


def _print_view(dataset: "PackedDataset", text: str, as_json: bool) -> None:
    from anynet_study.data import make_view, view_details, view_rows, view_summary

    variant = parse_variant(dataset.name, text)
    view = make_view(dataset, variant)
    if as_json:
        print(json.dumps(view_details(view, variant), indent=1))
        return
    for line in view_summary(view):
        print(line)
    rows = view_rows(view)
    if any(row[1] for row in rows):
        print_table(("class", "of", "train", "test"), rows, left=2)
    else:
        print_table(("class", "train", "test"), [(row[0], *row[2:]) for row in rows])


def parse_variant(base: str, text: str) -> "Variant":
    """The variant of the dataset `base` with these keys, as a sweep's entry has them.

    Values are YAML; commas within brackets do not separate keys. UserError says what is legal.
    """
    from pydantic import ValidationError

    from anynet_study.data import Variant
    from anynet_study.engine.sweep import apply_override, describe

    content: dict[str, object] = {}
    for part in _parts(text):
        try:
            apply_override(content, part.strip())
        except UserError as error:
            raise UserError(f"--variant: {error}") from None
    if "base" in content:
        raise UserError(f"--variant: `base`: that is {base} here")
    try:
        return Variant.model_validate({**content, "base": base})
    except ValidationError as error:
        raise UserError(f"--variant: {describe(error, Variant, content)}") from None


def _parts(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
