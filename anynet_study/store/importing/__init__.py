"""Other people's results as a results store: tables of any models, predictions, stores.

`tables` opens a file as blocks of rows (`csv_table`, `json_table`, `parquet_table`); `shape` says
what its columns are; `gathering` reads its `cells`; `scale` makes errors of them; `described` knows
networks of ours. That and `predicted` files and other stores are parts (`table_part`,
`predicted_part`, `stored_part`), which `merging` orders and `building` writes.
"""

from anynet_study.store.importing.datasets import read_sidecar, with_roles
from anynet_study.store.importing.options import ImportOptions
from anynet_study.store.importing.run import Files, ImportReport, import_results, report_of

__all__ = [
    "Files",
    "ImportOptions",
    "ImportReport",
    "import_results",
    "read_sidecar",
    "report_of",
    "with_roles",
]
