"""Results: run records, the workers' journals, and the HDF5 store collected from them.

`record` one run as a row; `frames` rows on disk, each with its checksum; `journal` a worker's file
of rows; `catalogue` every row of every journal, duplicates settled; `collect` journals to store;
`layout` what the HDF5 file holds, for any reader; `results` the store as pandas tables;
`compare` two stores; `filters` and `query` select rows by a small safe language.
"""

from anynet_study.store.collect import CollectReport, collect
from anynet_study.store.compare import stores_equal
from anynet_study.store.finding import find_store
from anynet_study.store.journal import JournalRead, JournalWriter, finished_runs, read_journal
from anynet_study.store.query import query
from anynet_study.store.record import RunRecord
from anynet_study.store.results import ResultStore

__all__ = [
    "CollectReport",
    "JournalRead",
    "JournalWriter",
    "ResultStore",
    "RunRecord",
    "collect",
    "find_store",
    "finished_runs",
    "query",
    "read_journal",
    "stores_equal",
]
