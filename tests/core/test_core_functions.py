"""The source of a user's own functions: which files it is, and what changes its digest."""

from pathlib import Path

import pytest

from anynet_study.core.functions import own_sources, source_digest

FILES = {
    "mine_net.py": "import os, torch, mine_parts.blocks\nfrom mine_words import *\n",
    "mine_parts/__init__.py": "",
    "mine_parts/blocks.py": "def f():\n    from . import heads\n    from .deeper import norm\n",
    "mine_parts/heads.py": "from anynet_study import apr\n",
    "mine_parts/deeper/__init__.py": "from ..far import it\n",
    "mine_parts/deeper/norm.py": "this is no Python\n",
    "mine_parts/far.py": "",
    "mine_parts/unused.py": "",
    "mine_words.py": "import mine_net  # a circle\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_they_are_the_module_and_what_it_imports_of_ones_own(folder: Path) -> None:
    found = own_sources("mine_net:net")
    assert {*found} == {*FILES} - {"mine_parts/unused.py"}
    assert all(path == folder / name for name, path in found.items())


@pytest.mark.parametrize("name", ["torch.nn:Linear", "json:loads", "sys:exit", "not_there:f"])
def test_what_is_installed_or_absent_has_none(name: str) -> None:
    assert own_sources(name) == {}
    assert source_digest({}) == ""


def test_a_digest_changes_with_each_of_them_and_with_nothing_else(folder: Path) -> None:
    def digest() -> str:
        return source_digest(own_sources("mine_net:net"))

    first = digest()
    (folder / "mine_parts" / "unused.py").write_text("x = 1\n")
    assert digest() == first
    seen = {first}
    for name in own_sources("mine_net:net"):
        (folder / name).write_text((folder / name).read_text() + "# another\n")
        assert digest() not in seen
        seen.add(digest())
