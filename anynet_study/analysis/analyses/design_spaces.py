"""Tell which design space is better by the errors of all its models (Radosavovic et al. 2019)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analysis import Analysed, Analysis, Options, StudyFigure
from anynet_study.analysis.apr.error_tables import FEWEST
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, UserError, amount, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from anynet_study.analysis.analyses.arguments import StudyOptions

COMPLEXITIES = ("flops", "parameters", "activations")
#: At most so many sizes of a random search are shown to people.
SIZES = 4


class Spaces(Analysed):
    """Design spaces by name; each with the same models in the same order in all that is known."""

    def __init__(
        self,
        options: Options,
        dataset: str,
        metric: str,
        errors: Mapping[str, pd.Series],
        models: Mapping[str, pd.DataFrame],
        weights: Mapping[str, pd.Series] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """`dataset` and `metric` ("top1", ...) are "" where the spaces differ in them.

        `errors` are in percent, NaN = missing, by architecture; `models` is what is known of them,
        perhaps no column; `weights` is None where all models count alike. `notes` is what the
        reader of a comparison should know, a line each.
        """
        super().__init__(", ".join(errors), options, SPACE_ANALYSES)
        self.dataset, self.metric, self.notes = dataset, metric, tuple(notes)
        self.errors, self.models, self.weights = errors, models, weights

    def changed(self, **changes: Any) -> Self:
        """Return these spaces with other `errors`, `models`, `weights` or `notes`."""
        names = ("options", "dataset", "metric", "errors", "models", "weights", "notes")
        return type(self)(**{name: getattr(self, name) for name in names} | changes)

    def weights_of(self, space: str) -> pd.Series | None:
        """Return the weights of the models of one space, if they have any."""
        return None if self.weights is None else self.weights[space]

    def stacked(self, make: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
        """One table of what `make` says of each space, told apart by a column `space`."""
        parts = {space: make(space) for space in self.errors}
        attrs = next(iter(parts.values())).attrs
        filled = [part.assign(space=space) for space, part in parts.items() if len(part)]
        if not filled:
            raise DoesNotApplyError("needs numbers that describe the models")
        table = pd.concat(filled, ignore_index=True)
        table = table[["space", *(column for column in table if column != "space")]]
        table.attrs = attrs
        return table

    @property
    def all_notes(self) -> list[str]:
        """The notes, and which models weigh nothing."""
        notes = list(self.notes)
        for row in self.table("summary").to_dict("records"):
            outside = len(self.errors[row["space"]]) - row["n"] - row["missing"]
            if outside:
                notes.append(
                    f"{row['space']}: {outside} of its models weigh nothing, without a counterpart "
                    "in another space"
                )
        return notes


#: From so many shared models on, a correlation at or below the second is told of.
FEWEST_SHARED, OTHER_WAY = 5, -0.8


def read_spaces(
    sources: Sequence[str],
    dataset: str,
    options: "StudyOptions",
    own: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Spaces:
    """Read one design space per source, a path or NAME=PATH, with its errors on one dataset.

    `own` is how single sources are read, by name: fields of the options.
    """
    studies: dict[str, Study] = {}
    for source in sources:
        name, _, path = ("", "", source) if Path(source).exists() else source.rpartition("=")
        called = name or Path(path).stem
        try:
            study = replace(options, **own.get(called, {})).load(Path(path))
        except UserError as error:
            alone = f"; of {called} alone: --read {called}=accuracy (or error, fraction, percent)"
            raise UserError(f"{error}{alone if '--accuracy' in str(error) else ''}") from error
        name = name or (study.name if study.store is not None else Path(study.name).stem)
        if name in studies:
            raise UserError(f"{source}: {name} is there already; give it a name: NAME={path}")
        studies[name] = study
    columns = {name: _column(name, study, dataset) for name, study in studies.items()}
    errors = {name: study.errors[columns[name]] for name, study in studies.items()}
    metrics = {study.metrics.get(columns[name], "") for name, study in studies.items()}
    notes = [
        f"{a} and {b} share {len(both)} models. Only the table of shared models compares each with "
        "itself; in the others the intervals of differences are too wide"
        for a, b in combinations(errors, 2)
        if len(both := errors[a].index.intersection(errors[b].index))
    ]
    notes += [
        f"{a} and {b} rank the models that both have the other way round (Spearman {rho:.2f}): are "
        "accuracies read as errors? --read NAME=accuracy or NAME=error says it of one"
        for a, b in combinations(errors, 2)
        if (rho := _agreement(errors[a], errors[b])) <= OTHER_WAY
    ]
    notes += [f"{name}: {s.inputs.read_as}" for name, s in studies.items() if s.inputs.read_as]
    return Spaces(
        next(iter(studies.values())).options,
        next(iter(columns.values())) if len({*columns.values()}) == 1 else "",
        metrics.pop() if len(metrics) == 1 else "",
        errors,
        {name: _models(study) for name, study in studies.items()},
        notes=notes,
    )


def _agreement(a: "pd.Series[float]", b: "pd.Series[float]") -> float:
    """Spearman's correlation of two spaces' errors of the models of equal names; 0 of too few."""
    both = pd.concat([a, b], axis=1, join="inner").dropna()
    return float(both.rank().corr().iloc[0, 1]) if len(both) >= FEWEST_SHARED else 0.0


def _column(name: str, study: Study, dataset: str) -> str:
    """The dataset to compare on: the one asked for, the source, or the only one."""
    columns, roles = [str(column) for column in study.errors.columns], study.known("roles")
    known = ", ".join(columns[:12]) + (f" and {len(columns) - 12} more" if columns[12:] else "")
    if dataset and dataset not in columns:
        raise UserError(f"--dataset: {name} has no {dataset}; it has {known}")
    if not dataset and roles is None and len(columns) > 1:
        raise UserError(f"--dataset: say on which of {name}'s datasets: {known}")
    return dataset or (columns[0] if roles is None else str(roles.source))


def _models(study: Study) -> pd.DataFrame:
    """Return what is known of the models, in the order of the errors, with cumulative depth and
    width.
    """
    index = study.errors.index
    if study.known("architectures") is None:
        return pd.DataFrame(index=index)
    models = study.architectures.set_index("architecture").reindex(index)
    return models if study.known("population") is None else models.join(apr.cumulative(models))


def weigh(spaces: Spaces, complexity: str, bins: int) -> Spaces:
    """Weigh the models: as they were drawn, and with `complexity` to be compared at equal one.

    Weights that a population records, because its models were drawn with unequal probability,
    count. Raises UserError where the complexity of models is not known.
    """
    models = {name: known[spaces.errors[name].notna()] for name, known in spaces.models.items()}
    weights = None
    if any("weight" in known for known in models.values()):
        ones = {name: pd.Series(1.0, known.index) for name, known in models.items()}
        weights = {name: known.get("weight", ones[name]) for name, known in models.items()}
    if complexity:
        for name, known in models.items():
            if complexity not in known:
                raise UserError(f"--weigh: the {complexity} of the models of {name} are not known")
        columns = {name: known[complexity] for name, known in models.items()}
        weights = apr.match_complexity(columns, weights, bins, f"--weigh {complexity}")
    if weights is None:
        return spaces
    indices = {name: errors.index for name, errors in spaces.errors.items()}
    aligned = {name: own.reindex(indices[name], fill_value=0.0) for name, own in weights.items()}
    return spaces.changed(weights=aligned)


def split_by(spaces: Spaces, column: str, parts: int) -> Spaces:
    """Split a single space into groups by the value of a column that describes its models.

    A text makes one group per value, and so does a number with at most `parts` values; other
    numbers make as many groups of about as many models.
    """
    (models,) = spaces.models.values()
    if column not in models:
        known = ", ".join(map(str, models.columns)) or "nothing"
        raise UserError(f"--by: no column {column} describes the models; there is {known}")
    values, name = models[column], column.removeprefix("cumulative ")
    if not pd.api.types.is_numeric_dtype(values):
        labels = {value: f"{name} {value}" for value in sorted(values.dropna().unique())}
    else:
        if values.nunique() > parts:
            values = pd.qcut(values, parts, duplicates="drop")
        ends = models[column].groupby(values, observed=True).agg(["min", "max"])
        labels = _ranges(name, ends)
    return _grouped(spaces, {label: values == value for value, label in labels.items()})


def split_by_name(spaces: Spaces, groups: Sequence[str]) -> Spaces:
    """Split a single space into groups NAME=PATTERN of models, by shell patterns of their names."""
    ((space, errors),) = spaces.errors.items()
    chosen: dict[str, pd.Series] = {}
    for group in groups:
        label, _, pattern = group.partition("=")
        if not label or not pattern:
            raise UserError(f"--group: {group!r} is not NAME=PATTERN, such as 'ResNet=resnet*'")
        rows = [fnmatchcase(str(model), pattern) for model in errors.index]
        if not any(rows):
            raise UserError(f"--group: no model of {space} has a name like {pattern}")
        chosen[label] = pd.Series(rows, errors.index)
    for a, b in combinations(chosen, 2):
        if both := errors.index[chosen[a] & chosen[b]].tolist():
            raise UserError(f"--group: {both[0]} is in {a} and in {b}; groups may not overlap")
    return _grouped(spaces, chosen)


def _grouped(spaces: Spaces, chosen: Mapping[str, pd.Series]) -> Spaces:
    """The groups with enough errors; the others are noted."""
    (errors,), (models,) = spaces.errors.values(), spaces.models.values()
    counts = {label: int(errors[rows].notna().sum()) for label, rows in chosen.items()}
    kept = [label for label, count in counts.items() if count >= FEWEST]
    if not kept:
        raise UserError(f"no group has {FEWEST} models with an error: there are {counts}")
    notes = [
        f"{label}: left out; {counted(count, 'model')} with an error, at least {FEWEST} are needed"
        for label, count in counts.items()
        if count < FEWEST
    ]
    rest = int((~np.logical_or.reduce([*chosen.values()])).sum())
    if rest:
        notes.append(f"in no group: {rest} of {len(errors)} models")
    return spaces.changed(
        errors={label: errors[chosen[label]] for label in kept},
        models={label: models[chosen[label]] for label in kept},
        notes=notes,
    )


def _ranges(name: str, ends: pd.DataFrame) -> dict[object, str]:
    """Return what to call ranges of numbers; with as many digits as tell them apart."""
    labels: dict[object, str] = {}
    for digits in (3, 6, 15):
        for value, low, high in ends.itertuples():
            upto = f"-{_amount(high, digits)}" if high > low else ""
            labels[value] = f"{name} {_amount(low, digits)}{upto}"
        if len({*labels.values()}) == len(labels):
            break
    return labels


#: Numbers below ten thousand are written out.
_amount = partial(amount, smallest=1e4)


def summary(spaces: Spaces) -> pd.DataFrame:
    """Mean, median and best error of each space."""
    return apr.edf_summary(spaces.errors, spaces.weights, **spaces.options.intervals)


def arrange_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Without the effective number of models where that is their number."""
    equal = np.isclose(table["effective"], table["n"]).all()
    return table.drop(columns="effective") if equal else table


