"""Tables of results as people publish them: one account for import and analyses, or a refusal."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from import_factory import imported, written
from scipy.stats import spearmanr

import anynet_study
from anynet_study.core.errors import UserError
from anynet_study.store import Files, ImportOptions, ResultStore, understood_tables

ZOO = "Weight,Acc@1,Acc@5,Params,GFLOPS,Recipe\n" + "".join(
    f"net_{name},{one},{five},{params}M,{flops},link\n"
    for name, one, five, params, flops in (
        ("a", 56.5, 79.1, 61.1, 0.71),
        ("b", 84.1, 96.9, 88.6, 15.36),
        ("c", 74.4, 92.0, 8.0, 2.83),
        ("d", 76.1, 92.9, 25.6, 4.09),
    )
)


def medians(store: ResultStore) -> dict[str, float]:
    """The median error on each dataset."""
    return store.errors().median().round(4).to_dict()


def account(path: Path, **options: object) -> dict[str, object]:
    """What import --dry-run says of a table."""
    (found,) = understood_tables(Files([path]), ImportOptions(**options), {})
    return found.model_dump()


def test_a_table_of_a_model_zoo(tmp_path: Path) -> None:
    """Numbers that are no accuracies are no datasets, and do not make the command ask."""
    store = imported(tmp_path / "s.h5", written(tmp_path / "zoo.csv", ZOO), quantity=None)
    assert medians(store) == {"Acc@1": 24.75, "Acc@5": 7.55}
    assert store.columns("architectures")[1:] == ["Params", "GFLOPS", "Recipe"] or set(
        store.columns("architectures")
    ) >= {"Params", "GFLOPS"}


@pytest.mark.parametrize(
    "column",
    [
        "GFLOPs",
        "MACs",
        "param_count",
        "cars_std",
        "lr",
        "Epochs",
        "Average",
        "rank",
        "Size (MB)",
        "cars_lo",
        "cars high",
        "mCE",
        "cars_n",
        "img-size",
        "number_forward_passes",
        "batch size",
        "top1_std",
        "learning_rate",
        "cars_se",
        "cars ±",
        "val_loss",
        "ECE",
        "Depth",
        "id",
        "Unnamed: 0",
        "GPU hours",
        "n_seeds",
        "overall",
        "infer_macts",
        "arch_index",
        "cars_gap",
        "rank_diff",
        "cars_auc",
        "mIoU",
        "Energy",
        "patch",
    ],
)
def test_numbers_that_are_no_accuracy_describe(tmp_path: Path, column: str) -> None:
    path = written(tmp_path / "t.csv", f"model,cars,{column}\na,80,7\nb,70,9\nc,75,8\n")
    assert list(account(path, quantity="accuracy")["datasets"]) == ["cars"]
    told = account(path, quantity="accuracy", datasets=("cars", column))
    assert list(told["datasets"]) == ["cars", column]
    (named,) = understood_tables(Files([path]), ImportOptions(quantity="accuracy"), {column: {}})
    assert list(named.datasets) == ["cars", column]
    assert set(anynet_study.load(path, accuracy=True).errors) == {"cars"}


@pytest.mark.parametrize(
    "column", ["top1 accuracy", "mean accuracy", "in-memory", "error", "pets (mean per-class)"]
)
def test_accuracies_stay_datasets(tmp_path: Path, column: str) -> None:
    path = written(tmp_path / "t.csv", f"model,{column}\na,80\nb,70\n")
    quantity = "error" if column == "error" else "accuracy"
    assert list(account(path, quantity=quantity)["datasets"]) == [column]


@pytest.mark.parametrize(
    ("cells", "median"),
    [
        (("85.5 ± 0.2", "83.5 ± 0.8", "84.4 ± 0.8"), 15.6),
        (("85.5 +/- 0.2", "83.5+-0.8", "84.4 ± 0.8%"), 15.6),
        (("71.2%", "70.3 %", "75.2%"), 28.8),
        (("85.5 $\\pm$ 0.2", "83.5 \\pm 0.8", "84.4±0.8"), 15.6),
        (('"93,4"', '"92,1"', '"95,5"'), 6.6),
    ],
)
def test_accuracies_that_are_text(tmp_path: Path, cells: tuple[str, ...], median: float) -> None:
    rows = "".join(f"m{n},{70 + n},{cell}\n" for n, cell in enumerate(cells))
    store = imported(
        tmp_path / "s.h5",
        written(tmp_path / "t.csv", f"model,VLCS,PACS\n{rows}"),
        quantity="accuracy",
    )
    assert medians(store) == {"VLCS": 29.0, "PACS": median}
    if "85.5" in cells[0]:
        spreads = store.architectures()["PACS_std"]
        assert spreads.tolist() == [0.2, 0.8, 0.8]


@pytest.mark.parametrize(
    "cells",
    [
        ("85.5 (0.2)", "83.5 (0.8)", "84 (1)"),
        ('"85.5 [84, 87]"', '"83.5 [82, 85]"', '"84.4 [83, 86]"'),
        ("85.5/97.1", "83.5/96", "84/95"),
        ("85.5±0.2 (3)", "83.5±0.8 (3)", "84±1 (3)"),
        ("**85.5**", "*83.5*", "84*"),
        ("\\textbf{85.5}", "\\underline{83.5}", "$84.1$"),
        ("85.5†", "~83", "(84)"),
        ("85.5_{0.2}", "83.5_{0.8}", "84.4_{1}"),
        ("$85.5_{\\pm 0.2}$", "$83.5_{\\pm 0.8}$", "$84.4_{\\pm 1}$"),
    ],
)
def test_numbers_with_something_beside_them_do_not_vanish(
    tmp_path: Path, cells: tuple[str, ...]
) -> None:
    """Refused by cell, unless they are said to describe; texts with numbers in them describe."""
    rows = "".join(f"m{n},{70 + n},{cell},{n}x{n}\n" for n, cell in enumerate(cells))
    path = written(tmp_path / "t.csv", f"model,VLCS,PACS,kernel\n{rows}")
    with pytest.raises(UserError, match=r"row 2, column PACS: .* is it a number with its spread"):
        account(path, quantity="accuracy")
    told = account(path, quantity="accuracy", describe=("PACS",))
    assert list(told["datasets"]) == ["VLCS"]


def test_spreads_of_some_cells(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "model,a\nx,85.5 ± 0.2\ny,84.1\nz,83 ± 0.3\n")
    store = imported(tmp_path / "s.h5", path, quantity="accuracy")
    np.testing.assert_array_equal(store.architectures()["a_std"], [0.2, np.nan, 0.3])


def test_a_model_told_apart_by_a_number(tmp_path: Path) -> None:
    text = "model,img_size,top1\nvit,224,85.1\nvit,384,86.0\nr50,224,80.4\n"
    path = written(tmp_path / "timm.csv", text)
    with pytest.raises(UserError, match=r"--map model=model\+img_size"):
        account(path, quantity="accuracy")
    two = {"model": "model+img_size"}
    assert account(path, quantity="accuracy", columns=two)["models"] == 3


def test_a_comma_that_may_part_thousands_is_refused_by_cell(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", 'model,x\na,50\nb,"1,234"\n')
    with pytest.raises(UserError, match=r"row 3, column x: '1,234' is not a number"):
        imported(tmp_path / "s.h5", path)


def test_a_model_named_by_two_columns(tmp_path: Path) -> None:
    rows = [
        ("vit-b", "openai", 224, 0.68, 0.71),
        ("vit-b", "laion", 256, 0.70, 0.69),
        ("vit-b", "webli", 384, 0.76, 0.80),
        ("vit-l", "openai", 224, 0.75, 0.79),
        ("vit-l", "laion", 256, 0.74, 0.83),
    ]
    table = pd.DataFrame(rows, columns=["name", "pretrained", "img_size", "imagenet", "flowers"])
    table.to_csv(tmp_path / "clip.csv", index=False)
    how = {"quantity": "accuracy", "unit": "fraction"}
    with pytest.raises(UserError, match=r"--map model=name\+pretrained") as refused:
        imported(tmp_path / "s.h5", tmp_path / "clip.csv", **how)
    assert "replicate" not in str(refused.value)
    two = {"model": "name+pretrained"}
    store = imported(tmp_path / "s.h5", tmp_path / "clip.csv", columns=two, **how)
    errors = store.errors()
    assert list(errors.index) == [f"{name}+{trained}" for name, trained, *_ in rows]
    found = spearmanr(errors["imagenet"], errors["flowers"]).statistic
    assert found == pytest.approx(spearmanr(table["imagenet"], table["flowers"]).statistic)
    with pytest.raises(UserError, match=r"--map: .* has no column 'trained'"):
        imported(tmp_path / "t.h5", tmp_path / "clip.csv", columns={"model": "name+trained"}, **how)


def test_import_and_load_read_one_table_alike(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"model": [f"m{n}" for n in range(12)]})
    for name in ("params", "gflops", "year", "resolution", "imagenet", "flowers"):
        table[name] = random.uniform(5, 60, 12).round(2)
    table["resolution"] = 224
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    table.to_json(tmp_path / "t.json", orient="records")
    store = imported(tmp_path / "s.h5", tmp_path / "t.csv")
    expected = table.set_index("model")[["imagenet", "flowers"]]
    for source in ("s.h5", "t.csv", "t.tsv", "t.csv.gz", "t.json"):
        study = anynet_study.load(tmp_path / source, "imagenet")
        np.testing.assert_allclose(study.errors, expected)
        assert list(study.errors.columns) == ["imagenet", "flowers"]
    np.testing.assert_allclose(anynet_study.load(table.set_index("model")).errors, expected)
    assert set(store.columns("architectures")) >= {"params", "gflops", "year", "resolution"}


def test_a_size_in_megabytes_is_no_sampling_weight(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    errors = random.uniform(10, 40, (30, 2)).round(2)
    table = pd.DataFrame(errors, columns=["a", "b"]).assign(weight=random.uniform(1, 90, 30))
    table.to_csv(tmp_path / "w.csv", index_label="model")
    assert anynet_study.load(tmp_path / "w.csv").weights is None
    store = imported(tmp_path / "s.h5", tmp_path / "w.csv")
    assert anynet_study.load(store).weights is None
    renamed = table.rename(columns={"weight": "sampling_weight"})
    renamed.to_csv(tmp_path / "w.csv", index_label="model")
    np.testing.assert_allclose(anynet_study.load(tmp_path / "w.csv").weights, table["weight"])


def test_labels_that_count_from_one(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 10, 500)
    models = {
        f"m{k}": np.where(random.random(500) < 0.7, truth, random.integers(0, 10, 500))
        for k in range(4)
    }
    np.savez(tmp_path / "preds.npz", **models)
    np.save(tmp_path / "labels.npy", truth + 1)
    files = {"predictions": [("val", tmp_path / "preds.npz")]}
    with pytest.raises(UserError, match="do labels count from 1"):
        imported(tmp_path / "s.h5", labels={"val": tmp_path / "labels.npy"}, **files)
    np.save(tmp_path / "labels.npy", truth)
    store = imported(tmp_path / "s.h5", labels={"val": tmp_path / "labels.npy"}, **files)
    for name, predicted in models.items():
        assert store.errors().loc[name, "val"] == pytest.approx(100 * (predicted != truth).mean())


@pytest.mark.parametrize(
    ("text", "models", "encoding"),
    [
        *(
            ("model,a,b\nnone,93.4,71.2\ncutout,92.1,70.3\nNA,95.5,75.2\n", names, encoding)
            for names in (["none", "cutout", "NA"],)
            for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le")
        ),
        ("model,a,b\nx,93.4,71.2\ny,92.1,70.3\n,,\n,,\n", ["x", "y"], "utf-16-le"),
        ("sep=;\nmodel;a;b\nx;93,4;71,2\ny;92,1;70,3\n", ["x", "y"], "utf-16"),
        (
            "| model | a | b |\n|---|:-:|--:|\n| x | 93.4 | 71.2 |\n| y | 92.1 | 70.3 |\n",
            ["x", "y"],
            "utf-8-sig",
        ),
        ("model|a|b\n--|--|--\nx|93.4|71.2\ny|92.1|70.3\n", ["x", "y"], "utf-8"),
        (",model,a,b,,\n,x,93.4,71.2,,\n,y,92.1,70.3,,\n", ["x", "y"], "utf-16"),
    ],
)
def test_names_and_rows_as_spreadsheets_write_them(
    tmp_path: Path, text: str, models: list[str], encoding: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding)
    errors = imported(tmp_path / "t.h5", path, quantity="accuracy").errors()
    assert list(errors.index) == models
    assert errors.iloc[0].tolist() == pytest.approx([6.6, 28.8])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("val,cars\n80.5,70\n81.5,71\n", "'val', holds numbers, no names of models"),
        ("model,a,b,c\nx,10,20,15\ny,30,20,25\n", r"c \(the mean of the others"),
        (
            "model,a,b\nx,5,98\ny,6,99\n",
            r"b \(its median error would be 98.5%.*--dataset-columns a --ignore b",
        ),
        ("model,a,b\nx,10,20\ny,30,26\nAverage,20,23\n", "row 'Average' is the mean of the"),
        ("model,a,b\nx,10,20\ny,30,26\nMean ± std,20,23\n", "row 'Mean ± std' is the mean"),
        ("model,a,b\nx,10,26\ny,30,20\nBest,10,20\n", "row 'Best' is the min of the others"),
        (
            "model,a,b,c,● Natural\nx,10,20,9,15\ny,30,20,8,25\nz,8,4,5,6\n",
            r"● Natural \(the mean of the others, or of some side by side\)",
        ),
        (
            "model,a,b\nv,1,30\nw,2,20\nx,5,21\ny,4,22\nz,3,9\n",
            r"is each of these a dataset\? a \(ranks\)",
        ),
        ("|model|a|\n|--|--|\n|x|30|\n|y|?|\n", "row 4, column a: '\\?' is not a number"),
        (",Cars,,Pets,\nmodel,a,b,a,b\nx,1,2,3,4\n", "column 3 has no name; needed is one row of"),
        ("dataset,r50,r18\na,20,30\nb,25,31\n", "swap its rows and columns"),
        ("model,a\nx,0.05\ny,4\nz,6\n", "fractions and percent in one column"),
    ],
)
def test_what_nothing_explains_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path / "t.csv", text)
    with pytest.raises(UserError, match=told):
        imported(tmp_path / "s.h5", path)
    with pytest.raises(UserError, match=told):
        anynet_study.load(path)


def test_what_is_declared_is_believed(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "model,a,b\nx,5,98\ny,6,99\n")
    assert medians(imported(tmp_path / "s.h5", path, datasets=("a", "b"))) == {"a": 5.5, "b": 98.5}
    with pytest.raises(UserError, match="all models are worse than chance on a"):
        imported(
            tmp_path / "s.h5",
            written(tmp_path / "u.csv", "model,a\nx,92\ny,95\n"),
            known={"a": {"classes": 10}},
        )


def test_benchmarks_in_json(tmp_path: Path) -> None:
    rows = {
        f"net_{n}": {
            "clean": str(89 - n),
            "robust": str(59 - n),
            "number_forward_passes": 1,
            "unreliable": False,
        }
        for n in range(3)
    }
    path = written(tmp_path / "bench.json", json.dumps(rows))
    assert account(path, quantity="accuracy")["datasets"] == {"clean": 12.0, "robust": 42.0}


def runs_of(models: int = 16, trainings: int = 4) -> pd.DataFrame:
    """Long: model, dataset, replicate, accuracy of every training."""
    random = np.random.default_rng(3)
    rows = []
    for model in range(models):
        for dataset, noise in (("cars", 0.6), ("pets", 1.5)):
            for replicate in range(trainings):
                value = 60 + 2 * model + noise * random.normal()
                rows.append((f"m{model}", dataset, replicate, value))
    return pd.DataFrame(rows, columns=["model", "dataset", "replicate", "accuracy"])


def means_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Wide: model, and of each dataset its mean, std and n."""
    told = runs.groupby(["model", "dataset"], sort=False)["accuracy"].agg(["mean", "std", "count"])
    wide = told.unstack().swaplevel(axis="columns")
    ends = {"mean": "_mean", "std": "_std", "count": "_n"}
    wide.columns = [f"{dataset}{ends[what]}" for dataset, what in wide.columns]
    return wide.reset_index()


