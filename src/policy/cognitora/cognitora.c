/*
 * cognitora.c - routing policy cognitora.score: cached prefix, load, power and
 * static capacity in one weighted sum, near ties by a stable hash.
 *
 *   score = kv * overlap + load * (1 - util) + power * (1 - watts / highest)
 *           + capacity * capacity
 *
 * Load and free blocks are what the instances published at their last
 * heartbeat: all of them are read at the first decision of every period. The
 * overlap is asked of the caches at the decision, power
 * and static capacity are as stated for the cluster. There is no signal of SM
 * utilisation, which counts as 0, as a missing one does in the document.
 */
#include <math.h>

#include "base/array.h"
#include "base/number.h"
#include "policy/contract/policy.h"
#include "policy/contract/stable_hash.h"

/* Weights, in the order of the parameters. */
enum { KV, LOAD, POWER, CAPACITY, WEIGHT_COUNT };

enum { TIE_STABLE_HASH };

typedef struct published {
  double utilization;
  double free_share; /* of the KV blocks */
} published;

typedef struct cognitora {
  blis_alloc alloc;
  double weights[WEIGHT_COUNT];
  blis_stable_hash stable; /* window_tokens 0 = the whole prompt */
  int64_t heartbeat_us;    /* 0 = always live */
  int64_t period;          /* number of the one that was read last */
  double max_concurrent;   /* 0 = max_num_seqs */
  double queue_full;
  bool load_is_queue;
  bool capacity_is_free_blocks;
  bool has_stable_ties;
  blis_tie tie;                /* otherwise */
  BLIS_ARRAY(published) heard; /* by instance number */
  BLIS_ARRAY(double) scores;
} cognitora;

static double clamp(double value) {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

static double utilization_of(const cognitora *self,
                             const blis_routing_view *view, size_t i) {
  if (self->load_is_queue) {
    return clamp(view->columns[BLIS_SIGNAL_QUEUE_DEPTH][i] / self->queue_full);
  }
  double limit = self->max_concurrent > 0
                     ? self->max_concurrent
                     : view->columns[BLIS_SIGNAL_MAX_NUM_SEQS][i];
  return clamp(view->columns[BLIS_SIGNAL_IN_FLIGHT][i] / limit);
}

static double free_share_of(const blis_routing_view *view, size_t i) {
  double blocks = view->columns[BLIS_SIGNAL_KV_BLOCKS][i];
  return blocks > 0 ? view->columns[BLIS_SIGNAL_FREE_KV_BLOCKS][i] / blocks : 0;
}

/* Reads everybody's heartbeat once per period, and when there are new ones. */
static blis_status listen(cognitora *self, const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->heard, instances));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->scores, view->count));
  int64_t period =
      self->heartbeat_us > 0 ? view->now_us / self->heartbeat_us : 0;
  bool is_due = self->heartbeat_us == 0 || period != self->period ||
                instances > self->heard.count;
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
                    .free_share = free_share_of(view, i)};
  }
  return BLIS_OK;
}

/* Full blocks of the prompt that lie in the window. */
static double blocks_in_window(const cognitora *self,
                               const blis_routing_request *request) {
  int64_t tokens = request->prompt_tokens;
  if (self->stable.window_tokens > 0 && self->stable.window_tokens < tokens) {
    tokens = self->stable.window_tokens;
  }
  int64_t blocks = tokens / self->stable.block_size_tokens;
  return (double)blocks;
}

static double highest_power(const blis_routing_view *view) {
  const double *power = view->columns[BLIS_SIGNAL_WATTS];
  double highest = 0;
  for (size_t i = 0; i < view->count; i++) {
    highest = power[i] > highest ? power[i] : highest;
  }
  return highest;
}

