/*
 * step_cache.h - tabulated composed models by all of their inputs, so that the runs of a sweep
 * tabulate once.
 *
 * It contains the last BLIS__STEP_CACHE_SIZE models. A model of the cache equals a new one bit for
 * bit.
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
 * A hash of a setup. The overlay is not part of it: the caller uses the hash of the overlay's
 * inputs as the seed.
 */
uint64_t blis__setup_hash(const blis__composed_setup *setup, uint64_t seed);

/* The state of the model that was kept under a hash, or NULL. It lives until the next
   blis__step_cache_keep. */
const void *blis__step_cache_find(const blis_step_cache *cache, uint64_t hash);

/* Keeps a copy of the state of a model of blis__composed_new. Without memory, keeps nothing. */
void blis__step_cache_keep(blis_step_cache *cache, uint64_t hash, const blis_latency_model *model);

#endif
