/* The backward pass through a batch norm of rows (rows, columns), the sum and the ReLU behind it, in
 * parts for pointwise.c. Compiled for each type and instruction set by including itself.
 */
#ifndef REAL
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)

#include "common.h"
#include "norm.h"

#define THIS_FILE "norm_backward.c"
#include "every_kernel.h"

#endif
#else

#include "norm.h"

#ifndef NAMED

TYPED(backward) TYPED(begin_back)(const TYPED(norm) *norm, bool relu, REAL *reals, double *doubles)
{
    const ptrdiff_t n = norm->columns;
    TYPED(backward) back = {relu,          reals,         reals + n, reals + 2 * n,
                            reals + 3 * n, reals + 4 * n, doubles,   doubles + n};
    memset(doubles, 0, DOUBLES_BACK * n * sizeof *doubles);
    TYPED(line)(norm, back.factor, back.constant);
    return back;
}

void TYPED(take_back)(const TYPED(norm) *norm, TYPED(backward) *back, ptrdiff_t rows,
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

#else

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

void NAMED(add_strip_back)(bool relu, const REAL *gradient, const REAL *z,
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
void NAMED(mask)(REAL *restrict gradient, const REAL *restrict y, ptrdiff_t numbers)
{
    for (ptrdiff_t i = 0; i < numbers; i++)
        gradient[i] = y[i] <= 0 ? 0 : gradient[i];
}

void NAMED(add_back)(const TYPED(norm) *norm, TYPED(backward) *back, REAL *gradient, const REAL *z,
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

/* The sum of multiples of the masked gradient, of z and of 1. */
void NAMED(combine)(bool relu, const REAL *restrict gradient, const REAL *z,
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

void NAMED(go_back)(const TYPED(norm) *norm, const TYPED(backward) *back, const REAL *gradient,
                    const REAL *z, ptrdiff_t rows, REAL *to_z)
{
    NAMED(combine)(back->relu, gradient, z, rows, norm->columns, back->factor, back->constant,
                   back->of_gradient, back->of_z, back->added, to_z);
}

#undef MASKED
#endif
#endif
