"""From a plan to finished runs: costs, packing, launching, workers, failures, status.

`launch` is the algorithm: what is missing of a study and in no job is submitted to Slurm, or given
to workers of this machine.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.dispatch.cost.prices import CostModel as CostModel
    from anynet_study.dispatch.cost.prices import built_in_cost as built_in_cost
    from anynet_study.dispatch.doctor import examine as examine
    from anynet_study.dispatch.dry_run import SettingCost as SettingCost
    from anynet_study.dispatch.dry_run import SlurmForecast as SlurmForecast
    from anynet_study.dispatch.dry_run import begun_study as begun_study
    from anynet_study.dispatch.dry_run import forecast as forecast
    from anynet_study.dispatch.dry_run import sweep_cost as sweep_cost
    from anynet_study.dispatch.failures import EVERY_KIND as EVERY_KIND
    from anynet_study.dispatch.failures import retries as retries
    from anynet_study.dispatch.jobs import cancel_jobs as cancel_jobs
    from anynet_study.dispatch.jobs import find_log as find_log
    from anynet_study.dispatch.jobs import list_jobs as list_jobs
    from anynet_study.dispatch.launch import LaunchReport as LaunchReport
    from anynet_study.dispatch.launch import OpenStudy as OpenStudy
    from anynet_study.dispatch.launch import check_may_begin as check_may_begin
    from anynet_study.dispatch.launch import launch_missing as launch_missing
    from anynet_study.dispatch.launch import open_study as open_study
    from anynet_study.dispatch.launch import open_sweep as open_sweep
    from anynet_study.dispatch.ledger import live_jobs as live_jobs
    from anynet_study.dispatch.ledger import submitted_jobs as submitted_jobs
    from anynet_study.dispatch.local import local_workers as local_workers
    from anynet_study.dispatch.local import train_all as train_all
    from anynet_study.dispatch.pack import pack_by_length as pack_by_length
    from anynet_study.dispatch.plan import PlannedRun as PlannedRun
    from anynet_study.dispatch.plan import datasets_of as datasets_of
    from anynet_study.dispatch.plan import evaluations_by_dataset as evaluations_by_dataset
    from anynet_study.dispatch.plan import make_plan as make_plan
    from anynet_study.dispatch.plan import resolve_on as resolve_on
    from anynet_study.dispatch.process import keep_freed_memory as keep_freed_memory
    from anynet_study.dispatch.recorded import JournalReader as JournalReader
    from anynet_study.dispatch.recorded import Recorded as Recorded
    from anynet_study.dispatch.status import Status as Status
    from anynet_study.dispatch.status import current_status as current_status

_HOMES = {
    "cost.prices": ("CostModel", "built_in_cost"),
    "doctor": ("examine",),
    "dry_run": ("SettingCost", "SlurmForecast", "begun_study", "forecast", "sweep_cost"),
    "failures": ("EVERY_KIND", "retries"),
    "jobs": ("cancel_jobs", "find_log", "list_jobs"),
    "launch": (
        *("LaunchReport", "OpenStudy"),
        *("check_may_begin", "launch_missing", "open_study", "open_sweep"),
    ),
    "ledger": ("live_jobs", "submitted_jobs"),
    "local": ("local_workers", "train_all"),
    "pack": ("pack_by_length",),
    "plan": ("PlannedRun", "datasets_of", "evaluations_by_dataset", "make_plan", "resolve_on"),
    "process": ("keep_freed_memory",),
    "recorded": ("JournalReader", "Recorded"),
    "status": ("Status", "current_status"),
}

__getattr__ = on_first_use(
    __name__, {name: home for home, names in _HOMES.items() for name in names}
)
