/*
 * inline.h - overrides the compiler's inlining where it slows down every request; scripts/bench
 * --gate measures the effect.
 */
#ifndef BLIS_BASE_INLINE_H
#define BLIS_BASE_INLINE_H

#if defined(__GNUC__)
#define BLIS_ALWAYS_INLINE inline __attribute__((always_inline))
#define BLIS_NOT_INLINE __attribute__((noinline))
#define BLIS_UNLIKELY(condition) __builtin_expect(condition, false)
#if defined(__clang__)
#define BLIS_OPAQUE BLIS_NOT_INLINE
#else
#define BLIS_OPAQUE __attribute__((noipa)) /* its callers reveal nothing about its arguments */
#endif
#else
#define BLIS_ALWAYS_INLINE inline
#define BLIS_NOT_INLINE
#define BLIS_UNLIKELY(condition) (condition)
#define BLIS_OPAQUE
#endif

#endif
