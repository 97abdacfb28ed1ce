"""Tuning: what is tried, which trials go on, how one is chosen, and what is refused."""

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from command import SWEEPS, in_this_process, run_script, train
from items import answer
from miniatures import TOY, write_miniature
from miniatures_transfer import cassava, eurosat
from scripted_study import PACKED
from tiny_study import Type

from anynet_study import ResultStore
from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine import stages
from anynet_study.engine.dispatch.assignment import Assignment
from anynet_study.engine.dispatch.journalling import WorkerJournals
from anynet_study.engine.dispatch.opened import OpenStudy, open_sweep
from anynet_study.engine.dispatch.recorded import Recorded
from anynet_study.engine.dispatch.tuning import check_tuning
from anynet_study.engine.dispatch.worker import Worker
from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.sweep import Sweep, Tuning
from anynet_study.engine.training import Options
from anynet_study.engine.training.checkpoint import InterruptedRunError
from anynet_study.store import verify_journals

BASIC = "epochs: 4, batch_size: 32, crop: none, flip: false, warmup_epochs: 2"
SWEEP = f"""
name: tune
population:
  space: {{base: anynetx, depths: [1, 1], widths: [8, 16], stem: cifar, stem_width: 8}}
  count: 2
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {{per_class: 20, validation: 1/4}}
  blobs: {{per_class: 20}}
recipes:
  tuned:
    {BASIC.replace(", ", chr(10) + "    ")}
    datasets: [digits]
    tuning:
      space: {{lr: "loguniform(0.001, 1)", weight_decay: [0.00001, 0.001]}}
      trials: 5
      scheduler: asha
      reduction: 2
      on: validation
"""
RANDOM = {"scheduler": "random", "trials": 3}
FOUR = {"trials": 4}


def sweep_of(tuning: dict[str, Any] | None = None, **recipe: Any) -> Sweep:
    """The sweep with other keys of its tuning and of its recipe."""
    content = yaml.safe_load(SWEEP.replace("on: validation", "seed: 0"))
    content["recipes"]["tuned"] |= recipe
    content["recipes"]["tuned"]["tuning"] |= tuning or {}
    return Sweep.model_validate(content)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the built-in datasets packed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", PACKED)
    torch.set_num_threads(1)
    return tmp_path


# What is tried.


def test_draws_are_the_same_for_ever_and_more_trials_begin_with_the_same() -> None:
    space = {"lr": "loguniform(0.01, 1)", "momentum": "uniform(0.8, 0.9)", "batch_size": [16, 32]}
    drawn = Tuning(space=space, trials=40).settings
    assert drawn[:2] == [
        {"lr": 0.5027, "momentum": 0.8011, "batch_size": 32},
        {"lr": 0.04249, "momentum": 0.8881, "batch_size": 16},
    ]
    assert Tuning(space=space, trials=7).settings == drawn[:7]
    assert Tuning(space=space, trials=7, seed=1).settings != drawn[:7]
    rates = np.array([settings["lr"] for settings in drawn])
    assert 0.01 <= rates.min() < 0.02
    assert 0.5 < rates.max() <= 1
    assert 0.3 < np.mean(rates < 0.1) < 0.7, "even in logarithms"
    assert {settings["batch_size"] for settings in drawn} == {16, 32}


def test_a_grid_has_all_of_its_parts_and_draws_of_few_settings_never_repeat() -> None:
    parts = [
        {"optimizer": ["sgd"], "lr": [0.1, 0.01]},
        {"optimizer": ["adamw"], "lr": [0.001]},
    ]
    grid = Tuning(space=parts, scheduler="grid")
    assert [tuple(settings.values()) for settings in grid.settings] == [
        ("sgd", 0.1),
        ("sgd", 0.01),
        ("adamw", 0.001),
    ]
    drawn = Tuning(space=parts, trials=3).settings
    assert sorted(map(str, drawn)) == sorted(map(str, grid.settings))


def test_rungs_are_the_recipe_shortened(here: Path) -> None:
    trials = sweep_of().trials
    lengths = {it.rung: (it.spec.epochs, it.spec.warmup_epochs) for it in trials.values()}
    assert lengths == {0: (1, 0.5), 1: (2, 1), 2: (4, 2)}
    assert next(iter(trials.values())).tuning.counts == [5, 2, 1]
    label = {"digits": {"epochs": 8}}
    longer = sweep_of(overrides=label).trials["tuned/3.1"].spec
    assert longer.for_dataset("digits").epochs == 4


