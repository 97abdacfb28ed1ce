"""The page in a real Chromium: what is marked in one drawing is marked in all."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from browser import chromium_page, value
from small_study import SmallStudy, run_records, small_study, write_store

from anynet_study import Architecture
from anynet_study.analysis.analyses import load
from anynet_study.analysis.apr.interval_formulas import small_sample_interval
from anynet_study.analysis.report import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

ARCHITECTURES = 40
pytestmark = pytest.mark.slow
EVIL = "</script><script>window.evil = 1</script>"
#: The ids that the table of the marked lists, below its two rows of medians.
LISTED = (
    "[...document.querySelectorAll('[data-part=table] tbody th')].slice(2).map(c => c.textContent)"
)
MARKED = "explorer.marks.numbers.map(i => explorer.data.architectures[i])"
TIP = "explorer.tip.box.hidden ? '' : explorer.tip.box.innerText"
#: Luminance as of the web's guidelines for contrast.
CONTRAST = """(() => {
    const light = (colour) => [1, 3, 5].map(k => parseInt(colour.slice(k, k + 2), 16) / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const paper = light(explorer.colours.paper);
    return ["points", "quiet", "marked", "soft"].map(name => light(explorer.colours[name]))
        .map(one => (Math.max(one, paper) + 0.05) / (Math.min(one, paper) + 0.05));
})()"""


@pytest.fixture(scope="module")
def study() -> SmallStudy:
    """A study with a dataset whose name is markup, and two further targets."""
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
    folder = tmp_path_factory.mktemp("exploring")
    store = write_store(folder / "first", study, run_records(study))
    other = small_study(12, targets=1)
    beside = write_store(folder / "second", other, run_records(other))
    first, second = (load(each, resamples=100) for each in (store, beside))
    return write_report(first, folder / "report", beside=[second])


@pytest.fixture(scope="module")
def chromium() -> Iterator["Page"]:
    with chromium_page() as empty:
        yield empty


@pytest.fixture
def opened(chromium: "Page", page: Path) -> "Page":
    chromium.set_viewport_size({"width": 1200, "height": 900})
    chromium.goto(page.as_uri())
    return chromium


def place(opened: "Page", view: str) -> dict[str, Any]:
    """Where a drawing is in the window, scrolled to its middle, and its points or lines in it."""
    expression = f"""(() => {{
        const view = explorer.{view};
        view.box.scrollIntoView({{block: "center"}});
        const {{x, y, width, height}} = view.box.getBoundingClientRect();
        const at = ([left, top]) => [left + x, top + y];
        const points = view.points?.map(at);
        const paths = view.paths?.map(path => path.map(at));
        return {{x, y, width, height, points, paths}};
    }})()"""
    found: dict[str, Any] = opened.evaluate(expression)
    return found


def drag(opened: "Page", start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press the mouse at a place of the window, move it, and release it at another."""
    opened.mouse.move(*start)
    opened.mouse.down()
    opened.mouse.move(*end, steps=2)
    opened.mouse.up()


def lowest(errors: pd.Series, count: int) -> list[str]:
    return list(errors.sort_values(kind="stable").index[:count])


def test_a_rectangle_marks_the_same_architectures_everywhere(
    opened: "Page", study: SmallStudy
) -> None:
    at = place(opened, "pair")
    across = sorted(x for x, _ in at["points"])
    edge = (across[6] + across[7]) / 2
    drag(opened, (edge, at["y"] + at["height"] - 36), (at["x"] + 40, at["y"] + 2))
    expected = lowest(study.errors["base"], 7)
    assert value(opened, LISTED) == expected
    # Every drawing has drawn them in their colour, on its front canvas.
    coloured = """(view => {view.visible = true; view.lay(); view.draw();
        const {width, height} = view.front;
        const data = view.front.getContext("2d").getImageData(0, 0, width, height).data;
        let count = 0;
        for (let k = 0; k < data.length; k += 4)
            count += data[k] > 2 * data[k + 2] && data[k + 3] > 200;
        return count})"""
    for view in ("pair", "curves", "parallel"):
        assert value(opened, f"{coloured}(explorer.{view})") > 50
    # rho of the marked with its interval, below the drawing.
    ranks = study.errors.loc[expected, ["base", "target-0"]].corr("spearman").iloc[0, 1]
    said = f"ρ = {ranks:.2f} [".replace("-", "−")
    assert said in value(opened, "explorer.pair.caption.querySelector('b').textContent")
    opened.keyboard.press("Escape")
    assert value(opened, MARKED) == []
    assert value(opened, "getComputedStyle(document.querySelector('.marked')).display") == "none"


def test_rho_and_its_interval_are_those_of_the_analysis(opened: "Page") -> None:
    generator = np.random.default_rng(0)
    for n in (4, 5, 17, 200):
        x = generator.normal(size=n).round(1)  # with ties
        y = (x + generator.normal(size=n)).round(1)
        for other in (y, x, -x):
            found = value(opened, f"correlation({x.tolist()}, {other.tolist()}, 1.959964)")
            rho = pd.Series(x).corr(pd.Series(other), method="spearman")
            low, high = small_sample_interval(np.array(rho), np.array(n), 0.95, "spearman")
            assert [found["rho"], found["low"], found["high"]] == pytest.approx(
                [rho, float(low), float(high)], abs=1e-6
            )
    assert value(opened, "correlation([1, 2, 3, null], [1, 2, 3, 4], 2)") == {"n": 3, "rho": None}
    assert value(opened, "correlation([1, 1, 1, 1], [1, 2, 3, 4], 2).rho") is None


def test_pointing_shows_architecture_values_and_replicates(
    opened: "Page", study: SmallStudy
) -> None:
    at, ids = place(opened, "pair"), list(study.errors.index)
    opened.mouse.move(*at["points"][4])
    tip = value(opened, TIP)
    rows = study.replicates[study.replicates["dataset"].eq("base")]
    each = rows.loc[rows["architecture"] == ids[4], "error"]
    assert tip.startswith(ids[4])
    assert f"{each.mean():.2f} (replicates {', '.join(f'{one:.2f}' for one in each)})" in tip
    line = place(opened, "curves")["paths"][7]
    opened.mouse.move(*line[-1])
    assert "after epoch 5:" in value(opened, TIP)


def test_an_axis_of_the_parallel_coordinates_marks_a_range(
    opened: "Page", study: SmallStudy
) -> None:
    at = place(opened, "parallel")
    last = value(opened, "explorer.parallel.columns.at(-1).label")
    told = value(opened, "explorer.parallel.caption.textContent")
    assert told.startswith(f"“error” is the {last}. ")
    x = at["paths"][0][0][0]  # depth of stage 1
    depths = study.parameters.set_index("architecture")["d1"]
    heights = {depth: at["paths"][k][0][1] for k, depth in enumerate(depths)}
    top, least = max(depths), sorted(set(depths))[-2]
    drag(opened, (x, heights[top] - 4), (x + 3, heights[least] + 1))
    assert set(value(opened, MARKED)) == set(depths.index[depths >= least])


def test_clicks_add_with_shift(opened: "Page", study: SmallStudy) -> None:
    at, ids = place(opened, "pair"), list(study.errors.index)
    high = min(range(ARCHITECTURES), key=lambda i: at["points"][i][1])
    left = min(range(ARCHITECTURES), key=lambda i: at["points"][i][0])
    opened.mouse.click(*at["points"][high])
    assert value(opened, LISTED) == [ids[high]]
    opened.keyboard.down("Shift")
    opened.mouse.click(*at["points"][left])
    opened.keyboard.up("Shift")
    assert set(value(opened, LISTED)) == {ids[left], ids[high]}


def test_all_of_it_works_from_the_keyboard(opened: "Page", study: SmallStudy) -> None:
    value(opened, "document.querySelector('[data-part=tools] button').focus()")
    opened.keyboard.press("Enter")
    assert value(opened, LISTED) == lowest(study.errors["base"], 10)
    opened.keyboard.press("Tab")
    name = study.errors.index[3]
    opened.keyboard.insert_text(name[4:12])
    assert value(opened, LISTED) == [name]
    opened.keyboard.press("Escape")
    value(opened, "explorer.pair.front.focus()")
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowRight")
    second = lowest(study.errors["base"], 2)[1]
    assert value(opened, TIP).startswith(second)
    assert value(opened, "document.querySelector('[data-part=spoken]').textContent").startswith(
        second
    )
    opened.keyboard.press("Enter")
    assert value(opened, MARKED) == [second]
    assert value(opened, "explorer.pair.front.getAttribute('aria-label')").startswith(
        "Scatter plot"
    )


def test_tables_sort_and_filter(opened: "Page") -> None:
    table = "[...document.querySelectorAll('#datasets table.grid')].at(-1)"
    value(opened, "document.querySelector('#datasets details').open = true")
    column = f"[...{table}.tBodies[0].rows].map(row => Number(row.cells[3].textContent))"
    before = value(opened, column)
    for order in (sorted(before), sorted(before, reverse=True)):
        value(opened, f"{table}.tHead.rows[0].cells[3].querySelector('button').click()")
        assert value(opened, column) == order
    assert value(opened, f"{table}.tHead.rows[0].cells[3].ariaSort") == "descending"
    value(opened, "document.querySelector('#pairs details').open = true")
    value(
        opened,
        "{const field = document.querySelector('#pairs .filter input');"
        " field.value = 'base-5 target-0'; field.dispatchEvent(new Event('input'));}",
    )
    shown = "[...document.querySelectorAll('#pairs tbody tr')].filter(row => !row.hidden).length"
    assert value(opened, shown) == 1
    written = "[89480, 1954321, 2e9].map(briefly)"
    assert value(opened, written) == ["89.48k", "1.954M", "2G"]
    assert value(opened, f"{written}.map(numberOf)") == [89480, 1954000, 2e9]


def test_the_best_can_be_copied(opened: "Page", study: SmallStudy) -> None:
    value(opened, "document.querySelector('[data-part=best] button').click()")
    copied = value(opened, "explorer.best.copied").splitlines()
    ids = [Architecture.from_dict(json.loads(line)).id for line in copied]
    assert ids == lowest(study.errors["base"], 10)


def test_the_best_fit_the_window_and_sort(opened: "Page", study: SmallStudy) -> None:
    best = "document.querySelector('[data-part=best] table')"
    wide = f"{best}.parentElement"
    assert value(opened, f"{wide}.scrollWidth <= {wide}.clientWidth")
    names = value(opened, f"[...{best}.tHead.rows[0].cells].map(cell => cell.textContent)")
    place = names.index("FLOPs")
    value(opened, f"{best}.tHead.rows[0].cells[{place}].querySelector('button').click()")
    ids = value(opened, f"[...{best}.tBodies[0].rows].map(row => row.cells[0].textContent)")
    flops = study.parameters.set_index("architecture")["flops"].loc[ids]
    assert flops.round(-5).is_monotonic_increasing


def test_a_pair_of_the_matrix_and_studies_side_by_side_are_drawn(
    opened: "Page", study: SmallStudy
) -> None:
    value(opened, "explorer.matrix.canvas.focus()")
    opened.keyboard.press("ArrowDown")  # the second row, first column
    assert value(opened, TIP).startswith("base-5 and base")
    opened.keyboard.press("Enter")
    pair = "[explorer.pair.x.name, explorer.pair.y.name]"
    assert value(opened, pair) == ["base", "base-5"]
    value(opened, "document.querySelector('[data-part=sides] tbody button').click()")
    assert value(opened, pair) == ["base", "base, second"]
    # Every architecture of the second is one of the first.
    assert value(opened, "explorer.everything.length") == ARCHITECTURES


def test_names_from_a_study_are_text(opened: "Page") -> None:
    value(opened, "document.querySelector('[data-part=tools] button').click()")
    heads = "[...document.querySelectorAll('[data-part=table] thead th')].map(c => c.textContent)"
    assert EVIL in value(opened, heads)
    assert value(opened, "window.evil === undefined")


@pytest.mark.parametrize("width", [1400, 420])
def test_the_answer_and_its_figure_fill_the_width(chromium: "Page", page: Path, width: int) -> None:
    """Side by side in a wide window, below each other in a narrow one; no half is white."""
    chromium.set_viewport_size({"width": width, "height": 900})
    chromium.goto(page.as_uri())
    text, figure, box = (
        value(chromium, f"document.querySelector('{which}').getBoundingClientRect().toJSON()")
        for which in (".answer dl dd", ".answer .headline", ".answer")
    )
    if width == 420:
        assert figure["bottom"] <= text["top"]
        assert figure["width"] > 0.8 * box["width"]
    else:
        assert text["left"] < figure["left"]
        assert abs(figure["top"] - text["top"]) < 60
        assert figure["right"] > box["right"] - 60
    last = value(
        chromium,
        "Math.max(...[...document.querySelector('.answer').children]"
        ".map(each => each.getBoundingClientRect().bottom))",
    )
    assert box["bottom"] - last < 40


def test_sentences_are_whole_in_a_narrow_window(chromium: "Page", page: Path) -> None:
    chromium.set_viewport_size({"width": 420, "height": 900})
    chromium.goto(page.as_uri())
    value(chromium, "document.querySelectorAll('details').forEach(each => { each.open = true; })")
    texts = "[...document.querySelectorAll('p, li, dd, dt, summary, h2, h3, figcaption')]"
    assert value(chromium, f"{texts}.length") > 20
    assert value(chromium, f"{texts}.filter(it => it.innerText.trim().endsWith('…')).length") == 0
    hidden = f"{texts}.filter(it => getComputedStyle(it).textOverflow !== 'clip').length"
    assert value(chromium, hidden) == 0


@pytest.mark.parametrize("dark", [False, True])
def test_form_controls_are_in_the_page_s_style(chromium: "Page", page: Path, dark: bool) -> None:
    chromium.emulate_media(color_scheme="dark" if dark else "light")
    chromium.goto(page.as_uri())
    look = "(it => [it.fontFamily, it.color, it.backgroundColor])(getComputedStyle({}))"
    controls = "[...document.querySelectorAll('.tools :is(select, input, button)')]"
    looks = value(chromium, f"{controls}.map(each => {look.format('each')})")
    assert len(looks) > 4
    family, colour, paper = value(chromium, look.format("document.body"))
    assert {tuple(each) for each in looks} == {(family, colour, paper)}


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (420, True)])
def test_it_fits_the_window_and_can_be_seen(
    chromium: "Page", page: Path, width: int, dark: bool
) -> None:
    chromium.set_viewport_size({"width": width, "height": 900})
    chromium.emulate_media(color_scheme="dark" if dark else "light")
    chromium.goto(page.as_uri())
    value(chromium, "document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert value(chromium, "document.documentElement.scrollWidth") == width
    paper = value(chromium, "getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark
    assert min(value(chromium, CONTRAST)) > 3


def test_intervals_that_are_all_zero_are_not_drawn(opened: "Page") -> None:
    """They have no scale: a drawing would have NaN for its places."""
    table = """(text => {
        const made = document.createElement("table");
        made.innerHTML = "<thead><tr><th>difference</th></tr></thead><tbody>"
            + `<tr><td>${text}</td></tr>`.repeat(2) + "</tbody>";
        return new SortableTable(made, false).rows.map(row => row.innerHTML).join("");
    })"""
    assert "svg" not in value(opened, f"{table}('0.00 [0.00, 0.00]')")
    drawn = value(opened, f"{table}('0.00 [0.00, 0.10]')")
    assert drawn.count("svg class") == 2
    assert "NaN" not in drawn


def test_points_off_the_scale_are_counted_below_the_drawing(opened: "Page") -> None:
    limited = """(() => {
        const {pair, data} = explorer;
        pair.x.limit = [...pair.x.values].sort((a, b) => a - b).at(-3);
        pair.show(data.columns.indexOf(pair.x), data.columns.indexOf(pair.y));
        pair.said();
        return pair.caption.textContent;
    })()"""
    assert "off scale" not in value(opened, "explorer.pair.caption.textContent")
    assert value(opened, limited).endswith(f"n = {ARCHITECTURES}; 2 off scale, at the edge")
