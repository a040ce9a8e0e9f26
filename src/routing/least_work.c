/*
 * least_work.c - routing policies that take the least of a figure of work
 * ahead: sglang.lmetric, the comparison set of the authors' router of LMetric,
 * infera.kv.
 */
#include "routing/gateway.h"

static double new_tokens(const blis__gateway *self,
                         const blis_routing_request *request,
                         const blis_routing_view *view, size_t i) {
  int64_t known = blis__prefix_memory_tokens(&self->memory, view, i);
  int64_t fresh = request->prompt_tokens - known;
  return fresh > 0 ? (double)fresh : 0;
}

/* Less of new x (load + 1), of load, of new; then the first. */
static blis_status choose_sglang(blis__gateway *self,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view,
                                 size_t *chosen) {
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  *chosen = 0;
  double best = new_tokens(self, request, view, 0) * (load[0] + 1);
  for (size_t i = 1; i < view->count; i++) {
    double fresh = new_tokens(self, request, view, i);
    double score = fresh * (load[i] + 1);
    bool is_better =
        score < best ||
        (score == best && (load[i] < load[*chosen] ||
                           (load[i] == load[*chosen] &&
                            fresh < new_tokens(self, request, view, *chosen))));
    if (is_better) {
      *chosen = i;
      best = score;
    }
  }
  return BLIS_OK;
}

static const blis__gateway_rule sglang_rule = {
    .choose = choose_sglang,
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
    .has_memory = true,
};

static const blis_param_spec memory_params[] = {
    BLIS__GATEWAY_MEMORY_PARAMS(16, 1 << 20),
};

BLIS__GATEWAY_CREATE(sglang_lmetric, sglang_rule)

const blis_router_entry blis__router_sglang_lmetric = {
    .name = "sglang.lmetric",
    .aliases = "",
    .summary = "least new tokens x (requests in flight + 1)",
    .source = "SGLang gateway acaa759a; blocks in place of characters",
    .params = memory_params,
    .param_count = 2,
    .create = create_sglang_lmetric,
};

/* The figures of the comparison set, of one candidate. */

static double cached_at(const blis_routing_view *view, size_t i) {
  return view->columns[BLIS_SIGNAL_CACHED_TOKENS][i];
}

static double waiting_at(const blis_routing_view *view, size_t i) {
  return view->columns[BLIS_SIGNAL_QUEUE_DEPTH][i] +
         view->columns[BLIS_SIGNAL_PENDING][i];
}

static double requests_at(const blis_routing_view *view, size_t i) {
  return waiting_at(view, i) + view->columns[BLIS_SIGNAL_BATCH_SIZE][i];
}

static double wait_tokens_at(const blis_routing_request *request,
                             const blis_routing_view *view, size_t i) {
  return view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS][i] +
         (double)request->prompt_tokens - cached_at(view, i);
}

#define NEEDS_COUNTS                                                           \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |                                  \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING) |                                      \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE))
#define NEEDS_TOKENS                                                           \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) |                       \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS))

