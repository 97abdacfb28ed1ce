"""Runs have the bits that versions before had: a change of them is to be told (docs/meaning.md).

Bits depend on the processor and the libraries as well: `same_bits.json` has those of machines on
which somebody wrote them, by `WRITE_BITS=1 pytest -m slow FILE`.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from training_runs import CPU, spec

from anynet_study.data import DatasetView
from anynet_study.engine.models import backend_here
from anynet_study.engine.models.backend import libraries, processor
from anynet_study.engine.training import Outcome, train
from anynet_study.engine.training.options import Engine

pytestmark = pytest.mark.slow
KEPT = Path(__file__).with_name("same_bits.json")
RECIPES = {
    "plain": {},
    "more of a recipe": {"label_smoothing": 0.1, "crop": "random", "nesterov": True},
    "adamw": {"optimizer": "adamw", "lr": 0.002, "schedule": "multistep", "precise_bn": 2},
}


def bits(outcome: Outcome) -> str:
    curves = np.array([outcome.curves[name] for name in sorted(outcome.curves)])
    said = curves.tobytes() + np.ascontiguousarray(outcome.predictions).tobytes()
    return hashlib.sha256(said).hexdigest()[:16]


def model() -> str:
    """The processor, by its numbers as well: names are of whole families."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    said = dict(line.split("\t", 1) for line in lines if "\t" in line)
    numbers = (said.get(name, "").strip("\t: ") for name in ("cpu family", "model"))
    return f"{processor('cpu')} {' '.join(numbers)}"


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_run_has_the_bits_that_it_had(view: DatasetView, engine: Engine, recipe: str) -> None:
    here = f"{model()}, {backend_here()}, {libraries()}"
    kept = json.loads(KEPT.read_text())
    found = bits(train(spec(view, **RECIPES[recipe]), view, CPU, engine=engine))
    if os.environ.get("WRITE_BITS"):
        kept.setdefault(here, {})[f"{recipe}, {engine}"] = found
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    elif here not in kept:
        pytest.skip(f"no bits are kept for {here}")
    else:
        assert found == kept[here][f"{recipe}, {engine}"]
