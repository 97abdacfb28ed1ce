"""What scripts and notebooks see: examples of docstrings, public names, and how objects look."""

import doctest
import importlib

import pandas as pd
import pytest

import anynet_study
from anynet_study import DesignSpace
from anynet_study.errors import UserError

WITH_EXAMPLES = ["design_space.space", "apr.correlations", "analyses.loading", "stages"]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_docstrings(name: str) -> None:
    # Not by its path: some functions have the name of their module.
    module = importlib.import_module(f"anynet_study.{name}")
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed


@pytest.mark.parametrize("room", ["apr", "plots", "design_space", "store", "data", "sweep"])
def test_dir_shows_public_names_alone(room: str) -> None:
    module = importlib.import_module(f"anynet_study.{room}")
    assert set(dir(module)) == set(module.__all__)
    assert {"load", "run", "Sweep", "ResultStore"} <= set(dir(anynet_study))


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
