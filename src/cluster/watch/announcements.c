/* announcements.c - reports prefix caches to the sink of
 * config.options[BLIS_FEATURE_ANNOUNCEMENTS].
 */
#include "cluster/watch/announcements.h"

#include "cluster/feature.h"

/* The prefix cache of an instance. */
typedef struct cache {
  const blis_block_sink *sink;
  uint32_t instance;
  blis_block_listener listener; /* its ud is this struct */
} cache;

typedef struct state {
  blis_block_sink sink;
  cache *caches; /* indexed by instance */
  uint32_t count;
} state;

static state *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_ANNOUNCEMENTS);
}

static void on_stored(void *ud, blis_block_id id) {
  const cache *self = ud;
  self->sink->stored(self->sink->ud, self->instance, id);
}

static void on_removed(void *ud, blis_block_id id) {
  const cache *self = ud;
  self->sink->removed(self->sink->ud, self->instance, id);
}

static blis_status on_joined(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  const state *self = ud;
  const blis_instance_config *config = blis_instance_get_config(cluster->instances[news->instance]);
  const blis_live_request *live = blis__live_of(news->request);
  const blis_named_blocks named = {.request = live->number,
                                   .chain = &live->chain,
                                   .block_tokens = (uint32_t)config->block_size_tokens};
  return self->sink.named(self->sink.ud, &named, error);
}

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  const blis_block_sink *sink = cluster->config.options[BLIS_FEATURE_ANNOUNCEMENTS];
  if (sink == NULL) {
    return BLIS_OK;
  }
  state *made = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  cluster->features[BLIS_FEATURE_ANNOUNCEMENTS] = made;
  made->sink = *sink;
  made->count = cluster->config.instance_count;
  made->caches = blis_alloc_zeroed(&cluster->alloc, made->count, sizeof *made->caches);
  BLIS_TRY_NEW(made->caches, error);
  for (uint32_t i = 0; i < made->count; i++) {
    cache *c = &made->caches[i];
    *c = (cache){.sink = &made->sink,
                 .instance = i,
                 .listener = {.ud = c, .stored = on_stored, .removed = on_removed}};
  }
  return BLIS_OK;
}

static void equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config) {
  if (state_of(cluster) != NULL) {
    config->blocks = &state_of(cluster)->caches[instance].listener;
  }
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  if (state_of(cluster) == NULL) {
    return BLIS_OK;
  }
  const blis__listener listener = {
      .ud = state_of(cluster), .phase = BLIS__WATCHERS, .on = {[BLIS__JOINED] = on_joined}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void free_state(blis_cluster *cluster) {
  state *self = state_of(cluster);
  if (self != NULL && self->caches != NULL) {
    blis_alloc_free(&cluster->alloc, self->caches, self->count * sizeof *self->caches);
  }
  blis_alloc_free(&cluster->alloc, self, sizeof(state));
}

const blis__feature blis__announcements_feature = {
    .slot = BLIS_FEATURE_ANNOUNCEMENTS,
    .name = "announcements",
    .prepare = prepare,
    .equip = equip,
    .start = start,
    .free = free_state,
};
