"""New test sets by selection frequency: the share of annotators who took an image for its class.

As in paper 2, section 4, equally many images are selected from each class. `matched` draws them so
that their frequencies are distributed as in the original test set; `threshold` draws among images
with a frequency of at least 0.7; `top` takes those with the highest frequencies.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, first_line
from anynet_study.data import (
    Example,
    Listing,
    Origin,
    PackedDataset,
    UnreadableImageError,
    add_images,
    decode_image,
    seeded_order,
    seeded_uniform,
)
from anynet_study.data.curation.image_sets import ImageSet, numbers_of, open_images, read_table

if TYPE_CHECKING:
    import pandas as pd

Strategy = Literal["matched", "threshold", "top"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
#: Frequency from which the strategy `threshold` takes images.
THRESHOLD = 0.7
#: Equal bins of frequencies from 0 to 1 in which the strategy `matched` counts.
BINS = 5
COLUMNS = ("image", "class", "frequency")

Indices = NDArray[np.int64]


def select_images(
    candidates: "pd.DataFrame",
    strategy: Strategy,
    per_class: int,
    like: "pd.DataFrame | None" = None,
    threshold: float = THRESHOLD,
    bins: int = BINS,
    seed: int = 0,
    below: float | None = None,
) -> "pd.DataFrame":
    """Select `per_class` rows of each class of `candidates`, a DataFrame[class, frequency (0..1)].

    Those of frequency `below` or more are no candidates, so that `threshold` takes the others of a
    range (paper 2, Figure 15: harder test sets).

    `like` has the same columns for the original test set: `matched` gives each class of the
    selection its distribution. If a bin has too few candidates, the nearest bins fill it up, the
    higher one first. Returns the rows in their order and with their index, with their `bin` and
    whether they fill up another bin (`filled`). UserError for a class with too few candidates, or
    without images in `like`.
    """
    if strategy == "matched" and like is None:
        raise UserError("--strategy matched: --like must name a table of the original's images")
    if below is not None:
        known, candidates = candidates["class"], candidates[candidates["frequency"] < below]
        if absent := sorted({*known} - {*candidates["class"]}):
            raise UserError(f"--below {below:g}: class {absent[0]!r} has no candidate below it")
    table = candidates.reset_index(drop=True)
    table = table.assign(bin=binned(table["frequency"], bins), filled=False)
    rows: list[Indices] = []
    for name, members in table.groupby("class", sort=True).groups.items():
        order = members.to_numpy()[seeded_order(len(members), "selection", seed, name)]
        frequency = table["frequency"].to_numpy()[order]
        if strategy == "threshold":
            order = order[frequency >= threshold]
        elif strategy == "top":
            order = order[np.argsort(-frequency, kind="stable")]
        _check_enough(str(name), len(order), per_class, strategy, threshold)
        if strategy != "matched":
            rows.append(order[:per_class])
            continue
        assert like is not None
        original = like.loc[like["class"] == name, "frequency"]
        if original.empty:
            raise UserError(f"--like: no image of class {name!r}, which the candidates have")
        wanted = _quotas(histogram(original, bins), per_class, (seed, name))
        chosen, filled = _from_bins(order, table["bin"].to_numpy()[order], wanted)
        table.loc[filled, "filled"] = True
        rows.append(chosen)
    return table.set_index(candidates.index).iloc[np.sort(np.concatenate(rows))]


def binned(frequency: "pd.Series[float]", bins: int) -> Indices:
    """(N,) the bin of each frequency: 0 up to bins - 1, the last of which has 1.0 as well."""
    # Frequencies are tenths and the like: 0.6 * 5 must not be 2.9999.
    places = np.floor(frequency.to_numpy(float) * bins + 1e-9)
    return np.asarray(np.minimum(places, bins - 1), np.int64)


def histogram(frequency: "pd.Series[float]", bins: int = BINS) -> NDArray[np.float64]:
    """(bins,) share of the frequencies in each bin."""
    counts = np.bincount(binned(frequency, bins), minlength=bins)
    return counts / max(1, len(frequency))


def _check_enough(name: str, there: int, needed: int, strategy: Strategy, threshold: float) -> None:
    if there < needed:
        of = f" of frequency {threshold:g} or more" if strategy == "threshold" else ""
        raise UserError(
            f"--per-class {needed}: class {name!r} has {there} candidates{of}; take fewer, or "
            "annotate more"
        )


def _quotas(shares: NDArray[np.float64], count: int, key: tuple[object, ...]) -> Indices:
    """Return how many of `count` each bin gets; the mean over draws is the bin's exact share."""
    ends = np.concatenate([[0.0], np.cumsum(shares)]) * count
    ends[-1] = count
    start = float(seeded_uniform((1,), "bins of selection", *key)[0])
    return np.diff(np.floor(ends + start + 1e-9)).astype(np.int64)


