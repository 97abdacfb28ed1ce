"""What scripts and notebooks see: examples of docstrings, public names, and how objects look."""

import doctest
import importlib
import re
import sys
from inspect import isfunction
from pathlib import Path

import pandas as pd
import pytest

import anynet_study
from anynet_study import DesignSpace
from anynet_study.apr import verdicts
from anynet_study.errors import UserError

#: Whatever the page of the reference shows.
PAGE = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
STATISTICS = re.search(r"members: \[(.*?)\]", PAGE, re.DOTALL)
assert STATISTICS
DOCUMENTED = [
    *re.findall(r"^::: anynet_study\.(.+\.\w+)$", PAGE, re.MULTILINE),
    *(f"apr.{name}" for name in re.findall(r"\w+", STATISTICS[1])),
]
DOCUMENTED.remove("apr.verdicts")  # a module, of which all functions are shown
DOCUMENTED += [
    f"apr.verdicts.{name}"
    for name, it in vars(verdicts).items()
    if isfunction(it) and it.__module__ == verdicts.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("path", DOCUMENTED)
def test_what_is_documented_has_an_example_that_holds(path: str) -> None:
    room, _, name = path.rpartition(".")
    documented = getattr(importlib.import_module(f"anynet_study.{room}"), name)
    module = sys.modules[documented.__module__]
    # Names of the module, as in a script that imports them from there.
    found = [it for it in doctest.DocTestFinder().find(documented, name, module) if it.examples]
    assert found
    assert not sum(doctest.DocTestRunner().run(test).failed for test in found)


@pytest.mark.parametrize("room", ["apr", "plots", "design_space", "store", "data", "sweep"])
def test_dir_shows_public_names_alone(room: str) -> None:
    module = importlib.import_module(f"anynet_study.{room}")
    assert set(dir(module)) == set(module.__all__)
    assert {"load", "run", "Study", "Sweep", "ResultStore"} <= set(dir(anynet_study))


def test_a_study_is_run_by_its_class_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anynet_study, "run", lambda sweep, **options: (sweep, options))
    assert anynet_study.Study.run("first.yaml", resamples=5) == ("first.yaml", {"resamples": 5})


def test_bad_input_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="no such results store or study"):
        anynet_study.load("nothing-of-this-name")
    assert issubclass(UserError, ValueError)


def test_populations_show_their_first_architectures() -> None:
    population = DesignSpace.anynetx().sample(12, seed=0)
    shown = population._repr_html_()
    assert "Population of 12 architectures" in shown
    assert shown.count("<tr") == 11
    assert population.ids[0] in shown
    assert population.ids[-1] not in shown


def test_figures_display_themselves() -> None:
    errors = pd.DataFrame({"big": [30.0, 31, 33, 34, 36], "small": [10.0, 12, 11, 13, 15]})
    study = anynet_study.load(errors, "big", resamples=100)
    assert study.figure("matrix")._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
