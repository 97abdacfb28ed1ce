"""The examples of the site's gallery: all analyses have one, and the page shows them."""

import re
import runpy
from typing import Any

import pytest
from command import ROOT

from anynet_study.analyses import ANALYSES

GALLERY = ROOT / "docs" / "gallery.md"


@pytest.fixture(scope="module")
def hook() -> dict[str, Any]:
    pytest.importorskip("mkdocs")
    return runpy.run_path(str(ROOT / ".ci" / "site_examples.py"))


def test_the_gallery_has_a_place_for_an_example_of_each_analysis(hook: dict[str, Any]) -> None:
    places = hook["MARK"].findall(GALLERY.read_text(encoding="utf-8"))
    assert sorted(places) == sorted(ANALYSES)


@pytest.mark.slow
def test_every_analysis_has_an_example_picture_and_table(hook: dict[str, Any]) -> None:
    made = hook["examples"]()
    assert made.keys() == ANALYSES.keys()
    for name, analysis in ANALYSES.items():
        assert made[name].picture.startswith(b"\x89PNG") == bool(analysis.figures)
        shown = hook["as_shown"](name, made[name])
        rows = re.findall(r"^\| .* \|$", shown, re.MULTILINE)
        assert bool(rows) == bool(analysis.table)
        assert len({row.count("|") for row in rows}) <= 1
