/*
 * layer_reader.h - the values of one layer of a config.json, for the readers of its two parts.
 */
#ifndef BLIS_LATENCY_CONFIG_LAYER_READER_H
#define BLIS_LATENCY_CONFIG_LAYER_READER_H

#include "latency/config/sizes.h"

typedef struct blis__layer_reader {
  blis__config *config;
  const blis__sizes *sizes;
  int64_t layer; /* from 0 */
} blis__layer_reader;

/* blis__config_size of this layer. */
static inline int64_t blis__layer_size(const blis__layer_reader *r, const blis__keys *keys) {
  return blis__config_size(r->config, keys, r->layer, r->sizes->layers);
}

/* blis__config_need of this layer. */
static inline int64_t blis__layer_need(const blis__layer_reader *r, const blis__keys *keys) {
  return blis__config_need(r->config, keys, r->layer, r->sizes->layers);
}

#endif
