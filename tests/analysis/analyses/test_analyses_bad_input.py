"""Every table of `analyze` on bad tables: one clear line, or NaN in the rows that it is about."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pandas as pd
import pytest
from pandas.api.types import is_numeric_dtype
from quick import slow_but
from small_study import small_study

from anynet_study.analysis.analyses import TABLES, drivers, study_of
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.apr import Roles
from anynet_study.analysis.study import ImagePredictions, Study
from anynet_study.core.errors import UserError

COUNT, BAD = 26, "target-1"
OPTIONS = Options(resamples=40)

Known = dict[str, object]
IMAGES = 60
LABELS = (np.arange(IMAGES) % 10).astype(np.uint16)


def predicted(dataset: str, test_set: str, architectures: list[str]) -> ImagePredictions:
    """Each architecture has some images wrong, which ones depends on its name."""
    classes = np.tile(LABELS, (len(architectures), 1))
    for row, name in zip(classes, architectures, strict=True):
        seed = [*name.encode(), *dataset.encode(), len(test_set)]
        row[np.random.default_rng(seed).permutation(IMAGES)[: 5 + len(test_set)]] += 1
    return ImagePredictions(architectures, classes, LABELS)


def trials_of(errors: pd.DataFrame) -> pd.DataFrame:
    """Three settings tried with each architecture on each dataset; one is best on average."""
    long = errors.stack().rename("error").rename_axis(["architecture", "dataset"]).reset_index()
    rows = pd.concat([long.assign(trial=trial, lr=0.1**trial) for trial in range(3)])
    rows["error"] += np.random.default_rng(0).normal(rows["trial"] * 2 % 3, 1)
    rows["validation_error"] = rows["error"] + 1
    best = rows.groupby(["architecture", "dataset"])["validation_error"].transform("min")
    rows["chosen"] = rows["validation_error"] == best
    return rows.assign(tuned="tuned", replicate=0, rung=0, epochs=2, seconds=36.0, trains=True)


@pytest.fixture(scope="module", autouse=True)
def small_forests() -> Iterator[None]:
    """Most of the time would be the forests'."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drivers, "TREES", 30)
        yield


@pytest.fixture(scope="module")
def good() -> Known:
    """A study that has the data for every table."""
    study = small_study(COUNT, targets=2)
    errors = study.errors
    fewer = (
        errors[["base"]].set_axis(["base-half"], axis=1) * 0.9 + errors[["base-5"]].to_numpy() / 9
    )
    errors = errors.join(fewer).join(errors[[BAD]].set_axis(["balanced"], axis=1) + 1)
    generator = np.random.default_rng(0)
    moved = errors + generator.normal(0, 1, errors.shape)
    datasets = study.datasets.set_index("dataset").reindex(errors.columns)
    datasets = datasets.fillna({"role": "extra", "classes": 10, "train_images": 500})
    datasets["variant"] = '{"base": "x"}'
    datasets.loc["base", "variant"] = datasets.loc["base-half", "variant"] = '{"base": "base"}'
    datasets.loc["base-half", "variant"] = '{"base": "base", "fraction": 0.5}'
    datasets.loc[BAD, "variant"] = '{"base": "t"}'
    datasets.loc["balanced", "variant"] = '{"base": "t", "balanced": true}'
    datasets = datasets.rename_axis("dataset").reset_index()
    shifted = errors[["base"]].set_axis(["test"], axis=1).assign(blur=moved["base"] + 5)
    return {
        "errors": errors,
        "architectures": study.parameters,
        "roles": Roles.from_datasets(study.datasets),
        "replicates": study.replicates,
        "curves": study.curves,
        "datasets": datasets,
        "training_errors": errors / 2,
        "costs": dict.fromkeys(errors, 10.0) | {"base-5": 5.0, "base-2": 2.0},
        "recipes": {"tuned": moved},
        "by_metric": {"top1": errors, "top5": moved / 3},
        "evaluated": {"base": shifted.assign(new=moved["base"] + 9)},
        "recipe_evaluated": {"tuned": {"base": shifted - 1}},
        "images": {name: {"test": IMAGES, "blur": IMAGES, "new": IMAGES} for name in errors},
        "predicted": predicted,
        "trials": trials_of(errors),
    }


@pytest.fixture(scope="module")
def table_of(good: Known) -> Callable[[str], pd.DataFrame]:
    """A table of the good study, computed once."""
    return cache(study_of("good", OPTIONS, **good).table)


