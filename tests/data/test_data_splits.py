"""Splits: stratified, whole groups, a function of the seed; written down and made again."""

import shutil
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from miniatures import save, write_miniature
from typer.testing import CliRunner

from anynet_study.cli.data import data_app
from anynet_study.core.errors import UserError
from anynet_study.data import Choices, add_dataset
from anynet_study.data.packed.manifest import Row, read_manifest, write_manifest
from anynet_study.data.readers.listing import Example
from anynet_study.data.seeded import seeded_order, seeded_uniform
from anynet_study.data.splits import _move_one, hold_out, hold_out_mixed, limit

CLASSES = ("a", "b", "c")
#: How the download of HAM10000 is read under any name.
HAM = Choices(layout="ham10000")
AGAIN = ("--layout", "ham10000", "--size", 12, "--split-from")


@st.composite
def grouped_examples(draw):
    """Examples of three classes with two groups or more each, every group of one class."""
    examples = []
    for label in range(3):
        for group in range(draw(st.integers(2, 12))):
            examples += [
                Example(f"{group}/{label}/{number}", label, f"{label}-{group}")
                for number in range(draw(st.integers(1, 4)))
            ]
    return sorted(examples, key=lambda example: example.name)


@given(grouped_examples(), st.floats(0.05, 0.9), st.integers(0, 5))
def test_groups_are_whole_and_shares_kept(examples, share, seed):
    train, test = hold_out(examples, CLASSES, share, seed)
    assert sorted(train + test, key=lambda e: e.name) == examples
    assert not {e.group for e in train} & {e.group for e in test}
    for label in range(3):
        groups = [
            sum(e.group == g for e in examples)
            for g in {e.group for e in examples if e.label == label}
        ]
        held = sum(e.label == label for e in test)
        assert 0 < held < sum(groups)
        # Never further off than the one group that could not be divided.
        assert abs(held - share * sum(groups)) <= max(groups)


@st.composite
def mixed_counts(draw):
    """(groups, classes) images: every class in two groups at least."""
    groups = draw(st.integers(4, 30))
    cells = st.lists(st.integers(0, 9), min_size=groups, max_size=groups)
    counts = np.array([draw(cells) for _ in range(3)]).T
    counts[:2] += 1
    return counts


@pytest.mark.slow
@given(mixed_counts(), st.floats(0.1, 0.5), st.integers(0, 3))
def test_groups_of_several_classes_are_whole_and_every_class_is_on_both_sides(counts, share, seed):
    examples = [
        Example(f"{group:02d}/{label}/{number}", label, f"g{group:02d}")
        for group, row in enumerate(counts)
        for label, count in enumerate(row)
        for number in range(count)
    ]
    train, test = hold_out(examples, CLASSES, share, seed)
    assert sorted(train + test, key=lambda e: e.name) == examples
    assert not {e.group for e in train} & {e.group for e in test}
    assert {e.label for e in train} == {e.label for e in test} == {0, 1, 2}


@pytest.mark.parametrize("seed", range(3))
def test_shares_of_many_mixed_groups_are_near(seed):
    """200 photos with 50 points each of five classes, from common to rare, and uneven by photo."""
    random = np.random.default_rng(seed)
    counts = np.stack(
        [random.multinomial(50, random.dirichlet([4, 2, 1, 0.5, 0.1])) for _ in range(200)]
    )
    order = random.permutation(200).tolist()
    held = hold_out_mixed(counts, tuple("abcde"), 0.2, order)
    shares = counts[held].sum(axis=0) / counts.sum(axis=0)
    np.testing.assert_allclose(shares, 0.2, atol=0.04)