static void score_all(cognitora *self, const blis_routing_request *request,
                      const blis_routing_view *view) {
  const double *cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  const double *power = view->columns[BLIS_SIGNAL_WATTS];
  const double *capacity = view->columns[BLIS_SIGNAL_CAPACITY];
  const double *w = self->weights;
  double blocks = blocks_in_window(self, request);
  double block_size = (double)self->stable.block_size_tokens;
  double highest_w = highest_power(view);
  for (size_t i = 0; i < view->count; i++) {
    const published *node = &self->heard.items[view->instances[i]];
    double matched = floor(cached[i] / block_size);
    double overlap = blocks > 0 ? clamp(matched / blocks) : 0;
    double watts = highest_w > 0 ? power[i] / highest_w : 0;
    double strength =
        self->capacity_is_free_blocks ? node->free_share : capacity[i];
    self->scores.items[i] = w[KV] * overlap +
                            w[LOAD] * (1 - node->utilization) +
                            w[POWER] * (1 - watts) + w[CAPACITY] * strength;
  }
}

static blis_status choose(cognitora *self, const blis_routing_request *request,
                          const blis_routing_view *view, size_t *chosen) {
  BLIS_TRY(listen(self, view));
  score_all(self, request, view);
  const double *scores = self->scores.items;
  *chosen = self->has_stable_ties
                ? blis_stable_hash_pick(&self->stable, request, view, scores)
                : blis_tie_pick_max(&self->tie, scores, view);
  return BLIS_OK;
}

static blis_status route(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  cognitora *self = state;
  size_t chosen = 0;
  BLIS_TRY_MEM(choose(self, request, view, &chosen), error);
  *decision = (blis_decision){
      .chosen = chosen,
      .score = self->scores.items[chosen],
      .scores = self->scores.items,
      .has_belief = true,
      .believed_tokens =
          (int64_t)view->columns[BLIS_SIGNAL_CACHED_TOKENS][chosen]};
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  cognitora *self = state;
  blis_array_deinit(alloc, &self->heard);
  blis_array_deinit(alloc, &self->scores);
  blis_alloc_free(alloc, self, sizeof *self);
}

#define WEIGHT(given_name, value, of)                                          \
  {                                                                            \
    .name = (given_name), .kind = BLIS_PARAM_NUMBER, .minimum = 0,             \
    .maximum = 1, .fallback = (value), .unit = "0 to 1",                       \
    .summary = "weight of " of, .is_live = true                                \
  }

enum { PARAM_COUNT = WEIGHT_COUNT + 10 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    WEIGHT("kv", 0.55, "the cached prefix"),
    WEIGHT("load", 0.25, "idleness"),
    WEIGHT("power", 0.10, "a low power draw"),
    WEIGHT("capacity", 0.10, "capacity"),
    {.name = "overlap_tokens",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1 << 30,
     .fallback = 64,
     .unit = "tokens",
     .summary = "of the prompt that are looked for in the caches; 0 = all "
                "(profile cognitora: 0)"},
    BLIS__BLOCK_SIZE_PARAM(
        16, "of the blocks that the overlap counts (profile cognitora: "
            "32)"),
    {.name = "epsilon",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1,
     .fallback = 0.01,
     .unit = "0 to 1",
     .summary = "this close to the best is a tie for stable-hash"},
    {.name = "heartbeat_us",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1e15,
     .fallback = 5000000,
     .unit = "us",
     .summary = "between two readings of load and free blocks; 0 = live"},
    {.name = "max_concurrent",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 0,
     .unit = "requests",
     .summary = "in flight at a busy instance; 0 = its max_num_seqs"},
    {.name = "queue_full",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1e9,
     .fallback = 64,
     .unit = "requests",
     .summary = "waiting at a busy instance, with utilization = queue"},
    {.name = "utilization",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "in-flight|queue",
     .unit = "",
     .summary = "what load is: requests in flight or waiting (profile "
                "cognitora: queue)"},
    {.name = "capacity_from",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "stated|free-blocks",
     .unit = "",
     .summary = "what capacity is: the stated one, or the share of free KV "
                "blocks (profile cognitora: free-blocks)"},
    {.name = "tie",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "stable-hash|lowest-id|first|random|last|rotate",
     .unit = "",
     .summary = "which of equally good ones (profile cognitora: lowest-id)"},
    {.name = "profile",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "design|cognitora",
     .unit = "",
     .summary = "the design document or the code"},
};

