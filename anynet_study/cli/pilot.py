"""`anynet-study pilot`: which learning rate and length to train with, on validation images."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anynet_study.cli.options import AsJson, DryRun, Overrides, SweepFile, numbers, opt
from anynet_study.core.errors import UserError, listed

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.engine.dispatch import OpenStudy
    from anynet_study.engine.sweep import Sweep

#: Times what the next value to try is of the last one, as of those that are tried by default.
STEPS = {"--lr": 4, "--length": 3}


def pilot(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    architectures: Annotated[int, opt("How many of the study's architectures.")] = 4,
    lr: Annotated[str, opt("Learning rates; default: a quarter, once and four times yours.")] = "",
    length: Annotated[str, opt("Epochs (or steps); default: yours and three times as many.")] = "",
    recipe: Annotated[str, opt("The recipe that is tried; default: the first one.")] = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Find a recipe's learning rate and length on validation images.

    Trains a few of the study's architectures with every learning rate and length, on every dataset,
    and compares them on a tenth of the training images, which is held out. The test images have no
    part in it. For each dataset it takes the shortest training whose mean error is within one
    standard error of the lowest (over the architectures), and prints the recipe to paste into
    the sweep. It is a study of its own, NAME-pilot, and can be stopped and run again. It may cost
    more than the study: --dry-run tells; fewer --lr or --length are cheaper.

    \b
    Examples:
      anynet-study pilot sweeps/mine.yaml --dry-run
      anynet-study pilot sweeps/mine.yaml
      anynet-study pilot sweeps/mine.yaml --lr 0.02,0.1,0.5 --length 10,30,90
    """
    import json

    from anynet_study.engine.dispatch import open_sweep
    from anynet_study.engine.stages import train_and_collect
    from anynet_study.engine.sweep import Sweep, length_key, pilot_of
    from anynet_study.store import find_store

    sweep = Sweep.load(sweep_file, overrides or [])
    name = recipe or next(iter(sweep.recipes))
    if architectures < 2:
        raise UserError(f"--architectures: {architectures} show no spread; legal: 2 or more")
    tried = numbers("--lr", lr, 0.0, (0.05, 0.1)), numbers("--length", length, 0, (10, 30))
    trial = pilot_of(sweep, architectures, *tried, recipe)
    if dry_run:
        from anynet_study.cli.dry_run import print_cost
        from anynet_study.engine.study_folder import sample

        print_cost(trial, sample(trial.population), as_json)
        return
    study = open_sweep(trial)
    train_and_collect(study, lambda line: typer.echo(line, err=True))
    key = length_key(sweep.recipes[name])
    table = settings_tried(find_store(study.folder.folder).trials(), key, _learned_below(study))
    chosen = best_settings(table, key)
    if as_json:
        print(json.dumps({"settings": table.to_dict("records"), "recipe": chosen}, indent=2))
        return
    _print(table, key)
    for line in at_an_edge(table, chosen, key):
        print(line)
    if chosen:
        print(f"\nTo paste into {sweep_file} in place of its recipe {name}, as a whole:\n")
        print(recipe_text(sweep, name, chosen), end="")


def _learned_below(study: "OpenStudy") -> dict[str, float]:
    """By dataset, the validation error below which a network shows that it learned something."""
    from anynet_study.core.metrics import chance_error, shown_below

    metrics = {run.dataset: run.spec.recipe.metric for run in study.plan}
    found = {}
    for name, metric in metrics.items():
        view = study.views[name]
        chance = chance_error(view.validation_labels, len(view.classes), metric)
        found[name] = shown_below(chance, len(view.validation_labels), metric)
    return found


def settings_tried(
    trials: "pd.DataFrame", length: str, learned_below: Mapping[str, float] | None = None
) -> "pd.DataFrame":
    """One row per dataset, rate and length: mean validation error, and how many train.

    `learned_below` says by dataset which error a network must stay below to count as one of them.

    DataFrame[dataset, lr, `length`, error, above, above_error, trains, architectures, seconds]:
    `above` is how far the mean is above the lowest on the dataset, with its standard error over the
    architectures (of paired differences). A run that diverged errs 100%.
    """
    import pandas as pd

    rows = []
    trials = trials.assign(validation_error=trials["validation_error"].fillna(100.0))
    for dataset, mine in trials.groupby("dataset", sort=False):
        least = (learned_below or {}).get(str(dataset), math.inf)
        mine = mine.assign(trains=mine["trains"] & mine["validation_error"].lt(least))
        errors = mine.pivot_table("validation_error", "architecture", ["lr", length])
        lowest = errors[errors.mean().idxmin()]
        for (rate, size), part in mine.groupby(["lr", length]):
            above = errors[rate, size] - lowest
            row = {"dataset": dataset, "lr": float(rate), length: int(size)}
            row |= {"error": errors[rate, size].mean(), "above": above.mean()}
            row |= {"above_error": above.sem(), "trains": int(part["trains"].sum())}
            rows.append(row | {"architectures": len(part), "seconds": part["seconds"].mean()})
    return pd.DataFrame(rows)


