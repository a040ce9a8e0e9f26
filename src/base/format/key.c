#include "base/format/key.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"

blis_expectation blis_key_expectation(const blis_key *key) {
  blis_expectation expected;
  const char *kind = key->is_whole ? "an integer" : "a number";
  blis_shown_double low = blis_show_double(key->minimum);
  blis_shown_double high = blis_show_double(key->maximum);
  bool has_low = isfinite(key->minimum);
  bool has_high = isfinite(key->maximum);
  const char *from = key->is_above ? " above " : has_high ? " from " : " of at least ";
  const char *to = !has_low ? " of at most " : key->is_above ? " and up to " : " to ";
  snprintf(expected.text, sizeof expected.text, "%s%s%s%s%s", kind, has_low ? from : "",
           has_low ? low.text : "", has_high ? to : "", has_high ? high.text : "");
  return expected;
}

static bool is_in_range(const blis_key *key, double value) {
  return value <= key->maximum && (key->is_above ? value > key->minimum : value >= key->minimum);
}

static blis_status fail(const blis_key *key, const char *where, const char *value,
                        blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID, "%s%s is %s; expected %s", where, key->name, value,
                   blis_key_expectation(key).text);
}

blis_status blis_key_check_integer(const blis_key *key, const char *where, int64_t value,
                                   blis_error *error) {
  if (is_in_range(key, (double)value)) {
    return BLIS_OK;
  }
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, value);
  return fail(key, where, text, error);
}

blis_status blis_key_check_number(const blis_key *key, const char *where, double value,
                                  blis_error *error) {
  bool is_valid =
      isfinite(value) && is_in_range(key, value) && (!key->is_whole || value == floor(value));
  return is_valid ? BLIS_OK : fail(key, where, blis_show_double(value).text, error);
}

int blis_key_choice(const char *choices, const char *word) {
  size_t length = strlen(word);
  int index = 0;
  for (const char *p = choices;; index++) {
    size_t part = strcspn(p, "|");
    if (part == length && memcmp(p, word, length) == 0) {
      return index;
    }
    if (p[part] == '\0') {
      return -1;
    }
    p += part + 1;
  }
}

blis_status blis_key_check_choice(const blis_key *key, const char *where, const char *word,
                                  blis_error *error) {
  if (blis_key_choice(key->choices, word) >= 0) {
    return BLIS_OK;
  }
  char words[256];
  snprintf(words, sizeof words, "%s", key->choices);
  blis_nearest nearest = {.wanted = word};
  for (char *p = words; p != NULL;) {
    char *bar = strchr(p, '|');
    if (bar != NULL) {
      *bar++ = '\0';
    }
    blis_nearest_offer(&nearest, p);
    p = bar;
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%sunknown %s '%.100s'%s", where, key->name, word,
                   blis_nearest_suggest(&nearest).text);
}
