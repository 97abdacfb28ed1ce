"""A plan: which runs, in which order, and its parts."""

import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest
from scripted_study import PACKED
from tiny_study import TINY

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.dispatch.pack import units
from anynet_study.engine.planning.plan import Plan, make_plan
from anynet_study.engine.planning.settings import load_views
from anynet_study.engine.sweep import Sweep

#: Two recipes, one of which starts from the other's weights; two seeds for some.
MORE = """
recipes:
  tuned: {epochs: 1, batch_size: 16, crop: none, flip: false, pretrained: digits,
          datasets: [blobs, digits-2]}
  basic: {epochs: 1, batch_size: 16, crop: none, flip: false}
replicates: {count: 2, architectures: 3}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return planned(tmp_path_factory.mktemp("plan"), MORE)


def test_rows_come_complete_and_first_seeds_first(plan: Plan) -> None:
    rows = [plan[place : place + 5] for place in range(0, len(plan), 5)]
    for row in rows:
        assert len({(run.spec.architecture.id, run.replicate) for run in row}) == 1
        names = [(run.dataset, run.recipe) for run in row]
        assert names[:3] == [("digits", "basic"), ("digits-2", "basic"), ("blobs", "basic")]
        assert set(names[3:]) == {("blobs", "tuned"), ("digits-2", "tuned")}
    assert [row[0].replicate for row in rows] == [0] * 4 + [1] * 3
    first = [row[0].spec.architecture for row in rows]
    assert first == [*plan.population, *list(plan.population)[:3]]


def test_runs_start_from_those_of_their_row_and_seed(plan: Plan) -> None:
    ids = {run.run_id: run for run in plan}
    tuned = [run for run in plan if run.recipe == "tuned"]
    assert len(tuned) == 14
    for run in tuned:
        assert run.spec.pretrained is not None
        start = ids[run.spec.pretrained.run_id]
        assert (start.dataset, start.recipe) == ("digits", "basic")
        assert start.replicate == run.replicate
        assert start.spec.architecture == run.spec.architecture
    starting = {(run.dataset, run.recipe) for run in plan if plan.inherited(run)}
    assert starting == {("digits", "basic")}


def test_a_part_of_a_plan_is_a_plan(plan: Plan) -> None:
    part = plan.where(lambda run: run.recipe == "basic")[2:9]
    runs = [run for run in plan if run.recipe == "basic"][2:9]
    assert list(part) == runs
    assert part.ids() == [run.run_id for run in runs]
    assert part.by_id == {run.run_id: run for run in runs}
    assert list(part.find([plan[0].run_id, runs[1].run_id])) == [runs[1]]


# Recipes that start from others, have another stem or are for some architectures; aimed replicates.

CHAIN = """
recipes:
  basic: {epochs: 2, batch_size: 16, crop: none, flip: false}
  stem: {epochs: 2, batch_size: 16, crop: none, stem: simple, datasets: [blobs]}
  probe: {epochs: 1, batch_size: 16, pretrained: digits, trained: head, datasets: [blobs]}
  tuned: {epochs: 1, batch_size: 16, after: probe}
  longer: {epochs: 6, batch_size: 16, continues: basic, datasets: [blobs], architectures: [3, 1]}
