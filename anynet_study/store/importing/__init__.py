"""Other people's results as a results store: tables of any models, predictions, stores.

The way of a table, each step once: `core.sheets` reads a file as columns of cells; `shapes` brings
them into a row per model or run; `roles` says what names models, datasets, runs and values, `rows`
which rows are models; `evidence` decides by values together, and by `words` last, which columns are
datasets, and asks of all that are unclear at once; `cells` has the values by model and dataset;
`scale` makes errors in percent of them; `table` puts these steps together.
Tables, `predictions` and other stores are read into `files` of one form, which `build` puts
together; `described` is what is known of models and datasets, `options` what is declared.
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
