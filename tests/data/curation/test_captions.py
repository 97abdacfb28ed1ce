"""Captions to labels: each strategy on planted double matches, and the dataset that comes of it."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy
from command import in_this_process, train

from anynet_study import ResultStore
from anynet_study.core.errors import UserError
from anynet_study.data import load_dataset
from anynet_study.data.curation import class_quality, label_captions, quality

TERMS = {
    "automobile": ["car", "automobile"],
    "bird": ["bird", "sparrow"],
    "cat": ["cat", "tabby cat"],
    "dog": ["dog", "bird dog"],
    "truck": ["truck", "rail car", "bus"],
}


@pytest.mark.parametrize(
    ("caption", "strict", "single", "multi"),
    [
        ("A Sparrow, in the tree", "bird", "bird", "bird"),
        ("two cats", "cat", "cat", "cat"),
        ("buses and no other", "truck", "truck", "truck"),
        ("a concatenation of carpets", "", "", ""),
        ("my tabby cat", "cat", "cat", "cat"),
        ("a bird dog at work", "dog", "dog", "dog"),
        ("rail cars are no cars", "", "truck", "truck|automobile"),
        ("a rail car", "truck", "truck", "truck"),
        ("the dog chases a cat; the dog wins", "", "dog", "dog|cat"),
        ("car-truck: sparrow", "", "automobile", "automobile|truck|bird"),
        ("", "", "", ""),
    ],
)
def test_each_strategy_labels_as_it_says(caption, strict, single, multi):
    found = [
        "|".join(label_captions([caption], TERMS, strategy)[0])
        for strategy in ("strict", "single", "multi")
    ]
    assert found == [strict, single, multi]


def test_a_term_of_two_classes_names_both_and_25_are_most():
    terms = {f"class {n:02}": ["thing"] for n in range(30)}
    (found,) = label_captions(["some things"], terms, "multi")
    assert found == tuple(sorted(terms)[:25])
    assert label_captions(["some things"], terms, "strict") == [()]
    with pytest.raises(UserError, match="class 'a': term '--' has no words"):
        label_captions(["x"], {"a": ["--"]}, "single")


def planted(count: int = 2000) -> tuple[list[str], list[str], int, int]:
    """Captions, true classes, and how many name another class after, or before, the true one."""
    generator = np.random.default_rng(0)
    names = list(TERMS)
    captions, truth, after, before = [], [], 0, 0
    for _ in range(count):
        own, other = generator.choice(len(names), 2, replace=False)
        words, kind = [TERMS[names[own]][0]], generator.random()
        if kind < 0.1:
            words, after = [*words, "and a", TERMS[names[other]][0]], after + 1
        elif kind < 0.15:
            words, before = [TERMS[names[other]][0], "near the", *words], before + 1
        captions.append(f"a photo of a {' '.join(words)}")
        truth.append(names[own])
    return captions, truth, after, before


def test_accuracy_and_utilisation_of_planted_double_matches():
    captions, truth, after, before = planted()
    count = len(captions)
    found = {
        name: quality(label_captions(captions, TERMS, name), truth)
        for name in ("strict", "single", "multi")
    }
    assert found["strict"].labelled == count - after - before
    assert found["strict"].accuracy == 1
    assert found["strict"].utilisation == (count - after - before) / count
    assert found["single"].labelled == count
    assert found["single"].accuracy == found["single"].utilisation == (count - before) / count
    assert found["multi"].accuracy == 1


def test_quality_of_each_class_is_that_of_its_captions_alone():
    """As the figures over all, of one class at a time; the worst class first."""
    captions, truth, *_ = planted(600)
    labels = label_captions(captions, TERMS, "single")
    labels[:3] = [(), (), ()]
    table = class_quality(labels, truth).set_index("class")
    assert list(table["accuracy"]) == sorted(table["accuracy"])
    for name, row in table.iterrows():
        own = [place for place, true in enumerate(truth) if true == name]
        found = quality([labels[place] for place in own], [truth[place] for place in own])
        assert (row["captions"], row["labelled"]) == (found.captions, found.labelled)
        assert row["accuracy"] == pytest.approx(100 * found.accuracy)
        assert row["utilisation"] == pytest.approx(100 * found.utilisation)
        right = round(found.accuracy * found.labelled)
        exact = scipy.stats.binomtest(right, found.labelled).proportion_ci(method="exact")
        assert (row["low"], row["high"]) == pytest.approx((100 * exact.low, 100 * exact.high))
    nothing = class_quality([(), ("b",)], ["a", "b"]).set_index("class")
    assert np.isnan(nothing.loc["a", ["accuracy", "low", "high"]].to_numpy(float)).all()


def test_the_command_tells_label_accuracy_class_by_class(tmp_path):
    captions, truth, *_ = planted(300)
    table = pd.DataFrame({"image": range(300), "caption": captions, "class": truth})
    table.to_csv(tmp_path / "captions.csv", index=False)
    pd.DataFrame([(c, t) for c, of in TERMS.items() for t in of], columns=["class", "term"]).to_csv(
        tmp_path / "terms.csv", index=False
    )
    typed = (tmp_path, "data", "label", "captions.csv", "--terms", "terms.csv", "--by-class")
    told = json.loads(in_this_process(*typed, "--picture", "a.png", "--json").stdout)
    expected = class_quality(label_captions(captions, TERMS, "single"), truth)
    assert [row["class"] for row in told["classes"]] == list(expected["class"])
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert "utilisation" in in_this_process(*typed).stdout
    table.drop(columns="class").to_csv(tmp_path / "captions.csv", index=False)
    refused = in_this_process(*typed, expect=2)
    assert "--by-class and --picture need a column class" in refused.stderr


@pytest.fixture
def tables(tmp_path):
    """Captions of the training images of digits, of which a tenth names another digit, too."""
    in_this_process(tmp_path, "data", "info", "digits")
    rows = pd.read_csv(tmp_path / "data/digits/split.csv", dtype=str)
    rows = rows[rows["split"] == "train"]
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    other = ["", *[""] * 8, " beside a five"]
    text = [f"a {words[int(c)]}{other[n % 10]}" for n, c in enumerate(rows["class"])]
    rows[["image", "class"]].assign(caption=text).to_csv(tmp_path / "captions.csv", index=False)
    pd.DataFrame({"class": range(10), "term": words}).to_csv(tmp_path / "terms.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_the_command_makes_the_dataset(tables, monkeypatch):
    told = in_this_process(
        *(tables, "data", "label", "captions.csv", "--terms", "terms.csv", "--strategy", "strict"),
        *("--from", "digits", "--add", "told", "-o", "labels.csv", "--json"),
    )
    said = json.loads(told.stdout)
    assert said["accuracy"] == 1
    assert 0.88 < said["utilisation"] < 0.93
    monkeypatch.setenv("ANYNET_DATA", str(tables / "data"))
    digits, made = load_dataset("digits"), load_dataset("told")
    assert made.counts("train").images == said["labelled"]
    assert made.counts("test") == digits.counts("test")
    known = {
        image.tobytes(): label
        for image, label in zip(digits.images("train"), digits.labels("train"), strict=True)
    }
    assert [known[image.tobytes()] for image in made.images("train")] == made.labels(
        "train"
    ).tolist()
    several = in_this_process(
        *(tables, "data", "label", "captions.csv", "--terms", "terms.csv", "--strategy", "multi"),
        *("--from", "digits", "--add", "several"),
    )
    assert "100.00%" in several.stdout
    assert load_dataset("several").multi_label


SWEEP = """
name: said
population:
  space: {base: anynetx, depths: [1, 2], widths: [8, 24], stem: cifar, stem_width: 8}
  count: 1
  flops: [1e5, 1e6]
  resolution: 8
  classes: 10
