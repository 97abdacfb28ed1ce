"""Lists of classes: a small WordNet whose figures are known, ImageNet's, and similarity by hand."""

import itertools
import json
import os
import random
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import in_this_process

from anynet_study.core.errors import UserError
from anynet_study.data import load_dataset
from anynet_study.data.curation import (
    WordNet,
    class_similarity,
    open_embedder,
    select_classes,
    tree_statistics,
)

#: entity > animal, artifact; animal > dog, cat; dog and artifact > robot dog, by two paths.
NOUNS = """  1 This is the licence.
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | that which is
00000002 03 n 01 animal 0 001 @ 00000001 n 0000 | it moves | or not
00000003 03 n 02 artifact 0 man-made_thing 0 001 @ 00000001 n 0000 | made
00000004 03 n 02 dog 0 domestic_dog 0 002 @ 00000002 n 0000 + 00000009 v 0101 | it barks; "woof"
00000005 03 n 01 cat 0 001 @i 00000002 n 0000 | it does not
00000006 03 n 02 robot_dog 0 dog 1 002 @ 00000004 n 0000 @ 00000003 n 0000 | @ 7
"""
#: Of each noun its synsets, the most usual first.
SENSES = """  1 This is the licence.
animal n 1 1 @ 1 0 00000002
artifact n 1 1 @ 1 0 00000003
cat n 1 1 @ 1 0 00000005
dog n 2 1 @ 2 1 00000004 00000006
domestic_dog n 1 1 @ 1 0 00000004
entity n 1 1 ~ 1 0 00000001
man-made_thing n 1 1 @ 1 0 00000003
robot_dog n 1 1 @ 1 0 00000006
"""
IMAGENET = Path(__file__).with_name("imagenet_classes.txt")


def best_modularity(nouns: WordNet, classes: list[str]) -> float:
    """The highest modularity of all partitions of the tree into communities, by its definition."""
    nodes = sorted(nouns.above(classes))
    edges = [(node, up) for node in nodes for up in nouns.synsets[node].parents]
    degree = {node: sum(node in edge for edge in edges) for node in nodes}

    def modularity(parted: tuple[int, ...]) -> float:
        of = dict(zip(nodes, parted, strict=True))
        inside = sum(of[a] == of[b] for a, b in edges) / len(edges)
        sums = [sum(degree[node] for node in nodes if of[node] == part) for part in set(parted)]
        return inside - sum((total / (2 * len(edges))) ** 2 for total in sums)

    return max(map(modularity, itertools.product(range(len(nodes)), repeat=len(nodes))))


def test_two_lists_are_compared_by_the_command(folder):
    (folder / "one.txt").write_text("cat\nn00000006\n")
    (folder / "two.txt").write_text("cat\nn00000004\n")
    arguments = (folder, "data", "classes", "stats", "one.txt", "--against", "two.txt")
    typed = (*arguments, "--wordnet", ".")
    told = json.loads(in_this_process(*typed, "--json", "--picture", "a.png").stdout)
    assert told["overlap"] == {"classes": pytest.approx(1 / 3), "parents": pytest.approx(1 / 3)}
    assert (told["one"]["mean_siblings"], told["two"]["mean_siblings"]) == (0, 1)
    said = in_this_process(*typed).stdout
    assert "both lists have 33.3% of the classes, and 33.3% of what they are" in said
    same = in_this_process(*arguments[:-1], "one.txt", "--wordnet", ".", expect=2)
    assert "--against one.txt: give it another name" in same.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.noun").write_text(NOUNS)
    (tmp_path / "index.noun").write_text(SENSES)
    return tmp_path


def test_figures_of_a_tree_that_is_known(folder):
    nouns = WordNet.read(folder)
    found = tree_statistics(nouns, ["00000005", "00000006"])
    assert found == {
        **{"classes": 2, "nodes": 6, "edges": 6, "density": 6 / 30, "leaves": 2},
        **{"min_depth": 2, "median_depth": 2, "max_depth": 2, "mean_siblings": 0},
        # Two communities: cat, animal, entity ... in one, both robots' parents in the other.
        "modularity": pytest.approx(best_modularity(nouns, ["00000005", "00000006"])),
    }
    assert tree_statistics(nouns, ["00000004", "00000006"])["leaves"] == 1
    names = ("n00000004", "Domestic_Dog", "man-made thing")
    assert [nouns.find(name) for name in names] == ["00000004", "00000004", "00000003"]
    with pytest.raises(
        UserError, match=r"2 senses; write the number of one: n00000004 \(dog, domestic dog\)"
    ):
        nouns.find("dog")


def test_synonyms_are_words_of_the_most_usual_sense(folder):
    nouns = WordNet.read(folder)
    assert nouns.synonyms("dog") == ("dog", "dog", "domestic dog")
    assert nouns.synonyms("n00000006") == ("robot dog",)
    assert nouns.synonyms("fluffy thing") == ("fluffy thing",)
    assert nouns.describe("00000004") == "dog, domestic dog: it barks"


