"""A study in parts, trained where nothing is shared, and joined again."""

import shutil
from pathlib import Path

import pytest
from command import anynet_study
from test_dispatch_recorded import row
from tiny_study import RUNS, TINY, Type, typing_in

from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import JournalWriter, read_journals

PARTS = ("launch", "tiny.yaml", "--cluster", "none", "--parts")


@pytest.fixture
def type_(
    tiny: OpenStudy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Type:
    return typing_in(Path.cwd(), monkeypatch, capsys)


def parts(tiny: OpenStudy) -> list[StudyFolder]:
    return [StudyFolder(path) for path in sorted((tiny.folder.folder / "parts").iterdir())]


def train(part: StudyFolder, tiny: OpenStudy, runs: int | None = None) -> None:
    """What a worker of the part would record."""
    with JournalWriter(part.new_journal()) as writer:
        for run in tiny.plan.find((part.part() or [])[:runs]):
            writer.append(row(**run.named()))


def test_each_run_is_in_one_part_that_has_all_it_needs(tiny: OpenStudy, type_: Type) -> None:
    told = type_(*PARTS, 4)
    assert (told.code, told.out.count("; on its machine: anynet-study work ")) == (0, 4), told
    made = parts(tiny)
    mine = [part.part() for part in made]
    assert sorted(run for ids in mine for run in ids or ()) == sorted(tiny.plan.ids())
    for part in made:
        assert part.population().equals(tiny.population)
        assert part.sweep().differences_from(tiny.folder.sweep()) == {}
        assert (part.datasets / "digits" / "meta.json").exists()
    own = len(mine[0] or ())
    folder = made[0].folder

    def status(study: Path | str) -> str:
        return " ".join(type_("status", study).out.split())

    assert f"in no job: {own} runs; start a worker (anynet-study work {folder})" in status(folder)
    train(made[0], tiny)
    assert f"what they say: anynet-study report {folder}" in status(folder)
    missing = "not back from its parts: 12 runs; when they are: anynet-study collect tiny --from"
    assert missing in status("tiny")
    again = type_(*PARTS, 2)
    assert (again.code, "is in parts already" in again.line) == (2, True)


def test_journals_that_come_back_are_joined_once(
    tiny: OpenStudy, type_: Type, tmp_path: Path
) -> None:
    assert type_(*PARTS, 3).code == 0
    first, second, third = parts(tiny)
    train(first, tiny, 2)
    (journal,) = first.journals.iterdir()
    early = tmp_path / "early"
    early.mkdir()
    (early / journal.name).write_bytes(journal.read_bytes()[:-20])  # copied while it was written
    told = type_("collect", "tiny", "--from", early)
    assert "1 of 12 planned runs" in told.out
    train(second, tiny)
    train(third, tiny)
    told = type_("collect", "tiny", "--from", first.folder, second.journals, third.journals)
    recorded = 2 + len(second.part() or ()) + len(third.part() or ())
    assert f"{recorded} of 12 planned runs" in told.out
    before = {path.name: path.read_bytes() for path in tiny.folder.journals.iterdir()}
    assert type_("collect", "tiny", "--from", early, third.folder).code == 0
    assert {path.name: path.read_bytes() for path in tiny.folder.journals.iterdir()} == before
    shutil.rmtree(tiny.folder.folder / "parts")
    told = type_(*PARTS, 1)
    assert f"{12 - recorded} divided among 1 folder" in told.out
    assert len(parts(tiny)[0].part() or ()) == 12 - recorded


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder, _: folder.mkdir(), "holds no journals"),
        (
            lambda folder, tiny: written(folder, {**tiny.plan[0].named(), "run_id": "f" * 16}),
            "1 run of another plan than that of studies/tiny, such as ffffffffffffffff",
        ),
        (
            lambda folder, tiny: (
                written(folder, tiny.plan[0].named()),
                written(tiny.folder.journals, tiny.plan[1].named()),
            ),
            "another journal than studies/tiny/journals/a.arrow, of the same name",
        ),
    ],
)
def test_what_is_not_of_the_study_is_refused_before_anything_is_written(
    tiny: OpenStudy, type_: Type, tmp_path: Path, make: object, words: str
) -> None:
    make(tmp_path / "other", tiny)  # type: ignore[operator]
    good = tmp_path / "good"
    good.mkdir()
    with JournalWriter(good / "good.arrow") as writer:
        writer.append(row(**tiny.plan[2].named()))
    told = type_("collect", "tiny", "--from", good, tmp_path / "other")
    assert (told.code, words in told.line) == (2, True), told
    assert not (tiny.folder.journals / "good.arrow").exists()
    assert not tiny.folder.results.exists()


def written(folder: Path, named: dict[str, object]) -> None:
    folder.mkdir(exist_ok=True)
    with JournalWriter(folder / "a.arrow") as writer:
        writer.append(row(**named))


def test_options_that_do_not_fit(tiny: OpenStudy, type_: Type) -> None:
    tuned = ["recipes.basic.tuning={space: {lr: 'loguniform(0.1, 1)'}, trials: 2}"]
    tuned += [f"datasets.{label}.validation=0.2" for label in tiny.sweep.datasets]
    for options in (("--parts", 2), ("--cluster", "none", "--parts", 2, *tuned, "--changed")):
        told = type_("launch", "tiny.yaml", *options)
        assert (told.code, told.line.startswith("error: --parts: only with")) == (2, True), told
    assert type_("launch", "tiny.yaml", "--cluster", "none", "--parts", -1).code == 2
    assert "is named after --from" in type_("collect", "tiny", "one").line


@pytest.mark.slow
def test_a_part_is_trained_on_a_machine_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own copy of the images; another dataset of the name is refused."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (here / "tiny.yaml").write_text(TINY)
    anynet_study(here, *PARTS, 2)
    names = []
    for number in "12":
        shutil.copytree(here / "studies/tiny/parts" / number, there / number / "part")
        shutil.copytree(here / "data", there / number / "data")
        anynet_study(there / number, "work", "part")
        names.append(there / number / "part")
    told = anynet_study(here, "collect", "tiny", "--from", *names)
    assert f"{RUNS} of {RUNS} planned runs, 0 failed" in told.stdout
    rows = read_journals(StudyFolder(here / "studies/tiny").journals)
    assert len(set(rows["run_id"].to_pylist())) == len(rows) == RUNS
    shutil.rmtree(there / "1/data/digits")
    (there / "1/data/blobs").rename(there / "1/data/digits")
    told = anynet_study(there / "1", "work", "part", expect=2)
    assert "not the dataset that part was launched with" in told.stderr