source: digits
datasets: {digits: {}}
recipes:
  said: {epochs: 3, batch_size: 64, crop: none, flip: false, loss: clip, texts: captions,
         templates: ["a {}"]}
"""


@pytest.mark.slow
def test_networks_learn_from_captions_that_were_added(tables):
    """Zero-shot by names that no caption has they guess; by those that captions have they know."""
    added = in_this_process(tables, "data", "captions", "digits", "captions.csv", "--json")
    assert json.loads(added.stdout) == {"dataset": "digits", "images": 1438, "with_captions": 1438}
    words = pd.read_csv(tables / "terms.csv", dtype=str).to_dict("records")
    named = ", ".join(f"{row['term']}: ['{row['class']}']" for row in words)
    (tables / "said.yaml").write_text(SWEEP)
    train(tables, tables / "said.yaml", f"datasets.digits.groups={{{named}}}")
    train(tables, tables / "said.yaml", "name=numbers")
    errors = {}
    for name in ("said", "numbers"):
        (errors[name],) = ResultStore(tables / "studies" / name / "results.h5").runs()["error"]
    assert errors["said"] < 50 < 80 < errors["numbers"]


def test_synonyms_are_looked_for_in_wordnet(tmp_path):
    (tmp_path / "data.noun").write_text(
        "00000001 03 n 02 car 0 motorcar 0 000 | it has wheels\n"
        "00000002 03 n 02 railcar 0 car 0 000 | it has rails\n"
    )
    (tmp_path / "index.noun").write_text(
        "car n 2 0 2 0 00000001 00000002\nmotorcar n 1 0 1 0 00000001\nrailcar n 1 0 1 0 00000002\n"
    )
    (tmp_path / "terms.csv").write_text("class,term\nroad,car\nrail,n00000002\n")
    (tmp_path / "captions.csv").write_text(
        "image,caption\n1,motorcars\n2,old railcar\n3,a car\n4,n00000002\n"
    )
    label = ("data", "label", "captions.csv", "--terms", "terms.csv", "-o", "labels.csv")
    found = []
    for more in ((), ("--synonyms", "--wordnet", ".")):
        in_this_process(tmp_path, *label, *more)
        found.append(pd.read_csv(tmp_path / "labels.csv", keep_default_na=False)["class"].tolist())
    assert found == [["", "", "road", "rail"], ["road", "rail", "road", ""]]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("none.csv", "--terms", "terms.csv"), "none.csv: no such file"),
        (("none.parquet", "--terms", "terms.csv"), "none.parquet: no such file"),
        (("terms.csv", "--terms", "terms.csv"), "terms.csv: no column 'image'"),
        (("captions.csv", "--terms", "captions.csv"), "captions.csv: no column 'term'"),
        (("captions.csv", "--terms", "terms.csv", "--add", "x"), "--from and --add go together"),
    ],
)
def test_bad_input_is_told_in_one_line(tables, arguments, reason):
    told = in_this_process(tables, "data", "label", *arguments, expect=2)
    assert reason in told.stderr
    assert len(told.stderr.splitlines()) == 1
