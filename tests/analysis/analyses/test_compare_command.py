"""`anynet-study compare` on studies, tables and the models of a published test bed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run_script
from small_study import run_records, small_study, write_store
from tiny_study import Told, Type, typing_in

from anynet_study import apr

FEW = ["--resamples", 200]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study of 24 architectures, one run failed, and two tables of errors."""
    folder = tmp_path_factory.mktemp("compare")
    study = small_study(24)
    write_store(folder / "studies" / "toy", study, run_records(study, failed={5}))
    generator = np.random.default_rng(0)
    for name, shift in (("plain", 0), ("better", 3)):
        flops = 10 ** generator.uniform(8 + shift / 10, 9, 40)
        table = pd.DataFrame({"digits": 40 - shift - np.log(flops) + generator.normal(0, 1, 40)})
        table["flops"] = flops
        table.index = [f"{name}-{'odd' if i % 2 else 'even'}-{i}" for i in range(40)]
        table.to_csv(folder / f"{name}.csv", index_label="model")
    (folder / "weighted.csv").write_text(
        "model,error,sampling_weight,block\na,1.5,1,x\nb,2,1,x\nc,3,1,y\nd,4,5,y\ne,5,1,y\n"
    )
    return folder


@pytest.fixture
def typed(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    monkeypatch.setenv("COLUMNS", "80")
    type_ = typing_in(home, monkeypatch, capsys)

    def compare(*arguments: object) -> Told:
        return type_("compare", *arguments, *FEW)

    return compare


def tables(told: Told) -> dict[str, pd.DataFrame]:
    assert told.code == 0, told
    return {
        name: pd.DataFrame(rows)
        for name, rows in json.loads(told.out).items()
        if isinstance(rows, list)
    }


@pytest.mark.slow
def test_two_tables(typed: Type) -> None:
    told = typed("plain.csv", "better.csv")
    assert told.code == 0
    assert "errors on digits: 2 design spaces" in told.out
    assert "best of m random models" in told.out
    assert told.out.count("P(a better):") == 1
    assert max(map(len, told.out.splitlines())) <= 80
    assert "…" not in told.out
    found = tables(typed("plain.csv", "better.csv", "--json"))
    errors = {
        name: pd.read_csv(f"{name}.csv", index_col=0)["digits"] for name in ("plain", "better")
    }
    expected = apr.compare_spaces(errors, resamples=200)
    pd.testing.assert_frame_equal(found["pairs"], expected)
    pd.testing.assert_frame_equal(found["summary"], apr.edf_summary(errors, resamples=200))
    part = found["edf"].query("space == 'plain'").drop(columns="space")
    curve = apr.edf(errors["plain"], resamples=200, name="plain")
    pd.testing.assert_frame_equal(part.reset_index(drop=True), curve)


def test_at_equal_complexity(typed: Type) -> None:
    arguments = ["a=plain.csv", "b=better.csv", "--weigh", "flops", "--bins", 4]
    told = typed(*arguments)
    assert "at equal flops" in told.out
    assert "of its models weigh nothing" in told.out
    found = tables(typed(*arguments, "--json"))
    raw = {name: pd.read_csv(f"{name}.csv", index_col=0) for name in ("plain", "better")}
    flops = {"a": raw["plain"]["flops"], "b": raw["better"]["flops"]}
    errors = {"a": raw["plain"]["digits"], "b": raw["better"]["digits"]}
    weights = apr.match_complexity(flops, bins=4)
    expected = apr.edf_summary(errors, weights, resamples=200)
    pd.testing.assert_frame_equal(found["summary"], expected)


def test_a_study_alone_shows_where_its_best_are(typed: Type) -> None:
    told = typed("toy")
    assert "top-1 errors on base: 1 design space" in told.out
    assert "cumulative depth" in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    found = tables(typed("studies/toy", "--json", "--dataset", "target-0"))
    ranges = found["ranges"].set_index("parameter")
    assert found["pairs"].empty
    assert ranges.loc["flops", "n"] == found["summary"]["n"][0]


@pytest.mark.slow
def test_a_study_split_by_what_describes_it(typed: Type) -> None:
    for column in ("cumulative depth", "d4", "flops"):
        told = typed("toy", "--by", column, "--parts", 2, "--json")
        spaces = tables(told)["summary"]
        assert len(spaces) == 2
        assert spaces[["n", "missing"]].to_numpy().sum() == 24
        assert spaces["space"].str.startswith(column.removeprefix("cumulative ")).all()
    assert max(map(len, typed("toy", "--by", "d1").out.splitlines())) <= 80
    found = tables(typed("weighted.csv", "--by", "weight", "--json"))["summary"]
    assert found["space"].tolist() == ["weight 1"]
    told = typed("weighted.csv", "--by", "block")
    assert told.code == 2
    assert (
        "no group has 4 models with an error: there are {'block x': 2, 'block y': 3}" in told.line
    )


def test_groups_that_are_close_have_different_names(typed: Type) -> None:
    rows = "".join(f"m{i},{i},{1_000_000 + i}\n" for i in range(2, 12))
    Path("close.csv").write_text("model,error,flops\n" + rows)
    found = tables(typed("close.csv", "--by", "flops", "--parts", 2, "--json"))["summary"]
    assert found["n"].tolist() == [5, 5]
    assert found["space"].tolist() == ["flops 1M-1.00001M", "flops 1.00001M-1.00001M"]


def test_weights_of_the_sampling_count(typed: Type) -> None:
    row = tables(typed("weighted.csv", "--json"))["summary"].iloc[0]
    assert row["mean"] == pytest.approx((1.5 + 2 + 3 + 5 * 4 + 5) / 9)
    assert row["effective"] == pytest.approx(81 / 29)
    assert "worth" in typed("weighted.csv").out


@pytest.mark.slow
def test_figures(typed: Type, tmp_path: Path) -> None:
    edf, search = tmp_path / "new" / "edf.png", tmp_path / "best.v1.pdf"
    told = typed("plain.csv", "better.csv", "--figure", edf, "--search-figure", search)
    assert told.err.splitlines()[-2:] == [str(edf), str(search)]
    assert edf.read_bytes()[:4] == b"\x89PNG"
    assert search.read_bytes()[:4] == b"%PDF"


def test_what_two_spaces_share_is_told(typed: Type) -> None:
    told = typed("plain.csv", "again=plain.csv")
    assert "plain and again share 40 models. Only the table of shared models compares" in told.out


def test_models_that_two_spaces_share_are_compared_one_by_one(typed: Type) -> None:
    plain = pd.read_csv("plain.csv", index_col=0)
    noise = np.random.default_rng(1).normal(0, 0.1, 30)
    later = plain[:30].assign(digits=plain["digits"][:30] - 0.5 + noise)
    later.to_csv("later.csv")
    found = tables(typed("plain.csv", "later.csv", "better.csv", "--json"))
    (row,) = found["shared"].to_dict("records")
    assert (row["a"], row["b"], row["n"]) == ("plain", "later", 30)
    assert row["mean_difference"] == pytest.approx(0.5 - noise.mean())
    assert row["mean_a"] == pytest.approx(plain["digits"][:30].mean())
    assert row["mean_b"] == pytest.approx(later["digits"].mean())
    assert row["share_better"] == 0
    assert row["low"] > 0.9
    (pair,) = found["pairs"].query("a == 'plain' and b == 'later'").to_dict("records")
    widths = [it["mean_difference_high"] - it["mean_difference_low"] for it in (row, pair)]
    assert widths[0] < widths[1] / 3
    assert "on the models that both have" in typed("plain.csv", "later.csv").out
    assert "on the models that both have" not in typed("plain.csv", "better.csv").out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["plain.csv", "plain.csv"], "plain is there already; give it a name: NAME=plain.csv"),
        (["toy", "--dataset", "cifar"], "--dataset: toy has no cifar; it has base, base-5"),
        (["toy", "plain.csv", "--by", "d1"], "--by splits one input; there are 2"),
        (["toy", "--by", "d1", "--group", "a=*"], "--by and --group are two ways"),
        (["toy", "--by", "speed"], "--by: no column speed describes the models; there is d1"),
        (["plain.csv", "--group", "odd"], "'odd' is not NAME=PATTERN"),
        (["plain.csv", "--group", "a=vgg*"], "--group: no model of plain has a name like vgg*"),
        (["plain.csv", "--group", "a=*", "--group", "b=*1"], "is in a and in b; groups may not"),
        (["plain.csv", "--weigh", "parameters"], "the parameters of the models of plain are not"),
        (["plain.csv", "--csv", "pairs"], "--csv pairs: needs two design spaces"),
        (["plain.csv", "--csv", "edf", "--json"], "--csv and --json: give one of them"),
    ],
)
def test_bad_input_is_one_line(typed: Type, arguments: list[str], line: str) -> None:
    told = typed(*arguments)
    assert told.code == 2
    assert line in told.line


def test_a_table_of_many_datasets_asks_which(typed: Type, shared_data: Path) -> None:
    told = typed(shared_data / "imagenet-testbed-top1.csv", "--accuracy")
    assert told.code == 2
    assert "say on which of imagenet-testbed-top1's datasets: greyscale" in told.line
    assert told.line.endswith("and 201 more")


@pytest.mark.slow
def test_the_script_draws_a_panel_a_dataset(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [str(home / "plain.csv"), str(home / "better.csv"), str(home / "studies" / "toy")]
    for chosen, code in ((inputs[:2], 0), (inputs[2:], 0), (inputs[1:], 2)):
        assert run_script("edf", *chosen, "-o", str(tmp_path)) == code
    assert "have no dataset in common" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"edf.png", "edf.pdf", "edf.csv"}
