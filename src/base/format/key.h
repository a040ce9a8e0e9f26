/*
 * key.h - the description of a named value that a user may set: its type, its range, and its
 * meaning. Parsing, checks, lists, and reference pages are all based on this description.
 */
#ifndef BLIS_BASE_FORMAT_KEY_H
#define BLIS_BASE_FORMAT_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct blis_key {
  const char *name;
  double minimum;
  double maximum;      /* INFINITY: limited only by the type */
  bool is_above;       /* the value must be greater than the minimum */
  bool is_whole;       /* an integer */
  const char *choices; /* allowed words, "a|b|c"; NULL = any value */
  const char *usual;   /* default word; NULL = no default */
  const char *unit;    /* "" or NULL without a unit */
  const char *summary;
} blis_key;

/* The expected value in messages: "an integer from 0 to 5". */
typedef struct blis_expectation {
  char text[128];
} blis_expectation;

blis_expectation blis_key_expectation(const blis_key *key);

/*
 * For BLIS_ERR_INVALID, the message is "<where><name> is 7; expected an integer from 0 to 5".
 * Numbers must be finite.
 */
BLIS_MUSTUSE blis_status blis_key_check_integer(const blis_key *key, const char *where,
                                                int64_t value, blis_error *error);
BLIS_MUSTUSE blis_status blis_key_check_number(const blis_key *key, const char *where, double value,
                                               blis_error *error);

/* Like blis_key_check_number, for a word; BLIS_ERR_INVALID suggests the nearest word. */
BLIS_MUSTUSE blis_status blis_key_check_choice(const blis_key *key, const char *where,
                                               const char *word, blis_error *error);

/* Returns the index of word in choices ("a|b|c"), or -1. */
int blis_key_choice(const char *choices, const char *word);

#endif