SPREAD = {"accuracy": "*_mean", "std": "*_std", "n": "*_n"}


def test_declared_spreads_feed_what_replicates_feed(tmp_path: Path) -> None:
    """Means, standard deviations and n give the intervals and the ICC that the trainings give."""
    runs = runs_of()
    runs.to_csv(tmp_path / "runs.csv", index=False)
    means_of(runs).to_csv(tmp_path / "means.csv", index=False)
    imported(tmp_path / "means.h5", tmp_path / "means.csv", quantity=None, columns=SPREAD)
    how = {"method": "pearson", "resamples": 200}
    truth = anynet_study.load(tmp_path / "runs.csv", **how)
    np.testing.assert_allclose(truth.errors["cars"].iloc[0], 100 - runs["accuracy"][:4].mean())
    for told in (
        anynet_study.load(tmp_path / "means.csv", columns=SPREAD, **how),
        anynet_study.load(means_of(runs).set_index("model"), columns=SPREAD, **how),
        anynet_study.load(tmp_path / "means.h5", **how),
    ):
        np.testing.assert_allclose(told.errors, truth.errors)
        pd.testing.assert_frame_equal(told.table("noise"), truth.table("noise"), rtol=1e-9)
        pd.testing.assert_frame_equal(
            told.table("rank-preservation"), truth.table("rank-preservation"), rtol=1e-9
        )
    # By hand: the pooled variance within models is that of a run.
    within = runs.groupby(["dataset", "model"])["accuracy"].var().groupby("dataset").mean()
    noise = truth.table("noise").set_index("dataset")["within_std"]
    np.testing.assert_allclose(noise[["cars", "pets"]], np.sqrt(within[["cars", "pets"]]))
    # Of ranks single runs are drawn, which serve as well as others.
    ranked = {"resamples": 200}
    drawn = anynet_study.load(tmp_path / "means.csv", columns=SPREAD, **ranked).table("noise")
    real = anynet_study.load(tmp_path / "runs.csv", **ranked).table("noise")
    np.testing.assert_allclose(drawn["icc"], real["icc"], atol=0.02)


