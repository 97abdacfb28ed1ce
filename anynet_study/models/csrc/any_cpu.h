/* A function is compiled for each width of vectors that a CPU may have; which is taken when the
 * library is loaded depends on the machine. */
#include <stddef.h> /* says whether this is glibc, whose loader can choose */

#if defined(__x86_64__) && defined(__GLIBC__)
#define FOR_ANY_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_ANY_CPU
#endif

/* Part of whatever calls it, of which there is one for each constant argument. */
#define INLINED static inline __attribute__((always_inline))
