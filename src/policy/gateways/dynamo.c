/*
 * dynamo.c - routing policies dynamo.kv and dynamo.lmetric: the cost function of NVIDIA Dynamo's KV
 * router, in KV blocks, and its selection with a temperature.
 *
 * Cost of a candidate:
 *
 *   excess  = max(0, prefill tokens - the lowest of all candidates) / B
 *   decay   = 1 / (1 + d * excess / request blocks), 1 with d = 0
 *   credit  = c * decay * cached blocks
 *   prefill = scale * max(0, (prefill tokens + prompt) / B - credit)
 *   cost    = prefill + decode blocks + a * requests     (dynamo.kv)
 *           = prefill * (decode blocks + 1)              (dynamo.lmetric)
 *
 * Prefill tokens and decode blocks count the requests that the router has sent. Both increase at
 * the decision. Prefill tokens decrease at the first token, and decode blocks when the request
 * ends. Cached prefill tokens are not counted. The router considers only the GPU tier.
 */
#include "base/array.h"
#include "base/invariant.h"
#include "policy/contract/entry.h"
#include "policy/pickers/pick_rules.h"

enum { PREFILL_TOKENS, BLOCKS }; /* indices of the values in a ticket */

typedef struct active {
  int64_t prefill_tokens;
  int64_t blocks;
  int64_t requests;
} active;

typedef struct dynamo {
  blis_alloc alloc;
  BLIS_ARRAY(active) loads;  /* by instance number */
  BLIS_ARRAY(double) scores; /* negated costs */
  double block_size_tokens;
  double credit;
  double decay;
  double prefill_scale;
  double request_weight;
  double temperature;
  bool is_product;
  bool tracks_prefill;
  blis_random random;
} dynamo;

static blis_status make_room(dynamo *self, const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->loads, instances));
  while (self->loads.count < instances) {
    self->loads.items[self->loads.count++] = (active){0};
  }
  return blis_array_reserve(&self->alloc, &self->scores, view->count);
}

static double prefill_tokens_at(const dynamo *self, const blis_routing_view *view, size_t i) {
  return self->tracks_prefill ? (double)self->loads.items[view->instances[i]].prefill_tokens : 0;
}

static double least_prefill(const dynamo *self, const blis_routing_view *view) {
  double least = prefill_tokens_at(self, view, 0);
  for (size_t i = 1; i < view->count; i++) {
    double tokens = prefill_tokens_at(self, view, i);
    least = tokens < least ? tokens : least;
  }
  return least;
}

static double decay_at(const dynamo *self, double request_blocks, double excess_blocks) {
  bool decays = self->tracks_prefill && self->decay > 0 && request_blocks > 0;
  return decays ? 1 / (1 + self->decay * excess_blocks / request_blocks) : 1;
}

static double cost_at(const dynamo *self, const blis_routing_request *request,
                      const blis_routing_view *view, size_t i, double least) {
  const active *load = &self->loads.items[view->instances[i]];
  double prefill_tokens = prefill_tokens_at(self, view, i);
  double prompt = (double)request->prompt_tokens;
  double size = self->block_size_tokens;
  double cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS][i] / size;
  double excess = (prefill_tokens - least) / size;
  double credit = self->credit * decay_at(self, prompt / size, excess) * cached;
  double raw = (prefill_tokens + prompt) / size;
  double prefill = self->prefill_scale * (raw > credit ? raw - credit : 0);
  if (self->is_product) {
    return prefill * ((double)load->blocks + 1);
  }
  return prefill + (double)load->blocks + self->request_weight * (double)load->requests;
}

/* Among equal costs, the k-th candidate replaces the previous choice with probability 1/k. */
static size_t pick_least_cost(dynamo *self, size_t count) {
  const double *scores = self->scores.items;
  size_t best = 0;
  int32_t tied = 1;
  for (size_t i = 1; i < count; i++) {
    if (scores[i] > scores[best]) {
      best = i;
      tied = 1;
    } else if (scores[i] == scores[best] && blis_random_intn(&self->random, ++tied) == 0) {
      best = i;
    }
  }
  return best;
}

