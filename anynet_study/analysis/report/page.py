"""The report: one HTML page that needs nothing beside it, with its tables as files.

The page begins with the answer and the headline figure, on one screen. Its figures are drawn in the
browser, from the data in it (`explore`). Then come sections, folded; a section is blocks: each
shows one analysis of the registry, or facts of the study. All of them go through one template,
`section.html`. Figures for papers are drawn where they are asked for, and are folded beside their
analysis.
"""

import base64
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from anynet_study.analysis.analyses import FIGURES, SECTIONS, concerns_of, findings
from anynet_study.analysis.analysis import Analysis, remarks
from anynet_study.analysis.plots import wording
from anynet_study.analysis.report import grid
from anynet_study.analysis.report.drawing import DrawnFigure, draw_figures, remove_figure
from anynet_study.analysis.report.explore import explore_data
from anynet_study.analysis.report.grid import WHY_NO_INTERVAL, Grid, grid_of
from anynet_study.analysis.report.headline import headline_of
from anynet_study.analysis.report.summary import Summary, summarise, summarise_table
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, counted
from anynet_study.core.files import updating_folder, write_text
from anynet_study.core.sheets import csv_text

SVG_BYTES = 300_000
"""Figures are embedded as SVG up to this size, beyond it as PNG."""
MOST_ROWS = 300
"""Rows of a table on the page; files have all."""
SCRIPTS = (
    *("statistics", "view", "axes", "scatter", "lines", "matrix", "tables", "best", "compare"),
    *("explore", "page"),
)
"""Of `templates/scripts/`, in the order in which they need each other."""
OF_TRAINING = ("noise", "training", "transfer")
"""Sections about training, which imported results may say nothing of."""
OPEN = "proxies"
"""The section that is not folded."""
FACTS = ("datasets", "runs", "failures")
"""Tables of facts that are written as files."""


