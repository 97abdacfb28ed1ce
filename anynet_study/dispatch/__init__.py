"""From a plan to finished runs: costs, packing, launching, workers, failures, status.

`launch` is the algorithm: what is missing of a study and in no job is submitted to Slurm, or given
to workers of this machine.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.dispatch.calibration import calibrate
    from anynet_study.dispatch.cost.prices import CostModel, built_in_cost
    from anynet_study.dispatch.doctor import ProbeResult, examine
    from anynet_study.dispatch.dry_run import (
        SettingCost,
        SlurmForecast,
        cost_of_study,
        forecast,
        sweep_cost,
    )
    from anynet_study.dispatch.failures import EVERY_KIND, retries
    from anynet_study.dispatch.jobs import cancel_jobs, find_log, list_jobs
    from anynet_study.dispatch.launch import (
        LaunchReport,
        OpenStudy,
        launch_missing,
        open_study,
        open_sweep,
    )
    from anynet_study.dispatch.ledger import live_jobs, submitted_jobs
    from anynet_study.dispatch.local import local_workers, train_all
    from anynet_study.dispatch.pack import pack_by_length
    from anynet_study.dispatch.plan import (
        Plan,
        PlannedRun,
        evaluations_by_dataset,
        load_views,
        make_plan,
        resolve_on,
    )
    from anynet_study.dispatch.process import keep_freed_memory
    from anynet_study.dispatch.recorded import JournalReader, Recorded
    from anynet_study.dispatch.status import Status, current_status

_HOMES = {
    "calibration": ("calibrate",),
    "cost.prices": ("CostModel", "built_in_cost"),
    "doctor": ("ProbeResult", "examine"),
    "dry_run": ("SettingCost", "SlurmForecast", "cost_of_study", "forecast", "sweep_cost"),
    "failures": ("EVERY_KIND", "retries"),
    "jobs": ("cancel_jobs", "find_log", "list_jobs"),
    "launch": ("LaunchReport", "OpenStudy", "launch_missing", "open_study", "open_sweep"),
    "ledger": ("live_jobs", "submitted_jobs"),
    "local": ("local_workers", "train_all"),
    "pack": ("pack_by_length",),
    "plan": (
        "Plan",
        "PlannedRun",
        "evaluations_by_dataset",
        "load_views",
        "make_plan",
        "resolve_on",
    ),
    "process": ("keep_freed_memory",),
    "recorded": ("JournalReader", "Recorded"),
    "status": ("Status", "current_status"),
}

__all__ = [
    "EVERY_KIND",
    "CostModel",
    "JournalReader",
    "LaunchReport",
    "OpenStudy",
    "Plan",
    "PlannedRun",
    "ProbeResult",
    "Recorded",
    "SettingCost",
    "SlurmForecast",
    "Status",
    "built_in_cost",
    "calibrate",
    "cancel_jobs",
    "cost_of_study",
    "current_status",
    "evaluations_by_dataset",
    "examine",
    "find_log",
    "forecast",
    "keep_freed_memory",
    "launch_missing",
    "list_jobs",
    "live_jobs",
    "load_views",
    "local_workers",
    "make_plan",
    "open_study",
    "open_sweep",
    "pack_by_length",
    "resolve_on",
    "retries",
    "submitted_jobs",
    "sweep_cost",
    "train_all",
]

__getattr__ = on_first_use(
    __name__, {name: home for home, names in _HOMES.items() for name in names}
)