def pairs(spaces: Spaces) -> pd.DataFrame:
    """Every two spaces."""
    if len(spaces.errors) < 2:
        raise DoesNotApplyError("needs two design spaces")
    return apr.compare_spaces(spaces.errors, spaces.weights, **spaces.options.intervals)


#: What `agreement` calls "before" is b, and "after" a.
OF_SHARED = {"n": "n", "mean_after": "mean_a", "mean_before": "mean_b"}
OF_SHARED |= {f"change{end}": f"mean_difference{end}" for end in ("", "_low", "_high")}
OF_SHARED |= {"improved": "share_better", "estimate": "estimate", "low": "low", "high": "high"}


def shared(spaces: Spaces) -> pd.DataFrame:
    """Every two spaces, model by model: those that both have."""
    if spaces.weights is not None:
        raise DoesNotApplyError("shared models are compared where all models count alike")
    errors = {name: column.to_frame("error") for name, column in spaces.errors.items()}
    parts: Parts = {
        (a, b): partial(apr.agreement, errors[b], errors[a], **spaces.options.correlating)
        for a, b in combinations(errors, 2)
        if len(errors[a].index.intersection(errors[b].index)) >= FEWEST
    }
    if not parts:
        raise DoesNotApplyError(f"no two design spaces share {FEWEST} models")
    table = stacked(("a", "b"), parts)
    attrs = {name: it for name, it in table.attrs.items() if name != "family"}  # no verdicts
    table = table[["a", "b", *OF_SHARED]].rename(columns=OF_SHARED)
    table.attrs = attrs
    return table


