/* Undoes what vectors.h defines. */
#undef VECTOR
#undef INTEGERS
#undef LANES
#undef LOAD
#undef STORE
