/*
 * invariant.h - assertions: conditions that only a bug can break.
 *
 *   BLIS_ASSERT     cheap: a legal state, a count in its bounds, an order kept
 *   BLIS_INVARIANT  a walk over a whole structure
 *
 * The presets dev and asan have the first, paranoid has both. A release build evaluates neither, so
 * an expression must have no effect. Never use them for user errors: these are errors with a
 * message (base/error.h).
 */
#ifndef BLIS_BASE_INVARIANT_H
#define BLIS_BASE_INVARIANT_H

/* Prints "file:line: broken: expression" on stderr and aborts. */
_Noreturn void blis_assert_failed(const char *file, int line, const char *expression);

#define BLIS__CHECK(expression)                                                                    \
  ((expression) ? (void)0 : blis_assert_failed(__FILE__, __LINE__, #expression))

#if defined(BLIS_CHECKED) || defined(BLIS_PARANOID)
#define BLIS_ASSERT(expression) BLIS__CHECK(expression)
#else
#define BLIS_ASSERT(expression) ((void)sizeof(expression))
#endif

#ifdef BLIS_PARANOID
#define BLIS_INVARIANT(expression) BLIS__CHECK(expression)
#else
#define BLIS_INVARIANT(expression) ((void)sizeof(expression))
#endif

#endif
