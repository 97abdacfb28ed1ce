"""From a study, a results store or a table of errors to a loaded study."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.analysis.analyses.error_table import described, part_of, read_table
from anynet_study.analysis.analyses.registry import ANALYSES, known_analyses
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.apr import Roles
from anynet_study.analysis.study import ImagePredictions, Inputs, Study
from anynet_study.core.errors import (
    DoesNotApplyError,
    UserError,
    counted,
    first_line,
    nearest,
    printable,
    some_of,
)
from anynet_study.core.metrics import EvaluationKind
from anynet_study.core.sheets import is_table
from anynet_study.store import ImportOptions, ResultStore, StorePart, find_store, stored_json

CURVE_COLUMNS = ["dataset", "architecture", "epoch", "error", "train_top1"]
DISTANCE_COLUMNS = ("a", "b", "fid_corrected", "fid_low", "fid_high")
#: From so many pairs of datasets on it is told beforehand that they take long.
MANY_PAIRS = 10_000
#: The name of a dataset's own test set.
OWN = "test"
#: What a store may say of the parts of its datasets.
STORED = ("role", "classes", "test_set_of")


def load(
    study: str | Path | ResultStore | pd.DataFrame,
    roles: Roles | str | None = None,
    *,
    source: str = "",
    shifts: str | Sequence[str] = (),
    images: Mapping[str, int] | None = None,
    distances: Path | None = None,
    accuracy: bool | None = None,
    fraction: bool | None = None,
    columns: Mapping[str, str] | None = None,
    describe: Sequence[str] = (),
    ignore: Sequence[str] = (),
    dataset_columns: Sequence[str] = (),
    error_columns: Sequence[str] = (),
    ignore_rows: Sequence[str] = (),
    last: str = "",
    transpose: bool | None = None,
    separator: str = "",
    encoding: str = "",
    quiet: bool = False,
    analysis: str | Sequence[str] = (),
    **options: Any,
) -> Study:
    """Load a study: a folder or bare name, a results.h5, a CSV or Parquet table, a DataFrame.

    In a table the first column names the architecture; of a DataFrame its index does, but where it
    only counts the rows and the first column has texts. The others are datasets, with errors in
    percent, but for those that a population's table has too: of stages (d1, w1, b1, g1, ...),
    block, flops, weight and so on. `accuracy` and `fraction` say that a table holds accuracies
    (False: errors), or values from 0 to 1 (False: to 100). Where neither `accuracy` nor names of
    columns say which, values are taken for errors, or refused if a dataset's median is above 50%.
    `columns` says what columns are, as --map of `import` does: `{"model": "name+pretrained"}`, or
    `{"std": "*_std", "n": "3"}` for errors that are means over three trainings. `describe`,
    `ignore`, `dataset_columns`, `error_columns`, `ignore_rows`, `last`, `transpose`, `separator`
    and `encoding` are the options of `import` of these names. What each column was taken for is
    printed on standard error, unless `quiet`.

    `source` names the dataset that the others are compared with: all of them are its targets that
    have no other part. `roles` replaces what a store says of its datasets. `shifts` are further
    test sets of the source, `images` the numbers of test images. `distances` is the file of
    distances between datasets that `data distance` writes; in a study's folder it is found by
    itself. `analysis` adds analyses of your own, MODULE:NAME of an
    `anynet_study.analysis.Analysis`. `options` are the fields of
    `anynet_study.analysis.Options`: method, level, resamples, seed, recipe, metric, replicates,
    evaluations, baseline, least_icc, unweighted, where, budget, by.

    Raises UserError for an option that is not legal, and where there is no such study or table.

    >>> errors = pd.DataFrame({"big": [30, 31, 33, 34, 36], "small": [10, 12, 11, 13, 15]})
    >>> study = load(errors, source="big", resamples=200)
    >>> study.table("correlations")[["source", "target", "estimate", "n"]].round(2)
      source target  estimate  n
    0    big  small       0.9  5
    """
    lists: dict[str, Any] = {
        name: (value,) if isinstance(value, str) else tuple(value)
        for name, value in (
            *(("describe", describe), ("ignore", ignore), ("datasets", dataset_columns)),
            *(("errors", error_columns), ("ignore_rows", ignore_rows)),
        )
    }
    if source and roles not in (None, "", source):
        raise UserError("load: source and roles are both given; roles names the source, too")
    roles = roles or source or None
    if isinstance(columns, str):
        raise UserError(f"columns: {columns!r} is a text; needed is a dict, as {{'model': 'name'}}")
    known = [option.name for option in fields(Options)]
    for option in options:
        if option not in known:
            near = nearest(option, known)
            raise UserError(f"load: unknown option {option!r}{near}; legal: {', '.join(known)}")
    chosen, asked = (
        Options(**options),
        DatasetOptions(
            roles,
            (shifts,) if isinstance(shifts, str) else tuple(shifts),
            dict(images or {}),
            distances,
        ),
    )
    said = ImportOptions(
        columns=dict(columns or {}),
        quantity=None if accuracy is None else "accuracy" if accuracy else "error",
        unit=None if fraction is None else "fraction" if fraction else "percent",
        last=last,
        transpose=transpose,
        separator=separator,
        encoding=encoding,
        **lists,
    )
    if isinstance(study, pd.DataFrame):
        found = _of_table("table", described(study, said, asked.declared), asked, chosen, quiet)
    elif isinstance(study, str | Path) and is_table(Path(study)):
        found = _of_file(Path(study), asked, chosen, said, quiet)
    elif not isinstance(study, str | Path | ResultStore):
        kind = type(study).__name__
        raise UserError(f"load: a {kind}; needed is a path, a DataFrame or a ResultStore")
    else:
        found = _of_store(study, asked, chosen, converted=said != ImportOptions())
    count = found.errors.shape[1]
    if (pairs := count * (count - 1) // 2) > MANY_PAIRS and not quiet:
        told = f"{count} datasets are {pairs:,} pairs, and tables of all pairs take long"
        print(f"note: {told}: --table or --figure chooses", file=sys.stderr)
    found.analyses = known_analyses([analysis] if isinstance(analysis, str) else analysis)
    if chosen.method == "kendall" and found.weights is not None:
        raise UserError(
            "--method: kendall takes no weights, which the architectures have; legal: spearman, "
            "pearson, or kendall with --unweighted"
        )
    return found


def study_of(name: str, options: Options = Options(), **known: Any) -> Study:  # noqa: B008 - frozen
    """A study of tables in memory: fields of `Inputs`, "errors" among them."""
    return Study(name, Inputs(**known), options, ANALYSES)


@dataclass(frozen=True)
class DatasetOptions:
    """Options that say which part of each dataset is asked for, and describe its test images."""

    #: The name of a source: all datasets are its targets that have no other part.
    roles: Roles | str | None = None
    #: Further test sets of the source.
    shifts: tuple[str, ...] = ()
    #: Test images, by dataset.
    images: Mapping[str, int] = field(default_factory=dict)
    #: A file of distances of the datasets.
    distances: Path | None = None

    @property
    def declared(self) -> dict[str, dict[str, int]]:
        """Return what is said to be a dataset, with its number of classes where that is said,
        too.
        """
        roles = self.roles if isinstance(self.roles, Roles) else None
        classes = {**roles.family, **roles.targets} if roles else {}
        found = {name: {"classes": count} if count else {} for name, count in classes.items()}
        source = [self.roles] if isinstance(self.roles, str) else []
        return {name: {} for name in (*source, *self.shifts, *self.images)} | found

    def read_distances(self, beside: Path | None = None) -> pd.DataFrame | None:
        """Read the distances of the file that was named, or of a study's folder; None without one.

        Raises UserError for a file that is not as `data distance` writes it.
        """
        path = self.distances or (beside and beside.parent / "distances.csv")
        if path is None or (self.distances is None and not path.is_file()):
            return None
        try:
            table = pd.read_csv(path)
        except (OSError, ValueError) as error:
            raise UserError(f"--distances {path}: {first_line(error)}") from None
        if missing := [name for name in DISTANCE_COLUMNS if name not in table]:
            raise UserError(
                f"--distances {path}: no column {missing[0]!r}; data distance writes it"
            )
        return table

    def parts(self, datasets: pd.DataFrame) -> tuple[Roles | None, dict[str, str]]:
        """The roles; and by test set, which dataset it is a further one of.

        `datasets` is what a store says of them: column dataset, and role, classes and test_set_of
        where it knows them. No roles where there is no source or no target. Raises UserError for
        names of no dataset.
        """
        names = [str(name) for name in datasets["dataset"]]
        roles, stored = self.roles, None
        if "role" in datasets:
            with suppress(DoesNotApplyError):
                stored = Roles.from_datasets(datasets)
        if stored is not None and roles in (None, stored.source):
            roles = stored
        source = roles.source if isinstance(roles, Roles) else roles or ""
        self._check_names(names, source)
        known = {name: datasets.get(name, [None] * len(names)) for name in STORED}
        stored_of = zip(names, known["test_set_of"], strict=True)
        shifts = {name: of for name, of in stored_of if of} | dict.fromkeys(self.shifts, source)
        if isinstance(roles, str):
            having = zip(names, known["role"], strict=True)
            taken = ("family", "extra") if stored is not None else ()
            free = [name for name, role in having if role not in taken]
            free = [name for name in free if name not in shifts]
            counts = zip(names, known["classes"], strict=True)
            classes = {name: int(count) for name, count in counts if count and count == count}
            roles = Roles.among(source, free, classes) if {*free} - {source} else None
        if both := {source, *(roles.family if roles else ())} & set(self.shifts):
            raise UserError(f"--shifts: {min(both)} is the source itself, or of its family")
        return (roles and roles.without(shifts)), shifts

    def _check_names(self, names: Sequence[str], source: str) -> None:
        if self.shifts and not source:
            raise UserError("--shifts: say with --source which dataset they are test sets of")
        asked = {"--shifts": self.shifts, "--images": self.images}
        asked["--source"] = [source] if source else []
        for option, told in asked.items():
            if absent := [name for name in told if name not in names]:
                there = ", ".join(some_of(names))
                raise UserError(f"{option}: no dataset {', '.join(absent)}; there are {there}")

    def image_counts(
        self, known: Mapping[str, Mapping[str, int]], shifts: Mapping[str, str]
    ) -> dict[str, dict[str, int]]:
        """Test images by dataset and test set: those `known`, those told, and those of shifts."""
        counts = {name: dict(of) for name, of in known.items()}
        for name, count in self.images.items():
            counts.setdefault(name, {})[OWN] = count
        for name, of in shifts.items():
            if OWN in counts.get(name, {}):
                counts.setdefault(of, {})[name] = counts[name][OWN]
        return counts


def _of_file(
    path: Path, asked: DatasetOptions, options: Options, said: ImportOptions, quiet: bool
) -> Study:
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if (options.recipe, options.replicates) != (None, "mean"):
        raise UserError(f"{path}: --recipe and --replicates are for results stores")
    said, options = replace(said, metric=options.metric), replace(options, metric=None)
    return _of_table(path.name, read_table(path, said, asked.declared), asked, options, quiet)


def _of_table(
    name: str, known: dict[str, Any], asked: DatasetOptions, options: Options, quiet: bool
) -> Study:
    account = known.pop("account")
    if not quiet:
        print("\n".join(map(printable, account)), file=sys.stderr)
    if options.where:
        known = part_of(known, options.where)
    roles, shifts = asked.parts(pd.DataFrame({"dataset": known["errors"].columns}))
    images = asked.image_counts({}, shifts)
    known |= {"distances": asked.read_distances()}
    return study_of(name, options, **known, roles=roles, shifts=shifts, images=images)


def _of_store(
    source: str | Path | ResultStore, asked: DatasetOptions, options: Options, converted: bool
) -> Study:
    if converted:
        raise UserError(
            f"{source}: --accuracy, --error, --fraction, --percent and --map are for tables in "
            "files, as are the other options that say how a table is read"
        )
    store = source if isinstance(source, ResultStore) else find_store(source)
    if options.where:
        store = StorePart(store, options.where)
    inputs = StoreInputs(store, asked, options)
    path = store.path.resolve()
    name = path.parent.name if path.name == "results.h5" else path.stem
    study = Study(name, inputs, options, ANALYSES, store)
    _ = inputs.errors, inputs.parts  # or a name that is not there would be told of later
    return study


class StoreInputs(Inputs):
    """The inputs of a study that has a results store; each is read when it is first asked for."""

    def __init__(self, store: ResultStore, asked: DatasetOptions, options: Options) -> None:
        self.store, self.asked, self.options = store, asked, options
        #: metric, recipe and replicates, as methods of the store take them
        self.choice = (options.metric, options.recipe, options.replicates)

    @cached_property
    def errors_of(self) -> dict[str, str]:
        return self.store.errors_of(self.options.recipe)

    @cached_property
    def others(self) -> dict[str, list[str]]:
        """By recipe, the datasets that it trains and for which another one's errors stand."""
        found: dict[str, list[str]] = {}
        for name in self.store.recipes:
            mine = self.store.errors_of(name)
            own = [at for at, of in mine.items() if of == name != self.errors_of[at]]
            found |= {name: own} if own else {}
        return found

    @cached_property
    def datasets(self) -> pd.DataFrame:
        datasets = self.store.datasets()
        metric = self.options.metric
        return datasets if metric is None else datasets.assign(metric=metric)

    @cached_property
    def metrics(self) -> dict[str, str]:
        return dict(zip(self.datasets["dataset"], self.datasets["metric"], strict=True))

    @cached_property
    def parts(self) -> tuple[Roles | None, dict[str, str]]:
        """Roles and further test sets."""
        return self.asked.parts(self.datasets)

    @cached_property
    def roles(self) -> Roles | None:
        """None where there is no source or no target."""
        return self.parts[0]

    @cached_property
    def shifts(self) -> dict[str, str]:
        return self.parts[1]

    @cached_property
    def errors(self) -> pd.DataFrame:
        return self.store.errors(*self.choice)

    @cached_property
    def architectures(self) -> pd.DataFrame:
        return self.store.architectures()

    @cached_property
    def replicates(self) -> pd.DataFrame:
        return self.store.replicates(self.options.metric, self.options.recipe)

    @cached_property
    def recipes(self) -> dict[str, pd.DataFrame]:
        metric, _, replicates = self.choice
        tables = {
            name: self.store.errors(metric, name, replicates)[datasets]
            for name, datasets in self.others.items()
        }
        known = {name: table.dropna(axis="columns", how="all") for name, table in tables.items()}
        return {name: table for name, table in known.items() if table.shape[1]}

    @cached_property
    def trials(self) -> pd.DataFrame | None:
        found = self.store.trials()
        return None if found.empty else found

    @cached_property
    def curves(self) -> pd.DataFrame:
        return curves_of(self.store, self.datasets, self.options.recipe)

    @cached_property
    def training_errors(self) -> pd.DataFrame | None:
        known = self.curves.dropna(subset="train_top1")
        if known.empty:
            return None
        last = known.sort_values("epoch", kind="stable").groupby(["architecture", "dataset"])
        table = last["train_top1"].last().astype(float).unstack()
        return table[[name for name in dict.fromkeys(self.curves["dataset"]) if name in table]]

    @cached_property
    def distances(self) -> pd.DataFrame | None:
        return self.asked.read_distances(self.store.path)

    @cached_property
    def costs(self) -> dict[str, float]:
        """Mean seconds of completed runs, by dataset."""
        runs = self.store.runs(["dataset", "recipe", "status", "seconds"])
        runs = runs[self.store.stands(runs, self.options.recipe) & (runs["status"] == "completed")]
        seconds = runs[runs["seconds"] > 0].groupby("dataset")["seconds"].mean()
        return {str(name): float(value) for name, value in seconds.items()}

    @cached_property
    def by_metric(self) -> dict[str, pd.DataFrame]:
        """Errors on top1 and top5, of datasets with more than five classes."""
        datasets, kept = self.datasets, {}
        many = list(datasets.loc[datasets["classes"] > 5, "dataset"])
        for metric in ("top1", "top5"):
            table = self.store.errors(metric, *self.choice[1:])
            kept[metric] = table[
                [name for name in many if name in table and table[name].notna().any()]
            ]
        return kept if kept["top5"].shape[1] else {}

    @cached_property
    def evaluated(self) -> dict[str, pd.DataFrame]:
        return self._evaluated(self.options.recipe, list(self.errors_of))

    @cached_property
    def recipe_evaluated(self) -> dict[str, dict[str, pd.DataFrame]]:
        """`evaluated` under each other recipe that has evaluations."""
        tables = {name: self._evaluated(name, own) for name, own in self.others.items()}
        return {name: found for name, found in tables.items() if found}

    def _evaluated(self, recipe: str | None, datasets: Sequence[str]) -> dict[str, pd.DataFrame]:
        """Return `Study.evaluated` of runs by a recipe, of datasets that have evaluations."""
        evaluated = self.store.evaluations(["dataset", "recipe", "planned"])
        mine = evaluated["planned"] & self.store.stands(evaluated, recipe)
        metric = "top5" if self.options.metric == "top5" else "top1"
        tables = {
            name: self.store.evaluation_errors(name, metric, recipe, self.choice[2])
            for name in dict.fromkeys(evaluated.loc[mine, "dataset"])
            if name in datasets
        }
        for dataset, evaluation, identity in self.identities:
            # Tests of other networks than those whose errors are analysed are no test sets.
            if {"epoch", "interpolate"} & set(identity) and dataset in tables:
                tables[dataset] = tables[dataset].drop(columns=evaluation, errors="ignore")
        return {name: table for name, table in tables.items() if table.shape[1] > 1}

    @cached_property
    def images(self) -> dict[str, dict[str, int]]:
        known = self.datasets.dropna(subset="test_images")
        counts = {
            name: {OWN: int(images)}
            for name, images in zip(known["dataset"], known["test_images"], strict=True)
        }
        found = self.store.evaluations(["dataset", "evaluation", "images"]).drop_duplicates()
        for dataset, evaluation, images in found.itertuples(index=False):
            counts.setdefault(dataset, {})[evaluation] = int(images)
        return self.asked.image_counts(counts, self.shifts)

    @cached_property
    def identities(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Dataset, evaluation and what determines it, of each that there is."""
        found = self.store.evaluations(["dataset", "evaluation", "identity"]).drop_duplicates()
        return [
            (dataset, evaluation, stored_json(identity, dict, f"identity of {evaluation}"))
            for dataset, evaluation, identity in found.itertuples(index=False)
        ]

    @cached_property
    def kinds(self) -> dict[str, dict[str, EvaluationKind]]:
        """Return the kinds of evaluations as the store says, or as what determines them implies.

        Of tests of the same images, those that leave fewer classes than another are label sets.
        """
        found = self.store.evaluations(["dataset", "evaluation", "kind"]).drop_duplicates()
        known = {(of, name): kind for of, name, kind in found.itertuples(index=False) if kind}
        most: dict[Any, float] = {}
        for dataset, _, identity in self.identities:
            tested = dataset, identity.get("content_hash")
            count = len(identity["classes"]) if "classes" in identity else np.inf
            most[tested] = max(most.get(tested, 0), count)
        kinds: dict[str, dict[str, EvaluationKind]] = {}
        for dataset, evaluation, identity in self.identities:
            images, row = identity.get("content_hash"), self._row(dataset)
            own = images == row["content_hash"]
            all_classes = row["classes"] if own else most[dataset, images]
            fewer = "classes" in identity and len(identity["classes"]) < all_classes
            kind = known.get((dataset, evaluation)) or kind_of(identity, own, fewer)
            kinds.setdefault(dataset, {})[evaluation] = kind
        return kinds

    @cached_property
    def choices(self) -> dict[str, dict[str, int]]:
        """`Study.choices`, of evaluations on unchanged images of the dataset."""
        found: dict[str, dict[str, int]] = {}
        for dataset, evaluation, identity in self.identities:
            classes, row = identity.get("classes"), self._row(dataset)
            own = identity.get("content_hash") == row["content_hash"]
            if own and "transform" not in identity and classes and len(classes) < row["classes"]:
                found.setdefault(dataset, {})[evaluation] = len(classes)
        return found

    def predicted(
        self, dataset: str, test_set: str, architectures: Sequence[str]
    ) -> ImagePredictions:
        """Predictions of the first replicates of these architectures, as far as they are stored.

        `test_set` is "test", or an evaluation on the dataset's own images, such as turned ones.
        Raises DoesNotApplyError where there are no predictions, or no true classes.
        """
        labels = self._labels(dataset)
        named = dataset if test_set == OWN else f"{test_set} of {dataset}"
        if test_set != OWN:
            self._check_own_images(dataset, test_set)
        try:
            if test_set == OWN:
                runs, predictions = self.store.predictions(dataset)
            else:
                runs, predictions = self.store.evaluation_predictions(dataset, test_set)
        except DoesNotApplyError:
            raise DoesNotApplyError(f"no predictions on {named} are stored") from None
        runs = runs.reset_index(drop=True)
        standing = self.store.stands(runs, self.options.recipe)
        chosen = runs[standing & runs["architecture"].isin(architectures)]
        first = chosen.sort_values("replicate", kind="stable").drop_duplicates("architecture")
        if len(first) < 2:
            told = counted(len(first), "architecture")
            raise DoesNotApplyError(f"predictions on {named} are stored of {told}; two are needed")
        places = np.sort(first.index.to_numpy())
        known = list(runs["architecture"].iloc[places])
        names = stored_json(self._row(dataset).get("class_names"), list, "class_names")
        return ImagePredictions(known, predictions[places], labels, tuple(map(str, names)))

    def _labels(self, dataset: str) -> NDArray[np.uint16]:
        try:
            labels = self.store.labels(dataset)
        except DoesNotApplyError:
            raise DoesNotApplyError(f"no predictions on {dataset} are stored") from None
        if labels is None:
            raise DoesNotApplyError(f"the true classes of {dataset}'s test images are not stored")
        images = self._row(dataset)["test_images"]
        if not np.isnan(images) and len(labels) > images:
            raise DoesNotApplyError(f"the images of {dataset} have several classes each")
        return labels

    def _check_own_images(self, dataset: str, evaluation: str) -> None:
        row = self._row(dataset)
        for where, name, identity in self.identities:
            if (where, name) == (dataset, evaluation):
                own = identity.get("content_hash") == row["content_hash"]
                if not own or len(identity.get("classes") or []) not in (0, row["classes"]):
                    raise DoesNotApplyError(
                        f"{evaluation} of {dataset} has other images than the own test set: their "
                        "true classes are not stored"
                    )

    def _row(self, dataset: str) -> Mapping[str, Any]:
        rows = self.datasets[self.datasets["dataset"] == dataset]
        if rows.empty:
            raise UserError(f"no dataset {dataset} in the store")
        row: dict[str, Any] = rows.iloc[0].to_dict()
        return row


def kind_of(identity: Mapping[str, Any], own: bool, fewer: bool) -> EvaluationKind:
    """Return what the evaluation is that this determines, of its `own` images or others.

    `fewer`: networks choose among fewer classes than they might of these images.
    """
    tests: dict[EvaluationKind, bool] = {
        "validation": identity.get("part") == "validation",
        "few-shot": "shots" in identity,
        "label set": fewer,
        "shift": not own,
        "transform": "transform" in identity,
    }
    return next((kind for kind, there in tests.items() if there), "own images")


def curves_of(store: ResultStore, datasets: pd.DataFrame, recipe: str | None) -> pd.DataFrame:
    """Errors after every epoch, of the first planned replicate of the recipe that stands.

    Returns a long table with columns dataset, architecture, epoch, error (on test images, percent,
    on the dataset's own metric; NaN where there are no curves of that) and train_top1, in the order
    of the datasets. Diverged runs are in it while they last.
    """
    keys = ["run_id", "dataset", "architecture", "recipe", "replicate", "planned", "metric"]
    runs = store.runs(keys)
    main = runs[runs["planned"] & store.stands(runs, recipe)] if len(runs) else runs
    first = main.sort_values("replicate", kind="stable").drop_duplicates(
        ["dataset", "architecture"]
    )
    curves = store.curves(metrics=("test_error", "test_top1", "test_top5", "train_top1"))
    curves = curves[curves["run_id"].isin(set(first["run_id"]))]
    metric = curves["dataset"].map(datasets.set_index("dataset")["metric"])
    own = curves["run_id"].map(first.set_index("run_id")["metric"]).astype(object)
    by_metric = np.select(
        [metric == "top1", metric == "top5", metric == own],
        [curves["test_top1"], curves["test_top5"], curves["test_error"]],
        np.nan,
    )
    curves = curves.assign(error=by_metric.astype(float))[CURVE_COLUMNS]
    order = {name: number for number, name in enumerate(datasets["dataset"])}
    return curves.sort_values("dataset", key=lambda names: names.map(order), kind="stable")
