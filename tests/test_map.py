"""What the pages of docs/ name is there: files and rooms of the map, tests of the promises."""

import re

from command import ROOT

PACKAGE = ROOT / "anynet_study"
MAP = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")


def test_files_that_the_map_names_are_there() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|yaml))`", MAP)) - {"sweep.yaml"}  # a study's own
    assert len(named) > 30
    places = (ROOT, PACKAGE, PACKAGE / "data")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_every_room_is_on_the_map() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert [room for room in rooms if f"`{room}/`" not in MAP] == []


def test_every_promise_names_a_test_that_is_there() -> None:
    promises = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", promises)
    assert len(named) > 20
    for file, name in named:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")
