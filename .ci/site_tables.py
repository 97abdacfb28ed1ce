"""Write into the pages of docs/ what the code says itself, between marks; --check: is it current?

They are committed, so that the pages are whole where they are read.
"""

import ast
import csv
import html
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

import anynet_study
from anynet_study.engine.sweep import explain

ROOT = Path(__file__).parents[1]
PARTS = ("", "population", "population.space", "datasets", "recipes", "recipes.NAME.tuning")
PARTS += ("replicates", "evaluations", "launch")


def written(page: Path) -> str:
    """The page as it should be: what its marks name stands between them."""
    made: dict[str, Callable[[], str]] = {"keys": keys, "experiments": experiments}
    made |= {"scripts": scripts, "analyses": analyses, "names": lambda: names(page)}
    made |= {"items": items}
    text = page.read_text(encoding="utf-8")
    for mark, make in made.items():
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            text = f"{before}{begin}\n\n{make().strip()}\n\n{end}{after}"
    return text


def names(page: Path) -> str:
    """A row per name of which a page has the reference (`::: path.of.it`)."""
    lines = ["| name | what it is |", "|---|---|"]
    for path in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        module, _, name = path.rpartition(".")
        told = " ".join(
            (getattr(importlib.import_module(module), name).__doc__ or "").split("\n\n")[0].split()
        )
        told_by = f"anynet_study.{name}" if hasattr(anynet_study, name) else path
        shown = told_by.replace(".analysis.", ".")  # the front door has apr
        lines.append(f"| `{shown}` | {told} |")
    return "\n".join(lines)


def keys() -> str:
    """The keys of the sweep file."""
    return "\n\n".join(map(table, PARTS))


def experiments() -> str:
    """What `sweeps/README.md` says, without its heading; links lead there from here."""
    said = (ROOT / "sweeps" / "README.md").read_text(encoding="utf-8").partition("\n")[2]
    said = said.replace("](../docs/", "](")
    return re.sub(r"\[([^]]+)\]\(\.\./[^)]*\)", r"\1", said)  # a page links to pages alone


def items() -> str:
    """A table of each paper's items, from `docs/papers.yaml`, whose commands tests run."""
    lines = []
    for paper in yaml.safe_load((ROOT / "docs" / "papers.yaml").read_text(encoding="utf-8")):
        lines += [
            f"### {paper['paper']}",
            "",
            "| item | status | how, or why not |",
            "|---|---|---|",
        ]
        for item in paper["items"]:
            given = "run" in item or "tested" in item
            lacking = item.get("lacking", "")
            status = "whole" if not lacking else "partly" if given else "no"
            commands = ", ".join(f"`{command}`" for command in item.get("run", ()))
            told = [commands and f"{commands} on `{item['sweep']}`", item.get("how", ""), lacking]
            lines.append(f"| {item['item']} | {status} | {'; '.join(filter(None, told))} |")
        lines.append("")
    return "\n".join(lines)


def analyses() -> str:
    """Every analysis below its section: question, formula, source, and a place for an example."""
    from anynet_study.analysis.analyses import ANALYSES, SECTIONS

    lines = []
    titles = {section.id: section.title for section in SECTIONS} | {"": "Not on the page"}
    for place, title in titles.items():
        mine = [it for it in ANALYSES.values() if it.section == place]
        lines += [f"### {title}", ""] if mine else []
        for it in mine:
            figures = ", ".join(f"`{figure.name}`" for figure in it.figures)
            told = {
                "Table": f"`{it.name}`: {it.title}" if it.table else "",
                "Figures": figures,
                "Needs": ", ".join(it.needs).replace("_", " "),
                "Formula": f"`{it.formula}`",
                "Source": it.source,
                "When not to use it": it.avoid,
            }
            lines += [f"#### {it.question}", "", it.lead, it.note, ""]
            lines += [f"- {name}: {text}" for name, text in told.items() if text]
            lines += [*rates(it.name), "", f"<!-- example of {it.name} -->", ""]  # site_examples.py
    return re.sub("\n{3,}", "\n\n", "\n".join(lines))


def rates(name: str) -> list[str]:
    """How often each kind of sentence of an analysis is wrong, and where it is most often so."""
    with (ROOT / "benchmarks" / "results" / "sentences.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["analysis"] == name]
    if not rows:
        return []
    command = f"python -m benchmarks.sentences --only {name}"
    lines = ["", f"How often its sentences are wrong, in simulated studies (`{command}`):", ""]
    lines += [
        "| claim | rows | wrong (%), where most often | where | right (%), where plainly true |"
    ]
    lines += ["|---|---|---|---|---|"]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        mine = [row for row in rows if row["kind"] == kind]
        worst = max(mine, key=lambda row: float(row["percent"]))
        share = f"{worst['percent']} [{worst['low']}, {worst['high']}] of {worst['studies']}"
        true = next((row for row in mine if row["role"] == "true"), None)
        right = f"{true['right']} ({true['world']}; {true['setting']})" if true else ""
        where = f"{worst['world']}; {worst['setting']} ({worst['date']})"
        lines.append(f"| {kind} | {len(mine)} | {share} | {where} | {right} |")
    return lines


def scripts() -> str:
    """A row per script of `analysis/`: its name and the question that it answers."""
    lines = ["| script | question |", "|---|---|"]
    for path in sorted((ROOT / "analysis").glob("*.py")):
        told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        question = " ".join(told.split("\n\n")[0].split())
        lines.append(f"| `{path.name}` | {question} |")
    return "\n".join(lines)


def table(part: str) -> str:
    """A heading, and a row per key."""
    lines = [
        f"### {part or 'All of it'}",
        "",
        "| key | value | default | meaning |",
        "|---|---|---|---|",
    ]
    for key in explain(part)[1]:
        cells = (f"`{key.path}`", key.kind, key.default, key.meaning)
        texts = (html.escape(cell, quote=False).replace("|", "&#124;") for cell in cells)
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    stale = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        if (text := written(page)) != page.read_text(encoding="utf-8"):
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(text, encoding="utf-8")
    print(*stale)
    if stale and "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(stale)}; write them: python .ci/site_tables.py")
