from .collecting import CollectReport as CollectReport
from .collecting import collect as collect
from .compare import stores_equal as stores_equal
from .errors import Reduction as Reduction
from .exporting import export as export
from .exporting import import_bundle as import_bundle
from .importing import (
    Files as Files,
)
from .importing import (
    ImportOptions as ImportOptions,
)
from .importing import (
    ImportReport as ImportReport,
)
from .importing import (
    import_results as import_results,
)
from .importing import (
    read_sheet as read_sheet,
)
from .importing import (
    read_sidecar as read_sidecar,
)
from .importing import (
    report_of as report_of,
)
from .importing import (
    with_roles as with_roles,
)
from .integrity import (
    Finding as Finding,
)
from .integrity import (
    mixed_backends as mixed_backends,
)
from .integrity import (
    verify as verify,
)
from .integrity import (
    verify_journals as verify_journals,
)
from .journal import (
    EvaluationWriter as EvaluationWriter,
)
from .journal import (
    JournalRead as JournalRead,
)
from .journal import (
    JournalWriter as JournalWriter,
)
from .journal import (
    read_evaluations as read_evaluations,
)
from .journal import (
    read_journal as read_journal,
)
from .journal import (
    read_journals as read_journals,
)
from .layout import TableName as TableName
from .opening import NewerStoreError as NewerStoreError
from .querying import query as query
from .querying import select as select
from .records import (
    EVALUATIONS_SUFFIX as EVALUATIONS_SUFFIX,
)
from .records import (
    EvaluationRecord as EvaluationRecord,
)
from .records import (
    FailureKind as FailureKind,
)
from .records import (
    RunRecord as RunRecord,
)
from .results import (
    Results as Results,
)
from .results import (
    ResultStore as ResultStore,
)
from .results import (
    label_matrices as label_matrices,
)
from .several import (
    ResultStores as ResultStores,
)
from .several import (
    find_store as find_store,
)
from .several import (
    find_stores as find_stores,
)
from .sql import run_sql as run_sql
from .tables import to_pandas as to_pandas
