/* What every file of kernels begins with; they are for GCC on x86-64. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Part of whatever calls it, of which there is one for each constant argument. */
#define INLINED static inline __attribute__((always_inline))