replicates: {count: 5, architectures: [2, 0], datasets: [blobs], recipes: [tuned]}
"""


def planned(tmp_path: Path, recipes: str, beside: set[str] | None = None) -> Plan:
    path = tmp_path / "sweep.yaml"
    path.write_text(TINY.replace(TINY[TINY.index("recipes") :], recipes))
    sweep = Sweep.load(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", PACKED)
        population, views = sweep.population.population(), load_views(sweep)
        return make_plan(sweep, population, views, beside=beside)


def test_recipes_start_from_recipes(tmp_path: Path) -> None:
    plan = planned(tmp_path, CHAIN)
    found = Counter((run.recipe, run.replicate > 0) for run in plan)
    # Four more seeds of two architectures: of what is aimed at, and of what that starts from.
    more = {(name, True): 8 for name in ("basic", "probe", "tuned")}
    first = {("basic", False): 12, ("stem", False): 4, ("probe", False): 4, ("tuned", False): 4}
    assert found == {**first, **more, ("longer", False): 2}
    assert {run.place for run in plan if run.replicate} == {0, 2}
    for run in plan:
        assert run.run_id == run.spec.run_id
        assert run.architecture == plan.population[run.place].id
        stem = "simple" if run.recipe == "stem" else plan.population[run.place].stem
        assert run.spec.architecture == dataclasses.replace(plan.population[run.place], stem=stem)
        assert run.named()["architecture"] == run.architecture
    ids = plan.by_id
    starts = {
        (run.recipe, ids[run.spec.pretrained.run_id].recipe, run.spec.inherits)
        for run in plan
        if run.spec.pretrained
    }
    assert starts == {
        ("probe", "basic", "body"),
        ("tuned", "probe", "weights"),
        ("longer", "basic", "state"),
    }
    by_recipe = {run.recipe: plan.inherited(run) for run in plan if run.dataset == "blobs"}
    assert by_recipe == {
        **{"basic": {"state"}, "stem": set(), "probe": {"weights"}, "tuned": set()},
        "longer": set(),
    }
    chains = [[run.recipe for run in unit] for unit in units(plan)]
    assert ["basic", "probe", "tuned"] in chains
    assert ["basic", "longer"] in chains
    costs = {(run.recipe, run.place): run.seconds for run in plan if run.dataset == "blobs"}
    # Four of its six epochs are left to it, twice as many as the other's; runs also cost as such.
    assert 1.5 < costs["longer", 1] / costs["basic", 1] < 2


def test_a_plan_beside_runs_has_their_rows_as_the_whole_plan_has_them(tmp_path: Path) -> None:
    whole = planned(tmp_path, CHAIN)
    mine = [run for run in whole if run.recipe == "tuned" and (run.place, run.replicate) == (2, 3)]
    mine += [run for run in whole if run.recipe == "stem" and run.place == 1]
    rows = {(run.place, run.replicate) for run in mine}
    assert rows == {(2, 3), (1, 0)}
    expected = [run for run in whole if (run.place, run.replicate) in rows]
    assert list(planned(tmp_path, CHAIN, {run.run_id for run in mine})) == expected
    starts = {run.spec.pretrained.run_id for run in expected if run.spec.pretrained}
    assert starts <= {run.run_id for run in expected}


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("{after: basics}", "no recipe `basics` in this sweep; there are: basic, other"),
        ("{after: other}", "recipes.other: it starts from itself, by way of other"),
        ("{after: basic, pretrained: digits}", "pretrained and after: a run starts from one other"),
        ("{after: basic, stem: simple}", "recipes.other.stem: it must be that of basic"),
        ("{stem: simpl}", "unknown stem; legal: imagenet, "),
        ("{after: basic}", "recipes.other.architectures: basic trains only some of them"),
        ("{continues: basic, architectures: [0]}", "epochs: 2, of which basic has done 2 already"),
        (
            "{continues: basic, architectures: [0], epochs: 3, batch_size: 8}",
            "recipes.other.batch_size: 8, but it continues basic with 16",
        ),
        (
            "{continues: basic, architectures: [0], epochs: null, steps: 90}",
            "both must state epochs",
        ),
        ("{architectures: [4]}", "recipes.other.architectures: 4 is not in the population; legal"),
        ("{architectures: [zzz]}", "zzz is not in the population; legal are its ids, and the num"),
    ],
)
def test_what_cannot_start_or_is_not_there(tmp_path: Path, recipe: str, reason: str) -> None:
    basic = "{epochs: 2, batch_size: 16, crop: none, architectures: [0, 1]}"
    other = "{lr: 0.01, epochs: 2, batch_size: 16, crop: none, " + recipe[1:]
    other = other.replace("epochs: 2, ", "", "epochs" in recipe).replace(
        "batch_size: 16, ", "", "batch_size" in recipe
    )
    with pytest.raises(UserError, match=re.escape(reason)):
        planned(tmp_path, f"recipes:\n  basic: {basic}\n  other: {other}\n")


def test_captions_are_part_of_the_runs_that_learn_from_them(tmp_path: Path, monkeypatch) -> None:
    recipes = """recipes:
  labels: {epochs: 1, batch_size: 16, crop: none, flip: false, datasets: [digits]}
  said: {epochs: 1, batch_size: 16, crop: none, flip: false, datasets: [digits], loss: clip,
         texts: captions}
"""
    (tmp_path / "sweep.yaml").write_text(TINY[: TINY.index("recipes")] + recipes)
    sweep = Sweep.load(tmp_path / "sweep.yaml")
    monkeypatch.setenv("ANYNET_DATA", PACKED)
    population, views = sweep.population.population(), load_views(sweep)
    with pytest.raises(UserError, match="dataset digits: texts: captions: its training images ha"):
        make_plan(sweep, population, views)
    ids = []
    for word in ("one", "other"):
        monkeypatch.setattr(DatasetView, "captions", lambda _, word=word: [[word], []])
        plan = make_plan(sweep, population, views)
        ids.append({name: {r.run_id for r in plan if r.recipe == name} for name in sweep.recipes})
    assert ids[0]["labels"] == ids[1]["labels"]
    assert not ids[0]["said"] & ids[1]["said"]
