"""Arguments and options that several commands share."""

from collections.abc import Iterable
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from anynet_study.analysis.analyses.arguments import names as names
from anynet_study.analysis.analyses.arguments import studies_and_files
from anynet_study.core.errors import UserError

N = TypeVar("N", int, float)


def opt(text: str, *names: str, **how: Any) -> Any:
    """An option with this help, and by default the name of its argument; see `typer.Option`."""
    return typer.Option(*names, help=text, **how)


#: Options about the architectures of a population, which the help shows together.
of_architectures = partial(opt, rich_help_panel="Which architectures")
#: Options about a dataset that is made of the images that a command chose.
of_made = partial(opt, rich_help_panel="To make a dataset of the images")


def writes(text: str, **how: Any) -> Any:
    """An option for what is written, with this help."""
    return opt(text, "-o", "--output", **how)


AsJson = Annotated[bool, opt("Print JSON for scripts.", "--json")]
Force = Annotated[bool, opt("Replace a dataset of this name.", "--force")]
ForceMade = Annotated[bool, of_made("Replace a dataset of this name.", "--force")]


def sweep_file(given: str) -> Path:
    """The file of a sweep that is given by its path or name; BadParameter if there is none."""
    from anynet_study.engine.sweep import sweep_path

    try:
        return sweep_path(given)
    except UserError as error:  # of any ValueError typer forgets the words
        raise typer.BadParameter(str(error)) from None


def sweeps_and_files(begun: str) -> list[str]:
    """Return what a shell may complete to: names of sweeps, and files."""
    from anynet_study.engine.sweep import shipped_sweeps

    names = [name for name in shipped_sweeps() if name.startswith(begun)]
    return names + sorted(glob(f"{escape(begun)}*"))


SWEEP = typer.Argument(
    metavar="SWEEP",
    help="Sweep file, or the name of one that comes with the package, such as quickstart.",
    parser=sweep_file,
    autocompletion=sweeps_and_files,
)
SweepFile = Annotated[Path, SWEEP]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Change keys of the sweep, such as recipes.basic.epochs=3.", metavar="KEY=VALUE"
    ),
]
DryRun = Annotated[bool, opt("Only print what would be done, and its cost.", "--dry-run")]
Trust = Annotated[
    bool, opt("With --dry-run: call the functions that a sweep names as networks.", "--trust")
]
Retrain = Annotated[bool, opt("Train runs again where an added evaluation needs it.", "--retrain")]
Changed = Annotated[
    bool, opt("Go on with a changed sweep that leaves recorded runs unused.", "--changed")
]
StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="Study folder, or its bare name under studies/.",
        autocompletion=studies_and_files,
    ),
]
StoreName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="Study (folder or name), or a results.h5.",
        autocompletion=studies_and_files,
    ),
]
AsIs = Annotated[
    bool, opt("Read results as they were last collected, even if journals hold more.", "--as-is")
]


def numbers(option: str, text: str, above: N, such: tuple[N, ...]) -> list[N]:
    """The numbers of an option such as 0.05,0.1, all `above` one, and of its type."""
    kind = type(above)
    try:
        found = [kind(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = [above]
    if any(not value > above for value in found):
        like = ",".join(f"{value:g}" for value in such)
        raise UserError(f"{option}: {text!r}; legal: numbers above {above:g}, such as {like}")
    return found


def current(sources: Iterable[str | Path], as_is: bool) -> None:
    """Collect the studies among these whose journals hold more than their results."""
    for source in sources if not as_is else ():
        folder = _behind(Path(source))
        if folder is not None:
            from anynet_study.engine.stages import bring_up_to_date

            bring_up_to_date(folder, lambda line: typer.echo(line, err=True))


def _behind(source: Path) -> Path | None:
    """The folder of a study, named by itself or its results, whose journals may hold more.

    Found without reading the sweep: what that takes is imported where it is needed.
    """
    places = [source.parent] if source.name == "results.h5" else [source, "studies" / source]
    folder = next((place for place in places if (place / "sweep.yaml").is_file()), None)
    if folder is None or not (folder / "results.h5").exists():
        return folder
    from anynet_study.store import is_behind

    try:
        return folder if is_behind(folder / "results.h5", folder / "journals") else None
    except UserError:  # the command that reads it says what is wrong with it
        return None
