"""A population's table with the errors of its architectures beside it."""

from typing import TYPE_CHECKING

from anynet_study.design_space.validation import one_of
from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("refuse", "keep", "drop")


def joined(population: "pd.DataFrame", errors: "pd.DataFrame", missing: str) -> "pd.DataFrame":
    """Join by id: see `Population.join`."""
    one_of(missing, "join: missing", MISSING)
    table = errors.set_index("architecture") if "architecture" in errors else errors
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise UserError(f"join: architecture {twice} has more than one row of errors")
    both = [str(name) for name in table.columns if name in population.columns]
    if both:
        raise UserError(f"join: errors and population both have a column {both[0]!r}; rename it")
    ids = population["architecture"]
    absent = ids[~ids.isin(table.index)].tolist()
    if len(absent) == len(population):
        raise UserError(
            f"join: none of the {len(population):,} architectures has errors; the table's index "
            f"is to hold ids such as {absent[0]}"
        )
    if absent and missing == "refuse":
        raise UserError(
            f"join: {len(absent):,} of {len(population):,} architectures have no errors (the first "
            f"is {absent[0]}); missing='keep' leaves their errors empty, 'drop' leaves them out"
        )
    how = "left" if missing == "keep" else "inner"
    result = population.join(table, on="architecture", how=how).reset_index(drop=True)
    result.attrs["missing"] = absent
    return result
