"""The report as one HTML page that needs nothing beside it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from anynet_study.analyses import ANALYSES, findings
from anynet_study.errors import UserError
from anynet_study.report import grids
from anynet_study.report.brushing import brush_data
from anynet_study.report.drawing import DrawnFigure
from anynet_study.report.grid import WHY_NO_INTERVAL, Grid, grid_of
from anynet_study.report.summary import Summary
from anynet_study.study import Study

SVG_BYTES = 300_000
"""Figures are embedded as SVG up to this size, beyond it as PNG."""

MOST_ROWS = 300
"""Rows of a table on the page; files have all."""

SCRIPTS = ("brush_table.js", "brush_panel.js", "brush.js")


@dataclass(frozen=True)
class Section:
    """A part of the page: `templates/<id>.html`."""

    id: str
    title: str
    #: Analyses of which it needs one; without, it is always there, and says why it is empty.
    needs: tuple[str, ...] = ()


SECTIONS = (
    Section("proxies", "Proxies"),
    Section("pairs", "All pairs"),
    Section("drivers", "Drivers"),
    Section("explore", "Explore"),
    Section("noise", "Training noise"),
    Section("training", "Training"),
    Section("transfer", "Transfer", ("transfer", "others", "beyond", "improvement")),
    Section("shifts", "Further test sets", ("shifts", "shift-agreement", "average-robustness")),
    Section("images", "Images", ("significance", "order-changes", "rank-changes", "label-sets")),
    Section("population", "Population"),
    Section("datasets", "Datasets"),
    Section("left-out", "Left out"),
    Section("provenance", "Provenance"),
)


def render(
    study: Study,
    summary: Summary,
    figures: Mapping[str, DrawnFigure],
    method: Mapping[str, object],
) -> str:
    """Fill the templates; everything that came from a study is escaped."""
    environment = Environment(
        loader=PackageLoader("anynet_study.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embedded"] = embedded

    def source(name: str) -> str:
        """A file of the templates as it is."""
        assert environment.loader is not None
        return environment.loader.get_source(environment, name)[0]

    return environment.get_template("report.html").render(
        style=source("report.css"),
        scripts=[source(f"scripts/{name}") for name in SCRIPTS],
        sections=[
            section
            for section in SECTIONS
            if not section.needs or any(name in study.tables for name in section.needs)
        ],
        findings=findings(study),
        grids=_grids(study, summary),
        left_out=study.left_out,
        reasons=_reasons(study.left_out),
        effective=study.effective,
        summary=summary,
        figures=figures,
        method=method,
        most_rows=MOST_ROWS,
        why_no_interval=WHY_NO_INTERVAL,
        **_brushing(study),
    )


def _brushing(study: Study) -> dict[str, Any]:
    """The data of the linked panels, or why there are none."""
    try:
        return {"brush": brush_data(study), "no_brush": ""}
    except UserError as error:
        return {"brush": None, "no_brush": str(error)}


def _reasons(left_out: dict[str, str]) -> dict[str, list[str]]:
    """The analyses that were left out, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        reasons.setdefault(reason, []).append(name)
    return reasons


def _grids(study: Study, summary: Summary) -> dict[str, Grid]:
    """Those tables that there are."""
    made = {name: grid_of(table, ANALYSES[name], "ρ") for name, table in study.tables.items()}
    return made | {
        "datasets": grids.dataset_grid(summary.datasets),
        "runs": grids.text_grid(summary.runs),
        "failures": grids.text_grid(summary.failures, names=3),
        "exclusions": grids.text_grid(summary.exclusions, names=2),
        "errors": grids.error_grid(study.errors, summary.datasets),
        "sampling": grids.facts_grid(summary.sampling),
        "versions": grids.facts_grid(summary.versions),
    }


def embedded(figure: DrawnFigure) -> str:
    """A figure as a data URI."""
    chosen = figure.files["svg"]
    kind = "svg+xml"
    if chosen.stat().st_size > SVG_BYTES:
        chosen, kind = figure.files["png"], "png"
    return f"data:image/{kind};base64,{base64.b64encode(chosen.read_bytes()).decode('ascii')}"
