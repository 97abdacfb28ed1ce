/* Includes THIS_FILE for each type of numbers, and for each type for each instruction set, for which
 * Python chooses by name: those of a file are then of one set, and known.
 *
 * Defined are REAL, INTEGER (as wide), TYPED(name), a name's own for the type, and for instruction
 * sets NAMED(name), its own for type and set, REGISTER_BYTES and TILE_ROWS: a tile of a product is
 * so many rows of two registers, of which AVX-512 has 32 and AVX2 has 16. Sums are taken in the same
 * order and with the same fused operations, whatever the set: results are the same bits. */
#define REAL float
#define INTEGER int
#define TYPED(name) name##_float32
#include THIS_FILE

#pragma GCC push_options
#pragma GCC target("avx512f,fma")
#define NAMED(name) name##_float32_avx512
#define REGISTER_BYTES 64
#define TILE_ROWS 8
#include THIS_FILE
#undef NAMED
#undef REGISTER_BYTES
#undef TILE_ROWS
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define NAMED(name) name##_float32_avx2
#define REGISTER_BYTES 32
#define TILE_ROWS 6
#include THIS_FILE
#undef NAMED
#undef REGISTER_BYTES
#undef TILE_ROWS
#pragma GCC pop_options

#undef REAL
#undef INTEGER
#undef TYPED

#define REAL double
#define INTEGER long long
#define TYPED(name) name##_float64
#include THIS_FILE

#pragma GCC push_options
#pragma GCC target("avx512f,fma")
#define NAMED(name) name##_float64_avx512
#define REGISTER_BYTES 64
#define TILE_ROWS 8
#include THIS_FILE
#undef NAMED
#undef REGISTER_BYTES
#undef TILE_ROWS
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define NAMED(name) name##_float64_avx2
#define REGISTER_BYTES 32
#define TILE_ROWS 6
#include THIS_FILE
#undef NAMED
#undef REGISTER_BYTES
#undef TILE_ROWS
#pragma GCC pop_options

#undef REAL
#undef INTEGER
#undef TYPED