@dataclass(frozen=True)
class Block:
    """A part of a section; its fields are shown from top to bottom, and empty ones are left out."""

    heading: str = ""
    text: str = ""
    #: Sentences that say what is missing, and why.
    absent: Sequence[str] = ()
    #: A table that is always shown; without headings it lists names and facts.
    table: Grid | None = None
    note: str = ""
    figures: Sequence[DrawnFigure] = ()
    #: A table that a reader unfolds, its title, and the file that has all its rows.
    folded: Grid | None = None
    caption: str = ""
    file: str = ""
    items: Sequence[str] = ()
    #: Preformatted text, and the title under which it is folded.
    code: str = ""
    code_title: str = ""

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to show below the heading and the text."""
        shown = (self.absent, self.figures, self.items, self.code)
        return not (any(shown) or self.table or self.folded)


@dataclass(frozen=True)
class PageSection:
    """A section of the page. Sections with a template of their own are never folded."""

    id: str
    #: In the navigation.
    title: str
    heading: str
    lead: str = ""
    blocks: Sequence[Block] = ()
    template: str = "section.html"


def write_report(
    study: Study, folder: Path, figures: Sequence[str] = (), beside: Sequence[Study] = ()
) -> Path:
    """Write `report.html` and `tables/*.csv`; return the page's path.

    The page needs no other file. Every file is replaced as a whole, the page last. The same study
    gives the same files, except for the time in the page. Analyses that cannot be computed (too few
    architectures, no replicates, ...) are left out, and the page says why. `figures` are names of
    figures to write as `figures/*.png|svg|csv` and to fold into the page, beside those of analyses
    that are no part of the package: the browser draws none of these. The studies `beside` are
    compared with this one, dataset by dataset.

    Raises:
        UserError: a figure's name is unknown.
    """
    with study:  # one state of the store, even if it is collected again meanwhile
        store = study.store
        summary = summarise_table(study) if store is None else summarise(store, study.errors)
        study.make(study.known_tables)
        study.read_all()
    own = [name for name in study.known_figures if name not in (*FIGURES, *figures)]
    drawn = draw_figures(study, folder / "figures", [*figures, *own])
    for name in set(study.known_figures).difference(figure.name for figure in drawn):
        remove_figure(folder / "figures", name)
    _write_tables(study, summary, folder / "tables")
    page = folder / "report.html"
    write_text(page, render(study, summary, {figure.name: figure for figure in drawn}, beside))
    return page


def _write_tables(study: Study, summary: Summary, folder: Path) -> None:
    """Write all tables in full precision; remove tables that only an earlier report had."""
    facts = {name: getattr(summary, name) for name in FACTS}
    tables = {"errors": study.errors.reset_index(), **study.tables, **facts}
    names = ("errors", *study.known_tables, *FACTS)
    with updating_folder(folder, [f"{name}.csv" for name in names]) as made:
        for name in names:
            if name in tables:
                text = csv_text(tables[name])
                write_text(made / f"{name}.csv", text)


def render(
    study: Study,
    summary: Summary,
    figures: Mapping[str, DrawnFigure],
    beside: Sequence[Study] = (),
) -> str:
    """Fill the templates. Everything that comes from a study is escaped."""
    environment = Environment(
        loader=PackageLoader("anynet_study.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embedded"] = embedded
    environment.globals["counted"] = counted
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    data, no_data = None, ""
    try:
        data = explore_data(study, beside)
    except DoesNotApplyError as error:
        no_data = str(error)
    options = study.options
    shown = sections(study, summary, figures)
    return environment.get_template("report.html").render(
        style=_source(environment, "report.css"),
        scripts=[_source(environment, f"scripts/{name}.js") for name in SCRIPTS],
        sections=shown,
        ids={section.id for section in shown},
        open_section=OPEN,
        concerns=concerns_of(study),
        findings=findings(study),
        headline=headline_of(study),
        summary=summary,
        options=options,
        rho=wording.symbol(options.method),
        correlation=wording.correlation_name(options.method),
        level=wording.percent(options.level),
        effective=study.effective,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        most_rows=MOST_ROWS,
        why_no_interval=WHY_NO_INTERVAL,
        data=data,
        no_data=no_data,
    )


def _source(environment: Environment, name: str) -> str:
    """The content of a template file, unchanged."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def embedded(figure: DrawnFigure) -> str:
    """A figure as a data URI."""
    chosen = figure.files["svg"]
    kind = "svg+xml"
    if chosen.stat().st_size > SVG_BYTES:
        chosen, kind = figure.files["png"], "png"
    return f"data:image/{kind};base64,{base64.b64encode(chosen.read_bytes()).decode('ascii')}"


def sections(
    study: Study, summary: Summary, figures: Mapping[str, DrawnFigure]
) -> list[PageSection]:
    """The page from top to bottom: the registry's sections, and those of facts."""
    heading = "The same architectures everywhere"
    made = [PageSection("explore", "Explore", heading, template="explore.html")]
    for section in SECTIONS:
        analyses = [it for it in study.analyses.values() if it.section == section.id]
        common = repeated_remarks(study, analyses)
        section = replace(section, lead=" ".join(filter(None, [section.lead, *common])))
        blocks = [analysis_block(study, analysis, figures, common) for analysis in analyses]
        blocks = [block for block in blocks if not block.is_empty]
        if section.id in OF_TRAINING and not summary.sweep:  # imported: what they lack is no news
            blocks = [block for block in blocks if block.table or block.folded or block.figures]
            section = replace(section, optional=True)
        if section.id == "population":
            blocks.insert(0, Block(table=grid.facts_grid(summary.sampling)))
        if blocks or not section.optional:
            made.append(
                PageSection(section.id, section.title, section.heading, section.lead, blocks)
            )
    return [
        *made,
        _datasets(study, summary),
        _left_out(study, summary),
        _provenance(study, summary),
    ]


def repeated_remarks(study: Study, analyses: Iterable[Analysis[Any]]) -> list[str]:
    """Sentences that several of the tables shown of these analyses would say below them."""
    shown = [study.tables[it.name] for it in analyses if it.shown and it.name in study.tables]
    times = Counter(said for table in shown for said in table.attrs.get("remarks", []))
    return [said for said, count in times.items() if count > 1]


def analysis_block(
    study: Study,
    analysis: Analysis[Any],
    figures: Mapping[str, DrawnFigure],
    said: Collection[str] = (),
) -> Block:
    """Return what the page shows of one analysis: its table, open or folded, and its figures.

    Remarks that the section has `said` already are left out.
    """
    table = study.tables.get(analysis.name) if analysis.shown else None
    drawn = [figures[figure.name] for figure in analysis.figures if figure.name in figures]
    absent = [
        f"No figure “{figure.title}”: {figure.left_out}."
        for figure in drawn
        if figure.left_out and study.study_figure(figure.name).expected
    ]
    if table is None and analysis.expected and analysis.name in study.left_out:
        absent.insert(
            0, f"No {analysis.caption or analysis.name}: {study.left_out[analysis.name]}."
        )
    shown = None if table is None else grid_of(study.called(table), analysis, wording.letter(table))
    notes = [] if table is None else [analysis.note, *remarks(table)]
    notes = [note for note in notes if note not in said]
    return Block(
        heading=analysis.heading,
        text=analysis.lead,
        absent=absent,
        table=shown if analysis.shown == "open" else None,
        note=" ".join(filter(None, notes)),
        figures=[figure for figure in drawn if not figure.left_out],
        folded=shown if analysis.shown == "folded" else None,
        caption=analysis.caption or analysis.title,
        file=f"tables/{analysis.name}.csv",
    )


def _datasets(study: Study, summary: Summary) -> PageSection:
    errors = grid.error_grid(study.errors, summary.datasets)
    blocks = [
        Block(table=grid.dataset_grid(summary.datasets)),
        Block(heading="Test errors, percent", table=errors),
    ]
    return PageSection("datasets", "Datasets", "The datasets and the errors on them", "", blocks)


def _left_out(study: Study, summary: Summary) -> PageSection:
    """Failed and missing runs, gaps, and the analyses that could not be made, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in study.left_out.items():
        reasons.setdefault(reason, []).append(name)
    missing = (summary.planned or 0) - summary.recorded
    blocks = [
        Block(
            absent=[f"{missing} of {summary.planned} planned runs are not recorded yet."]
            if missing > 0
            else [],
            text="Failed runs have no error and are left out. Diverged runs count with the error "
            "of guessing. An architecture without an error on a dataset is left out of what "
            "concerns that dataset, and of nothing else.",
            table=grid.text_grid(summary.runs),
        ),
        Block("Why runs failed", table=grid.text_grid(summary.failures, names=3)),
        Block("Gaps in the analysis", table=grid.text_grid(summary.exclusions, names=2)),
        Block("Architectures without stages", items=[study.stageless] if study.stageless else []),
        Block(
            "Analyses that were left out",
            items=[f"{', '.join(names)}: {reason}" for reason, names in reasons.items()],
        ),
        Block("Journals that were not wholly readable", items=summary.problems),
    ]
    blocks = [block for block in blocks if block.items or (block.table and block.table.rows)]
    nothing = "Nothing else: no run failed, and no analysis had a gap."
    blocks += [Block(text=nothing, items=())] if len(blocks) < 2 else []
    return PageSection("left-out", "Left out", "What failed or was left out", "", blocks)


def _provenance(study: Study, summary: Summary) -> PageSection:
    blocks = [Block(table=grid.facts_grid(summary.versions))]
    if summary.sweep:
        said = "Save the sweep as sweep.yaml, and run:"
        blocks.append(Block(text=said, code="anynet-study run sweep.yaml"))
        blocks.append(Block(code=summary.sweep, code_title="The sweep"))
    text = (
        "To make only this report again: anynet-study report, with the study's name, its "
        f"results.h5 or the table. The intervals are made with seed {study.options.seed}. Tables "
        "in full precision are beside this page, in tables/*.csv. Figures for a paper: "
        "anynet-study plot."
    )
    heading = "Provenance, and how to make this again"
    return PageSection("provenance", "Provenance", heading, "", [*blocks, Block(text=text)])
