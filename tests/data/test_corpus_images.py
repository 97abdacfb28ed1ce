"""The corpus of images: layouts that were misread once, and public kinds of layouts."""

import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from corpus import Row, hints
from PIL import Image

#: Keeps a property of a test for the summary of a run.
Record = Callable[[str, object], None]
INSPECT, ADD = "data inspect in {}", "data add x --from in --size 8 {}"
RANDOM = np.random.default_rng(0)


def image(path: Path, value: int = 0) -> None:
    """A small image whose content no other has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = RANDOM.integers(0, 200, (12, 12, 3)).astype(np.uint8)
    pixels[..., value % 3] //= 2
    Image.fromarray(pixels).save(path)


def images(*names: str) -> Callable[[Path], None]:
    """Images below the folder `in`; {n} in a name stands for 0 to 5."""

    def write(folder: Path) -> None:
        for name in names:
            for n in range(6) if "{n" in name else (0,):
                image(folder / "in" / name.format(n=n))

    return write


def tabled(table: str, lines: Iterable[str], *names: str) -> Callable[[Path], None]:
    """The same with a table."""

    def write(folder: Path) -> None:
        images(*names)(folder)
        path = folder / "in" / table
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    return write


def several(*writers: Callable[[Path], None]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        for writer in writers:
            writer(folder)

    return write


def rows(header: str, row: Callable[[int], str], count: int = 6) -> list[str]:
    return [header, *map(row, range(count))]


def near_infrared(folder: Path) -> None:
    for kind in ("cat", "dog"):
        for n in range(6):
            path = folder / f"in/{kind}/{kind}{n}.tif"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = RANDOM.integers(60, 200, (12, 12, 4)).astype(np.uint8)
            Image.fromarray(pixels, "RGBA").save(path)


def narrow(folder: Path) -> None:
    for kind in ("cat", "dog"):
        for n in range(6):
            path = folder / f"in/{kind}/{n}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = RANDOM.integers(20_000, 23_000, (12, 12)).astype(np.uint16)
            Image.fromarray(pixels).save(path)


def pointers(folder: Path) -> None:
    for kind in ("cat", "dog"):
        for n in range(6):
            path = folder / f"in/{kind}/{n}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{n}\nsize 9\n")


def zipped(folder: Path) -> None:
    """The training images extracted, the test images not; and then the archives alone."""
    images("train/cat/{n}.png", "train/dog/{n}.png", "test/cat/{n}t.png", "test/dog/{n}t.png")(
        folder
    )
    with zipfile.ZipFile(folder / "in/test.zip", "w") as archive:
        for path in sorted((folder / "in/test").rglob("*.png")):
            archive.write(path, path.relative_to(folder / "in"))
            path.unlink()
    for kind in ("cat", "dog"):
        (folder / "in/test" / kind).rmdir()
    (folder / "in/test").rmdir()


def zip_for_each_class(folder: Path) -> None:
    images("cat/{n}.png", "dog/{n}.png")(folder)
    for kind in ("cat", "dog"):
        with zipfile.ZipFile(folder / f"in/{kind}.zip", "w") as archive:
            for path in sorted((folder / "in" / kind).iterdir()):
                archive.write(path, path.relative_to(folder / "in"))
                path.unlink()
        (folder / "in" / kind).rmdir()


def text(path: str, content: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / path).write_text(content)

    return write


TWO = ("cat/{n}.png", "dog/{n}.png")
LABEL_STUDIO = json.dumps(
    [
        {
            "id": n,
            "data": {"image": f"/upload/{n}.png"},
            "annotations": [{"result": [{"value": {"choices": ["cat"]}}]}],
        }
        for n in range(6)
    ]
)
ROWS = (
    Row(
        "classes that only names of files tell",
        images("cat_{n:03}.png", "dog_{n:03}.png"),
        asks=["names of images begin with cat (6), dog (6)", "a folder of that name"],
        command=ADD,
    ),
    Row(
        "classes that only names of files tell, in train and test",
        images(
            "train/cat_{n:03}.png", "train/dog_{n:03}.png", "test/cat9{n}.png", "test/dog9{n}.png"
        ),
        asks=["names of images begin with cat (12), dog (12)", "a folder of that name"],
        command=ADD,
    ),
    Row(
        "images that nobody has labelled, beside class folders",
        images("plane/{n}.png", "ship/{n}.png", "unlabeled/{n}.png"),
        asks=["folder unlabeled: its name says", "--ignore unlabeled"],
        command=ADD,
    ),
    Row(
        "images that nobody has labelled, in train",
        images(
            "train/plane/{n}.png",
            "train/ship/{n}.png",
            "train/Unlabelled images/{n}.png",
            "test/plane/{n}t.png",
            "test/ship/{n}t.png",
        ),
        asks=["folder Unlabelled images: its name says", "--ignore 'Unlabelled images'"],
        command=ADD,
    ),
    Row(
        "a class written otherwise in the test split",
        images(
            "train/COVID-19/{n}.png",
            "train/flu/{n}.png",
            "test/Covid19/{n}t.png",
            "test/flu/{n}t.png",
        ),
        asks=["class 'Covid19' is only in this split; if Covid19 is COVID-19, rename its folder"],
        command=ADD,
    ),
    Row(
        "copies that were turned, by a number and letters at the end of a name",
        images(
            *(
                f"{leaf}/00{{n}}{copy}.png"
                for leaf in ("healthy", "rust")
                for copy in ("", "_90deg", "_new30degFlipLR")
            )
        ),
        says=["healthy/000*: 12 groups of images", "frames, crops or copies? --group-pattern"],
        command=INSPECT,
    ),
    Row(
        "plain class folders",
        images(*TWO),
        says=["12 images in train", "classes: 2"],
        command=INSPECT,
    ),
    Row(
        "plain splits",
        images("train/cat/{n}.png", "train/dog/{n}.png", "val/cat/{n}v.png", "val/dog/{n}v.png"),
        says=["12 images in train, 12 images in test"],
        command=INSPECT,
    ),
    Row(
        "15 near infrared tagged as alpha",
        near_infrared,
        says=["note: the alpha channel", "fourth band"],
        command=ADD,
    ),
    Row(
        "16 pixels of 16 bits that use few of them",
        narrow,
        asks=["hardly any contrast"],
        command=ADD,
    ),
    Row(
        "18 minus one among classes from 0",
        tabled(
            "train.csv",
            rows("file_name,label", lambda n: f"{n}.png,{(0, 1, -1)[n % 3]}"),
            "{n}.png",
        ),
        asks=["has no class", "--no-class"],
        command=INSPECT,
    ),
    Row(
        "18 plus and minus one are two classes",
        tabled(
            "train.csv", rows("file_name,smiling", lambda n: f"{n}.png,{(1, -1)[n % 2]}"), "{n}.png"
        ),
        says=["classes: 2", ": -1, 1"],
        command=INSPECT,
    ),
    Row(
        "19 test labels that are not published",
        several(
            tabled(
                "train.csv",
                rows("file_name,label", lambda n: f"train/{n}.png,{n % 2}"),
                "train/{n}.png",
            ),
            tabled(
                "validation.csv",
                rows("file_name,label", lambda n: f"validation/v{n}.png,{n % 2}"),
                "validation/v{n}.png",
            ),
            tabled(
                "test.csv", rows("file_name,label", lambda n: f"test/t{n}.png,-1"), "test/t{n}.png"
            ),
        ),
        says=["6 images in train, 6 images in test", "classes: 2"],
        command=INSPECT,
    ),
    Row(
        "20 a placeholder for a test split",
        several(
            tabled(
                "train.csv",
                rows("id,label", lambda n: f"i{n},{('cat', 'dog')[n % 2]}"),
                "train/i{n}.png",
            ),
            tabled("test.csv", rows("id,label", lambda n: f"t{n},cat"), "test/t{n}.png"),
        ),
        says=["a test split is held out", "note: test split left out", "a placeholder?"],
        command=INSPECT,
    ),
    Row(
        "21 domains with one stray image",
        images(
            "amazon/images/bike/{n}.png",
            "amazon/images/mug/{n}.png",
            "amazon/overview.png",
            "dslr/images/bike/{n}.png",
            "dslr/images/mug/{n}.png",
        ),
        asks=["hold the same folders (bike, mug)"],
        command=INSPECT,
    ),
    Row(
        "21 one stray image beside class folders",
        images(*TWO, "overview.png"),
        says=["12 images in train", "cat, dog"],
        command=INSPECT,
    ),
    Row(
        "22 frames in folders of videos",
        images("cat/v0/{n}.png", "cat/v1/{n}.png", "dog/v2/{n}.png", "dog/v3/{n}.png"),
        asks=["--layout class-folders", "groups"],
        command=INSPECT,
    ),
    Row(
        "22 frames in folders of videos, declared",
        images("cat/v0/{n}.png", "cat/v1/{n}.png", "dog/v2/{n}.png", "dog/v3/{n}.png"),
        "--layout class-folders",
        says=["classes: 2", "groups: 4"],
        command=INSPECT,
    ),
    Row(
        "23 folders of days",
        images("2021-05-01/{n}.png", "2021-05-02/{n}.png"),
        asks=["2021-05-01", "--layout class-folders"],
        command=INSPECT,
    ),
    Row(
        "23 folders of a camera",
        images("100CANON/{n}.png", "101CANON/{n}.png"),
        asks=["100CANON"],
        command=INSPECT,
    ),
    Row(
        "24 places of cameras beside a table with species",
        several(
            images("media/dep0/{n}.png", "media/dep1/{n}e.png"),
            tabled(
                "media.csv",
                [
                    "mediaID,deploymentID,filePath",
                    *(f"m{n},dep0,media/dep0/{n}.png" for n in range(6)),
                    *(f"e{n},dep1,media/dep1/{n}e.png" for n in range(6)),
                ],
            ),
            tabled(
                "observations.csv",
                [
                    "observationID,mediaID,scientificName",
                    *(f"o{n},m{n},Sus scrofa" for n in range(6)),
                ],
            ),
        ),
        asks=["deploymentID", "media.csv"],
        command=INSPECT,
    ),
    Row(
        "25 case that differs between splits",
        images("train/Cat/{n}.png", "train/dog/{n}.png", "test/cat/{n}t.png", "test/dog/{n}t.png"),
        asks=["'Cat' and 'cat'", "--ignore-case"],
        command=INSPECT,
    ),
    Row(
        "26 a class without validation images",
        images(
            "train/cat/{n}.png",
            "train/owl/{n}.png",
            "val/cat/{n}v.png",
            "train/dog/{n}.png",
            "val/dog/{n}v.png",
        ),
        says=["classes: 3", "note: no test image of owl"],
        command=INSPECT,
    ),
    Row(
        "26 a class without training images",
        images(
            "train/cat/{n}.png",
            "train/dog/{n}.png",
            "val/cat/{n}v.png",
            "val/dog/{n}v.png",
            "val/owl/{n}v.png",
        ),
        asks=["'owl' is only in this split", "--ignore"],
        command=INSPECT,
    ),
    Row(
        "27 tags with blanks between",
        tabled(
            "labels.csv",
            rows(
                "image,tags",
                lambda n: (
                    f"{n}.png," + ("clear primary", "haze primary", "clear road primary")[n % 3]
                ),
            ),
            "i/{n}.png",
        ),
        asks=["clear primary", "--label-separator"],
        command=INSPECT,
    ),
    Row(
        "27 names of classes of several words",
        tabled(
            "labels.csv",
            rows(
                "image,label",
                lambda n: (
                    f"{n}.png,"
                    + ("golden retriever", "german shepherd", "bear", "polar bear")[n % 4]
                ),
            ),
            "i/{n}.png",
        ),
        says=["classes: 4"],
        command=INSPECT,
    ),
    Row(
        "28 1 and 1.0",
        tabled(
            "labels.csv",
            rows("image,label", lambda n: f"{n}.png,{('1', '2', '1.0')[n % 3]}"),
            "i/{n}.png",
        ),
        says=["classes: 2", ": 1, 2"],
        command=INSPECT,
    ),
    Row(
        "28 blanks without width",
        tabled(
            "labels.csv",
            rows("image,label", lambda n: f"{n}.png,{('a', 'b', 'a​')[n % 3]}"),
            "i/{n}.png",
        ),
        says=["classes: 2", ": a, b"],
        command=INSPECT,
    ),
    Row(
        "29 several boxes of one class",
        tabled(
            "boxes.csv",
            [*rows("filename,class,xmin", lambda n: f"{n}.png,{'ab'[n % 2]},1"), "0.png,a,7"],
            "i/{n}.png",
        ),
        says=["6 images in train", "note: 1 row repeat"],
        lacks=["unreadable"],
        command=INSPECT,
    ),
    Row(
        "30 AVIF",
        images("cat/{n}.png", "dog/{n}.avif"),
        says=["12 images in train"],
        command=INSPECT,
    ),
    Row(
        "30 HEIC",
        several(images("cat/{n}.png", "owl/{n}.png"), text("dog/0.heic", "x")),
        asks=["dog", "HEIC"],
        command=INSPECT,
    ),
    Row(
        "31 Arrow files",
        text("data-00000-of-00001.arrow", "x"),
        asks=["Arrow", "to_parquet"],
        command=INSPECT,
    ),
    Row("31 TFRecords", text("train.tfrecord", "x"), asks=["TFRecord"], command=INSPECT),
    Row("31 DICOM", text("1.dcm", "x"), asks=["DICOM", "PNG"], command=INSPECT),
    Row(
        "32 Label Studio",
        several(images("images/{n}.png"), text("export.json", LABEL_STUDIO)),
        asks=["export.json", "JSON-MIN"],
        command=INSPECT,
    ),
    Row(
        "33 frames by their names",
        images(
            *(f"{k}/v_{k}_g{g}_c01_frame{{n:03d}}.png" for k in ("cat", "dog") for g in range(3))
        ),
        says=["note: v_cat_g0_c01*: 6 groups", "--group-pattern"],
        command=INSPECT,
    ),
    Row(
        "33 frames by their names, declared",
        images(
            *(f"{k}/v_{k}_g{g}_c01_frame{{n:03d}}.png" for k in ("cat", "dog") for g in range(3))
        ),
        "--group-pattern '(.+)_frame'",
        says=["groups: 6 groups from the pattern"],
        command=INSPECT,
    ),
    Row(
        "33 copies of Roboflow across splits",
        images(
            *(
                f"{part}/{k}/{k}{i}_jpg.rf.{part}{i}{{n}}.png"
                for part in ("train", "test")
                for k in ("cat", "dog")
                for i in range(4)
            )
        ),
        says=["cat0_jpg.rf.*: 8 groups", "8 of them across the splits"],
        command=INSPECT,
    ),
    Row(
        "copies that were turned, by their names",
        images(*(f"{k}/{k}{{n}}{c}.png" for k in ("cat", "dog") for c in ("", "_flip", "_rot90"))),
        asks=["cat/cat0*: 12 groups", "--group-pattern"],
        command=INSPECT,
    ),
    Row(
        "images of the same names in each class",
        images("cat/{n}.png", "dog/{n}.png", "cow/{n}.png"),
        lacks=["--group-pattern"],
        command=INSPECT,
    ),
    Row(
        "a number to predict for each image",
        tabled("labels.csv", rows("file,age", lambda n: f"{n}.png,{20 + min(n, 4)}"), "{n}.png"),
        asks=["4 of 5 classes have one image"],
        command=INSPECT,
    ),
    Row(
        "34 names in training, numbers in tests",
        several(
            tabled(
                "train.csv",
                rows("image,label", lambda n: f"{n}.png,{('cat', 'dog')[n % 2]}"),
                "i/{n}.png",
            ),
            tabled("test.csv", rows("image,label", lambda n: f"t{n}.png,{n % 2}"), "i/t{n}.png"),
        ),
        asks=["'0', '1' is not in the training images"],
        command=INSPECT,
    ),
    Row("38 pointers of Git LFS", pointers, asks=["git lfs pull"], command=ADD),
    Row(
        "39 EuroSAT's names in train and test",
        images(
            *(
                f"{part}/{kind}/{kind}_{part}{{n}}.png"
                for part in ("train", "test")
                for kind in (
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
            )
        ),
        says=["60 images in train, 60 images in test"],
        command=INSPECT,
    ),
    Row(
        "40 patients called by numbers",
        tabled(
            "labels.csv",
            [
                "image,label",
                *(
                    f"{p}/{p}_{n}.png,{('benign', 'malignant')[n % 2]}"
                    for p in (10345, 20771)
                    for n in range(6)
                ),
            ],
            "10345/10345_{n}.png",
            "20771/20771_{n}.png",
        ),
        asks=["labels.csv", "--layout"],
        command=INSPECT,
    ),
    Row(
        "41 id_code and diagnosis",
        tabled(
            "train.csv",
            rows("id_code,diagnosis", lambda n: f"i{n},{('melanoma', 'nevus')[n % 2]}"),
            "images/i{n}.png",
        ),
        says=["layout: table of images", "melanoma, nevus"],
        command=INSPECT,
    ),
    Row(
        "42 the training folder of Tiny ImageNet",
        images(*(f"train/n0144000{k}/images/n0144000{k}_{{n}}.png" for k in range(5))),
        says=["30 images in train", "classes: 5"],
        command=INSPECT,
    ),
    Row(
        "45 a coordinate called y",
        tabled(
            "labels.csv",
            rows("image,x,y,kind", lambda n: f"{n}.png,{3 * n},{n % 3},{('cat', 'dog')[n % 2]}"),
            "images/{n}.png",
        ),
        asks=["--label-column"],
        command=INSPECT,
    ),
    Row(
        "46 an archive of the test images beside the training folder",
        zipped,
        says=["12 images in train, 12 images in test"],
        command=INSPECT,
    ),
    Row(
        "47 a zip for each class, with its folder",
        zip_for_each_class,
        says=["12 images in train", "classes: 2", "cat, dog"],
        command=INSPECT,
    ),
    Row(
        "Stanford Dogs, with its annotations beside",
        images(
            "Images/n02085620-Chihuahua/{n}.png",
            "Images/n02085782-Spaniel/{n}s.png",
            "Annotation/n02085620-Chihuahua/{n}a.png",
        ),
        asks=["give a folder in it: Images"],
        command=INSPECT,
    ),
    Row(
        "PACS: the same classes in folders of domains",
        images(*(f"{d}/{k}/{{n}}{d}.png" for d in ("art", "photo") for k in ("dog", "elephant"))),
        asks=["hold the same folders (dog, elephant)"],
        command=INSPECT,
    ),
    Row(
        "Food-101, with lists of its parts",
        several(
            images("images/pie/{n}.png", "images/ramen/{n}.png"),
            text(
                "meta/train.txt", "".join(f"{k}/{n}\n" for k in ("pie", "ramen") for n in range(4))
            ),
            text("meta/test.txt", "".join(f"{k}/{n}\n" for k in ("pie", "ramen") for n in (4, 5))),
        ),
        says=["8 images in train, 4 images in test", "classes: 2"],
        command=INSPECT,
    ),
    Row(
        "columns of yes and no whose names have blanks",
        tabled(
            "train.csv",
            [
                "Path,Age,No Finding,Edema,Pneumonia",
                *(f"p{n}.png,6{n},{n % 2},{n % 3 % 2},{(n + 1) % 2}" for n in range(6)),
            ],
            "i/p{n}.png",
        ),
        asks=["--label-column 'No Finding,Edema,Pneumonia'"],
        command=INSPECT,
    ),
    Row(
        "species called by numbers",
        images("1034512/{n}.png", "2077134/{n}.png"),
        says=["layout: class/image", "classes: 2"],
        command=INSPECT,
    ),
    Row(
        "ImageFolder with digits",
        images("0/{n}.png", "1/{n}.png", "2/{n}.png"),
        says=["classes: 3"],
        command=INSPECT,
    ),
    Row(
        "names such as CUB's",
        images("001.Black_footed/Black_{n}_1.png", "002.Laysan/Lay_{n}_2.png"),
        says=["classes: 2"],
        command=INSPECT,
    ),
    Row(
        "a column that counts rows and one of classes",
        tabled(
            "labels.csv", rows(",file,breed", lambda n: f"{n},{n}.png,{'ab'[n % 2]}"), "i/{n}.png"
        ),
        says=["classes: 2"],
        command=INSPECT,
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_layout_is_understood_or_asked_about(
    row: Row, tmp_path: Path, record_property: Record
) -> None:
    ended, said = row.judged(tmp_path)
    record_property("corpus", ended)
    assert ended == "fine", said
    assert "Traceback" not in said


ASKED = [row for row in ROWS if row.asks]


@pytest.mark.parametrize("row", ASKED, ids=lambda row: row.name)
def test_every_hint_pasted_works(row: Row, tmp_path: Path) -> None:
    """What a message tells to type leads to an account, at most by way of one more question."""
    _, said = row.ends(tmp_path)
    for number, hint in enumerate(hints(said)):
        folder = tmp_path / str(number)
        folder.mkdir()
        then, answer = row.ends(folder, hint)
        if then == 2 and (next_hints := hints(answer)):
            assert answer != said, hint
            (folder / "again").mkdir()
            then, answer = row.ends(folder / "again", f"{hint} {next_hints[0]}")
        assert then == 0, f"{hint}: {answer}"
