"""Reading errors: studies, stores, CSV and Parquet, and every bad file in one line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_study import run_records, small_study, write_store
from synthetic_study import (
    ROLES,
    staged_population,
    write_study,
)

from anynet_study.analysis.analyses import load
from anynet_study.analysis.analyses.arguments import parse_roles
from anynet_study.analysis.apr import Roles
from anynet_study.core.errors import UserError
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import ResultStore


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "studies" / "toy"
    write_study(folder)
    return folder


def write(folder: Path, text: str) -> Path:
    path = folder / "errors.csv"
    path.write_text(text)
    return path


def test_a_study_is_found_by_file_folder_and_name(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parents[1])
    tables = [load(Path(where)) for where in (study / "results.h5", study, "toy")]
    for read in tables:
        assert read.name == "toy"
        assert read.roles == ROLES
        assert read.errors.shape == (16, 4)
        assert read.known("architectures") is not None
        assert list(read.architectures["architecture"]) == list(read.errors.index)
        assert read.known("replicates") is not None
        assert len(read.replicates) == 16 * 4 + 4 * 4 - 1
        assert np.isnan(read.errors.loc[read.errors.index[-1], "lines"])


def test_a_store_that_is_no_study_is_called_by_its_file(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "testbed.h5"
    copy.write_bytes((study / "results.h5").read_bytes())
    assert load(copy).name == "testbed"


def test_a_file_is_no_study_and_a_text_no_dict_of_columns(study: Path) -> None:
    with pytest.raises(UserError, match=r"results.h5 is a file; this command needs a study"):
        StudyFolder.open(study / "results.h5")
    with pytest.raises(UserError, match=r"columns: 'model=net' is a text; needed is a dict"):
        load(study, columns="model=net")  # type: ignore[arg-type]


def test_options_replace_what_a_store_says(study: Path) -> None:
    roles = Roles("pets", {"pets": 9}, {"lines": 2})
    assert load(study, roles).roles == roles
    with pytest.raises(UserError, match="--percent and --map are for tables"):
        load(study, accuracy=True)


def test_another_recipe_has_the_datasets_that_it_was_trained_on(tmp_path: Path) -> None:
    small = small_study(6)
    basic = run_records(small)
    target = [record for record in basic if record.dataset == "target-0"]
    longer = [
        replace(record, run_id=f"{number:016x}", recipe="longer")
        for number, record in enumerate(target, len(basic))
    ]
    study = load(write_store(tmp_path, small, [*basic, *longer]).path)
    assert {name: list(table) for name, table in study.recipes.items()} == {"longer": ["target-0"]}
    table = study.table("recipes").query("compared == 'recipe'")
    assert table["dataset"].tolist() == ["target-0"]


def written(tmp_path: Path, **columns: list[str]) -> ResultStore:
    """A store of a source trained by `basic` and a target fine-tuned by `grid`, and by `probe`.

    Errors by `probe` are higher by 30. `columns` are further ones of /datasets.
    """
    small = small_study(6)
    recipe_of = {"base": "basic", "target-0": "grid"}
    records = [
        replace(record, recipe=recipe_of[record.dataset])
        for record in run_records(small)
        if record.dataset in recipe_of
    ]
    grid = [record for record in records if record.recipe == "grid"]
    records += [
        replace(one, run_id=f"{number:016x}", recipe="probe", error=one.error + 30)
        for number, one in enumerate(grid, 1000)
    ]
    kept = small.datasets[small.datasets["dataset"].isin(recipe_of)].assign(**columns)
    return write_store(tmp_path, replace(small, datasets=kept), records)


STANDING = {"errors_of": ["basic", "grid"], "recipes": ['["basic"]', '["grid", "probe"]']}


def test_each_dataset_has_the_errors_of_the_recipe_that_stands_for_it(tmp_path: Path) -> None:
    """Errors, replicates, curves, costs, concerns and correlations read one table."""
    plain, store = (written(tmp_path / name, **of) for name, of in (("a", {}), ("b", STANDING)))
    study, small = load(store.path, resamples=200), small_study(6)
    assert study.errors_of == {"base": "basic", "target-0": "grid"}
    assert study.recipe == "basic (base), grid"
    expected = small.errors[["base", "target-0"]]
    pd.testing.assert_frame_equal(study.errors, expected, check_names=False)
    assert set(study.replicates["dataset"]) == set(study.curves["dataset"]) == set(expected)
    assert set(study.costs) == set(expected)
    assert study.table("match")["n"].tolist() == [6]
    assert {name: list(table) for name, table in study.recipes.items()} == {"probe": ["target-0"]}
    known = load(plain.path, resamples=200)
    assert known.errors_of == {"base": "basic", "target-0": "basic"}
    assert known.errors["target-0"].isna().all(), "a store that says nothing is read as before"
    assert list(known.recipes) == ["grid", "probe"]


def test_another_recipe_has_the_source_of_the_one_that_stands_for_it(tmp_path: Path) -> None:
    store, expected = written(tmp_path / "a", **STANDING), small_study(6).errors
    study = load(store.path, recipe="probe", resamples=200)
    assert study.errors_of == {"base": "basic", "target-0": "probe"}
    assert study.errors["base"].equals(expected["base"])
    assert study.errors["target-0"].equals(expected["target-0"] + 30)
    assert {name: list(table) for name, table in study.recipes.items()} == {"grid": ["target-0"]}
    only = load(store.path, recipe="basic")
    assert only.errors["target-0"].isna().all(), "of a target nothing is filled in"
    part = load(store.path, where="recipe = 'probe'")
    assert part.errors_of == {"target-0": "probe"}
    asked = {"recipes": ['["basic", "grid"]', '["grid"]'], "errors_of": STANDING["errors_of"]}
    under_way = load(written(tmp_path / "b", **asked).path, recipe="grid")
    assert under_way.errors["base"].isna().all(), "runs that were asked for are missing"


@pytest.mark.parametrize(("fewest", "most"), [(3, 3), (2, 5)])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_describes_architectures_is_no_dataset(
    tmp_path: Path, fewest: int, most: int, suffix: str
) -> None:
    architectures = staged_population(8, fewest, most)
    described = architectures.assign(
        **{"s1": 2, "stem": "simple", "block": "basic", "se_ratio": 0.25, "weight": 1.5}
    )
    values = np.random.default_rng(0).uniform(10, 60, (8, 2))
    table = described.join(pd.DataFrame(values, columns=["s", "d1000"]))
    path = tmp_path / f"all.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    read = load(path)
    assert list(read.errors.columns) == ["s", "d1000"]
    assert read.known("population") is not None
    assert read.known("architectures") is not None
    pd.testing.assert_frame_equal(
        read.architectures[described.columns], described, check_dtype=False, check_names=False
    )


def test_some_columns_describe_architectures_without_their_stages(tmp_path: Path) -> None:
    read = load(write(tmp_path, "model,one,weight,flops\nx,10,2,3e8\ny,20,0.5,4e8\n"))
    assert list(read.errors.columns) == ["one"]
    assert read.known("population") is None
    assert read.known("architectures") is not None
    assert read.architectures["flops"].tolist() == [3e8, 4e8]


def test_a_dataset_may_be_called_like_one_column_of_a_stage(tmp_path: Path) -> None:
    read = load(write(tmp_path, "model,d1,d2\nx,10,2\ny,20,5\n"))
    assert list(read.errors.columns) == ["d1", "d2"]


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("model,a,b\nx,5,9\ny,6,8\n", None, "read as errors (%)"),
        ("model,a_acc,b_acc\nx,75,89\ny,76,88\n", None, "read as accuracies, shown as errors (%)"),
        ("model,a,b\nx,75,89\ny,76,88\n", True, "read as accuracies, shown as errors (%)"),
        ("model,a,b\nx,75,89\ny,76,88\n", False, "read as errors (%)"),
        ("model,a,b\nx,75,9\ny,76,8\n", None, None),
    ],
)
def test_what_the_values_of_a_table_are_is_told_or_asked_for(
    tmp_path: Path, text: str, said: bool | None, expected: str | None
) -> None:
    """Errors, unless names of columns or options say otherwise; no median above 50% is assumed."""
    (tmp_path / "t.csv").write_text(text)
    if expected is None:
        with pytest.raises(UserError, match=r"median on a is 75\.5%; say so with --error or --acc"):
            load(tmp_path / "t.csv", accuracy=said)
        return
    study = load(tmp_path / "t.csv", accuracy=said)
    assert study.inputs.read_as == expected
    first = study.errors.iloc[0, 0]
    assert first == (75 if said is False else 5 if "5,9" in text else 25)


def test_roles_from_options() -> None:
    roles = parse_roles("A", ["A=1000,A-10=10", "A-2=2"], ["pets=9"])
    assert roles == Roles("A", {"A": 1000, "A-10": 10, "A-2": 2}, {"pets": 9})
    assert parse_roles("", [], []) is None
    with pytest.raises(UserError, match="--source: name the source"):
        parse_roles("", ["A=3"], [])
    with pytest.raises(UserError, match="--targets: 'pets' is not NAME=CLASSES"):
        parse_roles("A", ["A=3"], ["pets"])


def test_a_part_of_a_store_is_what_is_there_without_the_other_runs(study: Path) -> None:
    whole = load(study)
    frame = whole.architectures.set_index("architecture")
    deep = list(frame.index[frame["d1"] >= 3])
    condition = "d1 >= 3 and dataset != 'lines' and replicate = 0"
    part = load(study, where=condition)
    assert 2 < len(deep) < len(frame)
    first = load(study, replicates="first").errors
    pd.testing.assert_frame_equal(part.errors, first.loc[deep].drop(columns="lines"))
    assert part.architectures["architecture"].tolist() == deep
    assert list(part.datasets["dataset"]) == list(part.errors)
    assert set(part.roles.targets) == {*whole.roles.targets} - {"lines"}
    assert part.known("replicates") is None
    assert whole.known("replicates") is not None
    assert part.table("correlations")["n"].max() == len(deep)
    assert str(part.options).endswith(f"; only runs where {condition}")


def test_a_part_of_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "m,flops,A,B\na,1,50,9\nb,2,40,8\nc,2,30,\nd,3,20,6\n")
    part = load(path, where="flops = 2 or (dataset = 'A' and error < 25)")
    assert list(part.errors.index) == ["b", "c", "d"]
    np.testing.assert_array_equal(part.errors, [[40, 8], [30, np.nan], [20, np.nan]])
    assert part.architectures["flops"].tolist() == [2, 2, 3]
    assert list(load(path, where="dataset = 'B'").errors) == ["B"]


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ("dataset = A", "text stands in single quotes: 'A'"),
        ("depth > 2", "no column 'depth'; there are: "),
        ("error < 0", "is kept by the condition error < 0"),
    ],
)
def test_conditions_of_no_part(study: Path, tmp_path: Path, where: str, complaint: str) -> None:
    for source in (study, write(tmp_path, "m,A,B\na,50,9\nb,40,8\n")):
        with pytest.raises(UserError, match=complaint):
            load(source, where=where)
