"""What scripts and notebooks see: examples of docstrings, public names, and how objects look."""

import doctest
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import isfunction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_study import run_records, small_study, write_store

import anynet_study
from anynet_study import DesignSpace, apr
from anynet_study.analysis.apr import verdicts
from anynet_study.core.errors import UserError

TABLE = pd.DataFrame({"big": [30.0, 31, 33, 34, 36], "small": [10.0, 12, 11, 13, 15]})
ROLES = apr.Roles("big", {"big": 10}, {"small": 5})
ROOT = Path(__file__).parents[1]
#: Whatever the page of the reference shows.
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
STATISTICS = re.search(r"members: \[(.*?)\]", PAGE, re.DOTALL)
assert STATISTICS
DOCUMENTED = [
    *re.findall(r"^::: anynet_study\.(.+\.\w+)$", PAGE, re.MULTILINE),
    *(f"analysis.apr.{name}" for name in re.findall(r"\w+", STATISTICS[1])),
]
for shown in ("analysis.apr", "analysis.apr.verdicts"):
    DOCUMENTED.remove(shown)  # modules, whose functions are shown
DOCUMENTED += [
    f"analysis.apr.verdicts.{name}"
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


@pytest.mark.parametrize(
    "room", ["analysis.apr", "analysis.plots", "design_space", "store", "data", "engine.sweep"]
)
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


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: anynet_study.load({"a": [1, 2]}), "load: a dict; needed is a path, a DataFrame"),
        (lambda: anynet_study.load(None), "load: a NoneType; needed is a path"),
        (
            lambda: anynet_study.load(TABLE, resample=100),
            r"unknown option 'resample' \(did you mean 'resamples'\?\); legal: method, level, ",
        ),
        (lambda: anynet_study.load(TABLE, analysis="nobody:X"), "--analysis nobody:X: nobody: No"),
        (lambda: anynet_study.load(100 - TABLE), r"or accuracies, and .* \(in Python: accuracy=Fa"),
        (lambda: anynet_study.load(TABLE, "big", shifts="s"), "--shifts: no dataset s; there are"),
        (lambda: anynet_study.load(TABLE).results(TABLE), "results: a DataFrame; needed is an id"),
        (lambda: anynet_study.load(TABLE).best("huge", 2), "errors: no column huge; there are big"),
        (lambda: apr.correlations(TABLE.to_numpy()), "errors: a ndarray; needed is a pandas Data"),
        (lambda: apr.tied_ranks(TABLE), "intervals: no column dataset, architecture, error, low"),
        (lambda: apr.rank_preservation(TABLE, "big"), "intervals: no column dataset, archi"),
        (lambda: apr.noise_ceiling([1, 2]), "replicates: a list; needed is a pandas DataFrame"),
        (lambda: apr.correlations(TABLE, weights=[1] * 5), "weights: a list; needed is a pandas S"),
        (lambda: apr.selection_regret(TABLE, ROLES, top=1), "top: 1 is no list of counts of at l"),
    ],
)
def test_what_is_passed_wrongly_is_said(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(UserError, match=reason) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_a_frame_is_read_as_its_file(tmp_path: Path) -> None:
    named = TABLE.assign(model=list("vwxyz"))[["model", "big", "small"]]
    named.to_csv(tmp_path / "errors.csv", index=False)
    from_file = anynet_study.load(tmp_path / "errors.csv").errors
    pd.testing.assert_frame_equal(anynet_study.load(named).errors, from_file)
    long = named.melt("model", var_name="dataset", value_name="error")
    assert anynet_study.load(long).errors.loc["v", "big"] == 30
    assert list(anynet_study.load(TABLE).errors.index) == [0, 1, 2, 3, 4]


def test_a_folder_in_place_of_its_store_is_told(tmp_path: Path) -> None:
    made = small_study(4)
    write_store(tmp_path / "s", made, run_records(made))
    with pytest.raises(UserError, match=r"s: no such results store; there is .*s/results.h5$"):
        anynet_study.ResultStore(tmp_path / "s")


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


def test_the_front_door_has_what_scripts_need() -> None:
    assert anynet_study.analysis.apr.correlations.__name__ == "correlations"
    assert anynet_study.analysis.plots.scatter_matrix.__name__ == "scatter_matrix"
    assert anynet_study.UserError is UserError
    assert re.match(r"\d+\.\d+", anynet_study.__version__)


def test_a_study_completes_to_what_users_need() -> None:
    study = anynet_study.load(pd.DataFrame({"big": [30, 31, 33, 34, 36]}))
    assert "<Study table: 5 architectures x 1 dataset; Spearman" in repr(study)
    shown = dir(study)
    assert {"errors", "table", "figure", "results", "population", "best"} <= set(shown)
    assert not {"inputs", "progress", "analysis_of", "read_all", "_made"} & set(shown)


def test_results_of_one_architecture(tmp_path: Path) -> None:
    made = small_study(4)
    study = anynet_study.load(write_store(tmp_path / "s", made, run_records(made)))
    first = study.errors.index[0]
    found = study.results(first)
    mine = made.replicates[made.replicates["architecture"].eq(first)]
    assert list(found["error"]) == list(mine["error"])
    assert list(found["dataset"].unique()) == list(study.errors.columns)
    architecture = DesignSpace.anynetx().sample(4, flops=(360e6, 400e6), seed=0)[0]
    pd.testing.assert_frame_equal(study.results(architecture), found)
    with pytest.raises(
        UserError, match="s: no architecture nobody; its 4 are the index of `errors`"
    ):
        study.results("nobody")


def test_mistakes_in_a_sweep_are_one_line() -> None:
    keys: dict[str, Any] = {
        "population": {"count": 4},
        "source": "digits",
        "datasets": {"digits": {}},
    }
    with pytest.raises(UserError, match=r"^Sweep: unknown key `recipes.basic.epoch` .*epochs"):
        anynet_study.Sweep(name="first", recipes={"basic": {"epoch": 1}}, **keys)


@pytest.mark.slow
def test_typed_code_of_a_sweep_and_of_the_pages_passes_a_type_checker(tmp_path: Path) -> None:
    script = tmp_path / "typed.py"
    script.write_text(
        "import anynet_study\n\n"
        "sweep = anynet_study.Sweep(\n"
        "    name='first',\n"
        "    population={'count': 8, 'flops': [0.4e6, 0.6e6], 'resolution': 8, 'classes': 10},\n"
        "    source='digits',\n"
        "    datasets={'digits': {}, 'gratings': {}},\n"
        "    recipes={'basic': {'epochs': 2}},\n"
        ")\n"
        "table = anynet_study.run(sweep).table('match')\n"
        "wrong = anynet_study.Sweep(name=1)\n"
    )
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        written = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        (tmp_path / f"of_{page.stem.replace('-', '_')}.py").write_text("".join(written))
    scripts = tmp_path.glob("*.py")
    settings = tmp_path / "mypy.ini"  # as of somebody who has none, but for what takes long to read
    settings.write_text(
        "[mypy]\nfollow_imports = silent\ncache_dir = /dev/null\n"
        "[mypy-torch.*,pandas.*,scipy.*,sklearn.*,matplotlib.*,numpy.*,pyarrow.*,duckdb.*,typer.*]"
        "\nfollow_imports = skip\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", settings, *scripts],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    wrong = [line for line in done.stdout.splitlines() if "error" in line]
    assert all("typed.py:11:" in line for line in wrong[:-1]), done.stdout
    assert any('incompatible type "int"' in line for line in wrong)
