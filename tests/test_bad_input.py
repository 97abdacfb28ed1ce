"""Bad input as a new user gives it: one line on stderr, exit code 2, and nothing is changed."""

import json
import re
import resource
import shutil
import subprocess
from pathlib import Path

import h5py
import pytest
from command import anynet_study, environment, train
from command import command as command_line
from tiny_study import RUNS, TINY, Type, images, tree, typing_in

from anynet_study.design_space import Population


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study `tiny`, finished and collected."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "tiny.yaml").write_text(TINY)
    assert f"{RUNS} of {RUNS} planned" in train(folder, "tiny.yaml").stdout
    return folder


@pytest.fixture
def typed(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Type:
    """A function that types a command in the folder of the finished study."""
    return typing_in(finished, monkeypatch, capsys)


def refusal(typed: Type, *arguments: object) -> str:
    """The one line of a command that is refused and changes nothing where it was typed."""
    before = tree(Path())
    told = typed(*arguments)
    assert told.code == 2, told
    assert tree(Path()) == before
    return told.line


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("recipes.basic.metric=top5", "dataset digits-2: metric top5 needs more than 5 classes"),
        ("recipes.basic.resolution=64", "resolution 64 exceeds the images' 8 pixels"),
        ("population.count=99999999", "population: count: 99999999 is not a whole number from 1"),
        ("datasets.blobs.per_class=100000", "dataset blobs: per_class: 100000, but class"),
        ("datasets.nothing.base=nothing", "no dataset 'nothing' in "),
        ("datasets.evil.base=../../etc", "dataset name '../../etc': legal are"),
        (
            "datasets.again={base: digits, per_class: 20}",
            "dataset again with recipe basic: the same",
        ),
        ("datasets.a/b.base=digits", "`datasets.a/b` = 'a/b': legal: up to 64 letters, digits"),
    ],
)
@pytest.mark.parametrize("verb", [["run"], ["run", "--dry-run"]], ids=" ".join)
def test_a_change_with_a_mistake(typed: Type, verb: list[str], change: str, expected: str) -> None:
    assert expected in refusal(typed, *verb, "tiny.yaml", change)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"name: x\npopulation:\n\tcount: 4\n", "cannot start any token (line 3)"),
        (bytes(range(256)), "not a text file in UTF-8 (byte 128)"),
        ("name: café".encode("latin-1"), "not a text file in UTF-8 (byte 9)"),
        (b"[" * 5000, "nested too deeply"),
        (b"", "a sweep file is a mapping of keys"),
        (b"name: !!python/object/apply:os.system [true]", "not valid YAML"),
        (b"1: 2\nname: x", "unknown key `1`"),
        (b"question: &q [" + b"[" * 50 + b"]" * 50 + b"]\nname: *q\n", "..."),
    ],
)
def test_a_file_that_is_no_sweep(typed: Type, content: bytes, expected: str) -> None:
    Path("bad.yaml").write_bytes(content)
    line = refusal(typed, "run", "bad.yaml")
    assert line.startswith("error: bad.yaml: ")
    assert expected in line
    assert len(line) < 300


@pytest.mark.parametrize("name", ["none.yaml", "studies", "tiny.yaml/x", "x" * 300, "odd\udcff"])
def test_a_sweep_file_that_cannot_be_read(typed: Type, name: str) -> None:
    assert refusal(typed, "run", name).startswith("error: ")


@pytest.mark.slow
def test_two_studies_of_one_name(typed: Type) -> None:
    for verb in ("run", "sample", "launch"):
        line = refusal(typed, verb, "tiny.yaml", "population.seed=1")
        assert "studies/tiny holds a study of another population" in line
        assert "a study is only ever extended" in refusal(
            typed, verb, "tiny.yaml", "population.count=3"
        )
        line = refusal(typed, verb, "tiny.yaml", "population.space.quantization=nearest")
        assert (
            "holds architectures drawn with quantization: ceil, this sweep draws with nearest"
            in line
        )


def test_a_damaged_population(typed: Type) -> None:
    path = Path("studies/tiny/population.parquet")
    whole = path.read_bytes()
    content = bytearray(whole)
    content[content.index(b"anynet_study.sha256") + 30] ^= 1
    path.write_bytes(content)
    try:
        for command in (["status", "tiny"], ["complexity", str(path)], ["run", "tiny.yaml"]):
            line = refusal(typed, *command)
            assert "population.parquet: altered or damaged: the content is not what was" in line
    finally:
        path.write_bytes(whole)


