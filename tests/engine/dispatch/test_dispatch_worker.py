"""A worker's work: pretraining, further evaluations, what is kept, what is done again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from scripted_study import PACKED

from anynet_study.core.files import sha256_of
from anynet_study.engine.dispatch import worker as worker_module
from anynet_study.engine.dispatch.assignment import Assignment
from anynet_study.engine.dispatch.journalling import WorkerJournals, evaluation_of
from anynet_study.engine.dispatch.worker import Worker
from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.study_folder import StudyFolder, sample
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.training import Turns, Weights, load_weights
from anynet_study.engine.training.checkpoint import InterruptedRunError
from anynet_study.engine.training.options import Options
from anynet_study.store import (
    EvaluationRecord,
    JournalWriter,
    RunRecord,
    read_evaluations,
    read_journal,
    scores_file,
)

SWEEP = """
name: work
population:
  space: {base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}
  count: 1
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {per_class: 20}
  digits-2: {base: digits, classes: 2, per_class: 20}
  blobs: {per_class: 20}
recipes:
  scratch: {epochs: 1, batch_size: 16, crop: none, flip: false, datasets: [digits, blobs]}
  tuned: {steps: 3, batch_size: 16, crop: none, pretrained: digits, datasets: [digits-2]}
  probe:
    {steps: 3, batch_size: 16, crop: none, pretrained: digits, trained: head, datasets: [blobs]}
evaluations:
  mirrored: {transform: horizontal_flip}
  four: {classes: 4, datasets: [digits]}
