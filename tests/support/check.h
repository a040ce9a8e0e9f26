/*
 * check.h - the C test framework.
 *
 *   static void test_pop_returns_earliest(void) { CHECK(...); }
 *   int main(void) {
 *     RUN(test_pop_returns_earliest);
 *     return check_done();
 *   }
 *
 * One file per module; runner.h links the files to one executable. A check that
 * fails prints the place and the values and ends the process with status 1. SKIP
 * ends the process with status 77, which CTest reports as skipped.
 */
#ifndef BLIS_CHECK_H
#define BLIS_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runner.h"

static const char *check_name = "(outside of RUN)";
static int check_count;

#define RUN(test) check_run(#test, test)

/* How many random cases to draw: under sanitizers, where a case takes ten times as long, a third.
 */
#ifdef BLIS_SANITIZE
#define CASES(count) ((count) / 3)
#else
#define CASES(count) (count)
#endif

#define CHECK(expression)                                                                          \
  ((expression) ? (void)0 : check_fail(__FILE__, __LINE__, "%s", #expression))

/* got, expected; any integers that fit into int64_t. */
#define CHECK_EQ_I64(got, expected)                                                                \
  check_eq_i64(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(expected))

/* Equal to the last bit: -0.0 is not 0.0, a NaN equals itself. */
#define CHECK_EQ_DOUBLE(got, expected) check_eq_double(__FILE__, __LINE__, #got, (got), (expected))

#define CHECK_STR(got, expected) check_str(__FILE__, __LINE__, #got, (got), (expected))

/* got holds part somewhere; for messages. */
#define CHECK_CONTAINS(got, part) check_contains(__FILE__, __LINE__, #got, (got), (part))

#define CHECK_STATUS(got, expected) check_status(__FILE__, __LINE__, #got, (got), (expected))

/* The call succeeds; else the text of the blis_error it filled is printed. */
#define CHECK_OK(call, error)                                                                      \
  ((call) == BLIS_OK ? (void)0 : check_fail(__FILE__, __LINE__, "%s: %s", #call, (error)->message))

/* Ends the program: something outside of the project is missing. */
#define SKIP(reason) (printf("skipped: %s\n", (reason)), exit(77))

BLIS_PRINTF(3, 4)
static inline void check_fail(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("not ok %d - %s\n", check_count + 1, check_name);
  fflush(stdout);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static inline void check_eq_i64(const char *file, int line, const char *what, int64_t got,
                                int64_t expected) {
  if (got != expected) {
    check_fail(file, line, "%s is %" PRId64 ", expected %" PRId64, what, got, expected);
  }
}

static inline void check_eq_double(const char *file, int line, const char *what, double got,
                                   double expected) {
  if (memcmp(&got, &expected, sizeof got) != 0) {
    check_fail(file, line, "%s is %.17g (%a), expected %.17g (%a)", what, got, got, expected,
               expected);
  }
}

static inline void check_str(const char *file, int line, const char *what, const char *got,
                             const char *expected) {
  if (got == NULL || strcmp(got, expected) != 0) {
    check_fail(file, line, "%s is \"%s\", expected \"%s\"", what, got != NULL ? got : "(NULL)",
               expected);
  }
}

static inline void check_contains(const char *file, int line, const char *what, const char *got,
                                  const char *part) {
  if (got == NULL || strstr(got, part) == NULL) {
    check_fail(file, line, "%s is \"%s\", which does not contain \"%s\"", what,
               got != NULL ? got : "(NULL)", part);
  }
}

static inline void check_status(const char *file, int line, const char *what, blis_status got,
                                blis_status expected) {
  if (got != expected) {
    check_fail(file, line, "%s is \"%s\", expected \"%s\"", what, blis_status_text(got),
               blis_status_text(expected));
  }
}

static inline void check_run(const char *name, void (*test)(void)) {
  check_name = name;
  test();
  check_count++;
  printf("ok %d - %s\n", check_count, name);
  fflush(stdout);
}

static inline int check_done(void) {
  printf("1..%d\n", check_count);
  return 0;
}

#endif