LEGAL = "a list of values, uniform(LOW, HIGH), loguniform(LOW, HIGH)"
DRAWN = {"scheduler": "random"}
SHORT = {"epochs": 2, "warmup_epochs": 0}


@pytest.mark.parametrize(
    ("tuning", "recipe", "told"),
    [
        ({"space": {"lrr": [1]}}, {}, "unknown key `space.lrr` (did you mean 'lr'?)"),
        ({"space": {"lr": "loguniform(1, 0.1)"}}, {}, "is empty: the lower end comes first"),
        ({"space": {"lr": "normal(0, 1)"}}, {}, LEGAL),
        ({"space": {"lr": []}}, {}, "space.lr is empty"),
        ({"space": {}}, {}, "space: it has no key"),
        ({"space": {"optimizer": "uniform(0, 1)"}}, {}, "optimizer is not a number"),
        ({"space": {"metric": ["top1"]}}, {}, "errors on several metrics cannot be compared"),
        ({"space": {"lr": [-1.0]}, **DRAWN, "trials": 1}, {}, "tuning: trial 0 (lr -1.0): `lr`"),
        ({"space": {"epochs": [1, 2]}}, {}, "with halving, rungs have their own lengths"),
        ({"trials": None}, {}, "how many settings are tried must be said"),
        ({"trials": 1}, {}, "too few to keep one of 2 of them"),
        ({"space": {"lr": [1, 2]}, **DRAWN}, {}, "trials: 5, but the space has 2 settings"),
        ({"scheduler": "grid"}, {}, "a grid needs lists of values"),
        ({"space": {"lr": [1, 2]}, "scheduler": "grid"}, {}, "but the grid has 2: leave it out"),
        ({}, {"overrides": {"digits": {"lr": 1}}}, "overrides.digits.lr: tuning has it in its"),
        ({}, {"overrides": {"digits": SHORT}}, "overrides.digits.epochs: 2 are too few"),
        ({}, SHORT, "epochs: 2 are too few: the rungs would have"),
        ({}, {"datasets": ["blobs"]}, "there are no validation images of blobs; state the"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    tmp_path: Path, tuning: dict[str, Any], recipe: dict[str, Any], told: str
) -> None:
    content = yaml.safe_load(SWEEP.replace("on: validation", "seed: 0"))
    content["recipes"]["tuned"] |= recipe
    content["recipes"]["tuned"]["tuning"] |= tuning
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(UserError) as raised:
        Sweep.load(tmp_path / "sweep.yaml")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("  more: {after: tuned}\n", "it cannot start from tuned, which is tuned"),
        (
            "  more: {after: tuned, tuning: {space: {lr: [1, 2]}, scheduler: grid}}\n",
            "it cannot start from tuned, which is tuned",
        ),
        (
            "evaluations: {validation: {transform: blur}}\n",
            "evaluations.validation: tuning compares trials by the evaluation of this name",
        ),
    ],
)
def test_other_keys_that_do_not_go_with_tuning(tmp_path: Path, other: str, told: str) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP + other)
    with pytest.raises(UserError, match=told):
        Sweep.load(tmp_path / "sweep.yaml")


