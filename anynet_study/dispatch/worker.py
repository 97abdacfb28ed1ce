"""A worker: trains the runs of its job and journals each as it finishes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from anynet_study.design_space import Population
from anynet_study.dispatch.capacity import gpu_capacity
from anynet_study.dispatch.plan import evaluations_by_dataset, load_views, plan
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.dispatch.process import end_with, keep_freed_memory
from anynet_study.dispatch.recorded import Recorded
from anynet_study.dispatch.signals import Interruption
from anynet_study.study import Study
from anynet_study.sweep import Sweep

if TYPE_CHECKING:
    import torch

    from anynet_study.dispatch.work import Assignment


@dataclass(frozen=True)
class Job:
    """What submitit pickles. It says what to do; what is done already is read from the journals."""

    study_folder: str
    data_root: str
    #: The sweep as it was at launch: later edits of the file change nothing.
    sweep_yaml: str
    run_ids: tuple[str, ...]
    retry_failed: bool
    #: Process whose end ends the worker; None: the worker outlives its launcher.
    launcher: int | None = None

    def __call__(self) -> int:
        """Train what is not finished yet; the number of runs that something was to do of."""
        interruption = Interruption()
        if self.launcher is not None:
            end_with(self.launcher, interruption)
        keep_freed_memory()
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
        os.environ["ANYNET_DATA"] = self.data_root
        with interruption.listening():
            done = work(self, interruption)
        interruption.pass_on()
        return done

    def checkpoint(self) -> Any:
        """Called by submitit before a preempted job is queued again: the same job once more."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def work(job: Job, interruption: Interruption) -> int:
    """Train the runs of `job` that have no record yet, each journalled before the next begins."""
    import torch

    from anynet_study.dispatch.cohorts import cohorts
    from anynet_study.dispatch.journals import Journals
    from anynet_study.dispatch.work import Bench
    from anynet_study.training.checkpoint import InterruptedRunError
    from anynet_study.training.options import Options

    torch.set_num_threads(1)
    study = Study(Path(job.study_folder))
    sweep = Sweep.model_validate(yaml.safe_load(job.sweep_yaml))
    given = assignment(study, sweep, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    todo = given.recorded.todo(given.planned.find(job.run_ids), job.retry_failed)
    options = Options(at_once=_at_once(given, todo))
    with Journals(given.study) as journals:
        bench = Bench(given, options, journals, interruption.requested)
        try:
            for cohort in cohorts(todo, options.at_once):
                bench.train(cohort)
        except InterruptedRunError as stopped:
            print(f"{stopped}: saved on {interruption.signal!r}", flush=True)
    return len(todo)


def assignment(study: Study, sweep: Sweep, device: "torch.device") -> "Assignment":
    """What a worker must know, from the study's files as they are now."""
    from anynet_study.dispatch.work import Assignment

    views = load_views(sweep)
    planned = plan(sweep, Population.read(study.population_file), views)
    return Assignment(
        study=study,
        launch=sweep.launch,
        views=views,
        evaluations=evaluations_by_dataset(sweep, views),
        planned=planned,
        recorded=Recorded.read(study.journals),
        device=device,
    )


def _at_once(given: "Assignment", todo: Sequence[PlannedRun]) -> int:
    """How many runs to train at the same time: on a CPU one a worker."""
    import torch

    if given.device.type == "cpu" or given.launch.engine == "reference":
        return 1
    if given.launch.at_once is not None:
        return given.launch.at_once
    free, _ = torch.cuda.mem_get_info(given.device)
    return gpu_capacity(todo, given.study.population(), given.views, free)
