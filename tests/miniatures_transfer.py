"""Tiny copies of the datasets for transfer (paper 3) as they are downloaded, traps included."""

import json
from pathlib import Path

import numpy as np
from miniatures import picture, save, write_table
from PIL import Image

Random = np.random.Generator
EUROSAT = (
    "AnnualCrop",
    "Forest",
    "HerbaceousVegetation",
    "Highway",
    "Industrial",
    "Pasture",
    "PermanentCrop",
    "Residential",
    "River",
    "SeaLake",
)
CATEGORIES = {1: "opossum", 3: "raccoon", 6: "dog", 11: "bird", 30: "empty", 33: "car"}


def cassava(folder: Path, random: Random) -> None:
    """Numbered classes whose names are in a JSON file; unlabelled test images beside."""
    names = {
        "0": "Bacterial Blight (CBB)",
        "1": "Brown Streak",
        "2": "Mottle",
        "10": "Healthy",
    }
    (folder / "label_num_to_disease_map.json").write_text(json.dumps(names))
    rows = [(f"{1000 + 7 * n}.jpg", list(names)[n % 4]) for n in range(20)]
    for name, label in rows:
        save(folder / "train_images" / name, random, int(label))
    save(folder / "test_images" / "2216849948.jpg", random, 0)
    write_table(folder / "train.csv", ("image_id", "label"), rows)


def aptos(folder: Path, random: Random) -> None:
    """Ids without suffix, ordered classes; `test.csv` without labels."""
    rows = [(f"{n:012x}", str(n % 5)) for n in range(25)]
    for name, label in rows:
        save(folder / "train_images" / f"{name}.png", random, int(label))
    save(folder / "test_images" / "0005cfc8afb6.png", random, 0)
    write_table(folder / "train.csv", ("id_code", "diagnosis"), rows)
    write_table(folder / "test.csv", ("id_code",), [("0005cfc8afb6",)])


def siim_isic(folder: Path, random: Random) -> None:
    """Several images a patient; DICOM files beside the JPEGs; a test table without targets."""
    header = ("image_name", "patient_id", "sex", "diagnosis", "benign_malignant", "target")
    rows = []
    for number in range(30):
        target = number % 5 == 0
        name, patient = f"ISIC_{number:07d}", f"IP_{number // 3:07d}"
        kind = "malignant" if target else "benign"
        rows.append((name, patient, "male", "unknown", kind, str(int(target))))
        save(folder / "jpeg" / "train" / f"{name}.jpg", random, int(target))
        (folder / "train").mkdir(exist_ok=True)
        (folder / "train" / f"{name}.dcm").write_bytes(b"DICM")
    write_table(folder / "train.csv", header, rows)
    write_table(folder / "test.csv", header[:3], [("ISIC_9999999", "IP_1", "male")])


def cct20(folder: Path, random: Random) -> dict[str, dict[str, str]]:
    """COCO annotations; returns by part the class of each photo of one class.

    An empty photo, one with two boxes of one class, one of two classes, a class only in a test.
    """
    truth: dict[str, dict[str, str]] = {}
    for place, part in enumerate(("train", "cis_val", "cis_test", "trans_val", "trans_test")):
        images, annotations, truth[part] = [], [], {}
        labels = [[1], [3], [6], [11], [1], [3], [6, 6], [1, 3], [30], [11]]
        for number, categories in enumerate(labels + ([[33]] if part == "cis_test" else [])):
            name = f"{place}{number:04d}-23d2-11e8-a6a3.jpg"
            key = f"{place}{number:04d}-23d2"
            images.append({"id": key, "file_name": name, "location": 26, "seq_id": "a"})
            for box, category in enumerate(categories):
                annotations.append({"id": f"{key}{box}", "image_id": key, "category_id": category})
            save(folder / "eccv_18_all_images_sm" / name, random, categories[0], 18, 32)
            if len(set(categories)) == 1 and categories[0] not in (30, 33):
                truth[part][name] = CATEGORIES[categories[0]]
        content = {
            "info": {"year": 2018},
            "categories": [{"id": key, "name": name} for key, name in CATEGORIES.items()],
            "images": images,
            "annotations": annotations,
        }
        path = folder / "eccv_18_annotation_files" / f"{part}_annotations.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return truth


def hpa(folder: Path, random: Random) -> dict[str, list[int]]:
    """Four grey PNGs an id, several classes an image; returns the classes of each."""
    sets = [[0], [0, 25], [25], [2, 0], [2], [16, 0, 2]]
    truth = {f"{n:08x}-bbb7": sets[n % 6] for n in range(24)}
    for number, (name, labels) in enumerate(truth.items()):
        for place, stain in enumerate(("red", "green", "blue", "yellow")):
            pixels = picture(random, 4 * labels[0] + place, 16, 16)[..., 0]
            path = folder / "train" / f"{name}_{stain}.png"
            path.parent.mkdir(exist_ok=True)
            Image.fromarray(pixels).save(path)
        save(folder / "test" / f"{number}_red.png", random, 0)
    rows = [(name, " ".join(map(str, labels))) for name, labels in truth.items()]
    write_table(folder / "train.csv", ("Id", "Target"), rows)
    return truth


def eurosat(folder: Path, random: Random, name: str = "2750", suffix: str = ".jpg") -> None:
    """Ten folders in a folder of a number."""
    for label, kind in enumerate(EUROSAT):
        for number in range(3):
            save(folder / name / kind / f"{kind}_{number + 1}{suffix}", random, label, 64, 64)
