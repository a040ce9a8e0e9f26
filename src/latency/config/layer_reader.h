/*
 * layer_reader.h - reads the values of one layer of a config.json, for attention.c and
 * feed_forward.c.
 */
#ifndef BLIS_LATENCY_CONFIG_LAYER_READER_H
#define BLIS_LATENCY_CONFIG_LAYER_READER_H

#include "latency/config/sizes.h"

typedef struct blis__layer_reader {
  blis__config *config;
  const blis__sizes *sizes;
  int64_t layer; /* from 0 */
} blis__layer_reader;

/* Returns blis__config_size for this layer. */
static inline int64_t blis__layer_size(const blis__layer_reader *r, const blis__keys *keys) {
  return blis__config_size(r->config, keys, r->layer, r->sizes->layers);
}

/* Returns blis__config_need for this layer. */
static inline int64_t blis__layer_need(const blis__layer_reader *r, const blis__keys *keys) {
  return blis__config_need(r->config, keys, r->layer, r->sizes->layers);
}

#endif
