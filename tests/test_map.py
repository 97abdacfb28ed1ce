"""The map of the code, docs/map.md, names files that are there, and every room."""

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
