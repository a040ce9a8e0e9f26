/*
 * step_cache.h - a cache of tabulated composed models, indexed by all their inputs, so that the
 * runs of a sweep build each table only once.
 *
 * It contains the last BLIS__STEP_CACHE_SIZE models. A cached model is bit-identical to a new one.
 */
#ifndef BLIS_LATENCY_COMPOSED_STEP_CACHE_H
#define BLIS_LATENCY_COMPOSED_STEP_CACHE_H

#include <stdint.h>

#include "base/alloc.h"
#include "latency/composed/composed.h"

enum { BLIS__STEP_CACHE_SIZE = 16 };

typedef struct blis_step_cache blis_step_cache;

/* Copies *alloc. NULL = out of memory. */
blis_step_cache *blis_step_cache_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_step_cache_free(blis_step_cache *cache);

/*
 * Returns a hash of a setup. The overlay is not included, so the caller must use a hash of the
 * overlay's inputs as the seed.
 */
uint64_t blis__setup_hash(const blis__composed_setup *setup, uint64_t seed);

/* Returns the state of the model that was stored with this hash, or NULL. It is valid until the
   next blis__step_cache_keep. */
const void *blis__step_cache_find(const blis_step_cache *cache, uint64_t hash);

/*
 * Stores a copy of the state of a model from blis__composed_new. If memory is exhausted, stores
 * nothing.
 */
void blis__step_cache_keep(blis_step_cache *cache, uint64_t hash, const blis_latency_model *model);

#endif
