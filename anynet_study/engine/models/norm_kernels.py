"""Kernels in Triton: batch norm, the sum with a residual and the ReLU behind it, both ways.

`fused_norms` divides maps among their programs. Maps are rows (n * height * width) of channels; a
row of a tile may be several rows, folded to more columns. `BM` and `BC` are the rows and columns of
a tile. Sums and statistics are float32, maps of any precision. With TRITON_INTERPRET=1 the same
code runs on a CPU.
"""

import triton
import triton.language as tl

#: Arguments whose values make no variants.
UNSPECIALISED = ("rows", "per_split", "channels", "parts", "per_part", "folds")


@triton.jit
def _part(rows, columns, per_split, BC: tl.constexpr):
    """Return this program's columns, a mask of those there are, its split, and the split's rows."""
    column = tl.program_id(0) * BC + tl.arange(0, BC)
    split = tl.program_id(1)
    first = split * per_split
    return column, column < columns, split, first, tl.minimum(first + per_split, rows)


@triton.jit
def _tile(start, last, column, here, columns, BM: tl.constexpr):
    """Return where a tile's numbers are, and which of them there are."""
    row = (start + tl.arange(0, BM)).to(tl.int64)
    return row[:, None] * columns + column[None, :], (row < last)[:, None] & here[None, :]


