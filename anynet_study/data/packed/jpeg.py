"""Images as JPEG files: which file is stored of an image, and decoding it.

Upright RGB and grey JPEGs of about the size that is needed are kept byte for byte. All others are
fitted to their square and encoded: of an ImageNet photo of 110 kB, a third is left and is decoded
four times as fast. What was encoded counts as the image from then on: its decoded pixels are what
is trained on and what statistics are of.
"""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from anynet_study.data.packed.form import Form
from anynet_study.data.source.images import Decoded, fitted, is_upright

QUALITY = 95
#: A file of so many bytes is not too large, however few its pixels: a header alone takes most.
SMALL_BYTES = 1000
#: A file is kept if its longer side is at most so many times what the shorter is scaled to.
LONGEST = 2


def stored_jpeg(decoded: Decoded, form: Form) -> tuple[Image.Image, bytes]:
    """The file to store, and the (size, size) RGB image that it is decoded to."""
    if decoded.file is not None and _is_kept(decoded.file, form):
        return decoded.image, decoded.file
    # Without what came with it, such as a comment, which would be written too.
    bare = Image.fromarray(np.asarray(decoded.image))
    for quality in (QUALITY, 75, 1):  # noise at a small size can exceed its own pixels
        buffer = io.BytesIO()
        bare.save(buffer, "JPEG", quality=quality)
        if buffer.tell() <= max(form.image_bytes, SMALL_BYTES):
            break
    return _opened(buffer.getvalue(), form), buffer.getvalue()


def decode_stored(file: bytes, form: Form) -> NDArray[np.uint8]:
    """(size, size, 3) uint8 of a file of `stored_jpeg`. Any thread may call this."""
    return np.asarray(_opened(file, form))


def _opened(file: bytes, form: Form) -> Image.Image:
    with Image.open(io.BytesIO(file), formats=("JPEG",)) as image:
        image.load()
        # A copy of one that is in colours would cost as much as half its decoding: with two of
        # them alive the allocator takes fresh pages from the system, image after image.
        colours = image if image.mode == "RGB" else image.convert("RGB")
        is_fitted = image.size == (form.size, form.size)
        return colours if is_fitted else fitted(colours, form.size, form.resize)


def _is_kept(file: bytes, form: Form) -> bool:
    if len(file) > form.image_bytes:
        return False
    try:
        with Image.open(io.BytesIO(file), formats=("JPEG",)) as image:
            small = min(image.size) <= form.resize and max(image.size) <= LONGEST * form.resize
            # A square of the size counts as fitted.
            unclear = image.size == (form.size, form.size) and form.resize != form.size
            plain = image.mode in ("RGB", "L") and is_upright(image)
            return small and plain and not unclear
    except UnidentifiedImageError:
        return False
