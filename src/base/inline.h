/*
 * inline.h - says where the compiler's own judgement costs every request
 * something; scripts/bench --gate counts how much.
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
