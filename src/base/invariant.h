/*
 * invariant.h - assertions: conditions that only a bug can break.
 *
 *   BLIS_ASSERT     cheap: a legal state, a count within bounds, a correct order
 *   BLIS_INVARIANT  expensive: a walk over a whole structure
 *
 * The presets dev and asan enable the first, and paranoid enables both. A release build evaluates
 * neither, so the expressions must have no side effects. Never use them for user errors: these are
 * errors with a message (base/error.h).
 */
#ifndef BLIS_BASE_INVARIANT_H
#define BLIS_BASE_INVARIANT_H

/* Prints "file:line: broken: expression" to stderr and aborts. */
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
