"""Tables of any models, in any of the shapes and formats that people have."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from import_factory import imported, same_errors, written
from quick import slow_but

from anynet_study import apr
from anynet_study.design_space import DesignSpace
from anynet_study.store import ResultStore, select, stores_equal, to_pandas

TESTBED = "imagenet-testbed-top1.csv"
WIDE = pd.DataFrame(
    {"val": [23.87, 20.5, np.nan], "sketch": [75.9, np.nan, 60.25]},
    index=["resnet50", "vit, base", "Größe-Ä"],
)


def long_of(wide: pd.DataFrame) -> pd.DataFrame:
    named = wide.rename_axis(index="model", columns="dataset")
    return named.stack().rename("error").reset_index()


def test_nats_bench_strings_are_names(tmp_path: Path) -> None:
    names = [
        f"|nor_conv_{k}x{k}~0|+|skip_connect~0|{op}~1|+|none~0|none~1|avg_pool_3x3~2|"
        for k in (1, 3)
        for op in ("none", "nor_conv_3x3")
    ]
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        rng.uniform(40, 94, (4, 3)), index=names, columns=["cifar10", "cifar100", "ImageNet16-120"]
    )
    wide = tmp_path / "nats.csv"
    table.rename_axis(index="arch_str").to_csv(wide)
    long = tmp_path / "long.csv"
    melted = long_of(table).rename(columns={"model": "arch", "dataset": "task", "error": "acc"})
    melted.assign(seed=777).to_csv(long, index=False)
    first = imported(tmp_path / "wide.h5", wide, quantity="accuracy")
    second = imported(tmp_path / "long.h5", long, quantity=None)
    same_errors(first.errors(), 100 - table)
    same_errors(second.errors(), 100 - table)
    assert second.runs()["replicate"].unique().tolist() == [777]
    found = to_pandas(
        select(first, "runs", f"architecture = '{names[2]}' and dataset = 'cifar100'")
    )
    assert found["error"].tolist() == [100 - table.loc[names[2], "cifar100"]]


WRITERS = {
    "wide.csv": lambda path: WIDE.rename_axis(index="model").to_csv(path),
    "unnamed.csv": lambda path: WIDE.to_csv(path),
    "numbered.csv": lambda path: WIDE.rename_axis(index="model").reset_index().to_csv(path),
    "tabs.tsv": lambda path: WIDE.to_csv(path, sep="\t"),
    "semicolons.csv": lambda path: WIDE.to_csv(path, sep=";", decimal=","),
    "bom.csv": lambda path: WIDE.to_csv(path, encoding="utf-8-sig"),
    "utf16.csv": lambda path: WIDE.to_csv(path, encoding="utf-16"),
    "wide.parquet": lambda path: WIDE.to_parquet(path),
    "numbered.parquet": lambda path: WIDE.rename_axis(index="model").reset_index().to_parquet(path),
    "records.json": lambda path: (
        WIDE.rename_axis(index="model").reset_index().to_json(path, orient="records")
    ),
    "columns.json": lambda path: path.write_text(
        json.dumps(WIDE.rename_axis(index="model").reset_index().to_dict("list"))
    ),
    "models.json": lambda path: WIDE.T.to_json(path),
    "lines.jsonl": lambda path: (
        WIDE.rename_axis(index="model").reset_index().to_json(path, orient="records", lines=True)
    ),
    "long.csv": lambda path: long_of(WIDE).to_csv(path, index=False),
    "long.parquet": lambda path: long_of(WIDE).to_parquet(path),
    "long.json": lambda path: long_of(WIDE).to_json(path, orient="records"),
    "long.ndjson": lambda path: long_of(WIDE).to_json(path, orient="records", lines=True),
}


@pytest.mark.parametrize(
    "name",
    slow_but([*WRITERS][::4], WRITERS),
)
def test_every_format_and_shape_gives_the_same_errors(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    store = imported(tmp_path / "store.h5", tmp_path / name)
    same_errors(store.errors(), WIDE)
    assert store.provenance["import"].count(name) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wide.csv", "long.parquet"])
def test_importing_again_gives_an_equal_store(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    imported(tmp_path / "a.h5", tmp_path / name)
    imported(tmp_path / "b.h5", tmp_path / name)
    imported(tmp_path / "b.h5", tmp_path / name)
    assert stores_equal(tmp_path / "a.h5", tmp_path / "b.h5") == []


def test_accuracies_and_fractions(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "model,val\na,0.75\nb,0.5\n")
    for quantity, expected in (("accuracy", [25.0, 50.0]), ("error", [75.0, 50.0])):
        store = imported(tmp_path / "s.h5", table, quantity=quantity, unit="fraction")
        assert store.errors()["val"].tolist() == expected
    small = imported(tmp_path / "s.h5", table, unit="percent").errors()["val"]
    assert small.tolist() == [0.75, 0.5]


def test_columns_may_have_any_names(tmp_path: Path) -> None:
    table = written(
        tmp_path / "t.csv", "who,on,top1_acc,Date,year\nA,x,75,today,2015\nA,y,50,later,2015\n"
    )
    columns = {"model": "who", "dataset": "on", "accuracy": "top1_acc"}
    store = imported(tmp_path / "s.h5", table, columns=columns, ignore=("Date",), quantity=None)
    assert store.errors().loc["A"].to_dict() == {"x": 25.0, "y": 50.0}
    assert store.architectures().to_dict("list") == {"architecture": ["A"], "year": [2015]}


def test_what_describes_the_models_goes_with_them(tmp_path: Path) -> None:
    text = (
        "name,family,flops,val,latency,pretrained\n"
        "a,resnet,4000000000,20,1.5,true\nb,vit,,30,2500,false\n"
    )
    store = imported(tmp_path / "s.h5", written(tmp_path / "t.csv", text), describe=("latency",))
    assert list(store.errors().columns) == ["val"]
    about = store.architectures().set_index("architecture")
    assert about["family"].to_dict() == {"a": "resnet", "b": "vit"}
    assert about.loc["a", "flops"] == 4e9
    assert about["latency"].tolist() == [1.5, 2500.0]
    assert about["pretrained"].tolist() == ["true", "false"]
    found = to_pandas(
        select(store, "runs", "family = 'vit'", columns=["architecture", "latency", "error"])
    )
    assert found.values.tolist() == [["b", 2500.0, 30.0]]


def test_networks_of_ours_get_their_ids(tmp_path: Path) -> None:
    space = DesignSpace.anynetx()
    population = space.sample(3, flops=(360e6, 400e6), seed=0)
    described = population.to_pandas()
    described.insert(1, "digits", [10.0, 20.0, 30.0])
    named = described.assign(architecture=["one", "two", "three"])
    named.loc[2, "w1"] = np.nan  # not known to the last: keeps its name
    named.to_csv(tmp_path / "named.csv", index=False)
    described[["architecture", "digits"]].assign(cars=[1.5, 2.5, 3.5]).drop(
        columns="digits"
    ).to_csv(tmp_path / "ids.csv", index=False)
    store = imported(tmp_path / "s.h5", tmp_path / "named.csv", tmp_path / "ids.csv")
    assert store.errors().index.tolist() == [*population.ids[:2], "three", population.ids[2]]
    assert store.errors().iloc[0].to_dict() == {"digits": 10.0, "cars": 1.5}
    about = store.architectures().set_index("architecture")
    assert about["name"].tolist()[:2] == ["one", "two"]
    assert about["flops"].tolist()[:2] == population.table["flops"].to_pylist()[:2]


def test_replicates_recipes_and_whatever_else_a_run_has(tmp_path: Path) -> None:
    text = (
        "model,dataset,error,replicate,recipe,seconds,device,metric\n"
        "a,x,10,0,basic,60,gpu,top1\na,x,14,1,basic,61,gpu,top1\n"
        "a,x,9,0,long,600,cpu,top1\na,x,2,0,basic,60,gpu,top5\n"
    )
    table = written(tmp_path / "t.csv", text)
    store = imported(tmp_path / "s.h5", table, metric="top1")
    assert store.recipes == ["basic", "long"]
    assert store.errors().loc["a", "x"] == 12.0
    assert store.errors(recipe="long").loc["a", "x"] == 9.0
    assert store.runs()["seconds"].tolist() == [60.0, 61.0, 600.0]
    top5 = imported(tmp_path / "s.h5", table, metric="top5")
    assert top5.errors().loc["a", "x"] == 2.0
    assert top5.datasets()["metric"].tolist() == ["top5"]


@pytest.mark.slow
def test_several_files_and_stores_make_one(tmp_path: Path) -> None:
    first = written(tmp_path / "a.csv", "model,val,family\nr50,24,resnet\nr18,30,resnet\n")
    second = written(tmp_path / "b.json", '{"r18": {"cars": 12.5}, "vit": {"cars": 11.5}}')
    together = imported(tmp_path / "all.h5", first, second)
    assert together.errors().shape == (3, 2)
    assert together.journals()["journal"].tolist() == ["a.csv", "b.json"]
    out = tmp_path / "step.h5"
    imported(out, first)
    extended = imported(out, out, second)
    assert stores_equal(together, extended) == []
    assert extended.runs()["journal"].tolist() == together.runs()["journal"].tolist()


def test_datasets_are_described_by_a_sidecar_and_roles(tmp_path: Path) -> None:
    from anynet_study.store.importing import read_sidecar, with_roles

    sidecar = written(
        tmp_path / "d.csv", "dataset,classes,test_images,metric\nval,1000,50000,top1\ncars,8,,\n"
    )
    known = with_roles(read_sidecar(sidecar), "val", {"val": 1000}, {"cars": 8})
    table = written(tmp_path / "t.csv", "model,val,cars,x\na,24,12,5\nb,30,10,6\n")
    store = imported(tmp_path / "s.h5", table, known=known)
    datasets = store.datasets().set_index("dataset")
    assert datasets["role"].to_dict() == {"val": "source", "cars": "target", "x": "extra"}
    assert apr.Roles.from_datasets(store.datasets()).targets == {"cars": 8}
    assert np.isnan(datasets.loc["x", "classes"])
    runs = store.runs(["dataset", "error", "error_low", "error_high"]).set_index("dataset")
    low, high = apr.binomial_interval([24.0, 30.0], 50_000)
    assert runs.loc["val", "error_low"].tolist() == low.tolist()
    assert runs.loc["val", "error_high"].tolist() == high.tolist()
    assert runs.loc["cars", ["error_low", "error_high"]].isna().all(axis=None)


def test_rows_of_a_long_table_may_have_any_order(tmp_path: Path) -> None:
    wide = pd.DataFrame(np.random.default_rng(1).uniform(1.5, 60, (40, 9)).round(6))
    wide.index, wide.columns = [f"m{i}" for i in wide.index], [f"d{i}" for i in wide.columns]
    long_of(wide).sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv", index=False)
    long_of(wide).to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    for name in ("t.csv", "t.jsonl"):
        errors = imported(tmp_path / "s.h5", tmp_path / name).errors()
        same_errors(errors.loc[wide.index, wide.columns], wide)


def test_a_file_of_the_same_name_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    first = written(tmp_path / "t.csv", "model,val\na,24\n")
    second = written(tmp_path / "x/t.csv", "model,cars\na,24\n")
    store = imported(tmp_path / "s.h5", first, second)
    assert store.journals()["journal"].tolist() == [str(first), str(second)]
    assert isinstance(store, ResultStore)


def test_numbers_as_names_and_whole_numbers_of_any_length_are_exact(tmp_path: Path) -> None:
    cells = '[{"model": 18.0, "val": 2, "hash": 9007199254740993}, {"model": 0.1, "val": 3}]'
    store = imported(tmp_path / "s.h5", written(tmp_path / "t.json", cells), describe=("hash",))
    assert store.errors().index.tolist() == ["18", "0.1"]
    assert store.architectures()["hash"].tolist() == ["9007199254740993", ""]
    text = "model,val,hash\na,2,9007199254740993\n"
    store = imported(tmp_path / "c.h5", written(tmp_path / "t.csv", text), describe=("hash",))
    assert store.architectures()["hash"].tolist() == [9007199254740993]
