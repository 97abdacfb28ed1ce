from .cost.prices import CostModel as CostModel
from .cost.prices import built_in_cost as built_in_cost
from .doctor import examine as examine
from .dry_run import (
    SettingCost as SettingCost,
)
from .dry_run import (
    SlurmForecast as SlurmForecast,
)
from .dry_run import (
    begun_study as begun_study,
)
from .dry_run import (
    forecast as forecast,
)
from .dry_run import (
    sweep_cost as sweep_cost,
)
from .failures import EVERY_KIND as EVERY_KIND
from .failures import retries as retries
from .jobs import cancel_jobs as cancel_jobs
from .jobs import find_log as find_log
from .jobs import list_jobs as list_jobs
from .launch import (
    LaunchReport as LaunchReport,
)
from .launch import (
    OpenStudy as OpenStudy,
)
from .launch import (
    check_may_begin as check_may_begin,
)
from .launch import (
    launch_missing as launch_missing,
)
from .launch import (
    open_study as open_study,
)
from .launch import (
    open_sweep as open_sweep,
)
from .ledger import live_jobs as live_jobs
from .ledger import submitted_jobs as submitted_jobs
from .local import local_workers as local_workers
from .local import train_all as train_all
from .pack import pack_by_length as pack_by_length
from .plan import (
    PlannedRun as PlannedRun,
)
from .plan import (
    datasets_of as datasets_of,
)
from .plan import (
    evaluations_by_dataset as evaluations_by_dataset,
)
from .plan import (
    make_plan as make_plan,
)
from .plan import (
    resolve_on as resolve_on,
)
from .process import keep_freed_memory as keep_freed_memory
from .recorded import JournalReader as JournalReader
from .recorded import Recorded as Recorded
from .status import Status as Status
from .status import current_status as current_status
