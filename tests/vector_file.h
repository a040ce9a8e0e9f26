/*
 * vector_file.h - JSON files of test vectors: members by name, with a default
 * where they may be missing, and a failed check where they may not.
 */
#ifndef BLIS_VECTOR_FILE_H
#define BLIS_VECTOR_FILE_H

#include <jansson.h>

#include "check.h"

typedef json_t vector_value;

typedef struct vector_file {
  vector_value *root;
} vector_file;

static inline void vector_open(vector_file *file, const char *path) {
  json_error_t error;
  file->root = json_load_file(path, 0, &error);
  if (file->root == NULL) {
    check_fail(__FILE__, __LINE__, "%s:%d: %s", path, error.line, error.text);
  }
}

static inline void vector_close(vector_file *file) {
  json_decref(file->root);
}

static inline const vector_value *vector_member(const vector_value *object,
                                                const char *key) {
  const vector_value *member = json_object_get(object, key);
  if (member == NULL) {
    check_fail(__FILE__, __LINE__, "there is no \"%s\"", key);
  }
  return member;
}

static inline int64_t vector_int(const vector_value *object, const char *key,
                                 int64_t missing) {
  const vector_value *member = json_object_get(object, key);
  return member == NULL ? missing : (int64_t)json_integer_value(member);
}

static inline double vector_double(const vector_value *object, const char *key,
                                   double missing) {
  const vector_value *member = json_object_get(object, key);
  return member == NULL ? missing : json_number_value(member);
}

static inline const char *vector_text(const vector_value *object,
                                      const char *key) {
  return json_string_value(vector_member(object, key));
}

static inline size_t vector_count(const vector_value *list) {
  return json_array_size(list);
}

static inline const vector_value *vector_item(const vector_value *list,
                                              size_t index) {
  return json_array_get(list, index);
}

/* Copies a list of at most max numbers; returns how many there are. */
static inline size_t vector_doubles(const vector_value *object,
                                    const char *key, double *values,
                                    size_t max) {
  const vector_value *list = vector_member(object, key);
  CHECK(vector_count(list) <= max);
  for (size_t i = 0; i < vector_count(list); i++) {
    values[i] = json_number_value(vector_item(list, i));
  }
  return vector_count(list);
}

#endif
