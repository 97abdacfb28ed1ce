"""Augment images: what is random in an epoch, and images as the network sees them."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anynet_study.data import seeded_uniform
from anynet_study.engine.training.operators import Draws
from anynet_study.engine.training.recipe import Recipe, ResolvedRecipe, steps_per_epoch
from anynet_study.engine.training.spec import RunSpec

#: How often a box is drawn at most until it lies in the image (as is usual for ImageNet).
TRIES = 10
#: Numbers of an intermediate result that stay in a CPU's cache: this limits the images per part.
CACHED = 1 << 19
CPU = torch.device("cpu")


@dataclass(frozen=True)
class EpochTables:
    """One epoch, decided beforehand: nothing is drawn while it runs, so it may stop anywhere."""

    #: (steps, batch) int64: positions in the view's training split.
    order: Tensor
    #: (steps, 3, batch) float32 in [0, 1): for the top and the left of the crop, and the flip. Of
    #: resized crops (steps, 5, batch): top and left in pixels, the flip, height and width.
    draws: Tensor
    #: (steps, 6) float32, how pairs of images are mixed: see `mixed`. Without a row where the
    #: recipe mixes none.
    mixes: Tensor


def draws_per_image(recipe: Recipe) -> int:
    """Numbers that are drawn for each image: the second size of `EpochTables.draws`."""
    return 5 if recipe.crop == "resized" else 3


def epoch_tables(spec: RunSpec, images: int, side: int, epoch: int) -> EpochTables:
    """The tables of 0-based `epoch` on `images` training images; the same on every machine.

    `side`: of the packed images, in pixels. Images left over after the last whole batch are not
    seen in this epoch.
    """
    steps = steps_per_epoch(images, spec.recipe.batch_size)
    batch = min(images, spec.recipe.batch_size)
    shuffle = torch.Generator().manual_seed(spec.order_seed(epoch))
    order = torch.randperm(images, generator=shuffle)[: steps * batch]
    augment = torch.Generator().manual_seed(spec.seed_for("augmentation", epoch))
    draws = torch.rand(steps, 3, batch, generator=augment)
    if spec.recipe.crop == "resized":
        draws = with_boxes(draws, spec.recipe, side, augment)
    mixes = mix_table(spec.recipe, seeded_uniform((steps, 4), spec.seed_for("mixing", epoch)))
    return EpochTables(order.view(steps, batch), draws, mixes)


def operator_draws(spec: RunSpec, epoch: int, step: int, images: int) -> list[Draws]:
    """For each operator of the recipe (images, width) numbers in [0, 1), of one step's batch."""
    widths = [operator.width for operator in spec.recipe.operators]
    draws = seeded_uniform((images, sum(widths)), spec.seed_for("operators", epoch, step))
    return np.split(draws, np.cumsum(widths), axis=1)[:-1]


def with_boxes(draws: Tensor, recipe: Recipe, side: int, generator: torch.Generator) -> Tensor:
    """From `draws` (steps, 3, batch) in [0, 1) to top, left, flip, height and width of boxes.

    (steps, 5, batch) float32: whole pixels of images of `side`, the flip as it was. Area and ratio
    are drawn evenly from their ranges (the ratio in logarithms), again where the box is larger
    than the image; after `TRIES` the largest central box of a legal ratio is taken. The place is
    even among those possible.
    """
    height, width = _sizes(draws.shape[::2], recipe, side, generator)
    top, left, flip = (row.numpy().astype(np.float64) for row in draws.unbind(1))
    rows = (_place(top, side - height), _place(left, side - width), flip, height, width)
    return torch.from_numpy(np.stack(rows, axis=1).astype(np.float32))


