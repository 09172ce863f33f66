// Refuses flags that let the compiler change floating point: NaN, infinities and the order of sums
// are part of what the library computes. The Makefile includes this in front of every source, of
// the library and the programs; base/panel.h does, too, for other ways to build. An application
// that links the library may use what flags it likes.
//
// Compilers have no macro for -ffp-contract=fast, nor clang one for -funsafe-math-optimizations
// alone: tests of the bits find those.
#pragma once

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||                          \
    defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST)
#error "libminigpt computes wrong numbers with -ffast-math, -Ofast and their parts: remove the flag"
#endif
