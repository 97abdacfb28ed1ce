"""Tiny copies of the test sets for networks trained on ImageNet or CIFAR-10, traps included."""

import json
from pathlib import Path

import numpy as np
from miniatures import CIFAR10, picture, save, wnids
from PIL import Image

Random = np.random.Generator
RED = (255, 0, 0)


def imagenet_v2(folder: Path, random: Random, classes: int = 12) -> Path:
    """Folders are class indices: as strings, 10 comes before 2."""
    root = folder / "imagenetv2-matched-frequency-format-val"
    for label in range(classes):
        for number in range(2):
            save(root / str(label) / f"{number:040x}.jpeg", random, label)
    return root


def wnid_folders(folder: Path, random: Random, labels: list[int], suffix: str = ".jpg") -> Path:
    """Some of the classes of the miniature of ImageNet; a readme, as ImageNet-A has."""
    for label in labels:
        for number in range(3):
            save(folder / wnids(12)[label] / f"{number}{suffix}", random, label)
    (folder / "README.txt").write_text("read me")
    return folder


def objectnet(folder: Path, random: Random) -> dict[str, str]:
    """Five folders, three of which are ImageNet's; returns the wnid of each.

    Lines of the list of names are not in the order of ImageNet's classes; `chairs` are two of
    these; two of these are called alike; every photo has a red frame of two pixels.
    """
    root = folder / "objectnet-1.0"
    lines = [f"name {n}" for n in range(12)]
    lines[3] = lines[4] = "crane"
    line_of = {str(number): (5 * number + 2) % 12 for number in range(12)}
    names = {number: lines[line] for number, line in line_of.items()}
    labels = {"air_freshener": "Air freshener", "chair": "Chair", "basket": "Basket"}
    labels |= {"bike": "Bike", "tray": "Tray"}
    mapped = {"Chair": f"{names['2']}; {names['7']}", "Basket": names["11"], "Bike": names["0"]}
    for place, label in enumerate(labels):
        for number in range(3):
            pixels = picture(random, place, 20, 28)
            pixels[:2], pixels[-2:], pixels[:, :2], pixels[:, -2:] = RED, RED, RED, RED
            path = root / "images" / label / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    mappings = root / "mappings"
    mappings.mkdir()
    (mappings / "folder_to_objectnet_label.json").write_text(json.dumps(labels))
    (mappings / "objectnet_to_imagenet_1k.json").write_text(json.dumps(mapped))
    (mappings / "imagenet_to_label_2012_v2").write_text("\n".join(lines) + "\n")
    (mappings / "pytorch_to_imagenet_2012_id.json").write_text(json.dumps(line_of))
    wnid = wnids(12)
    return {"chair": wnid[2], "basket": wnid[11], "bike": wnid[0]}


def cifar10_1(folder: Path, random: Random, version: str = "v6", images: int = 30) -> None:
    """Arrays of images and of int32 labels."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = np.arange(images, dtype=np.int32) % len(CIFAR10)
    pixels = np.stack([picture(random, int(label), 32, 32) for label in labels])
    np.save(folder / f"cifar10.1_{version}_data.npy", pixels)
    np.save(folder / f"cifar10.1_{version}_labels.npy", labels)
