"""Whether images are kept as pixels or as JPEG files, and whether there is room for them."""

import shutil
import sys
from pathlib import Path
from typing import Literal

from anynet_study.data.packed.form import Store
from anynet_study.data.packed.root import NoRoomError

StoreOption = Literal["auto", "raw", "jpeg"]
#: Of itself, only a dataset with more bytes of pixels is stored as JPEG files.
RAW_BYTES = 100 * 10**9
#: A JPEG file takes about this share of its pixels, at least.
JPEG_SHARE = 0.1


def choose_store(option: StoreOption, pixel_bytes: int, folder: Path) -> Store:
    """`option`, or for auto raw unless that is too large; then says so."""
    if option != "auto":
        return option
    free = shutil.disk_usage(folder).free
    if pixel_bytes <= min(RAW_BYTES, free) or JPEG_SHARE * pixel_bytes > free:
        return "raw"
    why = f"only {_size(free)} are free"
    if pixel_bytes > RAW_BYTES:
        why = f"more than {_size(RAW_BYTES)}"
    print(
        f"{_size(pixel_bytes)} of pixels, {why}: stored as JPEG files (--store raw keeps pixels)",
        file=sys.stderr,
    )
    return "jpeg"


def check_space(store: Store, pixel_bytes: int, folder: Path) -> None:
    """NoRoomError where images that have `pixel_bytes` to come will not fit."""
    needed = pixel_bytes if store == "raw" else int(JPEG_SHARE * pixel_bytes)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise NoRoomError(
            f"{folder.parent.parent}: {_size(needed)} needed, {_size(free)} free; "
            "free some and run the same command again, or use another disk ($ANYNET_DATA) or a "
            "smaller --size"
        )


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.2f} MB"
