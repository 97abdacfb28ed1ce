"""The parts of the page, of a study with tables made by hand: what is shown, where, and why not."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_study import Type

from anynet_study.analysis.analyses import ANALYSES, study_of
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.report import DrawnFigure
from anynet_study.analysis.report.explore import explore_data
from anynet_study.analysis.report.headline import HEIGHT, headline_of
from anynet_study.analysis.report.page import analysis_block, render, sections
from anynet_study.analysis.report.summary import Summary, count_failures, count_runs
from anynet_study.analysis.study import Study

IDS = [f"m{number}" for number in range(6)]
ERRORS = pd.DataFrame(
    {
        "a": [11.0, 12.0, 13.0, 14.0, 15.0, 16.0],
        "b": [21.5, 23.0, 22.25, 26.0, 24.0, np.nan],
    },
    index=pd.Index(IDS, name="architecture"),
)
PAIRS = pd.DataFrame(
    {
        "source": ["a"],
        "target": ["b"],
        "estimate": [0.81],
        "low": [0.524996],
        "high": [0.97],
        "p": [0.012],
        "p_holm": [0.024],
        "n": [5],
    }
)
DRIVERS = pd.DataFrame(
    {
        "errors": "test",
        "dataset": ["a", "b"] * 2,
        "parameter": ["cumulative depth"] * 2 + ["cumulative width"] * 2,
        "estimate": [0.11, 0.22, 0.33, 0.44],
        "low": [0.01, 0.02, 0.03, 0.04],
        "high": [0.51, 0.52, 0.53, 0.54],
        "n": [6, 5, 6, 5],
        "p": [0.61, 0.62, 0.63, 0.64],
        "p_holm": [0.71, 0.72, 0.73, 0.74],
    }
)
POPULATION = pd.DataFrame({"architecture": IDS, "d1": range(1, 7), "d2": 10, "w1": 8, "w2": 16})
NO_ROLES = "no source dataset with targets is known"


@pytest.fixture
def study() -> Study:
    options = Options(method="kendall", level=0.9, resamples=1234, seed=7)
    made = study_of("s", options, errors=ERRORS, metrics={"a": "top1"}, architectures=POPULATION)
    made.tables = {"correlations": PAIRS, "drivers": DRIVERS}
    for table in made.tables.values():
        table.attrs = {"method": "kendall", "level": 0.9}
    made.left_out = {"match": NO_ROLES, "proxies": NO_ROLES, "noise": "too few"}
    return made


def summary(**given: object) -> Summary:
    datasets = pd.DataFrame({"dataset": ["a", "b"], "role": "extra", "base": ["a", "b"]})
    datasets = datasets.assign(classes=10, train_images=100, test_images=50, metric="top1")
    datasets = datasets.assign(epochs=5, chance=90.0)
    runs = pd.DataFrame({"dataset": ["a", "b"], "completed": [6, 5]})
    failures = pd.DataFrame({"dataset": ["b"], "kind": ["oom"], "message": ["out"], "runs": [1]})
    facts: dict[str, object] = {
        **{"name": "s", "question": "Why?", "architectures": 6, "datasets": datasets},
        **{"runs": runs, "failures": failures, "exclusions": pd.DataFrame(), "problems": []},
        **{"planned": 14, "recorded": 12, "failed": 1, "compute": "3 h"},
        **{"sampling": {"seed": "7"}, "versions": {"torch": "2.0"}, "sweep": "", "created": "now"},
    }
    return Summary(**(facts | given))  # type: ignore[arg-type]


def figure(name: str, left_out: str = "") -> DrawnFigure:
    return DrawnFigure(name, f"Title of {name}", f"Caption of {name}", {}, 3.5, left_out)


def test_an_open_table_comes_before_and_a_folded_one_after_the_figures(study: Study) -> None:
    drawn = {"depth": figure("depth"), "heatmap": figure("heatmap")}
    block = analysis_block(study, ANALYSES["drivers"], drawn)
    assert block.folded is None
    assert block.table.rows[1][:3] == ["b", "cumulative depth", "0.22 [0.02, 0.52]"]
    assert "τ" in block.table.headings
    assert [shown.name for shown in block.figures] == ["depth"]
    block = analysis_block(study, ANALYSES["correlations"], drawn)
    assert block.table is None
    assert block.folded.rows == [["a", "b", "0.81 [0.52, 0.97]", "0.012", "0.024", "5"]]
    assert block.file == "tables/correlations.csv"
    assert block.caption == ANALYSES["correlations"].caption
    assert block.note == ANALYSES["correlations"].note


def test_what_is_expected_and_absent_is_told_of(study: Study) -> None:
    drawn = {"source": figure("source", "no targets"), "matched": figure("matched")}
    block = analysis_block(study, ANALYSES["match"], drawn)
    assert block.table is None
    assert len(block.absent) == 2
    assert block.absent[0].startswith("No ")
    assert block.absent[0].endswith(f": {NO_ROLES}.")
    assert block.absent[1].endswith(": no targets.")
    assert [shown.name for shown in block.figures] == ["matched"]
    unexpected = analysis_block(study, ANALYSES["regret"], {"regret": figure("regret", "too few")})
    assert unexpected.is_empty


def test_sections_are_in_order_and_empty_ones_left_out(study: Study) -> None:
    made = sections(study, summary(sweep="name: s"), {"depth": figure("depth")})
    assert [section.id for section in made] == [
        *("explore", "proxies", "pairs", "drivers", "noise", "training", "population"),
        *("datasets", "left-out", "provenance"),
    ]
    by_id = {section.id: section for section in made}
    assert by_id["population"].blocks[0].table.rows == [["seed", "7"]]
    assert by_id["datasets"].blocks[1].table.rows[1][1:3] == ["21.50", "22.25"]
    study.tables["beyond"] = pd.DataFrame({"target": ["b"], "rho_source": [0.5], "n": [5]})
    with_transfer = [section.id for section in sections(study, summary(sweep="name: s"), {})]
    assert with_transfer[6:8] == ["transfer", "population"]


def test_what_several_tables_of_a_section_say_stands_once_above_them(study: Study) -> None:
    study.tables["beyond"] = pd.DataFrame({"target": ["b"], "rho_source": [0.5], "n": [5]})
    study.tables["transfer"] = pd.DataFrame({"target": ["b"], "r2": [0.5], "n": [5]})
    for name, own in (("beyond", "Of one."), ("transfer", "Of another.")):
        study.tables[name].attrs["remarks"] = ["Of both.", own]
    by_id = {section.id: section for section in sections(study, summary(sweep="name: s"), {})}
    page = by_id["transfer"]
    assert page.lead == "Of both."
    notes = [block.note for block in page.blocks if block.note]
    assert sorted(note.split()[-1] for note in notes) == ["another.", "one."]
    assert not any("Of both." in note for note in notes)


def test_what_was_left_out_is_counted_and_explained(study: Study) -> None:
    left_out = sections(study, summary(problems=["a.arrow: torn"]), {})[-2]
    first, failures, analyses, journals = left_out.blocks
    assert first.absent == ["2 of 14 planned runs are not recorded yet."]
    assert first.table.rows == [["a", "6"], ["b", "5"]]
    assert failures.heading == "Why runs failed"
    assert failures.table.rows == [["b", "oom", "out", "1"]]
    assert analyses.items == [f"match, proxies: {NO_ROLES}", "noise: too few"]
    assert journals.items == ["a.arrow: torn"]
    study.left_out = {}
    whole = summary(recorded=14, failures=pd.DataFrame(), failed=0)
    runs, nothing = sections(study, whole, {})[-2].blocks
    assert runs.absent == []
    assert nothing.text == "Nothing else: no run failed, and no analysis had a gap."


def test_the_page_says_how_it_was_computed(study: Study, tmp_path: Path) -> None:
    svg = tmp_path / "depth.svg"
    svg.write_text("<svg/>")
    drawn = DrawnFigure("depth", "Depth", "What it shows.", {"svg": svg}, 3.5)
    page = " ".join(render(study, summary(sweep="name: s"), {"depth": drawn}).split())
    assert "τ is Kendall&#39;s rank correlation of test errors (equal errors share" in page
    assert "brackets are 90% intervals, from 1,234 bootstrap resamples" in page
    assert "The intervals are made with seed 7." in page
    assert "6 architectures, 2 datasets, 12 of 14 planned runs recorded, 1 failed, 3 h" in page
    assert "not drawn with equal probability" not in page
    assert "<figcaption><b>Depth.</b> What it shows. Files: figures/depth.png" in page
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+" width="420"' in page
    assert "<summary>The sweep</summary><pre>name: s</pre>" in page
    # A heading for each section, in the order of the navigation.
    places = [page.index(f'<section id="{name}">') for name in ("pairs", "drivers", "left-out")]
    assert places == sorted(places)


def test_drawings_have_the_errors_and_their_correlations(study: Study) -> None:
    data = explore_data(study)
    assert data["architectures"] == IDS
    a, b, depth, width = data["columns"][:4]
    assert a["values"] == [11, 12, 13, 14, 15, 16]
    assert b["values"] == [21.5, 23, 22.25, 26, 24, None]
    assert (a["label"], b["label"]) == ("top-1 error on a (%)", "error on b (%)")
    assert (a["error"], depth["error"]) == (True, False)
    assert depth["values"] == [11, 12, 13, 14, 15, 16]
    assert width["values"] == [24] * 6
    stages = {each["name"]: (each["stage"], each["values"]) for each in data["columns"][4:]}
    assert stages == {
        "d1": ("depths", [1, 2, 3, 4, 5, 6]),
        "d2": ("depths", [10] * 6),
        "w1": ("widths", [8] * 6),
        "w2": ("widths", [16] * 6),
    }
    pairs, deep, wide = data["groups"]
    blank = "\N{NO-BREAK SPACE}"
    note = f"{blank}={blank}".join(["{}", "{}", "{}"])
    assert pairs["panels"] == [
        {"x": 0, "y": 1, "note": note.format("τ", "0.81 [0.52, 0.97], n", "5")}
    ]
    assert deep["title"] == "Errors against cumulative depth"
    assert [(panel["x"], panel["y"]) for panel in deep["panels"]] == [(2, 0), (2, 1)]
    assert deep["panels"][1]["note"] == note.format("τ", "0.22 [0.02, 0.52], n", "5")
    assert wide["panels"][0]["note"] == note.format("τ", "0.33 [0.03, 0.53], n", "6")
    assert data["matrix"] == {"names": ["a", "b"], "pairs": [[0.81, 0.524996, 0.97, 5]]}, (
        "of fewer decimals, 0.525, the browser would show another end than the note"
    )
    assert data["z"] == pytest.approx(1.6449, abs=1e-4)  # of 90%
    assert (data["pair"], data["sides"], data["curves"]) == ([0, 1], [], {})


def test_replicates_curves_and_another_recipe_are_drawn(study: Study) -> None:
    names = ["m1", "m1", "m2"]
    replicates = pd.DataFrame({"architecture": names, "dataset": "a", "error": [11.5, 12.5, 13.0]})
    epochs = pd.DataFrame({"architecture": "m2", "dataset": "b", "epoch": [1, 2]})
    study.inputs = replace(
        study.inputs,
        replicates=replicates.assign(replicate=[0, 1, 0]),
        curves=epochs.assign(error=[80.126, 60.0]),
        recipes={"long": ERRORS[["b"]].iloc[:3] - 1},
    )
    data = explore_data(study)
    assert [each.get("replicates") for each in data["columns"][:2]] == [{1: [11.5, 12.5]}, {}]
    assert data["curves"] == {
        "b": {"epochs": [1, 2], "errors": [None, None, [80.13, 60], None, None, None]}
    }
    main, long = data["sides"]
    assert (long["name"], main["columns"], long["columns"]) == ("long", {"a": 0, "b": 1}, {"b": 2})
    assert data["columns"][2]["values"] == [20.5, 22, 21.25, None, None, None]


@pytest.mark.parametrize(("targets", "named"), [(2, True), (200, False)])
def test_the_headline_stays_on_one_screen(targets: int, named: bool) -> None:
    names = [f"t{number}" for number in range(targets)]
    table = pd.DataFrame({"source": "s", "target": names, "n": 9})
    table["estimate"] = np.linspace(-0.2, 0.9, targets)
    table["low"], table["high"] = table["estimate"] - 0.1, table["estimate"] + 0.1
    errors = pd.DataFrame(1.0, index=IDS, columns=["s", *names])
    made = study_of("s", errors=errors)
    made.tables = {"correlations": table}
    found = headline_of(made)
    assert found is not None
    assert (found.height <= HEIGHT, found.named, len(found.rows)) == (True, named, targets)
    assert found.rows[0].dataset == names[-1]  # the most alike first
    assert found.rows[0].low < found.rows[0].at < found.rows[0].high
    assert found.rows[-1].said.startswith("ρ = −0.20 [−0.30, −0.10], n = 9")


def test_runs_are_counted_by_status() -> None:
    runs = pd.DataFrame(
        {
            "dataset": ["a", "a", "a", "b", "b", "b"],
            "status": ["completed", "failed", "failed", "diverged", "completed", "failed"],
            "failure_kind": ["", "oom", "oom", "", "", "data"],
            "message": ["", "first", "second", "", "", "torn"],
        }
    )
    counts = count_runs(runs, ERRORS)
    assert counts.to_dict("list") == {
        "dataset": ["a", "b"],
        "completed": [1, 1],
        "diverged": [0, 1],
        "failed": [2, 1],
        "architectures without an error": [0, 1],
    }
    assert count_failures(runs).to_numpy().tolist() == [
        ["a", "oom", "first", 2],
        ["b", "data", "torn", 1],
    ]


def test_imported_results_do_not_speak_of_training(tmp_path: Path, type_: Type) -> None:
    errors = pd.DataFrame({"model": list("abcdef"), "big": [30, 31, 33, 34, 36, 35.0]})
    errors.assign(small=errors["big"] / 3).to_csv(tmp_path / "errors.csv", index=False)
    assert type_("import", "errors.csv", "--error", "-o", "s.h5").code == 0
    done = type_("report", "s.h5", "--source", "big", "-o", "r", "--resamples", 100)
    assert done.code == 0, done.err
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "12 results, imported." in page
    said = page.partition('<script type="application/json"')[0]
    assert not re.search(r"planned runs|of training\.|0 s|after the last epoch", said)
    assert '<a href="#noise">' not in said
