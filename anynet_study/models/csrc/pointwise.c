/* 1x1 convolutions with their batch norm, the sum and the ReLU behind it, of rows (rows, channels);
 * models/norms.py calls this.
 *
 * A matrix product and a norm one after the other both wait for memory. Here a chunk of rows passes
 * through all that is to be done with it while it is in a near cache, and the next one is fetched
 * meanwhile. Compiled for each type and instruction set by including itself.
 */
#ifndef REAL
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)

#include "common.h"
#include "norm.h"
#include "products.h"

#define THIS_FILE "pointwise.c"
#include "every_kernel.h"

#endif
#else

#include "norm.h"
#ifdef NAMED

#define VECTOR_BYTES REGISTER_BYTES
#include "vectors.h"
#include "products.h"

/* Numbers of memory that both passes need for what they pack. */
ptrdiff_t NAMED(pointwise_workspace)(ptrdiff_t channels, ptrdiff_t columns)
{
    const ptrdiff_t most = channels > columns ? channels : columns;
    return channels * columns + PANEL * most + CHUNK * (columns + channels + PANEL);
}

/* Of rows of so many columns, the chunk after the one at `i`, if there is one, is wanted soon. */
INLINED void NAMED(want_next)(wanted *soon, const REAL *all, ptrdiff_t i, ptrdiff_t rows,
                              ptrdiff_t columns)
{
    const ptrdiff_t next = i + CHUNK < rows ? i + CHUNK : i;
    want(soon, all + next * columns, next > i ? chunk(next, rows) * columns * sizeof(REAL) : 0);
}

/* z = x times the transpose of `factors` (columns, channels), y = relu(norm(z) + residual) with the
 * rows' mean and variance; `residual` may be NULL, `relu` false. The mean, rstd, the running
 * statistics and the number of batches in them are written, too. Moments are taken about the mean of
 * the first chunk: where that is far from zero, its square would swallow the variance. */
void NAMED(pointwise_forward)(const REAL *x, const REAL *factors, const REAL *residual,
                                         bool relu, ptrdiff_t rows, ptrdiff_t channels,
                                         ptrdiff_t columns, double momentum, double eps,
                                         const REAL *weight, const REAL *bias, REAL *running_mean,
                                         REAL *running_variance, int64_t *batches, REAL *mean,
                                         REAL *rstd, REAL *panels, REAL *z, REAL *y)
{
    const TYPED(norm) norm = {columns,      momentum,         eps,     weight, bias,
                              running_mean, running_variance, batches, mean,   rstd};
    REAL shift[columns];
    double sums[columns], squares[columns];
    memset(sums, 0, sizeof sums);
    memset(squares, 0, sizeof squares);
    NAMED(pack_transpose)(factors, columns, channels, panels);
    for (ptrdiff_t i = 0; i < rows; i += CHUNK) {
        const ptrdiff_t n = chunk(i, rows);
        wanted soon = {0};
        NAMED(want_next)(&soon, x, i, rows, channels);
        NAMED(want_next)(&soon, z, i, rows, columns);
        NAMED(product)(x + i * channels, channels, 1, panels, channels, n, columns, false,
                       z + i * columns, &soon);
        if (i == 0)
            NAMED(average)(z, n, columns, shift);
        NAMED(add_moments)(z + i * columns, n, columns, shift, sums, squares);
    }
    TYPED(take_moments)(&norm, rows, shift, sums, squares);
    NAMED(scale)(&norm, z, residual, relu, rows, y);
}

/* The backward pass, from `gradient` by y. Where `y` is not NULL, there was a residual, and `gradient`
 * becomes the one by that. With x' = (z - mean) rstd the gradient by z is weight rstd (gradient -
 * mean(gradient) - x' mean(x' gradient)), after the ReLU, if any. `to_factors` is written; `to_x`
 * too, if it is not NULL, or added to if `adds`. */
void NAMED(pointwise_backward)(const REAL *x, const REAL *factors, REAL *gradient,
                                          const REAL *z, const REAL *y, bool relu,
                                          ptrdiff_t rows, ptrdiff_t channels,
                                          ptrdiff_t columns, const REAL *weight,
                                          const REAL *bias, const REAL *mean,
                                          const REAL *rstd, REAL *panels, REAL *to_factors,
                                          REAL *to_weight, REAL *to_bias, bool adds,
                                          REAL *to_x)
{
    const TYPED(norm) norm = {.columns = columns, .weight = weight, .bias = bias,
                              .mean = (REAL *)mean, .rstd = (REAL *)rstd};
    REAL *const to_z = panels + columns * (channels + PANEL);
    REAL *const packed = to_z + CHUNK * columns;
    REAL reals[REALS_BACK * columns];
    double doubles[DOUBLES_BACK * columns];
    TYPED(backward) back = TYPED(begin_back)(&norm, relu && y == NULL, reals, doubles);
    for (ptrdiff_t i = 0; i < rows; i += CHUNK) {
        const ptrdiff_t at = i * columns;
        NAMED(add_back)(&norm, &back, gradient + at, z + at, y == NULL ? NULL : y + at,
                        chunk(i, rows));
    }
    TYPED(take_back)(&norm, &back, rows, to_weight, to_bias);
    memset(to_factors, 0, columns * channels * sizeof(REAL));
    NAMED(pack)(factors, columns, channels, panels);
    for (ptrdiff_t i = 0; i < rows; i += CHUNK) {
        const ptrdiff_t n = chunk(i, rows);
        wanted soon = {0};
        NAMED(want_next)(&soon, gradient, i, rows, columns);
        NAMED(want_next)(&soon, z, i, rows, columns);
        NAMED(want_next)(&soon, x, i, rows, channels);
        if (to_x != NULL)
            NAMED(want_next)(&soon, to_x, i, rows, channels);
        NAMED(go_back)(&norm, &back, gradient + i * columns, z + i * columns, n, to_z);
        NAMED(pack)(x + i * channels, n, channels, packed);
        NAMED(product)(to_z, 1, columns, packed, n, columns, channels, true, to_factors, &soon);
        if (to_x != NULL)
            NAMED(product)(to_z, columns, 1, panels, columns, n, channels, adds,
                           to_x + i * channels, &soon);
    }
}

#undef VECTOR_BYTES
#endif
#endif
