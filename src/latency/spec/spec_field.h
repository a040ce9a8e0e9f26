/*
 * spec_field.h - tables of the fields of a description (a model or a GPU), for YAML files, scripts,
 * and printed tables.
 *
 * A table is constant and in display order.
 */
#ifndef BLIS_LATENCY_SPEC_SPEC_FIELD_H
#define BLIS_LATENCY_SPEC_SPEC_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum blis_spec_kind {
  BLIS_SPEC_INTEGER, /* int64_t */
  BLIS_SPEC_NUMBER,  /* double */
  BLIS_SPEC_FLAG,    /* bool */
  BLIS_SPEC_TEXT     /* char[size], zero-terminated */
} blis_spec_kind;

typedef struct blis_spec_field {
  const char *name;
  blis_spec_kind kind;
  size_t offset; /* within the description */
  size_t size;   /* size of the member, in bytes */
} blis_spec_field;

/* A table entry for a member of struct type. */
#define BLIS_SPEC_FIELD(type, member, kind)                                                        \
  { #member, kind, offsetof(type, member), sizeof(((type *)0)->member) }

/* Returns the field with this name, or NULL. */
const blis_spec_field *blis_spec_find(const blis_spec_field *fields, size_t count,
                                      const char *name);

/*
 * Stores a number in an integer, number, or flag member of *spec. An integer must be whole with a
 * magnitude of at most 2^53, and a flag must be 0 or 1. BLIS_ERR_INVALID names the field and the
 * value, and leaves *spec unchanged.
 */
BLIS_MUSTUSE blis_status blis_spec_set_number(void *spec, const blis_spec_field *field,
                                              double value, blis_error *error);

/* Stores a string in a string member. BLIS_ERR_INVALID if it is too long. */
BLIS_MUSTUSE blis_status blis_spec_set_text(void *spec, const blis_spec_field *field,
                                            const char *text, blis_error *error);

/* Returns the value of an integer, number, or flag member. */
double blis_spec_get_number(const void *spec, const blis_spec_field *field);

/* Returns the value of a string member, valid as long as *spec. */
const char *blis_spec_get_text(const void *spec, const blis_spec_field *field);

/*
 * Collects all errors of a description, so that the user gets one message. Zero it before use. If
 * the text is full, it is truncated.
 */
typedef struct blis__problems {
  char text[400];
  size_t length;
} blis__problems;

void blis__problems_add(blis__problems *problems, const char *format, ...) BLIS_PRINTF(2, 3);

/*
 * Returns BLIS_OK without problems; otherwise BLIS_ERR_INVALID with the message "<kind> <name>:
 * ...".
 */
BLIS_MUSTUSE blis_status blis__problems_status(const blis__problems *problems, const char *kind,
                                               const char *name, blis_error *error);

#endif
