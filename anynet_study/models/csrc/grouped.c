/* 3x3 convolutions in groups of few channels, of rows (images * side * side, channels);
 * models/convolutions.py calls this.
 *
 * Other kernels keep a register for the channels of one group; here it holds those of several, and
 * each channel of a pixel in turn is spread over the lanes of its group. Weights come as (tap,
 * channel of the group, channel of the output), so that lanes are neighbours in memory. Compiled
 * for each type and instruction set by including itself.
 */
#ifndef REAL
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)

#include "common.h"

enum { TAPS = 9, MOST_SIDE = 64, AT_ONCE = 4, WIDEST = 8 };

#define THIS_FILE "grouped.c"
#include "every_kernel.h"

#endif
#elif defined(NAMED)

/* Room for the widest group of either type, whatever the registers. */
#define VECTOR_BYTES 64
#include "vectors.h"

/* Lane l becomes channel k of the group of lane l. */
#define SPREAD(pixel, k) __builtin_shuffle(pixel, (lanes & ~(INTEGER)(width - 1)) | (INTEGER)(k))

/* Puts the lanes of an image's pixels into a map that has a border of zeros and is `reach` wide. */
INLINED void NAMED(pad)(const REAL *pixels, ptrdiff_t side, ptrdiff_t apart, ptrdiff_t channels,
                        ptrdiff_t reach, VECTOR *map)
{
    for (ptrdiff_t y = 0; y < side; y++)
        for (ptrdiff_t x = 0; x < side; x++, pixels += channels)
            map[(1 + y * apart) * reach + 1 + x * apart] = LOAD(pixels);
}

/* `many` pixels of the output from what their first taps see, by the taps from `begin` to `end`. */
INLINED void NAMED(convolve_pixels)(const VECTOR *const *first, ptrdiff_t reach, const REAL *weight,
                                    VECTOR bias, bool flipped, ptrdiff_t channels, const int width,
                                    const int many, const int begin, const int end, REAL *out)
{
    const INTEGERS lanes = NAMED(count)();
    VECTOR sums[AT_ONCE];
    for (int q = 0; q < many; q++)
        sums[q] = bias;
    for (int tap = begin; tap < end; tap++) {
        const REAL *factors = weight + (flipped ? TAPS - 1 - tap : tap) * width * channels;
        const ptrdiff_t place = tap / 3 * reach + tap % 3;
#pragma GCC unroll 8
        for (int k = 0; k < width; k++) {
            const VECTOR factor = LOAD(factors + k * channels);
#pragma GCC unroll 4
            for (int q = 0; q < many; q++)
                sums[q] += SPREAD(first[q][place], k) * factor;
        }
    }
    for (int q = 0; q < many; q++)
        STORE(out + q * channels, sums[q]);
}

INLINED void NAMED(convolve_groups)(const REAL *rows, const REAL *weight, const REAL *bias,
                                    bool flipped, ptrdiff_t images, ptrdiff_t side, ptrdiff_t apart,
                                    ptrdiff_t out_side, ptrdiff_t stride, ptrdiff_t channels,
                                    const int width, REAL *out)
{
    VECTOR map[(MOST_SIDE + 2) * (MOST_SIDE + 2)];
    const VECTOR *first[MOST_SIDE * MOST_SIDE];
    const ptrdiff_t pixels = out_side * out_side;
    const ptrdiff_t reach = 2 + (apart > 1 ? out_side : side);
    memset(map, 0, reach * reach * sizeof(VECTOR));
    for (ptrdiff_t p = 0; p < pixels; p++)
        first[p] = map + (p / out_side * reach + p % out_side) * stride;
    for (ptrdiff_t i = 0; i < images; i++)
        for (ptrdiff_t from = 0; from < channels; from += LANES) {
            /* What does not fill a last vector, or is no multiple of AT_ONCE, is done twice. */
            const ptrdiff_t c = from + LANES <= channels ? from : channels - LANES;
            const VECTOR added = bias == NULL ? (VECTOR){0} : LOAD(bias + c);
            REAL *const image = out + i * pixels * channels + c;
            NAMED(pad)(rows + i * side * side * channels + c, side, apart, channels, reach, map);
            for (ptrdiff_t at = 0; pixels >= AT_ONCE && at < pixels; at += AT_ONCE) {
                const ptrdiff_t p = at + AT_ONCE <= pixels ? at : pixels - AT_ONCE;
                NAMED(convolve_pixels)(first + p, reach, weight + c, added, flipped, channels,
                                       width, AT_ONCE, 0, TAPS, image + p * channels);
            }
            if (pixels == 1) /* from one, which only the middle tap sees, or from four */
                NAMED(convolve_pixels)(first, reach, weight + c, added, flipped, channels, width, 1,
                                       side == 1 ? TAPS / 2 : 0, side == 1 ? TAPS / 2 + 1 : TAPS,
                                       image);
        }
}

