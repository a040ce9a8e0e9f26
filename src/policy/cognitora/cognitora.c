/*
 * cognitora.c - routing policy cognitora.score: a weighted sum of cached prefix, load, power, and
 * static capacity. A stable hash breaks near ties.
 *
 * Score of a candidate:
 *
 *   score = kv * overlap + load * (1 - util) + power * (1 - watts / highest)
 *           + capacity * capacity
 *
 * Load and free blocks are the values that the instances published at their last heartbeat; all of
 * them are read at the first decision of every period. The overlap is read from the caches at the
 * decision. Power and capacity are configured for the cluster. Alternatively, power is the mean of
 * the last 30 s, published with the load, and capacity is derived from the hardware. The fraction
 * of busy SMs is approximated by the fraction of the last 30 s in which the engine had requests.
 * Without utilization = max it counts as 0, like a missing value in the document.
 */
#include <math.h>

#include "base/array.h"
#include "base/number.h"
#include "policy/cognitora/permits.h"
#include "policy/contract/entry.h"
#include "policy/contract/stable_hash.h"

/* Indices of the weights, in the order of the parameters. */
enum { KV, LOAD, POWER, CAPACITY, WEIGHT_COUNT };

typedef enum load_kind { LOAD_IN_FLIGHT, LOAD_QUEUE, LOAD_MAX } load_kind;
typedef enum capacity_kind {
  CAPACITY_STATED,
  CAPACITY_FREE_BLOCKS,
  CAPACITY_HARDWARE
} capacity_kind;

typedef struct published {
  double utilization;
  double watts;
  double free_share; /* free fraction of the KV blocks */
} published;

typedef struct cognitora {
  blis_alloc alloc;
  double weights[WEIGHT_COUNT];
  blis_stable_hash stable; /* window_tokens 0 = the whole prompt */
  int64_t heartbeat_us;    /* 0 = always current */
  int64_t period;          /* number of the last period read */
  double max_concurrent;   /* 0 = max_num_seqs */
  double queue_full;
  load_kind load;
  capacity_kind capacity;
  blis_signal power; /* signal for power draw */
  bool has_stable_ties;
  blis_tie tie; /* used if stable hashing is off */
  blis__permits permits;
  BLIS_ARRAY(published) heard; /* by instance number */
  BLIS_ARRAY(double) scores;
} cognitora;

static double clamp(double value) {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

static double utilization_of(const cognitora *self, const blis_routing_view *view, size_t i) {
  if (self->load == LOAD_QUEUE) {
    return clamp(view->columns[BLIS_SIGNAL_QUEUE_DEPTH][i] / self->queue_full);
  }
  double limit =
      self->max_concurrent > 0 ? self->max_concurrent : view->columns[BLIS_SIGNAL_MAX_NUM_SEQS][i];
  double share = view->columns[BLIS_SIGNAL_IN_FLIGHT][i] / limit;
  if (self->load == LOAD_MAX) {
    share = fmax(share, view->columns[BLIS_SIGNAL_UTILIZATION][i]);
  }
  return clamp(share);
}

static double free_share_of(const blis_routing_view *view, size_t i) {
  double blocks = view->columns[BLIS_SIGNAL_KV_BLOCKS][i];
  return blocks > 0 ? view->columns[BLIS_SIGNAL_FREE_KV_BLOCKS][i] / blocks : 0;
}

/* Reads the heartbeats of all instances once per period, and when there are new instances. */
static blis_status listen(cognitora *self, const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->heard, instances));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->scores, view->count));
  int64_t period = self->heartbeat_us > 0 ? view->now_us / self->heartbeat_us : 0;
  bool is_due = self->heartbeat_us == 0 || period != self->period || instances > self->heard.count;
  if (!is_due) {
    return BLIS_OK;
  }
  self->period = period;
  while (self->heard.count < instances) {
    self->heard.items[self->heard.count++] = (published){0};
  }
  for (size_t i = 0; i < view->count; i++) {
    self->heard.items[view->instances[i]] =
        (published){.utilization = utilization_of(self, view, i),
                    .watts = view->columns[self->power][i],
                    .free_share = free_share_of(view, i)};
  }
  return BLIS_OK;
}

/* Returns the number of full blocks of the prompt within the window. */
static double blocks_in_window(const cognitora *self, const blis_routing_request *request) {
  int64_t tokens = request->prompt_tokens;
  if (self->stable.window_tokens > 0 && self->stable.window_tokens < tokens) {
    tokens = self->stable.window_tokens;
  }
  int64_t blocks = tokens / self->stable.block_size_tokens;
  return (double)blocks;
}

static double power_of(const cognitora *self, const blis_routing_view *view, size_t i) {
  return self->power == BLIS_SIGNAL_WATTS ? view->columns[BLIS_SIGNAL_WATTS][i]
                                          : self->heard.items[view->instances[i]].watts;
}