@pytest.fixture(scope="module")
def wordnet():
    """The database of Debian's package; CI fails where it is absent."""
    try:
        return WordNet.read()
    except UserError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.mark.slow
def test_imagenet_has_the_figures_of_imagenots_table_3(wordnet):
    found = tree_statistics(wordnet, [wordnet.find(name) for name in IMAGENET.read_text().split()])
    assert {name: found[name] for name in ("classes", "nodes", "edges", "leaves")} == {
        **{"classes": 1000, "nodes": 1860, "edges": 1937, "leaves": 1000},
    }
    assert (found["min_depth"], found["median_depth"], found["max_depth"]) == (4, 10, 17)
    assert f"{found['density']:.2e}" == "5.60e-04"
    assert f"{found['modularity']:.2f}" == "0.93"


def test_the_command_and_what_it_refuses(folder):
    (folder / "list.txt").write_text("cat\nn00000006\trobot dog\n")
    arguments = ("data", "classes", "stats", "list.txt", "--wordnet")
    assert json.loads(in_this_process(folder, *arguments, ".", "--json").stdout)["nodes"] == 6
    assert "median depth" in in_this_process(folder, *arguments, ".", "--picture", "a.png").stdout
    assert (folder / "a.png").stat().st_size > 5000
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


#: What a photograph shows as well, and how it is told.
TOLD = ("a photo of a {}", "{} in the garden", "two {}s on a table", "the {} by night", "my old {}")


def captions_of(*names: str) -> list[str]:
    return [told.format(name) for name in names for told in TOLD * 3]


def test_candidates_are_named_often_are_lowest_and_share_no_word_with_the_excluded(folder):
    nouns = WordNet.read(folder)
    captions = [*captions_of("cat", "robot dog", "animal"), "artifact"]
    found = select_classes(captions, nouns, threshold=0.01)
    assert found.classes.set_index("class")[["term", "captions"]].T.to_dict("list") == {
        **{"cat": ["n00000005", 15], "robot dog": ["n00000006", 15]},
    }
    assert set(found.candidates["class"]) == {"cat", "robot dog"}
    # An excluded robot dog is called a dog, as other dogs are: cat and animal alone are left.
    with pytest.raises(UserError, match="--per-class 10: 1 nouns that are not excluded"):
        select_classes(captions_of("cat", "domestic dog"), nouns, {"00000006"})
    with pytest.raises(UserError, match="--per-class 10: 1 nouns"):
        select_classes([*captions_of("cat"), *captions_of("robot dog")[:9]], nouns)
    with pytest.raises(UserError, match=r"no class has 10 captions for itself of .* 0\.999"):
        select_classes(captions, nouns, threshold=0.999)


def test_classes_are_those_that_their_captions_are_most_like(folder):
    """With known similarities: 0.9 of robot dogs, 0.6 of cats, 0.3 of the 3 that are old."""

    def embed(texts: list[str]) -> np.ndarray:
        known = [
            1 if ":" in t else 0.9 if "robot" in t else 0.3 if "old" in t else 0.6 for t in texts
        ]
        return 3.0 * np.stack([known, np.sin(np.arccos(known))], axis=1)

    nouns = WordNet.read(folder)
    captions = [*captions_of("cat", "robot dog"), "a cat and a robot dog, equally like both"]
    both = select_classes(captions, nouns, embed=embed, threshold=0.59)
    assert both.candidates["class"].value_counts().tolist() == [16, 16]
    columns = ["class", "captions", "min", "mean", "median", "max", "similarity"]
    robot, cat = both.classes[columns].to_numpy().tolist()
    assert robot == ["robot dog", 15, *[pytest.approx(0.9)] * 5]
    assert cat == ["cat", 15, *map(pytest.approx, (0.3, 0.54, 0.6, 0.6, 0.6))]
    assert both.reached == pytest.approx(27 / 30)
    one = select_classes(captions, nouns, embed=embed, threshold=0.7)
    assert one.classes["class"].tolist() == ["robot dog"]
    assert one.reached == pytest.approx(0.5)
    assert one.unrelated[["class", "similarity"]].to_numpy().tolist() == [
        ["cat", pytest.approx(0.9)],
        ["robot dog", pytest.approx(0.6)],
    ]
    few = select_classes(captions, nouns, embed=embed, threshold=0.0, count=1)
    assert few.classes["class"].tolist() == ["robot dog"]
    rows = both.captions
    assert rows["similarity"].tolist() == sorted(rows["similarity"], reverse=True)
    assert sorted(rows["row"]) == list(range(30))  # not the one that is equally like both
    assert set(few.captions["class"]) == {"robot dog"}