def test_a_spread_that_nobody_declares_is_named_and_not_used(tmp_path: Path) -> None:
    table = means_of(runs_of())
    table.columns = [name.removesuffix("_mean") for name in table.columns]
    path = tmp_path / "t.csv"
    table.drop(columns=["cars_n", "pets_n"]).to_csv(path, index=False)
    told = account(path, quantity="accuracy")
    assert list(told["datasets"]) == ["cars", "pets"]
    assert "not declared, so cars_std, pets_std not used" in str(told["spread"])
    with pytest.raises(UserError, match="no replicates are known"):
        _ = anynet_study.load(path, accuracy=True).replicates
    two = {"std": "*_std", "n": "4"}
    assert "std from '*_std', n '4'" in str(
        account(path, quantity="accuracy", columns=two)["spread"]
    )
    study = anynet_study.load(path, accuracy=True, columns=two)
    assert len(study.replicates) == 16 * 2 * 4


def test_the_spread_in_cells_and_of_long_tables(tmp_path: Path) -> None:
    rows = "".join(f"m{n},{70 + n} ± 0.{n + 1}\n" for n in range(5))
    wide = written(tmp_path / "wide.csv", f"model,PACS\n{rows}")
    rows = "".join(f"m{n},PACS,{70 + n} ± 0.{n + 1}\n" for n in range(5))
    long = written(tmp_path / "long.csv", f"model,dataset,accuracy\n{rows}")
    apart = "".join(f"m{n},PACS,0.{70 + n},0.00{n + 1},3\n" for n in range(5))
    columns = written(tmp_path / "apart.csv", f"model,dataset,accuracy,sd,runs\n{apart}")
    for path, std, n, more in (
        (wide, "PACS_std", "3", {}),
        (long, "accuracy_std", "3", {}),
        (columns, "sd", "runs", {"fraction": True}),
    ):
        study = anynet_study.load(path, accuracy=True, columns={"std": std, "n": n}, **more)
        groups = study.replicates.groupby("architecture", sort=False)["error"]
        np.testing.assert_allclose(groups.mean(), 30 - np.arange(5))
        np.testing.assert_allclose(groups.std(), 0.1 * np.arange(1, 6))
        assert groups.count().tolist() == [3] * 5


