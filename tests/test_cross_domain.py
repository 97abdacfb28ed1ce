"""What is published of the study across domains is what its release bundle says."""

import hashlib
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import spearmanr

import anynet_study

ROOT = Path(__file__).parent.parent
HERE = ROOT / "analysis" / "cross-domain"
RELEASE = HERE / "release"
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    """What the script of the folder writes, by title."""
    spec = spec_from_file_location("publish_cross_domain", HERE / "publish.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    found: dict[str, str] = script.tables(anynet_study.load(RELEASE / "results.h5"))
    return found


@pytest.fixture(scope="module")
def errors() -> pd.DataFrame:
    return pd.read_parquet(RELEASE / "errors.parquet").set_index("architecture")


def test_the_bundle_is_whole_and_small() -> None:
    files = dict(line.split()[::-1] for line in (RELEASE / "SHA256SUMS").read_text().splitlines())
    assert set(files) == {path.name for path in RELEASE.iterdir()} - {"SHA256SUMS"}
    for name, digest in files.items():
        assert hashlib.sha256((RELEASE / name).read_bytes()).hexdigest() == digest, name
    assert sum(path.stat().st_size for path in RELEASE.iterdir()) < 20 * MEGABYTE


@pytest.mark.parametrize("page", [HERE / "README.md", ROOT / "README.md"], ids=["study", "project"])
def test_every_row_of_a_page_is_one_that_the_script_writes(
    page: Path, tables: dict[str, str]
) -> None:
    written = {line for table in tables.values() for line in table.splitlines()}
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    assert len(rows) > 5
    assert [row for row in rows if row not in written] == []


def test_all_tables_are_on_the_page_of_the_study(tables: dict[str, str]) -> None:
    page = (HERE / "README.md").read_text()
    assert [title for title, table in tables.items() if table not in page] == []


def test_correlations_with_cifar10_are_those_of_scipy(
    tables: dict[str, str], errors: pd.DataFrame
) -> None:
    [match] = [table for title, table in tables.items() if title.startswith("Targets")]
    said = dict(re.findall(r"^\| ([\w-]+) \(\d+\) \| [^|]* \| (−?[\d.]+) \[", match, re.MULTILINE))
    assert len(said) == 7
    for target, rho in said.items():
        both = errors[["cifar10", target]].dropna()
        expected = spearmanr(both["cifar10"], both[target]).statistic
        assert float(rho.replace("−", "-")) == pytest.approx(expected, abs=0.0051), target


def test_errors_are_means_over_replicates_of_the_runs(errors: pd.DataFrame) -> None:
    runs = pd.read_parquet(RELEASE / "runs.parquet")
    main = runs[(runs["recipe"] == "basic") & runs["error"].notna()]
    again = main.groupby(["architecture", "dataset"])["error"].mean().unstack()
    assert (again.loc[errors.index, errors.columns] - errors).abs().max(axis=None) < 1e-9


def test_the_pictures_are_there() -> None:
    for page in (HERE / "README.md", ROOT / "README.md"):
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text()):
            assert (page.parent / picture).stat().st_size > 10_000, picture
