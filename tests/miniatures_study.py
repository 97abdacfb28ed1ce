"""Tiny copies of the study's datasets in further layouts: photos with points, tars with a kit."""

import io
import tarfile
from pathlib import Path

import numpy as np
import scipy.io
from miniatures import picture, wnids
from PIL import Image

Random = np.random.Generator
#: Labels as annotators spelled them; the last is none of the nine.
CORAL_LABELS = ("CCA", "Turf", "sand", "MACROALGAE", "Porites", "Off")
PHOTO_SIDE = 60


def mlc_points(folder: Path, random: Random, photos: int = 6, years: bool = True) -> dict:
    """Photos whose every point stands in a square of its label's colour; returns the points.

    Points are at the corners of the photo too, and one is there twice.
    """
    points: dict[str, list[tuple[int, int, str]]] = {}
    for year in ("2008", "2009") if years else ("",):
        for number in range(photos if year != "2009" else 1):
            name = f"mcr_lter1_{number:02d}.jpg"
            found = _photo(folder / year / name, random, number)
            points[f"{year}/{name}" if year else name] = found
    return points


def _photo(path: Path, random: Random, number: int) -> list[tuple[int, int, str]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((PHOTO_SIDE, PHOTO_SIDE, 3), np.uint8)
    points = []
    for place in range(9):
        label = (place + number) % len(CORAL_LABELS)
        top, left = 20 * (place // 3), 20 * (place % 3)
        pixels[top : top + 20, left : left + 20] = picture(random, label, 20, 20)
        row, column = (0 if place == 0 else top + 10), (0 if place == 0 else left + 10)
        points.append((row, column, CORAL_LABELS[label]))
    Image.fromarray(pixels).save(path, quality=95)
    lines = [f"{row}; {column}; {label}" for row, column, label in [*points, points[-1]]]
    path.with_name(f"{path.name}.txt").write_text("# Row; Col; Label\n" + "\n".join(lines) + "\n")
    return points


def imagenet_tars(folder: Path, random: Random, classes: int = 5) -> dict[str, str]:
    """The official archives; returns the wnid of each validation image.

    IDs of the kit are in the reverse order of the wnids, and classes with children follow.
    """
    names = wnids(classes)
    train = {f"{wnid}/{wnid}_{n}.JPEG": label for label, wnid in enumerate(names) for n in range(4)}
    with tarfile.open(folder / "ILSVRC2012_img_train.tar", "w") as outer:
        for wnid in names:
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w") as inner:
                for path, label in train.items():
                    if path.startswith(wnid):
                        add(inner, path.rpartition("/")[2], jpeg(random, label))
            add(outer, f"{wnid}.tar", buffer.getvalue())
    truth = {f"ILSVRC2012_val_{n + 1:08d}": names[n * 3 % classes] for n in range(2 * classes)}
    with tarfile.open(folder / "ILSVRC2012_img_val.tar", "w") as archive:
        for name, wnid in truth.items():
            add(archive, f"{name}.JPEG", jpeg(random, names.index(wnid)))
    ids = {wnid: classes - label for label, wnid in enumerate(names)}
    lines = "".join(f"{ids[wnid]}\n" for wnid in truth.values())
    kit = "ILSVRC2012_devkit_t12/data"
    with tarfile.open(folder / "ILSVRC2012_devkit_t12.tar.gz", "w:gz") as archive:
        add(archive, f"{kit}/ILSVRC2012_validation_ground_truth.txt", lines.encode())
        add(archive, f"{kit}/meta.mat", meta_mat(ids))
    return truth


def meta_mat(ids: dict[str, int]) -> bytes:
    """The kit's table: leaves with these IDs, and two classes above them that have no images."""
    rows = [(number, wnid, 0) for wnid, number in sorted(ids.items(), key=lambda item: item[1])]
    rows += [(len(ids) + 1, "n00000001", 2), (len(ids) + 2, "n00000002", 1)]
    kind = [("ILSVRC2012_ID", object), ("WNID", object), ("num_children", object)]
    synsets = np.array([tuple(row) for row in rows], dtype=kind).reshape(-1, 1)
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"synsets": synsets}, do_compression=True)
    return buffer.getvalue()


def jpeg(random: Random, label: int) -> bytes:
    """A picture of a class as the bytes of a JPEG file."""
    buffer = io.BytesIO()
    Image.fromarray(picture(random, label, 24, 30)).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file to a tar."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
