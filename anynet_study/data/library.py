"""The datasets in the data directory, and those of the catalog that are missing."""

from typing import Any

from anynet_study.core.errors import UserError, nearest
from anynet_study.data.builtin import BUILT_IN, generate
from anynet_study.data.catalog import CATALOG
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.kept import KeptDatasets
from anynet_study.data.packed.root import data_root, dataset_folder


def present() -> list[str]:
    """Names of the datasets in the data directory, sorted."""
    root = data_root()
    if not root.is_dir():
        return []
    return sorted(
        path.name
        for path in root.iterdir()
        if not path.name.startswith(".") and (path / "meta.json").is_file()
    )


def load_dataset(name: str, whole: bool = False, kept: KeptDatasets | None = None) -> PackedDataset:
    """Open the packed dataset `name`; a built-in one is made on first use.

    `kept`: those that a study keeps without their images are taken in place of the packed ones.
    UserError if it is not there, which lists the existing datasets and says how to add it, or if a
    file has changed since the dataset was packed (`whole`: see `PackedDataset.checked`).
    """
    if kept and (found := kept.find(name)):
        return found
    folder = dataset_folder(name)
    if folder.exists():
        return PackedDataset.checked(folder, whole)
    if name in BUILT_IN:
        return generate(name)
    known = sorted({*present(), *BUILT_IN})
    raise UserError(
        f"no dataset {name!r} in {data_root()}{nearest(name, known)}; there are: "
        f"{', '.join(known)}; add it with: anynet-study data add {name} --from FOLDER_OR_ARCHIVE"
    )


def inventory() -> list[dict[str, Any]]:
    """The catalog, the built-in datasets and all others present, one dictionary each.

    `state` is present, missing, built-in (made on first use) or damaged; `kind` that of the
    catalog, built-in or own; `source` says where to get a missing one. `bytes` are those on disk,
    of a missing one those it will take as pixels. Counts of images of missing ones are None.
    """
    there = present()
    names = [*CATALOG, *BUILT_IN, *(name for name in there if name not in {*CATALOG, *BUILT_IN})]
    return [_present_row(name) if name in there else _absent_row(name) for name in names]


def _absent_row(name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "kind": _kind(name), "train": None, "test": None}
    if name in BUILT_IN:
        known = BUILT_IN[name]
        row |= {"classes": known.classes, "size": known.size, "licence": None, "bytes": None}
        return row | {"state": "built-in", "source": "made on first use"}
    entry = CATALOG[name]
    return row | {
        "state": "missing",
        "classes": entry.classes,
        "size": entry.size,
        "bytes": entry.packed_bytes,
        "source": entry.source,
        "licence": entry.licence,
    }


def _present_row(name: str) -> dict[str, Any]:
    licence = CATALOG[name].licence if name in CATALOG else None
    row: dict[str, Any] = {"name": name, "kind": _kind(name), "licence": licence}
    try:
        dataset = PackedDataset.checked(dataset_folder(name))
    except UserError as error:
        unknown = dict.fromkeys(("classes", "train", "test", "size", "bytes"))
        return row | unknown | {"state": "damaged", "source": str(error)}
    return row | {
        "state": "present",
        "classes": len(dataset.classes),
        "train": dataset.meta.train.images,
        "test": dataset.meta.test.images,
        "size": dataset.size,
        "bytes": stored_bytes(dataset),
        "source": dataset.meta.source,
    }


def stored_bytes(dataset: PackedDataset) -> int:
    """Bytes of a dataset on the disk."""
    return sum(path.stat().st_size for path in dataset.folder.rglob("*") if path.is_file())


def _kind(name: str) -> str:
    if name in BUILT_IN:
        return "built-in"
    return CATALOG[name].kind if name in CATALOG else "own"
