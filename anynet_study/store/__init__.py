"""Results: run records, the workers' journals, and the HDF5 store collected from them.

Journals, imported files and other stores each yield one table of records (`records`) and their
arrays (`run_arrays`); `deduplicate` keeps one record of each run and orders them, and `write`
makes the file, whose contents `layout` documents for any reader.

`journal` writes and reads journals, in checked `frames`; `collecting` makes the store of a study,
`importing` one of other people's results; `integrity` says whether a store is what it should be.
`results` reads a store as tables and `several` stores as one; `querying` selects, orders and groups
rows, `sql` runs a SELECT; `compare` two stores; `exporting` makes a folder for others.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use, stated_homes

if TYPE_CHECKING:
    from anynet_study.store.collecting import CollectReport, collect
    from anynet_study.store.compare import stores_equal
    from anynet_study.store.errors import Reduction
    from anynet_study.store.exporting import export, import_bundle
    from anynet_study.store.importing import (
        Files,
        ImportOptions,
        ImportReport,
        import_results,
        read_sheet,
        read_sidecar,
        report_of,
        with_roles,
    )
    from anynet_study.store.integrity import Finding, mixed_backends, verify, verify_journals
    from anynet_study.store.journal import (
        EvaluationWriter,
        JournalRead,
        JournalWriter,
        read_evaluations,
        read_journal,
        read_journals,
    )
    from anynet_study.store.layout import TableName
    from anynet_study.store.opening import NewerStoreError
    from anynet_study.store.querying import query, select
    from anynet_study.store.records import (
        EVALUATIONS_SUFFIX,
        EvaluationRecord,
        FailureKind,
        RunRecord,
    )
    from anynet_study.store.results import Results, ResultStore, label_matrices
    from anynet_study.store.several import ResultStores, find_store, find_stores
    from anynet_study.store.sql import run_sql
    from anynet_study.store.tables import to_pandas

__all__ = [
    "EVALUATIONS_SUFFIX",
    "CollectReport",
    "EvaluationRecord",
    "EvaluationWriter",
    "FailureKind",
    "Files",
    "Finding",
    "ImportOptions",
    "ImportReport",
    "JournalRead",
    "JournalWriter",
    "NewerStoreError",
    "Reduction",
    "ResultStore",
    "ResultStores",
    "Results",
    "RunRecord",
    "TableName",
    "collect",
    "export",
    "find_store",
    "find_stores",
    "import_bundle",
    "import_results",
    "label_matrices",
    "mixed_backends",
    "query",
    "read_evaluations",
    "read_journal",
    "read_journals",
    "read_sheet",
    "read_sidecar",
    "report_of",
    "run_sql",
    "select",
    "stores_equal",
    "to_pandas",
    "verify",
    "verify_journals",
    "with_roles",
]

__getattr__ = on_first_use(__name__, stated_homes(__file__))
