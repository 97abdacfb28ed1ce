"""The arguments by which commands and scripts say what to analyse, and how."""

import csv
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import partial, wraps
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from anynet_study.analysis.apr import Roles
    from anynet_study.analysis.study import Study

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")


def _enough(resamples: int) -> int:
    if not 100 <= resamples <= 1_000_000:
        raise UserError(f"--resamples: {resamples} is too few or too many; legal: 100 to 1000000")
    return resamples


def _no_sign(seed: int) -> int:
    if seed < 0:
        raise UserError(f"--seed: {seed} is negative; legal: 0, 1, 2, ...")
    return seed


def studies_and_files(begun: str) -> list[str]:
    """Return what a shell may complete to: names of studies under studies/, and files."""
    studies = [Path(path).parent.name for path in glob(f"studies/{escape(begun)}*/sweep.yaml")]
    return sorted(studies) + sorted(glob(f"{escape(begun)}*"))


Source = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="Study, results.h5, or a table (CSV, Parquet) of errors in percent.",
        autocompletion=studies_and_files,
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the figures.")]
Resamples = Annotated[
    int, typer.Option(callback=_enough, help="Bootstrap resamples of architectures.")
]
Seed = Annotated[int, typer.Option(callback=_no_sign, help="Seed of the bootstrap.")]
#: Headings of the help of commands, below the common options.
OF_TABLES = "How a table is read"
OF_STATISTICS = "Which runs count, and how intervals are computed"
of_datasets = partial(typer.Option, rich_help_panel="What datasets are")
SourceName = Annotated[
    str,
    typer.Option(
        "--source", help="The source dataset; all others are targets, unless --targets says which."
    ),
]
Family = Annotated[
    list[str] | None,
    of_datasets(
        "--family",
        help="NAME=CLASSES,... of the source and its class subsets.",
    ),
]
Targets = Annotated[
    list[str] | None,
    of_datasets("--targets", help="NAME=CLASSES,... of the target datasets."),
]
Shifts = Annotated[
    list[str] | None,
    of_datasets(
        "--shifts",
        help="NAME,... of further test sets of the source; they are no targets.",
    ),
]
Evaluations = Annotated[
    list[str] | None,
    of_datasets(
        "--evaluations",
        help="NAME,... of the further test sets to analyze; default: those that are shifts.",
    ),
]
Baseline = Annotated[
    list[str] | None,
    of_datasets(
        "--baseline",
        help="PATTERN,... of the architectures whose line effective robustness is measured from; "
        "default: all.",
    ),
]
Images = Annotated[
    list[str] | None,
    of_datasets(
        "--images",
        help="NAME=COUNT,...: how many images test sets have.",
    ),
]
Distances = Annotated[
    Path | None,
    of_datasets("--distances", help="Distances of datasets, as `data distance -o` writes them."),
]
OwnAnalyses = Annotated[
    list[str] | None,
    typer.Option("--analysis", help="MODULE:NAME of an analysis of your own, such as mine.py's."),
]


def names(text: str) -> tuple[str, ...]:
    """The names of a comma-separated option; one with a comma in it stands in double quotes.

    >>> names('a, b,"c, d"')
    ('a', 'b', 'c, d')
    """
    rows = csv.reader([text], skipinitialspace=True)
    return tuple(name.strip() for row in rows for name in row if name.strip())


