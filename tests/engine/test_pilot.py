"""A pilot tries settings on validation images and says which to take."""

import math

import pandas as pd
import pytest
import yaml
from command import SWEEPS
from tiny_study import TINY, Type

from anynet_study import Sweep
from anynet_study.cli.pilot import at_an_edge, best_settings, recipe_text, settings_tried
from anynet_study.core.errors import UserError
from anynet_study.core.metrics import shown_below
from anynet_study.engine.sweep import parse_yaml, pilot_of

STUDY = parse_yaml(TINY)


def trials(errors: dict[tuple[float, int], list[float]]) -> pd.DataFrame:
    """Validation errors of architectures by rate and epochs; NaN: the run diverged."""
    rows = [
        ("a", f"{number}", rate, epochs, error, not math.isnan(error) and error < 50, 1.0 * epochs)
        for (rate, epochs), column in errors.items()
        for number, error in enumerate(column)
    ]
    columns = ["dataset", "architecture", "lr", "epochs", "validation_error", "trains", "seconds"]
    return pd.DataFrame(rows, columns=columns)


def test_a_pilot_is_a_small_grid_of_the_first_recipe() -> None:
    content = {**STUDY, "replicates": {"count": 2}}
    content["recipes"] = {
        "basic": STUDY["recipes"]["basic"] | {"lr": 0.2, "overrides": {"blobs": {"lr": 0.1}}},
        "other": {"epochs": 1},
    }
    pilot = pilot_of(Sweep.model_validate(content), 3)
    (recipe,) = pilot.recipes.values()
    assert recipe.tuning is not None
    assert recipe.tuning.space == {"lr": [0.05, 0.2, 0.8], "epochs": [1, 3]}
    assert (pilot.name, pilot.population.count, pilot.replicates.count) == ("tiny-pilot", 3, 1)
    assert {spec.validation for spec in pilot.datasets.values()} == {0.1}
    assert list(pilot.evaluations) == ["validation"]
    (other,) = pilot_of(Sweep.model_validate(content), 3, [0.1], [2, 4]).recipes.values()
    assert other.tuning is not None
    assert other.tuning.space == {"lr": [0.1], "epochs": [2, 4]}


def test_another_recipe_can_be_tried() -> None:
    recipes = {"basic": STUDY["recipes"]["basic"], "longer": {"steps": 40, "lr": 0.4}}
    sweep = Sweep.model_validate({**STUDY, "recipes": recipes})
    (recipe,) = pilot_of(sweep, 3, recipe_name="longer").recipes.values()
    assert recipe.tuning is not None
    assert recipe.tuning.space == {"lr": [0.1, 0.4, 1.6], "steps": [40, 120]}
    with pytest.raises(UserError, match=r"tiny has no recipe 'longr'.*longer"):
        pilot_of(sweep, 3, recipe_name="longr")


def test_a_recipe_that_is_tuned_is_refused() -> None:
    tuning = {"space": {"lr": [0.1, 0.2]}, "scheduler": "grid"}
    content = STUDY | {"recipes": {"basic": {"epochs": 1, "tuning": tuning}}}
    content["datasets"] = {name: {"validation": 0.2} for name in ("digits", "blobs")}
    with pytest.raises(UserError, match="a pilot is of a recipe from scratch that is not tuned"):
        pilot_of(Sweep.model_validate(content), 3)


@pytest.mark.parametrize(
    ("longer", "expected"),
    [
        ([10.0, 20.0, 30.0], 3),  # 5 points better on every architecture
        ([17.0, 24.0, 31.0], 1),  # 1 better, with a standard error of 1.2: not shown to be
    ],
)
def test_the_shortest_within_one_standard_error_is_taken(
    longer: list[float], expected: int
) -> None:
    tried = trials({(0.1, 1): [15.0, 25.0, 35.0], (0.1, 3): longer, (0.4, 3): [math.nan, 90, 90]})
    table = settings_tried(tried, "epochs")
    assert best_settings(table, "epochs") == {"a": {"lr": 0.1, "epochs": expected}}
    assert list(table["trains"]) == [3, 3, 0]
    assert table["error"].iloc[-1] == pytest.approx((100 + 90 + 90) / 3)