def edf(spaces: Spaces) -> pd.DataFrame:
    """Tell which fraction of a space's models errs at most so much."""
    how = spaces.options.intervals
    return spaces.stacked(
        lambda name: apr.edf(spaces.errors[name], spaces.weights_of(name), **how, name=name)
    )


def search(spaces: Spaces) -> pd.DataFrame:
    """Expected error of the best of m random models."""
    how = spaces.options.intervals
    return spaces.stacked(
        lambda name: apr.random_search(
            spaces.errors[name], None, spaces.weights_of(name), **how, name=name
        )
    )


def arrange_search(table: pd.DataFrame) -> pd.DataFrame:
    """One row per space, one column per number of models drawn: those that all spaces have."""
    common = table.dropna().groupby("size")["space"].nunique()
    sizes = [size for size in common.index[common == table["space"].nunique()] if size > 1]
    rows = []
    for space, part in table.groupby("space", sort=False):
        found, row = part.set_index("size"), {"space": space}
        for size in sizes[-SIZES:]:
            ends = {"": "error", "_low": "low", "_high": "high"}
            row |= {f"of {size}{end}": found.loc[size, name] for end, name in ends.items()}
        rows.append(row)
    return pd.DataFrame(rows) if sizes else table.head(0)


def ranges(spaces: Spaces) -> pd.DataFrame:
    """Return where each number that describes the models, and differs, is good, and where it
    lies.
    """

    def of(name: str) -> pd.DataFrame:
        errors, weights = spaces.errors[name], spaces.weights_of(name)
        numbers = spaces.models[name].select_dtypes("number")
        numbers = numbers.drop(columns="weight", errors="ignore")
        counts = errors.notna() if weights is None else errors.notna() & (weights > 0)
        known = numbers[counts]
        several = (known.count() >= FEWEST) & (known.nunique() > 1)
        chosen = numbers[list(numbers.columns[several])]
        table = apr.good_range(errors, chosen, weights, level=spaces.options.level)
        lowest, highest = (table["parameter"].map(ends) for ends in (chosen.min(), chosen.max()))
        return table.assign(lowest=lowest, highest=highest)

    return spaces.stacked(of)


