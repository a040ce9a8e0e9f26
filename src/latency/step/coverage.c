#include "latency/step/coverage.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"

#define FIELD(member, kind) BLIS_SPEC_FIELD(blis_coverage, member, kind)

const blis_spec_field *blis_coverage_fields(size_t *count) {
  static const blis_spec_field FIELDS[] = {
      FIELD(fitted_on, BLIS_SPEC_TEXT),        FIELD(extrapolated, BLIS_SPEC_FLAG),
      FIELD(parameters_min, BLIS_SPEC_NUMBER), FIELD(parameters_max, BLIS_SPEC_NUMBER),
      FIELD(tp_max, BLIS_SPEC_INTEGER),        FIELD(tokens_max, BLIS_SPEC_INTEGER),
      FIELD(requests_max, BLIS_SPEC_INTEGER),  FIELD(context_max, BLIS_SPEC_INTEGER),
  };
  *count = sizeof FIELDS / sizeof *FIELDS;
  return FIELDS;
}

int64_t blis_coverage_beyond(const blis_coverage *coverage, int64_t decodes, int64_t context,
                             int64_t count) {
  blis_batch_sums sums = {
      .requests = decodes, .decode_requests = decodes, .decode_context_tokens = context};
  if (count <= 0 || blis_coverage_is_beyond(coverage, &sums)) {
    return blis_max_i64(count, 0); /* contexts only grow, so all steps exceed the limit */
  }
  if (coverage->context_max == 0) {
    return 0;
  }
  /* Step i has the total context (context + i * decodes). It is within the limit while this is at
     most context_max * decodes. */
  int64_t within = coverage->context_max - (context + decodes - 1) / decodes;
  return blis_max_i64(count - 1 - within, 0);
}

/* A list of phrases in a bounded text. Text that does not fit is truncated. */
typedef struct phrases {
  char *text;
  size_t size;
} phrases;

BLIS_PRINTF(2, 3)
static void say(const phrases *list, const char *format, ...) {
  size_t used = strlen(list->text);
  if (used > 0 && used + sizeof ", " < list->size) {
    used += (size_t)snprintf(list->text + used, list->size - used, ", ");
  }
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(list->text + used, list->size - used, format, arguments);
  va_end(arguments);
}

bool blis_coverage_lacks(const blis_coverage *coverage, double parameters, int64_t tp, char *text,
                         size_t size) {
  const phrases list = {text, size};
  text[0] = '\0';
  if (coverage->parameters_max > 0.0 && parameters > coverage->parameters_max) {
    say(&list, "%.3gB parameters (fitted up to %.3gB)", parameters / 1e9,
        coverage->parameters_max / 1e9);
  }
  if (parameters < coverage->parameters_min) {
    say(&list, "%.3gB parameters (fitted from %.3gB on)", parameters / 1e9,
        coverage->parameters_min / 1e9);
  }
  if (coverage->tp_max > 0 && tp > coverage->tp_max) {
    say(&list, "TP %" PRId64 " (fitted up to %" PRId64 ")", tp, coverage->tp_max);
  }
  return text[0] != '\0';
}

void blis_coverage_describe(const blis_coverage *coverage, char *text, size_t size) {
  const phrases list = {text, size};
  text[0] = '\0';
  if (coverage->parameters_max > 0.0) {
    say(&list, "models of %.3gB to %.3gB parameters", coverage->parameters_min / 1e9,
        coverage->parameters_max / 1e9);
  }
  if (coverage->tp_max > 0) {
    say(&list, "TP up to %" PRId64, coverage->tp_max);
  }
  if (coverage->tokens_max > 0) {
    say(&list, "up to %" PRId64 " tokens a step", coverage->tokens_max);
  }
  if (coverage->requests_max > 0) {
    say(&list, "up to %" PRId64 " requests a step", coverage->requests_max);
  }
  if (coverage->context_max > 0) {
    say(&list, "up to %" PRId64 " tokens of context", coverage->context_max);
  }
}
