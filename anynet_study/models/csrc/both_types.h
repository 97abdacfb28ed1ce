/* Includes THIS_FILE for each type that it has kernels for: of numbers (REAL) and of integers that
 * are as wide (INTEGER); NAMED(name) is a name's own for the type. */
#define REAL float
#define INTEGER int
#define NAMED(name) name##_float32
#include THIS_FILE
#undef REAL
#undef INTEGER
#undef NAMED

#define REAL double
#define INTEGER long long
#define NAMED(name) name##_float64
#include THIS_FILE