@dataclass(frozen=True)
class TableOptions:
    """Options of every command that reads a table, by their names in `load`."""

    #: By heading: the options that the help shows below it.
    SECTIONS: ClassVar[Mapping[str, Sequence[str]]] = {
        OF_TABLES: (
            *("fraction", "columns", "describe", "ignore", "dataset_columns", "error_columns"),
            *("ignore_rows", "last", "transpose", "separator", "encoding"),
        )
    }

    accuracy: Annotated[
        bool | None,
        typer.Option("--accuracy/--error", help="Whether a table's values are accuracies, errors."),
    ] = None
    fraction: Annotated[
        bool | None,
        typer.Option("--fraction/--percent", help="Whether a table's values go up to 1 or to 100."),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="OURS=THEIRS,... of a table: model=name+size,error=top1_err,std=*_std,n=3.",
        ),
    ] = None
    describe: Annotated[str, typer.Option(help="Columns that describe the models.")] = ""
    ignore: Annotated[str, typer.Option(help="Columns to leave out.")] = ""
    dataset_columns: Annotated[
        str, typer.Option(help="Columns that are datasets; the others describe the models.")
    ] = ""
    error_columns: Annotated[
        str, typer.Option(help="Columns of errors in a table of accuracies.")
    ] = ""
    ignore_rows: Annotated[
        str, typer.Option(help="Rows that are no models, by name; none: all are.")
    ] = ""
    last: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Keep each model's row with the highest value, as of an epoch."
        ),
    ] = ""
    transpose: Annotated[
        bool | None,
        typer.Option("--transpose/--no-transpose", help="Whether rows are datasets, not models."),
    ] = None
    separator: Annotated[str, typer.Option(help="Separator of CSV files.")] = ""
    encoding: Annotated[str, typer.Option(help="Encoding of CSV files.")] = ""

    def declared(self) -> dict[str, Any]:
        """Return what is said of a table, as keywords of `load`."""
        pairs = parse_pairs("--map", self.columns or [], "OURS=THEIRS", several=True)
        told = {option.name: getattr(self, option.name) for option in fields(TableOptions)}
        lists = ("describe", "ignore", "dataset_columns", "error_columns", "ignore_rows")
        return told | {"columns": dict(pairs)} | {name: names(told[name]) for name in lists}


@dataclass(frozen=True)
class StudyOptions(TableOptions):
    """The options of every command and script that analyses; `load` reads the input with them."""

    SECTIONS: ClassVar[Mapping[str, Sequence[str]]] = {
        **TableOptions.SECTIONS,
        OF_STATISTICS: (
            *("method", "resamples", "seed", "level", "unweighted", "least_icc"),
            *("recipe", "metric", "replicates"),
        ),
    }

    method: Annotated[str, typer.Option(help="spearman, pearson or kendall.")] = "spearman"
    resamples: Resamples = 10_000
    seed: Seed = 0
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95
    unweighted: Annotated[
        bool,
        typer.Option(
            "--unweighted", help="Ignore the weights of a sample drawn with unequal probability."
        ),
    ] = False
    least_icc: Annotated[
        float | None,
        typer.Option(
            "--least-icc",
            help="Least ICC of single runs, where no replicates tell it: “no” needs to know.",
        ),
    ] = None
    where: Annotated[
        str,
        typer.Option(
            "--where", help="Use only runs for which a condition in SQL holds, as in query."
        ),
    ] = ""
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe", help="Recipe in a store; default: those of errors_of, or the first."
        ),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option("--metric", help="top1, top5, ...; default: each dataset's own."),
    ] = None
    replicates: Annotated[
        str, typer.Option("--replicates", help="In a store: mean over replicates, or first.")
    ] = "mean"
    budget: Annotated[
        str,
        of_datasets(metavar="COLUMN", help="Of a table: each model's data budget (budgets)."),
    ] = ""
    by: Annotated[
        str,
        of_datasets(metavar="COLUMN", help="With --budget: how each model was trained."),
    ] = ""
    source_name: SourceName = ""
    family: Family = None
    targets: Targets = None
    shifts: Shifts = None
    evaluations: Evaluations = None
    baseline: Baseline = None
    images: Images = None
    distances: Distances = None
    analysis: OwnAnalyses = None

    def load(self, source: Path) -> "Study":
        """The study, store or table, with these options."""
        from anynet_study.analysis.analyses.loading import load

        how = {name: getattr(self, name) for name in OPTIONS} | self.declared()
        return load(
            source,
            parse_roles(self.source_name, self.family or [], self.targets or []),
            shifts=parse_names(self.shifts or []),
            evaluations=parse_names(self.evaluations or []),
            baseline=parse_names(self.baseline or []),
            images=parse_counts("--images", self.images or [], "NAME=COUNT, such as val=50000"),
            distances=self.distances,
            analysis=self.analysis or (),
            **how,
        )