def test_every_class_of_few_mixed_groups_is_on_both_sides():
    """Every third of such small tables has a class of which a group has to be moved."""
    draw = np.random.default_rng(0)
    for _ in range(300):
        groups = draw.integers(6, 9)
        counts = draw.integers(0, 3, (groups, 3)) * (draw.integers(0, 3, (groups, 3)) == 0)
        counts[np.arange(groups), np.arange(groups) % 3] += 1
        order = draw.permutation(groups).tolist()
        held = hold_out_mixed(counts, CLASSES, draw.uniform(0.1, 0.5), order)
        assert counts[held].any(axis=0).all()
        assert np.delete(counts, held, axis=0).any(axis=0).all()


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_the_group_that_moves_is_the_smallest_by_which_no_class_is_lost(groups, seed):
    """A side lacks a class: all groups are tried, as sets of classes."""
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 4, (groups, 3)) * draw.integers(0, 2, (groups, 3))
    held, side = draw.integers(0, 2, groups).astype(bool), bool(draw.integers(2))
    counts[held == side, 0] = 0
    classes = [set(np.flatnonzero(row)) for row in counts]
    fit = []
    for group in range(groups):
        others = (other for other in range(groups) if other != group and held[other] != side)
        left = set().union(*(classes[other] for other in others))
        if 0 in classes[group] and classes[group] <= left:
            fit.append((sum(counts[group]), group))
    expected = held.copy()
    if fit:
        expected[min(fit)[1]] = side
    assert _move_one(counts, held, 0, side) == bool(fit)
    assert held.tolist() == expected.tolist()


@given(st.integers(2, 5), st.integers(0, 10**6))
@settings(deadline=None)
def test_a_split_is_found_where_there_is_one(groups, seed):
    """All choices of groups are tried."""
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 3, (groups, 3)) * draw.integers(0, 2, (groups, 3))
    counts[counts.sum(axis=1) == 0, 0] = 1  # no group is empty
    counts[0, counts.sum(axis=0) == 0] = 1
    has = counts > 0
    choices = (np.array(it, bool) for it in product([0, 1], repeat=groups))
    legal = [tuple(it) for it in choices if (has[it].any(axis=0) & has[~it].any(axis=0)).all()]
    order = draw.permutation(groups).tolist()
    if legal:
        held = hold_out_mixed(counts, CLASSES, 0.3, order)
        assert tuple(np.isin(np.arange(groups), held)) in legal
    else:
        with pytest.raises(UserError, match=r"one group of images only|no choice of them leaves"):
            hold_out_mixed(counts, CLASSES, 0.3, order)


def test_of_few_groups_a_split_is_found_by_moving_two():
    counts = np.array([[1, 2, 0], [0, 2, 2], [1, 0, 0], [1, 0, 1]])
    for order in permutations(range(4)):
        held = hold_out_mixed(counts, CLASSES, 0.25, order)
        assert counts[held].any(axis=0).all()
        assert np.delete(counts, held, axis=0).any(axis=0).all()


def test_a_class_in_one_group_cannot_be_on_both_sides():
    counts = np.array([[3, 1], [3, 0], [2, 0]])
    with pytest.raises(UserError, match="class 'b' is in one group of images only"):
        hold_out_mixed(counts, ("a", "b"), 0.2, [0, 1, 2])


@given(st.integers(2, 60), st.floats(0.05, 0.9), st.integers(0, 3))
def test_without_groups_the_share_is_exact(count, share, seed):
    examples = [Example(f"{n:03d}", n % 2) for n in range(2 * count)]
    _, test = hold_out(examples, ("a", "b"), share, seed)
    for label in range(2):
        held = sum(e.label == label for e in test)
        assert abs(held - share * count) <= 0.5 + 1e-9 or held in (1, count - 1)


def test_another_seed_another_split():
    examples = [Example(f"{n:03d}", n % 2) for n in range(100)]
    assert hold_out(examples, ("a", "b"), 0.2, 0) == hold_out(examples, ("a", "b"), 0.2, 0)
    assert hold_out(examples, ("a", "b"), 0.2, 0) != hold_out(examples, ("a", "b"), 0.2, 1)


def test_a_class_of_one_image_cannot_be_split():
    examples = [Example("1", 0), Example("2", 0), Example("3", 1)]
    with pytest.raises(UserError, match="class 'b' has too few images"):
        hold_out(examples, ("a", "b"), 0.2, 0)


def test_a_class_that_only_goes_with_rarer_ones_needs_no_images_of_its_own():
    examples = [Example(f"{n:02d}", n % 2, also=(2,)) for n in range(20)]
    train, test = hold_out(examples, CLASSES, 0.2, 0)
    assert (len(train), len(test)) == (16, 4)


