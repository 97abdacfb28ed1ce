"""`anynet-study import` and `export` as they are type_."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from import_factory import written
from scipy.stats import spearmanr
from tiny_study import Type, tree

from anynet_study.store import ResultStore, stores_equal

TESTBED = "imagenet-testbed-top1.csv"


@pytest.mark.slow
def test_the_testbed_from_csv_to_tables_and_back(type_: Type, shared_data: Path) -> None:
    targets = "imagenetv2-matched-frequency=1000,imagenet-a=200"
    roles = ["--source", "val", "--family", "val=1000", "--targets", targets]
    told = type_("import", shared_data / TESTBED, "--accuracy", *roles, "-o", "t.h5")
    assert told.code == 0, told.err
    assert "338 models x 213 datasets: 45,774 errors, 26,220 gaps" in told.out
    table = pd.read_csv(shared_data / TESTBED)
    told = type_("analyze", "t.h5", "--table", "match", "--resamples", 100, "--json")
    matched = {row["target"]: row for row in json.loads(told.out)["tables"]["match"]}
    for target in ("imagenetv2-matched-frequency", "imagenet-a"):
        both = table[["val", target]].dropna()
        expected = spearmanr(both["val"], both[target]).statistic
        assert matched[target]["rho_source"] == pytest.approx(expected)
        assert matched[target]["n"] == len(both)
    assert type_("export", "t.h5", "-o", "release").code == 0
    assert type_("import", "release", "-o", "back.h5").code == 0
    assert stores_equal(Path("t.h5"), Path("back.h5")) == []
    query = ["query", "release", "--where", "dataset = 'val' and error < 12", "--json"]
    rows = json.loads(type_(*query).out)
    assert len(rows) == (100 - table["val"] < 12).sum()


def test_what_is_imported_is_said(type_: Type) -> None:
    written(Path("t.csv"), "model,val,cars,family\na,20,,x\nb,30,10,y\n")
    told = type_("import", "t.csv", "-o", "s.h5")
    assert (told.code, "say so with --error or --accuracy" in told.line) == (2, True)
    told = type_("import", "t.csv", "--error", "-o", "s.h5")
    account = type_("import", "t.csv", "--error", "--dry-run").out.splitlines()
    assert "datasets: 2, median error in percent: val 25, cars 10" in account
    assert "columns that describe models: family" in account
    assert told.out.splitlines() == [*account, "2 models x 2 datasets: 3 errors, 1 gap", "s.h5"]
    again = type_("import", "t.csv", "--error", "-o", "s.h5")
    assert again.out.splitlines()[-1] == "s.h5 (in place of the earlier one)"
    told = type_("import", "t.csv", "--error", "-o", "s.h5", "--json")
    assert json.loads(told.out)["medians"] == {"val": 25.0, "cars": 10.0}


def test_options_reach_the_reader(type_: Type) -> None:
    written(Path("t.csv"), "net;task;acc;note\nä;x;0,75;hm\nä;y;0,5;so\n", "latin-1")
    written(Path("d.csv"), "dataset,role,classes,test_images\nx,source,2,100\ny,target,3,\n")
    options = ["--map", "model=net,dataset=task", "--map", "accuracy=acc", "--ignore", "note"]
    options += ["--fraction", "--encoding", "latin-1", "--datasets", "d.csv", "--recipe", "theirs"]
    told = type_("import", "t.csv", *options, "-o", "s.h5")
    assert told.code == 0, told.err
    store = ResultStore("s.h5")
    assert store.errors().loc["ä"].to_dict() == {"x": 25.0, "y": 50.0}
    assert store.recipes == ["theirs"]
    columns = ["--columns", "dataset,error,error_low,error_high", "--json"]
    rows = json.loads(type_("query", "s.h5", *columns).out)
    assert rows[0]["error_low"] == pytest.approx(16.87797)
    assert rows[0]["error_high"] == pytest.approx(34.6553, rel=1e-4)
    assert rows[1]["error_low"] is None


def test_predictions_by_option(type_: Type) -> None:
    np.savez("p.npz", net=np.array([0, 1, 2, 2]))
    np.save("y.npy", np.array([0, 1, 2, 3]))
    told = type_("import", "--predictions", "x=p.npz", "--labels", "x=y.npy", "-o", "s.h5")
    assert told.code == 0, told.err
    assert ResultStore("s.h5").errors().loc["net", "x"] == 25.0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-o", "s.h5"], "nothing to import"),
        (["t.csv", "-o", "s.csv"], "-o s.csv: a results store ends in .h5 or .hdf5"),
        (["t.csv", "-o", "t.h5/x.h5"], "t.h5: is a file where a folder belongs"),
        (["t.csv", "--map", "model", "-o", "s.h5"], "--map: 'model' is not OURS=THEIRS"),
        (["t.csv", "--metric", "f1", "-o", "s.h5"], "--metric: unknown 'f1'; choose from top1,"),
        (["t.csv", "--targets", "val=3", "-o", "s.h5"], "--source: name the source dataset"),
        (["t.csv", "--error", "--fraction", "-o", "s.h5"], "row 2, a on val: 20 is outside 0 to 1"),
        (
            ["t.csv", "--predictions", "p.npz", "-o", "s.h5"],
            "--predictions: 'p.npz' is not DATASET=FILE",
        ),
        (["t.csv", "--datasets", "no.csv", "-o", "s.h5"], "no.csv: no such file"),
    ],
)
def test_mistakes_are_one_line(type_: Type, arguments: list[str], expected: str) -> None:
    written(Path("t.csv"), "model,val\na,20\n")
    written(Path("t.h5"), "not a folder")
    before = tree(Path())
    told = type_("import", *arguments)
    assert told.code in (1, 2)
    assert expected in told.line
    assert tree(Path()) == before


def test_export_of_nothing(type_: Type) -> None:
    told = type_("export", "nowhere", "-o", "release")
    assert (told.code, list(Path().iterdir())) == (2, [])
    assert told.line.startswith("error: nowhere: no such results store or study")
