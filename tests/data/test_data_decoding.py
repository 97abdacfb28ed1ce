"""A chunk of images: what is known of it, and what its decoding leaves behind."""

import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniatures import save
from PIL import Image

from anynet_study.data.packed.form import Form, decode_stored
from anynet_study.data.packing.decoding import chunk_bytes, decode_chunk, moments_of
from anynet_study.data.source.images import Decoded, Decoder
from anynet_study.data.source.member import Member


def exact(image: np.ndarray) -> list[list[int]]:
    channels = [[int(value) for value in image[..., c].flat] for c in range(3)]
    return [
        [sum(values) for values in channels],
        [sum(v * v for v in values) for values in channels],
    ]


@given(st.integers(0, 3), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_moments_are_exact(count, height, width, seed):
    images = np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8)
    found = moments_of(images)
    assert (found.shape, found.dtype) == ((count, 2, 3), np.int64)
    assert found.tolist() == [exact(image) for image in images]


def test_moments_of_the_brightest_images_of_the_largest_size():
    white = np.full((1, 1024, 1024, 3), 255, np.uint8)
    assert moments_of(white).tolist() == [[[255 << 20] * 3, [255**2 << 20] * 3]]


@pytest.fixture
def files(tmp_path: Path) -> list[Member]:
    """Seven photos, the third of them broken."""
    random = np.random.default_rng(0)
    paths = [tmp_path / f"{number}.jpg" for number in range(7)]
    for number, path in enumerate(paths):
        save(path, random, number, 40 + number, 50)
    paths[2].write_bytes(b"no image")
    return [Member(str(path)) for path in paths]


@pytest.mark.parametrize("store", ["raw", "jpeg"])
def test_moments_are_of_what_is_stored(files, store):
    form = Form(32, 32, store)
    out = np.empty(chunk_bytes(form), np.uint8)
    chunk = decode_chunk(files, form, out)
    assert (chunk.count, list(chunk.broken)) == (7, [2])
    assert len(chunk.lengths) == len(chunk.moments) == len(chunk.contents) == 6
    stored = np.split(out[: chunk.size], np.cumsum(chunk.lengths)[:-1])
    for data, moments in zip(stored, chunk.moments, strict=True):
        image = data if store == "raw" else decode_stored(data.tobytes(), form)
        assert moments.tolist() == exact(image.reshape(32, 32, 3))


@pytest.mark.parametrize("store", ["raw", "jpeg"])
def test_no_image_is_kept_while_the_next_is_decoded(files, store, monkeypatch):
    """Or the allocator takes fresh memory for each, which costs a quarter of the decoding."""
    decode = Decoder.decode
    images: list[weakref.ref[Image.Image]] = []

    def decoded(self: Decoder, member: Member) -> Decoded:
        assert [image() for image in images] == [None] * len(images)
        found = decode(self, member)
        images.append(weakref.ref(found.image))
        return found

    monkeypatch.setattr(Decoder, "decode", decoded)
    form = Form(32, 32, store)
    decode_chunk(files, form, np.empty(chunk_bytes(form), np.uint8))
    assert len(images) == 6
