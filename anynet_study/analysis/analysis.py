"""An analysis: its options, what declares it, and how its table and figures are made.

`Analysis` and `StudyFigure` are what the modules of `analyses` declare. `Analysed` is
what they are of, a study or design spaces that are compared; it is handed the analyses, and knows
none of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args

import pandas as pd

from anynet_study.analysis.apr.options import Method
from anynet_study.analysis.claims import Kind, Said
from anynet_study.analysis.plots import wording
from anynet_study.core.errors import DoesNotApplyError, UserError, nearest_or_all
from anynet_study.core.metrics import SHOWN, check_level
from anynet_study.core.progress import progress_if_long

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from anynet_study.analysis.worlds import World

#: Panels that a figure has room for.
MOST_PANELS = 48

Replicates = Literal["mean", "first"]


@dataclass(frozen=True)
class Options:
    """Options that say which runs count, and how correlations and their intervals are computed."""

    method: Method = "spearman"
    #: Of the intervals, between 0 and 1.
    level: float = 0.95
    #: Of the bootstrap; statistics that need fewer take fewer.
    resamples: int = 10_000
    seed: int = 0
    #: Of a store: None is the main recipe.
    recipe: str | None = None
    #: Of a store: one of `metrics.SHOWN`; None is each dataset's own.
    metric: str | None = None
    #: Of a store: the mean over the replicates, or the first one.
    replicates: Replicates = "mean"
    #: The evaluations that tables of further test sets are of; none: those that are shifts.
    evaluations: tuple[str, ...] = ()
    #: Shell patterns of the architectures through which the line of effective robustness goes, such
    #: as those trained on the base alone; none: all.
    baseline: tuple[str, ...] = ()
    #: Of a table: the column of each model's data budget, and that of how it was trained.
    budget: str = ""
    by: str = ""
    #: The least ICC of single runs that there can be on any dataset, where no replicates tell it.
    least_icc: float | None = None
    #: Ignore the weights of a population that was drawn with unequal probability.
    unweighted: bool = False
    #: Only the runs that this condition keeps, in SQL; "": all.
    where: str = ""

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            legal = ", ".join(get_args(Method))
            raise UserError(f"--method: unknown {self.method!r}; choose from {legal}")
        if self.metric not in (None, *SHOWN):
            raise UserError(f"--metric: unknown {self.metric!r}; choose from {', '.join(SHOWN)}")
        if self.replicates not in get_args(Replicates):
            legal = ", ".join(get_args(Replicates))
            raise UserError(f"--replicates: unknown {self.replicates!r}; choose from {legal}")
        if self.seed < 0:
            raise UserError(f"--seed: {self.seed} is negative; legal: 0, 1, 2, ...")
        if self.by and not self.budget:
            raise UserError(f"--by {self.by}: it goes with --budget COLUMN")
        if self.least_icc is not None and not 0 < self.least_icc <= 1:
            raise UserError(f"--least-icc: {self.least_icc:g}; legal: above 0, at most 1")
        check_level(self.level, self.resamples)

    @property
    def intervals(self) -> dict[str, Any]:
        """The arguments of every statistic with bootstrap intervals."""
        return {"resamples": self.resamples, "seed": self.seed, "level": self.level}

    @property
    def correlating(self) -> dict[str, Any]:
        """The arguments of every correlation, but for weights."""
        return {"method": self.method, **self.intervals}

    def __str__(self) -> str:
        return (
            f"{self.method.capitalize()}, {100 * self.level:g}% intervals from "
            f"{self.resamples:,} resamples (seed {self.seed}){self.part}"
        )

    @property
    def part(self) -> str:
        """Return what a heading adds for a part of a study."""
        return f"; only runs where {self.where}" if self.where else ""


#: What analyses are of: a loaded study, or design spaces that are compared.
S = TypeVar("S", bound="Analysed")


@dataclass(frozen=True, kw_only=True)
class StudyFigure(Generic[S]):
    """A figure of an analysis; `data` and `draw` raise DoesNotApplyError where there is none."""

    name: str
    #: Its heading on a page.
    title: str
    #: {level}, {rho} and {correlation} stand for what its table says of itself.
    caption: str
    #: Draws the data.
    draw: Callable[[S, pd.DataFrame], "Figure"]
    #: What is drawn, and is written beside the picture; None: the analysis' table.
    data: Callable[[S], pd.DataFrame] | None = None
    #: A column of the analysis' table without a number in which there is nothing to draw.
    column: str = ""
    #: A column of the data that has a panel for each of its values.
    panels: str = ""
    #: Further tables that it draws on.
    needs: tuple[str, ...] = ()
    #: Whether a page says why it is absent.
    expected: bool = False
    #: Names that are still understood.
    older_names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Analysis(Generic[S]):
    """One question: its statistic, its figures, its sentences, and how a page shows them."""

    name: str
    title: str
    #: Raises DoesNotApplyError with the reason where there is none; None: figures only.
    table: Callable[[S], pd.DataFrame] | None
    #: Of the gallery: what is asked, the statistic in one line, where it is from, when to avoid it.
    question: str = ""
    formula: str = ""
    source: str = ""
    avoid: str = ""
    #: Properties of the study that have to be there, such as "roles" and "population".
    needs: tuple[str, ...] = ()
    #: Headings of columns that their names do not explain; "" for those that people are spared.
    headings: Mapping[str, str] = field(default_factory=dict)
    #: The table for people, where that has other rows or columns.
    arrange: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table
    figures: tuple[StudyFigure[S], ...] = ()
    #: What is found, under a topic of the answer: claims, which become words in `claims`.
    say: Callable[[S, pd.DataFrame], Said] | None = None
    topic: str = ""
    #: The kinds of claims that it says, and the worlds in which each is measured.
    says: Mapping[Kind, "tuple[World, ...]"] = field(default_factory=dict)
    #: Names that are still understood.
    older_names: tuple[str, ...] = ()
    #: Of its intervals; None: as many as the options say.
    most_resamples: int | None = None
    #: Where a page has it: the id of a section; a heading and a paragraph above it.
    section: str = ""
    heading: str = ""
    lead: str = ""
    #: The table on a page: "open" before the figures, "folded" after them, or "" for none.
    shown: str = ""
    #: Title of a folded table.
    caption: str = ""
    #: Small print with the table.
    note: str = ""
    #: Whether a page says why the table is absent.
    expected: bool = False


class Analysed:
    """A study as analyses see it: each table is computed when it is first asked for, and once."""

    def __init__(self, name: str, options: Options, analyses: Mapping[str, Analysis[Any]]) -> None:
        self.name, self.options, self.analyses = name, options, analyses
        #: The tables that were made.
        self.tables: dict[str, pd.DataFrame] = {}
        #: Why those that were asked for could not be made.
        self.left_out: dict[str, str] = {}
        #: An analysis calls this with the share of its work that is done.
        self.progress: Callable[[float], None] = lambda share: None

    @property
    def known_tables(self) -> tuple[str, ...]:
        """The names of all tables, whether they can be made or not."""
        return tuple(name for name, analysis in self.analyses.items() if analysis.table)

    @property
    def known_figures(self) -> tuple[str, ...]:
        """The names of all figures, whether they can be drawn or not."""
        return tuple(it.name for analysis in self.analyses.values() for it in analysis.figures)

    def table(self, name: str) -> pd.DataFrame:
        """The table of an analysis; its `attrs` say how it was computed.

        Raises DoesNotApplyError with the reason where the study has nothing of the kind, and
        UserError for an unknown name.
        """
        analysis = self.analysis(name)
        name = analysis.name
        if name not in self.tables:
            if name in self.left_out:
                raise DoesNotApplyError(self.left_out[name])
            try:
                self.tables[name] = self._made(analysis)
            except DoesNotApplyError as error:
                self.left_out[name] = str(error)
                raise
        return self.tables[name]

    def get(self, name: str) -> pd.DataFrame | None:
        """Return the table of an analysis; None where it cannot be made."""
        with suppress(DoesNotApplyError):
            return self.table(name)
        return None

    def make(self, names: Collection[str]) -> dict[str, pd.DataFrame]:
        """Make the tables that can be made, with progress; `left_out` says why no others."""
        with progress_if_long("analysing", 100, "%") as report:
            for done, name in enumerate(names):

                def on_share(share: float, name: str = name, done: int = done) -> None:
                    report(int(100 * (done + share) / len(names)), name)

                self.progress = on_share
                on_share(0)
                self.get(name)
            report(100)
        self.progress = lambda share: None
        return {name: self.tables[name] for name in names if name in self.tables}

    def figure(self, name: str) -> "Figure":
        """A figure, drawn anew; DoesNotApplyError with the reason where there is none."""
        figure = self.study_figure(name)
        return figure.draw(self, self.figure_data(name))

    def figure_data(self, name: str) -> pd.DataFrame:
        """Return what a figure draws."""
        figure = self.study_figure(name)
        analysis = self.analysis_of(figure)
        table = self.table(analysis.name) if analysis.table else pd.DataFrame()
        for need in analysis.needs:
            getattr(self, need)
        check_known(table, figure.column)
        data = table if figure.data is None else figure.data(self)
        if figure.panels:
            check_room(data[figure.panels].nunique(), MOST_PANELS, f"{figure.panels}s")
        return data

    def caption(self, name: str) -> str:
        """Return what a figure shows, with the level and the coefficient that its table has."""
        figure = self.study_figure(name)
        analysis = self.analysis_of(figure)
        table = self.get(analysis.name) if analysis.table else None
        told = vars(self.options) | (table.attrs if table is not None else {})
        caption = figure.caption.format(
            level=wording.percent(told["level"]),
            rho=wording.symbol(told["method"]),
            correlation=wording.correlation_name(told["method"]),
        )
        part = [f"Only runs where {self.options.where}."] if self.options.where else []
        return " ".join([caption, *part, *([] if table is None else remarks(table))])

    def analysis(self, name: str) -> Analysis[Any]:
        """Look up an analysis that has a table; UserError lists the legal names."""
        for analysis in self.analyses.values():
            if analysis.table and name in (analysis.name, *analysis.older_names):
                return analysis
        raise _unknown("table", name, self.known_tables)

    def study_figure(self, name: str) -> StudyFigure[Any]:
        """Look up a figure; UserError lists the legal names."""
        figures = [figure for known in self.analyses.values() for figure in known.figures]
        for figure in figures:
            if name in (figure.name, *figure.older_names):
                return figure
        raise _unknown("figure", name, self.known_figures)

    def analysis_of(self, figure: StudyFigure[Any]) -> Analysis[Any]:
        """The analysis that a figure shows."""
        return next(known for known in self.analyses.values() if figure in known.figures)

    def _made(self, analysis: Analysis[Any]) -> pd.DataFrame:
        for need in analysis.needs:
            getattr(self, need)
        assert analysis.table is not None
        table = analysis.table(self)
        resamples = self.options.resamples
        table.attrs.setdefault("resamples", min(resamples, analysis.most_resamples or resamples))
        table.attrs.setdefault("seed", self.options.seed)
        if "scale" in table.attrs and "scale" not in table:
            table["scale"] = table.attrs["scale"]
        return table


def _unknown(what: str, name: str, known: Sequence[str]) -> UserError:
    return UserError(f"unknown {what} {name!r}{nearest_or_all(name, known, 'choose from ')}")


def remarks(table: pd.DataFrame) -> list[str]:
    """Sentences on what a table rests on: scale, families of verdicts and tests, sets left out."""
    told = table.attrs
    said = []
    if "scale" in told:
        said.append(f"Accuracies are compared on the {told['scale']} scale.")
    if "family" in told:
        level = wording.percent(told["level"])
        together = f" together for {told['family']}" if told["family"] else ""
        said.append(f"Verdicts hold{together} at {level}.")
    if "tests" in told and table.filter(like="holm").notna().any(axis=None):
        said.append(f"p (Holm) is corrected for {told['tests']}.")
    return [*said, *told.get("remarks", [])]


def unanswered(table: pd.DataFrame) -> str:
    """Why a table answers nothing: it has no row, or no number but counts; "" where it answers."""
    numbers = table.select_dtypes("float")
    if len(table) and (numbers.empty or numbers.notna().any(axis=None)):
        return ""
    notes = [str(note) for note in table.get("note", ()) if note]
    return notes[0] if notes else "no value is known"


def check_room(count: int, most: int = MOST_PANELS, what: str = "datasets") -> None:
    """Raise DoesNotApplyError for more panels, rows or columns than a figure has room for."""
    if count > most:
        raise DoesNotApplyError(f"{count} {what} are more than the {most} that fit a figure")


def check_known(table: pd.DataFrame, column: str = "estimate") -> None:
    """Raise DoesNotApplyError for a column without any number."""
    if column in table and table[column].isna().all():
        what = "correlation" if column == "estimate" else column
        raise DoesNotApplyError(f"every {what} is undefined: too few, or constant, errors")
