/* Batch norm of rows (rows, columns) with the sum and the ReLU behind it; norm.py calls this.
 *
 * Torch takes a kernel for each of these and for each pass over memory; here a pass does all that
 * it can with what it reads. Sums are of blocks of rows, and those are added in double precision.
 * Compiled for each type by including itself; columns are taken in strips, whose sums stay in the
 * nearest cache.
 */
#ifndef REAL

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "any_cpu.h"

enum { STRIP = 256, BLOCK = 64 };

#define REAL float
#define NAMED(name) name##_float32
#include "norm.c"
#undef REAL
#undef NAMED

#define REAL double
#define NAMED(name) name##_float64
#include "norm.c"

#else

/* The mean of `n` rows. */
FOR_ANY_CPU void NAMED(average)(const REAL *restrict z, ptrdiff_t n, ptrdiff_t width,
                                ptrdiff_t columns, REAL *restrict mean)
{
    REAL sum[STRIP] = {0};
    for (ptrdiff_t i = 0; i < n; i++, z += columns)
        for (ptrdiff_t j = 0; j < width; j++)
            sum[j] += z[j];
    for (ptrdiff_t j = 0; j < width; j++)
        mean[j] = sum[j] / n;
}

/* Adds sums of `n` rows minus `shift`, and of the squares of that. */
FOR_ANY_CPU void NAMED(add_moments)(const REAL *restrict z, ptrdiff_t n, ptrdiff_t width,
                                    ptrdiff_t columns, const REAL *restrict shift,
                                    double *restrict sums, double *restrict squares)
{
    REAL first[STRIP] = {0}, second[STRIP] = {0};
    for (; n >= 4; n -= 4, z += 4 * columns) {
        const REAL *restrict a = z, *restrict b = a + columns;
        const REAL *restrict c = b + columns, *restrict d = c + columns;
        for (ptrdiff_t j = 0; j < width; j++) {
            REAL p = a[j] - shift[j], q = b[j] - shift[j];
            REAL r = c[j] - shift[j], s = d[j] - shift[j];
            first[j] += (p + q) + (r + s);
            second[j] += (p * p + q * q) + (r * r + s * s);
        }
    }
    for (; n > 0; n--, z += columns)
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

/* The norm as a line: factor z + constant. */
FOR_ANY_CPU void NAMED(line)(const REAL *restrict weight, const REAL *restrict bias,
                             const REAL *restrict mean, const REAL *restrict rstd, ptrdiff_t width,
                             REAL *restrict factor, REAL *restrict constant)
{
    for (ptrdiff_t j = 0; j < width; j++) {
        factor[j] = weight[j] * rstd[j];
        constant[j] = bias[j] - mean[j] * factor[j];
    }
}

/* The line, plus the residual and its ReLU where these are wanted. */
FOR_ANY_CPU void NAMED(scale)(const REAL *restrict z, const REAL *restrict residual, bool relu,
                              ptrdiff_t rows, ptrdiff_t width, ptrdiff_t columns,
                              const REAL *restrict factor, const REAL *restrict constant,
                              REAL *restrict y)
{
    for (ptrdiff_t i = 0; i < rows; i++, z += columns, y += columns) {
        if (residual != NULL) {
            for (ptrdiff_t j = 0; j < width; j++)
                y[j] = z[j] * factor[j] + constant[j] + residual[j];
            residual += columns;
        } else
            for (ptrdiff_t j = 0; j < width; j++)
                y[j] = z[j] * factor[j] + constant[j];
        if (relu)
            for (ptrdiff_t j = 0; j < width; j++)
                y[j] = y[j] <= 0 ? 0 : y[j]; /* what is no number stays */
    }
}

/* y = relu(weight (z - mean) / sqrt(variance + eps) + bias + residual), with the rows' mean and
 * variance; `residual` may be NULL, `relu` false. The mean, 1 / sqrt(...), the running statistics
 * and the number of batches in them are written. */
void NAMED(normalise)(const REAL *z, const REAL *residual, bool relu, ptrdiff_t rows,
                      ptrdiff_t columns, double momentum, double eps, const REAL *weight,
                      const REAL *bias, REAL *running_mean, REAL *running_variance,
                      int64_t *batches, REAL *mean, REAL *rstd, REAL *y)
{
    ++*batches;
    for (ptrdiff_t from = 0; from < columns; from += STRIP) {
        ptrdiff_t width = columns - from < STRIP ? columns - from : STRIP;
        const REAL *strip = z + from;
        double sums[STRIP] = {0}, squares[STRIP] = {0};
        REAL shift[STRIP], factor[STRIP], constant[STRIP];
        /* About the mean: where that is far from zero, its square would swallow the variance. */
        NAMED(average)(strip, rows < BLOCK ? rows : BLOCK, width, columns, shift);
        for (ptrdiff_t i = 0; i < rows; i += BLOCK)
            NAMED(add_moments)(strip + i * columns, rows - i < BLOCK ? rows - i : BLOCK, width,
                               columns, shift, sums, squares);
        for (ptrdiff_t j = 0; j < width; j++) {
            double shifted = sums[j] / rows;
            double variance = squares[j] / rows - shifted * shifted;
            variance = variance < 0 ? 0 : variance;
            double unbiased = variance * rows / (rows - 1);
            double center = shift[j] + shifted;
            ptrdiff_t k = from + j;
            running_mean[k] += momentum * (center - running_mean[k]);
            running_variance[k] += momentum * (unbiased - running_variance[k]);
            mean[k] = center;
            rstd[k] = 1 / sqrt(variance + eps);
        }
        NAMED(line)(weight + from, bias + from, mean + from, rstd + from, width, factor, constant);
        NAMED(scale)(strip, residual == NULL ? NULL : residual + from, relu, rows, width, columns,
                     factor, constant, y + from);
    }
}

/* An element of the gradient, but with a ReLU zero where the line is not above zero. */
#define MASKED(gradient, z)                                                                        \
    (relu && (z) * line_factor[j] + line_constant[j] <= 0 ? 0 : (gradient))

INLINED void NAMED(add_products_as)(const bool relu, const REAL *restrict gradient,
                                    const REAL *restrict z, ptrdiff_t n, ptrdiff_t width,
                                    ptrdiff_t columns, const REAL *restrict line_factor,
                                    const REAL *restrict line_constant, const REAL *restrict mean,
                                    double *restrict sums, double *restrict products)
{
    REAL first[STRIP] = {0}, second[STRIP] = {0};
    for (; n >= 4; n -= 4, gradient += 4 * columns, z += 4 * columns) {
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
    for (; n > 0; n--, gradient += columns, z += columns)
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

/* Adds sums of `n` rows of the masked gradient, and of it times z - mean. */
FOR_ANY_CPU void NAMED(add_products)(bool relu, const REAL *gradient, const REAL *z, ptrdiff_t n,
                                     ptrdiff_t width, ptrdiff_t columns, const REAL *line_factor,
                                     const REAL *line_constant, const REAL *mean, double *sums,
                                     double *products)
{
    if (relu)
        NAMED(add_products_as)(true, gradient, z, n, width, columns, line_factor, line_constant,
                               mean, sums, products);
    else
        NAMED(add_products_as)(false, gradient, z, n, width, columns, line_factor, line_constant,
                               mean, sums, products);
}

/* Makes `n` rows of the gradient zero where `y` is not above zero. */
FOR_ANY_CPU void NAMED(mask)(REAL *restrict gradient, const REAL *restrict y, ptrdiff_t n,
                             ptrdiff_t width, ptrdiff_t columns)
{
    for (; n > 0; n--, gradient += columns, y += columns)
        for (ptrdiff_t j = 0; j < width; j++)
            gradient[j] = y[j] <= 0 ? 0 : gradient[j];
}

/* z becomes the sum of multiples of the masked gradient, of z and of 1. */
FOR_ANY_CPU void NAMED(combine)(bool relu, const REAL *restrict gradient, REAL *restrict z,
                                ptrdiff_t rows, ptrdiff_t width, ptrdiff_t columns,
                                const REAL *restrict line_factor,
                                const REAL *restrict line_constant,
                                const REAL *restrict of_gradient, const REAL *restrict of_z,
                                const REAL *restrict constant)
{
    for (ptrdiff_t i = 0; i < rows; i++, gradient += columns, z += columns)
        for (ptrdiff_t j = 0; j < width; j++) {
            REAL masked = MASKED(gradient[j], z[j]);
            z[j] = masked * of_gradient[j] + (z[j] * of_z[j] + constant[j]);
        }
}

/* The way back: z becomes the gradient by z, from `gradient` by y. Where that is wanted (`y` is not
 * NULL), `gradient` becomes the one by the residual. With x = (z - mean) rstd the gradient by z is
 * weight rstd (gradient - mean(gradient) - x mean(x gradient)), after the ReLU, if any. */
void NAMED(reverse)(REAL *gradient, REAL *z, const REAL *y, bool relu, ptrdiff_t rows,
                    ptrdiff_t columns, const REAL *weight, const REAL *bias, const REAL *mean,
                    const REAL *rstd, REAL *to_weight, REAL *to_bias)
{
    const bool masks = relu && y == NULL;
    for (ptrdiff_t from = 0; from < columns; from += STRIP) {
        ptrdiff_t width = columns - from < STRIP ? columns - from : STRIP;
        double sums[STRIP] = {0}, products[STRIP] = {0};
        REAL factor[STRIP], line_constant[STRIP];
        REAL of_gradient[STRIP], of_z[STRIP], constant[STRIP];
        NAMED(line)(weight + from, bias + from, mean + from, rstd + from, width, factor,
                    line_constant);
        for (ptrdiff_t i = 0; i < rows; i += BLOCK) {
            ptrdiff_t at = i * columns + from, n = rows - i < BLOCK ? rows - i : BLOCK;
            if (y != NULL)
                NAMED(mask)(gradient + at, y + at, n, width, columns);
            NAMED(add_products)(masks, gradient + at, z + at, n, width, columns, factor,
                                line_constant, mean + from, sums, products);
        }
        for (ptrdiff_t j = 0; j < width; j++) {
            ptrdiff_t k = from + j;
            double scale = rstd[k], outer = weight[k] * scale;
            double inner = -outer * scale * scale * products[j] / rows;
            to_weight[k] = products[j] * scale;
            to_bias[k] = sums[j];
            of_gradient[j] = outer;
            of_z[j] = inner;
            constant[j] = -outer * sums[j] / rows - mean[k] * inner;
        }
        NAMED(combine)(masks, gradient + from, z + from, rows, width, columns, factor,
                       line_constant, of_gradient, of_z, constant);
    }
}

#undef MASKED
#endif