def test_images_of_the_most_similar_captions_make_a_dataset(folder, monkeypatch):
    """Captions of digits: a sixth of each class has the words of the gloss, and is taken first."""
    glosses = {"cat": "it does not", "domestic dog": "it barks"}
    in_this_process(folder, "data", "info", "digits")
    names = pd.read_csv(folder / "data/digits/split.csv", dtype=str).query("split == 'train'")
    rows = []
    for place, (name, gloss) in enumerate(glosses.items()):
        for number, image in enumerate(names["image"].iloc[40 * place : 40 * place + 24]):
            words = f"{name}, {gloss}" if number % 6 == 0 else TOLD[number % 5].format(name)
            rows.append({"image": image, "caption": words, "like": number % 6 == 0})
    table = pd.DataFrame(rows)
    table.to_csv(folder / "captions.csv", index=False)
    arguments = ("data", "classes", "select", "captions.csv", "--wordnet", ".", "--threshold", "0")
    arguments += ("--images-per-class", "4", "--images", "chosen.csv")
    in_this_process(folder, *arguments, "--from", "digits", "--add", "chosen")
    chosen = pd.read_csv(folder / "chosen.csv", dtype={"image": str})
    assert chosen.groupby("class")["image"].size().to_dict() == {"cat": 4, "dog": 4}
    assert set(chosen["image"]) == set(table.loc[table["like"], "image"])
    monkeypatch.setenv("ANYNET_DATA", str(folder / "data"))
    made = load_dataset("chosen")
    assert (made.classes, made.counts("train").images) == (("cat", "dog"), 8)
    refused = in_this_process(folder, *arguments, "--add", "other", expect=2)
    assert "--from and --add go together" in refused.stderr


#: Animals and plants, of which the last two are ImageNet's.
LIVING = """japonica, threadfish, hairy honeysuckle, bristlecone pine, riflebird, rock purslane,
Eastern silvery aster, vermillion rockfish, Norway maple, Whipple's penstemon, eastern woodrat,
barnacle goose, red goosefoot, eastern lowland gorilla, Johnson grass, field pussytoes, blue goose,
purple emperor, genipap fruit, false wintergreen, bog star, cat flea, weeping tree broom, kohleria,
Appenzeller, thunder snake"""
OTHERS = 24


@pytest.mark.slow
def test_letter_groups_tell_what_captions_are_about_from_what_they_mention(
    wordnet, tmp_path, monkeypatch
):
    """15 captions of each, of which half have some words of WordNet's gloss."""
    draw = random.Random(0)
    names = LIVING.replace("\n", " ").split(", ")
    captions = []
    for name in names:
        words = wordnet.synsets[wordnet.named(name)[0]].gloss.split()
        for number, caption in enumerate(captions_of(name)):
            some = draw.sample(words, min(4, len(words))) if number % 2 else []
            captions.append(" ".join([caption, *some]))
    table = pd.DataFrame({"image": range(len(captions)), "caption": captions})
    table.to_csv(tmp_path / "captions.csv", index=False)

    arguments = ("data", "classes", "select", "captions.csv", "--exclude", IMAGENET)
    told = json.loads(in_this_process(tmp_path, *arguments, "--json").stdout)
    chosen = {row["class"] for row in told["classes"]}
    assert len(chosen & set(names[:OTHERS])) >= OTHERS - 2
    assert len(chosen - set(names)) <= 2
    assert not chosen & set(names[OTHERS:])
    assert told["candidates"] > len(chosen) + 5  # garden, table, night ...
    assert told["reached"] == pytest.approx(0.001, abs=0.001)

    (tmp_path / "letters.py").write_text(
        "from anynet_study.data.curation.class_lists import letter_groups\n"
        "def embed(texts):\n    return letter_groups(texts).toarray()\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the folder of the command is added
    made = ("--embedder", "letters:embed", "--picture", "similar.png", "-o", "terms.csv")
    shown = in_this_process(tmp_path, *arguments, *made).stdout
    assert f"{len(chosen)} of {told['candidates']} candidates are chosen" in shown
    assert (tmp_path / "similar.png").stat().st_size > 5000
    label = ("data", "label", "captions.csv", "--terms", "terms.csv", "--synonyms", "--json")
    labelled = json.loads(in_this_process(tmp_path, *label).stdout)["labelled"]
    assert labelled >= sum(row["captions"] for row in told["classes"])


def test_an_embedder_that_is_none_is_refused(folder):
    for text, reason in (
        ("roberta", "--embedder roberta: legal are ngrams and MODULE:FUNCTION"),
        ("numpy:nothing", "--embedder numpy:nothing: numpy has no function 'nothing'"),
    ):
        with pytest.raises(UserError, match=reason):
            open_embedder(text)
    captions, nouns = captions_of("cat", "robot dog"), WordNet.read(folder)
    with pytest.raises(UserError, match=r"of 12 texts it made int64 \(12,\)"):
        select_classes(captions, nouns, embed=lambda texts: np.arange(len(texts)))
    with pytest.raises(UserError, match="not all numbers that it made are finite"):
        select_classes(captions, nouns, embed=lambda texts: np.full((len(texts), 2), np.nan))


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
        in_this_process(
            *(tmp_path, "data", "classes", "diversity", "digits", "--json", "--picture", "a.pdf")
        ).stdout
    )
    assert len(rows) == 10
    assert all(row["within"] > row["between"] for row in rows)
    assert max(rows, key=lambda row: row["within"])["class"] == "0"
    assert (tmp_path / "a.pdf").stat().st_size > 5000
