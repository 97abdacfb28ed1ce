"""Pictures of a dataset: one row per class, with some of its images; and of pairs of images."""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from anynet_study.core.files import replacing
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.meta import Split
from anynet_study.data.seeded import seeded_order

#: Images a class, and classes at most: of more, so many evenly spread.
COLUMNS, ROWS = 10, 40
#: Pairs side by side on a sheet of pairs, and rows at most.
PAIRS_WIDE, PAIRS_HIGH = 12, 25
#: Side of an image, gap between two, height of the title, most room for a class's name, in pixels.
SIDE, GAP, TITLE, LABEL = 64, 4, 28, 180
FONT_SIZE = 14
#: What no font has: it draws the box that stands for every character that is lacking.
LACKING = "\U0010fffd"
Font = ImageFont.FreeTypeFont
INK, PAPER = (20, 20, 20), (255, 255, 255)


def save_contact_sheet(dataset: PackedDataset, path: Path) -> None:
    """Write the contact sheet of `dataset` to the PNG file `path`."""
    with replacing(path) as temporary:
        contact_sheet(dataset).save(temporary, format="PNG")


def contact_sheet(dataset: PackedDataset) -> Image.Image:
    """Up to `COLUMNS` images of each class, drawn with a fixed seed, from training if there are.

    Images keep their pixels where they are small: a pixel becomes a whole number of pixels.
    """
    split: Split = "test" if dataset.test_only else "train"
    chosen = _spread(len(dataset.classes), ROWS)
    step = SIDE + GAP
    font = _font()
    widths = [font.getlength(dataset.classes[label]) for label in chosen]
    left = min(LABEL, int(max(font.getlength("10000 images"), *widths))) + 3 * GAP
    sheet = Image.new("RGB", (left + COLUMNS * step, TITLE + len(chosen) * step), PAPER)
    draw = ImageDraw.Draw(sheet)
    images, labels = dataset.images(split), dataset.labels(split)
    boxes = _lacking(font, (dataset.classes[label] for label in chosen))
    told = f"; boxes: characters that this font lacks ({boxes})" if boxes else ""
    draw.text((GAP, GAP), _title(dataset, split, len(chosen)) + told, INK, font)
    for row, label in enumerate(chosen):
        top = TITLE + row * step
        name = dataset.classes[label]
        members = _members(labels, label)
        draw.text((GAP, top + GAP), _shortened(name, font), INK, font)
        draw.text((GAP, top + GAP + FONT_SIZE + 4), f"{len(members)} images", INK, font)
        order = seeded_order(len(members), "contact sheet", name)[:COLUMNS]
        for column, place in enumerate(np.sort(members[order])):
            picture = _thumbnail(np.asarray(images[int(place)]))
            corner = (SIDE - picture.width) // 2
            sheet.paste(picture, (left + column * step + corner, top + corner))
    return sheet


def save_pair_sheet(
    pairs: Sequence[tuple[NDArray[np.uint8], NDArray[np.uint8]]],
    notes: Sequence[str],
    title: str,
    path: Path,
) -> None:
    """Write a PNG file with the two images of each pair above each other, and a note below them.

    Of more pairs than fit the first are shown.
    """
    most = PAIRS_WIDE * PAIRS_HIGH
    step, height = SIDE + 2 * GAP, 2 * SIDE + FONT_SIZE + 4 * GAP
    font = _font()
    rows = -(-min(len(pairs), most) // PAIRS_WIDE)
    sheet = Image.new("RGB", (GAP + PAIRS_WIDE * step, TITLE + rows * height), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((GAP, GAP), title, INK, font)
    for place, (pair, note) in enumerate(zip(pairs[:most], notes, strict=False)):
        row, column = divmod(place, PAIRS_WIDE)
        left, top = GAP + column * step, TITLE + row * height
        for number, pixels in enumerate(pair):
            sheet.paste(_thumbnail(pixels), (left, top + number * SIDE))
        draw.text((left, top + 2 * SIDE), note, INK, font)
    with replacing(path) as temporary:
        sheet.save(temporary, format="PNG")


def _font() -> Font:
    """DejaVu Sans, which comes with matplotlib and has most scripts, though not those of Asia."""
    path = files("matplotlib") / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
    return ImageFont.truetype(BytesIO(path.read_bytes()), FONT_SIZE)


def _lacking(font: Font, texts: Iterable[str]) -> int:
    """Count the different characters of some texts that the font lacks."""
    box = bytes(font.getmask(LACKING))
    return sum(bytes(font.getmask(one)) == box for one in set("".join(texts)))


def _title(dataset: PackedDataset, split: Split, shown: int) -> str:
    some = f", {shown} of {len(dataset.classes)} classes" if shown < len(dataset.classes) else ""
    return f"{dataset.name}: {split} images of {dataset.size}x{dataset.size} px{some}"


def _spread(count: int, most: int) -> list[int]:
    """At most `most` of the numbers below `count`, evenly spread, the first and last included."""
    places = np.linspace(0, count - 1, min(count, most)).round().astype(int)
    return [int(place) for place in np.unique(places)]


def _members(labels: NDArray[np.generic], label: int) -> NDArray[np.int64]:
    """Rows of the images of a class, also where an image has several."""
    has = labels[:, label] == 1 if labels.ndim == 2 else labels == label
    return np.flatnonzero(has)


def _shortened(text: str, font: Font) -> str:
    """The beginning of `text` that fits beside the images."""
    if font.getlength(text) <= LABEL:
        return text
    while font.getlength(f"{text}...") > LABEL:
        text = text[:-1]
    return f"{text}..."


def _thumbnail(pixels: NDArray[np.uint8]) -> Image.Image:
    image = Image.fromarray(pixels)
    if image.width <= SIDE:
        times = SIDE // image.width
        return image.resize((times * image.width,) * 2, Image.Resampling.NEAREST)
    return image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