def test_a_class_of_several_images_is_on_both_sides_though_it_is_the_rarest_of_one():
    """Sixteen images have class c; all but one have the rarer b, too, by which they are sorted."""
    examples = [Example(f"{n:02d}", 1, also=(2,)) for n in range(15)]
    examples += [Example("15", 2, also=(0,))] + [Example(f"{n}", 0) for n in range(16, 80)]
    train, test = hold_out(examples, CLASSES, 0.2, 0)
    for label, count in ((0, 13), (1, 3), (2, 3)):
        having = [e for e in test if label in (e.label, *e.also)]
        assert abs(len(having) - count) <= 1
        assert any(label in (e.label, *e.also) for e in train)


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 3))
def test_smaller_limits_are_part_of_larger_ones(few, more, seed):
    examples = [Example(f"{n:03d}", n % 3) for n in range(90)]
    small = limit(examples, CLASSES, min(few, more), None, seed)
    large = limit(examples, CLASSES, max(few, more), None, seed)
    assert set(small) <= set(large)
    assert len(large) == 3 * min(30, max(few, more))
    assert small == sorted(small, key=lambda example: example.name)


def test_seeded_numbers_are_the_same_for_ever():
    assert seeded_order(8, "key", 1).tolist() == [2, 0, 3, 5, 6, 4, 1, 7]
    assert seeded_uniform((2,), "key", 1).tolist() == [0.38914604040568035, 0.7138006183622981]


RUNNER = CliRunner()


