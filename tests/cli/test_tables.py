"""Tables on the terminal: the layouts for what is wider than it."""

import io

import pytest
from rich.console import Console

from anynet_study.cli.tables import cell_text, column_cells, number, print_table, table_text
from anynet_study.core.errors import amount

HEADINGS = ("dataset", "best error", "rho", "n")
ROWS = [["digits", "1.50 [1.20, 1.90]", 0.5, 12], ["a-dataset-of-a-long-name", "2.00", None, 7]]


def test_what_fits_is_aligned_names_left_numbers_right() -> None:
    lines = table_text(HEADINGS, ROWS, title="Errors").splitlines()
    assert lines == [
        "Errors",
        "dataset                          best error   rho   n",
        "digits                    1.50 [1.20, 1.90]  0.50  12",
        "a-dataset-of-a-long-name               2.00         7",
    ]
    assert table_text((), [["a", 1], ["bc", 10]]).splitlines() == ["a    1", "bc  10"]


@pytest.mark.parametrize("width", [20, 30, 42])
def test_split_tables_have_every_column_once_and_the_names_in_each_part(width: int) -> None:
    lines = table_text(HEADINGS, ROWS, wide="split", width=width).splitlines()
    assert max(map(len, lines)) <= max(width, width // 2 + 2 + 12)
    text = "\n".join(lines)
    parts = text.count("dataset ")
    assert "…" not in text
    assert sum(line.strip().startswith("digits") for line in lines) == parts >= 1
    assert "".join(line[: width // 2].strip() for line in lines).count("name") == parts
    for shown in ("[1.20, 1.90]", "error", "rho", "12"):
        assert text.count(shown) == 1


def test_folded_texts_lose_nothing() -> None:
    lines = table_text(("name", "n"), [["word " * 20, 3]], width=40).splitlines()
    assert len(lines) > 2
    assert " ".join(lines).count("word") == 20


def test_cut_tables_name_what_they_leave_out() -> None:
    lines = table_text(HEADINGS, ROWS, wide="cut", width=45).splitlines()
    assert lines[0].split() == ["dataset", "best", "error"]
    assert lines[-1] == "not shown, for want of width: rho, n; see --columns"


def test_markup_is_text_and_the_console_says_how_wide() -> None:
    console = Console(file=io.StringIO(), width=30)
    print_table(("[bold]", "n"), [["[red]x", 1]], console=console)
    assert console.file.getvalue() == "[bold]  n\n[red]x  1\n"  # type: ignore[attr-defined]


def test_columns_become_cells() -> None:
    columns = {"id": ["a", None], "error": [12.345, float("nan")], "p": [0.5, 1.0], "n": [1, None]}
    headings, rows, left = column_cells(columns)
    assert (headings, left) == (["id", "error", "p", "n"], {0})
    assert rows == [["a", "12.35", "0.5000", "1"], ["", "", "1.0000", ""]]


def test_numbers() -> None:
    assert [number(v) for v in (1.005, -0.001, -1e-9, float("nan"), float("inf"))] == [
        *("1.00", "-0.001", "0.00", "–", "–"),
    ]
    assert [amount(v) for v in (999, 1234, 4.0891e9, 26.15e6)] == [
        *("999", "1.234k", "4.089G", "26.15M"),
    ]
    assert amount(9999, smallest=1e4) == "9999"
    assert (cell_text(None), cell_text(0.5), cell_text(True)) == ("", "0.50", "True")


def test_names_are_whole_on_a_terminal_that_has_room_and_folded_where_not() -> None:
    name = "imagenetv2-matched-frequency"
    rows = [[name, "0.91 [0.88, 0.94]", "0.52 [0.40, 0.60]"]]
    headings = ["dataset", "a", "b"]
    assert name in table_text(headings, rows, wide="split", width=60)
    narrow = table_text(headings, rows, wide="split", width=40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert "…" not in narrow
    folded = [line.split()[0] for line in narrow.splitlines() if line.startswith(("imag", "matc"))]
    assert "".join(folded[:2]) in name


def test_headings_of_names_are_never_broken() -> None:
    headings = ["dataset", "architecture", "shift", "accuracy"]
    rows = [["ImageNet val", "convnext_0+in21k", "ImageNet-V2", "65.49 [64.10, 66.80]"]] * 2
    lines = table_text(headings, rows, left=3, wide="split", width=44).splitlines()
    assert lines[0].split()[:3] == headings[:3]
    assert max(map(len, lines)) <= 44


@pytest.mark.parametrize("wide", ["split", "cut"])
def test_nothing_is_cut_in_a_pipe(monkeypatch: pytest.MonkeyPatch, wide: str) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    name, many = "x" * 200, [str(number) * 9 for number in range(12)]
    console = Console(file=io.StringIO(), force_terminal=False)
    print_table(["name", *many], [[name, *many]], wide=wide, console=console)
    _, row = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert (row.split()[0], row.split()[1:]) == (name, many)