"""
RUNS = [("digits", "scratch"), ("blobs", "scratch"), ("digits-2", "tuned"), ("blobs", "probe")]


class Place:
    """A study, worked at in this process."""

    def __init__(self, folder: Path) -> None:
        self.study = StudyFolder(folder)
        self.begin(yaml.safe_load(SWEEP))

    def begin(self, content: dict[str, object]) -> None:
        self.sweep = Sweep.model_validate(content)
        self.study.begin(self.sweep, sample(self.sweep.population))

    def work(self, steps: int | None = None, stop: Callable[[], bool] | None = None) -> None:
        """Do what is missing; `steps`: be told to stop after so many, or else by `stop`."""
        given = Assignment.of(self.study, self.sweep, torch.device("cpu"))
        done = 0

        def counted() -> bool:
            nonlocal done
            done += 1
            return done == steps

        with WorkerJournals(self.study) as journals:
            worker = Worker(given, Options(at_once=1), journals, stop or counted)
            for run in given.recorded.todo(given.plan):
                worker.train([run])

    def rows(self) -> list[RunRecord]:
        paths = sorted(self.study.journals.glob("*[0-9].arrow"))
        return [row for path in paths for row in read_journal(path).records]

    def evaluations(self) -> list[EvaluationRecord]:
        paths = sorted(self.study.journals.glob("*.evaluations.arrow"))
        return [row for path in paths for row in read_evaluations(path).records]

    def weights(self, row: RunRecord) -> Weights | None:
        return load_weights(self.study.weights(row.run_id), row.run_id)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("ANYNET_DATA", PACKED)
    torch.set_num_threads(1)
    return Place(tmp_path / "study")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A study that was done in one go."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", PACKED)
        place = Place(tmp_path_factory.mktemp("undisturbed"))
        place.work()
    return place


@pytest.mark.slow
def test_runs_that_start_from_others_come_after_them_and_from_their_weights(place: Place) -> None:
    place.sweep = place.sweep.model_copy(
        update={"launch": place.sweep.launch.model_copy(update={"keep": "weights"})}
    )
    place.work()
    rows = place.rows()
    assert [(row.dataset, row.recipe) for row in rows] == RUNS
    assert [row.status for row in rows] == ["completed"] * 4
    digits, _, tuned, probe = (place.weights(row) or {} for row in rows)
    body = [name for name in digits if not name.startswith("head.")]
    assert all(torch.equal(probe[name], digits[name]) for name in body)
    assert not any(torch.equal(tuned[name], digits[name]) for name in body if "0.0.weight" in name)
    assert len(rows[2].curves["test_top1"]) == 2  # 3 steps: an epoch of 2, and half of one


@pytest.mark.slow
def test_a_missing_start_is_trained_again_and_gives_the_same(
    place: Place, undisturbed: Place
) -> None:
    """The runs from scratch are recorded; the weights that others start from are damaged."""
    place.begin(yaml.safe_load(SWEEP) | {"evaluations": {}})
    before = {(row.dataset, row.recipe): row for row in undisturbed.rows()}
    with JournalWriter(place.study.new_journal()) as journal:
        for name in RUNS[:2]:
            journal.append(before[name])
    kept = place.study.weights(before["digits", "scratch"].run_id)
    kept.parent.mkdir()
    kept.write_bytes(b"damaged")
    place.work()
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]  # others are not wanted
    after = {(row.dataset, row.recipe): row for row in place.rows()}
    assert set(after) == set(RUNS)
    for name, row in after.items():
        assert np.array_equal(row.predictions, before[name].predictions)


@pytest.mark.slow
def test_evaluations_are_rows_of_the_runs_they_make_sense_for(place: Place) -> None:
    place.work()
    runs = {row.run_id: row for row in place.rows()}
    rows = place.evaluations()
    found = sorted((runs[row.run_id].dataset, row.evaluation) for row in rows)
    mirrored = [(dataset, "mirrored") for dataset, _ in RUNS]
    assert found == sorted([*mirrored, ("digits", "four")])
    (four,) = [row for row in rows if row.evaluation == "four"]
    (whole,) = [row for row in runs.values() if (row.dataset, row.recipe) == RUNS[0]]
    assert four.images < len(whole.predictions)
    assert len(set(four.predictions.tolist())) <= 4
    place.work()  # nothing is left to do
    assert len(place.evaluations()) == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["nothing", "weights"])
def test_an_evaluation_added_later_needs_the_weights(
    place: Place, undisturbed: Place, keep: str, capsys: pytest.CaptureFixture[str]
) -> None:
    launch = {"keep": keep, "scores": keep == "weights"}
    content = yaml.safe_load(SWEEP) | {"launch": launch, "evaluations": {}}
    place.begin(content)
    place.work()
    for row in place.rows() if launch["scores"] else ():
        scores = np.load(scores_file(place.study.results, row.run_id))
        assert sha256_of(scores_file(place.study.results, row.run_id)) == row.scores
        assert (scores.argmax(axis=1) == row.predictions).all()
    before = [row.run_id for row in place.rows()]
    assert place.evaluations() == []
    capsys.readouterr()
    place.begin(content | {"evaluations": {"mirrored": {"transform": "horizontal_flip"}}})
    place.work()
    trained = capsys.readouterr().out.count(" begins\n")
    assert trained == (0 if keep == "weights" else 3)  # that of digits was kept for the others
    assert [row.run_id for row in place.rows()] == before  # the results stay as they are
    assert {row.run_id for row in place.evaluations()} == set(before)
    losses = [
        {row.run_id: row.loss for row in there.evaluations() if row.evaluation == "mirrored"}
        for there in (place, undisturbed)
    ]
    assert losses[0] == losses[1]


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 12])
def test_told_to_stop_it_saves_and_goes_on_as_if_nothing_was(
    place: Place, undisturbed: Place, steps: int
) -> None:
    with pytest.raises(InterruptedRunError):
        place.work(steps)
    assert len(list(place.study.checkpoints.glob("*.pt"))) == 1
    place.work()
    assert list(place.study.checkpoints.iterdir()) == []
    for row, other in zip(place.rows(), undisturbed.rows(), strict=True):
        assert row.run_id == other.run_id
        assert np.array_equal(row.predictions, other.predictions)
        assert row.error == other.error
    pairs = zip(place.evaluations(), undisturbed.evaluations(), strict=True)
    assert all((a.loss, a.top1) == (b.loss, b.top1) for a, b in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 4])
def test_told_to_stop_while_it_evaluates_it_leaves_and_evaluates_the_rest(
    place: Place, undisturbed: Place, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other runs of a GPU wait meanwhile, and are to be saved in time."""
    asked = 0

    def evaluated(*given: object) -> Turns[EvaluationRecord]:
        nonlocal asked
        asked += 1
        return evaluation_of(*given)  # type: ignore[arg-type]

    steps = 0

    def stop() -> bool:
        nonlocal steps
        steps += 1
        return asked == at and steps > 12  # once the first run is trained

    with monkeypatch.context() as patch:
        patch.setattr(worker_module, "evaluation_of", evaluated)
        with pytest.raises(InterruptedRunError):
            place.work(stop=stop)
    before = [(row.run_id, row.evaluation) for row in place.evaluations()]
    assert len(before) == at
    assert len(list(place.study.checkpoints.glob("*.pt"))) == 1
    place.work()
    rows = [(row.run_id, row.evaluation) for row in place.evaluations()]
    assert len(rows) == len(set(rows)) == 5
    assert rows[:at] == before
    for row, other in zip(place.rows(), undisturbed.rows(), strict=True):
        assert (row.run_id, row.error, row.curves["test_loss"].tolist()) == (
            other.run_id,
            other.error,
            other.curves["test_loss"].tolist(),
        )


