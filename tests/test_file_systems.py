"""Studies on file systems and among users that other tests do not have."""

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import lines_of
from tiny_study import RUNS, TINY, Type, images, tree

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("reason", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_study_is_run_where_there_are_no_locks(
    reason: int, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(fcntl, "flock", refuse)
    Path("tiny.yaml").write_text(TINY)
    done = type_("run", "tiny.yaml", "population.count=1", "--resamples", 100)
    assert done.code == 0, done.err
    assert type_("collect", "tiny").code == 0


def test_names_that_differ_in_case_alone_are_one_where_the_file_system_says_so(
    type_: Type, tmp_path: Path
) -> None:
    """A second name of a folder stands for a file system without case: both find the same."""
    images(tmp_path / "first", {"cat": 6, "dog": 6})
    images(tmp_path / "second", {"cat": 8, "dog": 7})
    Path("tiny.yaml").write_text(TINY)
    Path("other.yaml").write_text(TINY.replace("count: 4", "count: 3\n  seed: 3"))
    assert type_("data", "add", "cats", "--from", "first", "--size", 8).code == 0
    assert type_("run", "tiny.yaml", "--resamples", 100).code == 0
    Path("data/Cats").symlink_to("cats")
    Path("studies/Tiny").symlink_to("tiny")
    before = tree(Path("studies/tiny")), tree(Path("data/cats"))
    assert "the dataset exists" in type_("data", "add", "Cats", "--from", "second").line
    refused = type_("run", "other.yaml", "name=Tiny")
    assert (refused.code, "holds a study of another population" in refused.line) == (2, True)
    assert f"{RUNS} completed" in type_("status", "Tiny").out
    assert (tree(Path("studies/tiny")), tree(Path("data/cats"))) == before


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users reach, unlike a test's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as other users")
def test_two_users_of_whom_one_lets_nobody_read_what_he_writes(shared: Path) -> None:
    """Nothing that may not be read counts as missing: it is named, and nothing is trained again."""
    said = lines_of("two_users.py", shared)
    *refused, of_bob, analyzed, verified, collected, well = said
    for line in refused:
        assert line["code"] == 1, line
        assert "bob-1-1.arrow: Permission denied" in line["said"], line
    assert len(refused) == 4
    assert (of_bob["code"], f"{RUNS} of {RUNS} planned runs" in of_bob["said"]) == (0, True), of_bob
    for line in (analyzed, verified):
        assert line["code"] != 0, line
        assert re.search("results.h5.*(Permission denied|is not readable)", line["said"]), line
    assert (collected["code"], well["code"]) == (0, 0), (collected, well)
    assert "all is well" in well["said"]