@triton.jit
def _behind_relu(maps, mean, scale, shift, place, mask, RESIDUAL: tl.constexpr, RELU: tl.constexpr):
    """Tell how far a tile of x is from the mean, and its gradient by what enters the ReLU, if any.

    Without a residual, what enters it is computed again. `maps`: gradient, x and the result.
    """
    gradient, x, y = maps
    off = tl.load(x + place, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
    value = tl.load(gradient + place, mask=mask, other=0.0).to(tl.float32)
    if RELU:
        above = off * scale[None, :] + shift[None, :]
        if RESIDUAL:
            above = tl.load(y + place, mask=mask, other=0.0).to(tl.float32)
        value = tl.where(above <= 0.0, 0.0, value)
    return off, value


@triton.jit
def _norm_of(mean_of, rstd_of, weight, bias, channel, here):
    """Load by column the mean, 1 / sqrt(variance + eps), and the norm's factor and summand."""
    mean = tl.load(mean_of + channel, mask=here, other=0.0)
    rstd = tl.load(rstd_of + channel, mask=here, other=0.0)
    scale = rstd * tl.load(weight + channel, mask=here, other=0.0)
    return mean, rstd, scale, tl.load(bias + channel, mask=here, other=0.0)


@triton.jit
def _moments(x, first, last, column, here, columns, BM: tl.constexpr, BC: tl.constexpr):
    """Compute for each column the mean of these rows, and the sum of squared distances from it.

    Of each row of the tile first (Welford 1962), and then of all (Chan, Golub and LeVeque 1983).
    """
    mean = tl.zeros((BM, BC), tl.float32)
    square = tl.zeros((BM, BC), tl.float32)
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        value = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        off = tl.where(mask, value - mean, 0.0)
        mean += off * (1.0 / ((start - first) // BM + 1).to(tl.float32))
        square += tl.where(mask, off * (value - mean), 0.0)
    count = tl.maximum((last - first - tl.arange(0, BM) + BM - 1) // BM, 0).to(tl.float32)[:, None]
    whole = tl.sum(count * mean, 0) * (1.0 / (last - first).to(tl.float32))
    off = mean - whole[None, :]
    return whole, tl.sum(square + count * off * off, 0)


@triton.jit
def _by_norm(
    maps,
    mean,
    scale,
    shift,
    first,
    last,
    column,
    here,
    columns,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """Sum over these rows, by column, the gradients by the norm's weight, over rstd, and bias."""
    of_weight = tl.zeros((BM, BC), tl.float32)
    of_bias = tl.zeros((BM, BC), tl.float32)
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        off, value = _behind_relu(maps, mean, scale, shift, place, mask, RESIDUAL, RELU)
        of_bias += value
        of_weight += value * off
    return tl.sum(of_weight, 0), tl.sum(of_bias, 0)


@triton.jit
def _channel_of(column, columns, channels):
    channel = column
    if columns != channels:  # rows are folded
        channel = column % channels
    return channel


@triton.jit
def _of_parts(numbers, part, channel, here, rows, per_part, folds, channels):
    """Numbers of these parts and channels, and of how many rows each part is."""
    count = tl.minimum(tl.maximum(rows - (part >> folds) * per_part, 0), per_part)[:, None]
    place = part[:, None] * channels + channel[None, :]
    return tl.load(numbers + place, mask=(count > 0) & here[None, :], other=0.0), count


@triton.jit(do_not_specialize=UNSPECIALISED)
def batch_statistics(
    x, means, squares, rows, columns, per_split, BM: tl.constexpr, BC: tl.constexpr
):
    """Compute for each split and column the mean, and the sum of squared distances from it."""
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    mean, square = _moments(x, first, last, column, here, columns, BM, BC)
    tl.store(means + split * columns + column, mean, mask=here)
    tl.store(squares + split * columns + column, square, mask=here)


@triton.jit(do_not_specialize=UNSPECIALISED)
def add_parts(
    first,
    second,
    to_first,
    to_second,
    channels,
    parts,
    rows,
    per_part,
    folds,
    STATISTICS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """One part in the place of many: of means and squares, or of two sums."""
    channel = tl.program_id(0) * BC + tl.arange(0, BC)
    here = channel < channels
    one = tl.zeros((BM, BC), tl.float32)
    other = tl.zeros((BM, BC), tl.float32)
    for start in range(0, parts, BM):
        part = start + tl.arange(0, BM)
        value, count = _of_parts(first, part, channel, here, rows, per_part, folds, channels)
        if STATISTICS:
            one += count.to(tl.float32) * value
        else:
            one += value
            value, count = _of_parts(second, part, channel, here, rows, per_part, folds, channels)
            other += value
    whole = tl.sum(one, 0)
    if STATISTICS:
        whole = whole / (rows << folds).to(tl.float32)
        for start in range(0, parts, BM):
            part = start + tl.arange(0, BM)
            value, count = _of_parts(first, part, channel, here, rows, per_part, folds, channels)
            off = value - whole[None, :]
            value, count = _of_parts(second, part, channel, here, rows, per_part, folds, channels)
            other += value + count.to(tl.float32) * off * off
    tl.store(to_first + channel, whole, mask=here)
    tl.store(to_second + channel, tl.sum(other, 0), mask=here)


@triton.jit(do_not_specialize=UNSPECIALISED)
def normalise(
    x,
    residual,
    y,
    means,
    squares,
    mean_of,
    rstd_of,
    running_mean,
    running_var,
    weight,
    bias,
    rows,
    columns,
    per_split,
    channels,
    per_part,
    folds,
    momentum,
    eps,
    TRAINING: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    PARTS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """A split's rows of the result; the first programs of each channel keep its statistics.

    Of `PARTS` parts each program makes statistics by itself; 0: there are none yet.
    """
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    channel = _channel_of(column, columns, channels)
    # Before the sums, which have to be waited for.
    factor = tl.load(weight + channel, mask=here, other=0.0)
    shift = tl.load(bias + channel, mask=here, other=0.0)
    if TRAINING:
        total = (rows << folds).to(tl.float32)
        if PARTS == 0:
            mean, square = _moments(x, first, last, column, here, columns, BM, BC)
        elif PARTS == 1:
            mean = tl.load(means + channel, mask=here, other=0.0)
            square = tl.load(squares + channel, mask=here, other=0.0)
        else:
            part = tl.arange(0, PARTS)
            own, count = _of_parts(means, part, channel, here, rows, per_part, folds, channels)
            mean = tl.sum(count.to(tl.float32) * own, 0) / total
            off = own - mean[None, :]
            own, count = _of_parts(squares, part, channel, here, rows, per_part, folds, channels)
            square = tl.sum(own + count.to(tl.float32) * off * off, 0)
        rstd = 1.0 / tl.sqrt(square / total + eps)
        if split == 0:
            once = column < channels
            tl.store(mean_of + column, mean, mask=once)
            tl.store(rstd_of + column, rstd, mask=once)
            old = tl.load(running_mean + column, mask=once, other=0.0)
            tl.store(running_mean + column, old + momentum * (mean - old), mask=once)
            old = tl.load(running_var + column, mask=once, other=0.0)
            new = square / (total - 1.0)
            tl.store(running_var + column, old + momentum * (new - old), mask=once)
    else:
        mean = tl.load(running_mean + channel, mask=here, other=0.0)
        rstd = 1.0 / tl.sqrt(tl.load(running_var + channel, mask=here, other=1.0) + eps)
    scale = rstd * factor
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        value = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        value = (value - mean[None, :]) * scale[None, :] + shift[None, :]
        if RESIDUAL:
            value += tl.load(residual + place, mask=mask, other=0.0).to(tl.float32)
        if RELU:  # what is not a number stays so: a maximum would make it zero
            value = tl.where(value < 0.0, 0.0, value)
        tl.store(y + place, value.to(y.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=UNSPECIALISED)
def sum_gradients(
    gradient,
    x,
    y,
    mean_of,
    rstd_of,
    weight,
    bias,
    weights,
    biases,
    rows,
    columns,
    per_split,
    channels,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """Compute for each split and column the gradients by the norm's weight and bias."""
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    channel = _channel_of(column, columns, channels)
    mean, rstd, scale, shift = _norm_of(mean_of, rstd_of, weight, bias, channel, here)
    maps = (gradient, x, y)
    of_weight, of_bias = _by_norm(
        maps, mean, scale, shift, first, last, column, here, columns, RESIDUAL, RELU, BM, BC
    )
    place = split * columns + column
    tl.store(weights + place, of_weight * rstd, mask=here)
    tl.store(biases + place, of_bias, mask=here)


@triton.jit(do_not_specialize=UNSPECIALISED)
def gradients(
    gradient,
    x,
    y,
    to_x,
    to_residual,
    mean_of,
    rstd_of,
    weight,
    bias,
    weights,
    biases,
    to_weight,
    to_bias,
    rows,
    columns,
    per_split,
    channels,
    per_part,
    folds,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    PARTS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """A split's rows of the gradients by `x` and residual; the first programs keep the others.

    `PARTS` as in `normalise`.
    """
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    channel = _channel_of(column, columns, channels)
    mean, rstd, scale, shift = _norm_of(mean_of, rstd_of, weight, bias, channel, here)
    maps = (gradient, x, y)
    if PARTS == 0:
        of_weight, of_bias = _by_norm(
            maps, mean, scale, shift, first, last, column, here, columns, RESIDUAL, RELU, BM, BC
        )
        of_weight = of_weight * rstd
    elif PARTS == 1:
        of_weight = tl.load(weights + channel, mask=here, other=0.0)
        of_bias = tl.load(biases + channel, mask=here, other=0.0)
    else:
        part = tl.arange(0, PARTS)
        own, _ = _of_parts(weights, part, channel, here, rows, per_part, folds, channels)
        of_weight = tl.sum(own, 0)
        own, _ = _of_parts(biases, part, channel, here, rows, per_part, folds, channels)
        of_bias = tl.sum(own, 0)
    if split == 0:
        once = column < channels
        tl.store(to_weight + column, of_weight, mask=once)
        tl.store(to_bias + column, of_bias, mask=once)
    total = (rows << folds).to(tl.float32)
    constant = of_bias / total
    slope = of_weight / total * rstd
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        off, value = _behind_relu(maps, mean, scale, shift, place, mask, RESIDUAL, RELU)
        if RESIDUAL:
            tl.store(to_residual + place, value.to(to_residual.dtype.element_ty), mask=mask)
        value = (value - constant[None, :] - off * slope[None, :]) * scale[None, :]
        tl.store(to_x + place, value.to(to_x.dtype.element_ty), mask=mask)
