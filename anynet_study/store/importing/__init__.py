"""Other people's results as a results store: tables of any models, predictions, stores.

A table goes through `shapes` (rows are models), `columns` (what is declared, and its structure),
`evidence` (which columns are datasets) and `questions` (what is unclear); `table` makes errors of
its values, on the `scale` of errors in percent. `described` is what is known of models and
datasets.
Tables, `predictions` and other stores are read into `files` of one form, which `build` puts
together.
"""

from anynet_study.core.sheets import read_parquet, read_sheet
from anynet_study.store.importing.build import (
    Files,
    ImportReport,
    import_results,
    report_of,
    understood_tables,
)
from anynet_study.store.importing.described import read_sidecar, with_roles
from anynet_study.store.importing.options import ImportOptions, TableAccount
from anynet_study.store.importing.roles import stage_columns
from anynet_study.store.importing.table import errors_of_table

__all__ = [
    "Files",
    "ImportOptions",
    "ImportReport",
    "TableAccount",
    "errors_of_table",
    "import_results",
    "read_parquet",
    "read_sheet",
    "read_sidecar",
    "report_of",
    "stage_columns",
    "understood_tables",
    "with_roles",
]
