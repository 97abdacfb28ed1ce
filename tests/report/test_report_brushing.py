"""Linked panels in a real Chromium: what is marked in one is marked in all, and listed."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from browser import FOUND, Browser
from small_study import SmallStudy, run_records, small_study, write_store

from anynet_study.analyses import load
from anynet_study.report import write_report

ARCHITECTURES = 40
pytestmark = pytest.mark.slow
EVIL = "</script><script>window.evil = 1</script>"
#: The ids that the table lists, below its two rows of medians.
LISTED = (
    "[...document.querySelectorAll('[data-brush=table] tbody th')].slice(2).map(c => c.textContent)"
)
CELLS = "[...document.querySelectorAll('[data-brush=table] {}')].map(c => c.textContent)"
#: Per panel, the architectures whose point has the colour of a marked one.
MARKED = """brush.panels.map(panel => panel.points.flatMap((point, i) => {
    if (!point) return [];
    const pixel = panel.front.getContext("2d").getImageData(...point.map(Math.round), 1, 1).data;
    return pixel[0] > 2 * pixel[2] && pixel[3] > 200 ? [brush.data.architectures[i]] : [];
}))"""


@pytest.fixture(scope="module")
def study() -> SmallStudy:
    """A study with a dataset whose name is markup, and an architecture without its error."""
    study = small_study(ARCHITECTURES, targets=2)
    rename = {"target-1": EVIL}
    return replace(
        study,
        errors=study.errors.rename(columns=rename),
        datasets=study.datasets.replace(rename),
        replicates=study.replicates.replace(rename),
        curves=study.curves.replace(rename),
    )


@pytest.fixture(scope="module")
def page(study: SmallStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("brushing")
    store = write_store(folder, study, run_records(study))
    return write_report(load(store, resamples=100), folder / "report", figures=())


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if FOUND is None:
        reason = "no Chromium is installed (Debian: chromium)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def opened(chromium: Browser, page: Path) -> Browser:
    chromium.open(page)
    return chromium


def place(browser: Browser, panel: int) -> dict[str, Any]:
    """Where a panel is in the window, scrolled to its middle, and its points in it."""
    expression = f"""(() => {{
        const panel = brush.panels[{panel}];
        panel.front.scrollIntoView({{block: "center"}});
        const {{x, y, width, height}} = panel.front.getBoundingClientRect();
        const points = panel.points.map(point => [point[0] + x, point[1] + y]);
        return {{x, y, width, height, points}};
    }})()"""
    found: dict[str, Any] = browser.value(expression)
    return found


def lowest(errors: pd.Series, count: int) -> list[str]:
    return list(errors.sort_values(kind="stable").index[:count])


def test_a_rectangle_in_one_panel_marks_the_same_architectures_in_all(
    opened: Browser, study: SmallStudy
) -> None:
    at = place(opened, 0)
    across = sorted(x for x, _ in at["points"])
    edge = (across[6] + across[7]) / 2
    opened.drag((edge, at["y"] + at["height"] - 32), (at["x"] + 36, at["y"] + 2))
    expected = lowest(study.errors["base"], 7)
    assert opened.value(LISTED) == expected
    marked = opened.value(MARKED)
    assert len(marked) == 4 + 2 * 5 + 1  # against the source, against depth and width, any two
    for panel in marked:
        assert set(expected) <= set(panel)
        assert len(panel) < 20  # others at most where a marked point lies over theirs
    assert place(opened, 0) == at  # nothing moved under the mouse
    cells = opened.value(CELLS.format("tbody td"))
    width = len(study.errors.columns) + 2
    row = study.errors.loc[expected[0]]
    assert cells[2 * width : 3 * width - 2] == [f"{error:.2f}" for error in row]
    assert cells[0] == f"{study.errors.loc[expected, 'base'].median():.2f}"
    assert cells[width] == f"{study.errors['base'].median():.2f}"


def test_clicks_mark_one_and_add_with_shift(opened: Browser, study: SmallStudy) -> None:
    at = place(opened, 1)
    points, ids = at["points"], list(study.errors.index)
    high = min(range(ARCHITECTURES), key=lambda i: points[i][1])
    left = min(range(ARCHITECTURES), key=lambda i: points[i][0])
    opened.click(points[high])
    assert opened.value(LISTED) == [ids[high]]
    opened.click(points[left], shift=True)
    assert set(opened.value(LISTED)) == {ids[left], ids[high]}
    opened.click((at["x"] + at["width"] - 1, at["y"] + 1))
    assert opened.value(LISTED) == []


def test_all_of_it_works_from_the_keyboard(opened: Browser, study: SmallStudy) -> None:
    opened.value("document.querySelector('[data-brush=end]').focus()")
    for _ in range(2):  # past the list of datasets
        opened.press("Tab")
    opened.press("Enter")
    assert opened.value(LISTED) == lowest(study.errors["base"], 10)
    assert opened.value("document.querySelector('[data-brush=count]').value") == "10 of 40 marked"
    opened.press("Tab")
    name = study.errors.index[3]
    opened.type(name[4:12])
    assert opened.value(LISTED) == [name]
    opened.press("Tab")
    opened.press("Enter")
    assert opened.value(LISTED) == []
    assert opened.value("document.querySelector('[data-brush=clear]').disabled")
    opened.value("document.querySelector('[data-brush=pick]').click()")
    opened.value("document.querySelector('[data-brush=pick]').focus()")
    opened.press("Escape")
    assert opened.value(LISTED) == []


def test_any_two_columns_can_be_set_against_each_other(opened: Browser) -> None:
    opened.value(
        "{const [y] = document.querySelectorAll('.brush-grid select'); y.value = 5;"
        " y.dispatchEvent(new Event('change'));}"
    )
    label = "brush.panels.at(-1).front.getAttribute('aria-label')"
    assert opened.value(label).startswith("cumulative depth against top-1 error on base (%)")


def test_names_from_a_study_are_text(opened: Browser) -> None:
    opened.value("document.querySelector('[data-brush=pick]').click()")
    opened.frame()
    assert EVIL in opened.value(CELLS.format("thead th"))
    assert opened.value("window.evil === undefined")


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (400, True)])
def test_it_fits_the_window(chromium: Browser, page: Path, width: int, dark: bool) -> None:
    chromium.open(page, width, dark=dark)
    assert chromium.value("document.documentElement.scrollWidth") == width
    paper = chromium.value("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark
