"""The tables of analyses for people, for other programs, and for LaTeX."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from anynet_study.analysis.analyses import Concern, answering, concerns_of, conclusions, findings
from anynet_study.analysis.analysis import Analysis, remarks
from anynet_study.analysis.apr import as_matrix, exclusions
from anynet_study.analysis.plots import wording
from anynet_study.analysis.report import WHY_NO_INTERVAL, Grid, grid_of, merge_repeats
from anynet_study.analysis.study import NO_POPULATION, NO_ROLES, NO_TEST_SETS, Study
from anynet_study.cli.tables import number, print_table, table_text
from anynet_study.cli.terminal import Terminal
from anynet_study.core.errors import UserError, counted, some_of
from anynet_study.core.sheets import csv_text

SUFFIXES = {"text": ".txt", "csv": ".csv", "json": ".json", "latex": ".tex"}
#: Rows of a table that all tables together still show.
MANY_ROWS = 45
#: How many lines about what is left out are printed; JSON has all of them.
MOST_LEFT_OUT = 12
REMEDIES = {
    NO_ROLES: "say --source, or --source, --family and --targets",
    NO_TEST_SETS: "say --source and --shifts",
    NO_POPULATION: "needed: columns d1, w1, b1, g1, d2, ...",
}
#: What the escaping of LaTeX's own characters leaves.
LATEX_SIGNS = {
    "−": "$-$",
    "±": "$\\pm$",
    "ρ": "$\\rho$",
    "–": "--",
    "<0.": "$<$0.",
    "∞": "$\\infty$",
}

#: What people's own text is in LaTeX, but for percent signs.
LATEX_TEXT = str.maketrans(
    {sign: f"\\{sign}" for sign in "&$#_{}"}
    | {"<": "$<$", ">": "$>$", "\\": "\\textbackslash{}"}
    | {"~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
)


def choose_layout(told: str, output: Path | None, tables: int) -> str:
    """The format given by --format or by the ending of the file; text if neither is given.

    Raises UserError for a format or ending that is none, and for tables that do not fit one file.
    """
    by_ending = {suffix: layout for layout, suffix in SUFFIXES.items()}
    ending = output.suffix.lower() if output else ""
    if told and told not in SUFFIXES:
        raise UserError(f"--format: unknown {told!r}; choose from {', '.join(SUFFIXES)}")
    if ending and ending not in by_ending:
        raise UserError(f"-o {output}: ending {ending}; legal: {', '.join(by_ending)}, or a folder")
    layout = told or by_ending.get(ending, "text")
    if tables > 1 and (ending or output is None) and layout in ("csv", "latex"):
        raise UserError(
            f"--format {layout} of several tables needs --output FOLDER, or one --table"
        )
    return layout


def formatted(study: Study, name: str, layout: str) -> str:
    """One table as a text that ends with a line break."""
    table = study.tables[name]
    if layout == "csv":
        return csv_text(table)
    if layout == "json":
        return json.dumps(records(table), indent=2) + "\n"
    grid = grid_of(study.called(table), study.analyses[name])
    if layout == "latex":
        return _latex(study, name, grid)
    return table_text(grid.headings, _typed(grid).rows, left=grid.names)


def records(table: pd.DataFrame) -> list[dict[str, object]]:
    """Rows as JSON objects; null where a value is undefined."""
    values = table.astype(object)
    rows: list[dict[str, object]] = values.where(table.notna(), None).to_dict("records")
    return rows


def as_json(study: Study, names: list[str]) -> str:
    """All tables as one JSON object."""
    whole = {
        "input": study.name,
        "architectures": len(study.errors),
        "datasets": list(study.errors.columns),
        "effective_architectures": study.effective,
        **vars(study.options),
        "concerns": [vars(concern) for concern in concerns_of(study)],
        "conclusions": conclusions(study),
        "tables": {name: records(study.tables[name]) for name in names},
        "averages": {
            name: records(pd.DataFrame(averages))
            for name in names
            if (averages := study.tables[name].attrs.get("averages"))
        },
        "remarks": {name: said for name in names if (said := remarks(study.tables[name]))},
        "not_made": {name: with_remedy(why) for name, why in study.left_out.items()},
        "left_out": left_out(study),
    }
    return json.dumps(whole, indent=2) + "\n"


def print_tables(study: Study, names: list[str], whole: bool) -> None:
    """Print every table, which others are missing, and what the tables leave out.

    Long tables are only named, unless `whole`; why tables are missing is told only then.
    """
    console = Terminal()
    console.print(f"{study.name}: {_heading(study)}")
    print_concerns(console, concerns_of(study))
    said: set[str] = set()
    for name in names:
        table = study.tables[name]
        if len(table) <= MANY_ROWS or whole or name == "configurations":
            print_analysis(console, study.analyses[name], study.called(table), said)
            said |= {*table.attrs.get("remarks", [])}
        else:
            console.print(f"\n{study.analyses[name].title}", style="bold")
            if name == "correlations":
                _print_matrix(console, table)
            console.print(f"{len(table)} rows: --table {name}")
    reasons: dict[str, list[str]] = {}
    for name, reason in study.left_out.items():
        reasons.setdefault(with_remedy(reason), []).append(name)
    # Without roles, little can be asked; the other reasons are for those who miss a table.
    told = {why: left for why, left in reasons.items() if whole or why == with_remedy(NO_ROLES)}
    for reason, left in told.items():
        console.print(f"\nno table {', '.join(left)}: {reason}")
    _print_left_out(console, study)


def print_answer(study: Study) -> None:
    """Print the answer of a study in sentences, and the tables that it rests on.

    It rests on the tables that were made. Which others there are is said by name.
    """
    console, shown = Terminal(), answering(study)
    console.print(f"{study.name}: {_heading(study)}")
    print_concerns(console, concerns_of(study))
    sentences = conclusions(study)
    if sentences:
        console.print("\nthe answer:", style="bold")
    elif study.known("roles") is None:
        console.print(f"\nno answer yet: {with_remedy(NO_ROLES)}")
    for sentence in sentences:
        console.print(f"- {sentence}")
    for name in shown:
        analysis, table = study.analyses[name], study.tables[name]
        if name == "correlations":
            console.print(f"\n{analysis.title}", style="bold")
            _print_matrix(console, table)
            rows = counted(len(table), "row")
            console.print(f"{rows}, with intervals: --table {name}")
        else:
            print_analysis(console, replace(analysis, note=""), study.called(table))
    others = [name for name in study.tables if name not in shown]
    if others:
        console.print(f"\nby --table NAME or --all: {', '.join(others)}")
    _print_left_out(console, study)


def print_summary(study: Study) -> None:
    """Print what the report says first: concerns, the answer, and the matrix of correlations.

    It rests on the tables that were made, as those of a report.
    """
    console = Terminal()
    console.print(_heading(study))
    print_concerns(console, concerns_of(study))
    if "correlations" in study.tables:
        console.print(f"\n{study.analyses['correlations'].title}", style="bold")
        _print_matrix(console, study.tables["correlations"])
    answer = findings(study)
    for finding in answer:
        console.print(f"\n{finding.topic}", style="bold")
        console.print(finding.sentences[0])
    if not answer:
        console.print("no answer yet: the report says what is missing")
    _print_left_out(console, study)


def print_concerns(console: Terminal, found: Sequence[Concern]) -> None:
    """Print what makes the answer worth less, the worst first; nothing where there is nothing."""
    if found:
        console.print("\nbefore the answer:", style="bold")
    for concern in found:
        console.print(f"- {concern}")


def print_analysis(
    console: Console, analysis: Analysis[Any], table: pd.DataFrame, said: Collection[str] = ()
) -> None:
    """A table under the title of its analysis, and remarks that were not `said` before."""
    name = analysis.name
    console.print(f"\n{analysis.title}", style="bold")
    if table.empty:
        console.print("nothing to show")
        return
    if name == "correlations":
        _print_matrix(console, table)
        console.print()
    grid = _typed(grid_of(table, analysis))
    if name == "configurations":  # too wide with a column of datasets
        for dataset in dict.fromkeys(row[0] for row in grid.rows):
            console.print(dataset, style="bold")
            rows = [row[1:] for row in grid.rows if row[0] == dataset]
            names = grid.names - 1
            print_table(grid.headings[1:], rows, left=names, wide="split", console=console)
        return
    rows = grid.rows if name == "correlations" else merge_repeats(grid).rows
    print_table(grid.headings, rows, left=grid.names, wide="split", console=console)
    for line in [WHY_NO_INTERVAL] * grid.lacks_intervals + remarks(table) + [analysis.note]:
        if line and line not in said:
            console.print(line)


def with_remedy(reason: str) -> str:
    """Why there is no table, and what to do about it on the command line."""
    return "; ".join(filter(None, [reason, REMEDIES.get(reason)]))


def left_out(study: Study) -> list[str]:
    """Return what the tables leave out and why, a line each."""
    lines = [
        f"{row['dataset']}: {row['reason']} ({row['architectures']} of {len(study.errors)})"
        for row in exclusions(study.errors).to_dict("records")
    ]
    if study.store is not None:
        for row in study.store.exclusions().to_dict("records"):
            runs = f"{row['n']} run{'s' * (row['n'] != 1)}"
            kind = f" ({row['failure_kind']})" if row["failure_kind"] else ""
            kept = ", counted with the error of chance" if row["status"] == "diverged" else ""
            lines.append(f"{row['dataset']}: {runs} {row['status']}{kind}{kept}")
    return lines + [study.stageless] * bool(study.stageless)


def _heading(study: Study) -> str:
    errors, effective = study.errors, study.effective
    counts = study.size
    counts += f", {study.inputs.read_as}" if study.inputs.read_as else ""
    lines = [counts, _method(study, study.tables)]
    if effective is not None:
        lines.append(
            "correlations weighted, as the sample was drawn with unequal probability:\n"
            f"{len(errors)} architectures say as much as {effective:.1f} of equal weight (eff.)"
        )
    return "\n".join(lines)


def _method(study: Study, names: Iterable[str]) -> str:
    """Tell how these tables were computed; with the most resamples that one of them took."""
    taken = [study.tables[name].attrs["resamples"] for name in names]
    return str(replace(study.options, resamples=max(taken, default=study.options.resamples)))


def _print_left_out(console: Console, study: Study) -> None:
    lines = left_out(study)
    if lines:
        console.print("\nleft out:")
        for line in some_of(lines, MOST_LEFT_OUT):
            console.print(f"  {line}")


def _print_matrix(console: Console, table: pd.DataFrame) -> None:
    """The lower triangle of the correlations."""
    matrix = as_matrix(table)
    rows: list[list[Any]] = [
        [f"{place} {name}", *map(number, matrix.iloc[place - 1, : place - 1])]
        for place, name in enumerate(matrix.columns, 1)
    ]
    rows = [[*row, *[None] * (len(rows) - len(row))] for row in rows]
    headings = ["", *map(str, range(1, len(rows)))]
    print_table(headings, rows, wide="split", console=console)


def _typed(grid: Grid) -> Grid:
    """Write a number with an ASCII minus."""
    return replace(grid, rows=[[cell.replace("−", "-") for cell in row] for row in grid.rows])


def basis(table: pd.DataFrame) -> list[str]:
    """Sentences on how a table says that it was made; none of what it does not have."""
    told, said = table.attrs, []
    if "method" in told:
        said.append(wording.correlation_name(told["method"]).capitalize())
    if "level" in told:
        text = f"{wording.percent(told['level'])} intervals"
        resampled = f" (those by bootstrap of {told['resamples']:,} resamples, seed {told['seed']})"
        said.append(text + resampled * ("resamples" in told))
    if told.get("weighted"):
        said.append("Architectures are weighted, as they were drawn with unequal probability")
    return said


def _latex(study: Study, name: str, grid: Grid) -> str:
    """A table with a caption, for the package booktabs."""
    analysis, table = study.analyses[name], study.tables[name]
    part = study.options.where.translate(LATEX_TEXT)
    sentences = [analysis.title, *basis(table), *([f"Only runs where {part}"] if part else [])]
    sentences += [WHY_NO_INTERVAL.capitalize()] if grid.lacks_intervals else []
    sentences += [said.removesuffix(".") for said in (*remarks(table), analysis.note) if said]
    # pandas escapes cells, but no captions: ours are free of all but percent signs.
    caption = " ".join(f"{sentence}." for sentence in sentences).replace("%", r"\%")
    text: str = pd.DataFrame(grid.rows, columns=grid.headings).to_latex(
        index=False,
        escape=True,
        caption=caption,
        label=f"tab:{name}",
        column_format="l" * grid.names + "r" * (len(grid.headings) - grid.names),
    )
    for sign, command in LATEX_SIGNS.items():
        text = text.replace(sign, command)
    begin = "\\begin{table}"
    return "% \\usepackage{booktabs}\n" + text.replace(begin, f"{begin}\n\\centering")
