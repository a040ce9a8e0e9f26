/*
 * invariant.h - three grades of assertion.
 *
 *   BLIS_ASSERT     in every build; cheap; a state that must not go on
 *   BLIS_DCHECK     dev, asan and paranoid builds; arguments, post-conditions
 *   BLIS_INVARIANT  paranoid builds; a walk over a whole structure
 *
 * They are for mistakes in this program, never for what a user may get wrong.
 */
#ifndef BLIS_BASE_INVARIANT_H
#define BLIS_BASE_INVARIANT_H

/* Prints "file:line: broken: expression" on stderr and aborts. */
_Noreturn void blis_assert_failed(const char *file, int line,
                                  const char *expression);

#define BLIS_ASSERT(expression)                                                \
  ((expression) ? (void)0 : blis_assert_failed(__FILE__, __LINE__, #expression))

#if defined(BLIS_CHECKED) || defined(BLIS_PARANOID)
#define BLIS_DCHECK(expression) BLIS_ASSERT(expression)
#else
#define BLIS_DCHECK(expression) ((void)sizeof(expression))
#endif

#ifdef BLIS_PARANOID
#define BLIS_INVARIANT(expression) BLIS_ASSERT(expression)
#else
#define BLIS_INVARIANT(expression) ((void)sizeof(expression))
#endif

#endif
