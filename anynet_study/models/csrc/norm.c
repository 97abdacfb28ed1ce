/* Batch norm of rows (rows, columns) with the sum and the ReLU behind it, in parts for pointwise.c.
 * The backward pass is in norm_backward.c.
 *
 * Torch takes a kernel for each of these and for each pass over memory; here a pass does all that
 * it can with what it reads. Compiled for each type and instruction
 * set by including itself.
 */
#ifndef REAL
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)

#include "common.h"
#include "norm.h"

/* Bits of the widest vectors that this CPU has kernels for: 512, 256 or 0. */
int widest_vectors(void)
{
    if (!__builtin_cpu_supports("fma"))
        return 0;
    if (__builtin_cpu_supports("avx512f"))
        return 512;
    return __builtin_cpu_supports("avx2") ? 256 : 0;
}

#define THIS_FILE "norm.c"
#include "every_kernel.h"

#endif
#else

#include "norm.h"

#ifndef NAMED

void TYPED(line)(const TYPED(norm) *norm, REAL *restrict factor, REAL *restrict constant)
{
    for (ptrdiff_t j = 0; j < norm->columns; j++) {
        factor[j] = norm->weight[j] * norm->rstd[j];
        constant[j] = norm->bias[j] - norm->mean[j] * factor[j];
    }
}

void TYPED(take_moments)(const TYPED(norm) *norm, ptrdiff_t rows, const REAL *shift,
                         const double *sums, const double *squares)
{
    ++*norm->batches;
    for (ptrdiff_t j = 0; j < norm->columns; j++) {
        double shifted = sums[j] / rows;
        double variance = squares[j] / rows - shifted * shifted;
        variance = variance < 0 ? 0 : variance;
        double unbiased = variance * rows / (rows - 1);
        double center = shift[j] + shifted;
        norm->running_mean[j] += norm->momentum * (center - norm->running_mean[j]);
        norm->running_variance[j] += norm->momentum * (unbiased - norm->running_variance[j]);
        norm->mean[j] = center;
        norm->rstd[j] = 1 / sqrt(variance + norm->eps);
    }
}

#else

void NAMED(average)(const REAL *restrict z, ptrdiff_t rows, ptrdiff_t columns,
                                REAL *restrict mean)
{
    memset(mean, 0, columns * sizeof(REAL));
    for (ptrdiff_t i = 0; i < rows; i++, z += columns)
        for (ptrdiff_t j = 0; j < columns; j++)
            mean[j] += z[j];
    for (ptrdiff_t j = 0; j < columns; j++)
        mean[j] /= rows;
}

/* Of a strip that is `width` columns wide. */
void NAMED(add_strip)(const REAL *restrict z, ptrdiff_t rows, ptrdiff_t width,
                                  ptrdiff_t columns, const REAL *restrict shift,
                                  double *restrict sums, double *restrict squares)
{
    REAL first[STRIP] = {0}, second[STRIP] = {0};
    for (; rows >= 4; rows -= 4, z += 4 * columns) {
        const REAL *restrict a = z, *restrict b = a + columns;
        const REAL *restrict c = b + columns, *restrict d = c + columns;
        for (ptrdiff_t j = 0; j < width; j++) {
            REAL p = a[j] - shift[j], q = b[j] - shift[j];
            REAL r = c[j] - shift[j], s = d[j] - shift[j];
            first[j] += (p + q) + (r + s);
            second[j] += (p * p + q * q) + (r * r + s * s);
        }
    }
    for (; rows > 0; rows--, z += columns)
        for (ptrdiff_t j = 0; j < width; j++) {
            REAL p = z[j] - shift[j];
            first[j] += p;
            second[j] += p * p;
        }
    for (ptrdiff_t j = 0; j < width; j++) {
        sums[j] += first[j];
        squares[j] += second[j];
    }
}

void NAMED(add_moments)(const REAL *z, ptrdiff_t rows, ptrdiff_t columns, const REAL *shift,
                        double *sums, double *squares)
{
    for (ptrdiff_t from = 0; from < columns; from += STRIP)
        NAMED(add_strip)(z + from, rows, columns - from < STRIP ? columns - from : STRIP, columns,
                         shift + from, sums + from, squares + from);
}

void NAMED(scale_by)(const REAL *restrict z, const REAL *restrict residual, bool relu,
                                 ptrdiff_t rows, ptrdiff_t columns, const REAL *restrict factor,
                                 const REAL *restrict constant, REAL *restrict y)
{
    for (ptrdiff_t i = 0; i < rows; i++, z += columns, y += columns) {
        if (residual != NULL) {
            for (ptrdiff_t j = 0; j < columns; j++)
                y[j] = z[j] * factor[j] + constant[j] + residual[j];
            residual += columns;
        } else
            for (ptrdiff_t j = 0; j < columns; j++)
                y[j] = z[j] * factor[j] + constant[j];
        if (relu)
            for (ptrdiff_t j = 0; j < columns; j++)
                y[j] = y[j] <= 0 ? 0 : y[j]; /* what is no number stays */
    }
}

void NAMED(scale)(const TYPED(norm) *norm, const REAL *z, const REAL *residual, bool relu,
                  ptrdiff_t rows, REAL *y)
{
    REAL factor[norm->columns], constant[norm->columns];
    TYPED(line)(norm, factor, constant);
    NAMED(scale_by)(z, residual, relu, rows, norm->columns, factor, constant, y);
}

#endif
#endif