#: Options that say how to compute, and which runs count.
OPTIONS = (
    *("method", "resamples", "seed", "level", "unweighted", "least_icc"),
    *("where", "recipe", "metric", "replicates", "budget", "by"),
)


def with_options(kind: Callable[..., Any], function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of a dataclass as options, in place of its parameter `options`.

    Called from Python, it takes them as keywords. A parameter of its own replaces the option of
    that name. The help shows them below the headings that the class has in `SECTIONS`.
    """
    hints = get_type_hints(kind, include_extras=True)
    for heading, below in kind.SECTIONS.items():  # type: ignore[attr-defined]
        for name in below:
            hints[name] = _below(heading, hints[name])
    own = inspect.signature(function, eval_str=True)
    kept = [own.parameters[name] for name in own.parameters if name != "options"]
    added = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=hints[option.name],
        )
        for option in fields(kind)  # type: ignore[arg-type]
        if option.name not in own.parameters
    ]

    names = [option.name for option in added]

    @wraps(function)
    def command(*args: Any, **kwargs: Any) -> None:
        told = {name: kwargs.pop(name) for name in names if name in kwargs}
        function(*args, options=kind(**told), **kwargs)

    command.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {given.name: given.annotation for given in [*kept, *added]}
    return command


def _below(heading: str, annotation: Any) -> Any:
    """The annotation of an option that the help shows below a heading."""
    kind, option = get_args(annotation)
    option = copy(option)
    option.rich_help_panel = heading
    return Annotated[kind, option]


with_study_options = partial(with_options, StudyOptions)


def parse_roles(source: str, family: Sequence[str], targets: Sequence[str]) -> "Roles | str | None":
    """Roles from the options --source NAME, --family and --targets NAME=CLASSES[,NAME=CLASSES].

    The name of the source where that is all that is said.
    """
    if not family and not targets:
        return source or None
    from anynet_study.analysis.apr import Roles

    if not source:
        raise UserError("--source: name the source dataset that --family and --targets refer to")
    if not family or not targets:
        missing = "--family" if not family else "--targets"
        raise UserError(f"{missing}: needed with --source, as NAME=CLASSES, such as ImageNet=1000")
    return Roles(source, parse_counts("--family", family), parse_counts("--targets", targets))


def parse_names(values: Sequence[str]) -> tuple[str, ...]:
    """Names from NAME[,NAME] of an option that may be given several times."""
    return tuple(name.strip() for text in values for name in text.split(",") if name.strip())


def parse_counts(
    option: str, values: Sequence[str], legal: str = "NAME=CLASSES, such as ImageNet-10=10"
) -> dict[str, int]:
    """Counts from NAME=COUNT[,NAME=COUNT] of an option that may be given several times."""
    counts: dict[str, int] = {}
    for value in (part for text in values for part in text.split(",")):
        name, _, count = value.strip().rpartition("=")
        if not name or not re.fullmatch("[0-9]{1,12}", count):
            raise UserError(f"{option}: {value!r} is not {legal}")
        counts[name] = int(count)
    return counts


def parse_pairs(
    option: str, values: Sequence[str], legal: str, several: bool = False
) -> list[tuple[str, str]]:
    """Part each NAME=VALUE; an option that takes `several` has commas between them."""
    pairs: list[tuple[str, str]] = []
    for part in (part for value in values for part in (names(value) if several else [value])):
        # Paths have no = in them as a rule, names of datasets might.
        name, _, value = part.strip().rpartition("=")
        if not name or not value:
            raise UserError(f"{option}: {part!r} is not {legal}")
        pairs.append((name.strip(), value.strip()))
    return pairs


def check_figure(option: str, path: Path | None) -> None:
    """Refuse, before any work, a file that a figure cannot be written to."""
    if path is not None and path.suffix not in FIGURE_SUFFIXES:
        raise UserError(f"{option}: {path} must end in {', '.join(FIGURE_SUFFIXES)}")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write the figure in the format that the suffix says."""
    from anynet_study.analysis.plots import save

    save(figure, path.with_suffix(""), [path.suffix[1:]])
