/*
 * sizes.h - the sizes that all layers of a config.json share.
 */
#ifndef BLIS_LATENCY_CONFIG_SIZES_H
#define BLIS_LATENCY_CONFIG_SIZES_H

#include "latency/config/values.h"

typedef struct blis__sizes {
  int64_t layers;
  int64_t hidden;
  int64_t vocabulary;
  int64_t max_tokens; /* 0 = not stated */
  bool has_tied_embeddings;
} blis__sizes;

/* Reads the sizes. Errors are stored in config. */
blis__sizes blis__sizes_read(blis__config *config);

/* Returns the maximum sequence length, including position scaling; 0 = not stated. */
int64_t blis__config_max_tokens(blis__config *config);

/* Maximum number of layers of a model. */
enum { BLIS__LAYERS_MAX = 4096 };

#endif
