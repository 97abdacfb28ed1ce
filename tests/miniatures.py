"""Tiny copies of the study's datasets in the layouts they are downloaded in, traps included."""

import csv
import io
import pickle
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Random = np.random.Generator
CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
MLC = {
    "CCA": 30,
    "Turf": 16,
    "Macroalgae": 12,
    "Sand": 10,
    "Acropora": 5,
    "Pavona": 5,
    "Montipora": 6,
    "Pocillopora": 5,
    "Porites": 8,
}
HAM = {"nv": 36, "mel": 14, "bkl": 12, "bcc": 8, "akiec": 7, "vasc": 6, "df": 5}
#: Overrides of a sweep's population, by which a study on miniatures takes seconds.
TOY = [
    "population.count=4",
    "population.space={base: anynetx, depths: [1, 2], widths: [8, 24], stem_width: 8}",
    "population.flops=[1e5, 1e6]",
    "population.resolution=16",
    "population.classes=10",
]


def write_miniature(name: str, folder: Path, seed: int = 0, classes: int | None = None) -> Path:
    """Write a miniature of the dataset `name` below `folder`; return what to give `data add`.

    `classes` sets the number of classes of imagenet, insects and cifar100. Images of one class
    have a colour in common, so that there is something to learn.
    """
    random = np.random.default_rng([seed, *name.encode()])
    target = folder / name
    target.mkdir(parents=True)
    if classes is None:
        WRITERS[name](target, random)
    else:
        WRITERS[name](target, random, classes)
    return target


def picture(random: Random, label: int, height: int, width: int) -> NDArray[np.uint8]:
    """(height, width, 3) uint8 noise around a colour that belongs to `label`."""
    colour = np.random.default_rng(label).integers(40, 216, 3)
    noise = random.integers(-40, 41, (height, width, 3))
    return np.clip(colour + noise, 0, 255).astype(np.uint8)


def save(path: Path, random: Random, label: int, height: int = 24, width: int = 24) -> None:
    """Save a picture in the format that the suffix of `path` says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(random, label, height, width)).save(path, quality=90)


def class_folders(folder: Path, random: Random, counts: dict[str, int], suffix: str) -> None:
    """`class/00001<suffix>`: names repeat across classes."""
    for label, (name, count) in enumerate(counts.items()):
        for number in range(1, count + 1):
            save(folder / name / f"{number:05d}{suffix}", random, label)


def concrete(folder: Path, random: Random) -> None:
    class_folders(folder, random, {"Negative": 15, "Positive": 15}, ".jpg")


def mlc2008(folder: Path, random: Random) -> None:
    class_folders(folder, random, MLC, ".png")


def insects(folder: Path, random: Random, classes: int = 8) -> None:
    """Folders are species keys of different lengths: sorted as strings, not as numbers."""
    names = [str(99_000 + 450 * label) for label in range(classes)]
    counts = {name: 4 + 2 * (label % 4) for label, name in enumerate(names)}
    class_folders(folder, random, counts, ".jpg")


def natural(folder: Path, random: Random) -> None:
    """Doubled folders, one image that is not square, unlabelled images beside."""
    names = ("buildings", "forest", "glacier", "mountain", "sea", "street")
    for split, count in (("seg_train", 8), ("seg_test", 4)):
        class_folders(folder / split / split, random, dict.fromkeys(names, count), ".jpg")
    save(folder / "seg_train/seg_train/sea/99999.jpg", random, 4, height=20, width=31)
    for number in range(5):
        save(folder / f"seg_pred/seg_pred/{number}.jpg", random, number)


def wnids(classes: int) -> list[str]:
    return [f"n{1_440_764 + 7919 * label:08d}" for label in range(classes)]


def imagenet(folder: Path, random: Random, classes: int = 12) -> None:
    for label, wnid in enumerate(wnids(classes)):
        for number in range(12):
            save(folder / f"train/{wnid}/{wnid}_{number}.JPEG", random, label, 24, 30)
        for number in range(4):
            image = f"ILSVRC2012_val_{label * 4 + number + 1:08d}.JPEG"
            save(folder / "val" / wnid / image, random, label, 28, 24)


def imagenet_kaggle(folder: Path, random: Random, classes: int = 12) -> None:
    """Flat validation images with a table, unlabelled test images, a PNG named JPEG, a CMYK."""
    images = folder / "ILSVRC/Data/CLS-LOC"
    rows = []
    for label, wnid in enumerate(wnids(classes)):
        for number in range(12):
            save(images / f"train/{wnid}/{wnid}_{number}.JPEG", random, label, 24, 30)
        for number in range(4):
            # Images of a class are not next to each other.
            image = f"ILSVRC2012_val_{number * classes + label + 1:08d}"
            save(images / f"val/{image}.JPEG", random, label, 28, 24)
            rows.append((image, f"{wnid} 1 2 20 21 {wnid} 3 4 5 6 "))
    first = images / f"train/{wnids(classes)[0]}"
    Image.fromarray(picture(random, 0, 24, 24)).save(first / "png_inside.JPEG", format="PNG")
    Image.fromarray(picture(random, 0, 24, 24)).convert("CMYK").save(first / "cmyk.JPEG")
    for number in range(3):
        save(images / f"test/ILSVRC2012_test_{number + 1:08d}.JPEG", random, number)
    write_table(folder / "LOC_val_solution.csv", ("ImageId", "PredictionString"), rows)


def ham10000(folder: Path, random: Random) -> None:
    """Two part folders, one of them twice in other case; lesions with up to three images."""
    rows, number, lesion = [], 24_000, 0
    for label, (diagnosis, count) in enumerate(HAM.items()):
        written = 0
        while written < count:
            lesion += 1
            for _ in range(min(count - written, 1 + lesion % 3)):
                number, written = number + 1, written + 1
                image = f"ISIC_{number:07d}"
                rows.append((f"HAM_{lesion:07d}", image, diagnosis, "histo", "60.0"))
                part = f"HAM10000_images_part_{1 + number % 2}"
                save(folder / part / f"{image}.jpg", random, label, 24, 32)
                if number % 2 == 0:
                    (folder / part.lower()).mkdir(exist_ok=True)
                    shutil.copy(folder / part / f"{image}.jpg", folder / part.lower())
    header = ("lesion_id", "image_id", "dx", "dx_type", "age")
    write_table(folder / "HAM10000_metadata.csv", header, rows)


def powerline(folder: Path, random: Random) -> None:
    """Flat folders a band; label token before or after the band; what macOS adds to zips."""
    for band, where, infrared_first in (
        ("IR", "Infrared (IR)", 1),
        ("VL", "Visible Light (VL)", 0),
    ):
        for label, token in enumerate(("TY", "TV")):
            for number in range(8):
                tokens = f"{band}_{token}" if infrared_first else f"{token}_{band}"
                save(folder / where / f"{tokens}_{number + 1:04d}.bmp", random, label)
    litter = folder / "__MACOSX" / "Infrared (IR)" / "._IR_TV_0001.bmp"
    litter.parent.mkdir(parents=True)
    litter.write_bytes(b"\0\5\26\7")


def write_table(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def cifar_rows(random: Random, labels: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(N, 3072) uint8: red, green and blue planes."""
    images = [picture(random, int(label), 32, 32).transpose(2, 0, 1) for label in labels]
    return np.stack(images).reshape(-1, 3072)


