/* Vectors of VECTOR_BYTES of REAL, for one type and instruction set; each inclusion undoes the one
 * before. */
#undef VECTOR
#undef INTEGERS
#undef LANES
#undef LOAD
#undef STORE

#define VECTOR NAMED(vector)
#define INTEGERS NAMED(integers)
#define LANES (VECTOR_BYTES / (ptrdiff_t)sizeof(REAL))
typedef REAL VECTOR __attribute__((vector_size(VECTOR_BYTES)));
typedef INTEGER INTEGERS __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL NAMED(anywhere) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

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
