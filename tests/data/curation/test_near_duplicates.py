"""Near duplicates: what is planted is found, and nothing else; and pairs known of CIFAR-10."""

import io
import json
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from command import in_this_process
from PIL import Image, ImageEnhance

from anynet_study.data import decode_image
from anynet_study.data.curation import find_near_duplicates


def photos(count: int, size: int, seed: int = 0) -> np.ndarray:
    """(count, size, size, 3) smooth colours with some details."""
    generator = np.random.default_rng(seed)
    coarse = generator.integers(0, 256, (count, 10, 10, 3), np.uint8)
    resized = [
        Image.fromarray(one).resize((size, size), Image.Resampling.BICUBIC) for one in coarse
    ]
    return np.stack([np.asarray(one) for one in resized])


def compressed(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=40)
    return Image.open(buffer)


def framed(image: Image.Image) -> Image.Image:
    dark = Image.new("RGB", image.size)
    dark.paste(image.crop((1, 1, image.width - 1, image.height - 1)), (1, 1))
    return dark


CHANGES = {
    "light": lambda image: ImageEnhance.Brightness(image).enhance(0.6),
    "contrast": lambda image: ImageEnhance.Contrast(image).enhance(0.5),
    "compression": compressed,
    "frame": framed,
    "nothing": lambda image: image,
}


@pytest.mark.parametrize("size", [24, 32, 96])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_planted_is_found_and_nothing_else(change, size):
    reference = photos(300, size)
    images = photos(40, size, seed=1)
    for ours, theirs in ((3, 7), (30, 299)):
        images[ours] = np.asarray(CHANGES[change](Image.fromarray(reference[theirs])))
    pairs = find_near_duplicates(images, reference)
    assert sorted(zip(pairs["image"], pairs["reference"], strict=True)) == [(3, 7), (30, 299)]
    assert pairs["distance"].is_monotonic_increasing
    if change in ("light", "contrast", "nothing"):
        assert (pairs["distance"] < 0.01).all()


def test_among_one_set_each_pair_is_told_once_and_plain_images_are_if_equal():
    images = photos(150, 32)
    images[149] = images[2]
    images[20:23] = np.array([128, 129, 128])[:, None, None, None]
    images[30] = 128 + np.random.default_rng(0).integers(0, 2, (32, 32, 3))
    images[31] = images[30]
    pairs = find_near_duplicates(images)[["image", "reference", "bits"]].to_numpy().tolist()
    assert sorted(pairs) == [[2, 149, 0], [20, 22, 0], [30, 31, 0]]


#: Found by the command, and by eye.
KNOWN = {"test/dog/0739.jpg": "train/dog/1557.jpg", "test/deer/0722.jpg": "train/deer/1912.jpg"}


@pytest.mark.shared_data
@pytest.mark.slow
def test_known_pairs_of_cifar10(shared_data):
    found = {}
    with tarfile.open(shared_data / "cifar10-images.tar.gz") as archive:
        for member in archive:
            name = "/".join(member.name.split("/")[-3:])
            if name in (*KNOWN, *KNOWN.values()) or name.endswith("00.jpg"):
                found[name] = decode_image(archive.extractfile(member).read(), 32)
    test, train = ({n: i for n, i in found.items() if n.startswith(k)} for k in ("test", "train"))
    assert len(test) > 100
    assert len(train) > 500
    pairs = find_near_duplicates(np.stack(list(test.values())), np.stack(list(train.values())))
    names = {list(test)[i]: list(train)[j] for i, j in pairs[["image", "reference"]].to_numpy()}
    assert names == names | KNOWN
    assert len(names) < 0.03 * len(test) + 3


@pytest.mark.slow
def test_the_command_names_and_draws_them(tmp_path):
    in_this_process(tmp_path, "data", "info", "gratings")
    told = in_this_process(
        *(tmp_path, "data", "duplicates", "gratings", "--distance", "0.6", "--bits", "20"),
        *("--picture", "pairs.png", "-o", "pairs.csv", "--json"),
    )
    said = json.loads(told.stdout)
    assert said["images"] == "gratings:test"
    assert said["reference"] == "gratings:train"
    assert said["share"] == said["with_duplicate"] / 700 > 0
    assert len((tmp_path / "pairs.csv").read_text().splitlines()) == 1 + len(said["pairs"])
    with Image.open(tmp_path / "pairs.png") as sheet:
        assert sheet.width > 800
    plain = in_this_process(tmp_path, "data", "duplicates", "digits:test", "digits:test")
    assert "of 359 images of digits:test" in plain.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("digits:trian",), "digits:trian: no split 'trian'; legal: digits:train, digits:test"),
        (("digit",), "no dataset 'digit' in"),
        (("digits", "--bits", "40"), "--bits 40: legal are 0 to 24 of the 64"),
        (("digits", "--distance", "1.5"), "--distance 1.5: legal is a number from 0 to below 1"),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path, arguments, reason):
    told = in_this_process(tmp_path, "data", "duplicates", *arguments, expect=2)
    assert reason in told.stderr
    assert len(told.stderr.splitlines()) == 1


@pytest.mark.slow
def test_no_torch_is_imported():
    script = (
        "import sys; from anynet_study.data.curation import *; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