def changed(known: Known, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Study:
    """The study with the same change in all tables of errors."""
    tables = {name: change(known[name]) for name in ("errors", "training_errors")}
    groups = {
        group: {name: change(table) for name, table in known[group].items()}
        for group in ("recipes", "by_metric")
    }
    return study_of("changed", OPTIONS, **known | tables | groups)


def unknown(table: pd.DataFrame) -> "pd.Series[bool]":
    """Numbers that lack in rows not about the bad dataset, and that say nothing of it."""
    numbers = table.select_dtypes("number")
    about = table.select_dtypes(exclude="number").astype(str).eq(BAD).any(axis=1)
    noted = table["note"].ne("") if "note" in table else about
    lacking: pd.Series[bool] = numbers[~about & ~noted].isna().stack()
    return lacking[lacking]


def all_finite(table: pd.DataFrame) -> bool:
    """But for what is missing, and the ends of bins."""
    numbers = table.drop(columns=["from", "to"], errors="ignore").select_dtypes("number")
    return not np.isinf(numbers.to_numpy(np.float64, na_value=0)).any()


def with_column(values: Callable[[pd.Series], pd.Series]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(**{BAD: values(table[BAD])}) if BAD in table else table


COLUMNS = {
    "constant": with_column(lambda column: column * 0 + 7.0),
    "missing": with_column(lambda column: column * np.nan),
    "of three": with_column(lambda column: column.where(np.arange(COUNT) < 3)),
    "constant but for one": with_column(lambda c: (c * 0 + 7.0).where(np.arange(COUNT) > 0, 9.0)),
}


#: Distances between datasets are not asked of this study (test_distances_analysis.py does).
STATED = [
    pytest.param(name, marks=pytest.mark.slow) if name == "stages" else name
    for name in TABLES
    if name != "distance"
]


@pytest.mark.parametrize("name", STATED)
def test_the_good_study_has_every_table(name: str, table_of: Callable[[str], pd.DataFrame]) -> None:
    """Whose rows are data and whose columns hold numbers or texts: no dashes, no summary rows."""
    table = table_of(name)
    assert len(table)
    assert all_finite(table)
    # Average robustness is robustness on a shift of its own, with a line and a verdict.
    for column in table.columns.difference(["shift"]):
        values = table[column].dropna()
        assert is_numeric_dtype(values) or values.map(is_text).all(), column


def is_text(value: object) -> bool:
    return isinstance(value, str) and value not in ("–", "-", "nan", "average", "mean", "total")


@pytest.mark.parametrize(
    "column",
    slow_but(["missing"], COLUMNS),
)
@pytest.mark.parametrize("name", STATED)
def test_a_bad_column_spoils_only_its_own_rows(
    name: str, column: str, good: Known, table_of: Callable[[str], pd.DataFrame]
) -> None:
    before = table_of(name)
    study = changed(good, COLUMNS[column])
    after = study.get(name)
    if after is None:
        assert "\n" not in study.left_out[name]
        return
    if column == "constant but for one":
        # Estimates that rest on it too, such as averages, have no interval: "(no interval)" tells.
        after = after[[each for each in after if not each.endswith(("low", "high"))]]
    assert len(unknown(after)) <= len(unknown(before)), unknown(after)
    assert all_finite(after)


REFUSED = {
    "infinite": with_column(lambda column: column.where(np.arange(COUNT) > 0, np.inf)),
    "words": with_column(lambda column: column.astype(object).where(np.arange(COUNT) > 0, "n/a")),
    "twice": lambda table: pd.concat([table, table.iloc[:1]]),
}
#: Tables that rest on none of the tables of errors that are changed here.
ELSEWHERE = {
    *("noise", "corrected", "rank-preservation", "duration"),
    *("shifts", "gaps"),
    *("effective-robustness", "significance", "label-sets"),
    *("class-accuracy", "confusion", "budgets", "distance", "tuning", "tuned"),
}


@pytest.mark.parametrize(
    "kind",
    slow_but(["words"], REFUSED),
)
@pytest.mark.parametrize("name", [name for name in TABLES if name not in ELSEWHERE])
def test_what_is_no_table_of_errors_is_one_line(name: str, kind: str, good: Known) -> None:
    study = changed(good, REFUSED[kind])
    if name == "recipes":  # those on further test sets rest on none of the changed tables
        table = study.table(name)
        table = table[table["compared"] != "recipe, on further test sets"]
        assert {*table["compared"]} == {"recipe", "top-5 with top-1 errors", "balanced classes"}
        said, known = list(table["note"]), table["estimate"].notna()
        assert all(said)
        assert not known.any()
    else:
        with pytest.raises(UserError) as caught:
            study.table(name)
        said = [str(caught.value)]
    assert not any("\n" in line for line in said)
