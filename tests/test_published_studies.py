"""What is published of a study is what its release bundle says."""

import hashlib
import re
from pathlib import Path

import pandas as pd
import pytest
from command import ROOT, script_module
from scipy.stats import spearmanr

import anynet_study

CROSS_DOMAIN, FACTORS = STUDIES = [
    ROOT / "analysis" / name for name in ("cross-domain", "classes-images-steps")
]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def tables() -> dict[Path, dict[str, str]]:
    """What the script of each folder writes, by title."""
    return {folder: written(folder) for folder in STUDIES}


def written(folder: Path) -> dict[str, str]:
    """By the folder's publish.py."""
    script = script_module(folder / "publish.py")
    found: dict[str, str] = script.tables(anynet_study.load(folder / "release" / "results.h5"))
    return found


@pytest.fixture(scope="module")
def errors() -> pd.DataFrame:
    return pd.read_parquet(CROSS_DOMAIN / "release" / "errors.parquet").set_index("architecture")


@pytest.mark.parametrize(
    ("folder", "most"), [(CROSS_DOMAIN, 20), (FACTORS, 5)], ids=lambda it: getattr(it, "name", "")
)
def test_the_bundle_is_whole_and_small(folder: Path, most: int) -> None:
    release = folder / "release"
    files = dict(line.split()[::-1] for line in (release / "SHA256SUMS").read_text().splitlines())
    assert set(files) == {path.name for path in release.iterdir()} - {"SHA256SUMS"}
    for name, digest in files.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest, name
    assert sum(path.stat().st_size for path in release.iterdir()) < most * MEGABYTE


@pytest.mark.parametrize("folder", [*STUDIES, ROOT], ids=lambda folder: folder.name)
def test_every_row_of_a_page_is_one_that_a_script_writes(
    folder: Path, tables: dict[Path, dict[str, str]]
) -> None:
    every = {
        line for new in tables.values() for table in new.values() for line in table.split("\n")
    }
    page = (folder / "README.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) > 5
    assert [row for row in rows if row not in every] == []


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_all_tables_are_on_the_page_of_the_study(
    folder: Path, tables: dict[Path, dict[str, str]]
) -> None:
    page = (folder / "README.md").read_text()
    assert [title for title, table in tables[folder].items() if table not in page] == []


def test_correlations_with_cifar10_are_those_of_scipy(
    tables: dict[Path, dict[str, str]], errors: pd.DataFrame
) -> None:
    [match] = [
        table for title, table in tables[CROSS_DOMAIN].items() if title.startswith("Targets")
    ]
    said = dict(re.findall(r"^\| ([\w-]+) \(\d+\) \| [^|]* \| (−?[\d.]+) \[", match, re.MULTILINE))
    assert len(said) == 7
    for target, rho in said.items():
        both = errors[["cifar10", target]].dropna()
        expected = spearmanr(both["cifar10"], both[target]).statistic
        assert float(rho.replace("−", "-")) == pytest.approx(expected, abs=0.0051), target


def test_errors_are_means_over_replicates_of_the_runs(errors: pd.DataFrame) -> None:
    runs = pd.read_parquet(CROSS_DOMAIN / "release" / "runs.parquet")
    main = runs[(runs["recipe"] == "basic") & runs["error"].notna()]
    again = main.groupby(["architecture", "dataset"])["error"].mean().unstack()
    assert (again.loc[errors.index, errors.columns] - errors).abs().max(axis=None) < 1e-9


@pytest.mark.parametrize("folder", [*STUDIES, ROOT], ids=lambda folder: folder.name)
def test_the_pictures_are_there(folder: Path) -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (folder / "README.md").read_text())
    assert pictures
    for picture in pictures:
        assert (folder / picture).stat().st_size > 10_000, picture
