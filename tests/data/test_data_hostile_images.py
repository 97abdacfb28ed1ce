"""Image files that lie about their size or hide more than they say: listed, at no great cost."""

import io
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from miniatures import save, write_miniature
from PIL import Image

from anynet_study.data import add_dataset
from anynet_study.data.source import images
from anynet_study.data.source.images import UnreadableImageError, decode_image

NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))


def written(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def png(width: int, height: int, *chunks: bytes) -> bytes:
    """A PNG that claims to be of that size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join((chunk(b"IHDR", header), *chunks, chunk(b"IEND", b"")))


def jpeg_claiming(width: int, height: int) -> bytes:
    """A JPEG of 64 x 64 pixels whose header says otherwise."""
    content = written(NOISE, "JPEG")
    place = content.index(b"\xff\xc0") + 5
    return content[:place] + struct.pack(">HH", height, width) + content[place + 4 :]


def tiff_with(tag: int, count: int, value: int) -> bytes:
    """A TIFF in which one tag says something else."""
    content = bytearray(written(NOISE, "TIFF"))
    (start,) = struct.unpack("<I", content[4:8])
    (tags,) = struct.unpack("<H", content[start : start + 2])
    for number in range(tags):
        place = start + 2 + 12 * number
        if struct.unpack("<H", content[place : place + 2]) == (tag,):
            content[place + 2 : place + 12] = struct.pack("<HII", 4, count, value)
    return bytes(content)


def bmp_claiming(width: int, height: int) -> bytes:
    content = bytearray(written(NOISE, "BMP"))
    content[18:26] = struct.pack("<ii", width, height)
    return bytes(content)


ZEROS = zlib.compress(bytes(200_000_000), 9)
IDAT = chunk(b"IDAT", zlib.compress(bytes(100)))
LYING = {
    "PNG without the pixels it claims": png(9_000, 9_000, IDAT),
    "PNG that is 90,000 pixels wide": png(90_000, 90_000, IDAT),
    "PNG of no width": png(0, 10, IDAT),
    "PNG whose text is a bomb": png(8, 8, chunk(b"zTXt", b"a\0\0" + ZEROS), IDAT),
    "PNG whose profile is a bomb": png(8, 8, chunk(b"iCCP", b"a\0\0" + ZEROS), IDAT),
    "PNG with a chunk of 2 GB": png(8, 8) + struct.pack(">I", 0x7FFFFFFF) + b"IDAT",
    "JPEG without the pixels it claims": jpeg_claiming(9_000, 9_000),
    "JPEG of 65,500 x 65,500 pixels": jpeg_claiming(65_500, 65_500),
    "JPEG of no height": jpeg_claiming(64, 0),
    "TIFF of 4 billion columns": tiff_with(256, 1, 0xFFFFFFFF),
    "TIFF whose strip is elsewhere": tiff_with(273, 1, 0xFFFFFF00),
    "TIFF with 4 billion strips": tiff_with(273, 0xFFFFFFFF, 8),
    "BMP of 2 billion columns": bmp_claiming(0x7FFFFFFF, 64),
    "BMP without the pixels it claims": bmp_claiming(9_000, 9_000),
    "WebP of 16,383 x 16,383 pixels": b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0\x2f\xff\xff\xff\x0f"
    + bytes(8),
    "PPM of 99,999 x 99,999 pixels": b"P6 99999 99999 255\n" + bytes(64),
    "PPM without the pixels it claims": b"P6 9000 9000 255\n" + bytes(64),
    "PPM of very many digits": b"P6 " + b"9" * 5000 + b" 8 255\n",
    "PDF": b"%PDF-1.7\n1 0 obj\n",
    "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "ICO": written(NOISE, "ICO"),
    "script": b"#!/bin/sh\nrm -rf /\n",
}


@pytest.mark.parametrize("name", LYING, ids=lambda name: name.replace(" ", "-"))
def test_lying_files_are_unreadable_in_one_line(name):
    with pytest.raises(UnreadableImageError) as caught:
        decode_image(LYING[name], 8)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_they_claim_is_not_paid_for(tmp_path):
    """Nor in total: the largest of the sizes they claim is 270 MB and more."""
    for number, content in enumerate(LYING.values()):
        (tmp_path / f"{number}.img").write_bytes(content)
    script = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from anynet_study.data.source.images import UnreadableImageError, decode_image\n"
        # `ru_maxrss` begins with the memory of the process that started this one.
        "status = Path('/proc/self/status')\n"
        "def most(): return int(re.search(r'VmHWM:\\s+(\\d+) kB', status.read_text())[1])\n"
        "before = most()\n"
        "for path in Path(sys.argv[1]).iterdir():\n"
        "    try: decode_image(path.read_bytes(), 8)\n"
        "    except UnreadableImageError: pass\n"
        "print(most() - before)\n"
    )
    kilobytes = subprocess.check_output([sys.executable, "-c", script, tmp_path])
    assert int(kilobytes) < 100_000


SOUND: dict[str, Callable[[], bytes]] = {
    "EXIF data of garbage": lambda: written(NOISE, "PNG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff"),
    "a strip of 4 GB": lambda: tiff_with(279, 1, 0xFFFFFFF0),
    "orientation of 77": lambda: written(NOISE, "PNG", exif=orientation(77)),
    "bytes after the end": lambda: written(NOISE, "PNG") + b"PK\3\4" + bytes(1000),
    "a second frame": lambda: written(
        NOISE, "PNG", save_all=True, append_images=[Image.new("RGB", (64, 64))]
    ),
    "a thousand pages": lambda: written(
        NOISE, "TIFF", save_all=True, append_images=[Image.new("1", (1, 1))] * 1000
    ),
}


def orientation(value: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = value
    return exif


@pytest.mark.parametrize("name", SOUND, ids=lambda name: name.replace(" ", "-"))
def test_what_does_no_harm_is_read(name):
    """Of several images in a file the first is read."""
    np.testing.assert_array_equal(decode_image(SOUND[name](), 64), np.asarray(NOISE))


def test_they_are_listed_by_name_and_nothing_else_suffers(data_home, tmp_path, monkeypatch):
    source = write_miniature("concrete", tmp_path)
    plain = add_dataset("plain", source, size=8)
    for number, content in enumerate(LYING.values()):
        (source / "Positive" / f"zz{number:02d}.jpg").write_bytes(content)
    large = source / "Positive" / "zz99.jpg"
    save(large, np.random.default_rng(0), 0)
    monkeypatch.setattr(images, "MAX_FILE_BYTES", 10_000)
    with large.open("r+b") as file:
        file.truncate(20_000)
    for workers in (1, 2):
        dataset = add_dataset(f"hostile{workers}", source, size=8, max_broken=0.6, workers=workers)
        broken = {one.image: one.reason for one in dataset.meta.quarantined}
        listed = len(LYING) + (workers == 1)  # the limit of other processes is their own
        assert len(broken) == listed
        assert all(name.startswith("Positive/zz") for name in broken)
        total = sum(dataset.counts(split).images for split in ("train", "test"))
        assert total == (workers == 2) + sum(plain.counts(s).images for s in ("train", "test"))
        if workers == 1:
            assert "more than 10000 are not read" in broken["Positive/zz99.jpg"]


@pytest.mark.parametrize("options", [{}, {"progressive": True, "optimize": True, "quality": 1}])
def test_the_emptiest_of_jpegs_is_long_enough(options):
    black = written(Image.new("RGB", (3000, 2000)), "JPEG", **options)
    assert decode_image(black, 8).max() <= 1


@pytest.mark.parametrize("name", ["a\nb.jpg", "\x1b[31mred.jpg"])
def test_names_of_unreadable_images_stay_on_their_line(data_home, tmp_path, name):
    source = write_miniature("concrete", tmp_path)
    (source / "Positive" / name).write_bytes(b"no image")
    dataset = add_dataset("mine", source, size=8, max_broken=0.5)
    assert Path(dataset.meta.quarantined[0].image).name
