/*
 * json_twins.h - the same text read by blis and by jansson: both refuse it, or
 * both make the same tree of it.
 */
#ifndef BLIS_JSON_TWINS_H
#define BLIS_JSON_TWINS_H

#include <float.h>
#include <string.h>

#include <jansson.h>

#include "base/format/json.h"

static inline bool json_twins_equal(blis_json_value ours, json_t *theirs);

static inline bool json_twins_same_items(blis_json_value ours, json_t *theirs) {
  size_t count = json_array_size(theirs);
  bool is_same = blis_json_count(ours) == count;
  for (size_t i = 0; is_same && i < count; i++) {
    is_same = json_twins_equal(blis_json_item(ours, i), json_array_get(theirs, i));
  }
  return is_same;
}

/* Members have the same order, and each is found by its key. */
static inline bool json_twins_same_members(blis_json_value ours, json_t *theirs) {
  const char *key = NULL;
  blis_json_value member;
  void *place = json_object_iter(theirs);
  while (blis_json_next(ours, &key, &member)) {
    if (place == NULL || strcmp(key, json_object_iter_key(place)) != 0 ||
        blis_json_member(ours, key).node != member.node ||
        !json_twins_equal(member, json_object_iter_value(place))) {
      return false;
    }
    place = json_object_iter_next(theirs, place);
  }
  return place == NULL && blis_json_count(ours) == json_object_size(theirs);
}

static inline bool json_twins_same_text(blis_json_value ours, json_t *theirs) {
  blis_slice text;
  size_t length = json_string_length(theirs);
  return blis_json_text(ours, &text, NULL) == BLIS_OK && text.length == length &&
         text.data[length] == '\0' && memcmp(text.data, json_string_value(theirs), length) == 0;
}

static inline bool json_twins_equal(blis_json_value ours, json_t *theirs) {
  int64_t whole;
  double real;
  bool flag;
  blis_json_type type = blis_json_type_of(ours);
  switch (json_typeof(theirs)) {
  case JSON_OBJECT:
    return type == BLIS_JSON_OBJECT && json_twins_same_members(ours, theirs);
  case JSON_ARRAY:
    return type == BLIS_JSON_ARRAY && json_twins_same_items(ours, theirs);
  case JSON_STRING:
    return type == BLIS_JSON_TEXT && json_twins_same_text(ours, theirs);
  case JSON_INTEGER:
    return type == BLIS_JSON_INTEGER &&
           blis_json_int64(ours, INT64_MIN, INT64_MAX, &whole, NULL) == BLIS_OK &&
           whole == json_integer_value(theirs);
  case JSON_REAL: {
    double expected = json_real_value(theirs);
    return type == BLIS_JSON_REAL &&
           blis_json_double(ours, -DBL_MAX, DBL_MAX, &real, NULL) == BLIS_OK &&
           memcmp(&real, &expected, sizeof real) == 0;
  }
  case JSON_TRUE:
  case JSON_FALSE:
    return blis_json_bool(ours, &flag, NULL) == BLIS_OK && flag == json_is_true(theirs);
  case JSON_NULL:
    break;
  }
  return type == BLIS_JSON_NULL;
}

/* Whether ours refuses what theirs takes: zero bytes behind a number. */
static inline bool json_twins_has_zero(blis_slice text, const blis_error *error) {
  return memchr(text.data, '\0', text.length) != NULL &&
         strstr(error->message, "contains a zero byte") != NULL;
}

/* Parses the text into json; whether jansson says the same of it. */
static inline bool json_twins_agree(blis_json *json, blis_slice text, blis_status *status) {
  blis_error error;
  json_error_t fault;
  *status = blis_json_parse(json, "text", 1, text, &error);
  json_t *theirs = json_loadb(text.length > 0 ? text.data : "", text.length,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
  bool is_same = *status == BLIS_OK
                     ? theirs != NULL && json_twins_equal(blis_json_root(json), theirs)
                 : theirs == NULL ? strstr(error.message, fault.text) != NULL
                                  : json_twins_has_zero(text, &error);
  json_decref(theirs);
  return is_same;
}

#endif