@pytest.mark.slow
def test_an_evaluation_that_fails_later_leaves_the_result_and_the_worker(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = yaml.safe_load(SWEEP) | {"launch": {"keep": "weights"}, "evaluations": {}}
    place.begin(content)
    place.work()
    before = [row.run_id for row in place.rows()]
    place.begin(content | {"evaluations": {"upside-down": {"transform": "vertical_flip"}}})

    def broken(*_: object) -> EvaluationRecord:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(worker_module, "evaluation_of", broken)
        place.work()
    told = capsys.readouterr()
    assert told.err.count(": could not be evaluated further: no room") == len(RUNS)
    assert [row.run_id for row in place.rows()] == before
    place.work()
    assert len(place.evaluations()) == len(RUNS)


def test_a_worker_plans_its_own_runs_and_those_beside_them(place: Place) -> None:
    place.begin({**yaml.safe_load(SWEEP), "replicates": {"count": 2}})
    study = place.study, place.sweep, torch.device("cpu")
    whole = Assignment.of(*study).plan
    mine = next(run for run in whole if run.replicate and run.recipe == "probe")
    plan = Assignment.of(*study, run_ids={mine.run_id}).plan
    assert list(plan) == [run for run in whole if run.replicate]
    assert mine.spec.pretrained is not None
    assert mine.spec.pretrained.run_id in plan.by_id


def test_runs_trained_together_are_evaluated_together(
    place: Place, undisturbed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU; each gives what it gives alone."""
    order: list[str] = []

    def evaluated(run: PlannedRun, *given: object) -> Turns[EvaluationRecord]:
        order.append(run.run_id)
        record = yield from evaluation_of(run, *given)  # type: ignore[arg-type]
        order.append(run.run_id)
        return record

    monkeypatch.setattr(worker_module, "evaluation_of", evaluated)
    content = yaml.safe_load(SWEEP)
    content["population"]["count"] = 2
    content["recipes"] = {"scratch": content["recipes"]["scratch"] | {"datasets": ["blobs"]}}
    content["evaluations"].pop("four")
    place.begin(content)
    given = Assignment.of(place.study, place.sweep, torch.device("cpu"))
    with WorkerJournals(place.study) as journals:
        Worker(given, Options(at_once=2), journals).train(given.plan)
    first, second = (row.run_id for row in place.rows())
    assert order == [first, second, first, second]
    alone = {(row.run_id, row.loss) for row in undisturbed.evaluations()}
    assert len(alone & {(row.run_id, row.loss) for row in place.evaluations()}) == 1
