#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

const char *blis_status_text(blis_status status) {
  switch (status) {
#define XX(name, code, text)                                                                       \
  case BLIS_##name:                                                                                \
    return text;
    BLIS_STATUS_MAP(XX)
#undef XX
  }
  return "unknown status";
}

/* The name is in parentheses because error.h wraps both functions in macros for the analyzer. */
blis_status(blis_fail)(blis_error *error, blis_status status, const char *format, ...) {
  if (error != NULL) {
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

blis_status(blis_fail_nomem)(blis_error *error) {
  return blis_fail(error, BLIS_ERR_NOMEM, "%s", blis_status_text(BLIS_ERR_NOMEM));
}
