/*
 * error.h - status codes and error messages of core functions.
 *
 * Functions that can fail return a blis_status and take a blis_error, which the caller owns. It may
 * be NULL if the caller does not need the message. The message states the problem, the location,
 * the value, and the expected input. For a fault in a file it starts with the location
 * ("trace.csv:17: ...").
 */
#ifndef BLIS_BASE_ERROR_H
#define BLIS_BASE_ERROR_H

#define BLIS_STATUS_MAP(XX)                                                                        \
  XX(OK, 0, "ok")                                                                                  \
  XX(ERR_NOMEM, -1, "out of memory")                                                               \
  XX(ERR_INVALID, -2, "invalid value")                                                             \
  XX(ERR_PARSE, -3, "malformed input")                                                             \
  XX(ERR_IO, -4, "input or output failed")                                                         \
  XX(ERR_STUCK, -5, "the simulation makes no progress")                                            \
  XX(ERR_POLICY, -6, "a policy failed")                                                            \
  XX(ERR_INTERRUPTED, -7, "interrupted")

typedef enum blis_status {
#define XX(name, code, text) BLIS_##name = (code),
  BLIS_STATUS_MAP(XX)
#undef XX
} blis_status;

#if defined(__GNUC__)
#define BLIS_MUSTUSE __attribute__((warn_unused_result))
#define BLIS_PRINTF(text_index, first_index)                                                       \
  __attribute__((format(printf, text_index, first_index)))
#else
#define BLIS_MUSTUSE
#define BLIS_PRINTF(text_index, first_index)
#endif

typedef struct blis_error {
  blis_status status;
  char message[512]; /* longer text is truncated */
} blis_error;

/* Static storage; never NULL. */
const char *blis_status_text(blis_status status);

/*
 * Fills *error (if not NULL) and returns status, so that one line reports a failure: return
 * blis_fail(error, BLIS_ERR_PARSE, "%s:%d: ...", path, line);
 */
blis_status blis_fail(blis_error *error, blis_status status, const char *format, ...)
    BLIS_PRINTF(3, 4);

/* Like blis_fail, for exhausted memory, which is the only failure without details. */
blis_status blis_fail_nomem(blis_error *error);

#ifdef __clang_analyzer__
/* Shows the analyzer that a failure never returns BLIS_OK. */
#define blis_fail(error, status, ...) (blis_fail((error), (status), __VA_ARGS__), (status))
#define blis_fail_nomem(error) (blis_fail_nomem(error), BLIS_ERR_NOMEM)
#endif

/*
 * A function that returns a blis_status and takes no blis_error can fail only if memory is
 * exhausted. The same applies to a function that returns NULL and takes no blis_error. The caller
 * reports this failure with BLIS_TRY_MEM or BLIS_TRY_NEW.
 */
#define BLIS_TRY_MEM(expression, error)                                                            \
  do {                                                                                             \
    if ((expression) != BLIS_OK) {                                                                 \
      return blis_fail_nomem(error);                                                               \
    }                                                                                              \
  } while (0)

#define BLIS_TRY_NEW(pointer, error)                                                               \
  do {                                                                                             \
    if ((pointer) == NULL) {                                                                       \
      return blis_fail_nomem(error);                                                               \
    }                                                                                              \
  } while (0)

/* Returns a failure to the caller. */
#define BLIS_TRY(expression)                                                                       \
  do {                                                                                             \
    blis_status blis_try_status = (expression);                                                    \
    if (blis_try_status != BLIS_OK) {                                                              \
      return blis_try_status;                                                                      \
    }                                                                                              \
  } while (0)

#endif