def run(*arguments: object) -> str:
    result = RUNNER.invoke(data_app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def ham(data_home, tmp_path) -> tuple[Path, Path]:
    """A source with groups, and the manifest of a split of it with another seed."""
    source = write_miniature("ham10000", tmp_path)
    how = ("--layout", "ham10000", "--size", 12, "--seed", 5, "--test-share", 0.3)
    run("add", "first", "--from", source, *how)
    run("info", "first", "--manifest", tmp_path / "split.csv")
    return source, tmp_path / "split.csv"


def test_a_manifest_makes_the_same_split_and_the_same_manifest(data_home, ham):
    source, manifest = ham
    output = run("add", "again", "--from", source, *AGAIN, manifest)
    assert "test split: as in the manifest split.csv" in output
    assert (data_home / "again/split.csv").read_bytes() == manifest.read_bytes()
    first, again = (run("info", name).split("content ")[1][:64] for name in ("first", "again"))
    assert first == again
    other = add_dataset("other", source, size=12, choices=HAM)
    assert (other.folder / "split.csv").read_bytes() != manifest.read_bytes()


def test_a_manifest_of_a_part_takes_that_part(data_home, tmp_path):
    source = write_miniature("natural", tmp_path)
    part = add_dataset("part", source, size=12, fraction=0.5, seed=2)
    manifest = part.folder / "split.csv"
    again = add_dataset("again", source, size=12, split_from=manifest)
    assert again.content_hash == part.content_hash
    assert (again.folder / "split.csv").read_bytes() == manifest.read_bytes()
    assert again.meta.ignored > part.meta.ignored


def test_classes_that_a_manifest_does_not_list_are_left_out(data_home, tmp_path):
    source = write_miniature("natural", tmp_path)
    first = add_dataset("first", source, size=12)
    rows = read_manifest(first.folder / "split.csv")
    listed = [row for row in rows if row.label != rows[0].label]
    write_manifest(tmp_path / "part.csv", listed)
    again = add_dataset("again", source, size=12, split_from=tmp_path / "part.csv")
    assert len(first.meta.classes) == len({row.label for row in rows})
    kept = [name for name in first.meta.classes if name != rows[0].label]
    assert list(again.meta.classes) == kept
    assert read_manifest(again.folder / "split.csv") == listed


def test_another_download_of_the_same_images(data_home, ham):
    """The part folders of HAM10000 have other names, depending on where it is from."""
    source, manifest = ham
    for number in (1, 2):
        (source / f"HAM10000_images_part_{number}").rename(source / f"HAM10000_images_part{number}")
    output = run("add", "again", "--from", source, *AGAIN, manifest)
    rows = read_manifest(manifest)
    assert f"note: {len(rows)} images of split.csv are in other folders here" in output
    first, again = (run("info", name).split("content ")[1][:64] for name in ("first", "again"))
    assert first == again
    found = read_manifest(data_home / "again/split.csv")
    assert [row[1:] for row in found] == [row[1:] for row in rows]


def test_images_that_could_be_several_are_missing(data_home, tmp_path):
    """In folders of other names: two files of a class that are called alike."""
    source = tmp_path / "twins"
    for number, name in enumerate(("a/x/1.png", "a/y/1.png", "b/1.png", "b/2.png")):
        save(source / name, np.random.default_rng(number), number)
    first = add_dataset("first", source, size=8)
    for old, new in (("a/x", "a/v"), ("a/y", "a/w")):
        (source / old).rename(source / new)
    with pytest.raises(UserError, match=r"2 of its 4 images are not in the source"):
        add_dataset("again", source, size=8, split_from=first.folder / "split.csv")


def test_missing_images_are_refused(data_home, ham):
    source, manifest = ham
    lines = manifest.read_text().splitlines()
    missing = Path(lines[1].split(",")[0])
    (source / missing).unlink()
    for twin in source.glob(f"*/{missing.name}"):
        twin.unlink()
    table = source / "HAM10000_metadata.csv"
    rows = [row for row in table.read_text().splitlines() if missing.stem not in row]
    table.write_text("\n".join(rows))
    with pytest.raises(UserError, match=f"1 of its 88 images are not in .* {missing}"):
        add_dataset("again", source, size=12, choices=HAM, split_from=manifest)
    assert not (data_home / "again").exists()


def test_other_images_of_the_same_name_are_refused(data_home, ham):
    source, manifest = ham
    one, other = (line.split(",")[0] for line in manifest.read_text().splitlines()[1:3])
    shutil.copy(source / one, source / other)
    with pytest.raises(UserError, match=f"{other}: not the image of the manifest"):
        add_dataset("again", source, size=12, choices=HAM, split_from=manifest)
    assert not (data_home / "again").exists()


def test_images_that_are_broken_now_are_refused(data_home, ham):
    source, manifest = ham
    one = manifest.read_text().splitlines()[1].split(",")[0]
    (source / one).write_bytes((source / one).read_bytes()[:-200])
    with pytest.raises(UserError, match=f"{one}: the manifest has it, but it is unreadable"):
        add_dataset("again", source, size=12, choices=HAM, split_from=manifest, max_broken=0.5)


def test_another_class_is_refused(data_home, ham):
    source, manifest = ham
    text = manifest.read_text()
    manifest.write_text(text.replace(",train,nv,", ",train,mel,", 1))
    with pytest.raises(UserError, match=r"is of class 'mel', in the source of 'nv'"):
        add_dataset("again", source, size=12, choices=HAM, split_from=manifest)


HASH = "0" * 32


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "its columns must be image, blake3, split, class, group"),
        ("image,blake3,split,class,group\n", "no image in it"),
        (f"image,blake3,split,class,group\na,{HASH},train,x\n", "line 2 has 4 columns"),
        (f"image,blake3,split,class,group\na,{HASH},val,x,\n", "split 'val'; legal: train"),
        ("image,blake3,split,class,group\na,abc,train,x,\n", "'abc' is not a content hash"),
        (f"image,blake3,split,class,group\na,{HASH},train,x,\na,{HASH},test,x,\n", "listed twice"),
        ('image,blake3,split,class,group\n"a,\n', "not a manifest"),
        ("x" * 200_000, "not a manifest"),
    ],
)
def test_what_is_no_manifest(data_home, ham, tmp_path, text, reason):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(UserError, match=reason) as caught:
        add_dataset("again", ham[0], size=12, choices=HAM, split_from=tmp_path / "bad.csv")
    assert "bad.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_manifest_that_is_not_there(data_home, ham, tmp_path):
    with pytest.raises(UserError, match=r"none.csv: no such manifest"):
        add_dataset("again", ham[0], size=12, choices=HAM, split_from=tmp_path / "none.csv")


def test_limits_do_not_go_with_a_manifest(data_home, ham):
    with pytest.raises(UserError, match=r"--split-from: .* no limit goes with it"):
        add_dataset("again", ham[0], size=12, choices=HAM, split_from=ham[1], fraction=0.5)


NAMES = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1)
HASHES = st.text("0123456789abcdef", min_size=32, max_size=32)
ROWS = st.builds(Row, NAMES, HASHES, st.sampled_from(["train", "test"]), NAMES, NAMES | st.just(""))


@given(st.lists(ROWS, min_size=1, unique_by=lambda row: row.image))
def test_any_names_survive(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("manifest") / "split.csv"
    write_manifest(path, rows)
    assert read_manifest(path) == rows
