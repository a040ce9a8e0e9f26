/*
 * unified.c - routing policy unified: selects the session's instance if its cache saves enough work
 * and it is not overloaded; otherwise the choice of LMetric.
 */
#include "policy/b3/b3.h"
#include "policy/memory/bindings.h"

enum { FACT_COUNT = 8 };

typedef enum bind_rule { BIND_EVERY_PICK, BIND_FIRST, BIND_NEVER } bind_rule;

typedef struct unified {
  blis__b3 b3;
  double affinity_ratio;
  double overload_factor;
  double decode_weight;
  bind_rule bind;
  uint64_t ties; /* number of ties broken so far */
  blis__bindings sessions;
  blis_decision_fact facts[FACT_COUNT]; /* facts about the current decision */
} unified;

/* Returns the mean number of requests per candidate, at least 1. */
static double mean_requests(const unified *self, const blis_routing_view *view) {
  int64_t sum = 0;
  for (size_t i = 0; i < view->count; i++) {
    sum += self->b3.counters.items[view->instances[i]].requests;
  }
  double mean = (double)sum / (double)view->count;
  return mean > 1 ? mean : 1;
}

/* Returns the fraction of the prompt that is predicted to be cached on an instance. */
static double cache_ratio(const unified *self, const blis_routing_request *request,
                          uint32_t instance) {
  double prompt = request->prompt_tokens > 1 ? (double)request->prompt_tokens : 1;
  return (double)blis__b3_cached_tokens(&self->b3, request, instance) / prompt;
}

static bool is_worth_sticking(const unified *self, const blis_routing_request *request,
                              const blis_routing_view *view, uint32_t instance) {
  double requests = (double)self->b3.counters.items[instance].requests;
  return cache_ratio(self, request, instance) > self->affinity_ratio &&
         requests <= mean_requests(self, view) * self->overload_factor;
}

/* Adds the prompts of decoding requests, with a weight, to the pending prefill tokens. */
static void add_decode(unified *self, const blis_routing_view *view) {
  for (size_t i = 0; i < view->count && self->decode_weight > 0; i++) {
    const blis__load *load = &self->b3.counters.items[view->instances[i]];
    self->b3.scores.items[i] -=
        self->decode_weight * (double)load->decode_tokens * (double)load->requests;
  }
}

/* Returns a negative number if candidate a is better than b, and 0 if they are equal. */
static int compare(const unified *self, const blis_routing_request *request,
                   const blis_routing_view *view, size_t a, size_t b) {
  const double *scores = self->b3.scores.items; /* negated */
  if (scores[a] != scores[b]) {
    return scores[a] > scores[b] ? -1 : 1;
  }
  uint32_t left = view->instances[a];
  uint32_t right = view->instances[b];
  int64_t cached_left = blis__b3_cached_tokens(&self->b3, request, left);
  int64_t cached_right = blis__b3_cached_tokens(&self->b3, request, right);
  if (cached_left != cached_right) {
    return cached_left > cached_right ? -1 : 1; /* fewer new tokens */
  }
  int64_t requests =
      self->b3.counters.items[left].requests - self->b3.counters.items[right].requests;
  return (requests > 0) - (requests < 0);
}

/* Returns the first of the best candidates, and their number. */
static size_t first_best(const unified *self, const blis_routing_request *request,
                         const blis_routing_view *view, size_t *tied) {
  size_t best = 0;
  *tied = 1;
  for (size_t i = 1; i < view->count; i++) {
    int order = compare(self, request, view, i, best);
    if (order < 0) {
      best = i;
      *tied = 1;
    } else if (order == 0) {
      ++*tied;
    }
  }
  return best;
}

static size_t fall_back(unified *self, const blis_routing_request *request,
                        const blis_routing_view *view) {
  size_t tied;
  size_t best = first_best(self, request, view, &tied);
  if (tied == 1) {
    return best;
  }
  uint64_t skipped = self->ties++ % tied;
  for (size_t i = best; i < view->count; i++) {
    if (compare(self, request, view, i, best) == 0 && skipped-- == 0) {
      return i;
    }
  }
  return best;
}

static blis_status bind_session(unified *self, const blis_routing_request *request,
                                uint32_t instance, bool is_bound, int64_t now_us) {
  bool is_due = self->bind == BIND_EVERY_PICK || (self->bind == BIND_FIRST && !is_bound);
  return request->session != 0 && is_due
             ? blis__bindings_put(&self->sessions, request->session, instance, now_us)
             : BLIS_OK;
}

typedef struct choice {
  size_t bound; /* candidate of the session's instance, or view->count */
  size_t chosen;
  bool is_stuck;  /* the session's instance was chosen */
  bool broke_tie; /* the counter broke a tie */
} choice;

