/* pulls.c - the KV sources of instances that load KV from other engines (see pulls.h). */
#include "cluster/rules/pulls.h"

#include <math.h>

#include "base/minmax.h"
#include "cluster/clock.h"
#include "cluster/feature.h"
#include "cluster/service.h"

/* A transfer. */
typedef struct transfer {
  struct transfer *before;
  struct transfer *after;
  struct state *state;
  blis_live_request *live; /* NULL = it no longer needs its KV */
  uint32_t instance;
  uint32_t end; /* block */
} transfer;

/* The source of an instance. */
typedef struct inlet {
  struct state *state;
  uint32_t instance;
  blis_kv_source source; /* its ud points to this inlet */
} inlet;

typedef struct state {
  blis_cluster *cluster;
  blis_pulls config;
  inlet *inlets; /* indexed by instance */
  uint32_t count;
  transfer *transfers;
} state;

static state *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_PULLS);
}

static int64_t block_tokens(const inlet *in) {
  return blis_instance_get_config(in->state->cluster->instances[in->instance])->block_size_tokens;
}

/* Returns the number of leading blocks whose KV another engine holds; 0 = none. */
static uint32_t held_end(const inlet *in, const blis_live_request *request) {
  const state *self = in->state;
  const blis_cluster *cluster = self->cluster;
  blis_pull pull;
  if (!self->config.held(self->config.ud, request->number, &pull)) {
    return 0;
  }
  int64_t blocks = pull.tokens / block_tokens(in);
  if (pull.holder >= 0 && pull.holder < cluster->existing) {
    blocks = blis_min_i64(
        blocks, blis_instance_cached_blocks(cluster->instances[pull.holder], &request->chain));
  }
  return (uint32_t)blis_min_i64(blocks, UINT32_MAX);
}

static blis_status offer(void *ud, const blis_live_request *request, blis_kv_stretch *stretch,
                         int64_t now_us, blis_error *error) {
  const inlet *in = ud;
  (void)now_us, (void)error;
  uint32_t end = held_end(in, request);
  end = end < stretch->end ? end : stretch->end;
  stretch->end = end > stretch->first ? end : stretch->first;
  return BLIS_OK;
}

static void free_transfer(transfer *t) {
  *(t->before == NULL ? &t->state->transfers : &t->before->after) = t->after;
  if (t->after != NULL) {
    t->after->before = t->before;
  }
  blis_alloc_free(&t->state->cluster->alloc, t, sizeof *t);
}

static blis_status on_arrival(void *ud, blis_cluster *cluster, blis_error *error) {
  transfer *t = ud;
  blis_live_request *live = t->live;
  uint32_t instance = t->instance;
  uint32_t end = t->end;
  free_transfer(t);
  if (live == NULL) {
    return BLIS_OK;
  }
  live->load = NULL;
  BLIS_TRY(blis__cluster_bring_forward(cluster, instance, error));
  BLIS_TRY(blis_instance_loaded(cluster->instances[instance], live, end, cluster->now_us, error));
  blis__note_instance_change(cluster, instance);
  return BLIS_OK;
}

static double bytes_per_token(const blis_cluster *cluster, uint32_t instance) {
  const blis_instance_facts *facts = cluster->facts == NULL ? NULL : &cluster->facts[instance];
  return facts == NULL ? 0 : facts->kv_bytes_per_token * (double)blis_max_i64(facts->tp, 1);
}

static blis_status bring(void *ud, blis_live_request *request, const blis_kv_stretch *stretch,
                         int64_t now_us, blis_error *error) {
  const inlet *in = ud;
  state *self = in->state;
  blis_cluster *cluster = self->cluster;
  (void)now_us; /* the time of the clock */
  transfer *t = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *t);
  BLIS_TRY_NEW(t, error);
  *t = (transfer){.after = self->transfers,
                  .state = self,
                  .live = request,
                  .instance = in->instance,
                  .end = stretch->end};
  if (t->after != NULL) {
    t->after->before = t;
  }
  self->transfers = t;
  request->load = t;
  int64_t tokens = (int64_t)(stretch->end - stretch->first) * block_tokens(in);
  double bytes = (double)tokens * bytes_per_token(cluster, in->instance);
  int64_t us = self->config.latency_us + (int64_t)ceil(bytes / self->config.bytes_per_us);
  const blis_pull_report report = {.request = request->number,
                                   .instance = in->instance,
                                   .tokens = tokens,
                                   .bytes = bytes,
                                   .us = us};
  self->config.began(self->config.ud, &report);
  return blis_cluster_call_at(cluster, blis_time_after_us(cluster->now_us, us), on_arrival, t,
                              error);
}

static void cancel(void *ud, blis_live_request *request) {
  (void)ud;
  ((transfer *)request->load)->live = NULL;
  request->load = NULL;
}

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  const blis_pulls *config = cluster->config.options[BLIS_FEATURE_PULLS];
  if (config == NULL) {
    return BLIS_OK;
  }
  if (blis__feature_state(cluster, BLIS_FEATURE_TIERS) != NULL) {
    return blis_fail(
        error, BLIS_ERR_INVALID,
        "KV from other engines cannot be combined with kv_tiers; expected one of them");
  }
  state *made = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  cluster->features[BLIS_FEATURE_PULLS] = made;
  made->cluster = cluster;
  made->config = *config;
  made->count = cluster->config.instance_count;
  made->inlets = blis_alloc_zeroed(&cluster->alloc, made->count, sizeof *made->inlets);
  BLIS_TRY_NEW(made->inlets, error);
  for (uint32_t i = 0; i < made->count; i++) {
    inlet *in = &made->inlets[i];
    in->state = made;
    in->instance = i;
    in->source = (blis_kv_source){.ud = in, .offer = offer, .bring = bring, .cancel = cancel};
  }
  return BLIS_OK;
}

static void equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config) {
  if (state_of(cluster) != NULL) {
    config->kv_source = &state_of(cluster)->inlets[instance].source;
  }
}

/* Starts transfers at the current time. */
static blis_status start(blis_cluster *cluster, blis_error *error) {
  (void)error;
  if (state_of(cluster) != NULL) {
    blis__listeners_need(&cluster->listeners, BLIS__NEEDS_ORDER);
  }
  return BLIS_OK;
}

static void free_state(blis_cluster *cluster) {
  state *self = state_of(cluster);
  if (self == NULL) {
    return;
  }
  while (self->transfers != NULL) {
    free_transfer(self->transfers);
  }
  if (self->inlets != NULL) {
    blis_alloc_free(&cluster->alloc, self->inlets, self->count * sizeof *self->inlets);
  }
  blis_alloc_free(&cluster->alloc, self, sizeof *self);
}

const blis__feature blis__pulls_feature = {
    .slot = BLIS_FEATURE_PULLS,
    .name = "pulls",
    .prepare = prepare,
    .equip = equip,
    .start = start,
    .free = free_state,
};
