/*
 * vector_file.h - JSON files of test vectors: members by name, with a default
 * where they may be missing, and a failed check where they may not.
 */
#ifndef BLIS_VECTOR_FILE_H
#define BLIS_VECTOR_FILE_H

#include <math.h>

#include "base/format/json.h"
#include "check.h"

enum { VECTOR_FILE_MAX = 1 << 24 };

static inline void vector_open(blis_json *file, const blis_alloc *alloc, const char *path) {
  blis_error error;
  blis_json_init(file, alloc);
  CHECK_OK(blis_json_read_file(file, path, VECTOR_FILE_MAX, &error), &error);
}

static inline blis_json_value vector_member(blis_json_value object, const char *key) {
  blis_json_value member = blis_json_member(object, key);
  if (!blis_json_has(member)) {
    check_fail(__FILE__, __LINE__, "there is no \"%s\"", key);
  }
  return member;
}

static inline int64_t vector_int(blis_json_value object, const char *key, int64_t missing) {
  blis_json_value member = blis_json_member(object, key);
  blis_error error;
  if (blis_json_has(member)) {
    CHECK_OK(blis_json_int64(member, INT64_MIN, INT64_MAX, &missing, &error), &error);
  }
  return missing;
}

static inline double vector_number(blis_json_value value) {
  double number;
  blis_error error;
  CHECK_OK(blis_json_double(value, -HUGE_VAL, HUGE_VAL, &number, &error), &error);
  return number;
}

static inline double vector_double(blis_json_value object, const char *key, double missing) {
  blis_json_value member = blis_json_member(object, key);
  return blis_json_has(member) ? vector_number(member) : missing;
}

static inline const char *vector_text(blis_json_value object, const char *key) {
  blis_slice text;
  blis_error error;
  CHECK_OK(blis_json_text(vector_member(object, key), &text, &error), &error);
  return text.data;
}

/* Copies a list of at most max numbers; returns how many there are. */
static inline size_t vector_doubles(blis_json_value object, const char *key, double *values,
                                    size_t max) {
  blis_json_value list = vector_member(object, key);
  size_t count = blis_json_count(list);
  CHECK(count <= max);
  for (size_t i = 0; i < count; i++) {
    values[i] = vector_number(blis_json_item(list, i));
  }
  return count;
}

#endif