def best_settings(table: "pd.DataFrame", length: str) -> dict[str, dict[str, Any]]:
    """By dataset, the shortest training within one standard error of the lowest mean error.

    Among those at which most architectures train (neither diverge nor guess); of equally long ones
    the one with the lowest error (the rule of one standard error: Breiman and others,
    Classification and Regression Trees, 1984, section 3.4.3). Datasets on which none trains have
    none: there the lowest error is luck.
    """
    chosen = {}
    for dataset, rows in table.groupby("dataset", sort=False):
        if not rows["trains"].any():
            continue
        most = rows[rows["trains"] == rows["trains"].max()]
        lowest = most["above"].min()
        good = most[most["above"] - lowest <= most["above_error"].fillna(0)]
        row = good.sort_values([length, "error"], kind="stable").iloc[0]
        chosen[str(dataset)] = {"lr": float(row["lr"]), length: int(row[length])}
    return chosen


def at_an_edge(table: "pd.DataFrame", chosen: dict[str, dict[str, Any]], length: str) -> list[str]:
    """Sentences on what may be better outside of what was tried, and on what trains nowhere.

    Of a value at the edge that is not shown to be better than the next one (by a standard error),
    nothing is said: to go on from there would have no end. They are facts of what was tried.
    """
    from anynet_study.analysis.claims import Fact

    said: dict[str, list[str]] = {}

    def say(dataset: object, text: str, **told: str | int) -> None:
        said.setdefault(str(Fact(text, told)), []).append(str(dataset))

    for dataset, rows in table.groupby("dataset", sort=False):
        count, all_of = rows["trains"].max(), rows["architectures"].max()
        if count < all_of:
            say(
                dataset,
                "at no setting are all architectures shown to do better than guessing ({count} of "
                "{all_of} at best); try other rates, longer training, or more images",
                count=int(count),
                all_of=int(all_of),
            )
        setting = chosen.get(str(dataset))
        if setting is None:
            continue
        for key, option in (("lr", "--lr"), (length, "--length")):
            tried, value = sorted(set(rows[key])), setting[key]
            if key == "lr" and not _is_ahead(rows, setting, length):
                continue
            if len(tried) > 1 and value == tried[-1]:
                say(
                    dataset,
                    "{key} {value} is the highest that was tried; try higher ones: "
                    "{option} {value},{more}",
                    **{"key": key, "option": option, "value": f"{value:g}"},
                    more=f"{STEPS[option] * value:g}",
                )
            elif len(tried) > 1 and value == tried[0] and key == "lr":
                say(
                    dataset,
                    "{key} {value} is the lowest that was tried; try lower ones: "
                    "{option} {less},{value}",
                    **{"key": key, "option": option, "value": f"{value:g}"},
                    less=f"{value / STEPS[option]:g}",
                )
    return [f"{listed(datasets)}: {sentence}" for sentence, datasets in said.items()]


def _is_ahead(rows: "pd.DataFrame", setting: dict[str, Any], length: str) -> bool:
    """Tell whether a setting is better by a standard error than those of other rates, as long.

    Rates at which fewer architectures learn are no better, whatever their mean error.
    """
    alike = rows[rows[length] == setting[length]]
    mine, learn = alike["lr"] == setting["lr"], alike["trains"] == alike["trains"].max()
    others, own = alike[~mine & learn], alike.loc[mine, "above"].iloc[0]
    return bool((others["above"] - own > others["above_error"].fillna(0)).all())


def recipe_text(sweep: "Sweep", name: str, chosen: dict[str, dict[str, Any]]) -> str:
    """The whole recipe in YAML: the source's setting for all, and what differs elsewhere."""
    from anynet_study.engine.sweep import dump_yaml

    main = chosen.get(sweep.source) or next(iter(chosen.values()))
    stated = sweep.recipes[name].model_dump(mode="json", exclude_unset=True)
    overrides = dict(stated.pop("overrides", {}))
    for label, setting in chosen.items():
        kept = {key: it for key, it in overrides.get(label, {}).items() if key not in setting}
        overrides[label] = kept | {key: it for key, it in setting.items() if it != main[key]}
    differing = {label: changes for label, changes in overrides.items() if changes}
    recipe = stated | main | ({"overrides": differing} if differing else {})
    return dump_yaml({"recipes": {name: recipe}})


def _print(table: "pd.DataFrame", length: str) -> None:
    from anynet_study.cli.tables import print_table

    headings = ["dataset", "lr", length, "validation error (%)", "learn", "seconds a run"]
    rows = [
        (
            *(row["dataset"], f"{row['lr']:g}", row[length], f"{row['error']:.1f}"),
            *(f"{row['trains']} of {row['architectures']}", f"{row['seconds']:.0f}"),
        )
        for row in table.to_dict("records")
    ]
    print_table(headings, rows)
