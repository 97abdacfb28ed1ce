"""A pilot: a few architectures in a few settings, compared on validation images."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from anynet_study.core.errors import UserError, nearest_or_all
from anynet_study.engine.sweep.sweep import START_KEYS, RecipeSpec, Sweep
from anynet_study.engine.sweep.text import describe

#: What is tried, as factors of the recipe's own learning rate and length.
RATES, LENGTHENED = (0.25, 1.0, 4.0), (1, 3)
#: Keys of recipes that a pilot tries, and those that would contradict one.
TRIED = ("lr", "epochs", "steps")
#: The share of the training images that is held out, where a dataset does not say.
HELD_OUT = 0.1


def length_key(recipe: RecipeSpec) -> str:
    """Return what the length of a recipe is stated in: epochs or steps."""
    return "steps" if recipe.steps is not None else "epochs"


def pilot_of(
    sweep: Sweep,
    architectures: int,
    rates: Sequence[float] = (),
    lengths: Sequence[int] = (),
    recipe_name: str = "",
) -> Sweep:
    """The pilot of a study: a recipe, by default its first, with every rate and length as a grid.

    It has the first `architectures` of the study's population, and the study's name with "-pilot".
    The recipe is named after what it tries, too. Of every dataset a tenth of the training images is
    held out, unless it says how many are. `rates` and `lengths` (epochs or steps) are by default
    multiples of the recipe's own. Raises UserError for a recipe that is not there, starts from
    another's weights, or is tuned already.
    """
    name = recipe_name or next(iter(sweep.recipes))
    if name not in sweep.recipes:
        told = nearest_or_all(name, list(sweep.recipes), "its recipes: ")
        raise UserError(f"{sweep.name} has no recipe {name!r}{told}")
    recipe = sweep.recipes[name]
    if recipe.tuning is not None or any(getattr(recipe, key) is not None for key in START_KEYS):
        raise UserError(f"recipes.{name}: a pilot is of a recipe from scratch that is not tuned")
    length = length_key(recipe)
    usual = getattr(recipe, length)
    content = sweep.model_dump(mode="json")
    for entry in content["datasets"].values():
        entry["validation"] = entry["validation"] or HELD_OUT
    space: dict[str, Any] = {
        "lr": list(rates) or [float(f"{factor * recipe.lr:.3g}") for factor in RATES],
        length: list(lengths) or [factor * usual for factor in LENGTHENED],
    }
    stated = content["recipes"][name]
    overrides = {
        label: {key: value for key, value in changes.items() if key not in TRIED}
        for label, changes in stated["overrides"].items()
    }
    tuning = {"space": space, "scheduler": "grid"}
    # A tuning that has begun stays as it was, so that other values are another recipe.
    tried = f"{name[:50]}-{hashlib.sha256(json.dumps(space).encode()).hexdigest()[:8]}"
    content |= {
        "name": f"{sweep.name[:58]}-pilot",
        "question": f"With which learning rate and length to train in {sweep.name}?",
        "population": content["population"] | {"count": architectures},
        "recipes": {tried: {**stated, "overrides": overrides, "tuning": tuning}},
        "replicates": {},
        "evaluations": {},
        "errors_of": {},
    }
    try:
        return Sweep.model_validate(content)
    except ValidationError as error:
        raise UserError(f"pilot: {describe(error, Sweep, content)}") from None
