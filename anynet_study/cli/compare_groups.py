"""Groups of the models of one design space, as design spaces to compare."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING

from anynet_study.cli.compare_sources import Spaces
from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def split_by(spaces: Spaces, column: str, parts: int) -> Spaces:
    """Split a single space into groups by the value of a column that describes its models.

    A text makes a group a value, and so does a number with at most `parts` values; other numbers
    make as many groups of about as many models.
    """
    import pandas as pd

    (models,) = spaces.models.values()
    if column not in models:
        known = ", ".join(map(str, models.columns)) or "nothing"
        raise UserError(f"--by: no column {column} describes the models; there is {known}")
    values, name = models[column], column.removeprefix("cumulative ")
    if not pd.api.types.is_numeric_dtype(values):
        labels = {each: f"{name} {each}" for each in sorted(values.dropna().unique())}
    else:
        if values.nunique() > parts:
            values = pd.qcut(values, parts, duplicates="drop")
        ends = models[column].groupby(values, observed=True).agg(["min", "max"])
        labels = _ranges(name, ends)
    return _grouped(spaces, {label: values == each for each, label in labels.items()})


def split_by_name(spaces: Spaces, groups: Sequence[str]) -> Spaces:
    """Split a single space into groups NAME=PATTERN of models, by shell patterns of their names."""
    import pandas as pd

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


def _grouped(spaces: Spaces, chosen: "Mapping[str, pd.Series]") -> Spaces:
    """The groups with enough errors; the others are noted."""
    from anynet_study.apr.error_tables import FEWEST

    (errors,) = spaces.errors.values()
    (models,) = spaces.models.values()
    counts = {label: int(errors[rows].notna().sum()) for label, rows in chosen.items()}
    kept = [label for label, count in counts.items() if count >= FEWEST]
    if not kept:
        raise UserError(f"no group has {FEWEST} models with an error: there are {counts}")
    notes = [
        f"{label}: left out, with {count} models that have an error (at least {FEWEST} are needed)"
        for label, count in counts.items()
        if count < FEWEST
    ]
    rest = int((~sum(chosen.values(), start=errors.isna() & False).astype(bool)).sum())
    if rest:
        notes.append(f"in no group: {rest} of {len(errors)} models")
    return replace(
        spaces,
        errors={label: errors[chosen[label]] for label in kept},
        models={label: models[chosen[label]] for label in kept},
        notes=tuple(notes),
    )


def _ranges(name: str, ends: "pd.DataFrame") -> dict[object, str]:
    """What to call ranges of numbers; with as many digits as tell them apart."""
    from anynet_study.cli.compare_text import amount

    labels: dict[object, str] = {}
    for digits in (3, 6, 15):
        for each, low, high in ends.itertuples():
            upto = f"-{amount(high, digits)}" if high > low else ""
            labels[each] = f"{name} {amount(low, digits)}{upto}"
        if len({*labels.values()}) == len(labels):
            break
    return labels