/* The rest of the tie parameter's choices. */
static const blis_tie_rule tie_rules[] = {
    BLIS_TIE_LOWEST_ID, BLIS_TIE_LOWEST_ID, BLIS_TIE_FIRST,
    BLIS_TIE_RANDOM,    BLIS_TIE_LAST,      BLIS_TIE_ROTATE};

static double number_of(const blis_params *params, const char *name) {
  return blis_params_number(params, params_of, PARAM_COUNT, name);
}

/* The value in profile cognitora, unless another is given. */
static double number_in(const blis_params *params, const char *name,
                        bool is_code, double code_value) {
  return is_code && blis_params_find(params, name) == NULL
             ? code_value
             : number_of(params, name);
}

static int choice_in(const blis_params *params, const char *name, bool is_code,
                     int code_choice) {
  return is_code && blis_params_find(params, name) == NULL
             ? code_choice
             : blis_params_choice(params, params_of, PARAM_COUNT, name);
}

static void configure(cognitora *self, const blis_params *params,
                      const blis_policy_context *context) {
  bool is_code =
      blis_params_choice(params, params_of, PARAM_COUNT, "profile") == 1;
  for (size_t k = 0; k < WEIGHT_COUNT; k++) {
    self->weights[k] = number_of(params, params_of[k].name);
  }
  self->stable = (blis_stable_hash){.epsilon = number_of(params, "epsilon"),
                                    .block_size_tokens = (uint32_t)number_in(
                                        params, "block_size", is_code, 32),
                                    .window_tokens = (int64_t)number_in(
                                        params, "overlap_tokens", is_code, 0)};
  self->heartbeat_us = (int64_t)number_of(params, "heartbeat_us");
  self->max_concurrent = number_of(params, "max_concurrent");
  self->queue_full = number_of(params, "queue_full");
  self->load_is_queue = choice_in(params, "utilization", is_code, 1) == 1;
  self->capacity_is_free_blocks =
      choice_in(params, "capacity_from", is_code, 1) == 1;
  int tie = choice_in(params, "tie", is_code, 1);
  self->has_stable_ties = tie == TIE_STABLE_HASH;
  blis_tie_init_of(&self->tie, tie_rules[tie], context->seed,
                   "cognitora.score");
}

static blis_status check_sum(const cognitora *self, blis_error *error) {
  double sum = 0;
  for (size_t k = 0; k < WEIGHT_COUNT; k++) {
    sum += self->weights[k];
  }
  if (fabs(sum - 1) > 0.01) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy cognitora.score: kv + load + power + "
                     "capacity is %s, expected 1",
                     blis_show_double(sum).text);
  }
  return BLIS_OK;
}

/* Weights changed during a run need not sum to 1. */
static blis_status change(void *state, const blis_params *params,
                          blis_error *error) {
  (void)error;
  cognitora *self = state;
  for (size_t k = 0; k < WEIGHT_COUNT; k++) {
    const blis_param *given = blis_params_find(params, params_of[k].name);
    if (given != NULL) {
      self->weights[k] = given->number;
    }
  }
  return BLIS_OK;
}

static const blis_router_ops ops = {
    .route = route, .change = change, .free = free_state};

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_router *router, blis_error *error) {
  cognitora *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->alloc = *alloc;
  configure(self, params, context);
  blis_status status = check_sum(self, error);
  if (status != BLIS_OK) {
    free_state(alloc, self);
    return status;
  }
  *router = (blis_router){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_MAX_NUM_SEQS) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_FREE_KV_BLOCKS) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_BLOCKS) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_WATTS) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_CAPACITY),
                          .name = "cognitora.score"};
  return BLIS_OK;
}

const blis_router_entry blis__router_cognitora_score = {
    .name = "cognitora.score",
    .aliases = "",
    .summary = "highest 0.55 overlap + 0.25 (1 - load) + 0.10 (1 - power) + "
               "0.10 capacity; the weights may change during a run",
    .source = "Cognitora, Routing - KV-aware scoring deep dive; "
              "cognitora-inference 89f555a",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};
