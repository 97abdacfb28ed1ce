"""The commands plot and report, as a user runs them."""

import re
from pathlib import Path

import pytest
from command import in_this_process
from small_study import run_records, small_study, write_store

from anynet_study.cli.plot import plot
from anynet_study.core.errors import UserError


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds `studies/tiny` and `errors.csv`."""
    folder = tmp_path_factory.mktemp("commands")
    tables = small_study(10)
    write_store(folder / "studies" / "tiny", tables, run_records(tables))
    tables.errors.to_csv(folder / "errors.csv")
    return folder


@pytest.mark.slow
def test_one_figure_in_two_formats(study: Path) -> None:
    arguments = ("--figure", "depth", "--format", "svg, pdf", "-o", "one", "--resamples", 200)
    done = in_this_process(study, "plot", "tiny", *arguments)
    assert done.stdout.split() == ["one/depth.svg", "one/depth.pdf"]
    assert sorted(path.name for path in (study / "one").iterdir()) == [
        *("depth.csv", "depth.pdf", "depth.svg")
    ]


@pytest.mark.slow
def test_a_table_has_the_figures_that_it_allows(study: Path) -> None:
    roles = ("--source", "base", "--family", "base=10,base-2=2", "--targets", "target-0=2")
    output = ("-o", "table", "--format", "png", "--resamples", 200)
    done = in_this_process(study, "plot", "errors.csv", *roles, *output)
    assert "table/matched.png" in done.stdout
    assert re.search(r"\d+ other figures; --figure NAME says why\n", done.stderr)
    assert "not known" not in done.stderr
    asked = in_this_process(study, "plot", "errors.csv", *output, "--figure", "matrix,depth")
    assert "no figure depth: the parameters of the architectures are not known" in asked.stderr


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("errors.csv", {"figure": "xyz"}, "choose from heatmap, matrix"),
        ("errors.csv", {"figure": "noise"}, "no replicates are known"),
        ("errors.csv", {"formats": "jpg"}, "png, pdf, svg"),
        ("nothing", {}, "nothing"),
    ],
)
def test_bad_input_is_refused_and_writes_nothing(
    study: Path, source: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        plot(study / source, study / "bad", **options, resamples=200)
    assert not (study / "bad").exists()
