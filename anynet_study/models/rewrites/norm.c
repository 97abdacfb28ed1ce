/* Batch norm of rows (rows, columns) with the sum and the ReLU behind it; norm.py calls this.
 *
 * Torch takes a kernel for each of these and for each pass over memory; here a pass does all that
 * it can with what it reads. Compiled for each type by including itself; columns are summed in
 * strips, whose sums stay in the nearest cache.
 */
#ifndef REAL

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "any_cpu.h"
#include "norm.h"

enum { STRIP = 256 };

#define REAL float
#define NAMED(name) name##_float32
#include "norm.c"
#undef REAL
#undef NAMED

#define REAL double
#define NAMED(name) name##_float64
#include "norm.c"

#else

#include "norm.h"

FOR_ANY_CPU void NAMED(average)(const REAL *restrict z, ptrdiff_t rows, ptrdiff_t columns,
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
FOR_ANY_CPU void NAMED(add_strip)(const REAL *restrict z, ptrdiff_t rows, ptrdiff_t width,
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

void NAMED(take_moments)(const NAMED(norm) *norm, ptrdiff_t rows, const REAL *shift,
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

/* The norm as a line: factor z + constant. */
static void NAMED(line)(const NAMED(norm) *norm, REAL *restrict factor, REAL *restrict constant)
{
    for (ptrdiff_t j = 0; j < norm->columns; j++) {
        factor[j] = norm->weight[j] * norm->rstd[j];
        constant[j] = norm->bias[j] - norm->mean[j] * factor[j];
    }
}

FOR_ANY_CPU void NAMED(scale_by)(const REAL *restrict z, const REAL *restrict residual, bool relu,
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

void NAMED(scale)(const NAMED(norm) *norm, const REAL *z, const REAL *residual, bool relu,
                  ptrdiff_t rows, REAL *y)
{
    REAL factor[norm->columns], constant[norm->columns];
    NAMED(line)(norm, factor, constant);
    NAMED(scale_by)(z, residual, relu, rows, norm->columns, factor, constant, y);
}

/* y = relu(norm(z) + residual) with the rows' mean and variance; `residual` may be NULL, `relu`
 * false. The mean, rstd, the running statistics and the number of batches in them are written. */
void NAMED(normalise)(const REAL *z, const REAL *residual, bool relu, ptrdiff_t rows,
                      ptrdiff_t columns, double momentum, double eps, const REAL *weight,
                      const REAL *bias, REAL *running_mean, REAL *running_variance,
                      int64_t *batches, REAL *mean, REAL *rstd, REAL *y)
{
    const NAMED(norm) norm = {columns,      momentum,         eps,     weight, bias,
                              running_mean, running_variance, batches, mean,   rstd};
    REAL shift[columns];
    double sums[columns], squares[columns];
    memset(sums, 0, sizeof sums);
    memset(squares, 0, sizeof squares);
    /* About the mean: where that is far from zero, its square would swallow the variance. */
    NAMED(average)(z, rows < BLOCK ? rows : BLOCK, columns, shift);
    for (ptrdiff_t i = 0; i < rows; i += BLOCK)
        NAMED(add_moments)(z + i * columns, rows - i < BLOCK ? rows - i : BLOCK, columns, shift,
                           sums, squares);
    NAMED(take_moments)(&norm, rows, shift, sums, squares);
    NAMED(scale)(&norm, z, residual, relu, rows, y);
}

/* An element of the gradient, but with a ReLU zero where the line is not above zero. */
#define MASKED(gradient, z) (relu && (z) * factor[j] + constant[j] <= 0 ? 0 : (gradient))

INLINED void NAMED(add_strip_back_as)(const bool relu, const REAL *restrict gradient,
                                      const REAL *restrict z, ptrdiff_t rows, ptrdiff_t width,
                                      ptrdiff_t columns, const REAL *restrict factor,
                                      const REAL *restrict constant, const REAL *restrict mean,
                                      double *restrict sums, double *restrict products)
{
    REAL first[STRIP] = {0}, second[STRIP] = {0};
    for (; rows >= 4; rows -= 4, gradient += 4 * columns, z += 4 * columns) {
        const REAL *restrict a = z, *restrict b = a + columns;
        const REAL *restrict c = b + columns, *restrict d = c + columns;
        const REAL *restrict to_a = gradient, *restrict to_b = to_a + columns;
        const REAL *restrict to_c = to_b + columns, *restrict to_d = to_c + columns;
        for (ptrdiff_t j = 0; j < width; j++) {
            REAL p = MASKED(to_a[j], a[j]), q = MASKED(to_b[j], b[j]);
            REAL r = MASKED(to_c[j], c[j]), s = MASKED(to_d[j], d[j]);
            first[j] += (p + q) + (r + s);
            second[j] += (p * (a[j] - mean[j]) + q * (b[j] - mean[j])) +
                         (r * (c[j] - mean[j]) + s * (d[j] - mean[j]));
        }
    }
    for (; rows > 0; rows--, gradient += columns, z += columns)
        for (ptrdiff_t j = 0; j < width; j++) {
            REAL p = MASKED(gradient[j], z[j]);
            first[j] += p;
            second[j] += p * (z[j] - mean[j]);
        }
    for (ptrdiff_t j = 0; j < width; j++) {
        sums[j] += first[j];
        products[j] += second[j];
    }
}

FOR_ANY_CPU void NAMED(add_strip_back)(bool relu, const REAL *gradient, const REAL *z,
                                       ptrdiff_t rows, ptrdiff_t width, ptrdiff_t columns,
                                       const REAL *factor, const REAL *constant, const REAL *mean,
                                       double *sums, double *products)
{
    if (relu)
        NAMED(add_strip_back_as)(true, gradient, z, rows, width, columns, factor, constant, mean,
                                 sums, products);
    else
        NAMED(add_strip_back_as)(false, gradient, z, rows, width, columns, factor, constant, mean,
                                 sums, products);
}

/* Makes the gradient zero where `y` is not above zero. */
FOR_ANY_CPU void NAMED(mask)(REAL *restrict gradient, const REAL *restrict y, ptrdiff_t numbers)
{
    for (ptrdiff_t i = 0; i < numbers; i++)
        gradient[i] = y[i] <= 0 ? 0 : gradient[i];
}

NAMED(way_back) NAMED(begin_back)(const NAMED(norm) *norm, bool relu, REAL *reals, double *doubles)
{
    const ptrdiff_t n = norm->columns;
    NAMED(way_back) back = {relu,          reals,         reals + n, reals + 2 * n,
                            reals + 3 * n, reals + 4 * n, doubles,   doubles + n};
    memset(doubles, 0, DOUBLES_BACK * n * sizeof *doubles);
    NAMED(line)(norm, back.factor, back.constant);
    return back;
}

void NAMED(add_back)(const NAMED(norm) *norm, NAMED(way_back) *back, REAL *gradient, const REAL *z,
                     const REAL *y, ptrdiff_t rows)
{
    const ptrdiff_t n = norm->columns;
    if (y != NULL)
        NAMED(mask)(gradient, y, rows * n);
    for (ptrdiff_t from = 0; from < n; from += STRIP)
        NAMED(add_strip_back)(back->relu, gradient + from, z + from, rows,
                              n - from < STRIP ? n - from : STRIP, n, back->factor + from,
                              back->constant + from, norm->mean + from, back->sums + from,
                              back->products + from);
}

void NAMED(take_back)(const NAMED(norm) *norm, NAMED(way_back) *back, ptrdiff_t rows,
                      REAL *to_weight, REAL *to_bias)
{
    for (ptrdiff_t j = 0; j < norm->columns; j++) {
        double scale = norm->rstd[j], outer = norm->weight[j] * scale;
        double inner = -outer * scale * scale * back->products[j] / rows;
        to_weight[j] = back->products[j] * scale;
        to_bias[j] = back->sums[j];
        back->of_gradient[j] = outer;
        back->of_z[j] = inner;
        back->added[j] = -outer * back->sums[j] / rows - norm->mean[j] * inner;
    }
}

/* The sum of multiples of the masked gradient, of z and of 1. */
FOR_ANY_CPU void NAMED(combine)(bool relu, const REAL *restrict gradient, const REAL *z,
                                ptrdiff_t rows, ptrdiff_t columns, const REAL *restrict factor,
                                const REAL *restrict constant, const REAL *restrict of_gradient,
                                const REAL *restrict of_z, const REAL *restrict added, REAL *to_z)
{
    for (ptrdiff_t i = 0; i < rows; i++, gradient += columns, z += columns, to_z += columns)
#pragma GCC ivdep
        for (ptrdiff_t j = 0; j < columns; j++) {
            REAL masked = MASKED(gradient[j], z[j]);
            to_z[j] = masked * of_gradient[j] + (z[j] * of_z[j] + added[j]);
        }
}

void NAMED(go_back)(const NAMED(norm) *norm, const NAMED(way_back) *back, const REAL *gradient,
                    const REAL *z, ptrdiff_t rows, REAL *to_z)
{
    NAMED(combine)(back->relu, gradient, z, rows, norm->columns, back->factor, back->constant,
                   back->of_gradient, back->of_z, back->added, to_z);
}

/* The way back: z becomes the gradient by z, from `gradient` by y. Where that is wanted (`y` is not
 * NULL), `gradient` becomes the one by the residual. With x = (z - mean) rstd the gradient by z is
 * weight rstd (gradient - mean(gradient) - x mean(x gradient)), after the ReLU, if any. */
void NAMED(reverse)(REAL *gradient, REAL *z, const REAL *y, bool relu, ptrdiff_t rows,
                    ptrdiff_t columns, const REAL *weight, const REAL *bias, const REAL *mean,
                    const REAL *rstd, REAL *to_weight, REAL *to_bias)
{
    const NAMED(norm) norm = {.columns = columns, .weight = weight, .bias = bias,
                              .mean = (REAL *)mean, .rstd = (REAL *)rstd};
    REAL reals[REALS_BACK * columns];
    double doubles[DOUBLES_BACK * columns];
    NAMED(way_back) back = NAMED(begin_back)(&norm, relu && y == NULL, reals, doubles);
    for (ptrdiff_t i = 0; i < rows; i += BLOCK) {
        const ptrdiff_t at = i * columns, n = rows - i < BLOCK ? rows - i : BLOCK;
        NAMED(add_back)(&norm, &back, gradient + at, z + at, y == NULL ? NULL : y + at, n);
    }
    NAMED(take_back)(&norm, &back, rows, to_weight, to_bias);
    NAMED(go_back)(&norm, &back, gradient, z, rows, z);
}

#undef MASKED
#endif
