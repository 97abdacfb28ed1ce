"""Results: run records, the workers' journals, and the HDF5 store collected from them.

`record` one run as a row; `evaluations` of runs on further test sets; `frames` rows on disk, each
with its checksum; `journal` a worker's file of rows; `catalogue` every row of every journal,
duplicates settled; `collect` journals to store; `layout` what the HDF5 file holds, for any reader;
`results` the store as tables, `several` stores as one; `compare` two stores; `query` selects,
orders and groups rows, `sql` runs a SELECT.
`importing` makes a store of other people's results, `exporting` a folder for them; `verifying` says
whether stores and journals are whole and agree.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.store.by_class import class_accuracies, label_matrices
    from anynet_study.store.collecting import collect
    from anynet_study.store.compare import stores_equal
    from anynet_study.store.evaluations.record import EvaluationRecord
    from anynet_study.store.finding import find_store, find_stores
    from anynet_study.store.journal import (
        JournalRead,
        finished_evaluations,
        finished_runs,
        read_evaluations,
        read_journal,
    )
    from anynet_study.store.journal_writing import EvaluationWriter, JournalWriter
    from anynet_study.store.pandas_tables import to_pandas
    from anynet_study.store.querying import query, select
    from anynet_study.store.record import RunRecord
    from anynet_study.store.reporting import CollectReport
    from anynet_study.store.results import ResultStore
    from anynet_study.store.several import ResultStores
    from anynet_study.store.sql import run_sql

__all__ = [
    "CollectReport",
    "EvaluationRecord",
    "EvaluationWriter",
    "JournalRead",
    "JournalWriter",
    "ResultStore",
    "ResultStores",
    "RunRecord",
    "class_accuracies",
    "collect",
    "find_store",
    "find_stores",
    "finished_evaluations",
    "finished_runs",
    "label_matrices",
    "query",
    "read_evaluations",
    "read_journal",
    "run_sql",
    "select",
    "stores_equal",
    "to_pandas",
]

__getattr__ = on_first_use(
    __name__,
    {
        "CollectReport": "reporting",
        "EvaluationRecord": "evaluations.record",
        "EvaluationWriter": "journal_writing",
        "JournalRead": "journal",
        "JournalWriter": "journal_writing",
        "ResultStore": "results",
        "ResultStores": "several",
        "RunRecord": "record",
        "class_accuracies": "by_class",
        "collect": "collecting",
        "find_store": "finding",
        "find_stores": "finding",
        "finished_evaluations": "journal",
        "finished_runs": "journal",
        "label_matrices": "by_class",
        "query": "querying",
        "read_evaluations": "journal",
        "read_journal": "journal",
        "run_sql": "sql",
        "select": "querying",
        "stores_equal": "compare",
        "to_pandas": "pandas_tables",
    },
)