def arrange_ranges(table: pd.DataFrame) -> pd.DataFrame:
    """One row per parameter of a single space."""

    def span(low: str, high: str) -> pd.Series:
        return table[low].map(_amount) + " to " + table[high].map(_amount)

    columns = {"parameter": table["parameter"], "best value": table["best"].map(_amount)}
    spans = {"good range": span("low", "high"), "all models": span("lowest", "highest")}
    return pd.DataFrame({**columns, **spans, "n": table["n"]})


def draw_edf(spaces: Spaces, table: pd.DataFrame) -> "Figure":
    """A curve for each space."""
    parts = dict(iter(table.groupby("space", sort=False)))
    return plots.edf_plot(parts, spaces.dataset, spaces.metric, spaces.options.level)


def draw_search(spaces: Spaces, table: pd.DataFrame) -> "Figure":
    """A curve for each space."""
    parts = dict(iter(table.groupby("space", sort=False)))
    return plots.random_search_plot(parts, spaces.dataset, spaces.metric, spaces.options.level)


#: What `compare` says of design spaces, by name.
SPACE_ANALYSES: dict[str, Analysis[Spaces]] = {
    analysis.name: analysis
    for analysis in (
        Analysis[Spaces](
            name="summary",
            title="Errors (%)",
            table=summary,
            headings={"n": "models", "effective": "worth", "mean": "mean error"},
            arrange=arrange_summary,
        ),
        Analysis[Spaces](
            name="pairs",
            title="Differences (percentage points)",
            table=pairs,
            headings={"n_a": "", "n_b": "", "mean_difference": "mean a-b"}
            | {"median_difference": "median a-b", "probability": "P(a better)"}
            | {"ks": "KS", "p": "", "p_holm": "p"},
            note="P(a better): a random model of a errs less than a random one of b\n"
            "KS: Kolmogorov-Smirnov distance of the EDFs; p: its p-value, corrected for the "
            "number of pairs",
        ),
        Analysis[Spaces](
            name="shared",
            title="Differences on the models that both have (percentage points)",
            table=shared,
            headings={"n": "models", "mean_a": "mean a", "mean_b": "mean b"}
            | {
                "mean_difference": "mean a-b",
                "share_better": "a better",
                "estimate": "correlation",
            },
            note="model by model, so that intervals of differences are narrower; a better: the "
            "share of these models that err less in a",
        ),
        Analysis[Spaces](
            name="edf",
            title="Error distribution functions",
            table=edf,
            figures=(
                StudyFigure(
                    name="edf",
                    title="Error distribution functions",
                    caption="The fraction of the models of each space that err at most so much, "
                    "with {level} bands.",
                    draw=draw_edf,
                ),
            ),
        ),
        Analysis[Spaces](
            name="search",
            title="Expected error (%) of the best of m random models",
            table=search,
            arrange=arrange_search,
            figures=(
                StudyFigure(
                    name="search",
                    title="Random search",
                    caption="Expected error of the best of m random models, with {level} bands.",
                    draw=draw_search,
                ),
            ),
        ),
        Analysis[Spaces](
            name="ranges",
            title="Where the best model of a random quarter of them lies",
            table=ranges,
            arrange=arrange_ranges,
            note="Chance alone narrows a range: that of a parameter without any effect spans about "
            "71%, 61% and 51% of all of 30, 100 and 500 models.",
        ),
    )
}
