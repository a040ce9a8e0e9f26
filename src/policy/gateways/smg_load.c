/*
 * smg_load.c - routing policy smg.least_load: selects the lowest cost, computed from the prompt
 * tokens ahead and the KV-cache pressure at the last poll, plus the requests sent since then.
 *
 *   (queued + sent since) / tokens per second + lambda k / (1 - k)
 */
#include <math.h>

#include "policy/gateways/gateway.h"

enum { PRESSURE_WEIGHT, MEAN_PREFILL, DEFAULT_THROUGHPUT, POLL_INTERVAL };

#define HIGHEST_USAGE 0.999

static const blis_param_spec params_of[] = {
    BLIS__NUMBER("kv_pressure_weight", 0, 1e9, 0.15, "s",
                 "of k / (1 - k), k being the KV utilisation"),
    BLIS__NUMBER("mean_prefill_tokens", 1, 1e9, 1024, "tokens",
                 "assumed for a request at an instance not polled yet"),
    BLIS__NUMBER("default_throughput", 1e-9, 1e12, 2000, "tokens/s",
                 "assumed for an instance that generated nothing between two polls"),
    BLIS__INTEGER("poll_interval_us", 1, 1e15, 10e6, "us",
                  "polling interval; the first decision after each multiple polls"),
};

/* Result of the last poll of an instance. */
typedef struct polled {
  int64_t round; /* number of the poll; 0 = not polled yet */
  int64_t at_us;
  double queued_tokens;
  double tokens_per_s;  /* 0 = no tokens were generated */
  double usage;         /* KV-cache usage, 0 to HIGHEST_USAGE */
  double output_tokens; /* output tokens so far */
  double sent_tokens;   /* tokens sent since the poll */
} polled;

typedef struct least_load {
  BLIS_ARRAY(polled) instances; /* by instance number */
  double tokens_per_s;          /* mean throughput, for the current decision */
} least_load;

static void deinit_own(blis__gateway *self) {
  least_load *own = self->own;
  blis_array_deinit(&self->alloc, &own->instances);
}

static polled *polled_of(const blis__gateway *self, const blis_routing_view *view, size_t i) {
  const least_load *own = self->own;
  return &own->instances.items[view->instances[i]];
}

static blis_status make_room(blis__gateway *self, const blis_routing_view *view) {
  least_load *own = self->own;
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->instances, instances));
  while (own->instances.count < instances) {
    own->instances.items[own->instances.count++] = (polled){0};
  }
  return BLIS_OK;
}

static void poll_one(polled *p, const blis_routing_view *view, size_t i, int64_t round) {
  double output = view->columns[BLIS_SIGNAL_OUTPUT_TOKENS][i];
  double seconds = (double)(view->now_us - p->at_us) / 1e6;
  double usage = view->columns[BLIS_SIGNAL_KV_UTILIZATION][i];
  *p = (polled){.round = round,
                .at_us = view->now_us,
                .queued_tokens = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS][i],
                .tokens_per_s = seconds > 0 ? fmax((output - p->output_tokens) / seconds, 0) : 0,
                .usage = fmin(fmax(usage, 0), HIGHEST_USAGE),
                .output_tokens = output};
}

/* Polls all candidates if none was polled in this round. Returns the number of the round, or 0. */
static int64_t poll_when_due(blis__gateway *self, const blis_routing_view *view) {
  int64_t round = view->now_us / (int64_t)self->values[POLL_INTERVAL];
  int64_t newest = 0;
  for (size_t i = 0; i < view->count; i++) {
    const polled *p = polled_of(self, view, i);
    newest = p->round > newest ? p->round : newest;
  }
  if (newest >= round) {
    return newest;
  }
  for (size_t i = 0; i < view->count; i++) {
    poll_one(polled_of(self, view, i), view, i, round);
  }
  return round;
}

/* Returns the mean over the candidates that generated tokens. */
static double mean_throughput(const blis__gateway *self, const blis_routing_view *view) {
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < view->count; i++) {
    double tokens_per_s = polled_of(self, view, i)->tokens_per_s;
    sum += tokens_per_s;
    count += tokens_per_s > 0;
  }
  return count > 0 ? sum / count : self->values[DEFAULT_THROUGHPUT];
}

static double score_of(const blis_question *q, size_t i) {
  const blis__gateway *self = q->state;
  const least_load *own = self->own;
  const polled *p = polled_of(self, q->view, i);
  if (p->round == 0) {
    return blis__in_flight(q, i) * self->values[MEAN_PREFILL] / own->tokens_per_s;
  }
  double throughput = p->tokens_per_s > 0 ? p->tokens_per_s : self->values[DEFAULT_THROUGHPUT];
  return (p->queued_tokens + p->sent_tokens) / throughput +
         self->values[PRESSURE_WEIGHT] * p->usage / (1 - p->usage);
}

static blis_status choose(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  least_load *own = self->own;
  BLIS_TRY_MEM(make_room(self, view), q->error);
  bool is_polled = poll_when_due(self, view) != 0;
  own->tokens_per_s = mean_throughput(self, view);
  *chosen = blis__least_of(q, &(blis__least){.by = {is_polled ? score_of : blis__in_flight}});
  polled_of(self, view, *chosen)->sent_tokens += (double)q->request->prompt_tokens;
  return BLIS_OK;
}

const blis_policy_entry blis__router_smg_least_load = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "smg.least_load",
    .summary = "least (queued + sent tokens) / throughput + 0.15 s x k / (1 - "
               "k), k = KV utilisation, as last polled",
    .source = "SMG 73da68ca",
    BLIS__PARAMS(params_of),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_OUTPUT_TOKENS) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
                  .choose = choose, .own_size = sizeof(least_load), .deinit_own = deinit_own),
};
