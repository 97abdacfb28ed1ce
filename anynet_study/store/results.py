"""A results store as tables, and what one store and several have in common."""

import html
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import DoesNotApplyError, UnreadableError, UserError, counted
from anynet_study.core.metrics import CURVES, from_words
from anynet_study.store.hdf5 import LayoutError, Objects, read_texts
from anynet_study.store.layout import TableName
from anynet_study.store.opening import check_layout, naming_damage, open_store, stored_json
from anynet_study.store.predictions import kind_of, predictions_in, read_scores
from anynet_study.store.records import OWN_TEST_SET, RUN_COLUMNS
from anynet_study.store.run_errors import (
    Reduction,
    best_trials,
    check_alike,
    check_metric,
    error_table,
    in_order,
    on_metric,
)
from anynet_study.store.tables import (
    EVALUATIONS_SHOWN,
    RUN_KEYS,
    check_columns,
    curves_table,
    provenance_in,
    read_table,
    study_names,
    table_columns,
    to_pandas,
)

if TYPE_CHECKING:
    import pandas as pd

#: Rows that say whose predictions they are, and the predictions (rows, images).
RunPredictions = tuple["pd.DataFrame", NDArray[np.uint16]]


class Results(ABC):
    """Read access to the results of a study, or of several; only what is asked for is read.

    Inside `with results:` all methods see one and the same state of the files.
    """

    #: Columns of `runs()` and of `evaluations()` where none are named.
    _shown: Mapping[str, Sequence[str]] = {
        "runs": RUN_COLUMNS,
        "evaluations": EVALUATIONS_SHOWN,
    }

    _holders = 0

    def __enter__(self) -> Self:
        if not self._holders:
            with ExitStack() as stack:
                self._open(stack)
                self._stack = stack.pop_all()
        self._holders += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._holders -= 1
        if not self._holders:
            self._stack.close()

    @abstractmethod
    def _open(self, stack: ExitStack) -> None:
        """Open the files, until the stack is closed."""

    @property
    @abstractmethod
    def recipes(self) -> list[str]:
        """Names of the recipes, the main one first."""

    @property
    def conflicts(self) -> list[str]:
        """Return what several stores say differently of the same runs, in lines; one store:
        nothing.
        """
        return []

    def predictions(self, dataset: str) -> RunPredictions:
        """Predicted classes of every run on a dataset's test images.

        The runs (rows of `runs()`), and an array of shape (runs, n_test), uint16, in test order;
        65535 where a run has no prediction.
        """
        return self._predictions(dataset, "")

    def evaluation_predictions(self, dataset: str, evaluation: str) -> RunPredictions:
        """Predicted classes of the runs on a dataset on the images of an evaluation.

        The evaluations (rows of `evaluations()`), and an array as of `predictions`.
        """
        return self._predictions(dataset, evaluation)

    @abstractmethod
    def _predictions(self, dataset: str, evaluation: str) -> RunPredictions:
        """Return the predictions of an evaluation, or of the runs themselves where it is ""."""

    @abstractmethod
    def labels(self, dataset: str) -> NDArray[np.uint16] | None:
        """True class of every test image of a dataset that has predictions, (n_test,) uint16.

        65535 where it is unknown; None where there are no labels. A run is
        right on an image where its prediction equals the label.
        """

    def columns(self, table: TableName) -> list[str]:
        """The columns that a table has; those of "errors" follow from the datasets of the runs."""
        if table == "errors":
            return ["architecture", *map(str, self.errors().columns)]
        return list(CLASS_TABLE) if table == "classes" else self._columns(table)

    @abstractmethod
    def _columns(self, table: TableName) -> list[str]: ...

    @abstractmethod
    def _read(self, table: TableName, columns: Sequence[str]) -> pa.Table: ...

    @abstractmethod
    def _curves(self, columns: Sequence[str], wanted: Mapping[str, str | None]) -> pa.Table: ...

    def errors_of(self, recipe: str | None = None) -> dict[str, str]:
        """The recipe whose errors stand for each dataset of the study, by dataset.

        None: the one that the sweep names (its key errors_of), else the main one. A recipe's name:
        that one; but on the source, where the sweep does not train by it (only recent stores know),
        the one that stands for the source otherwise. Raises UserError for an unknown recipe.
        """
        name, main, known = self._recipe(recipe), next(iter(self.recipes), ""), set(self.recipes)
        told = ("dataset", "role", "errors_of", "recipes")
        there = [column for column in told if column in self.columns("datasets")]
        rows = self._read("datasets", there).to_pylist()
        found = {}
        for row in rows:
            stated = row.get("errors_of") or ""
            standing = stated if stated in known else main
            trained = stored_json(row.get("recipes"), list, "recipes")
            elsewhere = row.get("role") == "source" and trained and name not in trained
            found[str(row["dataset"])] = standing if recipe is None or elsewhere else name
        return found

    def stands(self, runs: "pd.DataFrame", recipe: str | None = None) -> "pd.Series[bool]":
        """Tell which rows are of the recipe that stands for their dataset (`errors_of`).

        `runs` has the columns dataset and recipe.
        """
        import pandas as pd

        standing, main = self.errors_of(recipe), self._recipe(recipe)
        datasets, recipes = (runs[name].astype("category").cat for name in ("dataset", "recipe"))
        names = [standing.get(name, main) for name in datasets.categories]
        wanted = recipes.categories.get_indexer(names)[datasets.codes]  # -1: no run is of it
        return pd.Series((wanted == recipes.codes) & (recipes.codes >= 0), runs.index)

    @abstractmethod
    def _recipe(self, recipe: str | None) -> str:
        """The name of a recipe; None: of the main one. Raises UserError for another."""

    def table(
        self, table: TableName, columns: Sequence[str] | None = None, **options: Any
    ) -> pa.Table:
        """A table, or these columns of it, as Arrow: a missing number is null, text may be coded.

        `runs` also has the columns of its architecture and dataset, and "spec" (JSON text), which
        are read only where `columns` names them. `options` are those of the method of the same
        name: `errors` has metric, recipe and replicates, `curves` dataset, architecture, run_id.
        `errors` with the option `evaluations`, a dataset, is the table of `evaluation_errors`.
        """
        if table not in get_args(TableName):
            raise UserError(f"no table {table!r}; there are: {', '.join(get_args(TableName))}")
        if table in ("errors", "classes"):
            dataset = options.pop("evaluations", None)
            if table == "classes":
                frame = self.classes()
            elif dataset is None:
                frame = self.errors(**options).reset_index()
            else:
                frame = self.evaluation_errors(dataset, **options).reset_index()
            names = list(frame.columns)
            check_columns(columns or (), names)
            kept = frame[names if columns is None else list(columns)]
            return pa.Table.from_pandas(kept, preserve_index=False).replace_schema_metadata()
        if columns is None:
            columns = self._shown.get(table) or self.columns(table)
        return self._curves(columns, options) if table == "curves" else self._read(table, columns)

    def runs(self, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        """One row per run, in the order of the store; its own columns (`layout`), or these.

        `columns` may also name "spec", and columns of its architecture and dataset, such as flops.
        """
        return to_pandas(self.table("runs", columns))

    def errors(
        self,
        metric: str | None = None,
        recipe: str | None = None,
        replicates: Reduction = "mean",
        best: int | None = None,
    ) -> "pd.DataFrame":
        """Final-epoch test errors in percent: index "architecture", one column per dataset.

        All architectures and datasets of the study are there, in its order; NaN where no planned
        run of the recipe that stands for the dataset (`errors_of`) has an error. `metric` None is
        each run's own; otherwise diverged runs count as guessing uniformly. `replicates`: the mean
        over those that did not fail, the first of them, or each: then the index is (architecture,
        replicate), and only those are there that have an error.

        Errors of a tuned recipe are those of the trials with the lowest errors on validation
        images, of each architecture on each dataset; NaN before all its trials have ended. `best`:
        the choice is among the first so many trials only, as with a smaller budget.
        """
        with self:
            return self._error_table(self._run_errors(metric, recipe, best), replicates)

    def trials(self) -> "pd.DataFrame":
        """One row per recorded run of a tuned recipe: the whole grid.

        Columns run_id, architecture, dataset, tuned (the recipe), replicate, trial, rung, the keys
        that were tuned, epochs, status, validation_error and error (percent), seconds, trains,
        chosen.
        """
        return to_pandas(self.table("trials"))

    def evaluations(self, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        """One row per evaluation of a run on a further test set, in the order of the store.

        Columns run_id, architecture, dataset, recipe, replicate (of the run), evaluation,
        evaluation_id, kind, images, loss (nats), top1, top5 (errors in percent), seconds, planned;
        or these, of which there are also identity (JSON), started, host, journal and predicted.
        """
        return to_pandas(self.table("evaluations", columns))

    def evaluation_errors(
        self,
        dataset: str,
        metric: str = "top1",
        recipe: str | None = None,
        replicates: Reduction = "mean",
    ) -> "pd.DataFrame":
        """Errors of the runs on a dataset, on its test set and on further ones, in percent.

        Index "architecture" as of `errors`; columns "test", then the planned evaluations as the
        sweep orders them, or as they began where it does not. Options are those of `errors`: each
        column is of the planned runs that have it. Raises UserError for a dataset that is not
        there, and where a name stands for several evaluations.
        """
        with self:
            tested = self.errors(metric, recipe, replicates)
            if dataset not in tested.columns:
                raise UserError(f"no dataset {dataset}; there are: {', '.join(tested.columns)}")
            evaluated = self._evaluation_errors(dataset, metric, recipe)
            found = self._error_table(evaluated, replicates, datasets=[])
        test = tested[[dataset]].set_axis([OWN_TEST_SET], axis="columns")
        return test.join(found)

    def replicates(self, metric: str | None = None, recipe: str | None = None) -> "pd.DataFrame":
        """Long table architecture, dataset, replicate, error of the planned runs that have one.

        Of imported means over several trainings it is of runs that have their means and standard
        deviations (`apr.single_runs`).
        """
        from anynet_study.core.metrics import single_runs

        with self:
            errors = in_order(self._run_errors(metric, recipe), *self._names())
        texts = {name: errors[name].astype(object) for name in ("architecture", "dataset")}
        return single_runs(errors.assign(**texts).reset_index(drop=True))

    def _error_table(
        self, errors: "pd.DataFrame", replicates: str, datasets: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """The errors as a table; `datasets`: its first columns, None: those of the study."""
        architectures, known = self._names()
        return error_table(
            errors, architectures, known if datasets is None else datasets, replicates
        )

    def _names(self) -> tuple[list[str], list[str]]:
        """The architectures and the datasets of the study, in its order."""
        architectures = self._read("architectures", ["architecture"])["architecture"]
        datasets = self._read("datasets", ["dataset"])["dataset"]
        return architectures.to_pylist(), datasets.to_pylist()

    def _run_errors(
        self, metric: str | None, recipe: str | None, best: int | None = None
    ) -> "pd.DataFrame":
        """Return what `replicates` has, of the planned runs that have an error; error_std,
        trainings.
        """
        check_metric(metric)
        keys = ["architecture", "dataset", "replicate", "error", "error_std", "trainings"]
        more = ["run_id", "status", "metric"] if metric else ["run_id"] * (best is not None)
        known = ["classes"] if metric and "classes" in self.columns("runs") else []
        table = self.table("runs", [*keys, "recipe", "planned", *more, *known])
        runs = table.to_pandas()
        mine = self.stands(runs, recipe)
        if best is not None:
            trials, standing = self.trials(), self.errors_of(recipe)
            named = runs["dataset"].astype(object).map(standing)
            tuned = [
                name for name in dict.fromkeys(standing.values()) if name in {*trials["tuned"]}
            ]
            for name in tuned or [self._recipe(recipe)]:
                chosen = runs["run_id"].isin(best_trials(trials, name, best)) & (named == name)
                mine = chosen | (mine & (runs["recipe"] != name))
        runs = runs[runs["planned"] & mine]
        if metric is not None:
            runs = runs if known else runs.assign(classes=np.nan)
            runs = runs.assign(error=on_metric(runs, metric, self._final(metric)))
        return runs.loc[runs["error"].notna(), keys]

    def _final(self, metric: str) -> "pd.Series[Any]":
        """The last values of all runs' curves of a metric, by run_id."""
        import pandas as pd

        if f"test_{metric}" not in CURVES:
            return pd.Series(dtype=np.float64)
        curves = self.table("curves", ["run_id", f"test_{metric}"]).to_pandas()
        return curves.drop_duplicates("run_id", keep="last").set_index("run_id").squeeze(axis=1)

    def _evaluation_errors(self, dataset: str, metric: str, recipe: str | None) -> "pd.DataFrame":
        """Tabulate the errors of planned evaluations of runs on a dataset; their names as datasets.

        On every evaluation's top-1 and top-5, and on other metrics where they are its run's.
        """
        check_metric(metric)
        error = metric if metric in ("top1", "top5") else "error"
        keys = ["architecture", "dataset", "recipe", "replicate", "planned"]
        names = ["run_id", "evaluation", "evaluation_id", error]
        found = self.table("evaluations", [*keys, *names]).to_pandas()
        mine = found["planned"] & self.stands(found, recipe) & (found["dataset"] == dataset)
        found = found[mine]
        check_alike(dataset, found)
        if error == "error":
            runs = self.table("runs", ["run_id", "metric"]).to_pandas().set_index("run_id")
            own = runs["metric"].reindex(found["run_id"].to_numpy()) == metric
            found = found[own.to_numpy()]
        found = found[found[error].notna()]
        columns = {"dataset": found["evaluation"], "error": found[error]}
        return found[["architecture", "replicate"]].assign(**columns)

    def curves(
        self,
        dataset: str | None = None,
        architecture: str | None = None,
        run_id: str | None = None,
        metrics: Sequence[str] = CURVES,
    ) -> "pd.DataFrame":
        """Curves as a long table, one row per epoch (counted from 1) of a run.

        Columns run_id, architecture, dataset, recipe, replicate, epoch, then `metrics`; losses in
        nats, errors in percent. The filters keep the runs that match them all.
        """
        check_columns(metrics, CURVES)
        columns = [name for name in self.columns("curves") if name not in CURVES]
        wanted = {"dataset": dataset, "architecture": architecture, "run_id": run_id}
        return to_pandas(self._curves([*columns, *metrics], wanted))

    def classes(self) -> "pd.DataFrame":
        """Tell how often each run is right on each class: one row per run and class, `CLASS_TABLE`.

        Of the runs whose predictions on test images of one class each are stored; accuracy is in
        percent of the images of the class.
        """
        import pandas as pd

        with self:
            parts = [self._classes_of(row) for _, row in self.datasets().iterrows()]
        found = [part for part in parts if part is not None]
        return pd.concat(found) if found else pd.DataFrame(columns=list(CLASS_TABLE))

    def _classes_of(self, dataset: "pd.Series[Any]") -> "pd.DataFrame | None":
        """Count a dataset by class; None without predictions, or if images have several classes."""
        try:
            labels = self.labels(dataset["dataset"])
        except DoesNotApplyError:  # no predictions
            return None
        known = None if labels is None else labels < dataset["classes"]
        if labels is None or known is None or len(labels) > dataset["test_images"]:
            return None
        runs, predictions = self.predictions(dataset["dataset"])
        number = labels[known]
        right = (predictions[:, known] == number).astype(np.int64)
        order = np.argsort(number, kind="stable")
        there, first, images = np.unique(number[order], return_index=True, return_counts=True)
        accuracy = 100 * np.add.reduceat(right[:, order], first, axis=1) / images
        names = stored_json(dataset.get("class_names"), list, "class_names")
        rows = runs[list(RUN_KEYS)].loc[runs.index.repeat(len(there))].reset_index(drop=True)
        of = [str(names[place]) if names else str(place) for place in there.tolist()]
        columns = {"class": of * len(runs), "images": np.tile(images, len(runs))}
        return rows.assign(**columns, accuracy=accuracy.ravel())

    def architectures(self) -> "pd.DataFrame":
        """The population with its complexity, as `Population.to_pandas()`."""
        return to_pandas(self.table("architectures"))

    def datasets(self) -> "pd.DataFrame":
        """One row per dataset: label, role, class and image counts, metric, chance and the rest.

        Raises UserError where the JSON in it is not what `layout` says.
        """
        found = to_pandas(self.table("datasets"))
        for row in found.to_dict("records"):
            where = f"dataset {row['dataset']} of the store"
            stored_json(row.get("variant"), dict, f"{where}: variant")
            names = stored_json(row.get("class_names"), list, f"{where}: class_names")
            if names and len(names) != row["classes"] and not np.isnan(row["classes"]):
                raise UserError(f"{where}: {len(names)} class_names of {row['classes']:g} classes")
        return found

    def journals(self) -> "pd.DataFrame":
        """One row per journal or imported file: counts, and what was wrong with it."""
        return to_pandas(self.table("journals"))

    def exclusions(self) -> "pd.DataFrame":
        """Return what is not an ordinary row of `errors()`: dataset, status, failure_kind, n
        (runs).

        Status is failed (no error), diverged (there, with the error of guessing) or unplanned
        (kept in the store, in no analysis).
        """
        runs = self.runs(["dataset", "status", "failure_kind", "planned"])
        keys = ["dataset", "status", "failure_kind"]
        runs.loc[~runs["planned"], ["status", "failure_kind"]] = ["unplanned", ""]
        counts = runs[runs["status"] != "completed"].groupby(keys, sort=True).size()
        return counts.rename("n").reset_index()


#: Columns of the table of classes; accuracy is in percent of the class's test images.
CLASS_TABLE = (*RUN_KEYS, "class", "images", "accuracy")


class ResultStore(Results):
    """Read access to a `results.h5` (its contents: `store.layout`).

    Every method opens the file anew, so a collect in between shows; inside `with store:` all
    methods see one and the same state. Raises UserError for what is not a store, or a newer one.

    >>> store = ResultStore("studies/quickstart/results.h5")  # doctest: +SKIP
    >>> store.errors(), store.table("runs", ["architecture", "flops", "error"])  # doctest: +SKIP
    """

    def __init__(self, path: str | Path, *, checked: bool = False) -> None:
        """`checked`: it is laid out as it has to be, as one that was just written is."""
        self.path = Path(path)
        if checked:
            return
        with self.opened() as file:
            try:
                check_layout(Objects(file))
            except LayoutError as error:
                told = f"{self.path}: {error}: not a store of anynet-study"
                raise UnreadableError(told) from error

    def __repr__(self) -> str:
        with self.opened() as file:
            runs = len(file["runs/run_id"])
        networks = counted(len(self.architectures()), "architecture")
        counts = (
            f"{counted(runs, 'run')} of {networks} on {counted(len(self.datasets()), 'dataset')}"
        )
        return f"<ResultStore {self.path}: {counts}>"

    def _repr_html_(self) -> str:
        """For notebooks: what the store is, and its datasets."""
        shown = ["dataset", "role", "classes", "train_images", "test_images", "metric"]
        table: str = self.datasets()[shown].to_html(index=False)
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{table}"

    def _open(self, stack: ExitStack) -> None:
        self._file = stack.enter_context(open_store(self.path))

    @contextmanager
    def opened(self) -> Iterator[h5py.File]:
        """The file, opened or held open. Raises UserError as `open_store`."""
        with self, naming_damage(self.path):
            yield self._file

    def _columns(self, table: TableName) -> list[str]:
        with self.opened() as file:
            return table_columns(file, table)

    def _predictions(self, dataset: str, evaluation: str) -> RunPredictions:
        with self.opened() as file:
            group = predictions_in(file, dataset, evaluation)
            table, index = ("evaluations", "row") if evaluation else ("runs", "run")
            rows = read_table(file, table, self._shown[table]).take(group[index][()])
            return to_pandas(rows), group["classes"][()]

    def scores(self, run_id: str) -> NDArray[np.float32]:
        """(images, classes) the outputs of a run's final network on its test images, in test order.

        UserError where they were not kept in the study's folder, or are not what was written.
        """
        runs = self.table("runs", ["run_id", "scores"])
        digests = dict(zip(*(runs[name].to_pylist() for name in runs.column_names), strict=True))
        if run_id not in digests:
            raise UserError(f"no run {run_id} in {self.path}")
        if (found := read_scores(self.path, run_id, digests[run_id])) is None:
            raise UserError(f"{run_id}: no scores were kept; launch it with launch.scores=true")
        return found

    def labels(self, dataset: str) -> NDArray[np.uint16] | None:
        with self.opened() as file:
            group = predictions_in(file, dataset)
            if kind_of(group) == "labels":
                raise DoesNotApplyError(
                    f"{dataset}: its images have several classes: see label_matrices"
                )
            return group["labels"][()] if "labels" in group else None

    @property
    def recipes(self) -> list[str]:
        with self.opened() as file:
            names = study_names(file, "recipe")
            if "trials" not in file:
                return names
            tuned = read_texts(file["trials/tuned"]).dictionary.to_pylist()
            trials = tuple(f"{name}/" for name in tuned)
            return [name for name in names if not name.startswith(trials)]

    @property
    def provenance(self) -> dict[str, str]:
        """Return what made the store, as given to `collect`; and when, as `created`."""
        with self.opened() as file:
            return provenance_in(file)

    @property
    def version(self) -> int:
        """The version of its layout (`layout.SCHEMA_VERSION`)."""
        with self.opened() as file:
            return int(file.attrs["schema_version"])

    @property
    def planned_runs(self) -> int | None:
        """Return how many runs the sweep asks for; None if that was not said."""
        with self.opened() as file:
            count = int(file.attrs["planned_runs"])
        return None if count < 0 else count

    def _read(self, table: TableName, columns: Sequence[str]) -> pa.Table:
        with self.opened() as file:
            return read_table(file, table, columns)

    def _curves(self, columns: Sequence[str], wanted: Mapping[str, str | None]) -> pa.Table:
        with self.opened() as file:
            return curves_table(file, columns, wanted)

    def _recipe(self, recipe: str | None) -> str:
        names = self.recipes
        if recipe is not None and recipe not in names:
            raise UserError(f"no recipe {recipe} in {self.path}; there are: {', '.join(names)}")
        return recipe or next(iter(names), "")


def label_matrices(
    store: ResultStore, dataset: str
) -> tuple["pd.DataFrame", NDArray[np.uint8], NDArray[np.uint8] | None]:
    """Predictions on images that have several classes, and the truth.

    The runs (rows of `runs()`), (runs, images, classes) and (images, classes) uint8, 1 where an
    image has the class; the last is None where it is not stored. Raises UserError for datasets of
    one class an image.
    """
    with store.opened() as file:
        group = predictions_in(file, dataset)
        if kind_of(group) != "labels":
            raise UserError(f"{dataset}: its images have one class each; see predictions")
        truth = group["labels"][()] if "labels" in group else None
    runs, predictions = store.predictions(dataset)
    table = store.datasets().set_index("dataset")
    classes = int(table.loc[dataset, "classes"])
    matrices = np.stack([from_words(words, classes) for words in predictions])
    return runs, matrices, None if truth is None else from_words(truth, classes)
