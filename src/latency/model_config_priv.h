/*
 * model_config_priv.h - how the parts of the config.json reader look at it.
 */
#ifndef BLIS_LATENCY_MODEL_CONFIG_PRIV_H
#define BLIS_LATENCY_MODEL_CONFIG_PRIV_H

#include "base/json.h"
#include "latency/model_config.h"

typedef struct blis__config {
  const char *source; /* for messages */
  blis_json_value root;
  blis_json_value text; /* text_config, or missing */
} blis__config;

/* A member, from text_config when it is there. */
blis_json_value blis__config_member(const blis__config *config,
                                    const char *key);

/* A number truncated toward zero; 0 for anything else. */
int64_t blis__config_truncated(blis_json_value value);

/* A number; 0 for anything else. */
double blis__config_number(blis_json_value value);

/* A text; "" for anything else. */
const char *blis__config_text(blis_json_value value);

/* Weight bytes and quantization method. */
void blis__config_read_precision(const blis__config *config,
                                 blis_model_spec *spec);

/* The longest sequence, with the scaling of rotary embeddings. */
BLIS_MUSTUSE blis_status blis__config_read_context(const blis__config *config,
                                                   blis_model_spec *spec,
                                                   blis_error *error);

#endif
