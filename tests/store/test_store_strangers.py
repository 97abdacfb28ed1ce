"""Stores that somebody else made, by accident or on purpose: refused in one line."""

import io
import json
import re
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from h5_changes import Change, edited
from import_factory import imported, written
from store_factory import make_store, record
from tiny_study import Type, tree

from anynet_study.cli.rows import write_rows
from anynet_study.cli.terminal import Terminal as PlainTerminal
from anynet_study.core import sql as module
from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, run_sql
from anynet_study.store.hdf5 import Objects, fixed_texts, set_text


def changed(path: Path, *changes: Change) -> Path:
    """The store at `path`, made new and changed, and its checksums made to fit again."""
    made, _ = make_store(path.parent / "made", [record(number) for number in range(3)])
    return edited(path, made.read_bytes(), *changes)


def moved_out(file: h5py.File, make: Change) -> None:
    """What `make` puts in the place of /runs/seconds, whose checksum was made before."""
    file.move("runs/seconds", "runs/threads_of")
    del file["runs/threads_of"]
    make(file)


def set_external(file: h5py.File) -> None:
    outside = [("outside.bin", 0, 24)]
    file.create_dataset("runs/seconds", (3,), "f8", external=outside)


def set_virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource("outside.h5", "x", (3,))
    file.create_virtual_dataset("runs/seconds", layout)


def set_deep(file: h5py.File) -> None:
    group = file.create_group("runs/seconds")
    for _ in range(2000):
        group = group.create_group("a")


def set_endless(file: h5py.File) -> None:
    file.create_dataset("runs/seconds", (10**12,), "f8", chunks=(1 << 14,))


OUTSIDE: dict[str, tuple[Change, str]] = {
    "external": (set_external, "has its values in other files"),
    "virtual": (set_virtual, "has its values in other files"),
    "endless": (set_endless, "claims 8000000000000 bytes"),
    "deep": (set_deep, "lies deeper than anything"),
    "soft link": (
        lambda file: file["runs"].__setitem__("seconds", h5py.SoftLink("/runs/error")),
        "is a link",
    ),
    "external link": (
        lambda file: file["runs"].__setitem__("seconds", h5py.ExternalLink("outside.h5", "x")),
        "is a link",
    ),
}


@pytest.mark.parametrize("kind", OUTSIDE)
def test_what_leads_out_of_a_store_is_never_followed(type_: Type, kind: str) -> None:
    with h5py.File("outside.h5", "w") as file:
        file["x"] = np.arange(3.0)
    Path("outside.bin").write_bytes(bytes(24))
    path, (make, reason) = changed(Path("s.h5").absolute()), OUTSIDE[kind]
    with h5py.File(path, "r+") as file:
        moved_out(file, make)
    before = tree(Path())
    for command in (
        ("query", "s.h5"),
        ("analyze", "s.h5"),
        ("import", "s.h5", "-o", "new.h5"),
        ("export", "s.h5", "-o", "release"),
    ):
        told = type_(*command)
        assert (told.code, reason in told.line) == (2, True), told
    said = type_("verify", "s.h5").out
    assert re.search(rf"^/runs/seconds[/a]*: {reason}", said, re.MULTILINE)
    assert tree(Path()) == before


def test_groups_that_hold_each_other_are_entered_once(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "circle.h5", "w") as file:
        for number in range(60):
            file[f"a{number}"] = file
        assert len(Objects(file)) == 61


@pytest.mark.slow
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 150.0])
def test_errors_that_no_run_can_have_are_neither_exported_nor_imported(
    type_: Type, value: float
) -> None:
    path = changed(Path("s.h5").absolute(), lambda file: file["runs/error"].__setitem__(1, value))
    before = tree(Path())
    for command in (("import", path, "-o", "new.h5"), ("export", path, "-o", "release")):
        told = type_(*command)
        assert (told.code, "/runs/error has values that are not percentages" in told.line) == (
            2,
            True,
        )
    assert type_("verify", path).code == 1
    assert tree(Path()) == before


