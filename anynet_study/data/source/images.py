"""Decoding an image of a source safely to square RGB pixels.

Whatever a file holds, the result is an image or an `UnreadableImageError`.
"""

import io
import warnings
from typing import NamedTuple

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from anynet_study.core.errors import first_line
from anynet_study.data.source.encoded import (
    CONTENT_BYTES,
    Channels,
    Crop,
    Encoded,
    UnreadableImageError,
)
from anynet_study.data.source.member import Member

#: A JPEG of more pixels is decoded at 1/2, 1/4 or 1/8 where that leaves twice what is needed.
LARGE_PIXELS = 1 << 22
#: What the decoder may try, whatever the file is called (ImageNet has a PNG named .JPEG).
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM", "AVIF")
#: Modes of grey images of 16 bits.
SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L")
WHITE = (255, 255, 255, 255)


def decode_image(content: bytes, size: int, resize: int | None = None) -> NDArray[np.uint8]:
    """Decode the bytes of an image file and fit it: (size, size, 3) uint8, see `to_rgb`, `fit`.

    Raises UnreadableImageError for anything that is not a whole, sane image of `FORMATS`.
    """
    return fit(open_image(content, resize or size), size, resize)


def open_image(content: bytes, needed: int | None = None) -> Image.Image:
    """Decode the bytes of an image file to RGB, the right way up; see `decode_image`.

    `needed`: pixels that the shorter side will be scaled to. JPEGs above `LARGE_PIXELS` are
    then decoded at a fraction: a photo of 24 megapixels in a quarter of the time and memory.
    """
    with warnings.catch_warnings():
        # A damaged tag is no reason to refuse an image, a decompression bomb is.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                _check_length(image, len(content))
                if needed is not None and image.width * image.height > LARGE_PIXELS:
                    image.draft(image.mode, (2 * needed, 2 * needed))
                image.load()
                return to_rgb(_upright(image))
        except UnreadableImageError:
            raise
        except UnidentifiedImageError as error:
            raise UnreadableImageError(_unidentified(content)) from error
        except Exception as error:  # decoders raise nearly anything on hostile bytes
            reason = first_line(error)
            raise UnreadableImageError(reason) from error


