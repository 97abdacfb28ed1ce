"""The examples of the site's gallery: all analyses have one, and the page shows them."""

import re
import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from command import ROOT
from small_study import small_study

from anynet_study import load
from anynet_study.analysis.analyses import ANALYSES

GALLERY = ROOT / "docs" / "gallery.md"


@pytest.fixture(scope="module")
def hook() -> dict[str, Any]:
    pytest.importorskip("mkdocs")
    return runpy.run_path(str(ROOT / ".ci" / "site_examples.py"))


def test_the_gallery_has_a_place_for_an_example_of_each_analysis() -> None:
    places = re.findall("<!-- example of (.*?) -->", GALLERY.read_text(encoding="utf-8"))
    absent = [name for name in ANALYSES if name not in places]
    assert not absent, f"docs/gallery.md needs a section, and its mark, for each of {absent}"
    assert sorted(places) == sorted(ANALYSES)


@pytest.mark.parametrize("name", ["correlations", "over-targets"])
def test_an_example_has_the_picture_and_the_table_of_its_analysis(
    hook: dict[str, Any], name: str
) -> None:
    """Of all analyses they are made, or missed, whenever the site is built."""
    study = load(small_study(12).errors, "base", resamples=100)
    made, analysis = hook["example_of"](study, name, "a table"), ANALYSES[name]
    assert made.picture.startswith(b"\x89PNG") == bool(analysis.figures)
    shown = hook["as_shown"](name, made)
    rows = re.findall(r"^\| .* \|$", shown, re.MULTILINE)
    assert bool(rows) == bool(analysis.table)
    assert len({row.count("|") for row in rows}) <= 1


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"match": SimpleNamespace(faults=[])}, "no example of noise"),
        (dict.fromkeys(("match", "noise"), SimpleNamespace(faults=["cut: 'a'"])), "cut: 'a'"),
    ],
)
def test_an_analysis_without_a_sound_example_is_named(
    made: dict[str, Any], said: str, hook: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = hook["examples"].__wrapped__.__globals__
    errors = small_study(12).errors
    gallery = {"DOMAINS": errors, "miniature": lambda folder, count: errors}
    monkeypatch.setitem(names, "runpy", SimpleNamespace(run_path=lambda path: gallery))
    monkeypatch.setitem(names, "ANALYSES", {name: ANALYSES[name] for name in ("match", "noise")})
    monkeypatch.setitem(names, "example_of", lambda study, name, of: made.get(name))
    with pytest.raises(RuntimeError, match=said):
        hook["examples"]()