def _sizes(
    shape: tuple[int, ...], recipe: Recipe, side: int, generator: torch.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heights and widths, each of `shape`."""
    least, most = recipe.crop_ratio
    # The image, made narrower or lower as far as a ratio has to be.
    height = np.full(shape, np.rint(side / max(least, 1.0)))
    width = np.full(shape, np.rint(side * min(most, 1.0)))
    height, width = np.maximum(height, 1), np.maximum(width, 1)
    fits = np.zeros(shape, bool)
    for _ in range(TRIES):
        area, ratio = torch.rand(2, *shape, generator=generator, dtype=torch.float64).numpy()
        pixels = side**2 * (recipe.crop_area[0] + area * np.ptp(recipe.crop_area))
        ratio = same_everywhere(np.exp(np.log(least) + ratio * (np.log(most) - np.log(least))))
        high, wide = np.rint(np.sqrt(pixels / ratio)), np.rint(np.sqrt(pixels * ratio))
        good = ~fits & (np.minimum(high, wide) >= 1) & (np.maximum(high, wide) <= side)
        height[good], width[good] = high[good], wide[good]
        fits |= good
    return height, width


def _place(draw: NDArray[np.float64], room: NDArray[np.float64]) -> NDArray[np.float64]:
    """A whole number in 0..room."""
    return np.minimum(np.floor(draw * (room + 1)), room)


def same_everywhere(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to 2**-32: sine, exponential and the like differ between machines in last bits."""
    return np.rint(values * 2.0**32) / 2.0**32


# Pairs of images mixed.


def mix_table(recipe: ResolvedRecipe, draws: Draws) -> Tensor:
    """Tell how each batch is mixed, from `draws` (steps, 4) in [0, 1): (steps, 6) float32.

    A box of pixels (top, left, bottom, right) of the network's input, the share that an image
    keeps in it, and its share of the target. Of mixup the box is all of the image; of cutmix it
    keeps nothing in it.
    """
    from scipy.special import betaincinv

    which, quantile, *centre = draws.T
    side, done = recipe.resolution, 0.0
    table = np.tile([0.0, 0.0, 0.0, 0.0, 1.0, 1.0], (len(draws), 1))
    for operator in recipe.mixing:
        mine = (which >= done) & (which < done + operator.probability)
        done += operator.probability
        alpha = operator.values["alpha"]
        share = same_everywhere(betaincinv(alpha, alpha, quantile))
        if operator.name == "mixup":
            table[mine, 2:4] = side
            table[mine, 4:] = share[mine, None]
        else:
            table[mine] = _boxes(share, centre, side)[mine]
    return torch.from_numpy(table.astype(np.float32))[: len(draws) if recipe.mixing else 0]


def _boxes(share: Draws, centre: list[Draws], side: int) -> Draws:
    """Rows for squares about random pixels, cut at the border.

    An image's share of the target is what is left of it.
    """
    length = np.floor(side * np.sqrt(1.0 - share))
    first = [np.floor(place * side) - np.floor(length / 2) for place in centre]
    top, left = (np.maximum(place, 0) for place in first)
    bottom, right = (np.minimum(place + length, side) for place in first)
    left_over = 1.0 - (bottom - top) * (right - left) / side**2
    return np.stack([top, left, bottom, right, np.zeros_like(share), left_over], axis=1)


def mixed(batch: Tensor, mix: Tensor) -> Tensor:
    """Mix each image of `batch` (B, 3, R, R) with the one before it, by a row of a table (6,)."""
    top, left, bottom, right, kept, _ = mix
    place = torch.arange(batch.shape[-1], device=batch.device)
    down, across = (place >= top) & (place < bottom), (place >= left) & (place < right)
    own = torch.where(down[:, None] & across, kept, 1.0)
    others = torch.cat([batch[-1:], batch[:-1]])
    return own * batch + (1.0 - own) * others


class Preprocessor:
    """Turns uint8 images (N, H, W, 3) into normalised float batches (B, 3, R, R).

    The result is laid out channels-last in memory. Padding has the value zero after
    normalisation, the dataset's mean colour. Works on the device where the pixels are, without
    waiting for it.
    """

    def __init__(
        self,
        recipe: ResolvedRecipe,
        mean: np.ndarray,
        std: np.ndarray,
        device: torch.device = CPU,
    ) -> None:
        """`mean` and `std` (3,) are those of the images' colours, in units of 0..1."""
        self.resolution = recipe.resolution
        self.padding = recipe.padding
        self.crop = recipe.crop
        self.flip = recipe.flip
        self.test_crop = recipe.test_crop
        #: Of the pixels of a line, (R * 3,): three by three they would be slow to multiply.
        centre = torch.tensor(mean, dtype=torch.float32, device=device)
        spread = torch.tensor(std, dtype=torch.float32, device=device)
        self.scale = (1.0 / (255.0 * spread)).repeat(self.resolution)
        self.shift = (-centre / spread).repeat(self.resolution)
        #: Made for the first images, whose size it needs.
        self._resize: BoxResizer | None = None
        self._span = torch.arange(self.resolution, device=device)

    def train(self, pixels: Tensor, rows: Tensor, draws: Tensor) -> Tensor:
        """A random crop and flip of the images at `rows` (B,) of `pixels`.

        `draws`: (3, B) in [0, 1) for top, left and flip; a flip is a draw below one half. Of
        resized crops (5, B), as in `EpochTables`.
        """
        flip = draws[2] < 0.5 if self.flip else None
        if self.crop == "none":
            return self.test(pixels, rows, flip)
        if self.crop == "resized":
            top, left, _, height, width = draws
            return self._resized(pixels, rows, torch.stack([top, left, height, width]), flip)
        margin = self._margin(pixels)
        top = (draws[0] * (margin + 1)).long().clamp_(max=margin)
        left = (draws[1] * (margin + 1)).long().clamp_(max=margin)
        return self._cut(pixels, rows, top, left, flip)

    def test(
        self, pixels: Tensor, rows: Tensor | None = None, flip: Tensor | None = None
    ) -> Tensor:
        """The central crop of the images at `rows` (B,), by default all; `flip` (B,) bool."""
        if rows is None:
            rows = torch.arange(len(pixels), device=pixels.device)
        if self.test_crop is not None:
            # Filled on the device: a CUDA graph takes nothing from the host.
            box = [torch.full_like(rows, it) for it in central_box(pixels.shape[1], self.test_crop)]
            return self._resized(pixels, rows, torch.stack(box), flip)
        middle = torch.full_like(rows, self._margin(pixels) // 2)
        return self._cut(pixels, rows, middle, middle, flip)

    def _margin(self, pixels: Tensor) -> int:
        return pixels.shape[1] + 2 * self.padding - self.resolution

    def _resized(self, pixels: Tensor, rows: Tensor, boxes: Tensor, flip: Tensor | None) -> Tensor:
        if self._resize is None or self._resize.size != pixels.shape[1]:
            self._resize = BoxResizer(pixels.shape[1], self.resolution, pixels.device)
        cut = self._resize(pixels, rows, boxes, flip)
        lines = cut.flatten(2).mul_(self.scale).add_(self.shift)
        return lines.view_as(cut).permute(0, 3, 1, 2)

    def _cut(
        self, pixels: Tensor, rows: Tensor, top: Tensor, left: Tensor, flip: Tensor | None
    ) -> Tensor:
        """One gather straight from the dataset: only the pixels of the crops are touched."""
        height, width = pixels.shape[1:3]
        y = top[:, None] - self.padding + self._span
        along = self._span
        if flip is not None:
            along = torch.where(flip[:, None], self._span.flip(0), self._span)
        x = left[:, None] - self.padding + along
        first = rows[:, None] * height + y.clamp(0, height - 1)
        places = first[:, :, None] * width + x.clamp(0, width - 1)[:, None, :]
        cut = pixels.reshape(-1, 3).index_select(0, places.view(-1)).view(*places.shape, 3)
        lines = cut.flatten(2).to(self.scale.dtype).mul_(self.scale).add_(self.shift)
        if self.padding:
            lines.mul_(_within(y, height)[:, :, None])
            beside = _within(x, width)[:, :, None].expand(-1, -1, 3)
            lines.mul_(beside.flatten(1)[:, None, :])
        return lines.view_as(cut).permute(0, 3, 1, 2)


def central_box(side: int, share: float) -> tuple[int, int, int, int]:
    """Top, left, height and width, in pixels, of the central square of `share` of a side."""
    length = max(1, round(share * side))
    first = (side - length) // 2
    return first, first, length, length


def _within(place: Tensor, side: int) -> Tensor:
    return (place >= 0) & (place < side)


class BoxResizer:
    """Cuts boxes out of uint8 images (N, S, S, 3) and resizes them to (R, R).

    The rule is that of `torch.nn.functional.interpolate` with `mode="bilinear"`, `antialias=True`
    and without aligned corners, on the box alone: a pixel of the result is the mean of those under
    a triangle that is as wide as two pixels, of the box or of the result, whichever are larger.
    Shapes do not depend on the boxes, and sums are taken in a fixed order, a tap at a time.
    """

    def __init__(self, size: int, resolution: int, device: torch.device) -> None:
        """`size`: S; `resolution`: R."""
        self.size, self.resolution = size, resolution
        #: Pixels under the triangle, at most: for the largest box, the whole image.
        self.taps = math.ceil(2 * max(1.0, size / resolution))
        self._middles = torch.arange(resolution, device=device).double() + 0.5
        self._tap = torch.arange(self.taps, device=device)

    def __call__(self, pixels: Tensor, rows: Tensor, boxes: Tensor, flip: Tensor | None) -> Tensor:
        """The images at `rows` (B,) of `pixels`, (B, R, R, 3) float32 in 0..255.

        `boxes` (4, B): top, left, height and width in pixels, whole numbers within the image.
        `flip` (B,) bool: which are mirrored left to right.
        """
        together = len(rows)
        if pixels.device.type == "cpu":
            together = max(1, CACHED // (3 * self.size * self.resolution))
        cut = torch.empty(len(rows), self.resolution, self.resolution, 3, device=pixels.device)
        for start in range(0, len(rows), together):
            part = slice(start, start + together)
            flips = None if flip is None else flip[part]
            cut[part] = self._resized(pixels, rows[part], boxes[:, part], flips)
        return cut

    def _resized(self, pixels: Tensor, rows: Tensor, boxes: Tensor, flip: Tensor | None) -> Tensor:
        # In float64, as places are differences of large numbers.
        top, left, height, width = boxes.double()
        lines = pixels.view(-1, self.size * 3)
        places, weights = self._weights(top, height)
        squeezed = self._mixed(lines, rows[:, None, None] * self.size + places, weights)
        places, weights = self._weights(left, width)
        if flip is not None:
            mirrored = flip[:, None, None]
            places = torch.where(mirrored, places.flip(1), places)
            weights = torch.where(mirrored, weights.flip(1), weights)
        # Columns as rows: whole ones are faster to pick than single pixels.
        turned = squeezed.view(len(rows), self.resolution, self.size, 3).transpose(1, 2)
        lines = turned.reshape(-1, self.resolution * 3)
        first = torch.arange(len(rows), device=rows.device)[:, None, None] * self.size
        resized = self._mixed(lines, first + places, weights)
        return resized.view(len(rows), self.resolution, self.resolution, 3).transpose(1, 2)

    def _weights(self, first: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
        """(B, R, taps) each: the pixels of the image that a row (column) is made of, and shares."""
        scale = length[:, None] / self.resolution
        reach = scale.clamp(min=1.0)
        middle = self._middles * scale
        start = (middle - reach + 0.5).clamp(min=0.0).floor()
        place = start[..., None] + self._tap
        share = 1.0 - ((place + 0.5 - middle[..., None]) / reach[..., None]).abs()
        share = share.clamp(min=0.0) * (place < length[:, None, None])
        share = (share / share.sum(dim=2, keepdim=True)).float()
        place = torch.minimum(place, length[:, None, None] - 1.0)
        return (first[:, None, None] + place).long(), share

    def _mixed(self, lines: Tensor, places: Tensor, weights: Tensor) -> Tensor:
        """(B * R, ...) float32: sums over taps of `lines` at `places`, both (B, R, taps)."""
        places, weights = places.flatten(0, 1), weights.flatten(0, 1)
        total: Tensor | None = None
        for tap in range(self.taps):
            part = lines.index_select(0, places[:, tap]) * weights[:, tap, None]
            total = part if total is None else total.add_(part)
        assert total is not None
        return total