def _unidentified(content: bytes) -> str:
    """Why no decoder knows a file, and the way out where there is one."""
    if content.startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS in place of the image: fetch the images by git lfs pull"
    if content[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftyphevc"):
        return "a HEIC photo: convert it to JPEG"
    if content[128:132] == b"DICM":
        return "a DICOM file: write PNG files (pydicom, Pillow)"
    return "not an image of a known format"


def _check_length(image: Image.Image, length: int) -> None:
    """Refuse a JPEG that claims more pixels than `length` bytes can hold: the rest comes out grey.

    A block of 8 x 8 pixels takes a bit at least.
    """
    if image.format in ("JPEG", "MPO") and image.width * image.height > 512 * length:
        raise UnreadableImageError(f"{image.width} x {image.height} pixels in {length} bytes")


def is_upright(image: Image.Image) -> bool:
    """Tell whether its EXIF data, if it has any, leave it as it is."""
    return bool(image.getexif().get(ExifTags.Base.Orientation, 1) == 1)


def _upright(image: Image.Image) -> Image.Image:
    return image if is_upright(image) else ImageOps.exif_transpose(image)


def to_rgb(image: Image.Image) -> Image.Image:
    """One rule for each kind of pixel.

    Alpha (also of a palette): over white, unless most of its pixels are neither opaque nor
    transparent: then it is another band, and left out. Palette, grey, CMYK, YCbCr: converted.
    16-bit grey: the full range 0..65535 scaled to 0..255 (16-bit colour is reduced by the decoder).
    Anything else, such as floating-point pixels, is refused.
    """
    if image.mode in SIXTEEN_BITS:
        return _from_16_bit(image)
    if not _is_alpha(image):
        return (image if image.mode == "RGBA" else image.getchannel("L")).convert("RGB")
    if image.has_transparency_data:
        canvas = Image.new("RGBA", image.size, WHITE)
        return Image.alpha_composite(canvas, image.convert("RGBA")).convert("RGB")
    if image.mode == "RGB":
        return image
    if image.mode in ("L", "1", "P", "CMYK", "YCbCr", "RGBX"):
        return image.convert("RGB")
    raise UnreadableImageError(f"pixels of mode {image.mode}")


def _is_alpha(image: Image.Image) -> bool:
    """Tell whether most pixels of a fourth channel are opaque or transparent, or all alike.

    Else it is another band, such as near infrared, which GDAL writes as alpha by default.
    """
    if image.mode not in ("RGBA", "LA"):
        return True
    alpha = np.asarray(image.getchannel("A"))
    partly = int(((alpha > 0) & (alpha < 255)).sum())
    return 2 * partly <= alpha.size or bool(alpha.min() == alpha.max())


class Peculiar(NamedTuple):
    """Unusual properties of an image file."""

    #: The lowest and highest pixel of one of 16 bits; of colour to the next 256.
    range_of_16_bits: tuple[int, int] | None = None
    #: Whether its alpha channel is none.
    has_fourth_channel: bool = False


def peculiar(content: bytes) -> Peculiar:
    """Return what is unusual of the bytes of an image file, as far as they can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                deep = image.mode == "RGB" and any(";16" in str(tile[3]) for tile in image.tile)
                if image.mode not in SIXTEEN_BITS and not deep:
                    return Peculiar(None, not _is_alpha(image))
                pixels = np.asarray(image).astype(np.int64)
                pixels = 256 * pixels if deep else pixels
                return Peculiar((int(pixels.min()), int(pixels.max()) + 255 * deep))
        except Exception:  # decoders raise nearly anything on hostile bytes
            return Peculiar()


def _from_16_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 65535:
        raise UnreadableImageError("integer pixels outside 0..65535")
    return Image.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8)).convert("RGB")


def fit(image: Image.Image, size: int, resize: int | None = None) -> NDArray[np.uint8]:
    """Scale the shorter side to `resize` and crop the centre: (size, size, 3) uint8."""
    return np.asarray(fitted(image, size, resize))


def fitted(image: Image.Image, size: int, resize: int | None = None) -> Image.Image:
    """Scale the shorter side to `resize`, at least `size` (the default), and crop the centre.

    Both in one step (bilinear, antialiased), so that a sliver of 1 x 100,000 pixels never
    becomes a huge intermediate image. Where the shorter side is right, pixels are unchanged.
    """
    resize = resize or size
    short = min(image.size)
    cut = short * size / resize
    left, top = ((side - cut) / 2 for side in image.size)
    if short == resize:
        return image.crop((int(left), int(top), int(left) + size, int(top) + size))
    box = (left, top, left + cut, top + cut)
    return image.resize((size, size), Image.Resampling.BILINEAR, box=box)


#: A larger file is not read into memory: it counts as unreadable.
MAX_FILE_BYTES = 256 << 20


class Decoded(NamedTuple):
    """A decoded image."""

    #: RGB, square.
    image: Image.Image
    #: Hash of what it was made from, `CONTENT_BYTES` long.
    content: bytes
    #: The bytes of its file, if it is the whole of one.
    file: bytes | None = None


class Decoder:
    """Decodes images to one size; remembers the last file, of which the next may be a part."""

    def __init__(self, size: int, resize: int | None = None) -> None:
        """`size` and `resize` are those of `fitted`."""
        self._size, self._resize = size, resize
        self._last: tuple[Member, Image.Image, bytes] | None = None

    def decode(self, encoded: Encoded) -> Decoded:
        """The (size, size) image.

        UnreadableImageError, OSError or ValueError for what is not whole.
        """
        if isinstance(encoded, Member):
            content = encoded.read(MAX_FILE_BYTES)
            digest = _digest(content)  # first: it is in the cache
            image = open_image(content, self._resize or self._size)
            return Decoded(self._fitted(image), digest, content)
        if isinstance(encoded, Crop):
            return self._crop(encoded)
        if isinstance(encoded, Channels):
            return self._merged(encoded)
        pixels = np.ascontiguousarray(encoded)
        return Decoded(self._fitted(Image.fromarray(pixels)), _digest(pixels.tobytes()))

    def _fitted(self, image: Image.Image) -> Image.Image:
        return fitted(image, self._size, self._resize)

    def _crop(self, crop: Crop) -> Decoded:
        if self._last is None or self._last[0] != crop.member:
            content = crop.member.read(MAX_FILE_BYTES)
            self._last = crop.member, open_image(content), _digest(content)
        _, image, digest = self._last
        cut = image.crop(crop.area.box(*image.size))
        content = _digest(digest + repr(tuple(crop.area)).encode())
        return Decoded(self._fitted(cut), content)

    def _merged(self, channels: Channels) -> Decoded:
        contents = [member.read(MAX_FILE_BYTES) for member in channels.members]
        grey = [np.asarray(open_image(content).convert("L")) for content in contents]
        if len({channel.shape for channel in grey}) > 1:
            raise UnreadableImageError("its channels differ in size")
        merged = np.stack(grey[:3], axis=-1).astype(np.uint16)
        for yellow in grey[3:]:
            merged[..., :2] += (yellow // 2)[..., None]
        image = Image.fromarray(np.minimum(merged, 255).astype(np.uint8))
        return Decoded(self._fitted(image), _digest(b"".join(map(_digest, contents))))


def _digest(content: bytes) -> bytes:
    return blake3(content).digest(CONTENT_BYTES)