static double highest_power(const cognitora *self, const blis_routing_view *view) {
  double highest = 0;
  for (size_t i = 0; i < view->count; i++) {
    highest = fmax(highest, power_of(self, view, i));
  }
  return highest;
}

static double highest_of(const blis_routing_view *view, blis_signal signal) {
  double highest = 0;
  for (size_t i = 0; i < view->count; i++) {
    highest = fmax(highest, view->columns[signal][i]);
  }
  return highest;
}

static double share_of(double value, double highest) {
  return highest > 0 ? value / highest : 1;
}

static double capacity_of(const cognitora *self, const blis_routing_view *view, size_t i) {
  switch (self->capacity) {
  case CAPACITY_FREE_BLOCKS:
    return self->heard.items[view->instances[i]].free_share;
  case CAPACITY_HARDWARE:
    return (share_of(view->columns[BLIS_SIGNAL_TP][i], highest_of(view, BLIS_SIGNAL_TP)) +
            share_of(view->columns[BLIS_SIGNAL_KV_BLOCKS][i],
                     highest_of(view, BLIS_SIGNAL_KV_BLOCKS))) /
           2;
  default:
    return view->columns[BLIS_SIGNAL_CAPACITY][i];
  }
}

static void score_all(cognitora *self, const blis_routing_request *request,
                      const blis_routing_view *view) {
  const double *cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  const double *w = self->weights;
  double blocks = blocks_in_window(self, request);
  double block_size = (double)self->stable.block_size_tokens;
  double highest_w = highest_power(self, view);
  for (size_t i = 0; i < view->count; i++) {
    const published *node = &self->heard.items[view->instances[i]];
    double matched = floor(cached[i] / block_size);
    double overlap = blocks > 0 ? clamp(matched / blocks) : 0;
    double watts = highest_w > 0 ? power_of(self, view, i) / highest_w : 0;
    double strength = capacity_of(self, view, i);
    self->scores.items[i] = w[KV] * overlap + w[LOAD] * (1 - node->utilization) +
                            w[POWER] * (1 - watts) + w[CAPACITY] * strength;
  }
}

static blis_status choose(cognitora *self, const blis_routing_request *request,
                          const blis_routing_view *view, size_t *chosen) {
  BLIS_TRY(listen(self, view));
  score_all(self, request, view);
  const double *scores = self->scores.items;
  *chosen = self->has_stable_ties ? blis_stable_hash_pick(&self->stable, request, view, scores)
                                  : blis_tie_pick_max(&self->tie, scores, view);
  return BLIS_OK;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  cognitora *self = q->state;
  size_t chosen = 0;
  bool is_permitted = true;
  BLIS_TRY_MEM(choose(self, q->request, view, &chosen), q->error);
  BLIS_TRY_MEM(
      blis__permits_take(&self->permits, &self->alloc, q->request, view->now_us, &is_permitted),
      q->error);
  *decision =
      (blis_decision){.chosen = chosen,
                      .rejected = is_permitted ? NULL : "cognitora.score: full (503)",
                      .score = self->scores.items[chosen],
                      .scores = self->scores.items,
                      .has_belief = true,
                      .believed_tokens = (int64_t)view->columns[BLIS_SIGNAL_CACHED_TOKENS][chosen]};
  return BLIS_OK;
}

static void ended(void *state, blis_ticket *ticket, uint32_t instance,
                  const blis_request_times *times) {
  (void)instance;
  cognitora *self = state;
  blis__permits_give(&self->permits, &self->alloc, ticket, times->now_us, times->end_us);
}

static void free_state(const blis_alloc *alloc, void *state) {
  cognitora *self = state;
  blis__permits_deinit(&self->permits, alloc);
  blis_array_deinit(alloc, &self->heard);
  blis_array_deinit(alloc, &self->scores);
}

#define WEIGHT(given_name, value, of, place)                                                       \
  BLIS__NUMBER(given_name, 0, 1, value, "0 to 1", "weight of " of, .is_live = true,                \
               BLIS__INTO(cognitora, weights[place]))

