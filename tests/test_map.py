"""What the pages of docs/ name is there: files and rooms of the map, tests of the promises."""

import re

from command import ROOT, SWEEPS

from anynet_study.analysis.analyses.arguments import StudyOptions

PACKAGE = ROOT / "anynet_study"
MAP = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")


def test_files_that_the_map_names_are_there() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|yaml))`", MAP)) - {"sweep.yaml"}  # a study's own
    assert len(named) > 30
    places = (ROOT, PACKAGE)
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_every_folder_and_room_is_on_the_map() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
    rooms = {path.parent.name for path in PACKAGE.glob("*/*/__init__.py")}
    assert [room for room in folders | rooms if f"{room}/`" not in MAP] == []
    sections = re.findall(r"^## (\w+): ", MAP, re.MULTILINE)
    assert sorted(sections) == sorted(folders)


def test_every_promise_names_a_test_that_is_there() -> None:
    promises = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", promises)
    assert len(named) > 20
    for file, name in named:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_scripts_options_and_sweeps_of_the_table_of_experiments_are_there() -> None:
    table = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) > 60
    shared = {f"--{name.replace('_', '-')}" for name in StudyOptions.__annotations__}
    shared |= {"--source", "--output"}
    named = re.findall(r"`([\w/]+\.(?:py|yaml))([^`]*)`", "\n".join(rows))
    assert len(named) > 30
    for file, told in named:
        if file.endswith(".yaml"):
            found = SWEEPS / file if not file.startswith("sweeps/") else ROOT / file
            assert found.is_file(), file
            continue
        script = (ROOT / "analysis" / file).read_text(encoding="utf-8")
        for option in set(re.findall(r"--[\w-]+", told)) - shared:
            name = option.removeprefix("--").replace("-", "_")
            assert f'"{option}"' in script or f"{name}: " in script, f"{file} {option}"


def test_what_the_papers_table_cannot_do_is_said_with_the_sweeps() -> None:
    """Of every item that is not whole its reason is told where a user looks for its file."""
    table = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    readme = (SWEEPS / "README.md").read_text(encoding="utf-8").split("What is not here")[1]
    rows = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]
    lacking = [row[1].split(":")[0] for row in rows if len(row) > 4 and row[2] in ("no", "partly")]
    assert 0 < len(lacking) < 9
    assert [item for item in lacking if item not in readme] == []
