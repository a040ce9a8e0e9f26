#include "latency/composed/step_cache.h"

#include <string.h>

#include "base/hash.h"

enum { LAYER_WORK_SIZE = 536, CONSTANTS_SIZE = 1424, SETUP_SIZE = 1544 };

typedef struct kept {
  uint64_t hash;
  void *state; /* NULL = unused */
} kept;

struct blis_step_cache {
  blis_alloc alloc;
  kept items[BLIS__STEP_CACHE_SIZE];
  size_t next; /* index of the oldest entry */
};

blis_step_cache *blis_step_cache_new(const blis_alloc *alloc) {
  blis_step_cache *cache = blis_alloc_zeroed(alloc, 1, sizeof *cache);
  if (cache != NULL) {
    cache->alloc = *alloc;
  }
  return cache;
}

void blis_step_cache_free(blis_step_cache *cache) {
  if (cache == NULL) {
    return;
  }
  blis_alloc alloc = cache->alloc;
  for (size_t i = 0; i < BLIS__STEP_CACHE_SIZE; i++) {
    blis_alloc_free(&alloc, cache->items[i].state, blis__composed_state_size());
  }
  blis_alloc_free(&alloc, cache, sizeof *cache);
}

const void *blis__step_cache_find(const blis_step_cache *cache, uint64_t hash) {
  for (size_t i = 0; cache != NULL && i < BLIS__STEP_CACHE_SIZE; i++) {
    if (cache->items[i].state != NULL && cache->items[i].hash == hash) {
      return cache->items[i].state;
    }
  }
  return NULL;
}

void blis__step_cache_keep(blis_step_cache *cache, uint64_t hash, const blis_latency_model *model) {
  if (cache == NULL) {
    return;
  }
  kept *place = &cache->items[cache->next];
  if (place->state == NULL) {
    place->state = blis_alloc_zeroed(&cache->alloc, 1, blis__composed_state_size());
  }
  if (place->state != NULL) {
    memcpy(place->state, model->state, blis__composed_state_size());
    place->hash = hash;
    cache->next = (cache->next + 1) % BLIS__STEP_CACHE_SIZE;
  }
}

/*
 * Structs have padding, so their members are hashed one by one as numbers. If you add a member to
 * these structs, also hash it, then update the sizes here.
 */
_Static_assert(sizeof(void *) != 8 || (sizeof(blis__layer_work) == LAYER_WORK_SIZE &&
                                       sizeof(blis__composed_constants) == CONSTANTS_SIZE &&
                                       sizeof(blis__composed_setup) == SETUP_SIZE),
               "a member may be missing in a hash of step_cache.c");

#define MIX(hash, ...)                                                                             \
  blis_hash64((const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}), (hash))

static uint64_t mix_matrices(uint64_t hash, const blis__matrix *matrices, size_t count) {
  for (size_t i = 0; i < count; i++) {
    hash = MIX(hash, matrices[i].n, matrices[i].k, matrices[i].format);
  }
  return MIX(hash, (double)count);
}

static uint64_t mix_run(uint64_t hash, const blis__layer_work *r) {
  hash = mix_matrices(hash, r->attention, r->attention_count);
  hash = mix_matrices(hash, r->mlp, r->mlp_count);
  const blis__expert_shape *e = &r->experts;
  return MIX(hash, r->count, r->query_width, r->kv_width, r->kv_heads, r->kv_bytes, r->latent_flops,
             r->prefill_width, r->window, r->index_bytes, r->state_bytes, r->mlp_width, e->experts,
             e->chosen, e->hidden, e->width, e->local, r->expert_format, r->is_sharded);
}

static uint64_t mix_work(uint64_t hash, const blis__step_work *w) {
  for (size_t i = 0; i < w->run_count; i++) {
    hash = mix_run(hash, &w->runs[i]);
  }
  return MIX(hash, (double)w->run_count, w->hidden, w->head_width, w->vocabulary,
             w->activation_bytes, w->replicas, w->has_experts);
}

static uint64_t mix_kernel(uint64_t hash, const blis__kernel *k) {
  return MIX(hash, k->t0_us, k->memory_efficiency, k->compute_efficiency, k->sharpness);
}

static uint64_t mix_reduce(uint64_t hash, const blis__allreduce *r) {
  hash = blis_hash64(r->times_us, r->count * sizeof *r->times_us, hash);
  return MIX(hash, (double)r->count, r->t0_us, r->rate, r->factor);
}

static uint64_t mix_constants(uint64_t hash, const blis__composed_constants *c) {
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    hash = mix_kernel(mix_kernel(hash, &c->products[i]), &c->experts[i]);
    hash = MIX(hash, c->product_speedup[i], c->expert_slowdown[i], c->expert_kind[i]);
  }
  hash = mix_reduce(mix_reduce(hash, &c->allreduce), &c->exchange);
  return MIX(hash, c->bandwidth, c->peak, c->scales.decode, c->scales.prefill, c->engine_scale,
             c->layer_us, c->expert_layer_us, c->reduce_us, c->step_us, c->sampling_reads,
             c->router_share, c->expert_balance, c->elementwise_efficiency, c->attention_us,
             c->attention_head_us, c->kv_efficiency, c->latent_efficiency, c->prefill_layer_us,
             c->prefill_bytes, c->prefill_efficiency, c->launch_bound_us);
}

uint64_t blis__setup_hash(const blis__composed_setup *setup, uint64_t seed) {
  uint64_t hash = mix_constants(mix_work(seed, &setup->work), &setup->constants);
  return MIX(hash, setup->host.is_async, setup->host.fixed_us, setup->host.request_us,
             (double)setup->tokens_max, (double)setup->requests_max,
             (double)setup->front.first_token.delay_us, setup->front.first_token.depth);
}
