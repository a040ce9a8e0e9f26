#include "latency/spec/spec_field.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* Every integer up to this is exact in a double. */
#define WHOLE_MAX 9007199254740992.0

const blis_spec_field *blis_spec_find(const blis_spec_field *fields, size_t count,
                                      const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(fields[i].name, name) == 0) {
      return &fields[i];
    }
  }
  return NULL;
}

static void *member_of(void *spec, const blis_spec_field *field) {
  return (char *)spec + field->offset;
}

static const void *const_member_of(const void *spec, const blis_spec_field *field) {
  return (const char *)spec + field->offset;
}

static blis_status set_integer(int64_t *member, const blis_spec_field *field, double value,
                               blis_error *error) {
  if (!(fabs(value) <= WHOLE_MAX) || value != trunc(value)) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s must be a whole number, got %s", field->name,
                     blis_show_double(value).text);
  }
  *member = (int64_t)value;
  return BLIS_OK;
}

static blis_status set_flag(bool *member, const blis_spec_field *field, double value,
                            blis_error *error) {
  if (value != 0.0 && value != 1.0) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s must be true or false, got %s", field->name,
                     blis_show_double(value).text);
  }
  *member = value != 0.0;
  return BLIS_OK;
}

blis_status blis_spec_set_number(void *spec, const blis_spec_field *field, double value,
                                 blis_error *error) {
  switch (field->kind) {
  case BLIS_SPEC_INTEGER:
    return set_integer(member_of(spec, field), field, value, error);
  case BLIS_SPEC_FLAG:
    return set_flag(member_of(spec, field), field, value, error);
  case BLIS_SPEC_NUMBER:
    if (!isfinite(value)) {
      return blis_fail(error, BLIS_ERR_INVALID, "%s must be a finite number, got %g", field->name,
                       value);
    }
    *(double *)member_of(spec, field) = value;
    return BLIS_OK;
  case BLIS_SPEC_TEXT:
    break;
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s must be a string, got the number %s", field->name,
                   blis_show_double(value).text);
}

blis_status blis_spec_set_text(void *spec, const blis_spec_field *field, const char *text,
                               blis_error *error) {
  if (field->kind != BLIS_SPEC_TEXT) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s must be a number, got '%.60s'", field->name,
                     text);
  }
  size_t length = strlen(text);
  if (length >= field->size) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s is longer than %zu characters: '%.60s...'",
                     field->name, field->size - 1, text);
  }
  memcpy(member_of(spec, field), text, length + 1);
  return BLIS_OK;
}

double blis_spec_get_number(const void *spec, const blis_spec_field *field) {
  const void *member = const_member_of(spec, field);
  switch (field->kind) {
  case BLIS_SPEC_INTEGER:
    return (double)*(const int64_t *)member;
  case BLIS_SPEC_NUMBER:
    return *(const double *)member;
  case BLIS_SPEC_FLAG:
    return *(const bool *)member ? 1.0 : 0.0;
  case BLIS_SPEC_TEXT:
    break;
  }
  return 0.0;
}

const char *blis_spec_get_text(const void *spec, const blis_spec_field *field) {
  return field->kind == BLIS_SPEC_TEXT ? const_member_of(spec, field) : "";
}

void blis__problems_add(blis__problems *problems, const char *format, ...) {
  size_t room = sizeof problems->text - problems->length;
  char *end = problems->text + problems->length;
  if (problems->length > 0) {
    int written = snprintf(end, room, "; ");
    size_t used = (size_t)written < room ? (size_t)written : room - 1;
    end += used;
    room -= used;
  }
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(end, room, format, arguments);
  va_end(arguments);
  problems->length = strlen(problems->text);
}

blis_status blis__problems_status(const blis__problems *problems, const char *kind,
                                  const char *name, blis_error *error) {
  if (problems->length == 0) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s %s: %s", kind, name[0] == '\0' ? "(unnamed)" : name,
                   problems->text);
}
