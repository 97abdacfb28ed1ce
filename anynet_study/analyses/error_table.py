"""Tables of errors in files, in percent or as accuracies or fractions: read as `import` does."""

from pathlib import Path

import pandas as pd

from anynet_study.apr.population import stages_of
from anynet_study.sheets import Sheet, read_sheet, sheet_of
from anynet_study.store import ImportOptions, errors_of_table, stage_columns

#: What messages call a table that is in no file, and the column of its index.
IN_MEMORY, INDEX = Path("table"), "architecture"


def read_table(path: Path, accuracy: bool, fraction: bool | None) -> dict[str, pd.DataFrame]:
    """The "errors" in percent of a table in a file, and the "architectures" where it describes any.

    Raises UserError, beginning with the path, for what is no table of errors.
    """
    return _understood(read_sheet(path), accuracy, fraction)


def described(
    table: pd.DataFrame, accuracy: bool, fraction: bool | None
) -> dict[str, pd.DataFrame]:
    """The same of a table in memory, whose index names the architectures."""
    columns = [table.index.astype(object), *(table[name].astype(object) for name in table.columns)]
    cells = [
        [None if pd.isna(cell) else cell for cell in column.to_numpy(object).tolist()]
        for column in columns
    ]
    sheet = sheet_of(IN_MEMORY, [INDEX, *map(str, table.columns)], cells)
    return _understood(sheet, accuracy, fraction)


def _understood(sheet: Sheet, accuracy: bool, fraction: bool | None) -> dict[str, pd.DataFrame]:
    options = ImportOptions(
        quantity="accuracy" if accuracy else "error",
        unit=None if fraction is None else "fraction" if fraction else "percent",
    )
    errors, models = errors_of_table(sheet, options)
    if stages := stage_columns(models.columns):
        stages_of(stages)
    return {"errors": errors} | ({"architectures": models} if models.shape[1] > 1 else {})