/* Writes the decision record of the pseudocode, before the decision is counted. */
static size_t tell(unified *self, const blis_routing_request *request,
                   const blis_routing_view *view, const choice *made) {
  uint32_t instance = view->instances[made->chosen];
  double hit = (double)blis__b3_cached_tokens(&self->b3, request, instance);
  blis_decision_fact *fact = self->facts;
  *fact++ = (blis_decision_fact){"is_affinity", made->is_stuck};
  *fact++ = (blis_decision_fact){"cached_tokens", hit};
  *fact++ = (blis_decision_fact){"cache_ratio", cache_ratio(self, request, instance)};
  *fact++ = (blis_decision_fact){"mean_requests", mean_requests(self, view)};
  if (made->bound < view->count) {
    uint32_t bound = view->instances[made->bound];
    *fact++ = (blis_decision_fact){"affinity_instance", bound};
    *fact++ = (blis_decision_fact){"affinity_cache_ratio", cache_ratio(self, request, bound)};
  }
  if (!made->is_stuck) {
    *fact++ = (blis_decision_fact){"fallback_score", 0 - self->b3.scores.items[made->chosen]};
    *fact++ = (blis_decision_fact){"broke_tie", made->broke_tie};
  }
  return (size_t)(fact - self->facts);
}

static choice choose(unified *self, const blis_routing_request *request,
                     const blis_routing_view *view) {
  choice made = {.bound = blis__bindings_candidate(&self->sessions, request->session, view)};
  made.is_stuck = made.bound < view->count &&
                  is_worth_sticking(self, request, view, view->instances[made.bound]);
  uint64_t ties = self->ties;
  made.chosen = made.is_stuck ? made.bound : fall_back(self, request, view);
  made.broke_tie = self->ties > ties;
  return made;
}

static blis_status decide(unified *self, const blis_routing_request *request,
                          const blis_routing_view *view, blis_decision *decision) {
  BLIS_TRY(blis__b3_score(&self->b3, request, view, 0));
  add_decode(self, view);
  choice made = choose(self, request, view);
  size_t facts = request->wants_parts ? tell(self, request, view, &made) : 0;
  BLIS_TRY(bind_session(self, request, view->instances[made.chosen], made.bound < view->count,
                        view->now_us));
  BLIS_TRY(blis__b3_take(&self->b3, request, view, made.chosen, decision));
  decision->facts = facts > 0 ? self->facts : NULL;
  decision->fact_count = facts;
  return BLIS_OK;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  BLIS_TRY_MEM(decide(q->state, q->request, q->view, decision), q->error);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  unified *self = state;
  blis__b3_deinit(&self->b3);
  blis__bindings_deinit(&self->sessions);
}

static const blis_router_ops ops = {.route = route,
                                    .first_token = blis__b3_first_token,
                                    .ended = blis__b3_ended,
                                    .free = free_state};

#define GATE_PARAMS(overload)                                                                      \
  BLIS__B3_PARAMS,                                                                                 \
      BLIS__NUMBER("affinity_ratio", 0, 1, 0.5, "0 to 1",                                          \
                   "a session stays if more than this share of the prompt is "                     \
                   "cached at its instance",                                                       \
                   BLIS__INTO(unified, affinity_ratio)),                                           \
      BLIS__NUMBER("overload_factor", 0, 1e9, overload, "",                                        \
                   "and if its instance has at most this multiple of the "                         \
                   "mean number of requests",                                                      \
                   BLIS__INTO(unified, overload_factor))

#define UNIFIED_PARAMS(overload)                                                                   \
  GATE_PARAMS(overload), BLIS__CHOICE("bind", "every-pick|first|never",                            \
                                      "decisions that bind a session to its instance; "            \
                                      "literally, the pseudocode never does",                      \
                                      BLIS__INTO(unified, bind))

static const blis_param_spec unified_params[] = {UNIFIED_PARAMS(2)};

static const blis_param_spec ab_params[] = {
    UNIFIED_PARAMS(1.3),
    BLIS__NUMBER("decode_weight", 0, 1e9, 0.01, "",
                 "cost of a prompt token in decode relative to one to prefill",
                 BLIS__INTO(unified, decode_weight)),
};

static const blis_param_spec printed_params[] = {GATE_PARAMS(2)};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  unified *self = state;
  blis__bindings_init(&self->sessions, setup->alloc);
  BLIS_TRY_MEM(blis__b3_init(&self->b3, setup), error);
  return BLIS_OK;
}

static blis_status init_printed(void *state, blis_policy_setup *setup, blis_error *error) {
  ((unified *)state)->bind = BIND_NEVER;
  return init(state, setup, error);
}

const blis_policy_entry blis__router_unified_as_printed = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "unified-as-printed",
    .aliases = "b3.unified_as_printed",
    .summary = "unified to the letter of its pseudocode, which binds no session "
               "to an instance: lmetric with ties broken by prefill, requests "
               "and turns",
    .source = "B3 Routing Policies - Pseudocode (08530b3915)",
    BLIS__PARAMS(printed_params),
    .ops = &ops,
    .state_size = sizeof(unified),
    .init = init_printed,
};

const blis_policy_entry blis__router_unified = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "unified",
    .aliases = "b3.unified",
    .summary = "the session's instance while most of the prompt is cached "
               "there and it is not overloaded, else as lmetric",
    .source = "B3 Routing Policies - Pseudocode (08530b3915)",
    BLIS__PARAMS(unified_params),
    .ops = &ops,
    .state_size = sizeof(unified),
    .init = init,
};

const blis_policy_entry blis__router_b3_unified_ab = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "b3.unified_ab",
    .summary = "unified with overload factor 1.3 and, in addition to the "
               "tokens to prefill, 0.01 x the prompts in decode",
    .source = "LMetric and B3: later variants of the project, which name the "
              "two numbers; where the second one goes is our reading",
    BLIS__PARAMS(ab_params),
    .ops = &ops,
    .state_size = sizeof(unified),
    .init = init,
};
