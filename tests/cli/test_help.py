"""What `--help` shows of every command: a summary in one line, and few options at first."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from anynet_study.cli.app import app

#: The help of a command begins with at most so many options; others stand below headings.
MOST_COMMON = 10


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, one in group.commands.items():
        yield (*path, name), one
        if hasattr(one, "commands"):
            yield from commands(one, (*path, name))


ALL = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_few_options_come_first_and_each_says_what_it_is(path: tuple[str, ...]) -> None:
    options = [
        one for one in ALL[path].params if one.param_type_name == "option" and not one.hidden
    ]
    assert all(option.help for option in options)
    common = [one.name for one in options if getattr(one, "rich_help_panel", None) is None]
    assert len(common) <= MOST_COMMON, common


@pytest.mark.parametrize("group", [(), ("data",), ("data", "classes")], ids=" ".join)
def test_no_summary_is_cut_on_a_terminal_of_80_columns(group: tuple[str, ...]) -> None:
    told = CliRunner().invoke(app, [*group, "--help"], env={"COLUMNS": "80"}).stdout
    listed = told.partition("Commands:\n")[2].splitlines()
    assert len(listed) >= 3
    assert [line for line in listed if line.endswith("...")] == []
