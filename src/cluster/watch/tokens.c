/* tokens.c - reports tokens to the sink of config.options[BLIS_FEATURE_TOKENS]. */
#include "cluster/watch/tokens.h"

#include "base/time.h"
#include "cluster/feature.h"

typedef struct state {
  blis_token_sink sink;
  /* The token callback of another listener; NULL = none. */
  blis_status (*other)(void *ud, const blis_live_request *live, int64_t number, blis_error *error);
} state;

static state *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_TOKENS);
}

static blis_status on_token(void *ud, const blis_live_request *live, int64_t number,
                            blis_error *error) {
  blis_cluster *cluster = ud;
  const state *self = state_of(cluster);
  const blis_token token = {
      .request = live->number,
      .number = number,
      .at_us =
          blis_time_after_us(live->arrival_us, blis_time_after_us(live->ttft_us, live->itl_sum_us)),
      .instance = cluster->running};
  BLIS_TRY(self->sink.token(self->sink.ud, &token, error));
  return self->other == NULL ? BLIS_OK : self->other(ud, live, number, error);
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  (void)cluster;
  const state *self = ud;
  return news->end->state < BLIS_REQUEST_COMPLETED
             ? BLIS_OK
             : self->sink.ended(self->sink.ud, news->end, error);
}

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  const blis_token_sink *sink = cluster->config.options[BLIS_FEATURE_TOKENS];
  if (sink == NULL) {
    return BLIS_OK;
  }
  state *made = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->sink = *sink;
  cluster->features[BLIS_FEATURE_TOKENS] = made;
  return BLIS_OK;
}

static void watch(blis_cluster *cluster, blis_instance_events *events) {
  if (state_of(cluster) != NULL) {
    state_of(cluster)->other = events->token;
    events->token = on_token;
  }
}

static void equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config) {
  (void)instance;
  if (state_of(cluster) != NULL) {
    config->engine = BLIS_ENGINE_STEPWISE;
  }
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  if (state_of(cluster) == NULL) {
    return BLIS_OK;
  }
  const blis__listener listener = {
      .ud = state_of(cluster), .phase = BLIS__WATCHERS, .on = {[BLIS__ENDED] = on_ended}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void free_state(blis_cluster *cluster) {
  blis_alloc_free(&cluster->alloc, state_of(cluster), sizeof(state));
}

const blis__feature blis__tokens_feature = {
    .slot = BLIS_FEATURE_TOKENS,
    .name = "tokens",
    .prepare = prepare,
    .watch = watch,
    .equip = equip,
    .start = start,
    .free = free_state,
};
