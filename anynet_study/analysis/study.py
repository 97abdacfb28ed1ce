"""A loaded study: what is known of it, beside the tables and figures of its analyses.

`anynet_study.load` makes one from a study, a results store or a table of errors.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_hashable

from anynet_study.analysis.analysis import Analysed, Analysis, Options
from anynet_study.analysis.apr import Roles, correctness, effective_size, weights_of
from anynet_study.analysis.apr.error_tables import check_columns
from anynet_study.analysis.apr.population import aligned_weights
from anynet_study.core.errors import DoesNotApplyError, UserError, counted, nearest
from anynet_study.core.metrics import EvaluationKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure as PlottedFigure

    from anynet_study.store import ResultStore

NO_ROLES = "no source dataset with targets is known"
#: So many networks are named in a sentence.
NAMED = 6
NO_POPULATION = "the parameters of the architectures are not known"
NO_REPLICATES = "no architecture was trained more than once on any dataset"
NO_KNOWN_REPLICATES = (
    "no replicates are known (of a table: a column replicate, or --map std=COLUMN,n=COLUMN)"
)
NO_DATASETS = "datasets are described only in a results store"
NO_TRAINING_ERRORS = "no training errors are stored"
NO_TOP5 = "top-5 errors on datasets of more than five classes are not known"
NO_CURVES = "no learning curves are stored"
NOT_TUNED = "no recipe is tuned"
UNEQUAL = (
    "the architectures were drawn with unequal probability, and this takes all alike; --unweighted "
    "does so"
)
ONE_RECIPE = "all runs have the same recipe"
NO_TEST_SETS = "no dataset is said to be a further test set of another"
#: What tables of further test sets are of, unless they are told.
SHIFT: EvaluationKind = "shift"
NO_DISTANCES = "no distances of its datasets are known (data distance --study, or --distances)"
NO_PREDICTIONS = "predictions are only in a results store"

#: The names of the package's tables, and of its figures.
Table = Literal[
    "correlations",
    "match",
    "proxies",
    "over-targets",
    "benchmark",
    "regret",
    "costs",
    "sizes",
    "distance",
    "drivers",
    "stages",
    "configurations",
    "bins",
    "noise",
    "corrected",
    "rank-preservation",
    "duration",
    "recipes",
    "tuning",
    "tuned",
    "class-or-size",
    "transfer",
    "beyond",
    "shifts",
    "gaps",
    "effective-robustness",
    "budgets",
    "significance",
    "label-sets",
    "class-accuracy",
    "confusion",
]
Figure = Literal[
    "heatmap",
    "matrix",
    "source",
    "matched",
    "proxies",
    "family",
    "benchmark",
    "regret",
    "costs",
    "widths",
    "distance",
    "depth",
    "width",
    "fitting",
    "stages",
    "stages-given",
    "importance",
    "configurations",
    "bins",
    "noise",
    "rank-preservation",
    "curves",
    "duration",
    "recipes",
    "source-by-recipe",
    "metrics",
    "tuned",
    "class-or-size",
    "transfer",
    "improvement",
    "others",
    "shifts",
    "gaps",
    "effective-robustness",
    "shift-ranks",
    "budgets",
    "label-sets",
    "class-accuracy",
    "confusion",
    "population",
]
#: What the completion of a study in a shell or notebook leaves out: for analyses, not for users.
FOR_ANALYSES = frozenset(
    {
        *("inputs", "progress", "analyses", "analysis", "analysis_of", "study_figure"),
        *("figure_data", "chosen", "kind_of", "tested_on", "staged", "read_all", "known", "get"),
        *(
            "make",
            "weighted",
            "equal_weights",
            "left_out",
            "tables",
            "recipe_test_sets",
            "report_folder",
        ),
    }
)

T = TypeVar("T")


@dataclass(frozen=True)
class ImagePredictions:
    """Classes that architectures predicted for the images of one test set."""

    architectures: list[str]
    #: (architectures, images) class numbers.
    classes: NDArray[np.uint16]
    #: (images,) true ones; 65535 where unknown.
    labels: NDArray[np.uint16]
    #: Names of the classes by number; empty where they are not known.
    names: tuple[str, ...] = ()

    def name_of(self, number: int) -> str:
        """Return the name of a class, or its number where that is not known."""
        return self.names[number] if number < len(self.names) else str(number)

    def correct(self) -> pd.DataFrame:
        """Tell which images are classified rightly: bool, architectures x images."""
        return correctness(self.classes, self.labels, self.architectures)


@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """The inputs of a study: tables in memory here, a results store in `StoreInputs`.

    None, or nothing, is what a study does not have.
    """

    #: Architectures x datasets, percent, NaN = missing.
    errors: pd.DataFrame
    #: Source, family and targets.
    roles: Roles | None = None
    #: What is known of each architecture: `architecture`, and d1, w1, ..., flops or such.
    architectures: pd.DataFrame | None = None
    #: Long: architecture, dataset, replicate, error.
    replicates: pd.DataFrame | None = None
    #: Long: dataset, architecture, epoch, error; of the first replicates, on test images.
    curves: pd.DataFrame | None = None
    #: As `ResultStore.datasets()`.
    datasets: pd.DataFrame | None = None
    #: Architectures x datasets: top-1 error on the training images in the last epoch.
    training_errors: pd.DataFrame | None = None
    #: Of each dataset, the recipe whose errors stand for it; none of a table.
    errors_of: dict[str, str] = field(default_factory=dict)
    #: Errors under the other recipes, by name, on the datasets that these were trained on.
    recipes: dict[str, pd.DataFrame] = field(default_factory=dict)
    #: As `ResultStore.trials()`: the runs of tuned recipes.
    trials: pd.DataFrame | None = None
    #: Errors on "top1" and "top5", of the datasets for which both are known.
    by_metric: dict[str, pd.DataFrame] = field(default_factory=dict)
    #: (dataset, test set, architectures) -> what those took its images for.
    predicted: Callable[[str, str, list[str]], ImagePredictions] | None = None
    #: Of each dataset, such as "top1"; none where they are not known.
    metrics: dict[str, str] = field(default_factory=dict)
    #: Mean seconds of a run on each dataset, where they were measured.
    costs: dict[str, float] = field(default_factory=dict)
    #: Test sets among the columns of `errors`, with the dataset that each is a further one of.
    shifts: dict[str, str] = field(default_factory=dict)
    #: Of a dataset, its test sets' numbers of images, where they are known; its own is "test".
    images: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Distances of its datasets: a, b, fid_corrected, fid_low, fid_high, as `data distance` writes.
    distances: pd.DataFrame | None = None
    #: Of a dataset, the test sets in which networks chose among fewer classes: how many.
    choices: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Of a table, what its values were taken for.
    read_as: str = ""
    #: Of a dataset, what each of its runs' evaluations is.
    kinds: dict[str, dict[str, EvaluationKind]] = field(default_factory=dict)
    #: By dataset, errors on its runs' evaluations: architectures x test sets, "test" first.
    evaluated: dict[str, pd.DataFrame] = field(default_factory=dict)
    #: The same of the other recipes, by name.
    recipe_evaluated: dict[str, dict[str, pd.DataFrame]] = field(default_factory=dict)


def needed(found: T | None, reason: str) -> T:
    """Return what was found; DoesNotApplyError with the reason where there is nothing."""
    if found is None or (isinstance(found, dict) and not found):
        raise DoesNotApplyError(reason)
    return found


class Study(Analysed):
    """A study as it is analysed; each property is read when it is first asked for, and once.

    A property raises DoesNotApplyError with the reason where the study has nothing of the kind;
    `known` gives None instead.

    >>> import anynet_study
    >>> errors = pd.DataFrame({"big": [30, 31, 33, 34, 36], "small": [10, 12, 11, 13, 15]})
    >>> study = anynet_study.Study.open(errors, "big", resamples=200)
    >>> study.best("big", 2), study.roles.targets, study.table("correlations").attrs["method"]
    ([0, 1], {'small': 0}, 'spearman')
    """

    def __init__(
        self,
        name: str,
        inputs: Inputs,
        options: Options,
        analyses: Mapping[str, Analysis["Study"]],
        store: "ResultStore | None" = None,
    ) -> None:
        super().__init__(name, options, analyses)
        self.inputs, self.store = inputs, store

    @staticmethod
    def open(study: Any, *roles: Any, **options: Any) -> "Study":
        """A study by its name or folder, a results store or a table: `anynet_study.load`."""
        from anynet_study import load

        return load(study, *roles, **options)

    @staticmethod
    def run(sweep: Any, **options: Any) -> "Study":
        """Do a whole study on this machine, and load it: `anynet_study.run`."""
        from anynet_study import run

        return run(sweep, **options)

    @property
    def conclusions(self) -> list[str]:
        """The answer in at most five sentences; all tables are made for it.

        None where nothing can be concluded: `concerns` of the report, and `left_out`, say why.

        >>> import anynet_study
        >>> rows = range(40)
        >>> errors = pd.DataFrame({"big": rows, "small": [it + it % 3 for it in rows]}) + 20
        >>> study = anynet_study.load(errors, source="big", resamples=200, quiet=True)
        >>> study.conclusions[0]
        'The ranking of the architectures on big carries over to small.'
        """
        from anynet_study.analysis import conclusions

        self.make(self.known_tables)
        return conclusions(self)

    def report(self, folder: str | Path | None = None, figures: Sequence[str] = ()) -> Path:
        """Write the report, one page to explore, and return its path.

        By default into `report/` beside a study's results, or into NAME-report/ of a table.
        `figures`: names of figures to write as files, too, and to show in the page.
        """
        from anynet_study.analysis import write_report

        folder = self.report_folder if folder is None else Path(folder)
        return write_report(self, folder, figures)

    @property
    def report_folder(self) -> Path:
        """The folder of the report, where nothing else is said."""
        if self.store is not None:
            return self.store.path.parent / "report"
        return Path(f"{Path(self.name).stem}-report")

    def __dir__(self) -> list[str]:
        """Return what users need."""
        names = {*super().__dir__(), *vars(self)} - FOR_ANALYSES
        return sorted(name for name in names if not name.startswith("_"))

    def table(self, name: Table | str) -> pd.DataFrame:
        """The table of an analysis; its `attrs` say how it was computed.

        Raises UserError with the reason where it cannot be made, and for an unknown name.
        """
        return super().table(name).copy(deep=False)

    def figure(self, name: Figure | str) -> "PlottedFigure":
        """A figure, drawn anew; UserError with the reason where there is none."""
        return super().figure(name)

    def results(self, architecture: Any) -> pd.DataFrame:
        """Return what was measured of one architecture: a row per run, in the order of the study.

        `architecture` is its id, its name as a network, or an `Architecture`. Of a store,
        DataFrame[dataset, recipe, replicate, status, error (percent), metric, seconds, run_id] of
        the runs that the sweep asks for; of a table of errors, DataFrame[dataset, error]. Raises
        UserError for an architecture that the study does not have.

        >>> import anynet_study
        >>> errors = pd.DataFrame({"big": [30, 31], "small": [10, 12]}, index=["a", "b"])
        >>> anynet_study.load(errors).results("b")
          dataset  error
        0     big   31.0
        1   small   12.0
        """
        name = getattr(architecture, "id", architecture)
        if not is_hashable(name):
            kind = type(name).__name__
            raise UserError(f"results: a {kind}; needed is an id, a name or an Architecture")
        name = {called: one for one, called in self.networks.items()}.get(name, name)
        if name not in self.errors.index:
            known = [*map(str, self.errors.index), *self.networks.values()]
            raise UserError(
                f"{self.name}: no architecture {name}{nearest(name, known)}; its "
                f"{len(self.errors):,} are the index of `errors`, the first {known[0]}"
            )
        if self.store is None:
            return self.errors.loc[name].rename_axis("dataset").rename("error").reset_index()
        columns = ["dataset", "recipe", "replicate", "status", "error", "metric", "seconds"]
        runs = self.store.runs(["architecture", "planned", *columns, "run_id"])
        mine = runs[runs["planned"] & runs["architecture"].eq(name)]
        return mine[[*columns, "run_id"]].reset_index(drop=True)

    def __enter__(self) -> Self:
        """Read one and the same state of the store, though it is collected anew meanwhile."""
        if self.store is not None:
            self.store.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        if self.store is not None:
            self.store.__exit__(*raised)

    def known(self, name: str) -> Any:
        """A property; None where the study has nothing of the kind."""
        with suppress(DoesNotApplyError):
            return getattr(self, name)
        return None

    @property
    def errors(self) -> pd.DataFrame:
        """Architectures x datasets, percent, NaN = missing; a copy, which may be changed."""
        return self.inputs.errors.copy(deep=False)

    @property
    def roles(self) -> Roles:
        """Source, family and targets."""
        return needed(self.inputs.roles, NO_ROLES)

    @property
    def architectures(self) -> pd.DataFrame:
        """Return what is known of each architecture: `architecture`, and d1, w1, ..., flops or
        such.
        """
        table = needed(self.inputs.architectures, NO_POPULATION).copy(deep=False)
        if self.options.unweighted:
            return table.drop(columns="weight", errors="ignore")
        return table

    @cached_property
    def networks(self) -> dict[str, str]:
        """The names of the networks that have one, by architecture."""
        table = self.known("architectures")
        if table is None or "network" not in table:
            return {}
        named = zip(table["architecture"], table["network"], strict=True)
        return {str(one): name for one, name in named if isinstance(name, str) and name}

    def called(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table for people: networks that have a name by that in place of their id."""
        names = self.networks
        texts = table.select_dtypes(exclude=["number", "bool"]) if names else table.iloc[:, :0]
        return table.assign(
            **{
                str(name): [names.get(cell, cell) if isinstance(cell, str) else cell for cell in it]
                for name, it in texts.items()
            }
        )

    @property
    def population(self) -> pd.DataFrame:
        """`architectures`, those that have stages, whose parameters are known."""
        table = self.architectures
        if table.empty or "d1" not in table:
            raise DoesNotApplyError(NO_POPULATION)
        return table[table["d1"].notna()]

    def staged(self, errors: pd.DataFrame) -> pd.DataFrame:
        """The errors without those of architectures that have no stages, for what asks of these."""
        return errors.drop(index=self._without_stages, errors="ignore")

    @property
    def _without_stages(self) -> list[str]:
        table = self.known("architectures")
        if table is None or not {"d1", "network"} & set(table):
            return []
        staged = table["d1"].notna() if "d1" in table else pd.Series(False, table.index)
        return list(table.loc[~staged, "architecture"])

    @property
    def stageless(self) -> str:
        """A sentence on the architectures that have no stages; "" where all have."""
        left = self._without_stages
        if not left:
            return ""
        told = [self.networks.get(one, one) for one in left]
        few = ", ".join(told[:NAMED]) + (", ..." if len(told) > NAMED else "")
        return (
            f"{len(left)} of {len(self.architectures)} architectures have no stages ({few}): "
            "depth, width and the other parameters of stages leave them out."
        )

    @property
    def weights(self) -> "pd.Series[float] | None":
        """By architecture; None where all were drawn with equal probability."""
        table = self.known("architectures")
        return None if table is None else weights_of(table)

    @property
    def effective(self) -> float | None:
        """Kish's effective number of architectures; None where they have no (legal) weights."""
        try:
            weights = aligned_weights(self.weights, self.errors)
        except DoesNotApplyError:  # the analyses that it keeps from being made say so
            return None
        return None if weights is None else effective_size(weights)

    @property
    def equal_weights(self) -> None:
        """Nothing; for tables that take all architectures alike, where these have no weights."""
        if self.weights is not None:
            raise DoesNotApplyError(UNEQUAL)

    @property
    def weighted(self) -> dict[str, Any]:
        """The arguments of every correlation that takes weights."""
        return self.options.correlating | {"weights": self.weights}

    @property
    def replicates(self) -> pd.DataFrame:
        """Long: architecture, dataset, replicate, error; some architecture was trained twice."""
        table = needed(self.inputs.replicates, NO_KNOWN_REPLICATES)
        if not table.duplicated(["architecture", "dataset"]).any():
            raise DoesNotApplyError(NO_REPLICATES)
        return table

    @property
    def curves(self) -> pd.DataFrame:
        """Long: dataset, architecture, epoch, error; of the first replicates, on test images."""
        table = needed(self.inputs.curves, NO_CURVES)
        if not table["error"].notna().any():
            raise DoesNotApplyError(NO_CURVES)
        return table

    @property
    def datasets(self) -> pd.DataFrame:
        """Return the table of datasets, as `ResultStore.datasets` does."""
        return needed(self.inputs.datasets, NO_DATASETS)

    @property
    def training_errors(self) -> pd.DataFrame:
        """Architectures x datasets: top-1 error on the training images in the last epoch."""
        return needed(self.inputs.training_errors, NO_TRAINING_ERRORS)

    @property
    def errors_of(self) -> dict[str, str]:
        """The recipe whose errors stand for each dataset; empty for a table."""
        return self.inputs.errors_of

    @property
    def recipe(self) -> str:
        """The recipes whose errors are analysed: `basic`, or `basic (imagenet), grid`."""
        standing, names = self.errors_of, dict.fromkeys(self.errors_of.values())
        if len(names) == 1:
            return next(iter(names))
        most = max(reversed(names), key=[*standing.values()].count, default="")
        others = {name: [at for at in standing if standing[at] == name] for name in names}
        told = [f"{name} ({', '.join(of)})" for name, of in others.items() if name != most]
        return ", ".join([*told, most])

    @property
    def recipes(self) -> dict[str, pd.DataFrame]:
        """Errors under the other recipes, by name."""
        return needed(self.inputs.recipes, ONE_RECIPE)

    @property
    def trials(self) -> pd.DataFrame:
        """Return the runs of tuned recipes, as `ResultStore.trials` does."""
        return needed(self.inputs.trials, NOT_TUNED)

    @property
    def by_metric(self) -> dict[str, pd.DataFrame]:
        """Errors on "top1" and "top5", of the datasets for which both are known."""
        return needed(self.inputs.by_metric, NO_TOP5)

    @property
    def predicted(self) -> Callable[[str, str, list[str]], ImagePredictions]:
        """(dataset, test set, architectures) -> what those took its images for."""
        return needed(self.inputs.predicted, NO_PREDICTIONS)

    @property
    def distances(self) -> pd.DataFrame:
        """Distances of its datasets, as `data distance` writes them."""
        return needed(self.inputs.distances, NO_DISTANCES)

    @property
    def metrics(self) -> dict[str, str]:
        """The metric of each dataset, such as "top1"; empty where they are not known."""
        return self.inputs.metrics

    @property
    def costs(self) -> dict[str, float]:
        """Mean seconds of a run on each dataset, where they were measured."""
        return self.inputs.costs

    @property
    def shifts(self) -> dict[str, str]:
        """Datasets that are further test sets, and which of the others each is one of."""
        return self.inputs.shifts

    @property
    def images(self) -> dict[str, dict[str, int]]:
        """Numbers of test images, by dataset and test set; the dataset's own is "test"."""
        return self.inputs.images

    @property
    def choices(self) -> dict[str, dict[str, int]]:
        """Numbers of classes, by dataset and test set, where networks choose among fewer."""
        return self.inputs.choices

    @property
    def kinds(self) -> dict[str, dict[str, EvaluationKind]]:
        """The kind of each evaluation, by dataset and evaluation."""
        return self.inputs.kinds

    @property
    def evaluated(self) -> dict[str, pd.DataFrame]:
        """By dataset, errors of its networks: architectures x test sets, its own first ("test").

        Those of its runs' evaluations, and the datasets that `shifts` says are its test sets.
        """
        found = dict(self.inputs.evaluated)
        for dataset in dict.fromkeys(self.shifts.values()):
            names = [name for name, of in self.shifts.items() if of == dataset]
            own = found.get(dataset, self.errors[[dataset]].rename(columns={dataset: "test"}))
            found[dataset] = own.join(self.errors[names])
        if not found:
            raise DoesNotApplyError(NO_TEST_SETS)
        return found

    @property
    def test_sets(self) -> dict[str, pd.DataFrame]:
        """The part of `evaluated` that `Options.evaluations` names, or else the shifts."""
        return self.tested_on(SHIFT)

    def tested_on(self, kind: EvaluationKind | None) -> dict[str, pd.DataFrame]:
        """Return what `Options.evaluations` names of `evaluated`, or else evaluations of a kind."""
        tables = self.evaluated
        known = {name: self.kind_of(of, name) for of in tables for name in tables[of].columns[1:]}
        if absent := [name for name in self.options.evaluations if name not in known]:
            there = ", ".join(known)
            raise UserError(f"--evaluations: no evaluation {absent[0]}; there are {there}")
        if not (found := self.chosen(tables, kind)):
            kinds = ", ".join(f"{name} ({of})" for name, of in known.items())
            raise DoesNotApplyError(
                f"no evaluation is a {kind}; --evaluations takes others: {kinds}"
            )
        return found

    @property
    def recipe_test_sets(self) -> dict[str, dict[str, pd.DataFrame]]:
        """Return what `test_sets` returns, for each of the other recipes by its name."""
        tables = needed(self.inputs.recipe_evaluated, ONE_RECIPE)
        return {name: found for name, of in tables.items() if (found := self.chosen(of, SHIFT))}

    def kind_of(self, dataset: str, test_set: str) -> EvaluationKind:
        """Return what a further test set of a dataset is; what `shifts` names are shifts."""
        return self.kinds.get(dataset, {}).get(test_set, SHIFT)

    def chosen(
        self, tables: Mapping[str, pd.DataFrame], kind: EvaluationKind | None
    ) -> dict[str, pd.DataFrame]:
        """Choose the test sets of tables like `evaluated`; leave out datasets without any."""
        told, found = self.options.evaluations, {}
        for dataset, table in tables.items():
            names = [
                name
                for name in table.columns[1:]
                if (name in told if told else self.kind_of(dataset, name) == kind)
            ]
            if names:
                found[dataset] = table[[table.columns[0], *names]]
        return found

    @property
    def image_counts(self) -> dict[str, int]:
        """Test images of each dataset of which they are known."""
        return {name: counts["test"] for name, counts in self.images.items() if "test" in counts}

    @property
    def accuracies(self) -> dict[str, pd.DataFrame]:
        """Return the accuracies on `test_sets`, in percent."""
        return {name: 100 - errors for name, errors in self.test_sets.items()}

    def read_all(self) -> None:
        """Read all properties now, before the store is closed or processes part."""
        for one in fields(Inputs):
            getattr(self.inputs, one.name)

    def best(self, dataset: str, count: int) -> list[str]:
        """The architectures of the lowest errors on a dataset, the best first.

        Raises UserError for an unknown dataset.
        """
        check_columns(self.errors, [dataset], "errors")
        return list(self.errors[dataset].dropna().sort_values(kind="stable").index[:count])

    @property
    def size(self) -> str:
        """`100 architectures x 11 datasets`."""
        rows, columns = self.errors.shape
        return f"{counted(rows, 'architecture')} x {counted(columns, 'dataset')}"

    def __repr__(self) -> str:
        return f"<Study {self.name}: {self.size}; {self.options}>"

    def _repr_html_(self) -> str:
        """For notebooks: what the study is, and which tables it has."""
        roles: Roles | None = self.known("roles")
        facts = {
            "architectures": len(self.errors),
            "datasets": ", ".join(map(str, self.errors.columns)),
            "source": roles.source if roles else "not known",
            "targets": ", ".join(roles.targets) if roles else "not known",
            "computed with": str(self.options),
            "tables made": ", ".join(self.tables) or "none yet",
        }
        if self.effective is not None:
            facts["weighted: worth"] = f"{self.effective:.1f} architectures of equal weight"
        rows = "".join(
            f"<tr><th>{name}</th><td style='text-align:left'>{html.escape(str(fact))}</td></tr>"
            for name, fact in facts.items()
        )
        return f"<table><caption>Study {html.escape(self.name)}</caption>{rows}</table>"