static const blis_param_spec params_of[] = {
    WEIGHT("kv", 0.55, "the cached prefix", KV),
    WEIGHT("load", 0.25, "idleness", LOAD),
    WEIGHT("power", 0.10, "a low power draw", POWER),
    WEIGHT("capacity", 0.10, "capacity", CAPACITY),
    BLIS__INTEGER("overlap_tokens", 0, 1 << 30, 64, "tokens",
                  "prompt tokens looked up in the caches; 0 = all (profile "
                  "cognitora: 0)"),
    BLIS__BLOCK_SIZE_PARAM(16, "block size of the overlap (profile cognitora: 32)"),
    BLIS__NUMBER("epsilon", 0, 1, 0.01, "0 to 1",
                 "distance from the best score that counts as a tie for stable-hash",
                 BLIS__INTO(cognitora, stable.epsilon)),
    BLIS__INTEGER("heartbeat_us", 0, 1e15, 5000000, "us",
                  "interval between readings of load and free blocks; 0 = live",
                  BLIS__INTO(cognitora, heartbeat_us)),
    BLIS__INTEGER("max_concurrent", 0, 1e9, 0, "requests",
                  "requests in flight at a fully loaded instance; 0 = its max_num_seqs",
                  BLIS__INTO(cognitora, max_concurrent)),
    BLIS__INTEGER("queue_full", 1, 1e9, 64, "requests",
                  "waiting requests at a fully loaded instance, with utilization = queue",
                  BLIS__INTO(cognitora, queue_full)),
    BLIS__CHOICE("utilization", "in-flight|queue|max",
                 "load as requests in flight or waiting (profile "
                 "cognitora: queue), or as the larger of the former and the "
                 "share of the last 30 s in which the engine had work"),
    BLIS__CHOICE("capacity_from", "stated|free-blocks|hardware",
                 "capacity as stated, as the share of free KV blocks (profile "
                 "cognitora: free-blocks), or as the mean of GPUs and KV "
                 "blocks, each as a share of the highest among the candidates"),
    BLIS__CHOICE("power_from", "stated|rolling", "power draw as stated, or of the last 30 s"),
    BLIS__INTEGER("max_queue", 0, 1e15, 0, "requests",
                  "permits for each model and role (prefill, decode, or both in one): "
                  "asked for after scoring and held until the request ends there; who "
                  "gets none is rejected; 0 = no limit",
                  BLIS__INTO(cognitora, permits.limit)),
    BLIS__CHOICE("tie", "stable-hash|lowest-id|first|random|last|rotate",
                 "tie break (profile cognitora: lowest-id)"),
    BLIS__CHOICE("profile", "design|cognitora", "the design document or the code"),
};

/* Checks the weights. They are absolute: a larger weight does not change the influence of the
   others. */
static blis_status check_weights(const cognitora *self, blis_error *error) {
  double sum = 0;
  for (size_t k = 0; k < WEIGHT_COUNT; k++) {
    sum += self->weights[k];
  }
  if (!(sum > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy cognitora.score: kv, load, power, and capacity are all 0; "
                     "expected at least one above 0");
  }
  return BLIS_OK;
}

static const blis_router_ops ops = {.route = route, .free = free_state};
static const blis_router_ops ops_with_permits = {
    .route = route, .ended = ended, .free = free_state};

/* Adds the signals that only some parameter values require. */
static void add_needs(const cognitora *self, blis_policy_setup *setup) {
  setup->needs |= BLIS_SIGNAL_BIT(self->power);
  if (self->load == LOAD_MAX) {
    setup->needs |= BLIS_SIGNAL_BIT(BLIS_SIGNAL_UTILIZATION);
  }
  if (self->capacity == CAPACITY_HARDWARE) {
    setup->needs |= BLIS_SIGNAL_BIT(BLIS_SIGNAL_TP);
  }
}

/* Profile cognitora has different defaults. */
static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  cognitora *self = state;
  bool is_code = blis_setup_choice(setup, "profile") == 1;
  self->alloc = *setup->alloc;
  setup->ops = self->permits.limit > 0 ? &ops_with_permits : &ops;
  self->stable.block_size_tokens = (uint32_t)blis_setup_number_or(setup, "block_size", is_code, 32);
  self->stable.window_tokens = (int64_t)blis_setup_number_or(setup, "overlap_tokens", is_code, 0);
  self->load = (load_kind)blis_setup_choice_or(setup, "utilization", is_code, LOAD_QUEUE);
  self->capacity =
      (capacity_kind)blis_setup_choice_or(setup, "capacity_from", is_code, CAPACITY_FREE_BLOCKS);
  self->power =
      blis_setup_choice(setup, "power_from") == 1 ? BLIS_SIGNAL_ROLLING_WATTS : BLIS_SIGNAL_WATTS;
  add_needs(self, setup);
  blis_setup_tie(setup, &self->tie);
  if (is_code && !blis_setup_has(setup, "tie")) {
    self->tie.rule = BLIS_TIE_LOWEST_ID;
  }
  self->has_stable_ties = self->tie.rule == BLIS_TIE_RULE_COUNT;
  return check_weights(self, error);
}

const blis_policy_entry blis__router_cognitora_score = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "cognitora.score",
    .summary = "highest 0.55 overlap + 0.25 (1 - load) + 0.10 (1 - power) + "
               "0.10 capacity; the weights may change during a run",
    .source = "Cognitora, Routing - KV-aware scoring deep dive; "
              "cognitora-inference 89f555a",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(cognitora),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_MAX_NUM_SEQS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_FREE_KV_BLOCKS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_BLOCKS) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_WATTS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_CAPACITY),
    .init = init,
};
