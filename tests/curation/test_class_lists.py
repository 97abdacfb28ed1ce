"""Lists of classes: a small WordNet whose figures are known, and similarity by hand."""

import json

import numpy as np
import pytest
from command import in_this_process

from anynet_study.curation import WordNet, class_similarity, tree_statistics
from anynet_study.errors import UserError

#: entity > animal, artifact; animal > dog, cat; dog and artifact > robot dog, by two paths.
NOUNS = """  1 This is the licence.
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | that which is
00000002 03 n 01 animal 0 001 @ 00000001 n 0000 | it moves | or not
00000003 03 n 02 artifact 0 man-made_thing 0 001 @ 00000001 n 0000 | made
00000004 03 n 02 dog 0 domestic_dog 0 002 @ 00000002 n 0000 + 00000009 v 0101 | it barks
00000005 03 n 01 cat 0 001 @i 00000002 n 0000 | it does not
00000006 03 n 02 robot_dog 0 dog 1 002 @ 00000004 n 0000 @ 00000003 n 0000 | @ 7
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.noun").write_text(NOUNS)
    return tmp_path


def test_figures_of_a_tree_that_is_known(folder):
    nouns = WordNet.read(folder)
    found = tree_statistics(nouns, ["00000005", "00000006"])
    assert found == {
        **{"classes": 2, "nodes": 6, "edges": 6, "density": 6 / 30, "leaves": 2},
        **{"min_depth": 2, "median_depth": 2, "max_depth": 2},
    }
    assert tree_statistics(nouns, ["00000004", "00000006"])["leaves"] == 1
    names = ("n00000004", "Domestic_Dog", "man-made thing")
    assert [nouns.find(name) for name in names] == ["00000004", "00000004", "00000003"]
    with pytest.raises(UserError, match=r"2 senses, name one: n00000004 \(dog, domestic dog\)"):
        nouns.find("dog")


def test_the_command_and_what_it_refuses(folder):
    (folder / "list.txt").write_text("cat\nn00000006\trobot dog\n")
    arguments = ("data", "classes", "stats", "list.txt", "--wordnet")
    assert json.loads(in_this_process(folder, *arguments, ".", "--json").stdout)["nodes"] == 6
    assert "median depth" in in_this_process(folder, *arguments, ".").stdout
    (folder / "damaged").mkdir()
    (folder / "damaged/data.noun").write_text("nothing of the kind\n")
    (folder / "list.txt").write_text("unicorn\n")
    for place, reason in (
        (".", "class 'unicorn' is no noun of WordNet"),
        ("nowhere", "no WordNet database; install the Debian package wordnet-base"),
        ("damaged", "not WordNet's nouns"),
    ):
        told = in_this_process(folder, *arguments, place, expect=2)
        assert reason in told.stderr
        assert len(told.stderr.splitlines()) == 1


def test_similarity_is_the_mean_over_pairs():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(30, 5)).astype(np.float32) + 3
    classes = np.array(list("aab") * 10, object)
    centred = features - features.mean(axis=0)
    units = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    inner, own = units @ units.T, classes == "a"
    within = inner[np.ix_(own, own)][~np.eye(20, dtype=bool)].mean()
    row = class_similarity(features, classes).iloc[0]
    assert row["images"] == 20
    assert row["within"] == pytest.approx(within, abs=1e-6)
    assert row["between"] == pytest.approx(inner[np.ix_(own, ~own)].mean(), abs=1e-6)


def test_the_command_finds_the_digit_that_is_least_diverse(tmp_path):
    rows = json.loads(
        in_this_process(tmp_path, *["data", "classes", "diversity", "digits", "--json"]).stdout
    )
    assert len(rows) == 10
    assert all(row["within"] > row["between"] for row in rows)
    assert max(rows, key=lambda row: row["within"])["class"] == "0"
