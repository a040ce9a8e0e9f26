/*
 * values.h - finds the values of a config.json in all the places where publishers put them.
 *
 * A key is looked up in the text part (text_config, llm_config, language_config, or
 * thinker_config.text_config), then in the root, then in the nested objects of DBRX and of
 * params.json (Mistral). null counts as missing. Missing values are filled from the defaults of the
 * model's class (class_defaults.h), because transformers omits values that equal these defaults.
 *
 * The first error is kept. Later calls return 0, and the caller checks `status` at the end. *error
 * is filled only once.
 */
#ifndef BLIS_LATENCY_CONFIG_VALUES_H
#define BLIS_LATENCY_CONFIG_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/format/json.h"

typedef struct blis__config {
  const char *source; /* for messages */
  blis_json_value root;
  blis_json_value text;
  const char *type;   /* model_type of the text part, or of the root; "" = not stated */
  char defaults[192]; /* sizes filled from class defaults: "head_dim 128, ..." */
  blis_status status;
  blis_error *error;
} blis__config;

/* A list of at most eight synonyms. The first key that is present is used. */
typedef struct blis__keys {
  const char *names[8];
} blis__keys;
#define BLIS__KEYS(...) (&(const blis__keys){{__VA_ARGS__}})

/* Opens the tree of a config.json. BLIS_ERR_PARSE unless the root is an object. */
blis__config blis__config_open(const char *source, blis_json_value root, blis_error *error);

/* Returns the member, or a missing value. */
blis_json_value blis__config_member(const blis__config *config, const char *key);

/* Returns whether the member is present and not null. */
bool blis__config_has(const blis__config *config, const char *key);

/* Returns whether the key is present, even with the value null. */
bool blis__config_states(const blis__config *config, const char *key);

/*
 * Returns a size: a whole number from 0 to 2^31 - 1. For a list with one item for each of `layers`
 * layers, returns the item of `layer`. For any other list, returns the first item. If the value is
 * null or 0, the next key is tried, with 0 as the last resort. If no key is present, returns the
 * default of the class, or 0. For a value of another type, the error names the key.
 */
int64_t blis__config_size(blis__config *config, const blis__keys *keys, int64_t layer,
                          int64_t layers);

/* Like blis__config_size, without a layer. */
int64_t blis__config_whole(blis__config *config, const blis__keys *keys);

/* Returns a size that must be positive; otherwise, the error names the first key. */
int64_t blis__config_need(blis__config *config, const blis__keys *keys, int64_t layer,
                          int64_t layers);

/* Records that the default of the class was used for a size, for a note of the model. */
void blis__config_assume(blis__config *config, const char *key, int64_t size);

/* Checks that a value that was already read is positive; otherwise, the error names the key. */
void blis__config_require(blis__config *config, const char *key, int64_t value);

/* Returns a flag, or `absent` if it is missing or has another type. */
bool blis__config_flag(const blis__config *config, const char *key, bool absent);

/* Returns a string; "" for values of other types. */
const char *blis__config_text(const blis__config *config, const char *key);

/* Returns whether the model's type begins with the prefix. */
bool blis__config_is(const blis__config *config, const char *prefix);

/* Stores an error, unless one is already stored. The message begins with the source. */
void blis__config_fail(blis__config *config, const char *format, ...) BLIS_PRINTF(2, 3);

/*
 * Returns an integer, limited to 32 bits so that products stay exact; `absent` for all other
 * values.
 */
int64_t blis__whole_of(blis_json_value value, int64_t absent);

/* Returns a string, or "". */
const char *blis__text_of(blis_json_value value);

/* Returns a number, or 0. */
double blis__number_of(blis_json_value value);

#endif
