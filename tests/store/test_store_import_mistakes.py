"""Every mistake in what is imported: one line that says what and where, and nothing is written."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_factory import imported, written
from store_factory import make_store, record

from anynet_study.core.errors import UserError
from anynet_study.store.importing import read_sidecar


def refusal(tmp_path: Path, name: str, content: str | bytes, **options: Any) -> str:
    """The line that a file of this content is refused with."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UserError) as refused:
        imported(tmp_path / "store.h5", path, **options)
    assert sorted(tmp_path.iterdir()) == before
    line = str(refused.value).replace(str(tmp_path) + "/", "")
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "model,val\na,0.3\nb,0.4\n",
            "no value exceeds 1 (the largest is 0.4), so these look",
        ),
        ("model,val,x\na,0.3,30\nb,0.4,40\n", "val (has no value above 0.4, x has up to 40)"),
        (
            "model,val\na,0.76\nb,71.2\nc,79\n",
            "row 2, a on val: 0.76 beside values from 71.2 to",
        ),
        ("model,val\na,20\nb,many\n", "row 3, column val: 'many' is not a number"),
        ("model,val\na,20\nb,inf\n", "row 3, column val: 'inf' is not a number"),
        ("model,val\na,20\nb,120\n", "row 3, b on val: 120 is outside 0 to 100"),
        ("model,val\na,20\nb,-1\n", "row 3, b on val: -1 is outside 0 to 100"),
        ("model,val\na,20\nb,30\na,40\n", "a is there twice, in rows 2 and 4"),
        ("model,val,val\na,20,30\n", "column 'val' is there twice"),
        ("model,val,\na,20,30\n", "column 3 has no name"),
        ("model,val\na,20\n,30\n", "row 3 has nothing in column model"),
        ("model,val\na,20,30\n", "row 2: 3 cells, the header has 2"),
        ("model,val\n", "the table has no rows"),
        ("model,family\na,resnet\n", "no column holds numbers"),
        ("val\n20\n", "1 columns; needed: a header row"),
        ("", "0 columns; needed: a header row"),
        ('model,val\n"a,20\n', "unexpected end of data"),
        ("model,val_acc\na,75\nb,80\n", "name of column 'val_acc' says accuracy"),
        ("model,top1,top1_err\na,75,24\n", "'top1' and 'top1_err' seem to be errors and acc"),
        ("model,Top-1 acc,top1_error\na,75,24\n", "seem to be errors and accuracies on one"),
        ("model,dataset,top1\na,val,20\n", "needs --map error=COLUMN or accuracy=COLUMN"),
        ("model,dataset,error\na,val,20\na,val,21\n", "a on val is there twice, in rows 2 and 3"),
        ("model,dataset,error\na,,20\n", "row 2 has nothing in column dataset"),
        ("model,dataset,error,replicate\na,x,20,0.5\n", "row 2, column replicate: legal: whole"),
        ("model,dataset,error,metric\na,x,2,top1\na,y,3,top5\n", "holds the metrics top1, top5"),
        ("model,dataset,error,metric\na,x,2,mAP\n", "no metric 'mAP' to import"),
        ("model,flops,val\na,big,20\n", "row 2, column flops: 'big' is not a number"),
        (
            b"model,val\nGr\xf6\xdfe,20\n",
            "not text in utf-8; save it as UTF-8 (import has --encoding",
        ),
        (b"model,val\na,\x00\nb,2\n", "column val: '\\x00' is not a number"),
    ],
)
def test_a_csv_with_a_mistake(tmp_path: Path, content: str | bytes, expected: str) -> None:
    line = refusal(tmp_path, "t.csv", content)
    assert line.startswith("t.csv: ")
    assert expected in line


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.json", "{", "not readable JSON"),
        ("t.json", "[" * 100_000, "nested too deeply"),
        ("t.json", "3", "not a table; legal: a list of records"),
        ("t.json", "[1, 2]", "record 1 is no mapping"),
        ("t.json", '{"a": [1], "b": [1, 2]}', "not a table"),
        ("t.json", '{"a": {"x": 1}, "a": {"x": 2}}', "key 'a' twice"),
        ("t.json", '[{"model": "a", "val": [1]}]', "row 1, column val: '[1]': is it a number"),
        ("t.json", '{"model": ["a", "b"], "val": ["much", 2]}', "row 1, column val: 'much' is not"),
        ("t.json", '[{"model": "a", "val": true}, {"model": "b", "val": 3}]', "'true' is not a"),
        ("t.json", b"\xff\xfe\xfa", "not readable JSON"),
        ("t.jsonl", '{"model": "a", "val": 2}\nnonsense\n', "line 2 is not JSON"),
        ("t.jsonl", b'{"model": "\xff", "val": 2}\n', "not readable JSON ('utf-8' codec"),
        ("t.parquet", "PAR1 not really PAR1", "not a readable Parquet table"),
        ("t.xlsx", "PK", "ending .xlsx; legal: .csv"),
    ],
)
def test_other_formats(tmp_path: Path, name: str, content: str | bytes, expected: str) -> None:
    assert expected in refusal(tmp_path, name, content)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"columns": {"model": "net"}},
            "--map: t.csv has no column 'net'; its columns: model",
        ),
        ({"columns": {"modle": "model"}}, "--map: unknown 'modle'; choose from model, dataset"),
        ({"describe": ("x",)}, "--describe: t.csv has no column 'x'"),
        ({"ignore": ("x",)}, "--ignore: t.csv has no column 'x'"),
        ({"columns": {"error": "val"}}, "a long table needs --map dataset=COLUMN too"),
        ({"unit": "fraction"}, "row 2, a on val: 20 is outside 0 to 1"),
        ({"encoding": "klingon"}, "--encoding: no 'klingon'"),
        ({"separator": "xx"}, "not a readable CSV table"),
        ({"known": {"cars": {"classes": 3}}}, "dataset cars: not in the files; there: val"),
        (
            {"known": {"val": {"role": "source", "test_set_of": "v2"}}},
            "dataset val: test_set_of v2, which is no other dataset here",
        ),
        ({"known": {"val": {"role": "target", "classes": 3}}}, "but no dataset is the source"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: dict[str, Any], expected: str) -> None:
    assert expected in refusal(tmp_path, "t.csv", "model,val\na,20\n", **options)


