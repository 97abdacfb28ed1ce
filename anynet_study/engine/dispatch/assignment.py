"""What a worker is given to do, and which of it nobody else is at. Imports torch."""

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.design_space import ForeignNetwork, Population
from anynet_study.engine.dispatch.claims import Claims
from anynet_study.engine.dispatch.failures import (
    Death,
    deaths_in,
    ending,
    more_memory,
    record_deaths,
)
from anynet_study.engine.dispatch.ledger import SubmittedJob
from anynet_study.engine.dispatch.pack import cohorts
from anynet_study.engine.dispatch.recorded import JournalReader, Recorded, Retries
from anynet_study.engine.planning import (
    Plan,
    PlannedRun,
    evaluations_by_dataset,
    gpu_capacity,
    load_views,
    make_plan,
)
from anynet_study.engine.study_folder import StudyFolder, functions_now
from anynet_study.engine.sweep import Launch, Sweep
from anynet_study.engine.training import EvaluationSet, Options, with_less_memory

#: Longest share of its time that a worker spends on looking at others' journals.
LOOK_SHARE = 0.01
#: Between two looks of a worker that has nothing to train, in seconds.
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Assignment:
    """What a worker must know of its study."""

    study: StudyFolder
    launch: Launch
    views: Mapping[str, DatasetView]
    #: Further test sets by dataset and name.
    evaluations: Mapping[str, Mapping[str, EvaluationSet]]
    plan: Plan
    recorded: Recorded
    device: torch.device
    #: Digests of the source of a user's functions that make networks, by the function's name.
    functions: Mapping[str, str]

    @classmethod
    def of(
        cls,
        study: StudyFolder,
        sweep: Sweep,
        device: torch.device,
        recorded: Recorded | None = None,
        run_ids: Container[str] | None = None,
    ) -> "Assignment":
        """Read it from the study's files as they are now.

        `recorded`: what the journals hold, if they have been read. `run_ids`: plan only the rows of
        these runs (`plan_of`).
        """
        views, population = load_views(sweep), study.population()
        recorded = recorded or Recorded.read(study.journals)
        return cls(
            study=study,
            launch=sweep.launch,
            views=views,
            evaluations=evaluations_by_dataset(sweep, views),
            plan=make_plan(
                sweep,
                population,
                views,
                judge=recorded.validation_error,
                digests=study.digests(),
                beside=run_ids,
            ),
            recorded=recorded,
            device=device,
            functions=_checked_functions(study, population),
        )

    def function_digest(self, run: PlannedRun) -> str:
        """Digest of the source of the user's function that makes a run's network; "" if none."""
        network = run.spec.architecture
        return self.functions.get(network.name, "") if isinstance(network, ForeignNetwork) else ""

    def runs_at_once(self, todo: Plan) -> int:
        """Return how many runs to train at the same time: on a CPU one per worker."""
        if self.device.type == "cpu" or self.launch.engine == "reference":
            return 1
        if self.launch.at_once is not None:
            return self.launch.at_once
        free, _ = torch.cuda.mem_get_info(self.device)
        todo_in = {(run.dataset, run.recipe) for run in todo}
        settings = [
            (it.groups(self.plan.population), self.views[it.dataset], it.resolved)
            for it in self.plan.settings
            if (it.dataset, it.recipe) in todo_in
        ]
        return gpu_capacity(settings, free)


def _checked_functions(study: StudyFolder, population: Population) -> dict[str, str]:
    """Digests of the functions that make networks. UserError where one is not as at the launch."""
    now = functions_now(population)
    for name, launched in study.functions().items():
        if now.get(name) != launched:
            has = "is another" if name in now else "is not found here"
            raise UserError(
                f"network {name}: its source {has}, and {study.folder} was launched with that of "
                f"digest {launched}{f' (here: {now[name]})' if name in now else ''}; launch the "
                "study again, or give it another name"
            )
    return now


def free_runs(
    of: Assignment,
    todo: Plan,
    retries: Retries,
    claims: Claims,
    reader: JournalReader,
    at_once: int,
    stop: Callable[[], bool],
) -> Iterator[tuple[list[PlannedRun], int]]:
    """Runs that nobody else is at, to be trained together, and by how many steps less memory.

    Those of others come once more, until all workers that are at them are seen to live.
    """
    while todo:
        claims.others.clear()
        others: list[str] = []
        for smaller, runs in _by_memory(todo, retries):
            together = with_less_memory(Options(at_once=at_once), smaller).at_once
            for cohort in cohorts(runs, together):
                # Another job may have been given the same by mistake, or be faster.
                recorded = reader.look(LOOK_SHARE)
                left = recorded.left(cohort, retries)
                taken = [run for run in left if _is_taken(run, claims, recorded)]
                others += [run.run_id for run in left if run not in taken]
                less = 0
                if any(claims.lost.get(run.run_id) for run in taken):
                    # Who was lost may have recorded the run since the look, and gone on.
                    deaths = _deaths(of.study, taken, claims)
                    taken = record_deaths(of.study, of.plan, deaths, reader).left(taken, retries)
                    again = more_memory(deaths)
                    less = max((again[run.run_id] for run in taken), default=0)
                if taken:
                    yield taken, smaller + less
        if not others or stop() or not claims.may_be_free_soon():
            return
        time.sleep(LOOK_SECONDS)
        todo = reader.read().todo(todo.find(others), retries)


def _is_taken(run: PlannedRun, claims: Claims, recorded: Recorded) -> bool:
    """Take a run, if that is free; not while another worker is at the one that it starts from."""
    source = run.spec.pretrained
    waits = source and source.run_id not in recorded.runs and not claims.take(source.run_id)
    return not waits and claims.take(run.run_id)


def _deaths(study: StudyFolder, runs: Iterable[PlannedRun], claims: Claims) -> list[Death]:
    """List the deaths of lost workers that were at these runs before."""
    ids = {run.run_id for run in runs}
    lost = dict.fromkeys(job for run_id in ids for job in claims.lost.get(run_id, ()))
    ends = filter(None, (ending(study.logs, SubmittedJob(job)) for job in lost))
    return [death for death in deaths_in(study, ends) if death.run_id in ids]


def _by_memory(todo: Plan, retries: Retries) -> Iterator[tuple[int, Plan]]:
    """The runs by how many steps less memory they are given: those that had enough first."""
    steps = {run_id: retries[run_id].smaller if run_id in retries else 0 for run_id in todo.ids()}
    for smaller in sorted(set(steps.values())):
        yield smaller, todo.find(run_id for run_id, it in steps.items() if it == smaller)