/* A rule that takes the first candidate of the least VALUE at i. */
#define LEAST_RULE(name, value, signals)                                       \
  static blis_status choose_##name(                                            \
      blis__gateway *self, const blis_routing_request *request,                \
      const blis_routing_view *view, size_t *chosen) {                         \
    (void)self, (void)request;                                                 \
    double best = 0;                                                           \
    for (size_t i = 0; i < view->count; i++) {                                 \
      double figure = (value);                                                 \
      if (i == 0 || figure < best) {                                           \
        best = figure;                                                         \
        *chosen = i;                                                           \
      }                                                                        \
    }                                                                          \
    return BLIS_OK;                                                            \
  }                                                                            \
  static const blis__gateway_rule name##_rule = {.choose = choose_##name,      \
                                                 .needs = (signals)};          \
  BLIS__GATEWAY_CREATE(name, name##_rule)

#define BLITZ_SOURCE "LMetric authors' blitz-router 1e3f21c5"

enum { WAITING_WEIGHT = 4 };

LEAST_RULE(blitz_join_shortest_weight,
           WAITING_WEIGHT *waiting_at(view, i) + requests_at(view, i),
           NEEDS_COUNTS)
LEAST_RULE(blitz_least_bs, requests_at(view, i), NEEDS_COUNTS)
LEAST_RULE(blitz_least_waiting, waiting_at(view, i), NEEDS_COUNTS)
LEAST_RULE(blitz_least_wait_token, wait_tokens_at(request, view, i),
           NEEDS_TOKENS)

const blis_router_entry blis__router_blitz_join_shortest_weight = {
    .name = "blitz.join-shortest-weight",
    .aliases = "",
    .summary = "least 4 x waiting + requests, as vLLM between its ranks",
    .source = BLITZ_SOURCE,
    .create = create_blitz_join_shortest_weight,
};

const blis_router_entry blis__router_blitz_least_bs = {
    .name = "blitz.least-bs",
    .aliases = "",
    .summary = "fewest requests, waiting and running",
    .source = BLITZ_SOURCE,
    .create = create_blitz_least_bs,
};

const blis_router_entry blis__router_blitz_least_waiting = {
    .name = "blitz.least-waiting",
    .aliases = "",
    .summary = "fewest waiting requests",
    .source = BLITZ_SOURCE,
    .create = create_blitz_least_waiting,
};

const blis_router_entry blis__router_blitz_least_wait_token = {
    .name = "blitz.least-wait-token",
    .aliases = "",
    .summary = "least pending prefill + new tokens",
    .source = BLITZ_SOURCE,
    .create = create_blitz_least_wait_token,
};

enum { MAX_PENDING, BOUNDED_PARAM_COUNT };

static const blis_param_spec bounded_params[BOUNDED_PARAM_COUNT] = {
    {.name = "max_pending_tokens",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e15,
     .fallback = 2048,
     .unit = "tokens",
     .summary = "an instance with as much pending prefill or more is not "
                "followed for its cache"},
};

/* The last of those with most cached tokens and little ahead of them. */
static blis_status choose_bounded(blis__gateway *self,
                                  const blis_routing_request *request,
                                  const blis_routing_view *view,
                                  size_t *chosen) {
  const double *pending = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  size_t best = view->count;
  for (size_t i = 0; i < view->count; i++) {
    bool is_eligible = pending[i] < self->values[MAX_PENDING];
    if (is_eligible &&
        (best == view->count || cached_at(view, i) >= cached_at(view, best))) {
      best = i;
    }
  }
  if (best == view->count) {
    return choose_blitz_least_wait_token(self, request, view, chosen);
  }
  *chosen = best;
  return BLIS_OK;
}

static const blis__gateway_rule bounded_rule = {.choose = choose_bounded,
                                                .needs = NEEDS_TOKENS};

BLIS__GATEWAY_CREATE(blitz_bounded_most_hit, bounded_rule)

const blis_router_entry blis__router_blitz_bounded_most_hit = {
    .name = "blitz.bounded-most-hit",
    .aliases = "",
    .summary = "most cached tokens among those with little pending prefill; "
               "none, least pending prefill + new tokens",
    .source = BLITZ_SOURCE,
    .params = bounded_params,
    .param_count = BOUNDED_PARAM_COUNT,
    .create = create_blitz_bounded_most_hit,
};

enum { OVERLAP_WEIGHT, INFERA_PARAM_COUNT = OVERLAP_WEIGHT + 2 };

static const blis_param_spec infera_params[INFERA_PARAM_COUNT] = {
    {.name = "overlap_weight",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 1,
     .unit = "requests per block",
     .summary = "of a block that is not cached"},
    {.name = "block_size",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 20,
     .fallback = 16,
     .unit = "tokens",
     .summary = "of the blocks that are counted"},
};

static double infera_cost(const blis__gateway *self,
                          const blis_routing_request *request,
                          const blis_routing_view *view, size_t i) {
  double missed = ((double)request->prompt_tokens - cached_at(view, i)) /
                  self->values[OVERLAP_WEIGHT + 1];
  return self->values[OVERLAP_WEIGHT] * missed +
         view->columns[BLIS_SIGNAL_IN_FLIGHT][i];
}

LEAST_RULE(infera_kv, infera_cost(self, request, view, i),
           BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) |
               BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT))

const blis_router_entry blis__router_infera_kv = {
    .name = "infera.kv",
    .aliases = "",
    .summary = "least weight x blocks not cached + requests in flight",
    .source = "Infera, KV-aware routing",
    .params = infera_params,
    .param_count = INFERA_PARAM_COUNT,
    .create = create_infera_kv,
};
