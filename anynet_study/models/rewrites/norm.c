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

/* Sums of `n` rows minus `shift`, and of the squares of that. */
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
 * variance; `residual` may be NULL, `relu` false. The mean, 1 / sqrt(...) and the running statistics
 * are written. */
void NAMED(normalise)(const REAL *z, const REAL *residual, bool relu, ptrdiff_t rows,
                      ptrdiff_t columns, const REAL *weight, const REAL *bias, double momentum,
                      double eps, REAL *running_mean, REAL *running_variance, REAL *mean,
                      REAL *rstd, REAL *y)
{
    for (ptrdiff_t from = 0; from < columns; from += STRIP) {
        ptrdiff_t width = columns - from < STRIP ? columns - from : STRIP;
        const REAL *strip = z + from;
        double sums[STRIP] = {0}, squares[STRIP] = {0};
        REAL factor[STRIP], constant[STRIP];
        /* Minus the first row: the mean may be far from zero, its square would swallow the rest. */
        for (ptrdiff_t i = 0; i < rows; i += BLOCK)
            NAMED(add_moments)(strip + i * columns, rows - i < BLOCK ? rows - i : BLOCK, width,
                               columns, strip, sums, squares);
        for (ptrdiff_t j = 0; j < width; j++) {
            double shifted = sums[j] / rows;
            double variance = squares[j] / rows - shifted * shifted;
            variance = variance < 0 ? 0 : variance;
            double unbiased = variance * rows / (rows - 1);
            double center = strip[j] + shifted, scale = 1 / sqrt(variance + eps);
            ptrdiff_t k = from + j;
            running_mean[k] += momentum * (center - running_mean[k]);
            running_variance[k] += momentum * (unbiased - running_variance[k]);
            mean[k] = center;
            rstd[k] = scale;
            factor[j] = weight[k] * scale;
            constant[j] = bias[k] - center * weight[k] * scale;
        }
        NAMED(scale)(strip, residual == NULL ? NULL : residual + from, relu, rows, width, columns,
                     factor, constant, y + from);
    }
}

/* Sums of `n` rows of the gradient, and of it times z - mean; first it becomes zero where `y` is. */
FOR_ANY_CPU void NAMED(add_products)(REAL *restrict gradient, const REAL *restrict z,
                                     const REAL *restrict y, ptrdiff_t n, ptrdiff_t width,
                                     ptrdiff_t columns, const REAL *restrict mean,
                                     double *restrict sums, double *restrict products)
{
    REAL first[STRIP] = {0}, second[STRIP] = {0};
    for (; n > 0; n--, gradient += columns, z += columns) {
        if (y != NULL) {
            for (ptrdiff_t j = 0; j < width; j++)
                gradient[j] = y[j] <= 0 ? 0 : gradient[j];
            y += columns;
        }
        for (ptrdiff_t j = 0; j < width; j++) {
            first[j] += gradient[j];
            second[j] += gradient[j] * (z[j] - mean[j]);
        }
    }
    for (ptrdiff_t j = 0; j < width; j++) {
        sums[j] += first[j];
        products[j] += second[j];
    }
}

FOR_ANY_CPU void NAMED(combine)(const REAL *restrict gradient, REAL *restrict z, ptrdiff_t rows,
                                ptrdiff_t width, ptrdiff_t columns,
                                const REAL *restrict of_gradient, const REAL *restrict of_z,
                                const REAL *restrict constant)
{
    for (ptrdiff_t i = 0; i < rows; i++, gradient += columns, z += columns)
        for (ptrdiff_t j = 0; j < width; j++)
            z[j] = gradient[j] * of_gradient[j] + (z[j] * of_z[j] + constant[j]);
}

/* The way back: `gradient`, by y, becomes that by the residual, and z the gradient by z; `y` is NULL
 * where there was no ReLU. With x = (z - mean) rstd the latter is
 * weight rstd (gradient - mean(gradient) - x mean(x gradient)). */
void NAMED(reverse)(REAL *gradient, REAL *z, const REAL *y, ptrdiff_t rows, ptrdiff_t columns,
                    const REAL *weight, const REAL *mean, const REAL *rstd, REAL *to_weight,
                    REAL *to_bias)
{
    for (ptrdiff_t from = 0; from < columns; from += STRIP) {
        ptrdiff_t width = columns - from < STRIP ? columns - from : STRIP;
        double sums[STRIP] = {0}, products[STRIP] = {0};
        REAL of_gradient[STRIP], of_z[STRIP], constant[STRIP];
        for (ptrdiff_t i = 0; i < rows; i += BLOCK) {
            ptrdiff_t at = i * columns + from;
            NAMED(add_products)(gradient + at, z + at, y == NULL ? NULL : y + at,
                                rows - i < BLOCK ? rows - i : BLOCK, width, columns, mean + from,
                                sums, products);
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
        NAMED(combine)(gradient + from, z + from, rows, width, columns, of_gradient, of_z, constant);
    }
}

#endif
