"""The design spaces that `compare` compares: read from files, and weighed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.analyses.arguments import StudyOptions
    from anynet_study.study import Study


@dataclass(frozen=True)
class Spaces:
    """Design spaces by name, with the same models in the same order in all that is told of one."""

    #: What the errors are of; empty where the sources call it differently.
    dataset: str
    #: "top1", "top5" or unknown ("").
    metric: str
    #: Percent, NaN = missing, index = architecture.
    errors: "dict[str, pd.Series]"
    #: What is known of the models, index = architecture; perhaps no column.
    models: "dict[str, pd.DataFrame]"
    #: By space; None where all models count alike.
    weights: "dict[str, pd.Series] | None" = None
    #: What the reader of the comparison should know, a line each.
    notes: tuple[str, ...] = ()


def read_spaces(sources: Sequence[str], dataset: str, options: "StudyOptions") -> Spaces:
    """Read one design space a source, a path or NAME=PATH, with its errors on one dataset."""
    reads: dict[str, Study] = {}
    for source in sources:
        name, _, path = ("", "", source) if Path(source).exists() else source.rpartition("=")
        read = options.load(Path(path))
        name = name or (read.name if read.store is not None else Path(read.name).stem)
        if name in reads:
            raise UserError(f"{source}: {name} is there already; give it a name: NAME={path}")
        reads[name] = read
    columns = {name: _column(name, read, dataset) for name, read in reads.items()}
    errors = {name: read.errors[columns[name]] for name, read in reads.items()}
    metrics = {_metric(read, columns[name]) for name, read in reads.items()}
    spaces = Spaces(
        next(iter(columns.values())) if len({*columns.values()}) == 1 else "",
        metrics.pop() if len(metrics) == 1 else "",
        errors,
        {name: _models(read) for name, read in reads.items()},
    )
    return replace(spaces, notes=tuple(_shared_models(errors)))


def weigh(spaces: Spaces, complexity: str, bins: int) -> Spaces:
    """Keep the models with an error and weigh them.

    Where a population records weights, because its models were drawn with unequal probability,
    they count; with `complexity` the spaces are compared at equal complexity besides.
    """
    from anynet_study.apr import match_complexity

    models = {name: each[spaces.errors[name].notna()] for name, each in spaces.models.items()}
    weights = None
    if any("weight" in each for each in models.values()):
        weights = {name: each.get("weight", _ones(each)) for name, each in models.items()}
    if complexity:
        for name, each in models.items():
            if complexity not in each:
                raise UserError(f"--weigh: the {complexity} of the models of {name} are not known")
        columns = {name: each[complexity] for name, each in models.items()}
        weights = match_complexity(columns, weights, bins, f"--weigh {complexity}")
    if weights is None:
        return spaces
    indices = {name: each.index for name, each in spaces.errors.items()}
    aligned = {name: each.reindex(indices[name], fill_value=0.0) for name, each in weights.items()}
    return replace(spaces, weights=aligned)


def _column(name: str, read: "Study", dataset: str) -> str:
    """The dataset to compare on: the one asked for, the source, or the only one."""
    columns = [str(column) for column in read.errors.columns]
    if dataset:
        if dataset not in columns:
            raise UserError(f"--dataset: {name} has no {dataset}; it has {_listed(columns)}")
        return dataset
    if read.known("roles") is not None:
        return str(read.roles.source)
    if len(columns) > 1:
        raise UserError(f"--dataset: say on which of {name}'s datasets: {_listed(columns)}")
    return columns[0]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _metric(read: "Study", dataset: str) -> str:
    return read.metrics.get(dataset, "")


def _models(read: "Study") -> "pd.DataFrame":
    """What is known of the models, in the order of the errors, with cumulative depth and width."""
    import pandas as pd

    from anynet_study.apr import cumulative

    if read.known("architectures") is None:
        return pd.DataFrame(index=read.errors.index)
    models = read.architectures.set_index("architecture").reindex(read.errors.index)
    if read.known("population") is not None:
        models = models.join(cumulative(models))
    return models


def _ones(models: "pd.DataFrame") -> "pd.Series":
    import pandas as pd

    return pd.Series(1.0, models.index)


def _shared_models(errors: "Mapping[str, pd.Series]") -> list[str]:
    return [
        f"{a} and {b} share {len(shared)} models: intervals of their differences are too wide"
        for a, b in combinations(errors, 2)
        if len(shared := errors[a].index.intersection(errors[b].index))
    ]
