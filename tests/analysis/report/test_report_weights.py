"""The report of a study of three stages that was drawn with unequal probability."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from small_study import SmallStudy, run_records, small_study, write_store

from anynet_study import apr
from anynet_study.analysis.analyses import load
from anynet_study.analysis.report import write_report

RESAMPLES = 200
pytestmark = pytest.mark.slow


def three_stages(weights: list[float]) -> SmallStudy:
    """Its architectures without their last stage."""
    study = small_study(len(weights), targets=2)
    table = study.population.drop_columns([f"{prefix}4" for prefix in "dwbgs"])
    for name in ("block", "se_ratio", "weight"):
        table = table.drop_columns([name]) if name in table.column_names else table
    table = table.append_column("block", pa.array(["basic"] * len(weights)))
    table = table.append_column("se_ratio", pa.array([0.0] * len(weights)))
    return replace(study, population=table.append_column("weight", pa.array(weights)))


def report(folder: Path, study: SmallStudy) -> str:
    store = write_store(folder, study, run_records(study))
    page = write_report(
        load(store, resamples=RESAMPLES), folder / "report", figures=("source", "configurations")
    )
    return " ".join(page.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SmallStudy, str]:
    folder = tmp_path_factory.mktemp("weighted")
    study = three_stages([0.25] * 8 + [1.75] * 8)
    return folder, study, report(folder, study)


def test_the_page_says_so(weighted: tuple[Path, SmallStudy, str]) -> None:
    _, _, page = weighted
    assert "not drawn with equal probability" in page
    assert "16 architectures say as much as 10.2 of equal weight" in page
    assert '<th scope="col">effective</th>' in page
    assert "<td>16</td><td>10.2</td>" in page
    assert "of unequal weights and as good as 10," in page
    assert "four stages" not in page


def test_its_tables_are_weighted(weighted: tuple[Path, SmallStudy, str]) -> None:
    folder, study, _ = weighted
    tables = folder / "report" / "tables"
    weights = apr.weights_of(study.parameters)
    roles = apr.Roles.from_datasets(study.datasets)
    how = {"resamples": RESAMPLES, "weights": weights}
    truth = {
        "correlations": apr.correlations(study.errors, **how),
        "match": apr.match_family(study.errors, roles, **how),
        "proxies": apr.best_proxies(study.errors, roles, **how),
        "drivers": apr.drivers(study.errors, study.parameters, **how),
    }
    for name, table in truth.items():
        found = pd.read_csv(tables / f"{name}.csv")
        assert "effective" in found
        numbers = table.select_dtypes("float").columns
        np.testing.assert_allclose(found[numbers], table[numbers], atol=1e-9)
    plain = apr.correlations(study.errors, resamples=RESAMPLES)
    assert not np.allclose(plain["estimate"], truth["correlations"]["estimate"])


def test_weights_that_cannot_be_used_leave_analyses_out(tmp_path: Path) -> None:
    page = report(tmp_path, three_stages([1.0] * 7 + [0.0]))
    assert "legal: finite numbers above 0" in page
    assert "not drawn with equal probability" not in page