def test_a_sweep_that_tunes_is_written_and_read_again(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    sweep = Sweep.load(tmp_path / "sweep.yaml")
    assert sweep.recipes["tuned"].tuning.scheduler == "halving"
    (tmp_path / "again.yaml").write_text(sweep.to_yaml())
    assert Sweep.load(tmp_path / "again.yaml") == sweep


# Which runs follow.


def opened(sweep: Sweep, errors: Callable[[PlannedRun], float | None]) -> OpenStudy:
    """A study of which runs have such validation errors (infinite: diverged; None: not ended)."""
    study = open_sweep(sweep)
    for _ in sweep.recipes["tuned"].tuning.counts:
        study = study.planned_by(recorded(study, errors))
    return study


def recorded(study: OpenStudy, errors: Callable[[PlannedRun], float | None]) -> Recorded:
    """Records of the planned runs with such validation errors, as of `opened`."""
    known = [(run, errors(run)) for run in study.plan]
    ended = [(run, error) for run, error in known if error is not None]
    runs = {run.run_id: "completed" if e < np.inf else "diverged" for run, e in ended}
    pairs = {(run.run_id, run.evaluations[0]): e for run, e in ended if e < np.inf}
    return Recorded(runs, pairs)


def planned(study: OpenStudy, place: int) -> dict[int, set[int]]:
    """By rung: the trials of an architecture."""
    found: dict[int, set[int]] = {}
    for run in study.plan:
        if run.place == place and not run.replicate:
            found.setdefault(run.trial.rung, set()).add(run.trial.number)
    return found


def test_the_best_half_goes_on_and_the_best_of_all_is_chosen(here: Path) -> None:
    worst_first = opened(sweep_of(), lambda run: 50.0 - run.trial.number)
    assert planned(worst_first, 0) == {0: {0, 1, 2, 3, 4}, 1: {3, 4}, 2: {4}}
    assert {run.recipe for run in worst_first.plan.find(worst_first.plan.chosen)} == {"tuned/4.2"}
    assert worst_first.plan.awaited == 0
    alike = opened(sweep_of(), lambda run: 50.0)
    assert planned(alike, 0) == {0: {0, 1, 2, 3, 4}, 1: {0, 1}, 2: {0}}, "ties: the first"
    diverged = opened(sweep_of(), lambda run: 99.0 if run.trial.number == 3 else np.inf)
    assert planned(diverged, 0)[2] == {3}


def test_a_rung_waits_for_all_trials_of_its_architecture_alone(here: Path) -> None:
    def all_but_one(run: PlannedRun) -> float | None:
        missing = run.place == 1 and run.trial.number == 2
        return None if missing else float(run.trial.number)

    study = opened(sweep_of(), all_but_one)
    assert planned(study, 0) == {0: {0, 1, 2, 3, 4}, 1: {0, 1}, 2: {0}}
    assert planned(study, 1) == {0: {0, 1, 2, 3, 4}}
    assert study.plan.awaited == 3
    assert {run.place for run in study.plan.find(study.plan.chosen)} == {0}


def test_replicates_are_of_the_chosen_setting_only(here: Path) -> None:
    three = {**yaml.safe_load(SWEEP), "replicates": {"count": 3, "recipes": ["tuned"]}}
    del three["recipes"]["tuned"]["tuning"][True]  # `on`, as plain YAML reads it
    study = opened(Sweep.model_validate(three), lambda run: float(run.trial.number))
    again = [run for run in study.plan if run.replicate]
    assert {(run.recipe, run.replicate) for run in again} == {("tuned/0.2", 1), ("tuned/0.2", 2)}
    assert len(study.plan) == 2 * (5 + 2 + 1 + 2)
    assert len(study.plan.chosen) == 2 * 3


# What may change.


def begun(errors: Callable[[PlannedRun], float | None]) -> tuple[OpenStudy, Recorded]:
    """A study that has begun, by three draws, with such validation errors."""
    study = open_sweep(sweep_of(RANDOM))
    study.begin()
    return study, recorded(study, errors)


WIDER = {**RANDOM, "space": {"lr": "loguniform(0.0001, 1)", "weight_decay": [1e-5, 1e-3, 0]}}


def test_a_tuning_that_has_begun_stays_what_it_is(here: Path) -> None:
    study, known = begun(lambda run: 50.0)
    for other in (WIDER, {**RANDOM, "trials": 4}, {**RANDOM, "seed": 1}):
        with pytest.raises(UserError, match="6 runs of it recorded: it stays as it was"):
            check_tuning(study.folder, sweep_of(other), known)
    check_tuning(study.folder, sweep_of(RANDOM), known)
    check_tuning(study.folder, sweep_of(WIDER), Recorded({}, {}))


def test_it_is_widened_only_where_a_model_trains_at_none_of_its_settings(here: Path) -> None:
    study, known = begun(lambda run: 90.0 if run.place else 50.0)  # of ten classes
    check_tuning(study.folder, sweep_of(WIDER), known)
    check_tuning(study.folder, sweep_of({**RANDOM, "trials": 4}), known)
    narrower = {**RANDOM, "space": {"lr": "loguniform(0.01, 1)", "weight_decay": [1e-5, 1e-3]}}
    with pytest.raises(UserError, match="trains at none of its settings on digits: it may be wid"):
        check_tuning(study.folder, sweep_of(narrower), known)
    study, known = begun(lambda run: 90.0 if run.trial.number else None)
    with pytest.raises(UserError, match="it stays as it was"):
        check_tuning(study.folder, sweep_of(WIDER), known)


# A study from its first run to its store.


def work(study: OpenStudy, steps: int | None = None) -> OpenStudy:
    """Train here what is missing, and what follows; `steps`: be told to stop after so many."""
    done = count(1)
    while True:
        given = Assignment.of(study.folder, study.sweep, torch.device("cpu"))
        with WorkerJournals(study.folder) as journals:
            worker = Worker(given, Options(at_once=1), journals, lambda: next(done) == steps)
            for run in given.recorded.todo(given.plan):
                worker.train([run])
        grown = study.planned_by(Recorded.read(study.folder.journals))
        if grown.plan.ids() == study.plan.ids():
            return grown
        study = grown


def alone(name: str, tuning: dict[str, Any]) -> OpenStudy:
    """A study of one architecture that has begun."""
    sweep = sweep_of(tuning)
    one = sweep.population.model_copy(update={"count": 1})
    study = open_sweep(sweep.model_copy(update={"name": name, "population": one}))
    study.begin()
    return study


def trained(name: str, tuning: dict[str, Any]) -> ResultStore:
    """The store of a study that was trained here."""
    study = alone(name, tuning)
    stages.collect_study(work(study))
    return ResultStore(study.folder.results)


def settled(store: ResultStore) -> Any:
    """The trials, without what differs from one time to the next."""
    return store.trials().drop(columns="seconds")


@pytest.mark.slow
def test_halving_goes_on_after_a_kill_as_if_there_had_been_none(here: Path) -> None:
    whole = trained("whole", FOUR)
    trials = whole.trials()
    for rung, count_ in enumerate((4, 2, 1)):
        rows = trials[trials["rung"] == rung].sort_values(["validation_error", "trial"])
        assert len(rows) == count_
        went_on = set(trials.loc[trials["rung"] == rung + 1, "trial"])
        assert went_on == set(rows["trial"].head(len(went_on)))
    assert whole.errors()["digits"].to_list() == trials.loc[trials["chosen"], "error"].to_list()
    assert list(trials.loc[trials["chosen"], "rung"]) == [2]
    assert whole.recipes == ["tuned"]
    assert verify_journals(Path("studies/whole/journals"), whole.path) == []
    with pytest.raises(UserError, match="tuned by halving"):
        whole.errors(best=2)

    study = alone("killed", FOUR)
    for steps in (20, 20):
        with pytest.raises(InterruptedRunError):
            work(study, steps)
    stages.collect_study(work(study))
    killed = ResultStore(study.folder.results)
    assert settled(killed).equals(settled(whole))


@pytest.mark.slow
def test_the_choice_does_not_see_test_labels(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = trained("honest", RANDOM)
    part = DatasetView.part

    def corrupted(view: DatasetView, of: str) -> Any:
        split, index, labels = part(view, of)
        return split, index, (labels + 1) % 10 if of == "test" else labels

    monkeypatch.setattr(DatasetView, "part", corrupted)
    blind = trained("blind", RANDOM)
    columns = ["run_id", "trial", "validation_error", "chosen"]
    assert blind.trials()[columns].equals(honest.trials()[columns])
    assert not blind.errors().equals(honest.errors())
    best = honest.trials().sort_values(["validation_error", "trial"], kind="stable")
    best = best.drop_duplicates("architecture").set_index("architecture")["error"]
    assert honest.errors()["digits"].to_dict() == best.to_dict()
    assert honest.errors(best=3).equals(honest.errors())
    first = honest.trials().query("trial == 0").set_index("architecture")["error"]
    assert honest.errors(best=1)["digits"].to_dict() == first.to_dict()
    with pytest.raises(UserError, match="legal: 1 to 3"):
        honest.errors(best=4)


# The command line.


def test_looking_at_a_study_that_tunes_needs_no_data(
    type_: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", PACKED)
    (tmp_path / "t.yaml").write_text(SWEEP + "evaluations: {own: {test_set: digits}}\n")
    open_sweep(Path("t.yaml")).begin()
    monkeypatch.setenv("ANYNET_DATA", "elsewhere")
    for command in ("status", "collect"):
        assert type_(command, "tune").code == 0
    assert not Path("elsewhere").exists()


@pytest.mark.slow
def test_from_price_to_report(type_: Type, tmp_path: Path) -> None:
    everywhere = SWEEP.replace("datasets: [digits]", "").replace(
        "blobs: {per_class: 20}", "blobs: {per_class: 20, validation: 1/4}"
    )
    (tmp_path / "t.yaml").write_text(everywhere.replace("count: 2", "count: 4"))
    priced = type_("run", "t.yaml", "--dry-run").out
    assert "64 runs" in priced
    assert "tuned: 5 + 2 + 1 runs of each architecture on each dataset (halving)" in priced
    assert type_("run", "t.yaml").code == 0
    assert "all 64 runs are recorded" in type_("run", "t.yaml").out
    asked = "select count(*) as n, sum(chosen::int) as chosen from trials group by dataset"
    assert type_("query", "tune", "--sql", asked, "--json").out.count('"n": 32') == 2
    report = (tmp_path / "studies/tune/report/report.html").read_text()
    assert "was tuned for each architecture on each dataset with the same 5 + 2 + 1 runs" in report
    refused = type_("run", "t.yaml", "recipes.tuned.tuning.trials=6")
    assert refused.code == 2
    assert "64 runs of it recorded: it stays as it was" in refused.line


# The experiments of papers 3 and 4.

OTHERS = {"cassava": cassava, "eurosat": eurosat}
SMALL = ["batch_size=16", "warmup_epochs=0", "resolution=16"]
#: Of each file: runs, and what makes its miniature: sizes, datasets, and how often it is launched.
EXPERIMENTS = {
    "paper3": (
        "7,999",
        "cassava eurosat imagenet",
        1,
        "--recipe grid",
        [
            "datasets={imagenet: {}, cassava: {validation: 0.25}, eurosat: {validation: 0.25}}",
            *(f"recipes.basic.{key}" for key in ("epochs=1", *SMALL)),
            *(f"recipes.grid.{key}" for key in ("epochs=1", "datasets=[cassava, eurosat]", *SMALL)),
            "recipes.grid.overrides={}",
            "recipes.grid.tuning.space=[{optimizer: [sgd], nesterov: [true], lr: [0.1, 0.01]}, "
            "{optimizer: [adamw], lr: [0.01]}]",
        ],
    ),
    "paper4": (
        "1,240",
        "cifar10 cifar100",
        2,
        "",
        [
            "datasets.cifar10.validation=0.25",
            "datasets.cifar100.validation=0.25",
            *(f"recipes.tuned.{key}" for key in ("epochs=4", "restart_epochs=2", *SMALL)),
            "recipes.tuned.tuning.trials=2",
            "recipes.tuned.tuning.reduction=2",
            "recipes.tuned.tuning.space.warmup_epochs=[0.2, 0.4]",
        ],
    ),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_price_before_its_data_is_there(tmp_path: Path, name: str) -> None:
    path = SWEEPS / "tuning" / f"{name}.yaml"
    shown = in_this_process(tmp_path, "launch", path, "--dry-run").stdout
    (price,) = re.findall(r"^([\d,]+ runs, .*) of one V100 GPU$", shown, re.M)
    assert price.startswith(f"{EXPERIMENTS[name][0]} runs, ")
    row = next(r for r in (SWEEPS / "README.md").read_text().splitlines() if path.name in r)
    assert price in row
    assert price.partition(", ")[2].split()[0] in path.read_text().partition("name:")[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs_in_miniature_and_gives_its_table(
    tmp_path: Path,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, datasets, launches, options, overrides = EXPERIMENTS[name]
    for base in datasets.split():
        source = tmp_path / "downloads" / base
        if base in OTHERS:
            source.mkdir(parents=True)
            OTHERS[base](source, np.random.default_rng(0))
        else:
            write_miniature(base, source.parent, classes=None if base == "cifar10" else 12)
        shares = ["--test-share", 0.25] if base in OTHERS else []
        in_this_process(tmp_path, "data", "add", base, "--from", source, "--size", 16, *shares)
    for _ in range(launches):
        train(tmp_path, SWEEPS / "tuning" / f"{name}.yaml", *TOY, *overrides)
    store = ResultStore(tmp_path / "studies" / name / "results.h5")
    assert set(store.runs()["status"]) == {"completed"}
    tuned = store.trials()
    assert (tuned.groupby(["architecture", "dataset"])["chosen"].sum() == 1).all()
    assert tuned["architecture"].nunique() == 4
    if name == "paper3":  # of a smaller budget, but for the source, which nothing was tuned on
        fewer = store.errors(best=2)
        assert fewer.notna().all(axis=None)
        assert fewer["imagenet"].equals(store.errors()["imagenet"])
    answer(tmp_path, name, monkeypatch)
    code = run_script("tuning", str(tmp_path / "studies" / name), *options.split())
    shown = capsys.readouterr()
    assert code == 0, shown.err
    assert "the budget spent and the settings chosen" in shown.out
    assert "Correlations of the tuned errors" in shown.out