/* out = the convolution of rows with `weight`, plus `bias` if that is not NULL.
 *
 * Maps are of `side` pixels a side, and become maps of `out_side`. Forward, `apart` is 1. The way
 * back, from the gradient by the output to that by the input, is a convolution with `stride` 1 and
 * flipped taps, of maps whose pixels are put `apart` by what was the stride. */
void NAMED(convolve)(const REAL *rows, const REAL *weight, const REAL *bias,
                                 bool flipped, ptrdiff_t images, ptrdiff_t side, ptrdiff_t apart,
                                 ptrdiff_t out_side, ptrdiff_t stride, ptrdiff_t channels,
                                 ptrdiff_t width, REAL *out)
{
#define OF_WIDTH(number)                                                                           \
    if (width == number)                                                                           \
        NAMED(convolve_groups)(rows, weight, bias, flipped, images, side, apart, out_side, stride, \
                               channels, number, out)
    OF_WIDTH(1);
    OF_WIDTH(2);
    OF_WIDTH(4);
    OF_WIDTH(8);
#undef OF_WIDTH
}

/* Adds what an image says of the weights of a vector of channels, but for its first `done`. */
INLINED void NAMED(correlate_image)(const VECTOR *map, ptrdiff_t side, const REAL *gradient,
                                    ptrdiff_t out_side, ptrdiff_t stride, ptrdiff_t channels,
                                    const int width, ptrdiff_t done, REAL *to_weight)
{
    const INTEGERS lanes = NAMED(count)();
    const INTEGERS wanted = lanes >= (INTEGER)done;
    const ptrdiff_t reach = side + 2;
    for (int line = side > 1 ? 0 : 1; line < (side > 1 ? 3 : 2); line++) {
        VECTOR sums[3][WIDEST] = {0};
        for (ptrdiff_t y = 0; y < out_side; y++)
            for (ptrdiff_t x = 0; x < out_side; x++) {
                const VECTOR factor = LOAD(gradient + (y * out_side + x) * channels);
                const VECTOR *first = map + line * reach + (y * reach + x) * stride;
#pragma GCC unroll 3
                for (int tap = 0; tap < 3; tap++)
#pragma GCC unroll 8
                    for (int k = 0; k < width; k++)
                        sums[tap][k] += SPREAD(first[tap], k) * factor;
            }
        for (int tap = 0; tap < 3; tap++)
            for (int k = 0; k < width; k++) {
                REAL *to = to_weight + ((line * 3 + tap) * width + k) * channels;
                STORE(to, LOAD(to) + (VECTOR)((INTEGERS)sums[tap][k] & wanted));
            }
    }
}

INLINED void NAMED(correlate_groups)(const REAL *rows, const REAL *gradient, ptrdiff_t images,
                                     ptrdiff_t side, ptrdiff_t out_side, ptrdiff_t stride,
                                     ptrdiff_t channels, const int width, REAL *to_weight)
{
    VECTOR map[(MOST_SIDE + 2) * (MOST_SIDE + 2)];
    const ptrdiff_t reach = side + 2;
    memset(map, 0, reach * reach * sizeof(VECTOR));
    for (ptrdiff_t i = 0; i < images; i++)
        for (ptrdiff_t from = 0; from < channels; from += LANES) {
            const ptrdiff_t c = from + LANES <= channels ? from : channels - LANES;
            NAMED(pad)(rows + i * side * side * channels + c, side, 1, channels, reach, map);
            NAMED(correlate_image)(map, side, gradient + i * out_side * out_side * channels + c,
                                   out_side, stride, channels, width, from - c, to_weight + c);
        }
}

/* Adds the gradient by the weights to `to_weight`. */
void NAMED(correlate)(const REAL *rows, const REAL *gradient, ptrdiff_t images,
                                  ptrdiff_t side, ptrdiff_t out_side, ptrdiff_t stride,
                                  ptrdiff_t channels, ptrdiff_t width, REAL *to_weight)
{
#define OF_WIDTH(number)                                                                           \
    if (width == number)                                                                           \
        NAMED(correlate_groups)(rows, gradient, images, side, out_side, stride, channels, number,  \
                                to_weight)
    OF_WIDTH(1);
    OF_WIDTH(2);
    OF_WIDTH(4);
    OF_WIDTH(8);
#undef OF_WIDTH
}

#undef SPREAD
#undef VECTOR_BYTES
#endif
