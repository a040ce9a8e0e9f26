/*
 * vllm_smetric.c - routing policy vllm-router.smetric: a session stays on the instance that has
 * cached most of its history, while the expected TTFT there is within its limit. All other requests
 * are sent to the candidate with the lowest product of prefill work ahead and load.
 *
 * Formulas:
 *
 *   cost = n + n (L - n / 2) / crossover, n = L - cached tokens, rounded up
 *   ahead = cost of what was sent and has no first token yet + cost
 *   in time: ahead / rate <= slack (base + per token x L)
 *   score = ahead x requests in flight
 */
#include <math.h>

#include "base/containers/map.h"
#include "base/invariant.h"
#include "policy/gateways/gateway.h"
#include "policy/memory/recent_values.h"

enum { HIT_RATIO, SLACK, SLO_BASE, SLO_PER_TOKEN, CROSSOVER, RATE };

enum { RATE_SAMPLES = 64, RATE_SAMPLES_NEEDED = 8 };

#define RATE_SHARE 0.9

static const blis_param_spec params_of[] = {
    BLIS__NUMBER("hit_ratio", 0, 1, 0.5, "0 to 1",
                 "a session stays if more than this share of its last prompt is known"),
    BLIS__NUMBER("slack", 0, 1e9, 1, "", "factor of the TTFT target"),
    BLIS__NUMBER("slo_base_us", 0, 1e15, 1e6, "us", "TTFT target for an empty prompt"),
    BLIS__NUMBER("slo_per_token_us", 0, 1e12, 62.5, "us per token", "TTFT target per prompt token"),
    BLIS__NUMBER("crossover_tokens", 0, 1e12, 0, "tokens",
                 "context at which attention costs as much as the rest; 0 = it is free"),
    BLIS__NUMBER("prefill_rate", 0, 1e12, 0, "cost per second",
                 "speed of an instance; 0 = learned: 90 % of the last 64 are slower"),
    BLIS__GATEWAY_MEMORY_PARAMS(16, 1 << 20),
};

typedef struct worker {
  double pending; /* cost of requests without a first token */
  blis__recent_values rates;
} worker;

typedef struct smetric {
  BLIS_ARRAY(worker) workers; /* by instance number */
  BLIS_ARRAY(double) costs;   /* cost of the current request, by candidate */
  blis_map history;           /* from a session to the tokens of its last prompt */
  uint64_t decisions;
} smetric;

/* Contents of a ticket. */
enum { PENDING_COST };

static void init_own(blis__gateway *self) {
  smetric *own = self->own;
  blis_map_init(&own->history, &self->alloc);
}

static void deinit_own(blis__gateway *self) {
  smetric *own = self->own;
  blis_array_deinit(&self->alloc, &own->workers);
  blis_array_deinit(&self->alloc, &own->costs);
  blis_map_deinit(&own->history);
}

static worker *worker_of(const blis__gateway *self, const blis_routing_view *view, size_t i) {
  const smetric *own = self->own;
  return &own->workers.items[view->instances[i]];
}

static double known_tokens(const blis__gateway *self, const blis_routing_request *request,
                           const blis_routing_view *view, size_t i) {
  double known = (double)blis__prefix_memory_tokens(&self->memory, view, i);
  return fmin(known, (double)request->prompt_tokens);
}

static double cost_of(const blis__gateway *self, const blis_routing_request *request,
                      double known) {
  double prompt = (double)request->prompt_tokens;
  double fresh = prompt - known;
  double crossover = self->values[CROSSOVER];
  double attention = crossover > 0 ? fresh * (prompt - fresh / 2) / crossover : 0;
  return ceil(fresh + attention);
}

static blis_status note_costs(blis__gateway *self, const blis_routing_request *request,
                              const blis_routing_view *view) {
  smetric *own = self->own;
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->workers, instances));
  while (own->workers.count < instances) {
    own->workers.items[own->workers.count++] = (worker){0};
  }
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->costs, view->count));
  for (size_t i = 0; i < view->count; i++) {
    own->costs.items[i] = cost_of(self, request, known_tokens(self, request, view, i));
  }
  return BLIS_OK;
}

static double ahead_of(const blis__gateway *self, const blis_routing_view *view, size_t i) {
  const smetric *own = self->own;
  return worker_of(self, view, i)->pending + own->costs.items[i];
}

