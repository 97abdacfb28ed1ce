"""The commands about sweep files: explain their keys, and write a first one."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from anynet_study.cli.options import names, of_architectures, opt, writes
from anynet_study.cli.tables import print_table
from anynet_study.core.errors import UserError, nearest

#: By the side of images, up to which: the design space, and its band at that side.
SPACES = {
    16: (
        "base: anynetx\n    depths: [1, 4]\n    widths: [8, 64]\n    group_widths: [4, 8, 16]\n"
        "    stem: cifar\n    stem_width: 16",
        (1.6e6, 2.4e6),
    ),
    64: ("base: anynetx\n    depths: [1, 4]\n    widths: [16, 160]", (4e6, 6e6)),
    224: ("base: anynetx", (360e6, 400e6)),
}
#: Networks that are drawn, or that have names.
DRAWN = """\
  # Which networks there are: from how many to how many blocks and channels a stage has.
  space:
    {space}
  # How many are drawn. More can be added later.
  count: {count}
  # Only networks of so many multiply-adds, at this image side and number of classes.
  flops: [{flops}]
  seed: 0"""
NAMED = """\
  # Published ones (anynet-study complexity --list), and what functions of your own make.
  networks: [{named}]
  # Image side and number of classes at which they are counted."""
TEMPLATE = """\
# anynet-study run {file}
# What it costs: anynet-study run {file} --dry-run
# What a key means: anynet-study sweep --explain recipes.basic.lr
name: {name}
# What the study answers, in a sentence for the report.
question: Does progress on {source} carry over?

population:
{networks}
  resolution: {resolution}
  classes: {classes}

# The dataset whose ranking of architectures is asked to carry over to the others.
source: {source}
datasets: # each is in `anynet-study data list`, or a view of one that is
{datasets}
  # Part of it, as a proxy (others have classes: 5, or per_class: 50):
  # {source}-half: {{base: {source}, fraction: 0.5}}

recipes:
  basic:
    epochs: {epochs}
    batch_size: 64
    lr: 0.05 # 0.1 at batch 128, scaled with the batch
    warmup_epochs: {warmup}
    flip: true # false where a mirrored image is of another class, such as a digit
    crop: pad # and cut out at random
    padding: {padding}
{overrides}

# Some networks are trained twice, from which the noise of training is told.
replicates:
  count: 2
  architectures: {repeated}

# launch: # on a cluster; see `anynet-study sweep --explain launch`
#   cluster: slurm
"""


def sweep(
    explain: Annotated[
        str | None, opt("Say what a key is for, such as recipes.basic.epochs.", metavar="KEY")
    ] = None,
    schema: Annotated[bool, opt("Print the JSON schema, for editors.", "--schema")] = False,
) -> None:
    """Explain the keys of a sweep file.

    Without options, its keys are listed. Where a key contains the name of a dataset, recipe or
    evaluation, any name can be given.

    \b
    Examples:
      anynet-study sweep --explain population.flops
      anynet-study sweep --explain recipes
      anynet-study sweep --schema > sweep.schema.json
    """
    from anynet_study.engine.sweep import explain as explained
    from anynet_study.engine.sweep import json_schema

    if schema:
        print(json.dumps(json_schema(), indent=2))
        return
    key, below = explained(explain or "")
    if key.path:
        default = f" (default: {key.default})" if key.default not in ("", "required") else ""
        required = ", required" if key.default == "required" else ""
        print(f"{key.path}: {key.kind}{required}{default}")
        if key.meaning:
            print(key.meaning)
    if key.path and below:
        print(f"\nkeys of {key.path}:")
    if below:
        rows = [(it.path, it.kind, it.default, it.meaning) for it in below]
        print_table(("key", "value", "default", "meaning"), rows, left=4)