def test_a_table_has_to_say_whether_it_holds_errors_or_accuracies(tmp_path: Path) -> None:
    line = refusal(tmp_path, "t.csv", "model,dataset,error,acc\na,x,2,98\n", quantity=None)
    assert "both errors (error) and accuracies (acc)" in line
    line = refusal(tmp_path, "t.csv", "model,val\na,20\n", quantity=None)
    assert "nothing says whether the values of 'val' are errors or accuracies" in line
    for header, error in (("val_acc", 80.0), ("val-error", 20.0)):
        table = written(tmp_path / "n.csv", f"model,{header}\na,20\n")
        store = imported(tmp_path / "s.h5", table, quantity=None)
        assert store.errors().loc["a", header] == error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dataset,klasses\nval,3\n", "column 'klasses'; legal: dataset, base, role"),
        ("role,classes\nsource,3\n", "has no column dataset"),
        ("dataset,role\nval,sauce\n", "row 2, role: Input should be 'source', 'family'"),
        ("dataset,classes\nval,many\n", "row 2, classes: Input should be a valid integer"),
        ("dataset,classes\nval,2.5\n", "classes: Input should be a valid integer, "),
        (
            "dataset,test_images\nval,0\n",
            "test_images: Input should be greater than or equal to 1, not '0'",
        ),
        ("dataset,metric\nval,f1\n", "metric: Input should be 'top1', 'top5'"),
        (
            "dataset,chance\nval,101\n",
            "chance: Input should be less than or equal to 100, not '101'",
        ),
        ("dataset,classes\nval,3\nval,3\n", "row 3: dataset val is there already"),
    ],
)
def test_a_sidecar_with_a_mistake(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UserError) as refused:
        read_sidecar(written(tmp_path / "d.csv", text))
    assert expected in str(refused.value)


def test_files_that_contradict_each_other(tmp_path: Path) -> None:
    first = written(tmp_path / "a.csv", "model,val,year\nr50,24,2015\n")
    second = written(tmp_path / "b.csv", "model,val\nr50,25\n")
    third = written(tmp_path / "c.csv", "model,cars,year\nr50,25,2016\n")
    out = tmp_path / "s.h5"
    with pytest.raises(UserError, match=r"r50 on val is there twice, in .*a\.csv and .*b\.csv"):
        imported(out, first, second)
    with pytest.raises(UserError, match=r"c\.csv: column year says 2016 of r50, an .* 2015"):
        imported(out, first, third)
    with pytest.raises(UserError, match="given twice"):
        imported(out, first, first)
    imported(out, first)
    before = out.read_bytes()
    with pytest.raises(UserError, match=r"r50 on val is there twice, in .*s\.h5 and .*b\.csv"):
        imported(out, out, second)
    assert out.read_bytes() == before


def test_networks_that_are_not_what_they_are_called(tmp_path: Path) -> None:
    header = "model,val,stem,stem_width,d1,w1,b1,g1,s1\n"
    network = "20,cifar,16,1,16,1,8,1\n"
    line = refusal(tmp_path, "t.csv", f"{header}0123456789abcdef,{network}")
    assert "0123456789abcdef is described as a network whose id is" in line
    line = refusal(tmp_path, "t.csv", f"{header}a,{network}b,{network}")
    assert "a and b are described as one and the same network" in line
    line = refusal(tmp_path, "t.csv", f"{header}a,20,cifar,16,1,16,1,7,1\n")
    assert "a cannot be built: architecture: stage 1: bottleneck width 16" in line


def test_the_store_of_a_study_is_not_overwritten(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, [record(0)])
    before = out.read_bytes()
    table = written(tmp_path / "t.csv", "model,val\na,20\n")
    with pytest.raises(UserError, match="holds results of a study, not imported ones"):
        imported(out, table)
    assert out.read_bytes() == before
    (tmp_path / "x.h5").write_text("mine")
    with pytest.raises(UserError, match="not a results store"):
        imported(tmp_path / "x.h5", table)


def test_nothing_and_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to import"):
        imported(tmp_path / "s.h5")
    for name in ("none.csv", "none.h5", "none.npy"):
        with pytest.raises(UserError, match="no such"):
            imported(tmp_path / "s.h5", tmp_path / name)
    with pytest.raises(UserError, match="but not one that `anynet-study export` made"):
        imported(tmp_path / "s.h5", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.slow
def test_damaged_files_are_refused_or_read(tmp_path: Path, seed: int) -> None:
    """Random bytes in the place of others: a UserError or a store, never a crash."""
    rng = np.random.default_rng(seed)
    texts = {
        "t.csv": b"model,val,cars\nr50,24.5,12\nr18,30.2,15\n",
        "t.json": b'[{"model": "r50", "val": 24.5}, {"model": "r18", "val": 30}]',
        "t.jsonl": b'{"model": "r50", "val": 24.5}\n{"model": "r18", "val": 30}\n',
    }
    for name, text in texts.items():
        damaged = bytearray(text)
        for place in rng.integers(0, len(damaged), 3):
            damaged[place] = rng.integers(0, 256)
        (tmp_path / name).write_bytes(damaged)
        with suppress(UserError):
            imported(tmp_path / f"{name}.h5", tmp_path / name)
