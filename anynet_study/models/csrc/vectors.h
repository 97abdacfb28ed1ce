/* Vectors of REAL, as wide as the widest registers; included once for each type, after
 * `#define REAL`, INTEGER (as wide) and NAMED(name). `no_vectors.h` undoes it. For compilers that
 * know `__builtin_shuffle`. */

#define VECTOR NAMED(vector)
#define INTEGERS NAMED(integers)
#define LANES (64 / (ptrdiff_t)sizeof(REAL))
typedef REAL VECTOR __attribute__((vector_size(64)));
typedef INTEGER INTEGERS __attribute__((vector_size(64)));
typedef REAL NAMED(anywhere) __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

#define LOAD(from) ((VECTOR)(*(const NAMED(anywhere) *)(from)))
#define STORE(to, value) (*(NAMED(anywhere) *)(to) = (value))

/* 0, 1, 2, ... */
INLINED INTEGERS NAMED(count)(void)
{
    INTEGERS lanes;
    for (int l = 0; l < LANES; l++)
        lanes[l] = l;
    return lanes;
}
