"""A worker: trains the runs of its job and journals each as it finishes."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from anynet_study.design_space import Population
from anynet_study.dispatch.cost.capacity import gpu_capacity
from anynet_study.dispatch.endings.logs import ATTACHED
from anynet_study.dispatch.journal_reader import JournalReader
from anynet_study.dispatch.plan import evaluations_by_dataset, load_views, plan
from anynet_study.dispatch.planned import Plan, PlannedRun
from anynet_study.dispatch.recorded import Recorded, Retries
from anynet_study.dispatch.slurm.headway import MOST_STALLED, got_on
from anynet_study.dispatch.worker.process import end_with, keep_freed_memory
from anynet_study.dispatch.worker.signals import Interruption
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

if TYPE_CHECKING:
    import torch

    from anynet_study.dispatch.worker.bench import Assignment

#: Longest share of its time that a worker spends on looking at others' journals.
LOOK_SHARE = 0.01


@dataclass(frozen=True)
class Job:
    """What submitit pickles. It says what to do; what is done already is read from the journals."""

    study_folder: str
    data_root: str
    #: The sweep as it was at launch: later edits of the file change nothing.
    sweep_yaml: str
    run_ids: tuple[str, ...]
    #: Those of them that were tried before.
    retries: Retries = field(default_factory=dict)
    #: Process whose end ends the worker; None: the worker outlives its launcher.
    launcher: int | None = None
    #: How many times in a row it was queued again without having got on.
    stalled: int = 0
    #: The one GPU that it is to use, in CUDA's words; "": what its environment says.
    gpu: str = ""

    def __call__(self) -> int:
        """Train what is not finished yet; the number of runs that something was to do of."""
        interruption = Interruption()
        if self.launcher is not None:
            print(ATTACHED, self.launcher, flush=True)
            end_with(self.launcher, interruption)
        keep_freed_memory()
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
        if self.gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = self.gpu
        os.environ["ANYNET_DATA"] = self.data_root
        with interruption.listening():
            done = work(self, interruption)
        interruption.pass_on()
        return done

    def checkpoint(self) -> Any:
        """Called by submitit before a job is queued again: the same job once more.

        None, and it is not, where it gets nowhere.
        """
        from submitit.helpers import DelayedSubmission

        moved = got_on(StudyFolder(Path(self.study_folder)), self.run_ids)
        stalled = 0 if moved else self.stalled + 1
        return DelayedSubmission(replace(self, stalled=stalled)) if stalled < MOST_STALLED else None


def work(job: Job, interruption: Interruption) -> int:
    """Train the runs of `job` that have no record yet, each journalled before the next begins."""
    import torch

    from anynet_study.dispatch.worker.bench import Bench
    from anynet_study.dispatch.worker.cohorts import cohorts
    from anynet_study.dispatch.worker.journals import Journals
    from anynet_study.training.checkpoint import InterruptedRunError
    from anynet_study.training.options import Options, with_less_memory

    torch.set_num_threads(1)
    study = StudyFolder(Path(job.study_folder))
    sweep = Sweep.model_validate(yaml.safe_load(job.sweep_yaml))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reader = JournalReader(study.journals)
    given = assignment(study, sweep, device, reader.read())
    todo = given.recorded.todo(given.planned.find(job.run_ids), job.retries)
    begin = Options(at_once=_at_once(given, todo))
    with Journals(study) as journals:
        bench = Bench(given, begin, journals, interruption.requested)
        try:
            for smaller, runs in _by_memory(todo, job.retries):
                options = with_less_memory(begin, smaller)
                for cohort in cohorts(runs, options.at_once):
                    # Another job may have been given the same by mistake, or be faster.
                    left = reader.look(LOOK_SHARE).left(cohort, job.retries)
                    if left:
                        bench.train(left, options)
        except InterruptedRunError as stopped:
            print(f"{stopped}: saved on {interruption.signal!r}", flush=True)
    return len(todo)


def _by_memory(todo: Plan, retries: Retries) -> Iterator[tuple[int, Plan]]:
    """The runs by how many steps less memory they are given: those that were not short first."""
    steps = {run_id: again.smaller for run_id, again in retries.items()}
    ids = todo.ids()
    for smaller in sorted({steps.get(run_id, 0) for run_id in ids}):
        yield smaller, todo.find(run_id for run_id in ids if steps.get(run_id, 0) == smaller)


def assignment(
    study: StudyFolder, sweep: Sweep, device: "torch.device", recorded: Recorded | None = None
) -> "Assignment":
    """What a worker must know, from the study's files as they are now."""
    from anynet_study.dispatch.worker.bench import Assignment

    views = load_views(sweep)
    planned = plan(sweep, Population.read(study.population_file), views)
    return Assignment(
        study=study,
        launch=sweep.launch,
        views=views,
        evaluations=evaluations_by_dataset(sweep, views),
        planned=planned,
        recorded=recorded or Recorded.read(study.journals),
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
