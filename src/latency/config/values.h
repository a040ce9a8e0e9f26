/*
 * values.h - the values of a config.json, wherever publishers put them.
 *
 * A key is looked up in the text part (text_config, llm_config, language_config, or
 * thinker_config.text_config), then in the root, then in the nested objects of DBRX and of
 * params.json (Mistral). A value of null counts as absent. A value that no key states is filled
 * from the defaults of the model's class (class_defaults.h), because transformers omits values that
 * equal them.
 *
 * The first error sticks: later calls return 0, and the caller checks `status` at the end. *error
 * is filled once.
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
  char defaults[192]; /* sizes that the defaults of the class filled in: "head_dim 128, ..." */
  blis_status status;
  blis_error *error;
} blis__config;

/* A list of at most eight synonyms; the first key that is present counts. */
typedef struct blis__keys {
  const char *names[8];
} blis__keys;
#define BLIS__KEYS(...) (&(const blis__keys){{__VA_ARGS__}})

/* Opens the tree of a config.json. BLIS_ERR_PARSE unless the root is an object. */
blis__config blis__config_open(const char *source, blis_json_value root, blis_error *error);

/* The member, or missing. */
blis_json_value blis__config_member(const blis__config *config, const char *key);

/* True when the member is present and not null. */
bool blis__config_has(const blis__config *config, const char *key);

/* Returns true if the key is present, even with the value null. */
bool blis__config_states(const blis__config *config, const char *key);

/*
 * Returns a size: a whole number from 0 to 2^31 - 1. For a list with an item for
 * every one of `layers` layers, it is the item of `layer`; for another list, the
 * first item. null and 0 give the value of the next key, or 0. If no key is stated,
 * the default of the class, or 0. A value of another type is an error that names
 * the key.
 */
int64_t blis__config_size(blis__config *config, const blis__keys *keys, int64_t layer,
                          int64_t layers);

/* blis__config_size without a layer. */
int64_t blis__config_whole(blis__config *config, const blis__keys *keys);

/* A size that must be positive: an error names the first key. */
int64_t blis__config_need(blis__config *config, const blis__keys *keys, int64_t layer,
                          int64_t layers);

/* Remembers that the default of the class stands in for a size, for a note of the model. */
void blis__config_assume(blis__config *config, const char *key, int64_t size);

/* A value that was read already must be positive: an error names the key. */
void blis__config_require(blis__config *config, const char *key, int64_t value);

/* A flag; another type counts as absent. */
bool blis__config_flag(const blis__config *config, const char *key, bool absent);

/* Returns a string; "" for values of other types. */
const char *blis__config_text(const blis__config *config, const char *key);

/* True when the model's type begins with the prefix. */
bool blis__config_is(const blis__config *config, const char *prefix);

/* Stores an error, unless one is already stored. The message begins with the source. */
void blis__config_fail(blis__config *config, const char *format, ...) BLIS_PRINTF(2, 3);

/* A whole number, limited to 32 bits so that products stay exact; `absent` for everything else. */
int64_t blis__whole_of(blis_json_value value, int64_t absent);

/* Returns a string, or "". */
const char *blis__text_of(blis_json_value value);

/* A number, or 0. */
double blis__number_of(blis_json_value value);

#endif
