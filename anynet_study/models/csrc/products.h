/* Matrix products of which one factor is packed: in panels of PANEL columns, of which each row is
 * PANEL numbers that follow each other. Included once as it is, and once for each type and
 * instruction set, after vectors.h.
 *
 * A tile of the result stays in registers while all that it is a sum of passes by: two vectors of
 * columns for each of TILE_ROWS rows.
 */
#ifndef REAL

/* Bytes that memory comes in, parts of it that can be wanted. */
enum { LINE = 64, MOST_WANTED = 4 };

/* Memory that is wanted soon: a product fetches a line of it at each of its steps. */
typedef struct {
    int at, parts;
    const char *next[MOST_WANTED], *end[MOST_WANTED];
} wanted;

INLINED void want(wanted *soon, const void *from, ptrdiff_t bytes)
{
    soon->next[soon->parts] = from;
    soon->end[soon->parts++] = (const char *)from + bytes;
}

#else

#undef PANEL
#define PANEL (2 * LANES)

/* The first `columns` lanes of a vector, added to what is there or put in its place. */
INLINED void NAMED(put)(REAL *to, VECTOR value, ptrdiff_t columns, bool adds)
{
    if (columns >= LANES) {
        STORE(to, adds ? LOAD(to) + value : value);
        return;
    }
    for (ptrdiff_t l = 0; l < columns; l++)
        to[l] = adds ? to[l] + value[l] : value[l];
}

/* `many` rows (at most TILE_ROWS) and at most a panel's columns of a product. Of the left factor,
 * rows are `apart` and columns `step` numbers from each other. */
INLINED void NAMED(tile)(const REAL *left, ptrdiff_t apart, ptrdiff_t step, const REAL *panel,
                         ptrdiff_t depth, const int many, const int vectors, ptrdiff_t columns,
                         bool adds, REAL *out, ptrdiff_t width, wanted *soon)
{
    VECTOR sums[TILE_ROWS][2];
    if (soon->next[soon->at] >= soon->end[soon->at] && soon->at + 1 < soon->parts)
        soon->at++;
    const char *next = soon->next[soon->at], *const end = soon->end[soon->at];
#pragma GCC unroll 8
    for (int i = 0; i < many; i++)
        sums[i][0] = sums[i][1] = (VECTOR){0};
    for (ptrdiff_t k = 0; k < depth; k++, left += step, panel += PANEL) {
        const VECTOR first = LOAD(panel), second = LOAD(panel + LANES);
        __builtin_prefetch(next, 0, 2);
        next += next < end ? LINE : 0;
#pragma GCC unroll 8
        for (int i = 0; i < many; i++) {
            sums[i][0] += left[i * apart] * first;
            if (vectors > 1)
                sums[i][1] += left[i * apart] * second;
        }
    }
    soon->next[soon->at] = next;
#pragma GCC unroll 8
    for (int i = 0; i < many; i++) {
        NAMED(put)(out + i * width, sums[i][0], columns, adds);
        if (vectors > 1)
            NAMED(put)(out + i * width + LANES, sums[i][1], columns - LANES, adds);
    }
}

/* out (rows, width) = left (rows, depth) times the panels of a matrix (depth, width), or that added
 * to it. */
INLINED void NAMED(product)(const REAL *left, ptrdiff_t apart, ptrdiff_t step, const REAL *panels,
                            ptrdiff_t depth, ptrdiff_t rows, ptrdiff_t width, bool adds, REAL *out,
                            wanted *soon)
{
#define TILE(many, vectors)                                                                        \
    NAMED(tile)(left + i * apart, apart, step, panels, depth, many, vectors, width - from, adds,   \
                out + i * width + from, width, soon)
    for (ptrdiff_t from = 0; from < width; from += PANEL, panels += PANEL * depth) {
        const bool one = width - from <= LANES;
        ptrdiff_t i = 0;
        for (; i + TILE_ROWS <= rows; i += TILE_ROWS)
            if (one)
                TILE(TILE_ROWS, 1);
            else
                TILE(TILE_ROWS, 2);
        for (; i < rows; i++)
            if (one)
                TILE(1, 1);
            else
                TILE(1, 2);
    }
#undef TILE
}

/* A matrix (rows, width) in panels; columns beyond it are zeros. */
INLINED void NAMED(pack)(const REAL *matrix, ptrdiff_t rows, ptrdiff_t width, REAL *panels)
{
    for (ptrdiff_t from = 0; from < width; from += PANEL) {
        const ptrdiff_t columns = width - from < PANEL ? width - from : PANEL;
        const REAL *row = matrix + from;
        for (ptrdiff_t i = 0; i < rows; i++, row += width, panels += PANEL)
            if (columns == PANEL) {
                STORE(panels, LOAD(row));
                STORE(panels + LANES, LOAD(row + LANES));
            } else
                for (ptrdiff_t j = 0; j < PANEL; j++)
                    panels[j] = j < columns ? row[j] : 0;
    }
}

/* Turns LANES vectors, the rows of a square matrix, into its columns: each step swaps the blocks
 * beside the diagonal of squares twice as large. */
INLINED void NAMED(transpose)(VECTOR *square)
{
    const INTEGERS lanes = NAMED(count)();
#pragma GCC unroll 4
    for (int step = 1; step < LANES; step *= 2)
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (!(i & step)) {
                const INTEGERS low = (lanes & step) == 0;
                const VECTOR upper = square[i], lower = square[i + step];
                square[i] = __builtin_shuffle(
                    upper, lower, (lanes & low) | ((lanes - step + (INTEGER)LANES) & ~low));
                square[i + step] = __builtin_shuffle(
                    upper, lower, ((lanes + step) & low) | ((lanes + (INTEGER)LANES) & ~low));
            }
}

/* The transpose of a matrix (rows, width) in panels; columns beyond it are zeros. */
INLINED void NAMED(pack_transpose)(const REAL *matrix, ptrdiff_t rows, ptrdiff_t width,
                                   REAL *panels)
{
    for (ptrdiff_t from = 0; from < rows; from += LANES) {
        REAL *to = panels + from / PANEL * PANEL * width + from % PANEL;
        const ptrdiff_t many = rows - from < LANES ? rows - from : LANES;
        const REAL *row = matrix + from * width;
        ptrdiff_t k = 0;
        for (; k + LANES <= width; k += LANES) {
            VECTOR square[LANES];
            for (ptrdiff_t i = 0; i < LANES; i++)
                square[i] = i < many ? LOAD(row + i * width + k) : (VECTOR){0};
            NAMED(transpose)(square);
            for (ptrdiff_t i = 0; i < LANES; i++)
                STORE(to + (k + i) * PANEL, square[i]);
        }
        for (; k < width; k++)
            for (ptrdiff_t i = 0; i < LANES; i++)
                to[k * PANEL + i] = i < many ? row[i * width + k] : 0;
    }
}

#endif