def test_a_larger_population_of_the_same_seed_extends_a_study(
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    population = tmp_path / "studies/tiny/population.parquet"
    shutil.copytree(finished / "studies/tiny", population.parent)
    before = Population.read(population)
    typed = typing_in(tmp_path, monkeypatch, capsys)
    assert typed("sample", finished / "tiny.yaml", "population.count=6").code == 0
    assert list(Population.read(population).ids)[:4] == list(before.ids)


#: Those that take a study's name alone, and those that take a store, too.
NAME_COMMANDS = [["status"], ["collect"], ["serve"]]
STORE_COMMANDS = [["report"], ["query"], ["analyze"], ["plot", "-o", "figures"]]


@pytest.mark.parametrize("command", NAME_COMMANDS + STORE_COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["none", "data", "../none", "studies", "tiny.yaml"])
def test_a_study_that_does_not_exist(typed: Type, command: list[str], name: str) -> None:
    verb, *options = command
    line = refusal(typed, verb, name, *options)
    if name == "tiny.yaml" and command in NAME_COMMANDS:
        said = f"error: {name} is a file; this command needs a study, by its name or folder"
        assert line == said
    else:
        assert line.startswith(f"error: {name}: no")
        assert "there are: tiny" in line or line.endswith("(not an HDF5 file)")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["query", "--where", "erorr < 5"], "no column 'erorr' (did you mean 'error'?)"),
        (["query", "--columns", "-"], "no column '-'"),
        (["query", "--limit", "0"], "limit 0: must be 1 or more"),
        (["query", "--sql", "select '\udcff'"], "sql: not text in UTF-8"),
        (["query", "--limit", "1e20"], "'--limit': Input should be a valid integer"),
        (["serve", "--port", "70000"], "'--port': "),
        (["query", "--format", "parquet"], "give a file with -o"),
        (["analyze", "--method", "nope"], "--method: unknown 'nope'; choose from spearman, "),
        (["analyze", "--resamples", "0"], "--resamples: 0"),
        (["analyze", "--source", "digits", "--family", "digits=10"], "--targets: needed with"),
        (["analyze", "--shifts", "blobs,nope"], "--shifts: no dataset nope"),
        (["analyze", "--images", "digits=²"], "--images: 'digits=²' is not NAME=COUNT"),
        (["analyze", "--accuracy"], "are for tables in files"),
        (
            ["plot", "-o", "f", "--figure", "heatmat"],
            "--figure: unknown 'heatmat' (did you mean 'heatmap'?)",
        ),
        (["plot", "-o", "f", "--format", "gif"], "figure format 'gif' is unknown"),
    ],
)
def test_an_option_with_a_mistake(typed: Type, arguments: list[str], expected: str) -> None:
    verb, *options = arguments
    assert expected in refusal(typed, verb, "tiny", *options)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["analyze", "none.csv"], "none.csv: no such file"),
        (["complexity", "{" * 5000], "nested too deeply"),
        (["complexity", "tiny.yaml"], "key 'name' is unknown"),
        (["data", "info", "digit"], "did you mean 'digits'?"),
        (
            ["launch", "tiny.yaml", "--cluster", "pbs"],
            "input should be 'local', 'slurm', 'debug' or 'none'",
        ),
    ],
)
def test_a_command_with_a_mistake(typed: Type, arguments: list[str], expected: str) -> None:
    assert expected in refusal(typed, *arguments)


def test_a_query_that_finds_nothing_says_so(typed: Type) -> None:
    told = typed("query", "tiny", "--where", "dataset = 'digitz'", "--limit", 10**20)
    assert (told.code, told.line) == (0, "0 rows; datasets: digits, digits-2, blobs")
    assert typed("query", "tiny", "--where", "error < -1").line == "0 rows"