def test_a_table_of_more_cells_than_are_read_is_refused(
    type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal cells take next to nothing in a file."""
    monkeypatch.setattr("anynet_study.core.sheets.MOST_CELLS", 1000)
    rows = pa.table({name: pa.repeat(name, 501) for name in ("image", "caption")})
    pq.write_table(rows, "t.parquet", row_group_size=100)
    for command in (
        ("import", "t.parquet", "-o", "new.h5"),
        ("analyze", "t.parquet"),
        ("data", "label", "t.parquet", "--terms", "t.parquet"),
    ):
        told = type_(*command)
        assert told.code == 2
        assert "t.parquet: 1,002 cells; at most 1,000 are read" in told.line


@pytest.mark.parametrize(
    "said", [b"\xff{}", b'{"index_columns": [', b"[1]", b'{"index_columns": 1}']
)
def test_what_pandas_says_of_a_parquet_table_may_be_anything(said: bytes, type_: Type) -> None:
    table = pa.table({"model": list("abcd"), "d0": [10.0, 11, 12, 13], "d1": [20.0, 25, 22, 27]})
    pq.write_table(table.replace_schema_metadata({"pandas": said}), "t.parquet")
    told = type_("import", "t.parquet", "-o", "new.h5", "--source", "d0", "--error", "--percent")
    assert told.code == 0 or "t.parquet: damaged: what pandas says of it" in told.line


def test_the_store_of_another_study_is_refused(type_: Type) -> None:
    for name in ("one", "two"):
        out, _ = make_store(Path("studies") / name, [record(0)])
        written(out.with_name("sweep.yaml"), f"name: {name}\n")
        with h5py.File(out, "r+") as file:
            del file["provenance"]
            file["provenance"] = fixed_texts(json.dumps({"sweep": f"name: {name}\n"}))
    assert type_("query", "one").code == 0
    Path("studies/two/results.h5").replace("studies/one/results.h5")
    for command in (("query", "one"), ("analyze", "one"), ("export", "one", "-o", "release")):
        told = type_(*command)
        said = "holds the results of the study two, not of one"
        assert (told.code, said in told.line) == (2, True), told


def test_sql_ends_in_bounded_time_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ResultStore(make_store(tmp_path, [record(0)])[0])
    monkeypatch.setattr(module, "SECONDS", 0.3)
    with pytest.raises(UserError, match=r"sql: takes longer than 0\.3 s"):
        run_sql(store, "select count(*) from range(2000000000) a where a.range % 7 = 3")
    (memory,) = run_sql(store, "select current_setting('memory_limit') as it")["it"].to_pylist()
    assert memory == "1.0 GiB"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_names_give_the_terminal_no_orders(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pa.table({"model": ["\x1b[31mred", "\x9b2Jgone"], "\x1b]0;title\x07": ["a", "b"]})
    shown = Terminal()
    write_rows(rows, form, shown)  # type: ignore[arg-type]
    PlainTerminal(file=shown).print("of \x1b[31mred: a remark, −1")
    text = shown.getvalue() + capsys.readouterr().out  # a table is printed by rich
    assert not {"\x1b", "\x9b", "\x07"} & set(text)
    assert "31mred: a remark, -1" in text


@pytest.mark.parametrize(
    ("column", "text", "says"),
    [
        ("variant", "5", "variant: not a JSON object"),
        ("variant", "[" * 50_000, "variant: not a JSON object"),
        ("class_names", '{"0": "cat"}', "class_names: not a JSON list"),
        ("class_names", '["cat"]', "1 class_names of "),
    ],
)
def test_json_of_another_kind_is_one_line(
    tmp_path: Path, column: str, text: str, says: str
) -> None:
    def write(file: h5py.File) -> None:
        datasets = file["datasets"]
        if column in datasets:
            del datasets[column]
        else:
            set_text(datasets, "columns", [*datasets.attrs["columns"].astype(str), column])
        datasets[column] = fixed_texts([text] * len(datasets["dataset"]))

    path = changed(tmp_path / "other.h5", write)
    with pytest.raises(UserError, match=re.escape(says)):
        ResultStore(path).datasets()


def test_json_that_is_nested_without_end_is_one_line(type_: Type, tmp_path: Path) -> None:
    def nest(file: h5py.File) -> None:
        del file["provenance"]
        file["provenance"] = fixed_texts(json.dumps({"import": "[" * 50_000}))

    path = changed(tmp_path / "nested.h5", nest)
    told = type_("export", path, "-o", "release")
    assert (told.code, "nested too deeply" in told.line) == (2, True)
    assert not Path("release").exists()
    for text in ('{"a":' * 100_000, '[{"model": "a", "x": ' + "[" * 900 + "]" * 900 + "}]"):
        with pytest.raises(UserError):
            imported(tmp_path / "s.h5", written(tmp_path / "t.json", text))
