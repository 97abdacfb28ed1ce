"""`anynet-study sample`: of a sweep or of options, what it says, writes and draws."""

import json
from pathlib import Path

import pytest
from command import SWEEPS, imported
from PIL import Image
from tiny_study import TINY, Type

from anynet_study.design_space import DesignSpace, Population

SPACE = "{base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}"
BANDS = ["--flops", "5e4,2e5", "--resolution", 8, "--classes", 10]


@pytest.fixture
def typed(type_: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Type:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "tiny.yaml").write_text(TINY)
    return type_


def test_options_and_sweeps_draw_the_same(typed: Type) -> None:
    assert typed("sample", "tiny.yaml", "-o", "a.parquet").code == 0
    assert typed("sample", "--space", SPACE, "--count", 4, *BANDS, "-o", "b.parquet").code == 0
    assert Path("a.parquet").read_bytes() == Path("b.parquet").read_bytes()


@pytest.mark.slow
def test_the_suffix_says_in_which_format(typed: Type) -> None:
    for suffix in ("parquet", "csv", "json"):
        told = typed("sample", "--space", "regnety", "--count", 3, "-o", f"p.{suffix}")
        assert told.code == 0, told.err
    drawn = DesignSpace.from_spec("regnety").sample(3)
    assert list(Population.read("p.csv")) == list(Population.read("p.json")) == list(drawn)
    assert Population.read("p.parquet").equals(drawn)


def test_the_summary_fits_a_terminal_and_equals_its_json(typed: Type) -> None:
    ask = ["sample", "--space", SPACE, "--count", 40, *BANDS, "--parameters", "1e3,1e5"]
    told = typed(*ask, "--seed", 7, "-o", "p.parquet").out
    assert max(map(len, told.splitlines())) <= 80
    for fact in (
        "40 architectures in p.parquet",
        "anynetx with depths [1, 2], widths [8, 32], stem cifar",
        "0.05 to 0.2 million FLOPs and 0.001 to 0.1 million parameters counted at 8 px, 10",
        "(95% interval",
        "removed",
    ):
        assert fact in " ".join(told.split()), fact
    found = json.loads(typed(*ask, "--seed", 7, "-o", "p.parquet", "--json").out)
    frame = Population.read("p.parquet").to_pandas()
    assert found["architectures"] == len(frame)
    assert found["spread"]["flops"]["median"] == frame["flops"].median()
    assert found["spread"]["activations"]["25%"] == frame["activations"].quantile(0.25)
    totals = frame[["w1", "w2", "w3", "w4"]].sum(axis=1)
    assert found["spread"]["cumulative width"]["highest"] == totals.max()
    third = found["stages"]["group width"][2]
    assert third["most_frequent"] == frame["g3"].mode().min()
    assert third["share"] == (frame["g3"] == third["most_frequent"]).mean()
    assert found["sampling"]["parameters"] == [1000, 100_000]
    assert found["kinds"] == {
        "block": {"bottleneck": 40},
        "stem": {"cifar": 40},
        "stages": {"4": 40},
    }


@pytest.mark.slow
def test_mixed_populations_say_what_they_are_made_of(typed: Type) -> None:
    Path("nets.csv").write_text("architecture\nresnet18\nresnet50\nregnetx_200mf\nresnet20\n")
    chosen = TINY.replace("space: {", "#").replace("flops:", "#")
    Path("chosen.yaml").write_text(chosen.replace("count: 4", "file: nets.csv"))
    told = typed("sample", "chosen.yaml", "-o", "p.parquet", "--figure", "p.png")
    assert told.code == 0, told.err
    for fact in ("read from", "nets.csv (sha256 ", "basic: 2, bottleneck: 2", "3: 1, 4: 3"):
        assert fact in told.out
    with Image.open("p.png") as drawn:
        assert drawn.width == 1440


def test_strata_and_steps_are_told(typed: Type) -> None:
    drawn = DesignSpace.anynetx().sample(30, strata={"of": "depth", "edges": [12]})
    strata = ["--strata", "{of: depth, edges: [12]}"]
    typed("sample", "--space", "anynetx", "--count", 30, *strata, "-o", "whole.parquet")
    assert Population.read("whole.parquet").equals(drawn)
    drawn.filter("flops > 1e8").subsample(9, seed=1).write("part.parquet")
    Path("part.yaml").write_text(
        TINY.replace("space: {", "#")
        .replace("flops:", "#")
        .replace("count: 4", "file: part.parquet")
    )
    told = " ".join(typed("sample", "part.yaml", "-o", "p.parquet").out.split())
    for fact in (
        "of depth, edges 12; candidates: ",
        "filter condition flops > 1e8: ",
        "subsample count 9, seed 1: 9 left; at resolution 8, classes 10: 9 left",
        "weights",
        "9 architectures in p.parquet",
    ):
        assert fact in told, fact


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["pdf", "svg"])
def test_figures_of_the_space_and_the_sample(typed: Type, suffix: str) -> None:
    space = "{base: anynetx, strides: [1, 2, 2], block: basic, depths: [1, 3], widths: [8, 64]}"
    ask = ["sample", "--space", space, "--count", 30, "--activations", "1e5,1e6"]
    told = typed(*ask, "-o", "p.parquet", "--figure", f"f.{suffix}")
    assert told.code == 0, told.err
    assert Path(f"f.{suffix}").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give a sweep file, or --space and --count"),
        (["--space", "anynetx", "-o", "p.csv"], "missing: `count` (how many to draw"),
        (["--space", "anynetx", "--count", 3], "give -o FILE.parquet, .csv or .json"),
        (["tiny.yaml", "--count", 3], "--count: with a sweep file, write population.count=..."),
        (
            ["--space", "anynety", "--count", 3, "-o", "p.csv"],
            "`space` = 'anynety': base: 'anynety' is",
        ),
        (["--space", "{a: [", "--count", 3, "-o", "p.csv"], "--space: not valid YAML"),
        (["--space", "anynetx", "--count", 3, "--flops", "9", "-o", "p.csv"], "`flops` = ['9']"),
        (
            ["--space", "anynetx", "--count", 3, "-o", "p.txt"],
            "p.txt: a population's file must end",
        ),
        (["--space", "anynetx", "--count", 3, "-o", "."], "a population's file must end in .parq"),
        (
            ["--space", "a", "--strata", "{", "--count", 3, "-o", "p.csv"],
            "--strata: not valid YAML",
        ),
        (["tiny.yaml", "--figure", "f.jpg"], "--figure: f.jpg must end in .png, .pdf, .svg"),
    ],
)
def test_mistakes_get_one_line(typed: Type, arguments: list[object], complaint: str) -> None:
    told = typed("sample", *arguments)
    assert told.code == 2
    assert complaint in told.line
    assert not list(Path().glob("p.*"))


@pytest.mark.slow
def test_what_is_slow_to_import_is_not_imported(tmp_path: Path) -> None:
    arguments = ("sample", SWEEPS / "paper.yaml", "-o", "p.parquet")
    slow = {"torch", "pandas", "matplotlib", "scipy", "h5py", "PIL"}
    assert not slow & imported(tmp_path, arguments)