def cifar10(folder: Path, random: Random) -> None:
    """Binary form: five training batches, class names, a readme."""
    (folder / "batches.meta.txt").write_text("\n".join(CIFAR10) + "\n\n")
    (folder / "readme.html").write_text("<html>")
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        labels = np.arange(30) % 10
        records = np.column_stack([labels.astype(np.uint8), cifar_rows(random, labels)])
        (folder / f"{name}.bin").write_bytes(records.tobytes())


def cifar100(folder: Path, random: Random, classes: int = 100) -> None:
    """Binary form: records begin with a coarse and a fine label."""
    (folder / "fine_label_names.txt").write_text("".join(f"fine{n:02d}\n" for n in range(classes)))
    (folder / "coarse_label_names.txt").write_text("".join(f"coarse{n}\n" for n in range(20)))
    for name, count in (("train", 4 * classes), ("test", 2 * classes)):
        fine = np.arange(count) % classes
        labels = np.column_stack([fine % 20, fine]).astype(np.uint8)
        records = np.column_stack([labels, cifar_rows(random, fine)])
        (folder / f"{name}.bin").write_bytes(records.tobytes())


def binary_to_python(binary: Path, folder: Path) -> Path:
    """The python form of a binary CIFAR folder."""
    folder.mkdir(parents=True)
    fine = (binary / "train.bin").is_file()
    names = "fine_label_names" if fine else "label_names"
    text = (binary / ("fine_label_names.txt" if fine else "batches.meta.txt")).read_text()
    dump(folder / ("meta" if fine else "batches.meta"), {names.encode(): text.encode().split()})
    for file in binary.glob("*.bin"):
        records = np.fromfile(file, np.uint8).reshape(-1, 3074 if fine else 3073)
        content: dict[bytes, Any] = {b"batch_label": b"a batch", b"data": records[:, -3072:].copy()}
        columns = (b"coarse_labels", b"fine_labels") if fine else (b"labels",)
        content |= {key: records[:, n].tolist() for n, key in enumerate(columns)}
        content[b"filenames"] = [b"image_%d.png" % n for n in range(len(records))]
        dump(folder / file.stem, content)
    return folder


class _OldPickler(pickle._Pickler):
    """Writes what Python 2 wrote: byte strings as such, NumPy's old module name."""

    dispatch: ClassVar[dict[type, Any]] = dict(pickle._Pickler.dispatch)

    def save_bytes(self, value: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(value)) + value)

    dispatch[bytes] = save_bytes


def dump(path: Path, content: object) -> None:
    """Pickle `content` as Python 2 did, protocol 2."""
    buffer = io.BytesIO()
    _OldPickler(buffer, protocol=2, fix_imports=False).dump(content)
    path.write_bytes(buffer.getvalue().replace(b"cnumpy._core.", b"cnumpy.core."))


WRITERS: dict[str, Callable[..., None]] = {
    "concrete": concrete,
    "mlc2008": mlc2008,
    "imagenet": imagenet,
    "imagenet_kaggle": imagenet_kaggle,
    "ham10000": ham10000,
    "powerline": powerline,
    "insects": insects,
    "natural": natural,
    "cifar10": cifar10,
    "cifar100": cifar100,
}
