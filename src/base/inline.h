/*
 * inline.h - overrides the compiler's inlining decisions where they slow down every request.
 * scripts/bench --gate measures the effect.
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
/* The compiler learns nothing about the arguments from the callers. */
#define BLIS_OPAQUE __attribute__((noipa))
#endif
#else
#define BLIS_ALWAYS_INLINE inline
#define BLIS_NOT_INLINE
#define BLIS_UNLIKELY(condition) (condition)
#define BLIS_OPAQUE
#endif

#endif