@pytest.mark.slow
def test_a_disk_that_is_full_is_named_by_what_could_not_be_written(
    finished: Path, tmp_path: Path
) -> None:
    """A limit of the size of files stands for it; the largest are those of the package's copy."""
    (tmp_path / "data").symlink_to(finished / "data")
    shutil.copytree(finished / "studies", tmp_path / "studies")
    most = 20_000
    before = {*tmp_path.glob("studies/tiny/code/*")}
    done = subprocess.run(
        command_line("launch", finished / "tiny.yaml", "population.count=5", "--cluster", "local"),
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert done.returncode == 1
    assert re.fullmatch(r"error: studies/tiny/code/\S+/\S+\.py: File too large\n", done.stderr)
    assert {*tmp_path.glob("studies/tiny/code/*")} == before


def test_a_module_is_the_command(finished: Path) -> None:
    """From a checkout or anywhere: it names itself as the command does, and has a version."""
    usage = anynet_study(finished, "query", expect=2).stderr
    assert "Usage: anynet-study query" in usage
    assert re.match(r"anynet-study \d+\.\d+\.\d+", anynet_study(finished, "--version").stdout)


@pytest.mark.parametrize("arguments", [["nope"], ["run"], ["run", "-x"]])
def test_a_usage_error_ends_with_what_is_wrong(typed: Type, arguments: list[str]) -> None:
    told = typed(*arguments)
    assert (told.code, told.out) == (2, "")
    assert told.err.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("output", ["missing/deeper/errors.csv", "missing/errors.parquet"])
def test_the_folder_of_an_output_is_made(typed: Type, tmp_path: Path, output: str) -> None:
    assert typed("query", "tiny", "--table", "errors", "-o", tmp_path / output).code == 0
    assert [path.name for path in (tmp_path / output).parent.iterdir()] == [Path(output).name]


@pytest.mark.parametrize("output", [".", "tiny.yaml/errors.csv", "studies", "/dev/null/x.csv"])
def test_an_output_that_cannot_be_written(typed: Type, output: str) -> None:
    before = tree(Path())
    told = typed("query", "tiny", "-o", output)
    assert told.code == 1
    assert told.line.startswith("error: ")
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("classes", "broken", "expected"),
    [
        ({"cat": 8, "dog": 0}, 0, "dog: the class folder is empty"),
        ({"cat": 8, "dog": 8}, 3, "cat/0.png: unreadable image"),
        ({"cat": 8}, 0, "layout not recognised"),
        ({"cat": 1, "dog": 1}, 0, "too few images to hold out a test split"),
    ],
)
def test_a_folder_that_is_no_dataset(
    typed: Type, tmp_path: Path, classes: dict[str, int], broken: int, expected: str
) -> None:
    images(tmp_path / "mine", classes, broken)
    told = typed("data", "add", "mine", "--from", tmp_path / "mine", "--size", 8)
    assert told.code == 2
    assert expected in told.err.splitlines()[-1]
    assert sorted(path.name for path in Path("data").iterdir()) == ["blobs", "digits"]


def test_few_broken_images_are_left_out_and_listed(
    typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    images(tmp_path / "mine", {"cat": 9, "dog": 9}, broken=1)
    add = ["data", "add", "mine", "--from", tmp_path / "mine", "--size", 8]
    assert "--max-broken" in typed(*add).err
    told = typed(*add, "--max-broken", "0.1")
    assert (told.code, "cat/0.png: not an image" in told.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["mine", "--from", "none", "--size", 8], "none: no such file or folder"),
        (["mine", "--from", "studies"], "--size is needed"),
        (["mine", "--from", "tiny.yaml", "--size", 8], "not a whole zip or tar archive"),
        (["mine", "--from", ".", "--size", 8, "--test-share", "nan"], "--test-share nan: legal"),
        (["../mine", "--from", ".", "--size", 8], "dataset name '../mine': legal are"),
        (["digits", "--from", ".", "--size", 8], "'digits' is built in"),
    ],
)
def test_data_add_with_a_mistake(typed: Type, arguments: list[object], expected: str) -> None:
    before = tree(Path())
    told = typed("data", "add", *arguments)
    assert told.code == 2
    assert expected in told.err.splitlines()[-1]
    assert tree(Path()) == before


