#include "policy/flow/saturation.h"

#include <math.h>

#include "policy/contract/entry.h"

typedef struct state {
  double queue_threshold;
  double kv_threshold;
  double staleness_s;
  double max_requests;
  double max_tokens;
  uint32_t mode; /* concurrency_mode */
} state;

typedef enum concurrency_mode { MODE_REQUESTS, MODE_TOKENS, MODE_HYBRID } concurrency_mode;

BLIS__POLICY_FREE(saturation)

static blis_status never(void *ud, const blis_saturation_look *look, double *saturation,
                         blis_error *error) {
  (void)ud, (void)look, (void)error;
  *saturation = 0;
  return BLIS_OK;
}

/* Without instances, saturation is 1. An instance whose sample is too old counts as full. */
static blis_status utilization(void *ud, const blis_saturation_look *look, double *saturation,
                               blis_error *error) {
  (void)error;
  const state *self = ud;
  double sum = 0;
  for (size_t i = 0; i < look->count; i++) {
    double by_queue = look->queue_depth[i] / self->queue_threshold;
    double by_kv = look->kv_utilization[i] / self->kv_threshold;
    bool is_stale =
        look->age_us != NULL && self->staleness_s > 0 && look->age_us[i] > self->staleness_s * 1e6;
    sum += is_stale ? 1 : fmax(by_queue, by_kv);
  }
  *saturation = look->count == 0 ? 1 : sum / (double)look->count;
  return BLIS_OK;
}

static double tokens_of(const blis_saturation_look *look, size_t i) {
  return look->in_flight_tokens == NULL ? 0 : look->in_flight_tokens[i];
}

static blis_status concurrency(void *ud, const blis_saturation_look *look, double *saturation,
                               blis_error *error) {
  (void)error;
  const state *self = ud;
  double requests = 0;
  double tokens = 0;
  double larger = 0;
  for (size_t i = 0; i < look->count; i++) {
    requests += look->in_flight[i];
    tokens += tokens_of(look, i);
    larger += fmax(look->in_flight[i] / self->max_requests, tokens_of(look, i) / self->max_tokens);
  }
  double count = (double)look->count;
  const double by_mode[] = {[MODE_REQUESTS] = requests / (count * self->max_requests),
                            [MODE_TOKENS] = tokens / (count * self->max_tokens),
                            [MODE_HYBRID] = larger / count};
  *saturation = look->count == 0 ? 1 : by_mode[self->mode];
  return BLIS_OK;
}

static const blis_param_spec utilization_params[] = {
    BLIS__NUMBER("queue_depth_threshold", 1e-9, 1e15, 5, "requests",
                 "queue depth at which an instance is full", BLIS__INTO(state, queue_threshold)),
    BLIS__NUMBER("kv_utilization_threshold", 1e-9, 1, 0.8, "0 to 1",
                 "KV utilization at which an instance is full", BLIS__INTO(state, kv_threshold)),
    BLIS__NUMBER("staleness_seconds", 0, 1e9, 0.2, "s",
                 "an instance with an older sample counts as full; 0 = never",
                 BLIS__INTO(state, staleness_s)),
};

static const blis_param_spec concurrency_params[] = {
    BLIS__NUMBER("max_concurrency", 1e-9, 1e15, 100, "requests",
                 "in flight at an instance when it is full", BLIS__INTO(state, max_requests)),
    BLIS__NUMBER("max_token_concurrency", 1e-9, 1e15, 1000000, "tokens",
                 "in flight at an instance when it is full", BLIS__INTO(state, max_tokens)),
    BLIS__CHOICE("mode", "requests|tokens|hybrid",
                 "what is counted; hybrid = the larger share of each instance",
                 BLIS__INTO(state, mode)),
};

#define DETECTOR(function)                                                                         \
  .kind = BLIS_POLICY_SATURATION,                                                                  \
  .ops = &(const blis_saturation_ops){.value = (function), .is_pure = true},                       \
  .state_size = sizeof(state)

const blis_policy_entry blis__saturation_never = {
    DETECTOR(never),
    .name = "never",
    .summary = "nothing is ever full",
    .source = "BLIS (Go)",
};

const blis_policy_entry blis__saturation_utilization = {
    DETECTOR(utilization),
    .name = "utilization",
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
    .aliases = "utilization-detector",
    .summary = "mean over instances of max(queue / its threshold, KV / its "
               "threshold)",
    .source = "llm-d-router, utilization-detector; BLIS (Go)",
    BLIS__PARAMS(utilization_params),
};

const blis_policy_entry blis__saturation_concurrency = {
    DETECTOR(concurrency),
    .name = "concurrency",
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
    .aliases = "concurrency-detector",
    .summary = "requests or tokens in flight, as a share of what instances "
               "take",
    .source = "llm-d-router, concurrency-detector; BLIS (Go)",
    BLIS__PARAMS(concurrency_params),
};
