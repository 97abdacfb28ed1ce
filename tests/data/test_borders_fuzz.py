"""A known table of images, written in many ways: the same content, or a refusal, never another."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from miniatures import save

from anynet_study.core.errors import UserError
from anynet_study.data import PackedDataset, add_dataset

COUNT = 24
TRAIN, TEST = ("train", "Training", "train_set"), ("test", "Test", "TESTING")


def written(folder: Path, random: np.random.Generator | None) -> Path:
    """24 images of three classes, eight groups and two splits; plain, or as chance says."""

    def one(*ways: str) -> str:
        return ways[0] if random is None else str(random.choice(ways))

    inside = one("images", "Images", "data/img", "photos")
    fixed = np.random.default_rng(0)
    for number in range(COUNT):
        save(folder / inside / f"im{number:03d}.png", fixed, number % 3)
    mark, prefix = one(",", ";", "\t"), one("", f"{inside}/", "C:\\x\\", "/kaggle/input/", "./")
    ending = one(".png", "", ".PNG")
    columns = [
        one("image", "File Name", "imgPath", "filename", "x"),
        one("label", "Class", "CATEGORY", "Class-Name", "kind"),
        one("patient_id", "Patient ID", "patientId", "Slide", "SEQ_ID"),
        one("split", "Subset", "SET", "partition"),
    ]
    rows = [
        [
            f"{prefix}im{number:03d}{ending}",
            one("{}", " {}", "{} ").format("abc"[number % 3]),
            f"P{number // 3}",
            one(*(TRAIN if number < 18 else TEST)),
        ]
        for number in range(COUNT)
    ]
    if random is not None:
        random.shuffle(rows)
        order = random.permutation(4)
        columns = [columns[place] for place in order]
        rows = [[row[place] for place in order] for row in rows]
    text = "\n".join(mark.join(row) for row in (columns, *rows)) + "\n"
    encoding = one("utf-8", "utf-8-sig", "utf-16")
    (folder / one("labels.csv", "Metadata.CSV", "all.tsv")).write_text(text, encoding=encoding)
    kind = one("", "zip", "gztar")
    return Path(shutil.make_archive(str(folder), kind, folder)) if kind else folder


def added(path: Path) -> PackedDataset:
    return add_dataset("fuzzed", path, size=8, force=True, workers=1)


@pytest.mark.parametrize("seed", range(24))
def test_the_same_content_however_it_is_written(data_home, tmp_path, seed):
    expected = added(written(tmp_path / "plain", None))
    assert (len(expected.classes), expected.counts("test").images) == (3, 6)
    path = written(tmp_path / "other", np.random.default_rng(seed))
    try:
        found = added(path).content_hash
    except UserError as error:
        found = str(error)
    # Or else the option that decides is named.
    assert found == expected.content_hash or "--" in found
