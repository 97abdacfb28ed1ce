/* Batch norm of rows, in parts that pointwise.c puts together; included
 * once as it is, once for each type, and once for each type and instruction set.
 *
 * Rows come in chunks of at most CHUNK: sums of a chunk are of its type, and those are added in
 * double precision.
 */
#ifndef REAL

/* STRIP: columns that are summed at a time, so that their sums stay in the nearest cache.
 * REALS_BACK and DOUBLES_BACK: numbers that the backward pass needs for each column. */
enum { CHUNK = 64, STRIP = 256, REALS_BACK = 5, DOUBLES_BACK = 2 };

/* Rows of the chunk at `i`. */
INLINED ptrdiff_t chunk(ptrdiff_t i, ptrdiff_t rows)
{
    return rows - i < CHUNK ? rows - i : CHUNK;
}

#elif !defined(NAMED)

typedef struct {
    ptrdiff_t columns;
    double momentum, eps;
    const REAL *weight, *bias;
    REAL *running_mean, *running_variance;
    int64_t *batches;
    REAL *mean, *rstd; /* of the batch; rstd is 1 / sqrt(variance + eps) */
} TYPED(norm);

/* What the backward pass multiplies a column's numbers by, and the sums that this is made from. */
typedef struct {
    bool relu; /* whether the gradient counts only where the norm is above zero */
    REAL *factor, *constant; /* the norm is factor z + constant */
    REAL *of_gradient, *of_z, *added;
    double *sums, *products;
} TYPED(backward);

/* The norm as a line: factor z + constant. */
void TYPED(line)(const TYPED(norm) *norm, REAL *restrict factor, REAL *restrict constant);

/* Mean, rstd and running statistics from the moments of all rows. */
void TYPED(take_moments)(const TYPED(norm) *norm, ptrdiff_t rows, const REAL *shift,
                         const double *sums, const double *squares);

TYPED(backward) TYPED(begin_back)(const TYPED(norm) *norm, bool relu, REAL *reals, double *doubles);

/* The gradients by weight and bias, and what `go_back` needs, from the sums of all rows. */
void TYPED(take_back)(const TYPED(norm) *norm, TYPED(backward) *back, ptrdiff_t rows,
                      REAL *to_weight, REAL *to_bias);

#else

/* The means of a chunk: moments are taken about them. */
void NAMED(average)(const REAL *z, ptrdiff_t rows, ptrdiff_t columns, REAL *mean);

/* Adds a chunk's sums of z - shift, and of the squares of that. */
void NAMED(add_moments)(const REAL *z, ptrdiff_t rows, ptrdiff_t columns, const REAL *shift,
                        double *sums, double *squares);

/* y = weight (z - mean) rstd + bias, plus the residual and its ReLU where these are wanted. */
void NAMED(scale)(const TYPED(norm) *norm, const REAL *z, const REAL *residual, bool relu,
                  ptrdiff_t rows, REAL *y);

/* Adds a chunk's sums of the gradient by y, and of that times z - mean. Where there was a residual
 * and a ReLU, `y` is not NULL, and the gradient is made zero where y is not above zero. */
void NAMED(add_back)(const TYPED(norm) *norm, TYPED(backward) *back, REAL *gradient, const REAL *z,
                     const REAL *y, ptrdiff_t rows);

/* The gradient by z; `to_z` may be `z`. */
void NAMED(go_back)(const TYPED(norm) *norm, const TYPED(backward) *back, const REAL *gradient,
                    const REAL *z, ptrdiff_t rows, REAL *to_z);

#endif
