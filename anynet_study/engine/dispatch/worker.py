"""The work of a job: train, evaluate and journal what is missing of its runs. Imports torch."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import torch

from anynet_study.core.errors import UserError, first_line
from anynet_study.engine.dispatch.assignment import Assignment, free_runs
from anynet_study.engine.dispatch.claims import Claims
from anynet_study.engine.dispatch.journalling import (
    Trained,
    WorkerJournals,
    classify,
    disk_is_full,
    evaluation_of,
    failure_of,
    record_of,
    save_scores,
    training_steps,
)
from anynet_study.engine.dispatch.recorded import JournalReader, Retries
from anynet_study.engine.dispatch.snapshot import check as check_snapshot
from anynet_study.engine.dispatch.worker_state import WorkerState
from anynet_study.engine.models import backend_here
from anynet_study.engine.planning import (
    PlannedRun,
)
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.training import (
    Checkpoint,
    DeviceImages,
    InterruptedRunError,
    Options,
    Trainer,
    Turns,
    Weights,
    arrange,
    arrange_as_defined,
    device_is_lost,
    finish,
    fitting,
    initial_network,
    interpolated,
    load_weights,
    load_weights_file,
    new_network,
    save_weights,
    step_down,
    train_together,
    with_less_memory,
)
from anynet_study.store import scores_file

T = TypeVar("T")


def train_runs(
    study: StudyFolder,
    sweep: Sweep,
    run_ids: Iterable[str] | None,
    retries: Retries,
    state: WorkerState,
    told: Callable[[list[str]], object] = lambda _: None,
) -> int:
    """Train those of some runs that have no record yet, each journalled before the next begins.

    `run_ids` None: of all runs of the study. What another worker is at is left to it, unless that
    is lost. Before runs begin, their ids are `told`. Returns how many runs were begun. Saves and
    returns when interrupted.
    """
    check_snapshot(study.code)
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reader = JournalReader(study.journals)
    run_ids = None if run_ids is None else set(run_ids)
    assignment = Assignment.of(study, sweep, device, reader.read(), run_ids)
    mine = assignment.plan if run_ids is None else assignment.plan.find(run_ids)
    todo = assignment.recorded.todo(mine, retries)
    backend = backend_here(sweep.launch.backend, "cpu" if device.type == "cpu" else "cuda")
    begin = Options(backend=backend, at_once=assignment.runs_at_once(todo))
    begun = 0
    with (
        Claims(study, state) as claims,
        WorkerJournals(study, state) as journals,
    ):
        worker = Worker(assignment, begin, journals, state.requested, claims.holds)
        try:
            most, stop = begin.at_once, state.requested
            for cohort, smaller in free_runs(assignment, todo, retries, claims, reader, most, stop):
                begun += len(cohort)
                told([run.run_id for run in cohort])
                worker.train(cohort, with_less_memory(begin, smaller))
                claims.end(run.run_id for run in cohort)
        except InterruptedRunError as stopped:
            print(f"{stopped}: saved on {state.signal!r}", flush=True)
    return begun


class Worker:
    """Brings runs to their end.

    Options that did not work are not tried again with the same dataset and recipe: what is too
    much for images of 224 pixels is not for others.
    """

    def __init__(
        self,
        assignment: Assignment,
        options: Options,
        journals: WorkerJournals,
        stop: Callable[[], bool] = lambda: False,
        holds: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.assignment, self.journals, self.stop = assignment, journals, stop
        #: Whether a run is this worker's still.
        self.holds = holds
        self.options = self._begin = options
        self._worked: dict[tuple[str, str, Options], Options] = {}
        self.source = DeviceImages(assignment.device)

    def train(self, cohort: Iterable[PlannedRun], begin: Options | None = None) -> None:
        """Bring runs of one dataset and recipe to their end, as many at a time as fit.

        A run that does not fit, or meets what its device cannot do, is tried again in a slower
        way, beginning with the options `begin`, or else this worker's own. Raises
        InterruptedRunError when told to stop, once all are saved.
        """
        runs = list(cohort)
        begin = begin or self._begin
        kind = (runs[0].dataset, runs[0].recipe, begin)
        self.options = self._worked.get(kind, begin)
        pending = [run for run in runs if not self._evaluated_from_weights(run)]
        while pending:
            tried, now = self.options, pending[: self.options.at_once]
            pending = self._attempt(now, tried) + pending[len(now) :]
            self._worked[kind] = self.options
            if self.options != tried and self.assignment.device.type == "cuda":
                self.source.release()
                with suppress(RuntimeError):  # before torch 2.12: after a recording that broke off
                    torch.cuda.empty_cache()

    def _attempt(self, now: Sequence[PlannedRun], tried: Options) -> list[PlannedRun]:
        """Train some runs at the same time, then evaluate them; those to be tried again."""
        again: list[PlannedRun] = []
        waiting: list[tuple[PlannedRun, Trained, float]] = []
        starts = [partial(self._steps, run) for run in now]
        for place, trained, seconds in self._together(now, starts, tried, again):
            run = now[place]
            if run.evaluations and trained.outcome.status == "completed":
                waiting.append((run, trained, seconds))
            else:
                self._finish(run, trained, seconds)
        runs = [run for run, _, _ in waiting]
        further = [
            partial(self._evaluate, run, trained.trainer.model, None, len(runs))
            for run, trained, _ in waiting
        ]
        for place, _, _ in self._together(runs, further, tried, again):
            self._finish(*waiting[place])
        return again

    def _together(
        self,
        runs: Sequence[PlannedRun],
        starts: Sequence[Callable[[], Turns[T]]],
        tried: Options,
        again: list[PlannedRun],
    ) -> Iterator[tuple[int, T, float]]:
        """Let some runs take turns. As each ends: its place, its result and its seconds.

        One that raised has failed, or is added to those to be tried `again`. Raises
        InterruptedRunError when told to stop, once all are saved.
        """
        stopped = None
        for ended in train_together(starts, self.assignment.device):
            run, result = runs[ended.number], ended.result
            if isinstance(result, InterruptedRunError):
                stopped = result
            elif not isinstance(result, Exception):
                yield ended.number, result, ended.seconds
            elif self._failed(run, result, ended.seconds, tried):
                again.append(run)
        if stopped is not None:
            raise stopped

    def _checkpoint(self, run: PlannedRun) -> Path:
        return self.assignment.study.checkpoints / f"{run.run_id}.pt"

    def _fitting(self, run: PlannedRun, options: Options) -> Options:
        return fitting(options, run.spec, self.assignment.device.type)

    def _steps(self, run: PlannedRun) -> Turns[Trained]:
        before = yield from self._before(run)
        # First for whoever asks how this worker ended, then for people: who reads in the log that a
        # run has begun, and kills the worker, finds it a death at this run.
        self.journals.state.begins(run.run_id, self._checkpoint(run))
        print(run.run_id, run.dataset, run.architecture, "begins", flush=True)
        return (yield from self._trained(run, before))

    def _trained(self, run: PlannedRun, before: Weights | None = None) -> Turns[Trained]:
        launch, options = self.assignment.launch, self._fitting(run, self.options)
        checkpoint = Checkpoint(
            self._checkpoint(run),
            run.run_id,
            launch.engine,
            launch.checkpoint_seconds,
            self.stop,
            str(options.backend),
        )
        view = self.assignment.views[run.dataset]
        if run.spec.pretrained is not None and run.spec.inherits == "state":
            checkpoint.before = self.assignment.study.weights(f"{run.spec.pretrained.run_id}.state")

        asked = self.assignment.evaluations.get(run.dataset, {}).values()
        moments = {one.moment.epoch for one in asked}

        def after_epoch(trainer: Trainer, epochs: int) -> Turns[None]:
            if epochs in moments:
                yield from trainer.settle_norms()
                yield from self._evaluate(run, trainer.model, epochs, self.options.at_once)

        return (
            yield from training_steps(
                run, view, self.source, checkpoint, options, before, after_epoch
            )
        )

    def _before(self, run: PlannedRun) -> Turns[Weights | None]:
        """The weights that a run starts from; None if it has none, or takes over a whole state.

        If they are not there, the run that gives them is trained first, and those before it.
        """
        spec = run.spec
        if spec.pretrained is None and spec.weights is None:
            return None
        weights = self._kept(run)
        if weights is None:
            assert spec.pretrained is not None, "a file is there or raises"
            source = self.assignment.plan.by_id[spec.pretrained.run_id]
            before = yield from self._before(source)
            self._keep(source, (yield from self._trained(source, before)))
            weights = self._kept(run)
        assert weights is not None, "what was just written can be read"
        return None if spec.inherits == "state" else weights

    def _kept(self, run: PlannedRun) -> Weights | None:
        """Return what a run starts from, as it is on disk; None if it is not there."""
        spec, study = run.spec, self.assignment.study
        if spec.weights is not None:
            return load_weights_file(Path(run.weights), spec.weights)
        source = spec.pretrained
        assert source is not None, "there is a run to start from"
        if spec.inherits == "state":
            return load_weights(study.weights(f"{source.run_id}.state"), source.run_id, "trainer")
        return load_weights(study.weights(source.run_id), source.run_id)

    def _keep(self, run: PlannedRun, trained: Trained) -> None:
        """Write what other runs take over, and what is asked to be kept."""
        study, launch = self.assignment.study, self.assignment.launch
        inherited = self.assignment.plan.inherited(run)
        if launch.keep == "weights" or inherited & {"body", "weights"}:
            save_weights(study.weights(run.run_id), run.run_id, trained.trainer.model)
        if "state" in inherited:
            end = Checkpoint(study.weights(f"{run.run_id}.state"), run.run_id, launch.engine)
            curves = trained.outcome.curves
            end.save(trained.trainer.state(), curves, len(curves["test_loss"]), steps_done=0)

    def _finish(self, run: PlannedRun, trained: Trained, seconds: float) -> None:
        """Journal a run, after its evaluations: with its row, nothing of it is left to do."""
        study, launch = self.assignment.study, self.assignment.launch
        if not self.holds(run.run_id):
            print(f"{run.run_id}: another worker took it over: it is not recorded", flush=True)
            self.journals.state.ends(run.run_id)
            return
        # Otherwise it was trained once more for its weights.
        new = self.assignment.recorded.runs.get(run.run_id) in (None, "failed")
        completed, scores = trained.outcome.status == "completed", ""
        if completed:
            self._keep(run, trained)
        if completed and new and launch.scores:
            scores = save_scores(scores_file(study.results, run.run_id), trained.trainer)
        if new:
            digest = self.assignment.function_digest(run)
            self.journals.append(record_of(run, trained, seconds, launch.engine, scores, digest))
        self.journals.state.ends(run.run_id)
        self._checkpoint(run).unlink(missing_ok=True)

    def _failed(self, run: PlannedRun, error: Exception, seconds: float, tried: Options) -> bool:
        """Tell whether the run is to be trained again, in a slower way; otherwise it is failed.

        Options are given up once for all runs that were tried together.
        """
        self._leave_if_broken(error)
        device = self.assignment.device
        if self.options != tried:
            return True
        engine = self.assignment.launch.engine
        recipe = run.spec.recipe
        slower = step_down(tried, error, recipe, device.type) if engine == "fast" else None
        if slower is None:
            backend, digest = (
                self._fitting(run, tried).backend,
                self.assignment.function_digest(run),
            )
            self.journals.append(failure_of(run, error, seconds, engine, backend, digest))
            return False
        self.options, given_up = slower
        reason = str(error).partition("\n")[0][:200]
        print(f"{run.run_id}: again with {given_up}: {reason}", flush=True)
        return True

    def _leave_if_broken(self, error: Exception) -> None:
        """End this worker where the disk is full, by raising it, or the GPU is lost.

        Neither is a failure of the run that met it.
        """
        if disk_is_full(error):
            raise error
        if device_is_lost(self.assignment.device, error):
            self.journals.state.end_without_gpu(classify(error), error)

    def _evaluated_from_weights(self, run: PlannedRun) -> bool:
        """Make the missing evaluations of `run` from its weights on disk; whether that was all."""
        if run.run_id not in self.assignment.recorded.runs:
            return False
        missing = self.assignment.recorded.missing_evaluations(run)
        asked = self.assignment.evaluations.get(run.dataset, {}).values()
        final = {one.evaluation_id for one in asked if one.moment.epoch is None}
        if not missing or set(missing) - final:  # no weights are kept of epochs before the last
            return False
        weights = load_weights(self.assignment.study.weights(run.run_id), run.run_id)
        if weights is None:
            return False
        try:
            network = new_network(run.spec, self.assignment.views[run.dataset])
            network.load_state_dict(weights)
            device, recipe = self.assignment.device, run.spec.recipe
            if self.assignment.launch.engine == "fast":
                network = arrange(network, recipe, device, self._fitting(run, self.options))
            else:
                arrange_as_defined(network, recipe)
            finish(self._evaluate(run, network.to(device)))
        except InterruptedRunError:
            raise
        except Exception as error:
            self._leave_if_broken(error)
            # No failure of the run, whose result stays; another launch tries again.
            reason = first_line(error)[:200]
            print(f"{run.run_id}: could not be evaluated further: {reason}", file=sys.stderr)
        return True

    def _evaluate(
        self,
        run: PlannedRun,
        network: torch.nn.Module,
        epochs: int | None = None,
        at_once: int = 1,
    ) -> Turns[None]:
        """Make the evaluations of the final weights, or those asked for after so many `epochs`.

        In turns with as many runs as train or are evaluated `at_once`. Of the final ones raises
        InterruptedRunError when told to stop, between two evaluations.
        """
        missing = self.assignment.recorded.missing_evaluations(run)
        for name, evaluation_set in self.assignment.evaluations.get(run.dataset, {}).items():
            moment = evaluation_set.moment
            if evaluation_set.evaluation_id in missing and moment.epoch == epochs:
                if epochs is None and self.stop():
                    raise InterruptedRunError(run.run_id)
                view, device = self.assignment.views[run.dataset], self.assignment.device
                between: AbstractContextManager[None] = nullcontext()
                if moment.share is not None:
                    between = interpolated(network, self._start_of(run), moment.share)
                with between:
                    row = yield from evaluation_of(
                        run, name, evaluation_set, network, view, device, at_once
                    )
                self.journals.append(row)

    def _start_of(self, run: PlannedRun) -> Weights:
        """All weights that a run began with. Raises UserError where they are not there any more."""
        taken = self._kept(run)
        if taken is None:
            raise UserError("the weights that it started from are not there any more")
        if run.spec.inherits == "state":
            return cast(Weights, taken["model"])
        return initial_network(run.spec, self.assignment.views[run.dataset], taken).state_dict()
