"""The packed datasets in the data directory."""

import difflib

from anynet_study.data.builtin import BUILT_IN, generate
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.root import data_root, dataset_folder
from anynet_study.errors import UserError


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


def load_dataset(name: str) -> PackedDataset:
    """Open the packed dataset `name`; a built-in one is made on first use.

    UserError naming what is there, and how to add what is not.
    """
    folder = dataset_folder(name)
    if folder.exists():
        return PackedDataset.open(folder)
    if name in BUILT_IN:
        return generate(name)
    known = sorted({*present(), *BUILT_IN})
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    raise UserError(
        f"no dataset {name!r} in {data_root()} ({meant}there are: {', '.join(known)}); "
        f"add it with: anynet-study data add {name} --from FOLDER_OR_ARCHIVE"
    )
