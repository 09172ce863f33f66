// Stops the compilation if a flag lets the compiler change floating point: NaN, infinities and the
// order of sums are part of what the library computes. The Makefile includes this before every
// source of the library and the programs. base/panel.h includes it, too, for other ways to build.
// An application that links the library may use any flags.
//
// No compiler has a macro for -ffp-contract=fast, and clang has none for
// -funsafe-math-optimizations alone. The tests of the bits find those.
#pragma once

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||                          \
    defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST)
#error "libminigpt computes wrong numbers with -ffast-math, -Ofast and their parts: remove the flag"
#endif