@pytest.mark.parametrize(
    ("columns", "cells", "told"),
    [
        ({"std": "sd"}, "1,3", "--map std: a spread over trainings is declared by"),
        ({"n": "k"}, "1,3", "--map n: a spread over trainings is declared by"),
        ({"std": "sd", "n": "count"}, "1,3", "no column 'count'"),
        ({"std": "*_sd", "n": "k"}, "1,3", r"no column '\*_sd'"),
        ({"std": "sd", "n": "k"}, "-1,3", "row 3, cars: the standard deviation is negative"),
        ({"std": "sd", "n": "k"}, "1,", "row 3, cars: the number of trainings is missing"),
        ({"std": "sd", "n": "k"}, "1,2.5", "row 3, cars: the number of trainings is no whole"),
        ({"std": "sd", "n": "0"}, "1,3", "row 2, cars: the number of trainings is no whole"),
        ({"accuracy": "*_mean"}, "1,3", r"--map accuracy=\*_mean: .* has no such column"),
    ],
)
def test_a_spread_that_is_declared_wrongly(
    tmp_path: Path, columns: dict[str, str], cells: str, told: str
) -> None:
    path = written(tmp_path / "t.csv", f"model,cars,sd,k\na,70,1,3\nb,71,{cells}\n")
    with pytest.raises(UserError, match=told):
        account(path, quantity="accuracy", columns=columns)
