/*
 * tokens.c - those baseline policies of LMetric's authors that count the tokens of the requests at
 * an instance. The policies themselves count the prompts in flight. The engine reports the decoded
 * tokens of the running requests.
 */
#include <math.h>

#include "policy/blitz/blitz.h"
#include "policy/memory/load_counters.h"
#include "policy/pickers/pick_rules.h"

typedef struct active_tokens {
  blis__load_counters counters;
  BLIS_ARRAY(double) figures; /* values of the candidates, one row per metric */
  blis__range bs;             /* ranges of the rows */
  blis__range hit;
  blis__range active;
} active_tokens;

enum { BS, HIT, ACTIVE, WEIGHT, FIGURE_ROWS };

static void deinit_active(blis__gateway *self) {
  active_tokens *own = self->own;
  blis_array_deinit(&self->alloc, &own->counters);
  blis_array_deinit(&self->alloc, &own->figures);
}

static void forget_active(blis__gateway *self, blis_ticket *ticket, uint32_t instance,
                          const blis_request_times *times) {
  (void)times;
  active_tokens *own = self->own;
  blis__load_counters_ended(&own->counters, ticket, instance);
}

static double *row_of(const blis__gateway *self, const blis_routing_view *view, int row) {
  const active_tokens *own = self->own;
  return own->figures.items + (size_t)row * view->count;
}

/* Fills the rows bs, hit and active, and their ranges. */
static blis_status fill_rows(const blis_question *q) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  active_tokens *own = self->own;
  BLIS_TRY(blis__load_counters_reserve(&own->counters, &self->alloc, view));
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->figures, FIGURE_ROWS * view->count));
  for (size_t i = 0; i < view->count; i++) {
    const blis__load *load = &own->counters.items[view->instances[i]];
    row_of(self, view, BS)[i] = blis__blitz_requests(q, i);
    row_of(self, view, HIT)[i] = blis__blitz_cached(q, i);
    row_of(self, view, ACTIVE)[i] =
        (double)load->ongoing_tokens + view->columns[BLIS_SIGNAL_DECODED_TOKENS][i];
  }
  own->bs = blis__range_of(row_of(self, view, BS), view->count);
  own->hit = blis__range_of(row_of(self, view, HIT), view->count);
  own->active = blis__range_of(row_of(self, view, ACTIVE), view->count);
  return BLIS_OK;
}

/* Chooses with the rule's function, or with its formulas; both read the rows. */
static blis_status choose_active(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  active_tokens *own = self->own;
  BLIS_TRY_MEM(fill_rows(q), q->error);
  *chosen = self->rule->pick != NULL ? self->rule->pick(q) : blis__least_of(q, &self->rule->least);
  blis__load_counters_add(&own->counters, q->request->ticket, q->view->instances[*chosen], 0,
                          q->request->prompt_tokens);
  return BLIS_OK;
}

/* Initializers of an entry that uses choose_active. */
#define ACTIVE(...)                                                                                \
  BLIS__GATEWAY(BLIS__BLITZ_NEEDS_COUNTS | BLIS__BLITZ_NEEDS_TOKENS |                              \
                    BLIS_SIGNAL_BIT(BLIS_SIGNAL_DECODED_TOKENS),                                   \
                .choose = choose_active, __VA_ARGS__, .own_size = sizeof(active_tokens),           \
                .deinit_own = deinit_active, .ended = forget_active)

static double active_at(const blis_question *q, size_t i) {
  return row_of(q->state, q->view, ACTIVE)[i];
}

const blis_policy_entry blis__router_blitz_least_active = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.least-active",
    .summary = "fewest tokens of requests in flight, prompts and outputs",
    .source = BLIS__BLITZ_SOURCE,
    ACTIVE(.least = {.by = {active_at}}),
};

static double token_load(const blis_question *q, size_t i) {
  return blis__column_at(q, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, i) + active_at(q, i);
}

const blis_policy_entry blis__router_blitz_least_token_load = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.least-token-load",
    .summary = "least pending prefill + tokens of requests in flight",
    .source = BLIS__BLITZ_SOURCE,
    ACTIVE(.least = {.by = {token_load}}),
};

enum { DYNAMO_WEIGHT, DYNAMO_BLOCK_SIZE, DYNAMO_DECODE };

static const blis_param_spec dynamo_params[] = {
    BLIS__NUMBER("overlap_weight", 0, 1e9, 1, "", "weight of the tokens to prefill, in blocks"),
    BLIS__BLOCK_SIZE_PARAM(16, "size of the blocks counted"),
    BLIS__CHOICE("count", "prefill-and-decode|prefill", "prefill excludes the blocks in decode"),
};

static double dynamo_cost(const blis_question *q, size_t i) {
  const double *v = ((const blis__gateway *)q->state)->values;
  double block_size = v[DYNAMO_BLOCK_SIZE];
  double fresh = (double)q->request->prompt_tokens - blis__blitz_cached(q, i);
  double blocks = ceil(fresh / block_size);
  double decode = v[DYNAMO_DECODE] == 0 ? active_at(q, i) / block_size : 0;
  return v[DYNAMO_WEIGHT] * (fresh / block_size) + blocks + decode;
}

const blis_policy_entry blis__router_blitz_dynamo = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.dynamo",
    .summary = "least overlap weight x blocks to prefill + new blocks + blocks "
               "in decode",
    .source = BLIS__BLITZ_SOURCE "; overlap weight 1 is ours",
    BLIS__PARAMS(dynamo_params),
    ACTIVE(.least = {.by = {dynamo_cost}}),
};