def _from_bins(order: Indices, bins: Indices, wanted: Indices) -> tuple[Indices, Indices]:
    """The first so many candidates of each bin in `order`; and which of them are of another bin."""
    left = {place: list(order[bins == place]) for place in range(len(wanted))}
    chosen, filled = [], []
    for place, count in enumerate(wanted):
        chosen += [left[place].pop(0) for _ in range(min(count, len(left[place])))]
    for place, count in enumerate(wanted):
        lacking = count - int((bins == place).sum())
        # The nearest first, and of two as near the higher.
        near = sorted(left, key=lambda other: (abs(other - place), other < place))
        for other in near:
            while lacking > 0 and left[other]:
                filled.append(left[other].pop(0))
                lacking -= 1
    return np.array([*chosen, *filled], np.int64), np.array(filled, np.int64)


def read_annotations(path: Path, columns: tuple[str, ...] = COLUMNS[1:]) -> "pd.DataFrame":
    """A table with class and frequency, a number from 0 to 1; no image may be listed twice."""
    table = read_table(path, columns)
    if "image" in columns and table["image"].duplicated().any():
        twice = table.loc[table["image"].duplicated(), "image"].iloc[0]
        raise UserError(f"{path}: image {twice!r} is listed twice")
    return table.assign(frequency=numbers_of(table, "frequency", path, 1.0))


def candidate_images(path: Path, table: "pd.DataFrame", source: str | None, size: int) -> ImageSet:
    """The images of a table, in its rows.

    `source` is a packed dataset (see `open_images`) whose manifest names the images. If it is None,
    they are files with paths relative to the table, which are fitted to `size` pixels.
    """
    names, classes = list(table["image"]), table["class"].to_numpy(object)
    if source is None:
        return ImageSet(str(path), _decoded(path, names, size), names, classes)
    packed = open_images(source, "test")
    place = {name: row for row, name in enumerate(packed.names)}
    missing = [name for name in names if name not in place]
    if missing:
        raise UserError(f"{path}: {missing[0]!r} is no image of {packed.name} (its split.csv)")
    rows = np.array([place[name] for name in names])
    return ImageSet(str(path), np.asarray(packed.images[rows]), names, classes)


def _decoded(path: Path, names: list[str], size: int) -> NDArray[np.uint8]:
    images = np.empty((len(names), size, size, 3), np.uint8)
    for row, name in enumerate(names):
        file = path.parent / name
        try:
            images[row] = decode_image(file.read_bytes(), size)
        except (OSError, UnreadableImageError) as error:
            raise UserError(f"{path}: row {row + 1}: {file}: {first_line(error)}") from None
    return images


def pack_selection(
    images: ImageSet, rows: Indices, name: str, original: str | None, force: bool = False
) -> PackedDataset:
    """Make the packed dataset `name`, a test set only, of these rows of the candidates.

    Its classes are those of the selection; a study matches them by name.
    """
    labels = images.classes[rows]
    classes = tuple(sorted(set(labels)))
    examples = [
        Example(images.names[row], classes.index(label), pixels=np.asarray(images.images[row]))
        for row, label in zip(rows.tolist(), labels, strict=True)
    ]
    notes = () if original is None else (f"without near duplicates of {original}",)
    listing = Listing("selection by frequency", "", classes, [], examples, notes=notes)
    return add_images(listing, Origin(name, Path(images.name).name), force)