static void take(dynamo *self, const blis_routing_request *request, const blis_routing_view *view,
                 size_t chosen) {
  active *load = &self->loads.items[view->instances[chosen]];
  int64_t cached = (int64_t)view->columns[BLIS_SIGNAL_CACHED_TOKENS][chosen];
  int64_t size = (int64_t)self->block_size_tokens;
  int64_t *held = request->ticket->values;
  held[PREFILL_TOKENS] = request->prompt_tokens - cached;
  held[BLOCKS] = (request->prompt_tokens + size - 1) / size;
  BLIS_ASSERT(held[PREFILL_TOKENS] >= 0);
  load->prefill_tokens += held[PREFILL_TOKENS];
  load->blocks += held[BLOCKS];
  load->requests++;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  dynamo *self = q->state;
  BLIS_TRY_MEM(make_room(self, view), q->error);
  double least = least_prefill(self, view);
  double *scores = self->scores.items;
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = 0 - cost_at(self, q->request, view, i, least);
  }
  size_t chosen = self->temperature > 0
                      ? blis_pick_softmax(&self->random, scores, view->count, self->temperature)
                      : pick_least_cost(self, view->count);
  take(self, q->request, view, chosen);
  *decision =
      (blis_decision){.chosen = chosen,
                      .score = scores[chosen],
                      .scores = scores,
                      .has_belief = true,
                      .believed_tokens = (int64_t)view->columns[BLIS_SIGNAL_CACHED_TOKENS][chosen]};
  return BLIS_OK;
}

static void first_token(void *state, blis_ticket *ticket, uint32_t instance,
                        const blis_request_times *times) {
  (void)times;
  dynamo *self = state;
  self->loads.items[instance].prefill_tokens -= ticket->values[PREFILL_TOKENS];
  ticket->values[PREFILL_TOKENS] = 0;
  BLIS_ASSERT(self->loads.items[instance].prefill_tokens >= 0);
}

static void ended(void *state, blis_ticket *ticket, uint32_t instance,
                  const blis_request_times *times) {
  (void)times;
  dynamo *self = state;
  active *load = &self->loads.items[instance];
  first_token(state, ticket, instance, times);
  load->blocks -= ticket->values[BLOCKS];
  load->requests--;
  BLIS_ASSERT(load->requests > 0 || (load->blocks == 0 && load->prefill_tokens == 0));
}

static void free_state(const blis_alloc *alloc, void *state) {
  dynamo *self = state;
  blis_array_deinit(alloc, &self->loads);
  blis_array_deinit(alloc, &self->scores);
}

static const blis_router_ops ops = {
    .route = route, .first_token = first_token, .ended = ended, .free = free_state};

#define NUMBER(given_name, most, usual, text, into)                                                \
  BLIS__NUMBER(given_name, 0, most, usual, "", text, BLIS__INTO(dynamo, into))

static const blis_param_spec params_of[] = {
    NUMBER("overlap_score_credit", 1e9, 1, "credit for a cached block (07a6c9ce: 0 to 1)", credit),
    NUMBER("overlap_score_credit_decay", 1e9, 0, "decay of the credit with the prefill ahead",
           decay),
    NUMBER("prefill_load_scale", 1e9, 1, "weight of blocks to prefill", prefill_scale),
    NUMBER("decode_active_request_weight", 1e9, 0, "of a request, in blocks (dynamo.kv)",
           request_weight),
    NUMBER("router_temperature", 1e9, 0, "0 = always the least cost", temperature),
    BLIS__BOOLEAN("router_track_prefill_tokens", 1, "count the prefill ahead",
                  BLIS__INTO(dynamo, tracks_prefill)),
    BLIS__INTEGER("block_size", 0, 1 << 20, 0, "tokens",
                  "block size of the cost; 0 = that of the KV cache",
                  BLIS__INTO(dynamo, block_size_tokens)),
};

extern const blis_policy_entry blis__router_dynamo_lmetric;

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  dynamo *self = state;
  self->alloc = *setup->alloc;
  self->is_product = setup->entry == &blis__router_dynamo_lmetric;
  if (self->block_size_tokens == 0) {
    self->block_size_tokens = (double)setup->context->kv_block_size_tokens;
  }
  blis_setup_random(setup, &self->random);
  return BLIS_OK;
}

const blis_policy_entry blis__router_dynamo_kv = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "dynamo.kv",
    .summary = "least blocks to prefill and blocks in decode, less credit for "
               "cached ones",
    .source = "NVIDIA Dynamo, lib/kv-router 07a6c9ce, 0243c51b",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(dynamo),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
    .init = init,
};

const blis_policy_entry blis__router_dynamo_lmetric = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "dynamo.lmetric",
    .summary = "least blocks to prefill x (blocks in decode + 1)",
    .source = "NVIDIA Dynamo, lib/kv-router 07a6c9ce",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(dynamo),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
    .init = init,
};
