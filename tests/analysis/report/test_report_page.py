"""The report of a store: whole, self-contained, safe, and honest about what is missing."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import in_this_process, laid_out
from small_study import SmallStudy, run_records, small_study, write_store

from anynet_study import apr
from anynet_study.analysis.analyses import FIGURES, load
from anynet_study.analysis.report import write_report
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, RunRecord

RESAMPLES = 300
#: Figures of more architectures, recipes, trials, curves or test sets than the small study has.
NEEDS_MORE = {"importance", "fitting", "recipes", "shifts", "effective-robustness", "shift-ranks"}
NEEDS_MORE |= {
    "source-by-recipe",
    "class-or-size",
    "gaps",
    "label-sets",
    "widths",
    *("class-accuracy", "confusion", "budgets"),
    "benchmark",  # of one target
    "distance",
    "tuned",
    "others",  # targets of a target: there is one
}
#: The page with all figures takes long to make.
pytestmark = pytest.mark.slow
VOID = {"meta", "img", "br", "link", "input"}


def loaded(store: ResultStore) -> Study:
    return load(store, resamples=RESAMPLES)


def page_of(folder: Path, study: SmallStudy, records: list[RunRecord] | None = None) -> "Page":
    """The report, without figures, of a study with these runs (default: all of its runs)."""
    store = write_store(folder, study, run_records(study) if records is None else records)
    return Page(write_report(loaded(store), folder / "report", figures=()))


class Page(HTMLParser):
    """The tags, attributes and text of a page; refuses tags that do not nest."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.text = " ".join(self.text.split())
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] not in (["style"], ["title"], ["script"]):
            self.text += " " + data


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report of a complete study, which is asked for by its name."""
    folder = tmp_path_factory.mktemp("whole")
    study = small_study(16)
    write_store(folder / "studies" / "tiny", study, run_records(study))
    options = ("--figures", "all", "--resamples", RESAMPLES)
    with pytest.MonkeyPatch.context() as patch:
        laid_out(patch)
        told = in_this_process(folder, "report", "tiny", *options).stdout
    assert told.strip() == "studies/tiny/report/report.html"
    return folder / "studies" / "tiny" / "report"


def test_every_figure_is_there_as_files_and_in_the_page(whole: Path) -> None:
    page = Page(whole / "report.html")
    drawn = set(FIGURES) - NEEDS_MORE
    assert page.tags.count("img") == len(drawn)
    expected = {f"{name}.{suffix}" for name in drawn for suffix in ("png", "svg", "csv")}
    assert {path.name for path in (whole / "figures").iterdir()} == expected


def test_the_page_needs_nothing_outside(whole: Path) -> None:
    page = Page(whole / "report.html")
    assert page.tags.count("script") == 2  # what the page does, and its data
    assert "link" not in page.tags
    for name, value in page.attributes:
        assert name != "src" or value.startswith("data:image/")
        assert name != "href" or value.startswith("#")
        assert not name.startswith("on")
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {v[1:] for n, v in page.attributes if n == "href"} <= set(ids)
    text = (whole / "report.html").read_text(encoding="utf-8")
    for reaching_out in ("fetch(", "XMLHttpRequest", "import(", "http:", "https:"):
        assert reaching_out not in text
    style = text.split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_the_numbers_are_those_of_the_analysis(whole: Path) -> None:
    study = small_study(16)
    errors = study.errors
    written = pd.read_csv(whole / "tables" / "errors.csv", index_col=0)
    np.testing.assert_allclose(written.to_numpy(), errors.to_numpy())
    table = apr.match_family(errors, apr.Roles.from_datasets(study.datasets), resamples=RESAMPLES)
    text = Page(whole / "report.html").text
    for _, row in table.iterrows():
        cell = f"{row['rho_member']:.2f} [{row['rho_member_low']:.2f}, "
        assert cell.replace("-", "−") in text
    pd.testing.assert_frame_equal(
        pd.read_csv(whole / "tables" / "match.csv").drop(columns="member"),
        pd.DataFrame(table.drop(columns="member").to_dict("list")),
        check_dtype=False,
    )


def test_hostile_names_and_messages_are_escaped(tmp_path: Path) -> None:
    study = small_study(8)
    evil = "</td><script>alert('x')</script>"
    rename = {"target-0": evil}
    study = replace(
        study,
        datasets=study.datasets.replace(rename),
        replicates=study.replicates.replace(rename),
        curves=study.curves.replace(rename),
    )
    page = page_of(tmp_path, study, run_records(study, failed={3}))
    assert page.tags.count("script") == 2
    assert evil in page.text
    assert "<img src=x onerror=alert(1)> out of memory" in page.text


@pytest.mark.parametrize(
    ("architectures", "replicates", "reason"),
    [
        (3, 2, "3 architectures; at least 4 are needed"),
        (8, 1, "no architecture was trained more than once"),
    ],
)
def test_what_cannot_be_had_is_left_out_with_its_reason(
    tmp_path: Path, architectures: int, replicates: int, reason: str
) -> None:
    study = small_study(architectures, replicates=replicates)
    assert reason in page_of(tmp_path, study).text


@pytest.mark.parametrize(
    ("figure", "datasets", "reason"),
    [
        ("source", 50, "49 pairs of datasets are more than the 48"),
        ("matrix", 21, "21 datasets are more than the 20"),
        ("heatmap", 61, "61 datasets are more than the 60"),
    ],
)
def test_more_datasets_than_fit_a_figure_are_not_drawn(
    figure: str, datasets: int, reason: str
) -> None:
    errors = pd.DataFrame(np.random.default_rng(0).uniform(5, 9, (6, datasets))).add_prefix("data")
    with pytest.raises(UserError, match=reason):
        load(errors, "data0", resamples=40).figure(figure)


def test_a_study_without_any_run_has_a_report(tmp_path: Path) -> None:
    study = small_study(8)
    store = write_store(tmp_path, study, [], planned=40)
    page = Page(write_report(loaded(store), tmp_path / "report"))
    assert "0 of 40 planned runs recorded" in page.text
    assert "no run has an error" in page.text


def test_the_same_store_gives_the_same_files(tmp_path: Path) -> None:
    study = small_study(8, targets=2)
    store = write_store(tmp_path, study, run_records(study))
    made = []
    for number in range(2):
        folder = tmp_path / f"report-{number}"
        write_report(loaded(store), folder, figures=("source",))
        files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}
        page = files[Path("report.html")]
        files[Path("report.html")] = re.sub(rb"<footer>.*</footer>", b"", page)
        made.append(files)
    assert made[0] == made[1]


def test_a_figure_that_no_longer_applies_is_removed(tmp_path: Path) -> None:
    old = tmp_path / "report" / "figures" / "noise.png"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"old")
    study = small_study(6, replicates=1)
    store = write_store(tmp_path, study, run_records(study))
    write_report(loaded(store), old.parents[1], figures=("noise",))
    assert not old.exists()
    assert not (tmp_path / "report" / "tables" / "noise.csv").exists()