/* Returns the cost per second; 0 = unknown. */
static double rate_of(const blis__gateway *self, const worker *w) {
  if (self->values[RATE] > 0) {
    return self->values[RATE];
  }
  return w->rates.count >= RATE_SAMPLES_NEEDED ? blis__recent_values_at(&w->rates, RATE_SHARE) : 0;
}

static bool is_in_time(const blis__gateway *self, const blis_routing_request *request,
                       const blis_routing_view *view, size_t i) {
  const double *v = self->values;
  double rate = rate_of(self, worker_of(self, view, i));
  double limit_us = v[SLO_BASE] + v[SLO_PER_TOKEN] * (double)request->prompt_tokens;
  return rate == 0 || ahead_of(self, view, i) / rate * 1e6 <= v[SLACK] * limit_us;
}

/* The two candidates for a session; the first of equal ones. */
typedef struct pair {
  size_t least; /* candidate with the lowest score */
  size_t known; /* candidate that has cached most of the prompt */
  bool has_one_in_time;
} pair;

static pair scan(const blis__gateway *self, const blis_routing_request *request,
                 const blis_routing_view *view) {
  const smetric *own = self->own;
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  size_t start = (size_t)(own->decisions % view->count);
  pair found = {start, start, false};
  double least = (double)INFINITY;
  double most = -1;
  for (size_t k = 0; k < view->count; k++) {
    size_t i = (start + k) % view->count;
    double score = ahead_of(self, view, i) * load[i];
    double known = known_tokens(self, request, view, i);
    if (score < least) {
      least = score;
      found.least = i;
    }
    if (known > most) {
      most = known;
      found.known = i;
    }
    found.has_one_in_time |= is_in_time(self, request, view, i);
  }
  return found;
}

/* Finds the tokens of the session's last prompt. Returns false at its first turn. */
static bool find_history(const blis__gateway *self, const blis_routing_request *request,
                         double *tokens) {
  const smetric *own = self->own;
  uint64_t found;
  if (request->session == 0 || !blis_map_get(&own->history, request->session, &found)) {
    return false;
  }
  *tokens = (double)found;
  return true;
}

static size_t pick(const blis__gateway *self, const blis_routing_request *request,
                   const blis_routing_view *view) {
  pair found = scan(self, request, view);
  double history;
  bool stays = find_history(self, request, &history) &&
               known_tokens(self, request, view, found.known) > self->values[HIT_RATIO] * history &&
               (is_in_time(self, request, view, found.known) || !found.has_one_in_time);
  return stays ? found.known : found.least;
}

static blis_status choose(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  smetric *own = self->own;
  BLIS_TRY_MEM(note_costs(self, request, view), q->error);
  *chosen = pick(self, request, view);
  own->decisions++;
  double cost = own->costs.items[*chosen];
  worker_of(self, view, *chosen)->pending += cost;
  request->ticket->values[PENDING_COST] = (int64_t)cost;
  BLIS_TRY_MEM(request->session == 0 ? BLIS_OK
                                     : blis_map_put(&own->history, request->session,
                                                    (uint64_t)request->prompt_tokens),
               q->error);
  return BLIS_OK;
}

static double release(blis__gateway *self, blis_ticket *ticket, uint32_t instance) {
  smetric *own = self->own;
  double cost = (double)ticket->values[PENDING_COST];
  own->workers.items[instance].pending -= cost;
  BLIS_ASSERT(own->workers.items[instance].pending >= 0);
  ticket->values[PENDING_COST] = 0;
  return cost;
}

static void first_token(blis__gateway *self, blis_ticket *ticket, uint32_t instance,
                        const blis_request_times *times) {
  smetric *own = self->own;
  double cost = release(self, ticket, instance);
  if (cost > 0 && times->ttft_us > 0) {
    blis__recent_values_add(&own->workers.items[instance].rates, RATE_SAMPLES,
                            cost / ((double)times->ttft_us / 1e6));
  }
}

static void ended(blis__gateway *self, blis_ticket *ticket, uint32_t instance,
                  const blis_request_times *times) {
  (void)times;
  release(self, ticket, instance);
}

const blis_policy_entry blis__router_vllm_router_smetric = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-router.smetric",
    .summary = "where most of the session is cached while its TTFT is in time; "
               "else least prefill work ahead x requests in flight",
    .source = "vLLM router 8bef7312 with the defaults of an earlier version; "
              "a session's history is its last prompt",
    BLIS__PARAMS(params_of),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose, .has_memory = true,
                  .own_size = sizeof(smetric), .init_own = init_own, .deinit_own = deinit_own,
                  .first_token = first_token, .ended = ended),
};