def test_names_in_an_old_encoding_are_read(
    typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    images(tmp_path / "mine", {"k\udce4fer": 9, "fliege": 9}, broken=1)
    add = ["data", "add", "mine", "--from", tmp_path / "mine", "--size", 8, "--max-broken", 0.1]
    assert typed(*add).code == 0
    assert "k\\xe4fer" in typed("data", "info", "mine").out


@pytest.fixture
def stores(finished: Path, tmp_path: Path) -> dict[str, Path]:
    """Results files that cannot be read, and what is to be said of them."""
    good = (finished / "studies/tiny/results.h5").read_bytes()
    contents = {
        "written by a newer anynet-study (schema 99": good,
        "an HDF5 file, but not a results store of anynet-study": good,
        "the store is damaged (": good[: len(good) // 2],
        "not a results store (not an HDF5 file)": b"not HDF5",
    }
    paths = {reason: tmp_path / f"{number}.h5" for number, reason in enumerate(contents)}
    for reason, path in paths.items():
        path.write_bytes(contents[reason])
    newer, foreign, *_ = paths.values()
    with h5py.File(newer, "r+") as file:
        file.attrs["schema_version"] = 99
    with h5py.File(foreign, "r+") as file:
        del file.attrs["format"]
    return paths


@pytest.mark.parametrize("command", STORE_COMMANDS, ids=lambda command: command[0])
def test_a_store_that_cannot_be_read(
    typed: Type, stores: dict[str, Path], command: list[str]
) -> None:
    verb, *options = command
    for reason, path in stores.items():
        assert refusal(typed, verb, path, *options).startswith(f"error: {path}: {reason}")


def test_a_study_never_replaces_a_store_that_it_cannot_read(
    typed: Type, finished: Path, stores: dict[str, Path]
) -> None:
    store = finished / "studies/tiny/results.h5"
    good = store.read_bytes()
    try:
        for reason, path in stores.items():
            store.write_bytes(path.read_bytes())
            assert reason in refusal(typed, "collect", "tiny")
    finally:
        store.write_bytes(good)


def test_a_garbled_journal_is_named_and_the_rest_is_kept(typed: Type, finished: Path) -> None:
    garbled = finished / "studies/tiny/journals/garbled.arrow"
    garbled.write_bytes(b"\0" * 100)
    try:
        told = typed("collect", "tiny")
        assert told.line.startswith("warning: garbled.arrow: ")
        assert f"{RUNS} of {RUNS} planned runs, 0 failed" in told.out
    finally:
        garbled.unlink()


def test_a_damaged_file_of_what_a_study_kept_is_named(typed: Type, finished: Path) -> None:
    folder = Path("studies/tiny/datasets/blobs")
    labels, digests = folder / "test_labels.npy", folder / "digests.json"
    whole, of_whole = labels.read_bytes(), digests.read_bytes()
    try:
        labels.write_bytes(whole[:-8] + bytes(8))  # another class
        for command in ("status", "collect"):
            assert f"{labels}: damaged dataset (it has changed" in refusal(typed, command, "tiny")
        digests.unlink()  # as kept by an older version
        labels.write_bytes(whole[:20] + b"\xff" * 20 + whole[40:])
        assert f"{labels}: damaged dataset (" in refusal(typed, "collect", "tiny")
    finally:
        labels.write_bytes(whole)
        digests.write_bytes(of_whole)


def test_a_damaged_dataset_is_named(typed: Type, finished: Path) -> None:
    pixels = finished / "data/blobs/train_images.npy"
    whole = pixels.read_bytes()
    try:
        pixels.write_bytes(whole[: len(whole) // 2])
        for arguments in (["run", "tiny.yaml"], ["data", "info", "blobs"]):
            assert f"{pixels}: damaged dataset (" in refusal(typed, *arguments)
    finally:
        pixels.write_bytes(whole)


@pytest.mark.slow
def test_looking_at_a_study_needs_no_data_and_writes_none(
    typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "elsewhere"))
    before = tree(Path())
    told = typed("status", "tiny", "--json")
    assert (told.code, json.loads(told.out)["completed"]) == (0, RUNS)
    for arguments in (["logs"], ["verify"], ["query"], ["analyze", "--resamples", 100]):
        assert typed(arguments[0], "tiny", *arguments[1:]).code == 0
    assert tree(Path()) == before
    assert f"{RUNS} of {RUNS} planned runs" in typed("collect", "tiny").out
    assert not (tmp_path / "elsewhere").exists()


def test_folders_that_are_files(
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "data").touch()
    typed = typing_in(tmp_path, monkeypatch, capsys)
    line = refusal(typed, "run", finished / "tiny.yaml")
    assert f"{tmp_path}/data: the data directory is not a folder" in line
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to(finished / "data")
    (tmp_path / "studies").touch()
    before = tree(tmp_path)
    for verb in ("run", "sample", "launch"):
        told = typed(verb, finished / "tiny.yaml")
        assert (told.code, told.line) == (1, "error: studies/tiny: Not a directory")
    assert tree(tmp_path) == before
