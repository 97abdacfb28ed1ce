"""Which datasets are sources, targets and further test sets is declared, never guessed."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import in_this_process

import anynet_study
from anynet_study import apr
from anynet_study.analysis.analysis import remarks
from anynet_study.core.errors import UserError
from anynet_study.engine.sweep import Sweep

IMAGES = {"val": 50_000, "v2": 10_000, "a": 7_500}


@pytest.fixture
def errors() -> pd.DataFrame:
    """Of 30 models on a source, two of its test sets and two other datasets."""
    draw = np.random.default_rng(0)
    val = draw.uniform(15, 45, 30)
    columns = {"val": val, "v2": val + 9, "a": val * 1.2 + 20, "signs": val / 3, "cars": val / 2}
    noise = draw.normal(0, 0.8, (30, 5))
    names = [f"m{number}" for number in range(30)]
    return (pd.DataFrame(columns, index=names) + noise).round(3)


@pytest.fixture
def stored(errors: pd.DataFrame, tmp_path: Path) -> Path:
    """The same as a store, of which the import said what is a test set of what."""
    errors.to_csv(tmp_path / "t.csv", index_label="model")
    images = ",".join(f"{name}={count}" for name, count in IMAGES.items())
    options = ["--source", "val", "--shifts", "v2,a", "--images", images]
    in_this_process(tmp_path, "import", "t.csv", "--error", *options, "-o", "s.h5")
    return tmp_path / "s.h5"


def test_as_many_classes_make_no_test_set(errors: pd.DataFrame) -> None:
    roles = apr.Roles("val", {"val": 10}, {"signs": 10, "cars": 10})
    study = anynet_study.load(errors, roles, accuracy=False, resamples=100)
    with pytest.raises(UserError, match="no dataset is said to be a further test set of another"):
        study.table("shifts")


def test_a_source_alone_makes_all_others_targets_but_its_test_sets(errors: pd.DataFrame) -> None:
    study = anynet_study.load(errors, "val", shifts=["v2", "a"], accuracy=False, resamples=100)
    assert list(study.roles.targets) == ["signs", "cars"]
    assert list(study.test_sets["val"].columns) == ["test", "v2", "a"]
    assert list(study.table("effective-robustness")["shift"].unique()) == ["v2", "a"]
    assert list(study.table("match")["target"])[:2] == ["signs", "cars"]


def test_a_table_says_which_test_sets_it_used_and_left_out(errors: pd.DataFrame) -> None:
    roles = apr.Roles("val", {"val": 10}, {"cars": 8})
    study = anynet_study.load(errors, roles, shifts=["v2", "a"], accuracy=False, resamples=100)
    for name in ("shifts", "gaps", "effective-robustness"):
        said = " ".join(remarks(study.table(name)))
        assert "Further test sets of val: v2, a." in said.replace("v2 and a", "v2, a")
        assert "Left out, as nothing says what they are: signs." in said
    assert "Further test sets of val" in study.caption("shifts")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"roles": "vall"}, "--source: no dataset vall; there are val, v2"),
        ({"shifts": ["v2"]}, "--shifts: say with --source"),
        ({"roles": "val", "shifts": ["v3"]}, "--shifts: no dataset v3"),
        ({"roles": "val", "shifts": ["val"]}, "--shifts: val is the source itself"),
        ({"images": {"v3": 9}}, "--images: no dataset v3"),
    ],
)
def test_names_of_no_dataset_are_refused(
    errors: pd.DataFrame, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        anynet_study.load(errors, accuracy=False, **asked)  # type: ignore[arg-type]


def test_a_store_keeps_what_the_import_said(errors: pd.DataFrame, stored: Path) -> None:
    """Its tables are those of the same table with the same options, intervals of images, too."""
    told = anynet_study.load(
        errors, "val", shifts=["v2", "a"], accuracy=False, images=IMAGES, resamples=100
    )
    kept = anynet_study.load(stored, resamples=100)
    assert (kept.shifts, kept.roles) == (told.shifts, told.roles)
    for name in ("shifts", "gaps", "effective-robustness", "match", "beyond"):
        mine, theirs = kept.table(name), told.table(name)
        # A store orders its architectures by name.
        keys = [key for key in ("dataset", "test_set", "architecture", "target") if key in mine]
        order = [
            table.sort_values(keys, kind="stable", ignore_index=True) for table in (mine, theirs)
        ]
        if name != "shifts":  # resamples follow the order
            pd.testing.assert_frame_equal(order[0], order[1], check_exact=False)
        assert remarks(mine) == remarks(theirs)
    low, high = apr.binomial_interval([100 - errors.loc["m3", "v2"]], IMAGES["v2"])
    row = kept.table("gaps").set_index(["test_set", "architecture"]).loc[("v2", "m3")]
    ends = row.filter(like="_low").iloc[0], row.filter(like="_high").iloc[0]
    assert ends[0] < ends[1]
    assert low[0] < 100 - errors.loc["m3", "v2"] < high[0]


def test_the_scale_stands_in_every_output(errors: pd.DataFrame, tmp_path: Path) -> None:
    errors.to_csv(tmp_path / "t.csv", index_label="model")
    command = ["analyze", "t.csv", "--error", "--source", "val", "--table", "beyond"]
    for layout, expected in {
        "text": "on the logit scale",
        "json": '"scale": "logit"',
        "csv": ",logit",
        "latex": "on the logit scale",
    }.items():
        told = in_this_process(tmp_path, *command, "--format", layout)
        assert expected in " ".join(told.stdout.split())


def test_a_dataset_of_a_sweep_is_a_test_set_where_it_says_so(tmp_path: Path) -> None:
    text = """
name: small
population: {count: 4, flops: [1e6, 2e6], resolution: 32, classes: 10}
source: digits
datasets:
  digits: {}
  gratings: {}
  digits-new: {base: digits-2026, test_set_of: digits}
recipes: {basic: {epochs: 2}}
"""
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    sweep = Sweep.load(path)
    assert list(sweep.datasets) == ["digits", "gratings"]
    evaluation = sweep.evaluations["digits-new"]
    assert (evaluation.test_set, evaluation.datasets) == ("digits-2026", ("digits",))
    again = tmp_path / "again.yaml"
    again.write_text(sweep.to_yaml())
    assert Sweep.load(again) == sweep
    path.write_text(text.replace("test_set_of: digits", "test_set_of: numbers"))
    with pytest.raises(UserError, match="no dataset `numbers` in this sweep"):
        Sweep.load(path)
    path.write_text(text.replace("test_set_of: digits", "test_set_of: digits, classes: 3"))
    with pytest.raises(
        UserError, match="legal with test_set_of, as nothing is trained on it: base"
    ):
        Sweep.load(path)


@pytest.mark.slow
def test_what_is_left_out_of_many_datasets_fits_a_screen(tmp_path: Path) -> None:
    table = pd.DataFrame(np.random.default_rng(0).uniform(10, 60, (8, 30)))
    table.iloc[0] = np.nan
    table.add_prefix("d").to_csv(tmp_path / "t.csv", index_label="model")
    told = in_this_process(tmp_path, "analyze", "t.csv", "--error", "--table", "sizes").stdout
    lines = told[told.index("left out:") :].splitlines()
    assert len(lines) == 13
    assert lines[-1].strip() == "19 more"