enum { BAILIAN_HIT, BAILIAN_BS, BAILIAN_ACTIVE };

static const blis_param_spec bailian_params[] = {
    BLIS__NUMBER("hit_weight", 0, 1e9, 0.7, "",
                 "weight of the cached share of the prompt (another version: 0.33)"),
    BLIS__NUMBER("requests_weight", 0, 1e9, 0.15, "",
                 "weight of having few requests (another version: 0.33)"),
    BLIS__NUMBER("tokens_weight", 0, 1e9, 0.15, "",
                 "weight of having few tokens (another version: 0.33)"),
};

/* Returns the distance of a value from the highest, as a fraction of the range: 0 to 1. */
static double few(blis__range range, double value) {
  return blis__range_share(range, range.high + range.low - value);
}

static size_t pick_bailian(const blis_question *q) {
  blis__gateway *self = q->state;
  const active_tokens *own = self->own;
  const blis_routing_view *view = q->view;
  const double *v = self->values;
  double *weights = row_of(self, view, WEIGHT);
  for (size_t i = 0; i < view->count; i++) {
    double cached = blis__range_share(own->hit, row_of(self, view, HIT)[i]);
    double few_requests = few(own->bs, row_of(self, view, BS)[i]);
    double few_tokens = few(own->active, active_at(q, i));
    weights[i] =
        v[BAILIAN_HIT] * cached + v[BAILIAN_BS] * few_requests + v[BAILIAN_ACTIVE] * few_tokens;
  }
  return blis_pick_weighted_random(&self->random, weights, view->count);
}

const blis_policy_entry blis__router_blitz_bailian = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.bailian",
    .summary = "drawn by cached share of the prompt, few requests and few "
               "tokens, each scaled to 0 to 1 over the instances",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__PARAMS(bailian_params),
    ACTIVE(.pick = pick_bailian),
};

enum { AIBRIX_IMBALANCE, AIBRIX_DEVIATIONS };

static const blis_param_spec aibrix_params[] = {
    BLIS__NUMBER("imbalance", 0, 1e12, 8, "requests",
                 "if the loads differ by more, only the least loaded count"),
    BLIS__NUMBER("deviations", 0, 1e9, 1, "",
                 "limit above the mean number of requests, in standard deviations"),
};

/* Returns whether a is better than b: more of the prompt cached, then fewer requests. */
static bool is_ahead(const double *hit, const double *bs, size_t a, size_t b) {
  return hit[a] > hit[b] || (hit[a] == hit[b] && bs[a] < bs[b]);
}

static size_t pick_aibrix(const blis_question *q) {
  const blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const double *bs = row_of(self, view, BS);
  const double *hit = row_of(self, view, HIT);
  blis__range range = ((const active_tokens *)self->own)->bs;
  bool is_imbalanced = range.high - range.low > self->values[AIBRIX_IMBALANCE];
  double bound = blis__mean_bound(bs, view->count, self->values[AIBRIX_DEVIATIONS]);
  size_t best = view->count; /* best candidate within the bound */
  size_t last = view->count; /* best candidate of all; the last of equal ones */
  for (size_t i = 0; i < view->count; i++) {
    if (is_imbalanced && bs[i] > range.low) {
      continue;
    }
    if (bs[i] <= bound && (best == view->count || is_ahead(hit, bs, i, best))) {
      best = i;
    }
    if (last == view->count || !is_ahead(hit, bs, i, last)) {
      last = i;
    }
  }
  return best < view->count ? best : last;
}

const blis_policy_entry blis__router_blitz_aibrix = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.aibrix",
    .summary = "most cached tokens among those not far above the mean number "
               "of requests",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__PARAMS(aibrix_params),
    ACTIVE(.pick = pick_aibrix),
};

enum { LLMD_HIT, LLMD_LOAD, LLMD_ACTIVE };

enum { LLMD_QUEUE = 128 };

static const blis_param_spec llmd_params[] = {
    BLIS__NUMBER("hit_weight", 0, 1e9, 10, "", "of the cached share of the prompt"),
    BLIS__NUMBER("load_weight", 0, 1e9, 1, "", "of a short queue"),
    BLIS__NUMBER("tokens_weight", 0, 1e9, 0, "", "of having few tokens; 1 in one version"),
};

static double llmd_negated(const blis_question *q, size_t i) {
  const blis__gateway *self = q->state;
  const active_tokens *own = self->own;
  const double *v = self->values;
  double cached = blis__range_share(own->hit, row_of(self, q->view, HIT)[i]);
  double waiting = fmin(blis__blitz_waiting(q, i), LLMD_QUEUE);
  double load = 0.5 * (1 - waiting / LLMD_QUEUE);
  double few_tokens = 1 - blis__range_share(own->active, active_at(q, i));
  return 0 - (v[LLMD_HIT] * cached + v[LLMD_LOAD] * load + v[LLMD_ACTIVE] * few_tokens);
}

const blis_policy_entry blis__router_blitz_llmd = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.llm-d",
    .summary = "highest 10 x cached share of the prompt + 0.5 (1 - waiting / "
               "128), the last in a tie",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__PARAMS(llmd_params),
    ACTIVE(.least = {.by = {llmd_negated}, .takes_last = true}),
};