def init(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the study.", show_default=False)
    ] = "",
    datasets: Annotated[str, opt("Names of datasets, comma-separated.")] = "",
    source: Annotated[str, opt("The source dataset; default: the first one.")] = "",
    count: Annotated[int, of_architectures("How many architectures.")] = 20,
    resolution: Annotated[
        int | None,
        of_architectures("Image side in pixels; default: that of the source, if it is added."),
    ] = None,
    classes: Annotated[
        int | None, of_architectures("Number of classes; default: likewise.")
    ] = None,
    flops: Annotated[
        str, of_architectures("Band of multiply-adds.", metavar="LOWEST,HIGHEST")
    ] = "",
    networks: Annotated[
        str,
        of_architectures("These and no drawn ones: names, module:function.", metavar="NAME,..."),
    ] = "",
    epochs: Annotated[int, opt("Passes over the training images.")] = 10,
    no_flip: Annotated[
        str,
        opt("Datasets whose images are never mirrored in training.", "--no-flip"),
    ] = "",
    like: Annotated[
        str,
        opt("Copy a sweep that comes with the package, by its name.", "--from", metavar="SWEEP"),
    ] = "",
    output: Annotated[Path | None, writes("The file to write; default: sweeps/NAME.yaml.")] = None,
) -> None:
    """Write a first sweep file, with comments.

    With --from it is a copy of one that comes with the package; NAME is then optional.

    \b
    Examples:
      anynet-study init first --datasets digits,gratings,blobs
      anynet-study init mine --from quickstart
      anynet-study init mine --datasets cifar10,mnist --no-flip mnist --flops 2e6,3e6
      anynet-study init nets --datasets cifar10,mnist --networks resnet20,my_networks:vgg
    """
    from anynet_study.data import BUILT_IN, inventory

    if like:
        for option in context.command.params:
            said = context.get_parameter_source(option.name or "")
            if (
                option.name not in ("name", "like", "output")
                and said
                and said.name == "COMMANDLINE"
            ):
                raise UserError(f"{option.opts[0]}: with --from, change this in the file")
        _copy(like, name, output)
        return
    labels = list(names(datasets))
    if not name or not (labels or source):
        raise UserError("give a NAME and --datasets, or --from with the name of a shipped sweep")
    source = source or labels[0]
    if source not in labels:
        labels = [*filter(None, [source]), *labels]
    own = [label for label in labels if label not in BUILT_IN]
    unflipped = [label for label in labels if label in BUILT_IN and not BUILT_IN[label].flip]
    for label in names(no_flip):
        if label not in labels:
            raise UserError(f"--no-flip: {label} is none of the datasets{nearest(label, labels)}")
        unflipped.append(label)
    known = next((row for row in inventory() if row["name"] == source), {})
    resolution = resolution or known.get("size") or 32
    space, band = next((it for most, it in SPACES.items() if resolution <= most), SPACES[224])
    side = next((most for most in SPACES if resolution <= most), 224)
    low, high = (bound * (resolution / side) ** 2 for bound in band)
    file = output or Path("sweeps") / f"{name}.yaml"
    asked, within = names(networks), ", ".join(names(flops)) or f"{low:.4g}, {high:.4g}"
    drawn = DRAWN.format(space=space, count=count, flops=within)
    text = TEMPLATE.format(
        file=file,
        name=name,
        source=source,
        networks=NAMED.format(named=", ".join(map(json.dumps, asked))) if asked else drawn,
        resolution=resolution,
        classes=classes or known.get("classes") or 10,
        datasets="\n".join(f"  {label}: {{}}" for label in labels) or "  {}",
        epochs=epochs,
        warmup=min(1, epochs - 1),
        overrides=_overrides(unflipped, source),
        padding=max(1, resolution // 8),
        repeated=min(len(asked) or count, 6),
    )
    _write(file, text)
    if mirrored := [label for label in own if label not in unflipped]:
        print(
            f"note: images of {', '.join(mirrored)} are mirrored in training; where a mirrored "
            "image is of another class, as of a digit or a letter, write flip: false under "
            f"overrides (or: init with --no-flip {','.join(mirrored)})"
        )
    _tell_power(file, len(asked) or count)
    print(f"{file}: edit it, and run it: anynet-study run {file}")


def _tell_power(file: Path, architectures: int) -> None:
    """Say what a study of so many architectures can answer, if it compares datasets."""
    from anynet_study.cli.power import what_it_can_answer
    from anynet_study.engine.sweep import Sweep

    sweep = Sweep.load(file)
    if len(sweep.datasets) > 1 and (said := what_it_can_answer(sweep, architectures)):
        print(f"note: {said}")


def _copy(shipped: str, name: str, output: Path | None) -> None:
    """Write a copy of a shipped sweep, in which its name and file are those of the copy."""
    from anynet_study.engine.sweep import shipped_sweeps

    known = shipped_sweeps()
    if shipped not in known:
        legal = ", ".join(known)
        raise UserError(f"--from: no sweep {shipped}{nearest(shipped, known)}; legal: {legal}")
    file = output or Path("sweeps") / f"{name or Path(shipped).name}.yaml"
    text = known[shipped].read_text(encoding="utf-8").replace(f"sweeps/{shipped}.yaml", str(file))
    _write(file, re.sub("^name: .*$", f"name: {name}", text, flags=re.M) if name else text)
    print(f"{file}: edit it, and run it: anynet-study run {file}")


def _write(file: Path, text: str) -> None:
    """Write a sweep file that is not there; UserError where it is, or where it would be illegal."""
    from pydantic import ValidationError

    from anynet_study.core.files import write_text
    from anynet_study.engine.sweep import Sweep, describe, parse_yaml

    if file.exists():
        raise UserError(f"{file} exists already; name another file with -o, or remove it")
    content = parse_yaml(text)
    try:
        Sweep.model_validate(content)
    except ValidationError as error:
        raise UserError(describe(error, Sweep, content)) from None
    write_text(file, text)


def _overrides(unflipped: list[str], source: str) -> str:
    """The lines of a recipe for datasets that are not mirrored; without any, an example."""
    keys = dict.fromkeys(unflipped, "flip: false") or {source: "epochs: 20"}
    lines = ["overrides: # what differs on single datasets"]
    lines += [f"  {label}: {{{stated}}}" for label, stated in keys.items()]
    return "\n".join(f"    {'' if unflipped else '# '}{line}" for line in lines)