def test_what_all_architectures_learn_by_comes_first() -> None:
    tried = trials({(0.1, 1): [30.0, 30.0, 30.0], (0.4, 1): [1.0, 1.0, 60.0]})
    table = settings_tried(tried, "epochs")
    best = best_settings(table, "epochs")
    assert best == {"a": {"lr": 0.1, "epochs": 1}}
    assert at_an_edge(table, best, "epochs") == [
        "a: lr 0.1 is the lowest that was tried; try lower ones: --lr 0.025,0.1"
    ]
    luck = settings_tried(
        trials({(0.1, 1): [30.0, 31.0, 29.0], (0.4, 1): [31.0, 29.5, 30.0]}), "epochs"
    )
    assert at_an_edge(luck, best_settings(luck, "epochs"), "epochs") == [], "this would not end"
    longer = settings_tried(trials({(0.1, 1): [30.0, 40.0], (0.4, 3): [1.0, 2.0]}), "epochs")
    assert at_an_edge(longer, best_settings(longer, "epochs"), "epochs") == [
        "a: lr 0.4 is the highest that was tried; try higher ones: --lr 0.4,1.6",
        "a: epochs 3 is the highest that was tried; try higher ones: --length 3,9",
    ]
    stuck = settings_tried(trials({(0.1, 1): [30.0, 60.0]}), "epochs")
    (said,) = at_an_edge(stuck, best_settings(stuck, "epochs"), "epochs")
    assert said.startswith(
        "a: at no setting are all architectures shown to do better than guessing (1 of 2 at best)"
    )


def test_where_nothing_learns_no_setting_is_chosen() -> None:
    table = settings_tried(trials({(0.1, 1): [60.0, 60.0], (0.4, 1): [51.0, 55.0]}), "epochs")
    assert best_settings(table, "epochs") == {}
    (said,) = at_an_edge(table, {}, "epochs")
    assert "(0 of 2 at best)" in said
    (said,) = at_an_edge(pd.concat([table, table.assign(dataset="b")]), {}, "epochs")
    assert said.startswith("a and b: at no setting")


def test_a_few_images_that_are_right_by_luck_are_no_learning() -> None:
    least = shown_below(50.0, 24, "top1")  # of 24 images of two classes
    assert 24 * least / 100 == pytest.approx(12 - 1.6449 * math.sqrt(24 / 4))
    table = settings_tried(trials({(0.1, 1): [20.0, 40.0, 49.0]}), "epochs", {"a": least})
    assert list(table["trains"]) == [1]
    assert shown_below(50.0, math.nan, "top1") == shown_below(50.0, 24, "auroc") == 50.0


def test_the_lines_to_paste_are_a_recipe() -> None:
    stated = {"epochs": 1, "batch_size": 32, "overrides": {"blobs": {"flip": True, "lr": 0.3}}}
    sweep = Sweep.model_validate(STUDY | {"recipes": {"basic": stated}})
    best = {"digits": {"lr": 0.1, "epochs": 3}, "blobs": {"lr": 0.4, "epochs": 3}}
    pasted = parse_yaml(recipe_text(sweep, "basic", best))
    assert pasted["recipes"]["basic"] == stated | {
        "lr": 0.1,
        "epochs": 3,
        "overrides": {"blobs": {"flip": True, "lr": 0.4}},
    }
    Sweep.model_validate(STUDY | pasted)
    digits_alone = parse_yaml(recipe_text(sweep, "basic", {"digits": best["digits"]}))
    assert digits_alone["recipes"]["basic"]["overrides"] == stated["overrides"]


@pytest.mark.slow
def test_the_command_trains_and_prints_the_recipe(tmp_path, type_: Type) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    done = type_("pilot", "tiny.yaml", "--architectures", 2, "--lr", "0.05,0.1")
    assert done.code == 0, done.err
    assert "validation error (%)" in done.out
    text = done.out.partition("To paste into tiny.yaml in place of its recipe basic, as a whole:")[
        2
    ]
    assert set(yaml.safe_load(text)["recipes"]["basic"]) >= {"lr", "epochs"}
    assert (tmp_path / "studies" / "tiny-pilot" / "results.h5").exists()
    assert not (tmp_path / "studies" / "tiny").exists()
    further = type_("pilot", "tiny.yaml", "--architectures", 2, "--lr", "0.1,0.4")
    assert further.code == 0, further.err
    assert further.out.count(" begins") == 12  # those at 0.1 are there
    again = type_("pilot", "tiny.yaml", "--lr", "0,1")
    assert "--lr: '0,1'; legal: numbers above 0" in again.line


def test_a_sweep_that_says_whose_errors_stand_has_a_pilot() -> None:
    """Of the recipe that it begins with, which trains the source alone."""
    trial = pilot_of(Sweep.load(SWEEPS / "tuning" / "paper3.yaml"), 2)
    assert trial.errors_of == {}
    (recipe,) = trial.recipes.values()
    assert list(trial.trained_datasets(recipe)) == ["imagenet"]
